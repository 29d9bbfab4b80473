/* The rows that the shards wrote as CSV, those of results that count, behind the rows of a file. */
#include "base/system/file.h"
#include "base/text/text.h"
#include "launch/outputs/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct rows {
    const struct ypi_launch_outcome *found;
    char *header; /* the first one, with its line end; NULL: none yet. Owned */
    struct ypi_text text;
    char *there; /* what the file has already; NULL: it is not there. Owned */
    int run, id; /* which columns these are */
};

/* A record of CSV: up to a line end that is in no quotes; "": there is none. */
static size_t record_length(const char *at)
{
    bool quoted = false;
    size_t length = 0;
    for (; at[length] != '\0'; length++) {
        quoted = quoted != (at[length] == '"');
        if (at[length] == '\n' && !quoted)
            return length + 1;
    }
    return 0; /* cut off by the end of its job */
}

/* A field of a record, without its quotes; the caller frees. "": it has not so many. */
static char *field_of(const char *record, size_t length, int number)
{
    struct ypi_text field = {0};
    bool quoted = false;
    for (size_t i = 0; i < length && number >= 0; i++) {
        const char c = record[i];
        if (c == '"') {
            if (!quoted && i > 0 && record[i - 1] == '"' && number == 0)
                ypi_text_bytes(&field, "\"", 1);
            quoted = !quoted;
        } else if (!quoted && (c == ',' || c == '\n')) {
            number--;
        } else if (number == 0) {
            ypi_text_bytes(&field, &c, 1);
        }
    }
    return field.data != NULL ? ypi_text_take(&field) : ypi_strdup("");
}

static int column_of(const char *header, size_t length, const char *name)
{
    enum { COLUMNS = 64 };
    for (int i = 0; i < COLUMNS; i++) {
        char *field = field_of(header, length, i);
        const bool is = strcmp(field, name) == 0;
        free(field);
        if (is)
            return i;
    }
    return -1;
}

/* Of one of its results: a case has one for each repetition. */
static bool counts(const struct rows *rows, const char *record, size_t length)
{
    char *id = field_of(record, length, rows->id);
    char *run = field_of(record, length, rows->run);
    const struct ypi_launched_case *c = ypi_launched_find(rows->found, id);
    const struct ypi_launched_case *first = rows->found->list;
    while (c != NULL && c > first && strcmp(c[-1].id, id) == 0)
        c--;
    bool is = false;
    for (; c != NULL && !is && c < first + rows->found->count && strcmp(c->id, id) == 0; c++)
        is = strcmp(c->run, run) == 0;
    /* Rows of a launch come all at once, and another command may have added them before. */
    is = is && (rows->there == NULL || strstr(rows->there, run) == NULL);
    free(run);
    free(id);
    return is;
}

static char *read_whole(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return NULL;
    char *text = ypi_calloc((size_t)status.st_size + 1, 1);
    ypi_read_file(path, text, (size_t)status.st_size + 1);
    return text;
}

static void take_file(struct rows *rows, const char *path)
{
    char *text = read_whole(path);
    size_t length = text != NULL ? record_length(text) : 0;
    if (length > 0 && rows->header == NULL) {
        rows->header = ypi_format("%.*s", (int)length, text);
        rows->run = column_of(text, length, "run");
        rows->id = column_of(text, length, "id");
    }
    for (const char *at = text; length > 0; length = record_length(at)) {
        if (at != text && counts(rows, at, length))
            ypi_text_bytes(&rows->text, at, length);
        at += length;
    }
    free(text);
}

/* Locked as the suite does it, for another run may append to the same file. */
static enum yp_status append(const struct rows *rows, const char *path)
{
    const int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    const size_t length = strlen(rows->header);
    char *there = ypi_calloc(length + 1, 1);
    struct stat status;
    bool right = fd >= 0 && flock(fd, LOCK_EX) == 0 && fstat(fd, &status) == 0;
    if (right && status.st_size > 0 &&
        (pread(fd, there, length, 0) != (ssize_t)length || strcmp(there, rows->header) != 0)) {
        free(there);
        close(fd);
        return yp_set_error(YP_IO, "--csv: %s has other columns", path);
    }
    struct ypi_text all = {0};
    if (right && status.st_size == 0)
        ypi_text_add(&all, "%s", rows->header);
    ypi_text_bytes(&all, rows->text.data != NULL ? rows->text.data : "", rows->text.length);
    right = right && (all.length == 0 || write(fd, all.data, all.length) == (ssize_t)all.length);
    enum yp_status result =
        right ? YP_OK : yp_set_error(YP_IO, "--csv: %s: %s", path, strerror(errno));
    if (fd >= 0 && close(fd) != 0 && result == YP_OK)
        result = yp_set_error(YP_IO, "--csv: %s: %s", path, strerror(errno));
    free(ypi_text_take(&all));
    free(there);
    return result;
}

enum yp_status ypi_launch_append_rows(const struct ypi_launch_results *r, const char *path)
{
    struct rows rows = {.found = r->found, .there = read_whole(path)};
    enum yp_status status = ypi_make_parents(path);
    for (int i = 0; i < r->l->count; i++)
        for (int start = 0;; start++) {
            char *history = ypi_shard_history(r->l, i, start);
            const bool there = access(history, F_OK) == 0;
            char *file = ypi_format("%.*s.csv", (int)(strlen(history) - strlen(".db")), history);
            if (there)
                take_file(&rows, file);
            free(file);
            free(history);
            if (!there)
                break;
        }
    if (status == YP_OK && rows.header != NULL)
        status = append(&rows, path);
    free(rows.header);
    free(rows.there);
    free(ypi_text_take(&rows.text));
    return status;
}
