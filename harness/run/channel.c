#include "harness/run/channel.h"

#include "harness/measure/series.h"

#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MARK UINT32_C(0x59504d31)

struct frame {
    uint32_t mark;
    uint32_t kind;
    int64_t pid; /* of the process that sent it */
    uint64_t size;
    uint64_t sum; /* of what stands before it and of the message */
};

/* FNV-1a, 64 bits (Fowler, Noll, Vo): finds a torn or overwritten message, nothing more. */
static uint64_t checksum(uint64_t sum, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t frame_checksum(const struct frame *frame)
{
    return checksum(UINT64_C(0xcbf29ce484222325), frame, offsetof(struct frame, sum));
}

static bool write_all(int fd, struct iovec *parts, int count)
{
    while (count > 0) {
        ssize_t done = writev(fd, parts, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        size_t left = (size_t)done;
        while (count > 0 && left >= parts->iov_len) {
            left -= parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return true;
}

bool ypi_channel_send(const char *path, enum ypi_message kind, const void *first, size_t first_size,
                      const void *second, size_t second_size)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    struct frame frame = {
        .mark = MARK, .kind = kind, .pid = getpid(), .size = first_size + second_size};
    frame.sum = checksum(checksum(frame_checksum(&frame), first, first_size), second, second_size);
    struct iovec parts[] = {{&frame, sizeof frame},
                            {(void *)(uintptr_t)first, first_size},
                            {(void *)(uintptr_t)second, second_size}};
    bool ok = write_all(fd, parts, 3);
    close(fd);
    return ok;
}

/* -- reading ------------------------------------------------------------------------------ */

static char *read_file(const char *path, size_t *size)
{
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *bytes = ypi_calloc((size_t)status.st_size + 1, 1);
    ssize_t got = 0;
    while (*size < (size_t)status.st_size &&
           (got = read(fd, bytes + *size, (size_t)status.st_size - *size)) > 0)
        *size += (size_t)got;
    close(fd);
    return bytes;
}

/* Appends one element to an owned array. */
static void *append(void *list, int *count, const void *element, size_t size)
{
    char *longer = ypi_realloc(list, (size_t)*count + 1, size);
    memcpy(longer + (size_t)*count * size, element, size);
    (*count)++;
    return longer;
}

static void read_failure(struct ypi_result *r, const char *bytes, size_t size)
{
    struct ypi_failure_message m;
    if (size < sizeof m + 2 || bytes[size - 1] != '\0')
        return;
    memcpy(&m, bytes, sizeof m);
    const char *file = bytes + sizeof m;
    const char *message = file + strlen(file) + 1;
    if (message < bytes + size)
        ypi_result_fail(r, m.cause, m.has_file ? file : NULL, m.line, "%s", message);
}

/* A copy of the next `count` doubles; NULL for none. */
static double *take_doubles(const char **bytes, size_t count)
{
    if (count == 0)
        return NULL;
    double *copy = ypi_calloc(count, sizeof *copy);
    memcpy(copy, *bytes, count * sizeof *copy);
    *bytes += count * sizeof *copy;
    return copy;
}

static void read_measured(struct ypi_result *r, const char *bytes, size_t size)
{
    struct ypi_measured m;
    if (size < sizeof m)
        return;
    memcpy(&m, bytes, sizeof m);
    size_t cpu = m.cpu != NULL ? m.count : 0;
    size_t values = (size - sizeof m) / sizeof(double);
    if (m.count > values || cpu > values - m.count)
        return;
    values -= m.count + cpu;
    if (m.share_count > values || m.slowed_count != values - m.share_count)
        return;
    bytes += sizeof m;
    m.samples = take_doubles(&bytes, m.count);
    m.cpu = take_doubles(&bytes, cpu);
    m.shares = take_doubles(&bytes, m.share_count);
    m.slowed = take_doubles(&bytes, m.slowed_count);
    r->measured = append(r->measured, &r->measured_count, &m, sizeof m);
}

/* Forked children that returned from a function of the test: the first is named, all are counted.
 */
struct reader {
    struct ypi_result *r;
    int64_t *returned;
    int returned_count;
    bool returned_told;
    struct ypi_report report;
    double entered;
};

static void read_stage(struct reader *reader, const struct ypi_stage *stage)
{
    double *const spent[] = {&reader->r->setup, &reader->r->body, &reader->r->teardown};
    if (reader->report.staged && reader->report.stage < YPI_STAGE_DONE)
        *spent[reader->report.stage] = stage->at - reader->entered;
    reader->entered = stage->at;
    reader->report.staged = true;
    reader->report.stage = stage->stage;
}

static void tell_returned(struct reader *reader, const char *bytes)
{
    static const char *const names[] = {"setup", "the body", "teardown"};
    enum ypi_stage_name stage = YPI_STAGE_BODY;
    memcpy(&stage, bytes, sizeof stage);
    const char *name = stage < YPI_STAGE_DONE ? names[stage] : "the case";
    if (!reader->returned_told && reader->returned_count == 1)
        ypi_result_fail(reader->r, YPI_CAUSE_FORKED, NULL, 0, "a forked child returned from %s",
                        name);
    else if (!reader->returned_told)
        ypi_result_fail(reader->r, YPI_CAUSE_FORKED, NULL, 0, "%d forked children returned from %s",
                        reader->returned_count, name);
    reader->returned_told = true;
}

static void read_message(struct reader *reader, uint32_t kind, const char *bytes, size_t size)
{
    struct ypi_result *r = reader->r;
    struct ypi_hello hello;
    struct ypi_stage stage;
    struct ypi_value value;
    struct ypi_gradient gradient;
    if (kind == YPI_MESSAGE_HELLO && size == sizeof hello) {
        memcpy(&hello, bytes, size);
        reader->report.pid = hello.pid;
    } else if (kind == YPI_MESSAGE_STAGE && size == sizeof stage) {
        memcpy(&stage, bytes, size);
        read_stage(reader, &stage);
    } else if (kind == YPI_MESSAGE_FAILURE) {
        read_failure(r, bytes, size);
    } else if (kind == YPI_MESSAGE_SKIP && size > 0 && bytes[size - 1] == '\0') {
        free(r->reason);
        r->reason = ypi_strdup(bytes);
        reader->report.skipped = true;
    } else if (kind == YPI_MESSAGE_VALUE && size == sizeof value) {
        memcpy(&value, bytes, size);
        r->values = append(r->values, &r->value_count, &value, size);
    } else if (kind == YPI_MESSAGE_MEASURED) {
        read_measured(r, bytes, size);
    } else if (kind == YPI_MESSAGE_GRADIENT && size == sizeof gradient) {
        memcpy(&gradient, bytes, size);
        r->gradients = append(r->gradients, &r->gradient_count, &gradient, size);
    } else if (kind == YPI_MESSAGE_HASH && size == sizeof r->hash) {
        memcpy(&r->hash, bytes, size);
        r->has_hash = true;
    } else if (kind == YPI_MESSAGE_MEMORY && size == sizeof r->memory) {
        memcpy(&r->memory, bytes, size);
        r->has_memory = true;
    } else if (kind == YPI_MESSAGE_SERIES && r->series == NULL) {
        size_t row = YPI_SERIES_COLUMNS * sizeof *r->series;
        r->series_count = size / row;
        r->series = take_doubles(&bytes, r->series_count * YPI_SERIES_COLUMNS);
    } else if (kind == YPI_MESSAGE_END) {
        reader->report.ended = true;
    } else if (kind == YPI_MESSAGE_EXIT) {
        reader->report.exited = true;
    } else if (kind == YPI_MESSAGE_RETURNED && size == sizeof(enum ypi_stage_name)) {
        tell_returned(reader, bytes);
    }
}

static bool has_returned(const struct reader *reader, int64_t pid)
{
    for (int i = 0; i < reader->returned_count; i++)
        if (reader->returned[i] == pid)
            return true;
    return false;
}

/* The frame at `bytes`, and past it; false: nothing sound is there. */
static bool next_frame(struct frame *frame, const char *bytes, size_t size, size_t *at)
{
    if (size - *at < sizeof *frame)
        return false;
    memcpy(frame, bytes + *at, sizeof *frame);
    const char *message = bytes + *at + sizeof *frame;
    if (frame->mark != MARK || frame->size > size - *at - sizeof *frame ||
        frame->sum != checksum(frame_checksum(frame), message, frame->size))
        return false;
    *at += sizeof *frame + frame->size;
    return true;
}

struct ypi_report ypi_channel_read(const char *path, struct ypi_result *result)
{
    struct reader reader = {.r = result, .report = {.stage = YPI_STAGE_DONE}};
    size_t size = 0;
    char *bytes = read_file(path, &size);
    struct frame frame;
    for (size_t at = 0; bytes != NULL && next_frame(&frame, bytes, size, &at);)
        if (frame.kind == YPI_MESSAGE_RETURNED && !has_returned(&reader, frame.pid))
            reader.returned =
                append(reader.returned, &reader.returned_count, &frame.pid, sizeof frame.pid);
    for (size_t at = 0; bytes != NULL && next_frame(&frame, bytes, size, &at);)
        if (frame.kind == YPI_MESSAGE_RETURNED || !has_returned(&reader, frame.pid))
            read_message(&reader, frame.kind, bytes + at - frame.size, frame.size);
    free(reader.returned);
    free(bytes);
    return reader.report;
}
