#include "harness/run/signals.h"

#include "harness/vocabulary/options.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* Handlers have no other way to them. */
static struct ypi_requests *asked;
static bool is_alone;
static struct sigaction stop_before;

static void on_signal(int number)
{
    (void)number;
    /* A second one ends everything at once, by the watchdog, which may walk through /proc; a third
     * one does not even wait for that. A case in this process cannot be ended alone. */
    if (asked->urgent || (asked->interrupted && is_alone))
        _exit(YPI_EXIT_INTERRUPTED);
    asked->urgent = asked->interrupted;
    asked->interrupted = true;
}

/* Nobody reads on: what is done is stored, as after an interrupt. Caught and not ignored, for a
 * case's process would inherit that. */
static void on_broken_pipe(int number)
{
    (void)number;
    asked->interrupted = true;
}

static void on_stop(int number)
{
    (void)number;
    asked->suspended = true;
}

static struct {
    int number;
    void (*handler)(int number);
    bool ignored;
} caught[] = {{SIGPIPE, on_broken_pipe, false},
              {SIGINT, on_signal, false},
              {SIGTERM, on_signal, false},
              {SIGHUP, on_signal, false}};

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void ypi_signals_look(void)
{
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        caught[i].ignored = is_ignored(caught[i].number);
}

void ypi_signals_catch(struct ypi_requests *requests, bool alone)
{
    asked = requests;
    is_alone = alone;
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        const struct sigaction action = {
            .sa_handler = caught[i].ignored ? SIG_IGN : caught[i].handler, .sa_flags = SA_RESTART};
        sigaction(caught[i].number, &action, NULL);
    }
}

void ypi_signals_catch_stops(void)
{
    const struct sigaction action = {.sa_handler = is_ignored(SIGTSTP) ? SIG_IGN : on_stop,
                                     .sa_flags = SA_RESTART};
    sigaction(SIGTSTP, &action, &stop_before);
}

void ypi_signals_leave_stops(void)
{
    sigaction(SIGTSTP, &stop_before, NULL);
}
