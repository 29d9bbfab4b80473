/* Baselines given to the cases of a run. */
#include "harness/baseline/baseline.h"

#include "base/text/text.h"
#include "harness/collect/collect.h"
#include "harness/collect/expression.h"
#include "harness/collect/options.h"
#include "harness/history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct attaching {
    const struct ypi_options *o;
    struct ypi_baseline_settings settings;
    struct ypi_baseline_file named, own; /* of [baseline] file, and beside the history */
    char *own_path;
    char *kind[2], *exact_kind[2]; /* of this machine; NULL: not known */
    struct ypi_learner *learner;   /* NULL: there is no history yet */
    bool sanitized; /* the program: its own times and bytes are others, but not a command's */
    bool learned;   /* `own` has more than its file */
};

/* -- this machine -------------------------------------------------------------------------- */

static const char *fact_of(const void *arg, const char *key)
{
    return ypi_environment_get(arg, key);
}

static void find_kinds(struct attaching *a, const struct ypi_environment *e)
{
    int count = 0;
    char **words = ypi_options_reproduce(a->o, false, &count);
    struct ypi_text text = {0};
    for (int i = 0; i < count; i++)
        ypi_text_add(&text, "%s\n", words[i]);
    ypi_list_free(words, count);
    char *options = ypi_text_take(&text);
    for (int i = 0; i < 2; i++) {
        a->kind[i] = ypi_machine_kind(fact_of, e, options, i == 1);
        a->exact_kind[i] = ypi_machine_kind_exact(fact_of, e, i == 1);
    }
    free(options);
    const char *compiled = ypi_environment_get(e, "program.compiler");
    a->sanitized = compiled != NULL && strstr(compiled, "with a sanitizer") != NULL;
}

/* -- a case -------------------------------------------------------------------------------- */

static bool tag_holds(void *arg, const char *word, size_t length)
{
    return ypi_has_word(((const struct yp_case *)arg)->tags, word, length);
}

/* Of the case's tags, or of all; the declared one, by a budget, is not asked here. */
static double threshold_of(const struct ypi_baseline_settings *s, struct yp_case *c)
{
    double threshold = s->threshold;
    for (int i = 0; i < s->by_tag_count; i++) {
        struct ypi_expression_error error;
        bool valid = true;
        const bool holds = ypi_expression(s->by_tag[i].expression, tag_holds, c, &valid, &error);
        if (holds && valid)
            threshold = s->by_tag[i].threshold;
    }
    return threshold;
}

/* A run on other memory, or one that times nothing, has no figures that compare. */
static bool has_times(const struct ypi_options *o)
{
    return o->speed != YPI_SPEED_OFF && !o->instructions && !o->audit && !o->fail_each;
}
static bool has_exact(const struct ypi_options *o)
{
    return o->memory_limit == 0 && o->device_memory_limit == 0 && o->fail_allocation == 0 &&
           !o->audit && !o->fail_each;
}

static void copy(struct ypi_baselines *to, const struct ypi_baseline *b)
{
    to->list = ypi_realloc(to->list, (size_t)to->count + 1, sizeof *to->list);
    struct ypi_baseline *own = &to->list[to->count++];
    *own = *b;
    own->name = ypi_strdup(b->name);
    own->exact = b->exact != NULL ? ypi_strdup(b->exact) : NULL;
}

