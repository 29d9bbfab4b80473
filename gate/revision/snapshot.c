/* The working tree as a commit. Its files are read as they lie there: what git would make of them
 * by filters or line ends, and back, is left out. */
#include "base/system/file.h"
#include "gate/revision/git.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bits of an index that are known before a file is read, and files; as git update-index -z reads
 * them. */
struct listing {
    const char *root;
    struct ypi_text entries, files;
    char *real; /* the directory that was last found to be no link */
};

static void add_entry(struct listing *l, const char *mode_and_hash, const char *path)
{
    char *entry =
        ypi_format("%.*s 0\t%s", (int)(strchr(strchr(mode_and_hash, ' ') + 1, ' ') - mode_and_hash),
                   mode_and_hash, path);
    ypi_text_bytes(&l->entries, entry, strlen(entry) + 1);
    free(entry);
}

/* -- files --------------------------------------------------------------------------------- */

/* Whether what is at `path` is in the tree: not where a directory above became a link. */
static bool is_inside(struct listing *l, const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (l->real != NULL && strlen(l->real) == length && strncmp(l->real, path, length) == 0)
        return true;
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        struct stat s;
        char *above = ypi_format("%s/%.*s", l->root, (int)(slash - path), path);
        bool right = lstat(above, &s) == 0 && S_ISDIR(s.st_mode);
        free(above);
        if (!right)
            return false;
    }
    free(l->real);
    l->real = ypi_format("%.*s", (int)length, path);
    return true;
}

/* False where there is no file of that name any more. */
static bool add_file(struct listing *l, const char *path)
{
    struct stat s;
    char *whole = ypi_format("%s/%s", l->root, path);
    bool there = is_inside(l, path) && lstat(whole, &s) == 0 && !S_ISDIR(s.st_mode);
    free(whole);
    if (there)
        ypi_text_bytes(&l->files, path, strlen(path) + 1);
    return there;
}

/* -- repositories -------------------------------------------------------------------------- */

static enum yp_status add_repository(struct listing *l, const char *prefix);

