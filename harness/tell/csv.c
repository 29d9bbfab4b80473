#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "harness/judge/audit.h"
#include "harness/judge/budget.h"
#include "harness/measure/series.h"
#include "harness/record/row.h"
#include "harness/tell/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* RFC 4180: quoted where a comma, a quote or a line end stands in it. */
static void add_field(struct ypi_text *row, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        ypi_text_add(row, "%s", text);
        return;
    }
    ypi_text_add(row, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"')
            ypi_text_add(row, "\"\"");
        else
            ypi_text_bytes(row, text, 1);
    }
    ypi_text_add(row, "\"");
}

/* Columns are only ever added at the end, so that who reads them by position goes on: behind these
 * stand those that only a field names (harness/record/fields.h). */
static const char *const columns[] = {
    "started", "run",  "id",      "outcome", "kind",  "name", "repeat", "seed", "unit", "value",
    "low",     "high", "samples", "items",   "share", "cpu",  "p90",    "p99",  "met",  "attempt"};
enum { COLUMNS = sizeof columns / sizeof *columns, COLUMNS_MAX = 64 };

struct rows {
    struct ypi_text text;
    const struct ypi_session *s;
    const struct ypi_result *r;
    const char *names[COLUMNS_MAX];
    char *cells[COLUMNS_MAX]; /* of the row that is begun; NULL: empty */
    size_t count;
};

static size_t place_of(const struct rows *rows, const char *column)
{
    size_t at = 0;
    while (at < rows->count && strcmp(rows->names[at], column) != 0)
        at++;
    return at;
}

static void name_columns(struct rows *rows)
{
    memcpy(rows->names, columns, sizeof columns);
    rows->count = COLUMNS;
    for (int i = 0; i < YPI_TABLES; i++)
        for (size_t k = 0; k < ypi_tables[i].count; k++) {
            const char *column = ypi_tables[i].fields[k].csv;
            if (column != NULL && rows->count < COLUMNS_MAX &&
                place_of(rows, column) == rows->count)
                rows->names[rows->count++] = column;
        }
}

/* The caller frees. */
static char *header_of(const struct rows *rows)
{
    struct ypi_text text = {0};
    for (size_t i = 0; i < rows->count; i++)
        ypi_text_add(&text, "%s%s", i > 0 ? "," : "", rows->names[i]);
    ypi_text_add(&text, "\n");
    return ypi_text_take(&text);
}

static void put(struct rows *rows, const char *column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put(struct rows *rows, const char *column, const char *format, ...)
{
    struct ypi_text cell = {0};
    size_t at = place_of(rows, column);
    va_list arguments;
    va_start(arguments, format);
    ypi_text_vadd(&cell, format, arguments);
    va_end(arguments);
    free(rows->cells[at]);
    rows->cells[at] = ypi_text_take(&cell);
}

/* What is not known is an empty field. */
static void put_real(struct rows *rows, const char *column, double value)
{
    if (!isnan(value))
        put(rows, column, "%.9g", value);
}

static void begin_row(struct rows *rows, const char *kind, const char *name, const char *unit)
{
    const struct ypi_result *r = rows->r;
    put(rows, "started", "%.3f", r->started);
    put(rows, "run", "%s", rows->s->run_id);
    put(rows, "id", "%s", r->c->id);
    put(rows, "outcome", "%s", ypi_outcome_name(r->outcome));
    put(rows, "kind", "%s", kind);
    put(rows, "name", "%s", name);
    put(rows, "repeat", "%d", r->c->repeat);
    put(rows, "seed", "%llu", (unsigned long long)r->c->seed);
    put(rows, "unit", "%s", unit);
    put(rows, "attempt", "%d", r->attempt);
}

static void end_row(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        ypi_text_add(&rows->text, "%s", i > 0 ? "," : "");
        add_field(&rows->text, rows->cells[i] != NULL ? rows->cells[i] : "");
        free(rows->cells[i]);
        rows->cells[i] = NULL;
    }
    ypi_text_add(&rows->text, "\n");
}

/* The columns that the fields of a table name. */
static void put_fields(struct rows *rows, enum ypi_table_name table, const void *row, int digits)
{
    const struct ypi_table *t = &ypi_tables[table];
    const struct ypi_item item = {.row = row};
    for (size_t i = 0; i < t->count; i++) {
        const struct ypi_field *f = &t->fields[i];
        struct ypi_datum d;
        if (f->csv == NULL)
            continue;
        ypi_field_get(f, &item, &d);
        if (d.type == YPI_A_REAL)
            put(rows, f->csv, "%.*g", digits, d.real);
        else if (d.type == YPI_AN_INTEGER)
            put(rows, f->csv, f->type == YPI_UNSIGNED ? "%llu" : "%lld", (long long)d.integer);
        else if (d.type == YPI_A_TEXT)
            put(rows, f->csv, "%s", d.text);
    }
}

