#include "harness/driver/conclude.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/driver/finish.h"
#include "harness/driver/rounds.h"
#include "harness/driver/sweep.h"
#include "harness/run/ending.h"
#include "harness/stack/symbols.h"
#include "harness/vocabulary/case.h"

/* The last word on an item, from all of its processes. */
static void conclude(struct ypi_runner *run, struct ypi_item *item)
{
    struct ypi_judging how = run->how;
    struct ypi_result *r = &item->results[0];
    int others = item->result_count - 1;
    ypi_conclude(r, &how, item->results + 1, others);
    how.confirmations = 0;
    for (int i = 1; i <= others; i++) {
        ypi_conclude(&item->results[i], &how, NULL, 0);
        ypi_finish_store(run, &item->results[i]);
        ypi_result_clear(&item->results[i]);
    }
    item->result_count = 1;
    ypi_finish_close(run, item, r);
}

static void keep_result(struct ypi_item *item, const struct ypi_result *r)
{
    item->results =
        ypi_realloc(item->results, (size_t)item->result_count + 1, sizeof *item->results);
    item->results[item->result_count++] = *r;
}

/* One more process for the same case, in the next pass. */
static void again(struct ypi_runner *run, struct ypi_item *item)
{
    item->attempt++;
    item->state = YPI_WAITING;
    run->again++;
}

/* Requests that can be refused. Of several ranks it is known how many the one with most of them
 * makes; they are numbered in turn. */
static uint64_t requests(const struct ypi_result *whole)
{
    return ypi_allocations(&whole->memory) * (uint64_t)ypi_ranks(whole->c);
}

/* After the process that has the whole memory, one for each of its allocations. */
static void finish_failing(struct ypi_runner *run, struct ypi_item *item, struct ypi_result *r)
{
    ypi_judge_budgets(r, &run->how);
    if (item->attempt == 0) {
        keep_result(item, r);
    } else {
        ypi_failed_allocation(&item->results[0], r);
        ypi_conclude(r, &run->how, NULL, 0);
        ypi_finish_store(run, r);
        ypi_result_clear(r);
    }
    const struct ypi_result *whole = &item->results[0];
    bool sound =
        whole->ended && !whole->skipped && (item->attempt > 0 || whole->failure_count == 0);
    if (sound && (uint64_t)item->attempt < requests(whole) && !run->stopped)
        again(run, item);
    else
        conclude(run, item);
}

/* The number of the first allocation that leaked, where that fails the case. The stack is taken in
 * a process of its own: to unwind at each allocation would take longer than the work. */
static uint64_t leaked_first(const struct ypi_result *r)
{
    for (int i = 0; i < r->verdict_count; i++)
        if (r->verdicts[i].budget->kind == YP_BUDGET_MAX_LEAK &&
            r->verdicts[i].budget->memory == YP_HEAP && r->verdicts[i].met == YPI_NOT_MET)
            return r->memory.heap_leak_number;
    return 0;
}

/* Where the same block leaked again, of which nothing else is taken. */
static void take_leak(struct ypi_result *whole, struct ypi_result *r, uint64_t watched)
{
    for (int i = 0; i < r->stack_count; i++)
        if (r->stacks[i].kind == YPI_STACK_LEAK && whole->leak_stack == NULL &&
            r->memory.heap_leak_number == watched &&
            r->memory.heap_leak_bytes == whole->memory.heap_leak_bytes)
            whole->leak_stack = ypi_stack_text(&r->stacks[i], "");
    ypi_result_clear(r);
}

static void go_on(struct ypi_runner *run, struct ypi_item *item)
{
    struct ypi_result *all = item->results;
    if (!run->stopped &&
        ypi_needs_confirmation(&all[0], &run->how, all + 1, item->result_count - 1))
        again(run, item);
    else
        conclude(run, item);
}

static void finish_timed(struct ypi_runner *run, struct ypi_item *item, const struct ypi_result *r)
{
    keep_result(item, r);
    ypi_judge_budgets(&item->results[item->result_count - 1], &run->how);
    item->watched = item->result_count == 1 && !run->stopped ? leaked_first(&item->results[0]) : 0;
    if (item->watched != 0)
        again(run, item);
    else
        go_on(run, item);
}

static void finish_watched(struct ypi_runner *run, struct ypi_item *item, struct ypi_result *r)
{
    take_leak(&item->results[0], r, item->watched);
    item->watched = 0;
    go_on(run, item);
}

void ypi_finish(struct ypi_runner *run, struct ypi_item *item, int signal_number, int exit_code)
{
    struct ypi_result r;
    struct ypi_ending ending = {
        .signal = signal_number, .exit_code = exit_code, .alone = run->alone};
    item->over = true;
    item->state = YPI_FINISHED;
    ypi_plan_keep_directory(run->plan);
    struct ypi_report report = ypi_ending_result(item, &ending, run->o, &r);
    if (ypi_was_interrupted(item, &report, signal_number)) {
        printf("\ninterrupted: %s\n", item->c.id);
        fflush(stdout);
        ypi_result_clear(&r);
        if (item->result_count > 0 && !item->in_round)
            item->state = YPI_WAITING; /* to be concluded with what there is */
        return;
    }
    r.skipped = report.skipped;
    if (item->in_round)
        ypi_rounds_finish(run, item, &r);
    else if (item->watched != 0)
        finish_watched(run, item, &r);
    else if (run->o->fail_each && !item->c.test->fixture)
        finish_failing(run, item, &r);
    else
        finish_timed(run, item, &r);
}

void ypi_finish_unstarted(struct ypi_runner *run, double seconds)
{
    for (int i = 0; i < run->plan->count; i++) {
        struct ypi_item *item = &run->plan->items[i];
        if (item->state != YPI_WAITING || item->extra.disabled || item->c.skip != NULL)
            continue;
        ypi_finish_skipped(run, item->number - 1);
        struct ypi_result r = {.c = &item->c,
                               .started = ypi_wall_clock() - seconds,
                               .duration = seconds,
                               .tail = ypi_strdup("")};
        ypi_result_fail(&r, YPI_CAUSE_TIMEOUT, NULL, 0,
                        "its process did not come to life within %g s: does a constructor of the "
                        "program hang? Nothing after it was run",
                        seconds);
        /* As the case itself, or as a fresh process, whose failure the case takes over. */
        r.attempt = item->attempt;
        if (item->in_round) {
            ypi_rounds_finish(run, item, &r);
            return;
        }
        ypi_judge_budgets(&r, &run->how);
        keep_result(item, &r);
        conclude(run, item);
        return;
    }
}

void ypi_finish_without(struct ypi_runner *run, struct ypi_item *item, const char *fixture,
                        const char *reason)
{
    struct ypi_result r = {.c = &item->c, .started = ypi_wall_clock(), .tail = ypi_strdup("")};
    ypi_result_fail(&r, YPI_CAUSE_FIXTURE, NULL, 0, "fixture '%s' failed: %s", fixture, reason);
    ypi_judge_budgets(&r, &run->how);
    keep_result(item, &r);
    conclude(run, item);
}

void ypi_finish_pending(struct ypi_runner *run)
{
    for (int i = 0; i < run->plan->count; i++) {
        struct ypi_item *item = &run->plan->items[i];
        if (!ypi_item_open(item) || item->result_count == 0 || item->in_round)
            continue;
        if (run->o->fail_each && !item->c.test->fixture)
            ypi_result_note(item->results, "stopped after %d of %llu allocations were refused",
                            item->attempt - 1, (unsigned long long)requests(item->results));
        conclude(run, item);
    }
}
