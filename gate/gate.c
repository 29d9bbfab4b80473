/* yieldpoint gate: whether one revision is slower, larger or wrong beside another. */
#include "gate/gate.h"

#include "base/system/clock.h"
#include "base/system/lock.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "gate/exact.h"
#include "gate/interrupt.h"
#include "gate/request.h"
#include "gate/revision.h"
#include "gate/schedule.h"
#include "gate/workplace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A case that is not decided by then scatters so much that it hardly will be. */
#define CASE_SECONDS 60.0

/* -- both sides ---------------------------------------------------------------------------- */

/* A suite as both revisions have it. */
struct both {
    struct ypi_suite base, head;
    char **ids; /* that both have; owned */
    int id_count;
    bool turns; /* both take them */
};

struct gate {
    const struct ypi_request *r;
    const volatile bool *stop;
    struct ypi_recipe recipe;
    struct ypi_revision base, head;
    struct ypi_workplace work;
    char *log;
    char **options, **head_options; /* ended by NULL */
    int option_count, head_option_count;
    struct both *suites;
    int suite_count;
    struct ypi_exact *exact_base, *exact_head;
    struct ypi_duel **duels;
    struct ypi_pairing *pairings;
    const char ***names;
    int duel_count;
    double began;
    struct ypi_comparisons found;
};

/* Why it is over: an error that was told, or what it found. */
static int told(const struct gate *g, enum yp_status status)
{
    if (status == YP_UNSUPPORTED || *g->stop)
        return YPI_GATE_INTERRUPTED;
    fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    return status == YP_INVALID ? YPI_GATE_USAGE : YPI_GATE_INTERNAL;
}

static char **split(char **list, int *count, const char *text)
{
    const char *word = NULL;
    size_t length = 0;
    for (const char *at = text; at != NULL && ypi_next_word(&at, &word, &length);)
        list = ypi_list_add(list, (*count)++, ypi_format("%.*s", (int)length, word));
    return list;
}

/* Owned texts with a NULL behind. */
static char **ended(char **list, int count)
{
    list = ypi_realloc(list, (size_t)count + 1, sizeof *list);
    list[count] = NULL;
    return list;
}

static enum yp_status build(struct gate *g)
{
    struct ypi_revision *const sides[] = {&g->base, &g->head};
    const char *const names[] = {g->r->base, g->r->head};
    enum yp_status status = YP_OK;
    for (int i = 0; i < 2 && status == YP_OK; i++)
        status = ypi_revision_find(&g->recipe, names[i], sides[i]);
    for (int i = 0; i < 2 && status == YP_OK; i++)
        status = ypi_revision_build(&g->recipe, sides[i], stderr, g->stop);
    return status;
}

/* Where it lies below the build directory. */
static const char *place_of(const struct ypi_revision *r, int i)
{
    size_t length = strlen(r->build);
    return strncmp(r->programs[i], r->build, length) == 0 ? r->programs[i] + length
                                                          : r->programs[i];
}

static const char *like(const struct ypi_revision *r, const char *place)
{
    for (int i = 0; i < r->program_count; i++)
        if (strcmp(place_of(r, i), place) == 0)
            return r->programs[i];
    return NULL;
}

static void add_suite(struct gate *g, const char *base, const char *head)
{
    g->suites = ypi_realloc(g->suites, (size_t)g->suite_count + 1, sizeof *g->suites);
    g->suites[g->suite_count++] =
        (struct both){.base = {base, g->base.source, (const char *const *)g->options, g->log},
                      .head = {head, g->head.source, (const char *const *)g->head_options, g->log}};
}

static void pair_suites(struct gate *g)
{
    for (int i = 0; i < g->base.program_count; i++)
        add_suite(g, g->base.programs[i], like(&g->head, place_of(&g->base, i)));
    for (int i = 0; i < g->head.program_count; i++)
        if (like(&g->base, place_of(&g->head, i)) == NULL)
            add_suite(g, NULL, g->head.programs[i]);
}

static bool has(char *const *list, int count, const char *id)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], id) == 0)
            return true;
    return false;
}

static enum yp_status list_of(const struct gate *g, const struct ypi_suite *suite, char ***ids,
                              int *count)
{
    *ids = NULL;
    *count = 0;
    return suite->program == NULL ? YP_OK
                                  : ypi_suite_list(suite, &g->r->cases, g->stop, ids, count);
}