/* An exact value has no interval. */
static void leave_out_interval(struct rows *rows, double low, double high)
{
    if (low < high)
        return;
    put(rows, "low", "%s", "");
    put(rows, "high", "%s", "");
}

static void add_exact(struct rows *rows, const char *kind, const char *name, const char *unit,
                      double value)
{
    begin_row(rows, kind, name, unit);
    put_real(rows, "value", value);
    end_row(rows);
}

static void add_measurement(struct rows *rows, const struct ypi_measured *m)
{
    begin_row(rows, "measurement", m->name, "s");
    put_fields(rows, YPI_TABLE_MEASUREMENT, m, 9);
    end_row(rows);
}

static void add_part(struct rows *rows, const char *kind, const struct ypi_measured *m,
                     const char *what, const char *unit, double value)
{
    char *name = ypi_format("%s %s", m->name, what);
    if (isfinite(value))
        add_exact(rows, kind, name, unit, value);
    free(name);
}

/* Of a run that counts: each count, and what the device did beside what was declared. */
static void add_counts(struct rows *rows, const struct ypi_measured *m)
{
    if (m->kind != YPI_MEASURED_COUNT)
        return;
    for (int i = 0; i < YP_COUNTERS; i++)
        if (m->counts[i].source != YPI_NOT_COUNTED)
            add_part(rows, "count", m, ypi_counter_name((enum yp_counter)i), "",
                     m->counts[i].count);
    if (!ypi_audited(m))
        return;
    add_part(rows, "declared", m, "operations", "", m->flops);
    add_part(rows, "executed", m, "operations", "", ypi_audit_operations(m));
    add_part(rows, "declared", m, "bytes", "B", m->bytes);
    add_part(rows, "executed", m, "bytes", "B", ypi_audit_bytes(m));
}

static void add_value(struct rows *rows, const struct ypi_value *v)
{
    begin_row(rows, "value", v->name, v->unit);
    put_fields(rows, YPI_TABLE_VALUE, v, 17);
    leave_out_interval(rows, v->low, v->high);
    end_row(rows);
}

/* Named by all that makes it differ from the case's other budgets. */
static void add_verdict(struct rows *rows, const struct ypi_verdict *v)
{
    const struct yp_budget *b = v->budget;
    char detail[YPI_DETAIL_MAX];
    bool more = ypi_budget_detail(detail, b);
    const char *of = b->name != NULL ? b->name : b->memory == YP_DEVICE ? "device" : "host";
    char *name =
        ypi_format("%s %s%s%s", ypi_budget_kind_name(b->kind), of, more ? " " : "", detail);
    begin_row(rows, "verdict", name, "");
    put_fields(rows, YPI_TABLE_VERDICT, v, 9);
    leave_out_interval(rows, v->low, v->high);
    end_row(rows);
    free(name);
}

static void add_gradient(struct rows *rows, const struct ypi_gradient *g)
{
    begin_row(rows, g->precision ? "precision" : "gradient", g->name, "");
    put_fields(rows, YPI_TABLE_GRADIENT, g, 9);
    end_row(rows);
}

static void add_memory(struct rows *rows, const char *name, const struct yp_memory *m)
{
    begin_row(rows, "memory", name, "B");
    put_fields(rows, YPI_TABLE_MEMORY, m, 9);
    end_row(rows);
}

/* The median of many, from least to most. */
static void add_spread(struct rows *rows, const char *kind, const char *name, const char *unit,
                       const double *values, size_t count)
{
    struct ypi_estimate e = ypi_estimate(values, count);
    if (count == 0)
        return;
    begin_row(rows, kind, name, unit);
    put_real(rows, "value", e.median);
    put_real(rows, "low", e.min);
    put_real(rows, "high", e.max);
    put(rows, "samples", "%zu", count);
    end_row(rows);
}

