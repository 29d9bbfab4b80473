#include "harness/driver/provided.h"

#include "base/text/text.h"
#include "harness/driver/conclude.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Fixtures come first in a plan, once each. */
static const struct ypi_item *item_of(const struct ypi_plan *plan, const struct yp_case *fixture)
{
    int i = 0;
    while (plan->items[i].c.id != fixture->id)
        i++;
    return &plan->items[i];
}

static const char *why_skipped(const struct ypi_item *fixture)
{
    const char *reason = fixture->result_count > 0 ? fixture->results[0].reason : fixture->c.skip;
    return reason != NULL ? reason : "skipped";
}

static bool was_skipped(const struct ypi_item *fixture)
{
    return fixture->result_count > 0 ? fixture->results[0].outcome == YPI_SKIPPED
                                     : fixture->c.skip != NULL;
}

/* False where the item is to run without it no more. */
static bool hand_over(struct ypi_runner *run, struct ypi_item *item, int number)
{
    const struct yp_case *own = item->c.fixtures[number];
    if (own->test->each_rank && own->skip == NULL)
        return true;
    if (own->test->each_rank) {
        free(item->skip);
        item->skip = ypi_format("fixture '%s': %s", own->id, own->skip);
        item->c.skip = item->skip;
        return false;
    }
    const struct ypi_item *fixture = item_of(run->plan, own);
    item->given[number] = fixture->provided;
    if (was_skipped(fixture)) {
        free(item->skip);
        item->skip = ypi_format("fixture '%s': %s", fixture->c.id, why_skipped(fixture));
        item->c.skip = item->skip;
        return false;
    }
    if (fixture->state != YPI_FINISHED || fixture->result_count == 0)
        return false; /* the run is being stopped */
    const struct ypi_result *r = &fixture->results[0];
    if (!ypi_is_failure(r->outcome))
        return true;
    ypi_finish_without(run, item, fixture->c.id,
                       r->failure_count > 0 ? r->failures[0].message : "too noisy");
    return false;
}

void ypi_provide_for(struct ypi_runner *run, int depth)
{
    for (int i = 0; i < run->plan->count; i++) {
        struct ypi_item *item = &run->plan->items[i];
        if (item->c.depth != depth || item->state != YPI_WAITING || item->c.skip != NULL)
            continue;
        bool whole = true;
        for (int k = 0; k < item->c.fixture_count && whole; k++)
            whole = hand_over(run, item, k);
        if (whole && item->c.test->fixture && item->provided < 0)
            item->provided = memfd_create("yieldpoint-fixture", MFD_CLOEXEC);
    }
}
