/* yieldpoint baseline: what kinds of machines reached for each case, and how that is learned. */
#include "reports/reports.h"

#include "base/options/arguments.h"
#include "base/options/project.h"
#include "base/text/figures.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/baseline/baseline.h"
#include "harness/history/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *history, *file, *to;
    struct ypi_selection cases;
    bool update, json;
};

/* The files that hold baselines, and which of them --update writes. */
struct place {
    char *history; /* path */
    char *named;   /* path of [baseline] file, or of --file; NULL: none */
    char *own;     /* path of the one beside the history */
    struct ypi_baseline_file in_named, in_own;
    struct ypi_baseline_settings settings;
};

static void clear_place(struct place *p)
{
    free(p->history);
    free(p->named);
    free(p->own);
    ypi_baseline_file_clear(&p->in_named);
    ypi_baseline_file_clear(&p->in_own);
    ypi_baseline_settings_clear(&p->settings);
}

static int find_place(struct place *p, const struct request *r)
{
    struct ypi_project project;
    const struct ypi_project_search usual = {0};
    bool right = ypi_project_read(&project, &usual) &&
                 ypi_baseline_settings_read(&p->settings, project.file, project.root, NULL);
    ypi_project_clear(&project);
    if (!right)
        return YPI_COMMAND_USAGE;
    p->history = ypi_store_path(r->history);
    if (p->history == NULL)
        return ypi_file_error();
    const char *named = r->file != NULL ? r->file : p->settings.file;
    p->named = named != NULL ? ypi_strdup(named) : NULL;
    p->own = ypi_baseline_path(p->history);
    right = (p->named == NULL || ypi_baseline_read(p->named, &p->in_named)) &&
            ypi_baseline_read(p->own, &p->in_own);
    return right ? YPI_COMMAND_OK : YPI_COMMAND_FILE;
}

/* -- the list ------------------------------------------------------------------------------ */

static struct ypi_baseline_entry copy(const struct ypi_baseline_entry *e)
{
    struct ypi_baseline_entry own = *e;
    own.id = ypi_strdup(e->id);
    own.machine = ypi_strdup(e->machine);
    own.b.name = ypi_strdup(e->b.name);
    own.b.exact = e->b.exact != NULL ? ypi_strdup(e->b.exact) : NULL;
    return own;
}

static bool is_selected(const cJSON *cases, const char *id)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cases) if (strcmp(ypi_text_of(row, "id"), id) == 0) return true;
    return false;
}

/* Those of `from` that `to` has not, or all. */
static void add(struct ypi_baseline_file *to, const struct ypi_baseline_file *from,
                const cJSON *cases, bool replace)
{
    for (int i = 0; i < from->count; i++)
        if ((cases == NULL || is_selected(cases, from->list[i].id)) &&
            (replace || ypi_baseline_find(to, &from->list[i]) == NULL))
            ypi_baseline_put(to, copy(&from->list[i]));
}

/* What a run would use: the named file's, then the other's. */
static struct ypi_baseline_file in_use(const struct place *p, const cJSON *cases)
{
    struct ypi_baseline_file all = {0};
    add(&all, &p->in_named, cases, true);
    add(&all, &p->in_own, cases, false);
    return all;
}

static void print_entry(const struct ypi_baseline_entry *e)
{
    const struct ypi_baseline *b = &e->b;
    char *text = ypi_baseline_text(b);
    printf("  %s%s: %s", b->of == YPI_BASELINE_EXACT ? "exact " : "", b->name, text);
    if (b->of == YPI_BASELINE_EXACT && b->seed != 0)
        printf(", seed %llu", (unsigned long long)b->seed);
    if (b->of != YPI_BASELINE_EXACT) {
        char deviation[YPI_FIGURE_MAX];
        ypi_format_percent(deviation, b->deviation, 2);
        printf(", deviation %s", deviation);
    }
    printf("; %s\n", e->machine);
    free(text);
}

static void print_list(const struct ypi_baseline_file *all)
{
    int cases = 0;
    for (int i = 0; i < all->count; i++) {
        const bool first = i == 0 || strcmp(all->list[i - 1].id, all->list[i].id) != 0;
        cases += first;
        if (first)
            printf("%s\n", all->list[i].id);
        print_entry(&all->list[i]);
    }
    printf("%d baseline%s of %d case%s\n", all->count, all->count == 1 ? "" : "s", cases,
           cases == 1 ? "" : "s");
}

