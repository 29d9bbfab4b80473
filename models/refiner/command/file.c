/* The file of rows, which earlier sweeps may have begun. */
#include "models/refiner/command/internal.h"

#include "base/system/atomic_file.h"
#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const columns[] = {
    "timestamp",
    "mode",
    "tile_size",
    "batch_size",
    "device",
    "model_params",
    "model_size_mb",
    "avg_time_ms",
    "std_time_ms",
    "throughput_samples_per_sec",
    "memory_allocated_mb",
    "memory_reserved_mb",
    "memory_peak_mb",
    "forward_time_ms",
    "backward_time_ms",
    "total_time_ms",
    "error",
};

enum { COLUMNS = sizeof columns / sizeof *columns, HEADER_MAX = 4096 };

/* -- what is there ----------------------------------------------------------------------------- */

/* The first line against the header; `line` is without its end. */
static enum yp_status check_header(const char *path, const char *line)
{
    const char *at = strncmp(line, "\xef\xbb\xbf", 3) == 0 ? line + 3 : line; /* U+FEFF */
    for (size_t i = 0; i < COLUMNS || *at != '\0'; i++) {
        const size_t length = strcspn(at, ",");
        const char *wanted = i < COLUMNS ? columns[i] : "";
        if (strlen(wanted) != length || memcmp(at, wanted, length) != 0 || i >= COLUMNS)
            return yp_set_error(
                YP_IO,
                "%s: column %zu is '%.*s': must be %s%s%s; a sweep adds its rows to "
                "a file with its own columns, or to a new one",
                path, i + 1, (int)(length < 64 ? length : 64), at, i < COLUMNS ? "'" : "",
                i < COLUMNS ? wanted : "none", i < COLUMNS ? "'" : "");
        at += length + (at[length] == ',');
    }
    return YP_OK;
}

/* Another sweep may add to the same file. On a file system without locks there is but one. */
static void set_lock(const struct ypi_refiner_file *file, int operation)
{
    while (flock(file->fd, operation) != 0 && errno == EINTR)
        continue;
}

/* Adds a text as a whole, or nothing of it; with the lock. */
static enum yp_status add(const struct ypi_refiner_file *file, const char *text)
{
    struct stat before;
    size_t length = strlen(text), done = 0;
    enum yp_status status = fstat(file->fd, &before) == 0 ? YP_OK : YP_IO;
    while (status == YP_OK && done < length) {
        const ssize_t written = write(file->fd, text + done, length - done);
        if (written < 0 && errno != EINTR)
            status = YP_IO;
        done += written > 0 ? (size_t)written : 0;
    }
    if (status != YP_OK) {
        yp_set_error(status, "%s: %s", file->path, strerror(errno));
        if (file->regular && done > 0)
            (void)!ftruncate(file->fd, before.st_size);
    }
    return status;
}

/* Checks what the file has, and gives it a header where it has nothing; with the lock. */
static enum yp_status begin(struct ypi_refiner_file *file, off_t size)
{
    char header[HEADER_MAX] = "", last = '\n';
    struct ypi_text text = {0};
    if (size > 0) {
        const size_t first = size < HEADER_MAX ? (size_t)size : HEADER_MAX - 1;
        enum yp_status status = ypi_read_at(file->fd, file->path, 0, header, first);
        if (status == YP_OK)
            status = ypi_read_at(file->fd, file->path, (uint64_t)size - 1, &last, 1);
        if (status != YP_OK)
            return status;
        char *end = header + strcspn(header, "\n");
        if (end > header && end[-1] == '\r')
            file->line_end = "\r\n", end--;
        *end = '\0';
        status = check_header(file->path, header);
        if (status != YP_OK || last == '\n')
            return status;
    }
    for (size_t i = 0; i < COLUMNS && size == 0; i++)
        ypi_text_add(&text, "%s%s", i > 0 ? "," : "", columns[i]);
    ypi_text_add(&text, "%s", file->line_end);
    char *line = ypi_text_take(&text);
    const enum yp_status status = add(file, line);
    free(line);
    return status;
}

enum yp_status ypi_refiner_file_open(struct ypi_refiner_file *file, const char *path)
{
    struct stat is;
    *file = (struct ypi_refiner_file){.path = path, .fd = -1, .line_end = "\n"};
    if (ypi_make_parents(path) != YP_OK)
        return YP_IO;
    file->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file->fd >= 0)
        set_lock(file, LOCK_EX);
    if (file->fd < 0 || fstat(file->fd, &is) != 0)
        return yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    file->regular = S_ISREG(is.st_mode);
    const enum yp_status status = begin(file, file->regular ? is.st_size : 0);
    set_lock(file, LOCK_UN);
    return status;
}

void ypi_refiner_file_close(struct ypi_refiner_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* -- a row ------------------------------------------------------------------------------------- */

/* The next field of a row; NaN: there is no such figure. */
static void add_real(struct ypi_text *row, double value)
{
    ypi_text_add(row, ",");
    if (isfinite(value))
        ypi_text_add(row, "%.7g", value);
}

static void add_figures(struct ypi_text *row, const struct ypi_refiner_work *work,
                        const struct ypi_refiner_plan *plan, const struct ypi_refiner_result *r)
{
    const bool measured = r->error[0] == '\0', train = measured && work->train;
    const double figures[] = {
        (double)plan->bytes / YP_MIB,
        measured ? 1e3 * r->mean : (double)NAN,
        measured ? 1e3 * r->sd : (double)NAN,
        measured ? (double)work->batch / r->mean : (double)NAN,
        measured ? (double)r->allocated / YP_MIB : (double)NAN,
        measured ? (double)r->reserved / YP_MIB : (double)NAN,
        measured ? (double)r->peak / YP_MIB : (double)NAN,
        train ? 1e3 * r->forward : (double)NAN,
        train ? 1e3 * r->backward : (double)NAN,
        train ? 1e3 * r->mean : (double)NAN,
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        add_real(row, figures[i]);
}

enum yp_status ypi_refiner_file_add(const struct ypi_refiner_file *file,
                                    const struct ypi_refiner_work *work,
                                    const struct ypi_refiner_plan *plan,
                                    const struct ypi_refiner_result *result)
{
    char when[32] = "";
    struct tm utc;
    struct ypi_text row = {0};
    const time_t began = (time_t)result->began;
    if (file->fd < 0)
        return YP_OK;
    if (gmtime_r(&began, &utc) != NULL)
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    ypi_text_add(&row, "%s,%s,%zu,%zu,%s,%zu", when, work->train ? "train" : "inference",
                 work->tile, work->batch, work->kind, plan->parameters);
    add_figures(&row, work, plan, result);
    ypi_text_add(&row, ",");
    ypi_text_csv(&row, result->error);
    ypi_text_add(&row, "%s", file->line_end);
    char *line = ypi_text_take(&row);
    set_lock(file, LOCK_EX);
    const enum yp_status status = add(file, line);
    set_lock(file, LOCK_UN);
    free(line);
    return status;
}
