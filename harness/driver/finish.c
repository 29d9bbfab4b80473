#include "harness/driver/finish.h"

#include "base/system/clock.h"
#include "base/text/text.h"

void ypi_run_stop(struct ypi_runner *run)
{
    run->stopped = true;
    for (int i = 0; i < run->plan->count; i++) {
        struct ypi_item *item = &run->plan->items[i];
        item->extra.disabled = true;
        if (item->state == YPI_WAITING && item->result_count == 0) {
            item->state = YPI_DROPPED;
            run->totals.stopped = true;
        }
    }
}

static void count_outcome(struct ypi_runner *run, const struct ypi_result *r)
{
    run->totals.count[r->outcome]++;
    if (!ypi_is_failure(r->outcome))
        return;
    run->failures++;
    if (run->o->max_failures > 0 && run->failures >= run->o->max_failures)
        ypi_run_stop(run);
}

void ypi_finish_store(struct ypi_runner *run, const struct ypi_result *r)
{
    if (ypi_history_add(run->history, run->session->run_id, r) != YP_OK) {
        fprintf(stderr, "error: the result of %s is not stored: %s\n", r->c->id, yp_last_error());
        run->record_failed = true;
        ypi_run_stop(run);
    }
    if (!ypi_report(&run->reports, YPI_STORED, r))
        run->record_failed = true;
}

/* Stored first: what is reported is in the history. */
static void store_and_report(struct ypi_runner *run, const struct ypi_result *r)
{
    ypi_finish_store(run, r);
    count_outcome(run, r);
    ypi_report(&run->reports, YPI_RESULT, r);
}

static void finish_skipped(struct ypi_runner *run, struct ypi_item *item)
{
    item->state = YPI_FINISHED;
    struct ypi_result r = {.c = &item->c,
                           .started = ypi_wall_clock(),
                           .reason = ypi_strdup(item->c.skip),
                           .outcome = YPI_SKIPPED,
                           .tail = ypi_strdup("")};
    store_and_report(run, &r);
    ypi_result_clear(&r);
}

void ypi_finish_skipped(struct ypi_runner *run, int number)
{
    for (int i = 0; i < run->plan->count && i < number; i++)
        if (run->plan->items[i].state == YPI_WAITING && run->plan->items[i].c.skip != NULL)
            finish_skipped(run, &run->plan->items[i]);
}

void ypi_finish_close(struct ypi_runner *run, struct ypi_item *item, struct ypi_result *r)
{
    item->state = YPI_FINISHED;
    ypi_finish_skipped(run, item->number - 1);
    store_and_report(run, r);
    ypi_result_drop_samples(r);
}
