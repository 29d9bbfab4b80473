#include "base/stats.h"
#include "base/text.h"
#include "harness/judge/audit.h"
#include "harness/judge/budget.h"
#include "harness/measure/series.h"
#include "harness/record/record.h"
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

/* Columns are only ever added at the end, so that who reads them by position goes on. */
static const char header[] = "started,run,id,outcome,kind,name,repeat,seed,unit,value,low,high,"
                             "samples,items,share,cpu,p90,p99,met,attempt\n";

struct rows {
    struct ypi_text text;
    const struct ypi_session *s;
    const struct ypi_result *r;
};

static void begin_row(struct rows *rows, const char *kind, const char *name, const char *unit)
{
    const struct ypi_result *r = rows->r;
    const char *fields[] = {rows->s->run_id, r->c->id, ypi_outcome_name(r->outcome), kind, name};
    ypi_text_add(&rows->text, "%.3f", r->started);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        ypi_text_add(&rows->text, ",");
        add_field(&rows->text, fields[i]);
    }
    ypi_text_add(&rows->text, ",%d,%llu,", r->c->repeat, (unsigned long long)r->c->seed);
    add_field(&rows->text, unit);
}

/* What is not known is an empty field. */
static void add_figure(struct rows *rows, double value, int digits)
{
    ypi_text_add(&rows->text, ",");
    if (!isnan(value))
        ypi_text_add(&rows->text, "%.*g", digits, value);
}

/* The columns value, low and high; an exact value has no interval. */
static void add_interval(struct rows *rows, double value, double low, double high, int digits)
{
    bool exact = !(low < high);
    add_figure(rows, value, digits);
    add_figure(rows, exact ? NAN : low, digits);
    add_figure(rows, exact ? NAN : high, digits);
}

/* After the columns samples to p99. */
static void end_row(struct rows *rows, const char *met)
{
    ypi_text_add(&rows->text, ",%s,%d\n", met, rows->r->attempt);
}

static void end_plain_row(struct rows *rows, const char *met)
{
    ypi_text_add(&rows->text, ",,,,,,");
    end_row(rows, met);
}

static void add_exact(struct rows *rows, const char *kind, const char *name, const char *unit,
                      double value)
{
    begin_row(rows, kind, name, unit);
    add_interval(rows, value, NAN, NAN, 9);
    end_plain_row(rows, "");
}

static void add_measurement(struct rows *rows, const struct ypi_measured *m)
{
    const struct ypi_estimate *e = &m->estimate;
    begin_row(rows, "measurement", m->name, "s");
    add_figure(rows, e->median, 9);
    add_figure(rows, e->low, 9);
    add_figure(rows, e->high, 9);
    ypi_text_add(&rows->text, ",%zu,%.9g", m->count, m->items);
    add_figure(rows, m->share_count > 0 ? m->share_estimate.median : NAN, 9);
    add_figure(rows, m->cpu != NULL ? m->cpu_estimate.median : NAN, 9);
    add_figure(rows, e->p90, 9);
    add_figure(rows, e->p99, 9);
    end_row(rows, "");
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
    add_interval(rows, v->value, v->low, v->high, 17);
    end_plain_row(rows, "");
}

/* Named by all that tells it from the case's other budgets. */
static void add_verdict(struct rows *rows, const struct ypi_verdict *v)
{
    const struct yp_budget *b = v->budget;
    char detail[YPI_DETAIL_MAX];
    bool more = ypi_budget_detail(detail, b);
    const char *of = b->name != NULL ? b->name : b->memory == YP_DEVICE ? "device" : "host";
    char *name =
        ypi_format("%s %s%s%s", ypi_budget_kind_name(b->kind), of, more ? " " : "", detail);
    begin_row(rows, "verdict", name, "");
    add_interval(rows, v->measured, v->low, v->high, 9);
    end_plain_row(rows, ypi_met_name(v->met));
    free(name);
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
        struct ypi_estimate e = ypi_estimate(values, known);
        if (known == 0)
            continue;
        begin_row(rows, "series", ypi_series_name((enum ypi_series_column)c), units[c]);
        add_figure(rows, e.median, 9);
        add_figure(rows, e.min, 9);
        add_figure(rows, e.max, 9);
        ypi_text_add(&rows->text, ",%zu,,,,,", known);
        end_row(rows, "");
    }
    free(values);
}

/* Samples that were set aside, for the device was slowed down in them. */
static void add_set_aside(struct rows *rows, const struct ypi_measured *m)
{
    struct ypi_estimate e = ypi_estimate(m->slowed, m->slowed_count);
    if (m->slowed_count == 0)
        return;
    begin_row(rows, "set aside", m->name, "s");
    add_figure(rows, e.median, 9);
    add_figure(rows, e.min, 9);
    add_figure(rows, e.max, 9);
    ypi_text_add(&rows->text, ",%zu,,,,,", m->slowed_count);
    end_row(rows, "");
}

static void add_rows(struct rows *rows)
{
    const struct ypi_result *r = rows->r;
    add_exact(rows, "duration", "case", "s", r->duration);
    for (int i = 0; i < r->measured_count; i++)
        add_measurement(rows, &r->measured[i]);
    for (int i = 0; i < r->measured_count; i++)
        add_set_aside(rows, &r->measured[i]);
    for (int i = 0; i < r->measured_count; i++)
        add_counts(rows, &r->measured[i]);
    for (int i = 0; i < r->value_count; i++)
        add_value(rows, &r->values[i]);
    for (int i = 0; i < r->gradient_count; i++)
        add_exact(rows, r->gradients[i].precision ? "precision" : "gradient", r->gradients[i].name,
                  "", r->gradients[i].error);
    if (r->has_memory) {
        begin_row(rows, "memory", "host peak", "B");
        ypi_text_add(&rows->text, ",%llu,,", (unsigned long long)r->memory.host.allocated_peak);
        end_plain_row(rows, "");
    }
    if (r->has_memory && r->memory.has_device) {
        begin_row(rows, "memory", "device peak", "B");
        ypi_text_add(&rows->text, ",%llu,,", (unsigned long long)r->memory.device.allocated_peak);
        end_plain_row(rows, "");
    }
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
static enum yp_status check_header(const char *path)
{
    char first[sizeof header] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(path);
    ssize_t size = read(fd, first, sizeof first - 1);
    enum yp_status status = size < 0 ? refuse(path) : YP_OK;
    close(fd);
    if (status == YP_OK && strcmp(first, header) != 0)
        status = yp_set_error(
            YP_IO, "--csv %s: the file's header is of another version; name another file", path);
    return status;
}

/* Locked, for two runs may append to one file and one of them writes the header. Where a file
 * system has no locks, rows are still appended whole. -1 with the error set. */
static int open_to_append(const char *path, struct stat *file)
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
        status = check_header(path);
    if (status == YP_OK)
        return fd;
    close(fd);
    return -1;
}

enum yp_status ypi_csv_check(const char *path)
{
    struct stat file;
    int fd = open_to_append(path, &file);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? YP_OK : YP_IO;
}

enum yp_status ypi_csv_append(const char *path, const struct ypi_session *s,
                              const struct ypi_result *r)
{
    struct stat file;
    int fd = open_to_append(path, &file);
    if (fd < 0)
        return YP_IO;
    struct rows rows = {.s = s, .r = r};
    if (file.st_size == 0)
        ypi_text_add(&rows.text, "%s", header);
    add_rows(&rows);
    enum yp_status status = YP_OK;
    if (!write_rows(fd, file.st_size, &rows.text))
        status = refuse(path);
    close(fd);
    free(ypi_text_take(&rows.text));
    return status;
}
