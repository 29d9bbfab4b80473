#include "harness/case/made.h"

#include "harness/vocabulary/axis.h"
#include "harness/vocabulary/linked.h"

#include <string.h>
#include <yieldpoint/ranks.h>

/* The job has their values alone. Axes come first; what follows is the named case's. */
static void name_settings(struct yp_case *c)
{
    int axes = 0;
    for (int i = 0; i < c->setting_count; i++) {
        const bool is_axis = c->decl == NULL || !c->settings[i].parameter;
        axes += is_axis;
        c->settings[i].axis = is_axis ? ypi_axis_at(c->test, i)->name : c->decl->set[i - axes].name;
    }
}

struct yp_case ypi_case_of_job(const struct ypi_job *job)
{
    const struct yp_test *test = ypi_linked_at(YPI_LINKED_TESTS, job->test);
    struct yp_case c = {.test = test,
                        .decl = job->decl >= 0 ? &test->cases[job->decl] : NULL,
                        .setting_count = job->setting_count,
                        .budgets = job->budgets,
                        .id = job->id,
                        .tags = job->tags,
                        .seed = job->seed,
                        .repeat = job->repeat};
    memcpy(c.settings, job->settings, sizeof c.settings);
    name_settings(&c);
    memcpy(c.device, job->device, sizeof c.device);
    return c;
}

struct yp_case ypi_case_of_fixture(const struct yp_case *t, const struct ypi_own_fixture *own)
{
    const struct yp_test *test = ypi_linked_at(YPI_LINKED_TESTS, own->test);
    struct yp_case c = {.test = test,
                        .decl = own->decl >= 0 ? &test->cases[own->decl] : NULL,
                        .setting_count = own->setting_count,
                        .budgets = t->budgets,
                        .id = own->id,
                        .tags = t->tags,
                        .seed = yp_rank_seed(t),
                        .repeat = t->repeat,
                        .child = t->child};
    memcpy(c.settings, own->settings, sizeof c.settings);
    name_settings(&c);
    return c;
}