static cJSON *document_of(const struct ypi_baseline_file *all)
{
    static const char *const of[] = {"share", "time", "exact"};
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < all->count; i++) {
        const struct ypi_baseline *b = &all->list[i].b;
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "id", all->list[i].id);
        cJSON_AddStringToObject(entry, "of", of[b->of]);
        cJSON_AddStringToObject(entry, "name", b->name);
        cJSON_AddStringToObject(entry, "machine", all->list[i].machine);
        if (b->of == YPI_BASELINE_EXACT) {
            char *seed = ypi_format("%llu", (unsigned long long)b->seed);
            cJSON_AddStringToObject(entry, "exact", b->exact);
            cJSON_AddStringToObject(entry, "seed", seed);
            free(seed);
        } else {
            ypi_json_add_real(entry, "typical", b->typical);
            ypi_json_add_real(entry, "slower", b->slower);
            ypi_json_add_real(entry, "deviation", b->deviation);
        }
        cJSON_AddNumberToObject(entry, "processes", b->processes);
        cJSON_AddNumberToObject(entry, "runs", b->runs);
        cJSON_AddStringToObject(entry, "commit", b->commit);
        cJSON_AddStringToObject(entry, "date", b->date);
        cJSON_AddItemToArray(list, entry);
    }
    return list;
}

/* -- learning ------------------------------------------------------------------------------ */

struct learned {
    struct ypi_baseline_file fresh;
    struct ypi_refused refused;
    int cases, lacking; /* looked at, and those without an entry in the end */
};

static enum yp_status learn(sqlite3 *db, const struct place *p, const cJSON *cases,
                            struct learned *out)
{
    struct ypi_learner *learner = ypi_learner_open(db, p->settings.rolling);
    enum yp_status status = YP_OK;
    const cJSON *row;
    cJSON_ArrayForEach(row, cases)
    {
        const char *device = ypi_text_of(row, "device");
        const bool accelerated = *device != '\0' && strcmp(device, "cpu") != 0;
        const int before = out->fresh.count;
        status = ypi_learn(learner, ypi_text_of(row, "id"), accelerated, NULL, &out->fresh, NULL,
                           &out->refused);
        if (status != YP_OK)
            break;
        out->cases++;
        out->lacking += out->fresh.count == before;
    }
    ypi_learner_close(learner);
    return status;
}

static void print_change(const struct ypi_baseline_entry *before,
                         const struct ypi_baseline_entry *e)
{
    char *now = ypi_baseline_text(&e->b);
    char *then = before != NULL ? ypi_baseline_text(&before->b) : ypi_strdup("none");
    printf("%s\n  %s%s: %s; before: %s; %s\n", e->id, e->b.of == YPI_BASELINE_EXACT ? "exact " : "",
           e->b.name, now, then, e->machine);
    free(then);
    free(now);
}

static bool is_older(const struct ypi_baseline *a, const struct ypi_baseline *b)
{
    return strcmp(a->date, b->date) < 0;
}

/* Puts what was learned into the file; what that has from a later day, as from another machine's
 * history, stays. */
static int take_over(struct ypi_baseline_file *to, struct learned *l, bool quiet)
{
    int changed = 0;
    for (int i = 0; i < l->fresh.count; i++) {
        const struct ypi_baseline_entry *e = &l->fresh.list[i];
        const struct ypi_baseline_entry *before = ypi_baseline_find(to, e);
        if (before != NULL && is_older(&e->b, &before->b))
            continue;
        struct ypi_baseline_entry old = {0};
        if (before != NULL)
            old = copy(before);
        if (ypi_baseline_put(to, copy(e))) {
            changed++;
            if (!quiet)
                print_change(before != NULL ? &old : NULL, e);
        }
        if (before != NULL)
            ypi_baseline_entry_clear(&old);
    }
    return changed;
}

static void print_refused(const struct learned *l)
{
    for (int i = 0; i < l->refused.count; i++)
        printf("not learned from: %d process%s: %s\n", l->refused.list[i].processes,
               l->refused.list[i].processes == 1 ? "" : "es", l->refused.list[i].why);
    if (l->lacking > 0)
        printf("%d of %d cases have no baseline: it takes %d passed, undisturbed processes of one "
               "commit from %d runs\n",
               l->lacking, l->cases, YPI_BASELINE_PROCESSES, YPI_BASELINE_RUNS);
}

static int update(sqlite3 *db, struct place *p, const cJSON *cases, bool quiet)
{
    struct learned learned = {0};
    const char *path = p->named != NULL ? p->named : p->own;
    struct ypi_baseline_file *file = p->named != NULL ? &p->in_named : &p->in_own;
    int code = learn(db, p, cases, &learned) == YP_OK ? YPI_COMMAND_OK : ypi_file_error();
    if (code == YPI_COMMAND_OK) {
        const int changed = take_over(file, &learned, quiet);
        if (ypi_baseline_write(path, file) != YP_OK)
            code = ypi_file_error();
        else if (!quiet)
            printf("%s: %d baseline%s changed or new, %d in all\n", path, changed,
                   changed == 1 ? "" : "s", file->count);
        if (code == YPI_COMMAND_OK && !quiet)
            print_refused(&learned);
    }
    ypi_baseline_file_clear(&learned.fresh);
    return code;
}

