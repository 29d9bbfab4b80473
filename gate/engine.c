#include "gate/engine.h"

#include "base/system/clock.h"
#include "base/system/lock.h"
#include "base/text/text.h"
#include "gate/exact.h"
#include "gate/pair/schedule.h"
#include "gate/report.h"
#include "gate/workplace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A case that is not decided by then scatters so much that it hardly will be. */
#define CASE_SECONDS 120.0

/* A suite as both revisions have it. */
struct both {
    struct ypi_suite base, head;
    char **ids; /* that both have; owned */
    int id_count;
    bool turns;      /* both take them */
    char **commands; /* of the cases those that run one, where nothing else is timed; owned */
    int command_count;
};

struct ypi_engine {
    const struct ypi_engine_task *task;
    struct ypi_comparisons *found;
    struct ypi_workplace work;
    char *log;
    char **options, **head_options;
    struct both *suites;
    int suite_count;
    struct ypi_exact *exact_base, *exact_head;
    struct ypi_duel **duels;
    struct ypi_pairing *pairings;
    const char ***names;
    int duel_count;
    bool same_build;
    double began, told; /* seconds of ypi_now(): .told of the last line of progress */
};

/* -- both sides ---------------------------------------------------------------------------- */

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

static void add_suite(struct ypi_engine *e, const char *base, const char *head)
{
    const struct ypi_engine_task *t = e->task;
    e->suites = ypi_realloc(e->suites, (size_t)e->suite_count + 1, sizeof *e->suites);
    e->suites[e->suite_count++] = (struct both){
        .base = {base, t->base->source, (const char *const *)e->options, e->log},
        .head = {head, t->head->source, (const char *const *)e->head_options, e->log}};
}

static void pair_suites(struct ypi_engine *e)
{
    const struct ypi_revision *base = e->task->base;
    const struct ypi_revision *head = e->task->head;
    for (int i = 0; i < base->program_count; i++)
        add_suite(e, base->programs[i], like(head, place_of(base, i)));
    for (int i = 0; i < head->program_count; i++)
        if (like(base, place_of(head, i)) == NULL)
            add_suite(e, NULL, head->programs[i]);
}

static enum yp_status list_of(const struct ypi_engine *e, const struct ypi_suite *suite,
                              char ***ids, int *count)
{
    *ids = NULL;
    *count = 0;
    return suite->program == NULL
               ? YP_OK
               : ypi_suite_list(suite, &e->task->cases, e->task->stop, ids, count);
}

/* What only one side has is reported; what both have is to be run. */
static enum yp_status list_suite(struct ypi_engine *e, struct both *s)
{
    char **base = NULL;
    char **head = NULL;
    int base_count = 0;
    int head_count = 0;
    enum yp_status status = list_of(e, &s->base, &base, &base_count);
    if (status == YP_OK)
        status = list_of(e, &s->head, &head, &head_count);
    for (int i = 0; i < base_count && status == YP_OK; i++)
        if (ypi_list_has((const char *const *)head, head_count, base[i]))
            s->ids = ypi_list_add(s->ids, s->id_count++, ypi_strdup(base[i]));
        else
            ypi_comparison_add(e->found, base[i], YPI_QUANTITY_CASE, NULL)->verdict =
                YPI_COMPARED_GONE;
    for (int i = 0; i < head_count && status == YP_OK; i++)
        if (!ypi_list_has((const char *const *)base, base_count, head[i]))
            ypi_comparison_add(e->found, head[i], YPI_QUANTITY_CASE, NULL)->verdict =
                YPI_COMPARED_NEW;
    ypi_list_free(base, base_count);
    ypi_list_free(head, head_count);
    if (status == YP_OK && s->id_count > 0)
        s->turns = ypi_suite_takes_turns(&s->base, e->task->stop) &&
                   ypi_suite_takes_turns(&s->head, e->task->stop);
    if (s->id_count > 0 && !s->turns)
        ypi_comparisons_note(e->found,
                             "%s: a side does not know --turns: its cases are compared "
                             "by whole processes, one after the other",
                             strrchr(s->base.program, '/') + 1);
    return status;
}

int ypi_engine_case_count(const struct ypi_engine *e)
{
    int count = 0;
    for (int i = 0; i < e->suite_count; i++)
        count += e->suites[i].id_count;
    return count;
}

const char *ypi_engine_case(const struct ypi_engine *e, int at)
{
    int suite = 0;
    for (; at >= e->suites[suite].id_count; suite++)
        at -= e->suites[suite].id_count;
    return e->suites[suite].ids[at];
}

