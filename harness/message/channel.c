#include "harness/message/channel.h"

#include "harness/message/channel_check.h"

#include "base/numbers/fnv1a.h"
#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MARK UINT32_C(0x59504d31)

struct frame {
    uint32_t mark;
    uint32_t kind;
    int64_t pid; /* of the process that sent it */
    uint64_t size;
    uint64_t sum; /* of what stands before it and of the message */
};

/* Finds a torn or overwritten message, nothing more. */
static uint64_t frame_checksum(const struct frame *frame)
{
    return ypi_fnv1a(YPI_FNV1A_BEGIN, frame, offsetof(struct frame, sum));
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

/* Of this process. */
static struct ypi_channel_memory *memory;
static volatile bool file_lost;

void ypi_channel_set_memory(struct ypi_channel_memory *shared)
{
    memory = shared;
    file_lost = false;
}

static int create(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

bool ypi_channel_create(const char *path)
{
    int fd = create(path);
    if (fd < 0 && errno == ENOENT) {
        const char *slash = strrchr(path, '/');
        char *directory = ypi_format("%.*s", slash != NULL ? (int)(slash - path) : 0, path);
        if (mkdir(directory, 0700) == 0 || errno == EEXIST)
            fd = create(path);
        free(directory);
    }
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A file that is made anew would lack what was sent before. */
static bool append_to_file(const char *path, const void *const parts[3], const size_t sizes[3])
{
    static const struct timespec now = {0};
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct iovec vectors[3];
    for (int i = 0; i < 3; i++)
        vectors[i] = (struct iovec){(void *)(uintptr_t)parts[i], sizes[i]};
    sigset_t too_long;
    sigset_t before;
    sigemptyset(&too_long);
    sigaddset(&too_long, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_long, &before);
    bool ok = write_all(fd, vectors, 3);
    if (!ok && errno == EFBIG)
        sigtimedwait(&too_long, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(fd);
    return ok;
}

bool ypi_channel_send(const char *path, enum ypi_message kind, const void *first, size_t first_size,
                      const void *second, size_t second_size)
{
    struct frame frame = {
        .mark = MARK, .kind = kind, .pid = getpid(), .size = first_size + second_size};
    frame.sum =
        ypi_fnv1a(ypi_fnv1a(frame_checksum(&frame), first, first_size), second, second_size);
    const void *const parts[] = {&frame, first, second};
    const size_t sizes[] = {sizeof frame, first_size, second_size};
    if (!file_lost && append_to_file(path, parts, sizes))
        return true;
    if (memory == NULL)
        return false;
    file_lost = true; /* the order of messages matters */
    return ypi_channel_memory_append(memory, parts, sizes);
}

/* -- reading ------------------------------------------------------------------------------ */

static char *read_file(const struct ypi_channel_source *from, size_t *size)
{
    *size = 0;
    int fd = from->fd >= 0 ? from->fd : open(from->path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        if (fd >= 0 && fd != from->fd)
            close(fd);
        return NULL;
    }
    char *bytes = ypi_calloc((size_t)status.st_size + 1, 1);
    ssize_t got = 0;
    while (*size < (size_t)status.st_size &&
           (got = pread(fd, bytes + *size, (size_t)status.st_size - *size, (off_t)*size)) > 0)
        *size += (size_t)got;
    if (fd != from->fd)
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

/* The readers of messages are false for one that cannot be. */
static bool read_failure(struct ypi_result *r, const char *bytes, size_t size)
{
    struct ypi_failure_message m;
    if (size < sizeof m + 2 || bytes[size - 1] != '\0')
        return false;
    memcpy(&m, bytes, sizeof m);
    if (!ypi_failure_is_sound(&m))
        return false;
    const char *file = bytes + sizeof m;
    const char *message = file + strlen(file) + 1;
    if (message >= bytes + size)
        return false;
    ypi_result_fail(r, m.cause, m.has_file ? file : NULL, m.line, "%s", message);
    return true;
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

static bool read_measured(struct ypi_result *r, const char *bytes, size_t size)
{
    struct ypi_measured m;
    if (size < sizeof m)
        return false;
    memcpy(&m, bytes, sizeof m);
    if (!ypi_measured_is_sound(&m))
        return false;
    size_t cpu = m.cpu != NULL ? m.count : 0;
    size_t values = (size - sizeof m) / sizeof(double);
    if (m.count > values || cpu > values - m.count)
        return false;
    values -= m.count + cpu;
    if (m.share_count > values || m.slowed_count != values - m.share_count)
        return false;
    bytes += sizeof m;
    m.samples = take_doubles(&bytes, m.count);
    m.cpu = take_doubles(&bytes, cpu);
    m.shares = take_doubles(&bytes, m.share_count);
    m.slowed = take_doubles(&bytes, m.slowed_count);
    r->measured = append(r->measured, &r->measured_count, &m, sizeof m);
    return true;
}

static bool read_stack(struct ypi_result *r, const char *bytes, size_t size)
{
    struct ypi_stack stack = {0};
    const size_t head = offsetof(struct ypi_stack, frames);
    if (size < head || size > sizeof stack)
        return false;
    memcpy(&stack, bytes, size);
    if (!ypi_stack_is_sound(&stack) || size != head + (size_t)stack.count * sizeof *stack.frames)
        return false;
    r->stacks = append(r->stacks, &r->stack_count, &stack, sizeof stack);
    return true;
}

static bool read_value(struct ypi_result *r, const char *bytes)
{
    struct ypi_value value;
    memcpy(&value, bytes, sizeof value);
    if (!ypi_value_is_sound(&value))
        return false;
    r->values = append(r->values, &r->value_count, &value, sizeof value);
    return true;
}

static bool read_gradient(struct ypi_result *r, const char *bytes)
{
    struct ypi_gradient gradient;
    memcpy(&gradient, bytes, sizeof gradient);
    if (!ypi_gradient_is_sound(&gradient))
        return false;
    r->gradients = append(r->gradients, &r->gradient_count, &gradient, sizeof gradient);
    return true;
}

static bool read_memory(struct ypi_result *r, const char *bytes)
{
    struct ypi_memory read;
    memcpy(&read, bytes, sizeof read);
    r->has_memory = ypi_memory_is_sound(&read);
    if (r->has_memory)
        r->memory = read;
    return r->has_memory;
}

/* Forked children that returned from a function of the test: names the first, counts all. */
struct reader {
    struct ypi_result *r;
    int64_t *returned;
    int returned_count;
    bool returned_noted, overwritten_noted;
    struct ypi_report report;
    double entered;
};

static bool read_stage(struct reader *reader, const char *bytes)
{
    struct ypi_stage stage;
    memcpy(&stage, bytes, sizeof stage);
    if (!ypi_stage_is_sound(&stage))
        return false;
    double *const spent[] = {&reader->r->setup, &reader->r->body, &reader->r->teardown};
    if (reader->report.staged && reader->report.stage < YPI_STAGE_DONE)
        *spent[reader->report.stage] = stage.at - reader->entered;
    reader->entered = stage.at;
    reader->report.entered = stage.at;
    if (!reader->report.staged)
        reader->report.began = stage.at;
    reader->report.staged = true;
    reader->report.stage = stage.stage;
    return true;
}

static void note_returned(struct reader *reader, const char *bytes)
{
    static const char *const names[] = {"setup", "the body", "teardown"};
    enum ypi_stage_name stage = YPI_STAGE_BODY;
    memcpy(&stage, bytes, sizeof stage);
    const char *name = stage < YPI_STAGE_DONE ? names[stage] : "the case";
    if (!reader->returned_noted && reader->returned_count == 1)
        ypi_result_fail(reader->r, YPI_CAUSE_FORKED, NULL, 0, "a forked child returned from %s",
                        name);
    else if (!reader->returned_noted)
        ypi_result_fail(reader->r, YPI_CAUSE_FORKED, NULL, 0, "%d forked children returned from %s",
                        reader->returned_count, name);
    reader->returned_noted = true;
}

/* False for a message that cannot be. */
static bool read_message(struct reader *reader, uint32_t kind, const char *bytes, size_t size)
{
    struct ypi_result *r = reader->r;
    struct ypi_hello hello;
    if (kind == YPI_MESSAGE_HELLO && size == sizeof hello) {
        memcpy(&hello, bytes, size);
        reader->report.pid = hello.pid;
        reader->report.addresses = hello.addresses;
    } else if (kind == YPI_MESSAGE_STAGE && size == sizeof(struct ypi_stage)) {
        return read_stage(reader, bytes);
    } else if (kind == YPI_MESSAGE_FAILURE) {
        return read_failure(r, bytes, size);
    } else if (kind == YPI_MESSAGE_SKIP && size > 0 && bytes[size - 1] == '\0') {
        free(r->reason);
        r->reason = ypi_strdup(bytes);
        reader->report.skipped = true;
    } else if (kind == YPI_MESSAGE_VALUE && size == sizeof(struct ypi_value)) {
        return read_value(r, bytes);
    } else if (kind == YPI_MESSAGE_MEASURED) {
        return read_measured(r, bytes, size);
    } else if (kind == YPI_MESSAGE_GRADIENT && size == sizeof(struct ypi_gradient)) {
        return read_gradient(r, bytes);
    } else if (kind == YPI_MESSAGE_HASH && size == sizeof r->hash) {
        memcpy(&r->hash, bytes, size);
        r->has_hash = true;
    } else if (kind == YPI_MESSAGE_MEMORY && size == sizeof r->memory) {
        return read_memory(r, bytes);
    } else if (kind == YPI_MESSAGE_SERIES && r->series == NULL) {
        size_t row = YPI_SERIES_COLUMNS * sizeof *r->series;
        r->series_count = size / row;
        r->series = take_doubles(&bytes, r->series_count * YPI_SERIES_COLUMNS);
    } else if (kind == YPI_MESSAGE_END) {
        reader->report.ended = true;
    } else if (kind == YPI_MESSAGE_EXIT) {
        reader->report.exited = true;
    } else if (kind == YPI_MESSAGE_NOTE && size > 0 && bytes[size - 1] == '\0') {
        ypi_result_note(r, "%s", bytes);
    } else if (kind == YPI_MESSAGE_STACK) {
        return read_stack(r, bytes, size);
    } else if (kind == YPI_MESSAGE_TRACE && size > 0 && bytes[size - 1] == '\0') {
        if (r->failure_count == 0)
            return false;
        free(r->failures[r->failure_count - 1].stack);
        r->failures[r->failure_count - 1].stack = ypi_strdup(bytes);
    } else if (kind == YPI_MESSAGE_PLACE && size == sizeof reader->report.place) {
        memcpy(&reader->report.place, bytes, size);
        return ypi_rank_place_is_sound(&reader->report.place);
    } else if (kind == YPI_MESSAGE_RANK_DEVICE && size == sizeof reader->report.device) {
        memcpy(&reader->report.device, bytes, size);
        return ypi_rank_device_is_sound(&reader->report.device);
    } else if (kind == YPI_MESSAGE_STAYS && size == sizeof reader->report.stays) {
        memcpy(&reader->report.stays, bytes, size);
    } else if (kind == YPI_MESSAGE_REAPED && size == sizeof reader->report.reaped) {
        memcpy(&reader->report.reaped, bytes, size);
        reader->report.is_reaped = true;
    } else if (kind == YPI_MESSAGE_CROWDED) {
        r->crowded = true;
    } else if (kind == YPI_MESSAGE_RETURNED && size == sizeof(enum ypi_stage_name)) {
        note_returned(reader, bytes);
    } else {
        return kind == YPI_MESSAGE_SERIES; /* the first is taken */
    }
    return true;
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
        frame->sum != ypi_fnv1a(frame_checksum(frame), message, frame->size))
        return false;
    *at += sizeof *frame + frame->size;
    return true;
}

static void find_returned(struct reader *reader, const char *bytes, size_t size)
{
    struct frame frame;
    for (size_t at = 0; bytes != NULL && next_frame(&frame, bytes, size, &at);)
        if (frame.kind == YPI_MESSAGE_RETURNED && !has_returned(reader, frame.pid))
            reader->returned =
                append(reader->returned, &reader->returned_count, &frame.pid, sizeof frame.pid);
}

static void note_overwritten(struct reader *reader)
{
    if (!reader->overwritten_noted)
        ypi_result_fail(reader->r, YPI_CAUSE_OVERRUN, NULL, 0,
                        "the case sent what cannot be: something wrote over its memory");
    reader->overwritten_noted = true;
}

static void read_messages(struct reader *reader, const char *bytes, size_t size)
{
    struct frame frame;
    for (size_t at = 0; bytes != NULL && next_frame(&frame, bytes, size, &at);)
        if (frame.kind == YPI_MESSAGE_RETURNED || !has_returned(reader, frame.pid))
            if (!read_message(reader, frame.kind, bytes + at - frame.size, frame.size))
                note_overwritten(reader);
}

struct ypi_report ypi_channel_read_from(const struct ypi_channel_source *source,
                                        struct ypi_result *result)
{
    struct reader reader = {.r = result, .report = {.stage = YPI_STAGE_DONE}};
    size_t size[2] = {0};
    char *bytes[2] = {read_file(source, &size[0]),
                      ypi_channel_memory_read(source->memory, source->number, &size[1])};
    for (int i = 0; i < 2; i++)
        find_returned(&reader, bytes[i], size[i]);
    for (int i = 0; i < 2; i++) {
        read_messages(&reader, bytes[i], size[i]);
        free(bytes[i]);
    }
    free(reader.returned);
    return reader.report;
}

struct ypi_report ypi_channel_read(const char *path, struct ypi_result *result)
{
    return ypi_channel_read_from(&(struct ypi_channel_source){.path = path, .fd = -1, .memory = -1},
                                 result);
}