static int write_to(const char *path, const struct ypi_baseline_file *all, bool quiet)
{
    struct ypi_baseline_file file;
    int code = ypi_baseline_read(path, &file) ? YPI_COMMAND_OK : YPI_COMMAND_FILE;
    if (code == YPI_COMMAND_OK)
        add(&file, all, NULL, true);
    if (code == YPI_COMMAND_OK && ypi_baseline_write(path, &file) != YP_OK)
        code = ypi_file_error();
    if (code == YPI_COMMAND_OK && !quiet)
        printf("%s: %d baseline%s written, %d in all\n", path, all->count,
               all->count == 1 ? "" : "s", file.count);
    ypi_baseline_file_clear(&file);
    return code;
}

/* -- the command --------------------------------------------------------------------------- */

/* A file of baselines is read without a history, and its cases need not be there. */
static cJSON *all_cases(const struct place *p)
{
    cJSON *list = cJSON_CreateArray();
    const struct ypi_baseline_file *const files[] = {&p->in_named, &p->in_own};
    for (int f = 0; f < 2; f++)
        for (int i = 0; i < files[f]->count; i++)
            if (i == 0 || strcmp(files[f]->list[i - 1].id, files[f]->list[i].id) != 0) {
                cJSON *row = cJSON_CreateObject();
                cJSON_AddStringToObject(row, "id", files[f]->list[i].id);
                cJSON_AddItemToArray(list, row);
            }
    return list;
}

static int run(sqlite3 *db, struct place *p, const struct request *r)
{
    bool right = true;
    const bool all = r->cases.mark == NULL && r->cases.keyword == NULL && r->cases.id_count == 0;
    cJSON *cases = all && !r->update ? all_cases(p) : ypi_cases_load(db, &r->cases, &right);
    int code = YPI_COMMAND_OK;
    if (cases == NULL)
        code = ypi_file_error();
    else if (!right)
        code = YPI_COMMAND_USAGE;
    else if (r->update)
        code = update(db, p, cases, r->json);
    if (code == YPI_COMMAND_OK) {
        struct ypi_baseline_file list = in_use(p, cases);
        if (r->to != NULL)
            code = write_to(r->to, &list, r->json);
        if (code == YPI_COMMAND_OK && r->json) {
            cJSON *document = document_of(&list);
            code = ypi_put_json(document);
            cJSON_Delete(document);
        } else if (code == YPI_COMMAND_OK && !r->update && r->to == NULL) {
            print_list(&list);
            code = list.count > 0 ? ypi_flush() : YPI_COMMAND_NOTHING;
        }
        ypi_baseline_file_clear(&list);
    }
    cJSON_Delete(cases);
    return code == YPI_COMMAND_OK ? ypi_flush() : code;
}

int ypi_report_baseline(int argc, char **argv)
{
    struct request r = {.cases.absent_too = true};
    struct place place = {0};
#define AT(kind_, field) .kind = YPI_OPTION_##kind_, .offset = offsetof(struct request, field)
    static const struct ypi_option options[] = {
        {"history", AT(WORD, history)},
        YPI_STORE_VERBOSE,
        {.letter = 'm', AT(WORD, cases.mark)},
        {.letter = 'k', AT(WORD, cases.keyword)},
        {"update", AT(FLAG, update)},
        {"write", AT(WORD, to)},
        {"file", AT(WORD, file)},
        {"json", AT(FLAG, json)},
        YPI_OPTIONS_END,
    };
#undef AT
    r.cases.ids = ypi_calloc((size_t)argc + 1, sizeof *r.cases.ids);
    int code = YPI_COMMAND_USAGE;
    if (ypi_arguments_read(&(struct ypi_arguments){.options = options,
                                                   .values = &r,
                                                   .words = r.cases.ids,
                                                   .word_count = &r.cases.id_count},
                           argc, argv))
        code = find_place(&place, &r);
    else
        place.history = NULL;
    if (code == YPI_COMMAND_OK) {
        sqlite3 *db = ypi_store_open(place.history);
        code = db != NULL ? run(db, &place, &r) : ypi_file_error();
        sqlite3_close(db);
    }
    clear_place(&place);
    free(r.cases.ids);
    return code;
}