enum yp_status ypi_engine_list(struct ypi_engine *e)
{
    enum yp_status status = YP_OK;
    pair_suites(e);
    for (int i = 0; i < e->suite_count && status == YP_OK; i++)
        status = list_suite(e, &e->suites[i]);
    return status;
}

/* -- exact figures ------------------------------------------------------------------------- */

static void name_machine(struct ypi_side *side, const struct ypi_exact *exact)
{
    if (side->machine == NULL)
        side->machine = ypi_strdup(ypi_exact_machine(exact));
}

static enum yp_status read_exact(struct ypi_engine *e, const char *base, const char *head)
{
    ypi_exact_close(e->exact_base);
    ypi_exact_close(e->exact_head);
    e->exact_head = NULL;
    e->exact_base = ypi_exact_read(base);
    if (e->exact_base != NULL)
        e->exact_head = ypi_exact_read(head);
    if (e->exact_head == NULL)
        return YP_IO;
    name_machine(&e->found->base, e->exact_base);
    name_machine(&e->found->head, e->exact_head);
    return YP_OK;
}

static enum yp_status run_both(const struct ypi_engine *e, const struct both *s,
                               enum ypi_suite_mode mode, char *const *ids, int count,
                               const char *base, const char *head)
{
    enum yp_status status = ypi_suite_run(&s->base, mode, ids, count, base, e->task->stop);
    return status != YP_OK ? status
                           : ypi_suite_run(&s->head, mode, ids, count, head, e->task->stop);
}

/* All cases of both sides. */
static enum yp_status run_all(const struct ypi_engine *e, enum ypi_suite_mode mode,
                              const char *base, const char *head)
{
    enum yp_status status = YP_OK;
    for (int i = 0; i < e->suite_count && status == YP_OK; i++)
        status =
            run_both(e, &e->suites[i], mode, e->suites[i].ids, e->suites[i].id_count, base, head);
    return status;
}

/* The cases of which a figure is open once more; *any: there are some. */
static enum yp_status run_open(struct ypi_engine *e, const char *base, const char *head, bool *any)
{
    enum yp_status status = YP_OK;
    *any = false;
    for (int i = 0; i < e->suite_count && status == YP_OK; i++) {
        const struct both *s = &e->suites[i];
        char **ids = ypi_calloc((size_t)s->id_count + 1, sizeof *ids);
        int count = 0;
        for (int k = 0; k < s->id_count; k++)
            if (ypi_exact_is_open(e->exact_base, e->exact_head, s->ids[k]))
                ids[count++] = s->ids[k];
        status = run_both(e, s, YPI_SUITE_EXACT, ids, count, base, head);
        *any = *any || count > 0;
        free(ids);
    }
    return status;
}

static enum yp_status run_exact(struct ypi_engine *e, const char *base, const char *head)
{
    int repeats = e->task->scope != YPI_ENGINE_TIME ? YPI_EXACT_REPEATS : 1;
    enum yp_status status = run_all(e, YPI_SUITE_EXACT, base, head);
    if (status == YP_OK)
        status = read_exact(e, base, head);
    bool any = true;
    for (int done = 1; done < repeats && status == YP_OK && any; done++) {
        status = run_open(e, base, head, &any);
        if (status == YP_OK && any)
            status = read_exact(e, base, head);
    }
    return status;
}

/* Of runs of their own: under Callgrind nothing else is as it is without. */
static enum yp_status compare_instructions(struct ypi_engine *e)
{
    char *paths[2] = {ypi_format("%s/count-base.db", e->work.path),
                      ypi_format("%s/count-head.db", e->work.path)};
    struct ypi_exact *counts[2] = {NULL, NULL};
    enum yp_status status = run_all(e, YPI_SUITE_COUNT, paths[0], paths[1]);
    for (int i = 0; i < 2 && status == YP_OK; i++) {
        counts[i] = ypi_exact_read(paths[i]);
        status = counts[i] != NULL ? YP_OK : yp_last_status();
    }
    for (int i = 0; i < e->suite_count && status == YP_OK; i++)
        for (int k = 0; k < e->suites[i].id_count; k++)
            ypi_exact_compare_instructions(counts[0], counts[1], e->suites[i].ids[k], e->found);
    for (int i = 0; i < 2; i++) {
        ypi_exact_close(counts[i]);
        free(paths[i]);
    }
    return status;
}