/* The entries of a case on this machine, from `file`, that `to` has none of yet. */
static void take(const struct attaching *a, const struct ypi_baseline_file *file,
                 const struct yp_case *c, struct ypi_baselines *to)
{
    const bool accelerated = ypi_on_accelerator(c);
    const char *kind = a->kind[accelerated];
    const char *exact_kind = a->exact_kind[accelerated];
    int low = 0, high = file->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (strcmp(file->list[middle].id, c->id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const int before = to->count;
    for (; low < file->count && strcmp(file->list[low].id, c->id) == 0; low++) {
        const struct ypi_baseline_entry *e = &file->list[low];
        const bool exact = e->b.of == YPI_BASELINE_EXACT;
        const char *own = exact ? exact_kind : kind;
        bool there = own == NULL || strcmp(own, e->machine) != 0 ||
                     !(exact ? has_exact(a->o) : has_times(a->o));
        for (int i = 0; i < before; i++)
            there = there || (strcmp(to->list[i].name, e->b.name) == 0 &&
                              (to->list[i].of == YPI_BASELINE_EXACT) == exact &&
                              to->list[i].seed == e->b.seed);
        if (!there)
            copy(to, &e->b);
    }
}

/* What the history has enough of by now goes into the file beside it. */
static enum yp_status learn(struct attaching *a, const struct yp_case *c, int *so_far)
{
    struct ypi_baseline_file fresh = {0};
    const bool accelerated = ypi_on_accelerator(c);
    enum yp_status status =
        ypi_learn(a->learner, c->id, accelerated, a->kind[accelerated], &fresh, so_far, NULL);
    for (int i = 0; i < fresh.count; i++) {
        struct ypi_baseline_entry *e = &fresh.list[i];
        if (ypi_baseline_find(&a->named, e) == NULL &&
            (a->settings.rolling || ypi_baseline_find(&a->own, e) == NULL)) {
            a->learned = ypi_baseline_put(&a->own, *e) || a->learned;
            *e = (struct ypi_baseline_entry){0};
        }
    }
    for (int i = 0; i < fresh.count; i++)
        ypi_baseline_entry_clear(&fresh.list[i]);
    free(fresh.list);
    return status;
}

static enum yp_status attach_case(struct attaching *a, struct yp_case *c, struct ypi_baselines *to)
{
    enum yp_status status = YP_OK;
    if (ypi_is_relation(c) || c->test->fixture || a->kind[ypi_on_accelerator(c)] == NULL ||
        (a->sanitized && c->test->command == NULL))
        return YP_OK;
    take(a, &a->named, c, to);
    take(a, &a->own, c, to);
    if (a->learner != NULL && has_times(a->o) &&
        (a->settings.rolling || to->count == 0 || ypi_learner_sees_new(a->learner, c->id, to))) {
        status = learn(a, c, &to->so_far);
        while (to->count > 0)
            ypi_baseline_clear(&to->list[--to->count]);
        take(a, &a->named, c, to);
        take(a, &a->own, c, to);
    }
    const double threshold = threshold_of(&a->settings, c);
    for (int i = 0; i < to->count; i++) {
        const struct ypi_baseline *b = &to->list[i];
        const struct yp_budget budget = {.kind = YP_BUDGET_MAX_REGRESSION,
                                         .name = b->name,
                                         .limit = fmax(threshold, 3 * b->deviation)};
        if (b->of != YPI_BASELINE_EXACT)
            ypi_budgets_add_learned(c, &budget);
    }
    c->baselines = to;
    return status;
}

/* -- all ----------------------------------------------------------------------------------- */

static bool read_files(struct attaching *a)
{
    const struct ypi_options *o = a->o;
    if (!ypi_baseline_settings_read(&a->settings, o->file, o->root, o))
        return false;
    const char *named = o->baseline_file != NULL ? o->baseline_file : a->settings.file;
    a->own_path = ypi_baseline_path(o->history);
    return (named == NULL || ypi_baseline_read(named, &a->named)) &&
           ypi_baseline_read(a->own_path, &a->own);
}

static void clear(struct attaching *a)
{
    ypi_baseline_settings_clear(&a->settings);
    ypi_baseline_file_clear(&a->named);
    ypi_baseline_file_clear(&a->own);
    free(a->own_path);
    for (int i = 0; i < 2; i++) {
        free(a->kind[i]);
        free(a->exact_kind[i]);
    }
    if (a->learner != NULL)
        ypi_learner_close(a->learner);
}

bool ypi_baselines_attach(struct ypi_attached *out, const struct ypi_options *o,
                          const struct ypi_environment *e, struct yp_case *const *cases, int count)
{
    struct attaching a = {.o = o};
    *out = (struct ypi_attached){0};
    if (o->baseline == YPI_BASELINE_OFF || o->no_fork || o->turns != NULL)
        return true;
    bool right = read_files(&a);
    sqlite3 *db = right && access(o->history, F_OK) == 0 ? ypi_store_open(o->history) : NULL;
    if (right) {
        find_kinds(&a, e);
        out->exact_fails = a.settings.exact_fails;
        out->of = ypi_calloc((size_t)count + 1, sizeof *out->of);
        out->count = count;
    }
    if (db != NULL)
        a.learner = ypi_learner_open(db, a.settings.rolling);
    enum yp_status status = YP_OK;
    for (int i = 0; right && status == YP_OK && i < count; i++)
        status = attach_case(&a, cases[i], &out->of[i]);
    if (status == YP_OK && a.learned)
        status = ypi_baseline_write(a.own_path, &a.own);
    if (status != YP_OK)
        fprintf(stderr, "warning: baselines are not learned: %s\n", yp_last_error());
    clear(&a);
    sqlite3_close(db);
    return right;
}

void ypi_attached_clear(struct ypi_attached *attached)
{
    for (int i = 0; i < attached->count; i++) {
        for (int k = 0; k < attached->of[i].count; k++)
            ypi_baseline_clear(&attached->of[i].list[k]);
        free(attached->of[i].list);
    }
    free(attached->of);
    *attached = (struct ypi_attached){0};
}
