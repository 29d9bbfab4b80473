/* A commit's files beside the user's repository, which is not written to. A repository of its own
 * with the other's objects: a clone would copy branches, and refuses to share what is shallow; a
 * worktree would be in the user's list of them. */
#include "base/system/file.h"
#include "gate/revision/git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct way {
    const char *log;
    const volatile bool *stop;
};

/* A repository whose objects are read. Texts are owned. */
struct source {
    char *git; /* its directory, with objects and settings */
    char *top; /* its working tree, or where that would be */
};

static void clear_source(struct source *s)
{
    free(s->git);
    free(s->top);
}

/* -- asking a source ----------------------------------------------------------------------- */

/* The tree that a submodule's settings name need not be there. */
static char *ask(const struct source *s, const char *const *words)
{
    char *git = ypi_format("GIT_DIR=%s", s->git);
    char *tree = ypi_format("GIT_WORK_TREE=%s", s->git);
    const char *const more[] = {git, tree, NULL};
    char *said = ypi_gate_git(s->git, words, more);
    free(tree);
    free(git);
    return said;
}

/* The caller frees; NULL: git does not answer. */
static char *path_in(const struct source *s, const char *name)
{
    const char *const words[] = {"rev-parse", "--git-path", name, NULL};
    char *path = ask(s, words);
    if (path == NULL || path[0] == '/')
        return path;
    char *whole = ypi_format("%s/%s", s->git, path);
    free(path);
    return whole;
}

static char *setting(const struct source *s, const char *name)
{
    const char *const words[] = {"config", "--get", name, NULL};
    return ask(s, words);
}

/* -- settings ------------------------------------------------------------------------------ */