/* What only one side has is told; what both have is to be run. */
static enum yp_status list_suite(struct gate *g, struct both *s)
{
    char **base = NULL;
    char **head = NULL;
    int base_count = 0;
    int head_count = 0;
    enum yp_status status = list_of(g, &s->base, &base, &base_count);
    if (status == YP_OK)
        status = list_of(g, &s->head, &head, &head_count);
    for (int i = 0; i < base_count && status == YP_OK; i++)
        if (has(head, head_count, base[i]))
            s->ids = ypi_list_add(s->ids, s->id_count++, ypi_strdup(base[i]));
        else
            ypi_comparison_add(&g->found, base[i], YPI_QUANTITY_CASE, NULL)->verdict =
                YPI_COMPARED_GONE;
    for (int i = 0; i < head_count && status == YP_OK; i++)
        if (!has(base, base_count, head[i]))
            ypi_comparison_add(&g->found, head[i], YPI_QUANTITY_CASE, NULL)->verdict =
                YPI_COMPARED_NEW;
    ypi_list_free(base, base_count);
    ypi_list_free(head, head_count);
    if (status == YP_OK && s->id_count > 0)
        s->turns =
            ypi_suite_takes_turns(&s->base, g->stop) && ypi_suite_takes_turns(&s->head, g->stop);
    if (s->id_count > 0 && !s->turns)
        ypi_comparisons_note(&g->found,
                             "%s: a side does not know --turns: its cases are compared "
                             "by whole processes, one after the other",
                             strrchr(s->base.program, '/') + 1);
    return status;
}

static int case_count(const struct gate *g)
{
    int count = 0;
    for (int i = 0; i < g->suite_count; i++)
        count += g->suites[i].id_count;
    return count;
}

/* -- exact figures ------------------------------------------------------------------------- */

static enum yp_status read_exact(struct gate *g, const char *base, const char *head)
{
    ypi_exact_close(g->exact_base);
    ypi_exact_close(g->exact_head);
    g->exact_head = NULL;
    g->exact_base = ypi_exact_read(base);
    if (g->exact_base != NULL)
        g->exact_head = ypi_exact_read(head);
    return g->exact_head != NULL ? YP_OK : YP_IO;
}

static enum yp_status run_both(const struct gate *g, const struct both *s, char *const *ids,
                               int count, int repeat, const char *base, const char *head)
{
    enum yp_status status = ypi_suite_run(&s->base, ids, count, repeat, base, g->stop);
    return status != YP_OK ? status : ypi_suite_run(&s->head, ids, count, repeat, head, g->stop);
}

/* Once, and those that differ some times more. */
static enum yp_status run_exact(struct gate *g, const char *base, const char *head)
{
    enum yp_status status = YP_OK;
    for (int i = 0; i < g->suite_count && status == YP_OK; i++)
        status = run_both(g, &g->suites[i], g->suites[i].ids, g->suites[i].id_count, 1, base, head);
    if (status == YP_OK)
        status = read_exact(g, base, head);
    bool again = false;
    for (int i = 0; i < g->suite_count && status == YP_OK; i++) {
        const struct both *s = &g->suites[i];
        char **ids = ypi_calloc((size_t)s->id_count + 1, sizeof *ids);
        int count = 0;
        for (int k = 0; k < s->id_count; k++)
            if (ypi_exact_differs(g->exact_base, g->exact_head, s->ids[k]))
                ids[count++] = s->ids[k];
        status = run_both(g, s, ids, count, YPI_EXACT_REPEATS - 1, base, head);
        again = again || count > 0;
        free(ids);
    }
    return status == YP_OK && again ? read_exact(g, base, head) : status;
}

static enum yp_status compare_exact(struct gate *g)
{
    char *base = ypi_format("%s/exact-base.db", g->work.path);
    char *head = ypi_format("%s/exact-head.db", g->work.path);
    enum yp_status status = case_count(g) > 0 ? run_exact(g, base, head) : YP_OK;
    for (int i = 0; i < g->suite_count && status == YP_OK; i++)
        for (int k = 0; k < g->suites[i].id_count; k++)
            ypi_exact_compare(g->exact_base, g->exact_head, g->suites[i].ids[k], &g->found);
    free(base);
    free(head);
    return status;
}

