#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "device/ceiling/ceiling.h"
#include "harness/record/row.h"
#include "harness/report/reporter.h"
#include "harness/vocabulary/audit.h"
#include "harness/vocabulary/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
    size_t at = place_of(rows, column);
    va_list arguments;
    va_start(arguments, format);
    free(rows->cells[at]);
    rows->cells[at] = ypi_vformat(format, arguments);
    va_end(arguments);
}

/* A list as its median, from least to most; false where nothing of it is known. */
static bool put_spread(struct rows *rows, const char *column, const struct ypi_datum *d)
{
    size_t count = 0;
    double *known = ypi_calloc(d->count, sizeof *known);
    for (size_t i = 0; d->type == YPI_AN_ARRAY && i < d->count; i++)
        if (!isnan(d->array[i]))
            known[count++] = d->array[i];
    struct ypi_estimate e = ypi_estimate(known, count);
    free(known);
    if (count == 0)
        return false;
    put(rows, column, "%.9g", e.median);
    put(rows, "low", "%.9g", e.min);
    put(rows, "high", "%.9g", e.max);
    put(rows, "samples", "%zu", count);
    return true;
}

/* The columns that the fields of a table name; what is not known is an empty field. False: it is a
 * list with nothing in it. */
static bool put_fields(struct rows *rows, enum ypi_table_name table, const void *row)
{
    const struct ypi_table *t = &ypi_tables[table];
    const struct ypi_stored_row item = {.row = row, .run = rows->s->run_id};
    const int digits = table == YPI_TABLE_VALUE ? 17 : 9; /* all of what a body gives */
    bool any = true;
    for (size_t i = 0; i < t->count; i++) {
        const struct ypi_field *f = &t->fields[i];
        struct ypi_datum d;
        if (f->csv == NULL)
            continue;
        ypi_field_get(f, &item, &d);
        if (f->type == YPI_DOUBLES)
            any = put_spread(rows, f->csv, &d);
        else if (d.type == YPI_A_REAL)
            put(rows, f->csv, "%.*g", digits, d.real);
        else if (d.type == YPI_AN_INTEGER)
            put(rows, f->csv, f->type == YPI_UNSIGNED ? "%llu" : "%lld", (long long)d.integer);
        else if (d.type == YPI_A_TEXT)
            put(rows, f->csv, "%s", d.text);
    }
    return any;
}

static void add_row(struct rows *rows, const char *kind, const char *name, const char *unit,
                    enum ypi_table_name table, const void *row)
{
    if (!put_fields(rows, table, row))
        return;
    put(rows, "started", "%.3f", rows->r->started);
    put(rows, "kind", "%s", kind);
    put(rows, "name", "%s", name);
    put(rows, "unit", "%s", unit);
    (void)put_fields(rows, YPI_TABLE_RESULT, rows->r);
    for (size_t i = 0; i < rows->count; i++) {
        ypi_text_add(&rows->text, "%s", i > 0 ? "," : "");
        ypi_text_csv(&rows->text, rows->cells[i] != NULL ? rows->cells[i] : "");
        free(rows->cells[i]);
        rows->cells[i] = NULL;
    }
    ypi_text_add(&rows->text, "\n");
}

static void add_part(struct rows *rows, const char *kind, const struct ypi_measured *m,
                     const char *what, const char *unit, double value)
{
    char *name = ypi_format("%s %s", m->name, what);
    const struct ypi_figure_row row = {name, value};
    if (isfinite(value))
        add_row(rows, kind, name, unit, YPI_TABLE_NOISE, &row);
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
    add_part(rows, "declared", m, "operations", "", ypi_audit_declared_operations(m));
    add_part(rows, "executed", m, "operations", "", ypi_audit_operations(m));
    add_part(rows, "declared", m, "bytes", "B", ypi_audit_declared_bytes(m));
    add_part(rows, "executed", m, "bytes", "B", ypi_audit_bytes(m));
}

/* The ceilings beside the samples; `items` is the declared work. */
static void add_ceilings(struct rows *rows, const struct ypi_measured *m)
{
    for (int i = 0; i < YPI_BOUNDS; i++) {
        const struct ypi_ceiling *b = &m->bounds[i];
        if (!ypi_has_ceiling(b) || b->probes == 0)
            continue;
        char step[32] = "";
        if (b->stage > 0)
            snprintf(step, sizeof step, " step %d", b->stage + 1);
        char *name = ypi_format("%s%s %s%s%s", m->name, step, b->level, *b->level ? " " : "",
                                yp_ceiling_name(b->ceiling));
        add_row(rows, "ceiling", name, ypi_is_arithmetic(b->ceiling) ? "operations/s" : "B/s",
                YPI_TABLE_BOUND, b);
        free(name);
    }
}

/* An exact figure has no interval. */
static void leave_out_exact(double *low, double *high)
{
    if (!(*low < *high))
        *low = *high = NAN;
}

static void add_value(struct rows *rows, struct ypi_value v)
{
    leave_out_exact(&v.low, &v.high);
    add_row(rows, "value", v.name, v.unit, YPI_TABLE_VALUE, &v);
}

/* Named by all that makes it differ from the case's other budgets. */
static void add_verdict(struct rows *rows, struct ypi_verdict v)
{
    const struct yp_budget *b = v.budget;
    char detail[YPI_DETAIL_MAX];
    bool more = ypi_budget_detail(detail, b);
    const char *of = b->name != NULL ? b->name : ypi_memory_name(b->memory);
    char *name =
        ypi_format("%s %s%s%s", ypi_budget_kind_name(b->kind), of, more ? " " : "", detail);
    leave_out_exact(&v.low, &v.high);
    add_row(rows, "verdict", name, "", YPI_TABLE_VERDICT, &v);
    free(name);
}

