/* The files of budgets of a collection: found, read once, held against the cases that there are. */
#include "harness/collect/internal.h"

#include "base/options/project.h"
#include "base/system/file.h"
#include "base/system/self.h"
#include "base/text/text.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/budget_file.h"
#include "harness/vocabulary/relation.h"

#include <yieldpoint/isa.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ypi_budget_files {
    struct ypi_budget_file *file;
    struct ypi_budget_files *next;
};

/* -- where they are ------------------------------------------------------------------------ */

/* What stands beside `source`, as far as that is known. The caller frees. */
static char *beside(const char *source, const char *name)
{
    char folder[YPI_PATH_MAX];
    ypi_directory_of(folder, source);
    return strcmp(folder, ".") == 0 ? ypi_strdup(name) : ypi_format("%s/%s", folder, name);
}

/* Where a compiler was told a path from its own directory, the program lies in that one or below:
 * from there upwards, as plugins are looked for. The caller frees; NULL: none, `tried` says where.
 */
static char *find(const struct yp_test *test, const char *name, struct ypi_text *tried)
{
    char folder[YPI_PATH_MAX];
    char *own = name[0] == '/' ? ypi_strdup(name) : beside(test->file, name);
    if (own[0] == '/' && access(own, F_OK) == 0)
        return own;
    ypi_directory_of(folder, ypi_self_path());
    char *below = beside(ypi_test_path(test->file), name);
    char *installed = ypi_format("suites/%s", below);
    char *found = own[0] == '/' ? NULL : ypi_nearest_from(folder, own);
    if (found == NULL && name[0] != '/')
        found = ypi_nearest_from(folder, installed);
    if (found == NULL)
        ypi_text_add(tried, name[0] == '/' ? "%s" : "%s, nor %s from %s upwards", own, installed,
                     folder);
    free(installed);
    free(below);
    free(own);
    return found;
}

static struct ypi_budget_file *open_once(struct ypi_collection *out, const char *path)
{
    for (struct ypi_budget_files *f = out->budget_files; f != NULL; f = f->next)
        if (strcmp(f->file->path, path) == 0)
            return f->file;
    struct ypi_budget_files *first = ypi_calloc(1, sizeof *first);
    *first = (struct ypi_budget_files){ypi_budget_file_read(path), out->budget_files};
    out->budget_files = first;
    out->errors += first->file->wrong;
    return first->file;
}

/* The file that the test names, or that stands for it by --budgets; NULL: reported. */
static struct ypi_budget_file *file_of(struct ypi_collecting *g, const char *name)
{
    struct ypi_text tried = {0};
    char *path = g->o->budgets != NULL ? ypi_strdup(g->o->budgets) : find(g->test, name, &tried);
    struct ypi_budget_file *file = path != NULL ? open_once(g->out, path) : NULL;
    if (path == NULL)
        ypi_declaration_error(g, "no file of budgets '%s': there is neither %s", name, tried.data);
    free(ypi_text_take(&tried));
    free(path);
    return file;
}

/* -- what they say of a case --------------------------------------------------------------- */

static void tell(struct ypi_collection *out, const struct ypi_budget_file *file, int line,
                 const char *message)
{
    fprintf(stderr, "error: %s:%d: %s\n", file->path, line, message);
    out->errors++;
}

/* all NULL: it does not hold here, and is checked alone. */
static void put_line(struct ypi_collecting *g, const struct yp_case *c, struct yp_budgets *all,
                     const struct ypi_budget_line *line)
{
    char *problem = ypi_budget_problem(c->test, &line->budget);
    if (problem == NULL && c->test->relation.kind != YP_RELATION_NONE)
        problem = ypi_relation_budget_problem(c->test, &line->budget);
    if (problem == NULL) {
        if (all != NULL)
            ypi_budgets_put(all, &line->budget);
        return;
    }
    char *key = ypi_budget_key(&line->budget);
    char *message = ypi_format("'%s' of %s %s", key, c->id, problem);
    tell(g->out, g->file, line->line, message);
    free(message);
    free(key);
    free(problem);
}

static void put_section(struct ypi_collecting *g, const struct yp_case *c, struct yp_budgets *all,
                        const char *title)
{
    struct ypi_budget_section *s = ypi_budget_file_find(g->file, title);
    if (s == NULL)
        return;
    s->used = true;
    for (int i = 0; i < s->count; i++)
        put_line(g, c, all, &s->budgets[i]);
}

/* Every process has the highest set at most, so a section of that one is for those that have it. */
static bool section_holds(int isa)
{
    int mine = (int)yp_isa();
    return isa == YP_ISAS - 1 ? mine == isa : mine <= isa;
}

void ypi_budgets_put_file(struct ypi_collecting *g, const struct yp_case *c, struct yp_budgets *all)
{
    const struct yp_budget *list = g->test->budgets;
    int count = ypi_budget_count(list, YP_MAX_BUDGETS), at = 0;
    while (at < count && list[at].kind != YP_BUDGET_FILE)
        at++;
    if (at == count || !ypi_budget_is_for(list, at, c))
        return;
    if (!g->file_sought)
        g->file = file_of(g, list[at].name);
    g->file_sought = true;
    if (g->file == NULL)
        return;
    put_section(g, c, all, c->id);
    for (int isa = YP_ISAS - 1; isa >= 0; isa--) {
        char *title = ypi_format("%s %s", c->id, yp_isa_name((enum yp_isa)isa));
        put_section(g, c, section_holds(isa) ? all : NULL, title);
        free(title);
    }
}

/* -- what they say of none ----------------------------------------------------------------- */

static char *unused(const char *id, const char *const *ids, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(id, ids[i]) == 0)
            return ypi_format("[%s]: the test of this case does not refer to this file; a "
                              "yp_budget_file() among its .budgets does",
                              id);
    char *near = ypi_did_you_mean(id, ids, count);
    char *message = ypi_format("[%s] is no case of the tests that refer to this file%s; --co "
                               "-q lists all ids",
                               id, near);
    free(near);
    return message;
}

static void check_sections(struct ypi_collection *out, const struct ypi_budget_file *file)
{
    const char **ids = ypi_calloc((size_t)out->count, sizeof *ids);
    for (int i = 0; i < out->count; i++)
        ids[i] = out->cases[i]->id;
    for (int i = 0; i < file->count; i++) {
        const struct ypi_budget_section *s = &file->sections[i];
        if (s->used)
            continue;
        char *message = unused(s->id, ids, out->count);
        tell(out, file, s->line, message);
        free(message);
    }
    free(ids);
}

void ypi_budget_files_check(struct ypi_collection *out, const struct ypi_options *o)
{
    if (o->budgets != NULL && out->budget_files == NULL && out->errors == 0) {
        fprintf(stderr,
                "error: --budgets %s: no test of this program refers to a file of budgets\n",
                o->budgets);
        out->usage_errors++;
    }
    /* With --set and --device cases have other ids, or none. */
    if (o->set_count > 0 || strcmp(o->device, "auto") != 0 || out->errors > 0)
        return;
    for (const struct ypi_budget_files *f = out->budget_files; f != NULL; f = f->next)
        check_sections(out, f->file);
}

void ypi_budget_files_free(struct ypi_budget_files *files)
{
    while (files != NULL) {
        struct ypi_budget_files *next = files->next;
        ypi_budget_file_free(files->file);
        free(files);
        files = next;
    }
}
