/* Limits into a file of budgets: numbers change where they stand, and all else stays as it is. */
#include "harness/history/history.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/budget_file.h"

#include "base/system/atomic_file.h"
#include "base/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- lines --------------------------------------------------------------------------------- */

/* The file's text, and what of it the reader found; lines are counted from 0 here. */
struct editing {
    char **lines; /* owned, without their ends */
    int count;
    bool marked; /* the file begins with UTF-8's mark, which no line has here */
    struct ypi_budget_file *file;
};

static void insert(struct editing *e, int at, char *line)
{
    e->lines = ypi_list_add(e->lines, e->count, line);
    memmove(e->lines + at + 1, e->lines + at, (size_t)(e->count - at) * sizeof *e->lines);
    e->lines[at] = line;
    e->count++;
    for (int i = 0; i < e->file->count; i++) {
        struct ypi_budget_section *s = &e->file->sections[i];
        s->line += s->line > at;
        for (int k = 0; k < s->count; k++)
            s->budgets[k].line += s->budgets[k].line > at;
    }
}

static const char mark[] = "\xef\xbb\xbf";

static void split(struct editing *e, const char *text)
{
    e->marked = strncmp(text, mark, sizeof mark - 1) == 0;
    text += e->marked ? sizeof mark - 1 : 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        e->lines = ypi_list_add(e->lines, e->count++, ypi_format("%.*s", (int)length, text));
        text += length + (text[length] == '\n');
    }
}

/* What the reader takes away around a value: a lone \r may stand before one, too. */
static const char blanks[] = " \t\r\v\f";

static bool is_blank(const char *line)
{
    return line[strspn(line, blanks)] == '\0';
}

static bool is_comment(const char *line)
{
    size_t margin = strspn(line, " \t");
    return line[margin] != '\0' && strchr(";#", line[margin]) != NULL;
}

/* -- one limit ----------------------------------------------------------------------------- */

/* Whole numbers up to 2^53 as such: bytes are read by people. The caller frees. */
static char *number(double limit)
{
    char text[32];
    if (limit == floor(limit) && fabs(limit) < 0x1p53)
        return ypi_format("%.0f", limit);
    ypi_print_double(text, limit);
    return ypi_strdup(text);
}

static void change(struct editing *e, struct ypi_budget_line *b, double limit)
{
    char **line = &e->lines[b->line - 1];
    const char *value = *line + strcspn(*line, "=:");
    value += *value != '\0';
    value += strspn(value, blanks);
    char *text = number(limit);
    char *changed =
        ypi_format("%.*s%s%s", (int)(value - *line), *line, text, value + strcspn(value, blanks));
    free(text);
    free(*line);
    *line = changed;
    b->budget.limit = limit;
}

/* Behind the section's last budget, so that comments at its end stay there. */
static void add_budget(struct editing *e, struct ypi_budget_section *s,
                       const struct yp_budget *budget, char *key, double limit)
{
    int behind = s->line;
    for (int i = 0; i < s->count; i++)
        behind = s->budgets[i].line > behind ? s->budgets[i].line : behind;
    char *text = number(limit);
    insert(e, behind, ypi_format("%s = %s", key, text));
    free(text);
    s->budgets = ypi_realloc(s->budgets, (size_t)s->count + 1, sizeof *s->budgets);
    struct ypi_budget_line *b = &s->budgets[s->count++];
    *b = (struct ypi_budget_line){.budget = *budget, .line = behind + 1};
    b->budget.name = budget->name ? ypi_strdup(budget->name) : NULL;
    b->budget.limit = limit;
}

/* The line before which a section of this id belongs: at its place where the sections are in order,
 * else at the end. A comment directly above a section is its own, unless the file begins with it.
 */
static int place_of(const struct editing *e, const char *id)
{
    const struct ypi_budget_file *f = e->file;
    int next = -1;
    for (int i = 0; i < f->count; i++) {
        if (i > 0 && strcmp(f->sections[i - 1].id, f->sections[i].id) > 0)
            return e->count;
        if (next < 0 && strcmp(f->sections[i].id, id) > 0)
            next = f->sections[i].line - 1;
    }
    if (next < 0)
        return e->count;
    int above = next;
    while (above > 0 && is_comment(e->lines[above - 1]))
        above--;
    return above > 0 ? above : next;
}

