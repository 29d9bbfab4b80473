#include "budget.h"
#include "tell.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
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

static void begin_row(struct ypi_text *rows, const struct ypi_session *s,
                      const struct ypi_result *r, const char *kind, const char *name)
{
    const char *fields[] = {s->run_id, r->c->id, ypi_outcome_name(r->outcome), kind, name};
    ypi_text_add(rows, "%.3f", r->started);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        ypi_text_add(rows, ",");
        add_field(rows, fields[i]);
    }
    ypi_text_add(rows, ",%d,%llu,", r->c->repeat, (unsigned long long)r->c->seed);
}

static void add_rows(struct ypi_text *rows, const struct ypi_session *s, const struct ypi_result *r)
{
    begin_row(rows, s, r, "duration", "case");
    ypi_text_add(rows, "s,%.9g,,,,\n", r->duration);
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        begin_row(rows, s, r, "measurement", m->name);
        ypi_text_add(rows, "s,%.9g,%.9g,%.9g,%zu,%.9g\n", m->estimate.median, m->estimate.low,
                     m->estimate.high, m->count, m->items);
    }
    for (int i = 0; i < r->value_count; i++) {
        begin_row(rows, s, r, "value", r->values[i].name);
        add_field(rows, r->values[i].unit);
        ypi_text_add(rows, ",%.17g,,,,\n", r->values[i].value);
    }
    for (int i = 0; i < r->gradient_count; i++) {
        begin_row(rows, s, r, r->gradients[i].precision ? "precision" : "gradient",
                  r->gradients[i].name);
        ypi_text_add(rows, ",%.9g,,,,\n", r->gradients[i].error);
    }
    if (r->has_memory) {
        begin_row(rows, s, r, "memory", "host peak");
        ypi_text_add(rows, "B,%llu,,,,\n", (unsigned long long)r->memory.host.allocated_peak);
    }
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

enum yp_status ypi_csv_append(const char *path, const struct ypi_session *s,
                              const struct ypi_result *r)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return yp_set_error(YP_IO, "--csv %s: %s", path, strerror(errno));
    struct ypi_text rows = {0};
    struct stat status;
    enum yp_status result = YP_OK;
    /* Two runs may append to one file: the header is written by one of them. Where a file system
     * has no locks, rows are still appended whole. */
    (void)flock(fd, LOCK_EX);
    if (fstat(fd, &status) != 0) {
        result = yp_set_error(YP_IO, "--csv %s: %s", path, strerror(errno));
    } else {
        if (status.st_size == 0)
            ypi_text_add(&rows, "started,run,id,outcome,kind,name,repeat,seed,unit,value,low,high,"
                                "samples,items\n");
        add_rows(&rows, s, r);
        if (!write_rows(fd, status.st_size, &rows))
            result = yp_set_error(YP_IO, "--csv %s: %s", path, strerror(errno));
    }
    close(fd);
    free(ypi_text_take(&rows));
    return result;
}