static enum yp_status compare_exact(struct ypi_engine *e)
{
    char *base = ypi_format("%s/exact-base.db", e->work.path);
    char *head = ypi_format("%s/exact-head.db", e->work.path);
    enum yp_status status = ypi_engine_case_count(e) > 0 ? run_exact(e, base, head) : YP_OK;
    for (int i = 0; i < e->suite_count && status == YP_OK; i++)
        for (int k = 0; k < e->suites[i].id_count; k++)
            ypi_exact_compare(e->exact_base, e->exact_head, e->suites[i].ids[k], e->found);
    free(base);
    free(head);
    if (status == YP_OK && e->task->instructions && ypi_engine_case_count(e) > 0)
        status = compare_instructions(e);
    return status;
}

/* -- times --------------------------------------------------------------------------------- */

static bool is_wanted(const struct ypi_engine *e, const char *name)
{
    return e->task->measurement == NULL || strcmp(name, e->task->measurement) == 0;
}

/* The measurements that are wanted and that both sides have; those of one are reported. The list is
 * the caller's. */
static const char **common(struct ypi_engine *e, const char *id, int *count)
{
    int base_count = 0;
    int head_count = 0;
    const char **base = ypi_exact_measurements(e->exact_base, id, &base_count);
    const char **head = ypi_exact_measurements(e->exact_head, id, &head_count);
    *count = 0;
    for (int i = 0; i < head_count; i++)
        if (is_wanted(e, head[i]) && !ypi_list_has(base, base_count, head[i]))
            ypi_comparison_add(e->found, id, YPI_QUANTITY_TIME, head[i])->verdict =
                YPI_COMPARED_NEW;
    for (int i = 0; i < base_count; i++)
        if (!is_wanted(e, base[i]))
            continue;
        else if (ypi_list_has(head, head_count, base[i]))
            base[(*count)++] = base[i];
        else
            ypi_comparison_add(e->found, id, YPI_QUANTITY_TIME, base[i])->verdict =
                YPI_COMPARED_GONE;
    free((void *)head);
    return base;
}

/* What failed did other work than what passed. And what is the same takes as long, but for a
 * command: what it runs need not be built. */
static bool is_timed(const struct ypi_engine *e, const struct both *s, const char *id)
{
    return !ypi_exact_failed(e->exact_base, id) && !ypi_exact_failed(e->exact_head, id) &&
           (!e->same_build || ypi_list_has((const char *const *)s->commands, s->command_count, id));
}

enum yp_status ypi_engine_commands(struct ypi_engine *e, int *count)
{
    const struct ypi_engine_task *t = e->task;
    enum yp_status status = YP_OK;
    *count = 0;
    for (int i = 0; i < e->suite_count && status == YP_OK; i++) {
        struct both *s = &e->suites[i];
        if (s->id_count > 0)
            status = ypi_suite_list_commands(&s->head, &t->cases, t->stop, &s->commands,
                                             &s->command_count);
        *count += s->command_count;
    }
    return status;
}

static enum yp_status find_same_build(struct ypi_engine *e)
{
    const struct ypi_engine_task *t = e->task;
    enum yp_status status = YP_OK;
    int commands = 0;
    bool alike = t->head_options == NULL || *t->head_options == '\0';
    e->same_build = t->scope == YPI_ENGINE_ALL && !t->always_time && alike &&
                    ypi_revision_same_build(t->base, t->head);
    if (e->same_build)
        status = ypi_engine_commands(e, &commands);
    if (e->same_build)
        ypi_comparisons_note(e->found,
                             "both builds are the same code, so %s is timed; "
                             "--always-time times everything",
                             commands > 0 ? "nothing but commands" : "nothing");
    return status;
}

static bool has_one_thread(const struct ypi_engine *e, const char *id)
{
    return ypi_exact_threads(e->exact_base, id) == 1 && ypi_exact_threads(e->exact_head, id) == 1;
}

/* The error of the whole is shared by all measurements (Bonferroni), so that it holds whatever they
 * have to do with each other. */
static void open_duels(struct ypi_engine *e)
{
    int cases = ypi_engine_case_count(e);
    int measurements = 0;
    int *counts = ypi_calloc((size_t)cases + 1, sizeof *counts);
    e->pairings = ypi_calloc((size_t)cases + 1, sizeof *e->pairings);
    e->names = ypi_calloc((size_t)cases + 1, sizeof *e->names);
    e->duels = ypi_calloc((size_t)cases + 1, sizeof *e->duels);
    bool *whole = ypi_calloc((size_t)cases + 1, sizeof *whole);
    for (int i = 0; i < e->suite_count; i++)
        for (int k = 0; k < e->suites[i].id_count; k++) {
            const struct both *s = &e->suites[i];
            int at = e->duel_count;
            if (!is_timed(e, s, s->ids[k]))
                continue;
            e->names[at] = common(e, s->ids[k], &counts[at]);
            measurements += counts[at];
            e->pairings[at] =
                (struct ypi_pairing){.base = {s->base.program, s->base.directory, s->base.options},
                                     .head = {s->head.program, s->head.directory, s->head.options},
                                     .id = s->ids[k],
                                     .one_thread = has_one_thread(e, s->ids[k]),
                                     .work = e->work.path,
                                     .stop = e->task->stop};
            whole[at] = !s->turns;
            if (counts[at] > 0)
                e->duel_count++;
            else
                free((void *)e->names[at]);
        }
    struct ypi_duel_rule rule = e->task->rule;
    rule.error /= measurements > 0 ? measurements : 1;
    for (int i = 0; i < e->duel_count; i++)
        e->duels[i] = ypi_duel_open(&e->pairings[i], e->names[i], counts[i], rule, whole[i]);
    free(whole);
    free(counts);
}

