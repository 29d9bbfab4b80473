#include "harness/criterion/events.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <criterion/options.h>
#include <unistd.h>

static const struct ypi_events *to;

static struct ypi_item *item_of(const struct criterion_test *test)
{
    return (struct ypi_item *)((char *)test->data - offsetof(struct ypi_item, extra));
}

static void on_start(struct criterion_suite *suite, struct criterion_test *test)
{
    (void)suite;
    to->start(item_of(test));
}

/* A case's process leaves by exit() while Criterion believes it in the middle of the test, so each
 * of these comes when the process is gone, with its exit code or signal. */
static void on_end(struct criterion_test_stats *stats)
{
    to->end(item_of(stats->test), stats->signal, stats->exit_code);
}

static void on_abort(struct criterion_test_stats *stats, const char *message)
{
    (void)message;
    on_end(stats);
}

static void on_begin(struct criterion_test_set *set)
{
    (void)set;
    to->begin();
}

static struct criterion_logger logger = {
    .log_pre_all = on_begin,
    .log_pre_init = on_start,
    .log_test_timeout = on_end,
    .log_test_crash = on_end,
    .log_test_abort = on_abort,
    .log_other_crash = on_end,
    .log_abnormal_exit = on_end,
    .log_post_fini = on_end,
};

struct criterion_test_set *ypi_events_begin(struct ypi_plan *plan, const struct ypi_events *events)
{
    pid_t group = getpgrp();
    struct criterion_test_set *set = criterion_initialize();
    to = events;
    /* Criterion makes a group of its own, which Ctrl-C in a script would not reach. */
    setpgid(0, group);
    criterion_options.logger = &logger;
    /* Silent, but not QUIET, which would close the program's own standard output. */
    criterion_options.logging_threshold = CRITERION_LOG_LEVEL_QUIET - 1;
    for (int i = 0; i < plan->count; i++)
        if (ypi_item_needs_process(&plan->items[i]))
            criterion_register_test(set, &plan->items[i].test);
    return set;
}
