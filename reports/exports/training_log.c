/* A training log as scalars: CSV with names in its first line, among them `step`. */
#include "reports/exports/exports.h"

#include "base/text/text.h"
#include "reports/exports/tfevents.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COLUMNS_MAX = 256 };

struct log {
    const char *path;
    char *head; /* whose parts the names are */
    char *names[COLUMNS_MAX];
    int count, kind, step, seconds; /* places of columns; -1: there is none */
    long long line;
    double wall; /* of the present row */
    struct ypi_events events;
};

static enum yp_status wrong(const struct log *log, const char *what, const char *text)
{
    char *shown = ypi_format("%.60s", text);
    ypi_make_printable(shown);
    enum yp_status status =
        yp_set_error(YP_INVALID, "%s:%lld: %s: '%s'", log->path, log->line, what, shown);
    free(shown);
    return status;
}

/* The next field of a row, ended in place; NULL: there is no more. */
static char *next_field(char **rest)
{
    char *field = strsep(rest, ",");
    if (field != NULL)
        field[strcspn(field, "\r\n")] = '\0';
    return field;
}

static enum yp_status read_head(struct log *log, const char *line)
{
    char *rest = log->head = ypi_strdup(line);
    log->kind = log->step = log->seconds = -1;
    for (char *name; (name = next_field(&rest)) != NULL; log->count++) {
        if (log->count == COLUMNS_MAX)
            return wrong(log, "more than 256 columns", line);
        log->names[log->count] = name;
        if (strcmp(name, "kind") == 0)
            log->kind = log->count;
        else if (strcmp(name, "step") == 0)
            log->step = log->count;
        else if (strcmp(name, "seconds") == 0)
            log->seconds = log->count;
    }
    return log->step >= 0 ? YP_OK
                          : wrong(log,
                                  "the first line names no column 'step'; allowed is the log of a "
                                  "training run, or CSV with such a column",
                                  line);
}

/* Columns that say where a row is, not what was found there. */
static bool is_place(const struct log *log, int column)
{
    return column == log->kind || column == log->step || strcmp(log->names[column], "epoch") == 0 ||
           strcmp(log->names[column], "place") == 0;
}

/* -- rows ------------------------------------------------------------------------------------- */

struct row {
    char *fields[COLUMNS_MAX];
    double values[COLUMNS_MAX]; /* NaN: empty, or no number */
    long long step;
};

static enum yp_status read_row(const struct log *log, struct row *row, char *line)
{
    char *rest = line;
    int count = 0;
    for (char *field; (field = next_field(&rest)) != NULL; count++) {
        if (count == log->count)
            return wrong(log, "the row has more fields than the first line", field);
        double *value = &row->values[count];
        *value = NAN;
        row->fields[count] = field;
        if (count != log->kind && *field != '\0' && !ypi_parse_double(field, value))
            return wrong(log, "is no number", field);
    }
    if (count < log->count)
        return wrong(log, "the row has fewer fields than the first line", line);
    const double step = row->values[log->step];
    if (!(step >= 0 && step < 9e15) || step != floor(step))
        return wrong(log, "the step is no whole number from 0 on", row->fields[log->step]);
    row->step = (long long)step;
    return YP_OK;
}

static void add_row(struct log *log, const struct row *row)
{
    const char *kind = log->kind >= 0 ? row->fields[log->kind] : "";
    if (log->seconds >= 0 && row->values[log->seconds] > 0)
        log->wall += row->values[log->seconds];
    for (int i = 0; i < log->count; i++) {
        if (is_place(log, i))
            continue;
        char *tag = ypi_format("%s%s%s", kind, *kind ? "/" : "", log->names[i]);
        ypi_events_add(&log->events, tag, row->step, log->wall, row->values[i]);
        free(tag);
    }
}

/* A row that is torn is one that is still being written. With `add` rows are written, else their
 * seconds are summed up in *seconds. */
static enum yp_status read_rows(struct log *log, FILE *file, bool add, double *seconds)
{
    struct row row = {.step = 0};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    enum yp_status status = YP_OK;
    log->line = 1;
    while (status == YP_OK && (length = getline(&line, &capacity, file)) > 0 &&
           line[length - 1] == '\n') {
        log->line++;
        status = read_row(log, &row, line);
        if (status == YP_OK && add)
            add_row(log, &row);
        else if (status == YP_OK && log->seconds >= 0 && row.values[log->seconds] > 0)
            *seconds += row.values[log->seconds];
    }
    if (status == YP_OK && add && length > 0)
        fprintf(stderr, "yieldpoint: %s:%lld: the last line has no end and is left out\n",
                log->path, (long long)log->line + 1);
    free(line);
    if (status == YP_OK && ferror(file))
        status = yp_set_error(YP_IO, "%s: cannot be read: %s", log->path, strerror(errno));
    return status;
}

/* The log has durations; its last row was written when the file was changed last. */
static enum yp_status convert(struct log *log, FILE *file, const char *directory)
{
    double seconds = 0;
    struct stat there = {0};
    char *line = NULL;
    size_t capacity = 0;
    log->line = 1;
    ssize_t length = getline(&line, &capacity, file);
    enum yp_status status =
        length > 0 ? read_head(log, line) : wrong(log, "there is no first line", "");
    free(line);
    const long begin = ftell(file);
    if (status == YP_OK && (begin < 0 || fstat(fileno(file), &there) != 0))
        status = yp_set_error(YP_IO, "%s: %s", log->path, strerror(errno));
    if (status == YP_OK)
        status = read_rows(log, file, false, &seconds);
    if (status != YP_OK)
        return status;
    clearerr(file);
    if (fseek(file, begin, SEEK_SET) != 0)
        return yp_set_error(YP_IO, "%s: %s", log->path, strerror(errno));
    log->wall = (double)there.st_mtim.tv_sec + 1e-9 * (double)there.st_mtim.tv_nsec - seconds;
    status = ypi_events_open(&log->events, directory, log->wall);
    if (status == YP_OK)
        status = read_rows(log, file, true, &seconds);
    if (log->events.sink.status == YP_OK)
        log->events.sink.status = status;
    return ypi_events_close(&log->events);
}

enum yp_status ypi_export_log(const char *path, const char *directory)
{
    struct log log = {.path = path};
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    const char *slash = strrchr(path, '/');
    char *name = ypi_events_name(slash != NULL ? slash + 1 : path);
    char *own = ypi_format("%s/%s", directory, name);
    enum yp_status status = convert(&log, file, own);
    fclose(file);
    free(own);
    free(name);
    free(log.head);
    return status;
}