/* -- times --------------------------------------------------------------------------------- */

/* The measurements that both sides have; the others are told. The list is the caller's. */
static const char **common(struct gate *g, const char *id, int *count)
{
    int base_count = 0;
    int head_count = 0;
    const char **base = ypi_exact_measurements(g->exact_base, id, &base_count);
    const char **head = ypi_exact_measurements(g->exact_head, id, &head_count);
    *count = 0;
    for (int i = 0; i < head_count; i++)
        if (!has((char *const *)base, base_count, head[i]))
            ypi_comparison_add(&g->found, id, YPI_QUANTITY_TIME, head[i])->verdict =
                YPI_COMPARED_NEW;
    for (int i = 0; i < base_count; i++)
        if (has((char *const *)head, head_count, base[i]))
            base[(*count)++] = base[i];
        else
            ypi_comparison_add(&g->found, id, YPI_QUANTITY_TIME, base[i])->verdict =
                YPI_COMPARED_GONE;
    free((void *)head);
    return base;
}

/* What failed did other work than what passed. */
static bool is_timed(const struct gate *g, const char *id)
{
    return !ypi_exact_failed(g->exact_base, id) && !ypi_exact_failed(g->exact_head, id);
}

static bool has_one_thread(const struct gate *g, const char *id)
{
    return ypi_exact_threads(g->exact_base, id) == 1 && ypi_exact_threads(g->exact_head, id) == 1;
}

/* The error of the whole is shared by all measurements (Bonferroni), so that it holds whatever they
 * have to do with each other. */
static void open_duels(struct gate *g)
{
    int cases = case_count(g);
    int measurements = 0;
    int *counts = ypi_calloc((size_t)cases + 1, sizeof *counts);
    g->pairings = ypi_calloc((size_t)cases + 1, sizeof *g->pairings);
    g->names = ypi_calloc((size_t)cases + 1, sizeof *g->names);
    g->duels = ypi_calloc((size_t)cases + 1, sizeof *g->duels);
    bool *whole = ypi_calloc((size_t)cases + 1, sizeof *whole);
    for (int i = 0; i < g->suite_count; i++)
        for (int k = 0; k < g->suites[i].id_count; k++) {
            const struct both *s = &g->suites[i];
            int at = g->duel_count;
            if (!is_timed(g, s->ids[k]))
                continue;
            g->names[at] = common(g, s->ids[k], &counts[at]);
            measurements += counts[at];
            g->pairings[at] =
                (struct ypi_pairing){.base = {s->base.program, s->base.directory, s->base.options},
                                     .head = {s->head.program, s->head.directory, s->head.options},
                                     .id = s->ids[k],
                                     .one_thread = has_one_thread(g, s->ids[k]),
                                     .work = g->work.path,
                                     .stop = g->stop};
            whole[at] = !s->turns;
            if (counts[at] > 0)
                g->duel_count++;
            else
                free((void *)g->names[at]);
        }
    for (int i = 0; i < g->duel_count; i++)
        g->duels[i] = ypi_duel_open(
            &g->pairings[i], g->names[i], counts[i],
            (struct ypi_duel_rule){g->r->threshold, g->r->error / measurements}, whole[i]);
    free(whole);
    free(counts);
}

static void tell_progress(void *arg, int at, int decided, double left)
{
    const struct gate *g = arg;
    char where[64];
    ypi_duel_told(g->duels[at], where);
    bool over = ypi_duel_is_over(g->duels[at]);
    fprintf(stderr, "  %d of %d decided  %s  %s%s", decided, g->duel_count, g->pairings[at].id,
            where, over ? "" : " goes on");
    if (isfinite(left))
        fprintf(stderr, "  %.0f s left", fmax(0, left));
    fputc('\n', stderr);
}