static void add_setting(struct ypi_text *out, const char *name, const char *value)
{
    ypi_text_add(out, "\t%s = \"", name);
    for (const char *c = value; *c != '\0'; c++)
        if (*c == '\n')
            ypi_text_add(out, "\\n");
        else
            ypi_text_add(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    ypi_text_add(out, "\"\n");
}

/* Of a remote that is named by a path from the working tree; the caller frees. */
static char *absolute(const struct source *s, const char *url)
{
    char *path = ypi_format("%s/%s", s->top, url);
    bool relative = url[0] != '/' && strchr(url, ':') == NULL && access(path, F_OK) == 0;
    if (relative)
        return path;
    free(path);
    return ypi_strdup(url);
}

/* What addresses of submodules such as ../lib.git are relative to: the remote of the branch that is
 * checked out, else the repository itself. */
static char *own_address(const struct source *s)
{
    static const char *const head[] = {"symbolic-ref", "--quiet", "--short", "HEAD", NULL};
    char *branch = ask(s, head);
    char *key = ypi_format("branch.%s.remote", branch != NULL ? branch : "");
    char *remote = setting(s, key);
    free(key);
    key = ypi_format("remote.%s.url", remote != NULL ? remote : "origin");
    char *url = setting(s, key);
    char *address = url != NULL ? absolute(s, url) : ypi_strdup(s->top);
    free(url);
    free(key);
    free(remote);
    free(branch);
    return address;
}

/* Git fetches from the first address of a remote. */
static void add_relative_remotes(const struct source *s, struct ypi_text *out)
{
    static const char *const words[] = {"remote", NULL};
    char *names = ask(s, words);
    char *rest = NULL;
    for (char *name = names != NULL ? strtok_r(names, "\n", &rest) : NULL; name != NULL;
         name = strtok_r(NULL, "\n", &rest)) {
        char *key = ypi_format("remote.%s.url", name);
        char *url = setting(s, key);
        char *whole = url != NULL ? absolute(s, url) : NULL;
        if (whole != NULL && strcmp(whole, url) != 0) {
            ypi_text_add(out, "[remote \"%s\"]\n", name);
            add_setting(out, "url", whole);
        }
        free(whole);
        free(url);
        free(key);
    }
    free(names);
}

static void include(const struct source *s, struct ypi_text *out, const char *name)
{
    char *path = path_in(s, name);
    if (path != NULL && access(path, R_OK) == 0) {
        ypi_text_add(out, "[include]\n");
        add_setting(out, "path", path);
    }
    free(path);
}

static bool append(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return false;
    bool right = fputs(text, file) >= 0;
    return fclose(file) == 0 && right;
}

/* Git reads what a repository is (bare or not, where its tree lies) from its own file alone, and
 * everything else from what that includes too. */
static bool take_settings(const struct source *s, const char *directory)
{
    struct ypi_text text = {0};
    char *own = own_address(s);
    char *worktree = setting(s, "extensions.worktreeConfig");
    char *path = ypi_format("%s/.git/config", directory);
    add_relative_remotes(s, &text);
    include(s, &text, "config");
    if (worktree != NULL && strcmp(worktree, "true") == 0)
        include(s, &text, "config.worktree");
    ypi_text_add(&text, "[core]\n\tbare = false\n\tsparseCheckout = false\n"
                        "\thooksPath = /dev/null\n\tfsmonitor = false\n"
                        "[gc]\n\tauto = 0\n[submodule]\n\trecurse = false\n[remote \"origin\"]\n");
    add_setting(&text, "url", own); /* addresses are relative to the last one */
    bool right = append(path, text.data);
    free(path);
    free(worktree);
    free(own);
    free(ypi_text_take(&text));
    return right;
}

/* -- objects ------------------------------------------------------------------------------- */

/* A file of the source's directory that need not be there. */
static bool copy(const struct source *s, const char *name, const char *directory)
{
    char bytes[1 << 14];
    char *from = path_in(s, name);
    char *to = ypi_format("%s/.git/%s", directory, name);
    FILE *in = from != NULL ? fopen(from, "re") : NULL;
    bool right = true;
    if (in != NULL && ypi_make_parents(to) == YP_OK) {
        FILE *out = fopen(to, "we");
        size_t got = 0;
        while (out != NULL && (got = fread(bytes, 1, sizeof bytes, in)) > 0)
            right = fwrite(bytes, 1, got, out) == got && right;
        right = out != NULL && fclose(out) == 0 && right;
    }
    if (in != NULL)
        fclose(in);
    free(to);
    free(from);
    return right;
}

static bool share_objects(const struct source *s, const char *directory)
{
    char *objects = path_in(s, "objects");
    char *line = objects != NULL ? ypi_format("%s\n", objects) : NULL;
    char *to = ypi_format("%s/.git/objects/info/alternates", directory);
    bool right = line != NULL && append(to, line);
    free(to);
    free(line);
    free(objects);
    return right;
}

static bool borrow(const struct source *s, const char *directory, const struct way *w)
{
    static const char *const format_words[] = {"rev-parse", "--show-object-format", NULL};
    char *format = ask(s, format_words);
    bool usual = format == NULL || strcmp(format, "sha1") == 0; /* which an old git knows alone */
    char *option = ypi_format("--object-format=%s", usual ? "sha1" : format);
    const char *const init[] = {"init", "--quiet", usual ? NULL : option, NULL};
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        (void)yp_set_error(YP_IO, "%s: cannot be made: %s", directory, strerror(errno));
    bool right = ypi_gate_git_run(directory, init, NULL, NULL, w->log, w->stop) &&
                 share_objects(s, directory) && copy(s, "shallow", directory) &&
                 copy(s, "info/attributes", directory) && take_settings(s, directory);
    free(option);
    free(format);
    return right;
}

static bool source_of(const char *root, struct source *out)
{
    static const char *const words[] = {"rev-parse", "--absolute-git-dir", NULL};
    *out = (struct source){ypi_gate_git(root, words, NULL), ypi_strdup(root)};
    return out->git != NULL;
}

bool ypi_gate_borrow(const char *root, const char *directory, const char *log,
                     const volatile bool *stop)
{
    struct source s;
    const struct way w = {log, stop};
    bool right = source_of(root, &s) && borrow(&s, directory, &w);
    clear_source(&s);
    return right;
}

/* For the log, which is what a failed build shows. */
static bool git_failed(const struct way *w)
{
    char *line = ypi_format("%s\n", yp_last_error());
    (void)append(w->log, line);
    free(line);
    return false;
}

/* -- submodules ---------------------------------------------------------------------------- */

/* The name of the submodule at `path`; the caller frees. NULL: .gitmodules does not have it. */
static char *name_of(const char *directory, const char *path)
{
    static const char *const words[] = {
        "config", "-z", "--file", ".gitmodules", "--get-regexp", "^submodule\\..*\\.path$", NULL};
    struct ypi_text list;
    const char *entry = NULL;
    char *name = NULL;
    if (ypi_gate_git_list(directory, words, NULL, &list) != YP_OK)
        return NULL;
    for (size_t at = 0; name == NULL && (entry = ypi_gate_git_next(&list, &at)) != NULL;) {
        const char *value = strchr(entry, '\n');
        const size_t before = strlen("submodule.");
        const size_t behind = strlen(".path");
        if (value != NULL && strcmp(value + 1, path) == 0)
            name = ypi_format("%.*s", (int)((size_t)(value - entry) - before - behind),
                              entry + before);
    }
    free(ypi_text_take(&list));
    return name;
}

static bool has_commit(const struct source *s, const char *commit)
{
    char *peeled = ypi_format("%s^{commit}", commit);
    const char *const words[] = {"cat-file", "-e", peeled, NULL};
    char *said = ask(s, words);
    free(peeled);
    free(said);
    return said != NULL;
}

/* The user's own repository of a submodule, which may be another one from revision to revision:
 * where git keeps it, of a linked worktree too, or in the tree. */
static bool find_local(const struct source *super, const char *name, const char *path,
                       const char *commit, struct source *out)
{
    static const char *const common_words[] = {"rev-parse", "--git-common-dir", NULL};
    char *module = ypi_format("modules/%s", name != NULL ? name : path);
    char *common = ask(super, common_words);
    char *inside = ypi_format("%s/%s", super->top, path);
    char *dot_git = ypi_format("%s/.git", inside);
    struct source places[] = {{path_in(super, module), NULL}, {NULL, NULL}, {NULL, NULL}};
    bool found = false;
    if (common != NULL)
        places[1].git = common[0] == '/' ? ypi_format("%s/%s", common, module)
                                         : ypi_format("%s/%s/%s", super->git, common, module);
    if (access(dot_git, F_OK) == 0)
        (void)source_of(inside, &places[2]);
    for (int i = 0; i < 3; i++) {
        bool right = !found && places[i].git != NULL && access(places[i].git, F_OK) == 0 &&
                     has_commit(&places[i], commit);
        if (right) {
            *out = (struct source){ypi_strdup(places[i].git), ypi_strdup(inside)};
            found = true;
        }
        clear_source(&places[i]);
    }
    free(dot_git);
    free(inside);
    free(common);
    free(module);
    return found;
}

static bool fill(const struct source *s, const char *commit, const char *directory,
                 const struct way *w);

static bool fill_submodule(const struct source *super, const char *directory, const char *path,
                           const char *commit, const struct way *w)
{
    static const char *const literal[] = {"GIT_LITERAL_PATHSPECS=1", NULL};
    const char *const update[] = {"submodule",   "update", "--quiet", "--init",
                                  "--recursive", "--",     path,      NULL};
    char *inside = ypi_format("%s/%s", directory, path);
    char *name = name_of(directory, path);
    struct source local;
    bool right = true;
    if (find_local(super, name, path, commit, &local)) {
        right = borrow(&local, inside, w) && fill(&local, commit, inside, w);
        clear_source(&local);
    } else if (name != NULL) { /* without one, git leaves the directory empty too */
        right = ypi_gate_git_run(directory, update, literal, NULL, w->log, w->stop);
    }
    free(name);
    free(inside);
    return right;
}

static bool fill_submodules(const struct source *s, const char *directory, const struct way *w)
{
    static const char *const words[] = {"ls-files", "-z", "--stage", NULL};
    static const char gitlink[] = "160000 ";
    struct ypi_text list;
    const char *entry = NULL;
    bool right = ypi_gate_git_list(directory, words, NULL, &list) == YP_OK || git_failed(w);
    for (size_t at = 0; right && (entry = ypi_gate_git_next(&list, &at)) != NULL;) {
        const char *hash = entry + sizeof gitlink - 1;
        const char *path = strchr(entry, '\t');
        if (path == NULL || strncmp(entry, gitlink, sizeof gitlink - 1) != 0)
            continue;
        char *commit = ypi_format("%.*s", (int)strcspn(hash, " "), hash);
        right = !*w->stop && fill_submodule(s, directory, path + 1, commit, w);
        free(commit);
    }
    free(ypi_text_take(&list));
    return right;
}

/* -- files --------------------------------------------------------------------------------- */

/* A checkout that leaves out what cannot be read ends well. */
static bool is_whole(const char *directory, const struct way *w)
{
    static const char *const words[] = {"ls-files", "--deleted", NULL};
    char *missing = ypi_gate_git(directory, words, NULL);
    if (missing == NULL)
        return git_failed(w);
    bool whole = *missing == '\0';
    if (!whole) {
        char *line = ypi_format("git left out files that it has no content of:\n%s\n", missing);
        (void)append(w->log, line);
        free(line);
    }
    free(missing);
    return whole;
}

static bool fill(const struct source *s, const char *commit, const char *directory,
                 const struct way *w)
{
    const char *const checkout[] = {
        "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit, NULL};
    return ypi_gate_git_run(directory, checkout, NULL, NULL, w->log, w->stop) &&
           is_whole(directory, w) && fill_submodules(s, directory, w);
}

enum yp_status ypi_gate_checkout(const char *root, const char *commit, const char *snapshot,
                                 const char *directory, const char *log, const volatile bool *stop)
{
    const struct way w = {log, stop};
    struct source s;
    bool right =
        (source_of(root, &s) || git_failed(&w)) &&
        (snapshot != NULL ? rename(snapshot, directory) == 0 : borrow(&s, directory, &w)) &&
        fill(&s, commit, directory, &w);
    clear_source(&s);
    return right ? YP_OK : yp_set_error(YP_IO, "%s: cannot be checked out", commit);
}