static bool is_empty(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    bool empty = true;
    while (directory != NULL && empty && (entry = readdir(directory)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory != NULL)
        closedir(directory);
    return empty;
}

/* One that is not checked out is left to the checkout. */
static enum yp_status add_submodule(struct listing *l, const char *mode_and_hash, const char *path)
{
    struct stat s;
    char *whole = ypi_format("%s/%s", l->root, path);
    char *dot_git = ypi_format("%s/.git", whole);
    enum yp_status status = YP_OK;
    bool there = is_inside(l, path) && lstat(whole, &s) == 0 && S_ISDIR(s.st_mode);
    if (there && lstat(dot_git, &s) == 0) {
        char *prefix = ypi_format("%s/", path);
        status = add_repository(l, prefix);
        free(prefix);
    } else if (there && is_empty(whole)) {
        add_entry(l, mode_and_hash, path);
    } else if (there) {
        status = yp_set_error(YP_INVALID,
                              "the working tree cannot be compared: %s is a submodule that is not "
                              "checked out, and git does not see the files in it; `git submodule "
                              "update --init` checks it out",
                              whole);
    }
    free(dot_git);
    free(whole);
    return status;
}

/* "H 100644 HASH STAGE<tab>PATH"; S is a file that a sparse checkout leaves out. */
static enum yp_status add_followed(struct listing *l, const char *prefix, const char *record)
{
    const char *tab = strchr(record, '\t');
    if (tab == NULL || record[0] == '\0' || record[1] != ' ')
        return yp_set_error(YP_IO, "git ls-files: '%s' is no line of an index", record);
    const char *mode = record + 2;
    char *path = ypi_format("%s%s", prefix, tab + 1);
    enum yp_status status = YP_OK;
    if (strncmp(mode, "160000 ", 7) == 0)
        status = add_submodule(l, mode, path);
    /* A mode may say what the file system cannot. A conflict has several. */
    else if ((add_file(l, path) || record[0] == 'S') && tab[-1] == '0')
        add_entry(l, mode, path);
    free(path);
    return status;
}

/* Results and builds of Yieldpoint are no sources. */
static bool is_own(const char *path)
{
    static const char name[] = ".yieldpoint/";
    const char *found = strstr(path, name);
    return found != NULL && (found == path || found[-1] == '/');
}

static enum yp_status add_new(struct listing *l, const char *prefix, const char *name)
{
    char *path = ypi_format("%s%s", prefix, name);
    size_t length = strlen(path);
    enum yp_status status = YP_OK;
    if (is_own(path))
        status = YP_OK;
    else if (path[length - 1] == '/') /* git looks into no other repository */
        status = add_repository(l, path);
    else
        (void)add_file(l, path);
    free(path);
    return status;
}

/* `prefix`: "" or its path from the root, with a slash. */
static enum yp_status add_repository(struct listing *l, const char *prefix)
{
    static const char *const where[] = {"rev-parse", "--show-prefix", NULL};
    static const char *const followed[] = {"ls-files", "-z", "-t", "--stage", NULL};
    static const char *const others[] = {"ls-files", "-z", "--others", "--exclude-standard", NULL};
    static const char *const english[] = {"LC_ALL=C", NULL};
    const char *const *const lists[] = {followed, others};
    char *top = ypi_format("%s/%s", l->root, prefix);
    char *within = ypi_gate_git(top, where, NULL);
    enum yp_status status = within != NULL ? YP_OK : yp_last_status();
    if (within != NULL && *within != '\0')
        status = yp_set_error(YP_INVALID,
                              "the working tree cannot be compared: %s has a .git, but git takes "
                              "it for no repository",
                              top);
    for (int i = 0; i < 2 && status == YP_OK; i++) {
        struct ypi_text list;
        const char *entry = NULL;
        status = ypi_gate_git_list(top, lists[i], english, &list);
        for (size_t at = 0; status == YP_OK && (entry = ypi_gate_git_next(&list, &at)) != NULL;)
            status = (i == 0 ? add_followed : add_new)(l, prefix, entry);
        if (list.data != NULL)
            free(ypi_text_take(&list));
    }
    free(within);
    free(top);
    return status;
}

/* -- the commit ---------------------------------------------------------------------------- */

/* Git's own index of the new repository stays without an entry: the files are checked out later. */
static char *commit_of(const struct listing *l, const char *snapshot, const char *head)
{
    char *git = ypi_format("GIT_DIR=%s/.git", snapshot);
    char *tree_at = ypi_format("GIT_WORK_TREE=%s", l->root);
    char *index = ypi_format("GIT_INDEX_FILE=%s/.git/of-the-tree", snapshot);
    char *input = ypi_format("%s/.git/input", snapshot);
    char *log = ypi_format("%s/.git/log", snapshot);
    const char *const more[] = {git,
                                tree_at,
                                index,
                                "GIT_AUTHOR_NAME=yieldpoint",
                                "GIT_AUTHOR_EMAIL=yieldpoint",
                                "GIT_AUTHOR_DATE=@0 +0000",
                                "GIT_COMMITTER_NAME=yieldpoint",
                                "GIT_COMMITTER_EMAIL=yieldpoint",
                                "GIT_COMMITTER_DATE=@0 +0000",
                                NULL};
    static const char *const words[2][7] = {{"update-index", "-z", "--index-info", NULL},
                                            {"update-index", "--add", "-z", "--stdin", NULL}};
    static const char *const write_tree[] = {"write-tree", "--missing-ok", NULL};
    const struct ypi_text *const inputs[] = {&l->entries, &l->files};
    char *commit = NULL;
    bool right = true;
    for (int i = 0; i < 2 && right; i++) {
        right = ypi_write_file(input, inputs[i]->data, inputs[i]->length) &&
                ypi_gate_git_run(l->root, words[i], more, input, log, NULL);
    }
    if (!right) {
        char said[1000];
        ypi_read_file(log, said, sizeof said);
        (void)yp_set_error(YP_IO, "the working tree cannot be compared: %s", said);
    }
    char *tree = right ? ypi_gate_git(l->root, write_tree, more) : NULL;
    if (tree != NULL) {
        const char *const commit_tree[] = {
            "commit-tree", tree, "-m", "work that is not committed", head != NULL ? "-p" : NULL,
            head,          NULL};
        commit = ypi_gate_git(l->root, commit_tree, more);
    }
    free(tree);
    free(log);
    free(input);
    free(index);
    free(tree_at);
    free(git);
    return commit;
}

char *ypi_gate_snapshot(const char *root, const char *snapshot)
{
    static const char as_it_is[] = "* -text -filter -ident -working-tree-encoding\n";
    static const volatile bool never = false;
    struct listing l = {.root = root};
    char *attributes = ypi_format("%s/.git/info/attributes", snapshot);
    char *commit = NULL;
    ypi_remove_tree(snapshot);
    if (add_repository(&l, "") == YP_OK) {
        char *head = ypi_gate_commit(root, "HEAD");
        if (!ypi_gate_borrow(root, snapshot, "/dev/null", &never) ||
            ypi_make_parents(attributes) != YP_OK ||
            !ypi_write_file(attributes, as_it_is, sizeof as_it_is - 1))
            (void)yp_set_error(YP_IO, "%s: cannot be made a repository", snapshot);
        else
            commit = commit_of(&l, snapshot, head);
        free(head);
    }
    if (commit == NULL)
        ypi_remove_tree(snapshot);
    free(attributes);
    free(l.real);
    free(ypi_text_take(&l.entries));
    free(ypi_text_take(&l.files));
    return commit;
}