/* What the accelerator did over time: median, least and most of a column. */
static void add_series(struct rows *rows)
{
    static const char *const units[YPI_SERIES_COLUMNS] = {[YPI_SERIES_CLOCK] = "Hz",
                                                          [YPI_SERIES_TEMPERATURE] = "C",
                                                          [YPI_SERIES_POWER] = "W",
                                                          [YPI_SERIES_UTILISATION] = "",
                                                          [YPI_SERIES_USED] = "B"};
    const struct ypi_result *r = rows->r;
    double *values = ypi_calloc(r->series_count + 1, sizeof *values);
    for (int c = YPI_SERIES_CLOCK; c <= YPI_SERIES_USED; c++) {
        size_t known = 0;
        for (size_t i = 0; i < r->series_count; i++)
            if (!isnan(r->series[i * YPI_SERIES_COLUMNS + (size_t)c]))
                values[known++] = r->series[i * YPI_SERIES_COLUMNS + (size_t)c];
        add_spread(rows, "series", ypi_series_name((enum ypi_series_column)c), units[c], values,
                   known);
    }
    free(values);
}

static void add_rows(struct rows *rows)
{
    const struct ypi_result *r = rows->r;
    add_exact(rows, "duration", "case", "s", r->duration);
    for (int i = 0; i < r->measured_count; i++)
        add_measurement(rows, &r->measured[i]);
    /* Samples that were set aside, for the device was slowed down in them. */
    for (int i = 0; i < r->measured_count; i++)
        add_spread(rows, "set aside", r->measured[i].name, "s", r->measured[i].slowed,
                   r->measured[i].slowed_count);
    for (int i = 0; i < r->measured_count; i++)
        add_counts(rows, &r->measured[i]);
    for (int i = 0; i < r->value_count; i++)
        add_value(rows, &r->values[i]);
    for (int i = 0; i < r->gradient_count; i++)
        add_gradient(rows, &r->gradients[i]);
    if (r->has_memory)
        add_memory(rows, "host peak", &r->memory.host);
    if (r->has_memory && r->memory.has_device)
        add_memory(rows, "device peak", &r->memory.device);
    add_series(rows);
    for (int i = 0; i < r->verdict_count; i++)
        add_verdict(rows, &r->verdicts[i]);
}

/* All of it or nothing: half a row would run into the next one. */
static bool write_rows(int fd, off_t end, const struct ypi_text *rows)
{
    size_t done = 0;
    while (done < rows->length) {
        ssize_t now = write(fd, rows->data + done, rows->length - done);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0) {
            int error = errno;
            if (ftruncate(fd, end) == 0)
                errno = error;
            return false;
        }
        done += (size_t)now;
    }
    return true;
}

static enum yp_status refuse(const char *path)
{
    return yp_set_error(YP_IO, "--csv %s: %s", path, strerror(errno));
}

/* Rows of another shape would make the file unreadable. */
static enum yp_status check_header(const char *path, const char *header)
{
    size_t length = strlen(header);
    char *first = ypi_calloc(length + 1, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, first, length) : -1;
    enum yp_status status = size < 0 ? refuse(path) : YP_OK;
    if (fd >= 0)
        close(fd);
    if (status == YP_OK && strcmp(first, header) != 0)
        status = yp_set_error(
            YP_IO, "--csv %s: the file's header is of another version; name another file", path);
    free(first);
    return status;
}

/* Locked, for two runs may append to one file and one of them writes the header. Where a file
 * system has no locks, rows are still appended whole. -1 with the error set. */
static int open_to_append(const char *path, const char *header, struct stat *file)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        (void)refuse(path);
        return -1;
    }
    enum yp_status status = YP_OK;
    (void)flock(fd, LOCK_EX);
    if (fstat(fd, file) != 0)
        status = refuse(path);
    else if (file->st_size > 0 && S_ISREG(file->st_mode))
        status = check_header(path, header);
    if (status == YP_OK)
        return fd;
    close(fd);
    return -1;
}

/* Appends the rows of a result; NULL: only sees whether that could be done. */
static enum yp_status append(const char *path, const struct ypi_session *s,
                             const struct ypi_result *r)
{
    struct stat file;
    struct rows rows = {.s = s, .r = r};
    name_columns(&rows);
    char *header = header_of(&rows);
    int fd = open_to_append(path, header, &file);
    enum yp_status status = fd >= 0 ? YP_OK : YP_IO;
    if (fd >= 0 && r != NULL) {
        if (file.st_size == 0)
            ypi_text_add(&rows.text, "%s", header);
        add_rows(&rows);
        if (!write_rows(fd, file.st_size, &rows.text))
            status = refuse(path);
    }
    if (fd >= 0)
        close(fd);
    free(header);
    free(ypi_text_take(&rows.text));
    return status;
}

enum yp_status ypi_csv_check(const char *path)
{
    return append(path, NULL, NULL);
}

enum yp_status ypi_csv_append(const char *path, const struct ypi_session *s,
                              const struct ypi_result *r)
{
    return append(path, s, r);
}
