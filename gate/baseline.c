#include "gate/baseline.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "gate/stored/stored_compare.h"
#include "gate/workplace.h"

#include <math.h>
#include <stdlib.h>

/* Enough to know how far they scatter. */
enum { RUNS = 5 };

struct timing {
    const struct ypi_baseline_task *task;
    struct ypi_workplace work;
    char *log, *history;
    char **options;
    double began;
};

static enum yp_status open_timing(struct timing *t)
{
    enum yp_status status = ypi_workplace_open(&t->work);
    if (status != YP_OK)
        return status;
    t->log = ypi_format("%s/suite.log", t->work.path);
    t->history = ypi_format("%s/head.db", t->work.path);
    t->options = ypi_suite_options(t->task->options, t->task->head_options);
    t->began = ypi_now();
    return YP_OK;
}

static void close_timing(struct timing *t)
{
    ypi_suite_options_free(t->options);
    free(t->log);
    free(t->history);
    ypi_workplace_close(&t->work);
}

/* Adds how many cases of it were run, each RUNS times where the time is enough for that. */
static enum yp_status time_suite(const struct timing *t, const char *program, int *cases)
{
    const struct ypi_suite suite = {program, t->task->head->source, (const char *const *)t->options,
                                    t->log};
    char **ids = NULL;
    int count = 0;
    enum yp_status status = ypi_suite_list(&suite, &t->task->cases, t->task->stop, &ids, &count);
    for (int i = 0; i < RUNS && count > 0 && status == YP_OK; i++)
        if (i == 0 || ypi_now() - t->began < t->task->budget)
            status = ypi_suite_run(&suite, YPI_SUITE_TIME, ids, count, t->history, t->task->stop);
    *cases += count;
    ypi_list_free(ids, count);
    return status;
}

/* `head`: the history of what was timed; NULL: nothing was. */
static enum yp_status compare(const struct ypi_baseline_task *task, struct ypi_stored *base,
                              const char *head, struct ypi_comparisons *found)
{
    const struct ypi_selection choice = {.mark = task->cases.mark,
                                         .keyword = task->cases.keyword,
                                         .ids = (const char **)(uintptr_t)task->cases.ids,
                                         .id_count = task->cases.id_count,
                                         .absent_too = true};
    struct ypi_stored timed = {0};
    bool right = false;
    enum yp_status status = ypi_stored_find(head, NULL, &timed);
    if (status == YP_OK)
        status = ypi_stored_compare(base, &timed, &choice, &right, found);
    ypi_stored_clear(&timed);
    return status == YP_OK && !right ? yp_set_error(YP_INVALID, "-m or -k is malformed") : status;
}

enum yp_status ypi_baseline_compare(const struct ypi_baseline_task *task,
                                    struct ypi_comparisons *found)
{
    struct timing t = {.task = task, .work = {.lock = -1}};
    struct ypi_stored base = {0};
    int cases = 0;
    found->base.name = ypi_strdup(task->baseline);
    enum yp_status status = ypi_stored_find(task->baseline, task->history, &base);
    if (status == YP_OK)
        status = open_timing(&t);
    for (int i = 0; i < task->head->program_count && status == YP_OK; i++)
        status = time_suite(&t, task->head->programs[i], &cases);
    if (status == YP_OK && cases > 0)
        status = compare(task, &base, t.history, found);
    found->seconds = ypi_now() - t.began;
    close_timing(&t);
    ypi_stored_clear(&base);
    return status;
}
