/* Whether two revisions were built to the same files. */
#include "base/text/text.h"
#include "gate/revision.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What meson and ninja keep for themselves: times, paths, and tests that are not built. */
static const char *const passed_over[] = {
    "meson-info",  "meson-logs",  "meson-private", "meson-uninstalled",
    "build.ninja", ".ninja_deps", ".ninja_log",    "compile_commands.json"};
enum { PASSED_OVER = sizeof passed_over / sizeof *passed_over };

struct files {
    char **paths; /* below the directory, in order */
    int count;
    bool whole; /* all could be looked at */
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static struct files files_of(const char *directory)
{
    char *const roots[] = {(char *)directory, NULL};
    struct files f = {0};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    f.whole = tree != NULL;
    for (FTSENT *at; tree != NULL && (at = fts_read(tree)) != NULL;) {
        /* Where they are: in the build directory itself. */
        if (at->fts_level == 1 && ypi_list_has(passed_over, PASSED_OVER, at->fts_name))
            (void)fts_set(tree, at, FTS_SKIP);
        else if (at->fts_info == FTS_F || at->fts_info == FTS_SL)
            f.paths =
                ypi_list_add(f.paths, f.count++, ypi_strdup(at->fts_path + strlen(directory)));
        else if (at->fts_info != FTS_D && at->fts_info != FTS_DP)
            f.whole = false;
    }
    if (tree != NULL)
        fts_close(tree);
    return f;
}

/* What cannot be read is not the same. */
static bool is_same_file(const char *a, const char *b)
{
    static char blocks[2][1 << 16];
    FILE *files[] = {fopen(a, "re"), fopen(b, "re")};
    bool same = files[0] != NULL && files[1] != NULL;
    for (size_t got = 1; same && got > 0;) {
        got = fread(blocks[0], 1, sizeof blocks[0], files[0]);
        same = fread(blocks[1], 1, sizeof blocks[1], files[1]) == got &&
               memcmp(blocks[0], blocks[1], got) == 0;
    }
    for (int i = 0; i < 2; i++)
        if (files[i] != NULL) {
            same = same && !ferror(files[i]);
            fclose(files[i]);
        }
    return same;
}

/* The options that a suite is given there. */
static bool has_same_options(const struct ypi_revision *base, const struct ypi_revision *head)
{
    char *a = ypi_format("%s/yieldpoint.ini", base->source);
    char *b = ypi_format("%s/yieldpoint.ini", head->source);
    bool none = access(a, F_OK) != 0 && access(b, F_OK) != 0;
    bool same = none || is_same_file(a, b);
    free(a);
    free(b);
    return same;
}

bool ypi_revision_same_build(const struct ypi_revision *base, const struct ypi_revision *head)
{
    struct files a = files_of(base->build);
    struct files b = files_of(head->build);
    bool same = a.whole && b.whole && a.count == b.count && has_same_options(base, head);
    for (int i = 0; i < a.count && same; i++) {
        char *in_base = ypi_format("%s%s", base->build, a.paths[i]);
        char *in_head = ypi_format("%s%s", head->build, b.paths[i]);
        same = strcmp(a.paths[i], b.paths[i]) == 0 && is_same_file(in_base, in_head);
        free(in_base);
        free(in_head);
    }
    ypi_list_free(a.paths, a.count);
    ypi_list_free(b.paths, b.count);
    return same;
}
