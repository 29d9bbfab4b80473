/* yieldpoint gate: whether one revision is slower, larger or wrong beside another. */
#include "gate/gate.h"

#include "base/options/arguments.h"
#include "base/system/interrupt.h"
#include "base/text/text.h"
#include "gate/baseline.h"
#include "gate/engine.h"
#include "gate/kept.h"
#include "gate/options.h"
#include "gate/report.h"
#include "gate/revision.h"
#include "gate/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Texts are those of the command line. */
struct request {
    const char *base, *head; /* revisions */
    const char *baseline;    /* in the place of base: stored runs, as `compare` names them */
    struct ypi_choice cases; /* its list of ids is to be freed */
    struct ypi_report report;
    double threshold;         /* 0.03: slower by more than 3 % is worse */
    double error;             /* of the whole gate */
    double budget;            /* seconds for all cases; infinite: as long as it takes */
    const char *options;      /* words for the suites of both; NULL: none */
    const char *head_options; /* for the head's alone */
    const char *tests;        /* test sources for both; NULL: as yieldpoint.ini says */
    bool instructions;        /* are counted too */
    int speed_off;            /* bool: nothing is timed */
    int missing_fails;        /* bool: a case or figure that only the base has is worse */
    bool always_time;         /* where both builds are the same, too */
};

struct gate {
    const struct request *r;
    const volatile bool *stop;
    struct ypi_recipe recipe;
    struct ypi_revision base, head;
    struct ypi_comparisons found;
};

static enum yp_status build(struct gate *g)
{
    struct ypi_revision *const sides[] = {&g->base, &g->head};
    const char *const names[] = {g->r->base, g->r->head};
    enum yp_status status = YP_OK;
    for (int i = 0; i < 2 && status == YP_OK; i++)
        if (names[i] != NULL)
            status = ypi_revision_find(&g->recipe, names[i], sides[i]);
    for (int i = 0; i < 2 && status == YP_OK; i++)
        if (names[i] != NULL)
            status = ypi_revision_build(&g->recipe, sides[i], stderr, g->stop);
    return status;
}

static void describe(struct gate *g)
{
    struct ypi_side *const sides[] = {&g->found.base, &g->found.head};
    const struct ypi_revision *const revisions[] = {&g->base, &g->head};
    for (int i = g->r->baseline != NULL ? 1 : 0; i < 2; i++) {
        sides[i]->name = ypi_strdup(revisions[i]->name);
        sides[i]->dirty = revisions[i]->worktree;
        if (g->r->baseline == NULL) /* else it is as it is stored */
            sides[i]->commit = ypi_strdup(revisions[i]->commit);
    }
    g->found.threshold = g->r->threshold;
    g->found.error = g->r->error;
    g->found.missing_fails = g->r->missing_fails;
    if (g->r->head_options != NULL && *g->r->head_options != '\0')
        ypi_comparisons_note(&g->found, "the head was run with %s", g->r->head_options);
    if (g->r->speed_off)
        ypi_comparisons_note(&g->found, "nothing is timed (--speed=off)");
}

static int compare(struct gate *g)
{
    const struct ypi_engine_task task = {
        .base = &g->base,
        .head = &g->head,
        .cases = g->r->cases,
        .options = g->r->options,
        .head_options = g->r->head_options,
        .scope = g->r->speed_off ? YPI_ENGINE_EXACT : YPI_ENGINE_ALL,
        .rule = {.threshold = g->r->threshold, .error = g->r->error, .faster = true},
        .budget = g->r->budget,
        .instructions = g->r->instructions,
        .always_time = g->r->always_time,
        .stop = g->stop};
    struct ypi_engine *e = ypi_engine_open(&task, &g->found);
    enum yp_status status = e != NULL ? ypi_engine_list(e) : yp_last_status();
    bool any = status == YP_OK && (ypi_engine_case_count(e) > 0 || g->found.count > 0);
    if (any)
        status = ypi_engine_run(e);
    ypi_engine_close(e);
    if (status != YP_OK)
        return ypi_gate_error(status, g->stop);
    if (any)
        return YPI_GATE_FINE;
    fputs("yieldpoint: no case is selected in either revision\n", stderr);
    return YPI_GATE_UNSELECTED;
}

