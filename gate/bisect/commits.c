#include "gate/bisect/commits.h"

#include "base/text/text.h"
#include "gate/revision/git.h"

#include <stdlib.h>
#include <string.h>

enum { DATE_LENGTH = 10 };

/* -- whether good is behind bad ------------------------------------------------------------- */

static bool is_behind(const char *root, const char *old, const char *young)
{
    const char *const words[] = {"merge-base", "--is-ancestor", old, young, NULL};
    char *said = ypi_gate_git(root, words, NULL);
    free(said);
    return said != NULL;
}

static enum yp_status check(const char *root, const char *good, const char *bad)
{
    if (strcmp(good, bad) == 0)
        return yp_set_error(YP_INVALID, "--good and --bad are the same commit, %.10s", good);
    if (is_behind(root, good, bad))
        return YP_OK;
    if (is_behind(root, bad, good))
        return yp_set_error(YP_INVALID,
                            "--good and --bad are swapped: good (%.10s) has bad (%.10s) in its "
                            "history, and has to be the older one",
                            good, bad);
    return yp_set_error(YP_INVALID,
                        "good (%.10s) is not an ancestor of bad (%.10s), nor the other way round: "
                        "no commit lies between them",
                        good, bad);
}

/* -- the list ------------------------------------------------------------------------------ */

/* A commit that was read, by its hash. */
struct place {
    const char *hash;
    int at;
};

static int by_hash(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->hash, ((const struct place *)b)->hash);
}

struct reading {
    const char *good;
    struct ypi_commits *all;
    char ***parents; /* of each commit, ended by NULL */
    struct place *places;
};

/* "HASH PARENT PARENT..." */
static void add_line(struct reading *r, const char *line)
{
    struct ypi_commits *all = r->all;
    size_t n = (size_t)all->count;
    const char *word = NULL;
    size_t length = 0;
    char **words = NULL;
    int count = 0;
    while (ypi_next_word(&line, &word, &length))
        words = ypi_list_add(words, count++, ypi_format("%.*s", (int)length, word));
    if (words == NULL)
        return;
    all->list = ypi_realloc(all->list, n + 1, sizeof *all->list);
    all->list[n] = (struct ypi_commit){.hash = words[0], .merge = count > 2};
    r->parents = ypi_realloc(r->parents, n + 1, sizeof *r->parents);
    r->parents[n] = ypi_calloc((size_t)count, sizeof **r->parents);
    for (int i = 1; i < count; i++)
        r->parents[n][i - 1] = words[i];
    free(words);
    all->count++;
}

static void add_lines(struct reading *r, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        char *line = ypi_format("%.*s", (int)length, text);
        add_line(r, line);
        free(line);
        text += length + (text[length] == '\n');
    }
}

static int place_of(const struct reading *r, const char *hash)
{
    const struct place wanted = {.hash = hash};
    const struct place *found =
        bsearch(&wanted, r->places, (size_t)r->all->count, sizeof *r->places, by_hash);
    return found != NULL ? found->at : -1;
}

static void connect(struct reading *r)
{
    struct ypi_commits *all = r->all;
    r->places = ypi_calloc((size_t)all->count + 1, sizeof *r->places);
    for (int i = 0; i < all->count; i++)
        r->places[i] = (struct place){all->list[i].hash, i};
    qsort(r->places, (size_t)all->count, sizeof *r->places, by_hash);
    for (int i = 0; i < all->count; i++) {
        struct ypi_commit *c = &all->list[i];
        int *known = NULL;
        int count = 0;
        char *const *parents = r->parents[i];
        for (char **p = r->parents[i]; *p != NULL; p++) {
            int at = place_of(r, *p);
            if (c->parent == NULL && (at >= 0 || strcmp(*p, r->good) == 0))
                c->parent = ypi_strdup(*p);
            if (at < 0)
                continue;
            known = ypi_realloc(known, (size_t)count + 1, sizeof *known);
            known[count++] = at;
        }
        if (c->parent == NULL && *parents != NULL) /* it left the history before good */
            c->parent = ypi_strdup(*parents);
        ypi_search_add(&all->search, known, count);
        free(known);
    }
}

static void end_reading(struct reading *r)
{
    for (int i = 0; i < r->all->count; i++) {
        for (char **p = r->parents[i]; *p != NULL; p++)
            free(*p);
        free((void *)r->parents[i]);
    }
    free((void *)r->parents);
    free(r->places);
}

static void read_lines(const char *text, const char *good, struct ypi_commits *out)
{
    struct reading r = {.good = good, .all = out, .parents = ypi_calloc(1, sizeof *r.parents)};
    add_lines(&r, text);
    connect(&r);
    end_reading(&r);
}

enum yp_status ypi_commits_read(const char *root, const char *good, const char *bad,
                                bool first_parent, struct ypi_commits *out)
{
    *out = (struct ypi_commits){0};
    enum yp_status status = check(root, good, bad);
    if (status != YP_OK)
        return status;
    char *range = ypi_format("%s..%s", good, bad);
    const char *const words[] = {"rev-list",  "--topo-order",
                                 "--reverse", "--parents",
                                 range,       first_parent ? "--first-parent" : NULL,
                                 NULL};
    char *text = ypi_gate_git(root, words, NULL);
    free(range);
    if (text == NULL)
        return yp_last_status();
    read_lines(text, good, out);
    free(text);
    if (out->count == 0 || strcmp(out->list[out->count - 1].hash, bad) != 0)
        return yp_set_error(YP_IO, "git tells no commits between %s and %s", good, bad);
    ypi_search_begin(&out->search);
    return YP_OK;
}

void ypi_commits_clear(struct ypi_commits *commits)
{
    for (int i = 0; i < commits->count; i++) {
        free(commits->list[i].hash);
        free(commits->list[i].parent);
    }
    free(commits->list);
    ypi_search_clear(&commits->search);
    *commits = (struct ypi_commits){0};
}

/* -- words --------------------------------------------------------------------------------- */

struct ypi_commit_words ypi_commit_words_of(const char *root, const char *hash)
{
    const char *const words[] = {"rev-list", "--max-count=1", "--format=%as %s", hash, NULL};
    char *text = ypi_gate_git(root, words, NULL);
    const char *line = text != NULL ? strchr(text, '\n') : NULL; /* below "commit HASH" */
    struct ypi_commit_words found = {0};
    if (line != NULL && strlen(line) > DATE_LENGTH + 1)
        found = (struct ypi_commit_words){ypi_format("%.*s", DATE_LENGTH, line + 1),
                                          ypi_strdup(line + DATE_LENGTH + 2)};
    else
        found = (struct ypi_commit_words){ypi_strdup(""), ypi_strdup("")};
    free(text);
    ypi_make_printable(found.subject);
    return found;
}

void ypi_commit_words_clear(struct ypi_commit_words *words)
{
    free(words->date);
    free(words->subject);
    *words = (struct ypi_commit_words){0};
}
