/* A CSV file of what happens in training. */
#include "device/host.h"
#include "models/train/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUFFER ((size_t)64 * 1024)
#define ROW ((size_t)2048) /* no row is longer */

struct train_log {
    struct yp_device *device;
    int fd;
    int error;      /* of the first write that failed; 0: none */
    size_t metrics; /* columns of the workload's */
    size_t used;
    char rows[BUFFER];
};

static void flush(struct train_log *log)
{
    size_t done = 0;
    while (done < log->used && log->error == 0) {
        ssize_t n = write(log->fd, log->rows + done, log->used - done);
        if (n == 0 || (n < 0 && errno != EINTR))
            log->error = n == 0 ? EIO : errno; /* 0 is no error that errno tells of */
        if (n > 0)
            done += (size_t)n;
    }
    log->used = 0;
}

__attribute__((format(printf, 2, 3))) static void add(struct train_log *log, const char *format,
                                                      ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(log->rows + log->used, BUFFER - log->used, format, args);
    va_end(args);
    log->used += length > 0 ? (size_t)length : 0;
}

static void add_numbers(struct train_log *log, size_t count, const double *numbers)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(numbers[i]))
            add(log, ",");
        else
            add(log, "%.9g,", numbers[i]);
}

static void add_none(struct train_log *log, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(log, ",");
}

static void add_step(struct train_log *log, const struct train_event *e)
{
    add(log, "step,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", e->epoch, e->place, e->step);
    add_numbers(log, 5, (double[]){e->loss, e->weight, e->norm, e->lr, e->scale});
    add(log, "%d,,,", e->skipped);
    add_none(log, log->metrics);
    add(log, ",%.9g\n", e->seconds);
}

static void add_epoch(struct train_log *log, const struct train_event *e)
{
    add(log, "epoch,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,,,%.9g,%.9g,,", e->epoch, e->place,
        e->step, e->lr, e->scale);
    add_numbers(log, 2, (double[]){e->train_loss, e->validation_loss});
    if (e->metrics != NULL)
        add_numbers(log, log->metrics, e->metrics);
    else
        add_none(log, log->metrics);
    add(log, "%d,%.9g\n", e->best, e->seconds);
}

bool train_log_watch(void *arg, const struct train_event *event)
{
    struct train_log *log = arg;
    if (BUFFER - log->used < ROW)
        flush(log);
    if (event->kind == TRAIN_STEP)
        add_step(log, event);
    else if (event->kind == TRAIN_EPOCH)
        add_epoch(log, event);
    if (event->kind != TRAIN_STEP)
        flush(log);
    return true;
}

/* Is the row of something that had happened at `after`? Not if it is torn or none: a file that lost
 * its power may end in zeros. */
static bool belongs(const char *row, const struct train_state *after)
{
    uint64_t epoch, place;
    size_t n = strlen(row);
    if (n == 0 || row[n - 1] != '\n')
        return false;
    if (sscanf(row, "step,%" SCNu64 ",%" SCNu64 ",", &epoch, &place) == 2)
        return epoch <= after->epoch || (epoch == after->epoch + 1 && place <= after->place);
    if (sscanf(row, "epoch,%" SCNu64 ",", &epoch) == 1)
        return after->judged && epoch <= after->epoch;
    return false;
}

/* Bytes of the file that stay: its head and rows that belong; 0 where there is none or it is empty.
 * What has another head is no log, and not ours to cut. */
static enum yp_status length_until(const char *path, const char *head,
                                   const struct train_state *after, off_t *length)
{
    char row[ROW];
    bool another = false;
    *length = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL && errno == ENOENT)
        return YP_OK;
    while (file != NULL && fgets(row, sizeof row, file) != NULL) {
        another = *length == 0 && strcmp(row, head) != 0;
        if (another || (*length > 0 && !belongs(row, after)))
            break;
        *length += (off_t)strlen(row);
    }
    int error = file == NULL || ferror(file) ? errno : 0;
    if (file != NULL)
        fclose(file);
    if (error != 0)
        return yp_set_error(YP_IO, "train_log_create: %s cannot be read: %s", path,
                            strerror(error));
    if (another)
        return yp_set_error(
            YP_INVALID,
            "train_log_create: %s begins with another line than a log does; allowed "
            "are a log, an empty file and none",
            path);
    return YP_OK;
}

/* The line of names; all in one row. */
static enum yp_status make_head(const char *const *metrics, size_t n_metrics, char head[ROW])
{
    int length = snprintf(head, ROW,
                          "kind,epoch,place,step,loss,weight,norm,lr,scale,skipped,train_loss,"
                          "validation_loss,");
    for (size_t i = 0; n_metrics <= TRAIN_METRICS && i < n_metrics && (size_t)length < ROW; i++)
        length += snprintf(head + length, ROW - (size_t)length, "%s,", metrics[i]);
    if ((size_t)length < ROW)
        length += snprintf(head + length, ROW - (size_t)length, "best,seconds\n");
    if (n_metrics > TRAIN_METRICS || (size_t)length >= ROW)
        return yp_set_error(YP_INVALID,
                            "train_log_create: %zu metrics, allowed are 0 to %d whose names have "
                            "some %zu characters in all",
                            n_metrics, TRAIN_METRICS, ROW - 128);
    return YP_OK;
}

struct train_log *train_log_create(struct yp_device *device, const char *path,
                                   const char *const *metrics, size_t n_metrics,
                                   const struct train_state *after)
{
    char head[ROW];
    if (ypi_check_host("train_log_create", device) != YP_OK)
        return NULL;
    if (path == NULL) {
        yp_set_error(YP_INVALID, "train_log_create: path is NULL");
        return NULL;
    }
    off_t keep = 0;
    if (make_head(metrics, n_metrics, head) != YP_OK ||
        (after != NULL && length_until(path, head, after, &keep) != YP_OK))
        return NULL;
    struct train_log *log = yp_device_alloc(device, sizeof *log);
    if (log == NULL)
        return NULL;
    log->device = device;
    log->error = 0;
    log->used = 0;
    log->metrics = n_metrics;
    log->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (log->fd < 0 || ftruncate(log->fd, keep) != 0 || lseek(log->fd, keep, SEEK_SET) != keep) {
        yp_set_error(YP_IO, "train_log_create: %s cannot be opened: %s", path, strerror(errno));
        if (log->fd >= 0)
            close(log->fd);
        yp_device_free(device, log);
        return NULL;
    }
    if (keep == 0)
        add(log, "%s", head);
    return log;
}

enum yp_status train_log_destroy(struct train_log *log)
{
    if (log == NULL)
        return YP_OK;
    flush(log);
    int error = log->error;
    if (close(log->fd) != 0 && error == 0)
        error = errno;
    yp_device_free(log->device, log);
    if (error != 0)
        return yp_set_error(YP_IO, "train_log_destroy: rows were lost: %s", strerror(error));
    return YP_OK;
}
