#include "base/system/thread.h"

#include <errno.h>
#include <signal.h>

/* The threads' own variables of all libraries lie on the stack, too; how many there are the C
 * library does not tell, but where it has no place for them. */
static int create(pthread_t *thread, void *(*work)(void *), void *argument, size_t stack)
{
    enum { DOUBLINGS = 16 };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int error = EINVAL;
    for (int i = 0; i < DOUBLINGS && error == EINVAL; i++, stack *= 2) {
        if (stack > 0)
            pthread_attr_setstacksize(&attributes, stack);
        error = pthread_create(thread, &attributes, work, argument);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

bool ypi_thread_begin(pthread_t *thread, void *(*work)(void *), void *argument, size_t stack)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = create(thread, work, argument, stack) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

__attribute__((noinline)) void ypi_touch_stack(void)
{
    volatile char bytes[64 * 1024];
    for (size_t i = 0; i < sizeof bytes; i += 1024)
        bytes[i] = 0;
}
