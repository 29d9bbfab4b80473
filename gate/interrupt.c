#include "gate/interrupt.h"

#include <signal.h>
#include <unistd.h>

enum { INTERRUPTED = 2 };

static volatile bool interrupted;

static void on_signal(int number)
{
    (void)number;
    if (interrupted)
        _exit(INTERRUPTED);
    interrupted = true;
}

const volatile bool *ypi_interrupt_watch(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    return &interrupted;
}
