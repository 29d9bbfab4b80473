#include "base/system/interrupt.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(interrupt, is_seen)
{
    signal(SIGHUP, SIG_DFL); /* whatever runs this ignores */
    const volatile bool *seen = ypi_interrupt_watch();
    raise(SIGHUP);
    cr_expect(*seen);
}

Test(interrupt, that_was_ignored_stays_so)
{
    signal(SIGHUP, SIG_IGN); /* as nohup does */
    const volatile bool *seen = ypi_interrupt_watch();
    raise(SIGHUP);
    cr_expect_not(*seen);
    raise(SIGTERM);
    cr_expect(*seen);
}
