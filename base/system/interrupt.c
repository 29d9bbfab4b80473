#include "base/system/interrupt.h"

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

/* What nohup or a script's shell has ignored stays so. */
static void catch_signal(int number)
{
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    if (sigaction(number, &action, &before) == 0 && before.sa_handler == SIG_IGN)
        sigaction(number, &before, NULL);
}

const volatile bool *ypi_interrupt_watch(void)
{
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
    return &interrupted;
}