/* The stored runs, and the head timed here. */
static int compare_baseline(struct gate *g)
{
    struct ypi_baseline_task task = {.head = &g->head,
                                     .baseline = g->r->baseline,
                                     .history = g->r->report.history,
                                     .cases = g->r->cases,
                                     .options = g->r->options,
                                     .head_options = g->r->head_options,
                                     .budget = g->r->budget,
                                     .stop = g->stop};
    enum yp_status status = ypi_baseline_compare(&task, &g->found);
    if (status != YP_OK)
        return ypi_gate_error(status, g->stop);
    if (g->found.count > 0)
        return YPI_GATE_FINE;
    fputs("yieldpoint: no case is selected in the baseline or the head\n", stderr);
    return YPI_GATE_UNSELECTED;
}

/* A gate says what it found, be there a place to keep it or not. */
static void keep(const struct gate *g, int code)
{
    const char *own = g->r->report.history;
    if (ypi_kept_store(own != NULL ? own : g->recipe.history, &g->found, code) != YP_OK)
        fprintf(stderr, "yieldpoint: what the gate found is not kept: %s\n", yp_last_error());
}

static int run(struct gate *g)
{
    enum yp_status status = build(g);
    if (status != YP_OK)
        return ypi_gate_error(status, g->stop);
    describe(g);
    int code = g->r->baseline != NULL ? compare_baseline(g) : compare(g);
    if (code != YPI_GATE_FINE)
        return code;
    int found = g->found.whole ? ypi_summary_exit(&g->found) : YPI_GATE_INTERRUPTED;
    keep(g, found);
    code = ypi_report_put(&g->r->report, &g->found);
    return code != YPI_GATE_FINE ? code : found;
}

#define OWN(read_, member) YPI_OPTION_OF(read_, struct request, member)
#define AT(kind_, member) YPI_OPTION_AT(kind_, struct request, member)

/* False after telling stderr what is wrong, where, and what is allowed. */
static bool read_request(struct request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {"base", AT(WORD, base)},
        {"baseline", AT(WORD, baseline)},
        {"head", AT(WORD, head)},
        {.letter = 'm', AT(WORD, cases.mark)},
        {.letter = 'k', AT(WORD, cases.keyword)},
        {"threshold", OWN(ypi_read_threshold, threshold)},
        {"error", OWN(ypi_read_error, error)},
        {"budget", OWN(ypi_read_budget, budget)},
        {"options", AT(WORD, options)},
        {"head-options", AT(WORD, head_options)},
        {"tests", AT(WORD, tests)},
        {"instructions", AT(FLAG, instructions)},
        {"always-time", AT(FLAG, always_time)},
        {"speed", AT(CHOICE, speed_off), .choices = "judge off"},
        YPI_OPTION_MISSING(struct request, missing_fails),
        {"history", AT(WORD, report.history)},
        YPI_OPTIONS_OUT(struct request, report),
        YPI_OPTION_VERBOSE(struct request, report),
        YPI_OPTIONS_END,
    };
    const char **ids = ypi_calloc((size_t)argc + 1, sizeof *ids);
    *r = (struct request){
        .head = "HEAD", .threshold = YPI_THRESHOLD, .error = YPI_ERROR, .budget = INFINITY};
    r->cases.ids = ids;
    if (!ypi_arguments_read(
            &(struct ypi_arguments){
                .options = options, .values = r, .words = ids, .word_count = &r->cases.id_count},
            argc, argv))
        return false;
    const char *no_times = !r->speed_off         ? NULL
                           : r->baseline != NULL ? "--baseline, whose runs are compared by times"
                           : r->always_time      ? "--always-time"
                                                 : NULL;
    if (no_times != NULL) {
        ypi_usage_error(argc, argv, argc, "--speed=off: nothing is timed, so it is not for %s",
                        no_times);
        return false;
    }
    if ((r->base != NULL) != (r->baseline != NULL))
        return true;
    ypi_usage_error(
        argc, argv, argc,
        r->base == NULL
            ? "--base: a revision is wanted, such as main or v1.2; or --baseline and a stored run"
            : "--base and --baseline: one of them is wanted");
    return false;
}

int ypi_gate_command(int argc, char **argv)
{
    struct request r;
    bool right = read_request(&r, argc, argv);
    struct gate g = {.r = &r, .stop = ypi_interrupt_watch()};
    enum yp_status status = right ? ypi_recipe_read(&g.recipe, r.tests) : YP_INVALID;
    int code = status == YP_OK ? run(&g) : status == YP_IO ? YPI_GATE_INTERNAL : YPI_GATE_USAGE;
    ypi_comparisons_clear(&g.found);
    ypi_revision_clear(&g.base);
    ypi_revision_clear(&g.head);
    ypi_recipe_clear(&g.recipe);
    free((void *)r.cases.ids);
    return code;
}