/* False: stopped. What is decided by then counts. */
static bool compare_times(struct gate *g)
{
    struct ypi_seed coin = ypi_seed_of((uint64_t)(1e6 * ypi_wall_clock()), (uint64_t)getpid(), 0);
    open_duels(g);
    const struct ypi_schedule schedule = {.duels = g->duels,
                                          .count = g->duel_count,
                                          .seconds = g->r->budget - (ypi_now() - g->began),
                                          .case_seconds =
                                              isfinite(g->r->budget) ? g->r->budget : CASE_SECONDS,
                                          .stop = g->stop,
                                          .tell = tell_progress,
                                          .arg = g};
    bool whole = ypi_schedule_run(&schedule, &coin);
    for (int i = 0; i < g->duel_count; i++)
        ypi_duel_conclude(g->duels[i], &g->found);
    return whole;
}

/* -- the whole ----------------------------------------------------------------------------- */

static void describe(struct gate *g)
{
    struct ypi_side *const sides[] = {&g->found.base, &g->found.head};
    const struct ypi_revision *const revisions[] = {&g->base, &g->head};
    for (int i = 0; i < 2; i++) {
        sides[i]->name = ypi_strdup(revisions[i]->name);
        sides[i]->commit = ypi_strdup(revisions[i]->commit);
        sides[i]->dirty = revisions[i]->worktree;
        sides[i]->machine = ypi_strdup("");
    }
    g->found.threshold = g->r->threshold;
    g->found.error = g->r->error;
    if (g->head_option_count > g->option_count)
        ypi_comparisons_note(&g->found, "the head was run with %s", g->r->head_options);
}

static int run(struct gate *g)
{
    enum yp_status status = build(g);
    if (status != YP_OK)
        return told(g, status);
    describe(g);
    if ((status = ypi_workplace_open(&g->work)) != YP_OK)
        return told(g, status);
    g->log = ypi_format("%s/suite.log", g->work.path);
    pair_suites(g);
    for (int i = 0; i < g->suite_count; i++)
        if ((status = list_suite(g, &g->suites[i])) != YP_OK)
            return told(g, status);
    if (case_count(g) == 0 && g->found.count == 0) {
        fputs("yieldpoint: no case is selected in either revision\n", stderr);
        return YPI_GATE_UNSELECTED;
    }
    int lock = ypi_machine_lock(stderr, g->stop);
    g->began = ypi_now();
    status = *g->stop ? YP_UNSUPPORTED : compare_exact(g);
    bool whole = status == YP_OK && compare_times(g);
    g->found.seconds = ypi_now() - g->began;
    g->found.whole = whole;
    if (lock >= 0)
        close(lock);
    if (status != YP_OK)
        return told(g, status);
    int code = ypi_report_put(&g->r->report, &g->found);
    return code != YPI_COMMAND_OK ? code
           : whole                ? ypi_summary_exit(&g->found)
                                  : YPI_GATE_INTERRUPTED;
}

static void clear(struct gate *g)
{
    for (int i = 0; i < g->duel_count; i++) {
        ypi_duel_close(g->duels[i]);
        free((void *)g->names[i]);
    }
    free((void *)g->duels);
    free((void *)g->names);
    free(g->pairings);
    for (int i = 0; i < g->suite_count; i++)
        ypi_list_free(g->suites[i].ids, g->suites[i].id_count);
    free(g->suites);
    ypi_exact_close(g->exact_base);
    ypi_exact_close(g->exact_head);
    ypi_comparisons_clear(&g->found);
    ypi_list_free(g->options, g->option_count);
    ypi_list_free(g->head_options, g->head_option_count);
    free(g->log);
    ypi_workplace_close(&g->work);
    ypi_revision_clear(&g->base);
    ypi_revision_clear(&g->head);
    ypi_recipe_clear(&g->recipe);
}

int ypi_gate_command(int argc, char **argv)
{
    struct ypi_request r;
    bool right = ypi_request_read(&r, argc, argv);
    struct gate g = {.r = &r, .stop = ypi_interrupt_watch(), .work = {.lock = -1}};
    int code = YPI_GATE_USAGE;
    if (right && ypi_recipe_read(&g.recipe)) {
        g.options = split(NULL, &g.option_count, r.options);
        g.head_options = split(NULL, &g.head_option_count, r.options);
        g.head_options = split(g.head_options, &g.head_option_count, r.head_options);
        g.options = ended(g.options, g.option_count);
        g.head_options = ended(g.head_options, g.head_option_count);
        code = run(&g);
    }
    clear(&g);
    free((void *)r.cases.ids);
    return code;
}