/* Set apart by an empty line on both sides. */
static struct ypi_budget_section *add_section(struct editing *e, const char *id)
{
    struct ypi_budget_file *f = e->file;
    int at = place_of(e, id);
    if (at < e->count)
        insert(e, at, ypi_strdup(""));
    if (at > 0 && !is_blank(e->lines[at - 1]))
        insert(e, at++, ypi_strdup(""));
    insert(e, at, ypi_format("[%s]", id));
    int i = 0;
    while (i < f->count && f->sections[i].line < at + 1)
        i++;
    f->sections = ypi_realloc(f->sections, (size_t)f->count + 1, sizeof *f->sections);
    memmove(f->sections + i + 1, f->sections + i, (size_t)(f->count++ - i) * sizeof *f->sections);
    f->sections[i] = (struct ypi_budget_section){.id = ypi_strdup(id), .line = at + 1};
    return &f->sections[i];
}

static enum ypi_limit_done put(struct editing *e, const struct ypi_limit *l, bool add)
{
    struct yp_budget budget = {.kind = YP_BUDGET_NONE};
    char *key = ypi_store_budget_key(l->budget);
    if (!key)
        return YPI_LIMIT_UNFIT;
    char *problem = ypi_budget_of_key(&budget, key);
    struct ypi_budget_section *s = ypi_budget_file_find(e->file, l->title);
    int found = -1;
    for (int i = 0; !problem && s && i < s->count; i++)
        if (ypi_budget_same(&s->budgets[i].budget, &budget))
            found = i;
    enum ypi_limit_done done = YPI_LIMIT_ABSENT;
    if (problem) {
        done = YPI_LIMIT_UNFIT;
    } else if (found >= 0 && s->budgets[found].budget.limit == l->limit) {
        done = YPI_LIMIT_SAME;
    } else if (found >= 0) {
        change(e, &s->budgets[found], l->limit);
        done = YPI_LIMIT_CHANGED;
    } else if (l->optional) {
        done = YPI_LIMIT_SAME;
    } else if (add) {
        add_budget(e, s ? s : add_section(e, l->title), &budget, key, l->limit);
        done = YPI_LIMIT_ADDED;
    }
    free((char *)(uintptr_t)budget.name);
    free(problem);
    free(key);
    return done;
}

/* -- the file ------------------------------------------------------------------------------ */