/* What the accelerator did over time, but for why. */
static void add_series(struct rows *rows)
{
    static const char *const units[] = {[YPI_SERIES_CLOCK] = "Hz",
                                        [YPI_SERIES_TEMPERATURE] = "C",
                                        [YPI_SERIES_POWER] = "W",
                                        [YPI_SERIES_UTILISATION] = "",
                                        [YPI_SERIES_USED] = "B"};
    double *series = ypi_series_columns(rows->r);
    for (int c = YPI_SERIES_CLOCK; c <= YPI_SERIES_USED; c++) {
        const struct ypi_series_row row = ypi_series_row(series, rows->r->series_count, c);
        add_row(rows, "series", row.name, units[c], YPI_TABLE_SERIES, &row);
    }
    free(series);
}

static void add_rows(struct rows *rows)
{
    const struct ypi_result *r = rows->r;
    const struct ypi_figure_row duration = {"case", r->duration};
    add_row(rows, "duration", duration.name, "s", YPI_TABLE_NOISE, &duration);
    for (int i = 0; i < r->measured_count; i++)
        add_row(rows, "measurement", r->measured[i].name, "s", YPI_TABLE_MEASUREMENT,
                &r->measured[i]);
    for (int i = 0; i < r->measured_count; i++)
        add_row(rows, "set aside", r->measured[i].name, "s", YPI_TABLE_SAMPLES, &r->measured[i]);
    for (int i = 0; i < r->measured_count; i++)
        add_ceilings(rows, &r->measured[i]);
    for (int i = 0; i < r->measured_count; i++)
        add_counts(rows, &r->measured[i]);
    for (int i = 0; i < r->value_count; i++)
        add_value(rows, r->values[i]);
    for (int i = 0; i < r->gradient_count; i++)
        add_row(rows, r->gradients[i].precision ? "precision" : "gradient", r->gradients[i].name,
                "", YPI_TABLE_GRADIENT, &r->gradients[i]);
    if (r->has_memory)
        add_row(rows, "memory", "host peak", "B", YPI_TABLE_MEMORY, &r->memory.host);
    if (r->has_memory && r->memory.has_device)
        add_row(rows, "memory", "device peak", "B", YPI_TABLE_MEMORY, &r->memory.device);
    if (r->has_memory && r->memory.has_heap)
        add_row(rows, "memory", "heap peak", "B", YPI_TABLE_MEMORY, &r->memory.heap);
    add_series(rows);
    for (int i = 0; i < r->verdict_count; i++)
        add_verdict(rows, r->verdicts[i]);
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

/* Rows of another shape would make the file unreadable. *is_open: its last line has no end, which
 * an editor may leave out. */
static enum yp_status check_file(const char *path, const char *header, off_t end, bool *is_open)
{
    size_t length = strlen(header);
    char *first = ypi_calloc(length + 1, 1);
    char last = '\n';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool done = fd >= 0 && read(fd, first, length) >= 0 && pread(fd, &last, 1, end - 1) >= 0;
    enum yp_status status = done ? YP_OK : refuse(path);
    if (fd >= 0)
        close(fd);
    *is_open = last != '\n';
    bool same = strncmp(first, header, length - 1) == 0 &&
                (first[length - 1] == '\n' || (first[length - 1] == '\0' && *is_open));
    if (status == YP_OK && !same)
        status = yp_set_error(
            YP_IO, "--csv %s: the file's header is of another version; name another file", path);
    free(first);
    return status;
}

/* Locked, for two runs may append to one file and one of them writes the header. Where a file
 * system has no locks, rows are still appended whole. -1 with the error set. */
static int open_to_append(const char *path, const char *header, struct stat *file, bool *is_open)
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
        status = check_file(path, header, file->st_size, is_open);
    if (status == YP_OK)
        return fd;
    close(fd);
    return -1;
}

/* Appends the rows of one result, and a header to an empty file: one row for the duration and one
 * for each measurement, value, check, memory peak and verdict. NULL: only sees whether that could
 * be done. YP_IO with the path, also when the file's header is another one. */
static enum yp_status append(const char *path, const struct ypi_session *s,
                             const struct ypi_result *r)
{
    struct stat file;
    struct rows rows = {.s = s, .r = r};
    name_columns(&rows);
    char *header = header_of(&rows);
    bool is_open = false;
    int fd = open_to_append(path, header, &file, &is_open);
    enum yp_status status = fd >= 0 ? YP_OK : YP_IO;
    if (fd >= 0 && r != NULL) {
        if (file.st_size == 0)
            ypi_text_add(&rows.text, "%s", header);
        ypi_text_add(&rows.text, "%s", is_open ? "\n" : "");
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

/* Creates the file. */
static enum yp_status open_file(struct ypi_reporting *to)
{
    return append(to->path, NULL, NULL);
}

static enum yp_status store(struct ypi_reporting *to)
{
    return to->s->o->slowdown > 1 ? YP_OK : append(to->path, to->s, to->r);
}

const struct ypi_reporter ypi_csv_reporter = {
    .options = {{"csv", .value = "FILE", .help = "append a row a measurement or value",
                 .kind = YPI_OPTION_PATH}},
    .appends = true,
    .on = {[YPI_RUN_OPENS] = open_file, [YPI_STORED] = store}};