/* Each step on a terminal, and a line now and then into a log. */
static void print_progress(void *arg, int at, int decided, double left)
{
    struct ypi_engine *e = arg;
    char where[64];
    if (!ypi_report_is_due(&e->told, ypi_now(), isatty(STDERR_FILENO) != 0))
        return;
    ypi_duel_words(e->duels[at], where);
    bool over = ypi_duel_is_over(e->duels[at]);
    fprintf(stderr, "  %d of %d decided  %s  %s%s", decided, e->duel_count, e->pairings[at].id,
            where, over ? "" : " goes on");
    if (isfinite(left))
        fprintf(stderr, "  %.0f s left", fmax(0, left));
    fputc('\n', stderr);
}

/* False: stopped. What is decided by then counts. */
static bool compare_times(struct ypi_engine *e)
{
    struct ypi_seed coin = ypi_seed_of((uint64_t)(1e6 * ypi_wall_clock()), (uint64_t)getpid(), 0);
    double budget = e->task->budget;
    open_duels(e);
    const struct ypi_schedule schedule = {.duels = e->duels,
                                          .count = e->duel_count,
                                          .seconds = budget - (ypi_now() - e->began),
                                          .case_seconds = isfinite(budget) ? budget : CASE_SECONDS,
                                          .stop = e->task->stop,
                                          .progress = print_progress,
                                          .arg = e};
    bool whole = ypi_schedule_run(&schedule, &coin);
    int before = e->found->count;
    for (int i = 0; i < e->duel_count; i++)
        ypi_duel_conclude(e->duels[i], e->found);
    for (int i = before; i < e->found->count; i++)
        ypi_comparison_agree(&e->found->list[i]);
    return whole;
}

/* -- the whole ----------------------------------------------------------------------------- */

struct ypi_engine *ypi_engine_open(const struct ypi_engine_task *task,
                                   struct ypi_comparisons *found)
{
    struct ypi_engine *e = ypi_calloc(1, sizeof *e);
    e->task = task;
    e->found = found;
    if (ypi_workplace_open(&e->work) != YP_OK) {
        ypi_engine_close(e);
        return NULL;
    }
    e->log = ypi_format("%s/suite.log", e->work.path);
    e->options = ypi_suite_options(task->options, NULL);
    e->head_options = ypi_suite_options(task->options, task->head_options);
    return e;
}

enum yp_status ypi_engine_run(struct ypi_engine *e)
{
    int lock = ypi_machine_lock(stderr, e->task->stop);
    e->began = e->told = ypi_now();
    enum yp_status status =
        *e->task->stop ? yp_set_error(YP_UNSUPPORTED, "interrupted") : compare_exact(e);
    bool timed = e->task->scope != YPI_ENGINE_EXACT;
    if (status == YP_OK && timed)
        status = find_same_build(e);
    e->found->whole = status == YP_OK && (!timed || compare_times(e));
    e->found->seconds = ypi_now() - e->began;
    if (lock >= 0)
        close(lock);
    return status;
}

void ypi_engine_close(struct ypi_engine *e)
{
    if (e == NULL)
        return;
    for (int i = 0; i < e->duel_count; i++) {
        ypi_duel_close(e->duels[i]);
        free((void *)e->names[i]);
    }
    free((void *)e->duels);
    free((void *)e->names);
    free(e->pairings);
    for (int i = 0; i < e->suite_count; i++) {
        ypi_list_free(e->suites[i].ids, e->suites[i].id_count);
        ypi_list_free(e->suites[i].commands, e->suites[i].command_count);
    }
    free(e->suites);
    ypi_exact_close(e->exact_base);
    ypi_exact_close(e->exact_head);
    ypi_suite_options_free(e->options);
    ypi_suite_options_free(e->head_options);
    free(e->log);
    ypi_workplace_close(&e->work);
    free(e);
}