static enum yp_status failed(const char *path, const char *what)
{
    return yp_set_error(YP_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* Its text, and where it is: behind links, so that a link stays one. *exists false: it is empty. */
static enum yp_status read_text(const char *path, char where[PATH_MAX], char **text, mode_t *mode,
                                bool *exists)
{
    struct stat status;
    *text = ypi_strdup("");
    *exists = realpath(path, where) != NULL;
    if (!*exists) {
        if (errno != ENOENT || snprintf(where, PATH_MAX, "%s", path) >= PATH_MAX)
            return failed(path, "cannot be read");
        return YP_OK;
    }
    if (stat(where, &status) != 0)
        return failed(path, "cannot be read");
    if (!S_ISREG(status.st_mode))
        return yp_set_error(YP_IO, "%s: is not a regular file", path);
    size_t size = (size_t)status.st_size;
    *mode = status.st_mode & 07777;
    *text = ypi_realloc(*text, size + 2, 1);
    size_t length = ypi_read_file(where, *text, size + 2);
    (*text)[length] = '\0';
    if (length != size || strlen(*text) != length)
        return yp_set_error(YP_IO, "%s: %s", path,
                            length == size ? "is no text" : "cannot be read, or is being written");
    return YP_OK;
}

static enum yp_status publish(const struct editing *e, const char *path, mode_t mode)
{
    struct ypi_atomic_file out;
    struct ypi_text text = {0};
    ypi_text_add(&text, "%s", e->marked ? mark : "");
    for (int i = 0; i < e->count; i++)
        ypi_text_add(&text, "%s\n", e->lines[i]);
    enum yp_status status = ypi_atomic_create(&out, path);
    if (status == YP_OK)
        status = ypi_write_at(out.fd, path, 0, text.data, text.length);
    if (status == YP_OK && mode != 0 && fchmod(out.fd, mode) != 0)
        status = failed(path, "cannot be given its permissions");
    if (status == YP_OK)
        status = ypi_atomic_sync(&out);
    if (status == YP_OK)
        status = ypi_atomic_publish(&out, true);
    if (status == YP_OK)
        status = ypi_sync_directory(path);
    if (status != YP_OK)
        ypi_atomic_abandon(&out);
    free(ypi_text_take(&text));
    return status;
}

static struct ypi_budget_file *no_file(void)
{
    struct ypi_budget_file *file = ypi_calloc(1, sizeof *file);
    *file = (struct ypi_budget_file){0};
    return file;
}

/* An editor does not know our lock: the reader may have seen another text. */
static bool belongs(const struct editing *e)
{
    for (int i = 0; i < e->file->count; i++) {
        const struct ypi_budget_section *s = &e->file->sections[i];
        if (s->line > e->count || !strchr(e->lines[s->line - 1], '['))
            return false;
        for (int k = 0; k < s->count; k++)
            if (s->budgets[k].line > e->count || !strpbrk(e->lines[s->budgets[k].line - 1], "=:"))
                return false;
    }
    return true;
}

static bool is_budget(const struct editing *e, int line)
{
    for (int i = 0; i < e->file->count; i++)
        for (int k = 0; k < e->file->sections[i].count; k++)
            if (e->file->sections[i].budgets[k].line == line)
                return true;
    return false;
}

/* What is indented belongs to the budget before it: it would be taken for a part of one that is put
 * there, and where the number stands in a line of its own, for one more. */
static enum yp_status check_margin(const struct editing *e, const char *path)
{
    for (int i = 0; i < e->count; i++)
        if (isspace((unsigned char)e->lines[i][0]) != 0 && !is_blank(e->lines[i]) &&
            !is_comment(e->lines[i]) && !is_budget(e, i + 1))
            return yp_set_error(YP_INVALID,
                                "%s:%d: is indented, so it would belong to what is put before it; "
                                "let it begin at the margin, a number behind its =",
                                path, i + 1);
    return YP_OK;
}

static enum yp_status edit(const char *path, struct ypi_limit *list, int count, bool add)
{
    char where[PATH_MAX];
    char *text = NULL;
    mode_t mode = 0;
    bool exists = false;
    int changed = 0;
    struct editing e = {.lines = ypi_calloc(1, sizeof *e.lines)};
    enum yp_status status = read_text(path, where, &text, &mode, &exists);
    if (status == YP_OK) {
        e.file = exists ? ypi_budget_file_read(where) : no_file();
        split(&e, text);
        if (e.file->wrong)
            status = yp_set_error(YP_INVALID, "%s is wrong as it is, and stays so", path);
        else if (!belongs(&e))
            status = yp_set_error(YP_IO, "%s: is being written by another program", path);
        else
            status = check_margin(&e, path);
    }
    for (int i = 0; status == YP_OK && i < count; i++) {
        list[i].done = put(&e, &list[i], add || !exists);
        changed += list[i].done == YPI_LIMIT_CHANGED || list[i].done == YPI_LIMIT_ADDED;
    }
    if (status == YP_OK && changed > 0)
        status = publish(&e, where, mode);
    if (e.file)
        ypi_budget_file_free(e.file);
    ypi_list_free(e.lines, e.count);
    free(text);
    return status;
}

/* Two that write the same file, one after the other: the directory is what they lock, since the
 * file itself is another one afterwards. */
enum yp_status ypi_limits_write(const char *path, struct ypi_limit *list, int count, bool add)
{
    char directory[YPI_PATH_MAX];
    ypi_directory_of(directory, path);
    int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
        return failed(directory, "cannot be opened");
    while (flock(lock, LOCK_EX) != 0 && errno == EINTR)
        continue;
    enum yp_status status = edit(path, list, count, add);
    close(lock);
    return status;
}
