/* Checkpoints. A file is a sequence of 64-bit words in the order of this machine:
 *     magic, version, words in all, settings, struct ypi_train_progress,
 *     parameters, the optimiser's arrays, (with one) the average and (with keep_best) best, each
 *     filled up to a whole word,
 *     checksum.
 * The settings are what a run depends on; each is compared on resuming, so that a refusal can name
 * the one that differs. A file that another byte order wrote has no magic here. */
#include "models/train/internal.h"

#include "base/system/atomic_file.h"
#include "models/data/order.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x31747072632d7872) /* "rx-crpt1" */
#define VERSION 3
#define HEAD 3      /* words */
#define BUFFER 2048 /* words */

static_assert(sizeof(struct ypi_train_progress) % 8 == 0, "written as words");
static_assert(sizeof(float) == 4, "two to a word");

/* -- words of a file ------------------------------------------------------------------------ */

/* Reading or writing: both sum what passes. The first trouble stays. */
struct file {
    const char *path;
    int fd;
    uint64_t sum;
    enum yp_status status;
    uint64_t buffer[BUFFER];
    size_t used;
    uint64_t offset; /* of what is written next, in bytes */
};

static void trouble(struct file *file, const char *did)
{
    if (file->status == YP_OK)
        file->status = yp_set_error(YP_IO, "train_resume: %s cannot be %s: %s", file->path, did,
                                    strerror(errno));
}

static void add_to_sum(struct file *file, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        file->sum = data_order_key(file->sum, 0, words[i]);
}

static void flush(struct file *file)
{
    size_t bytes = file->used * sizeof *file->buffer;
    if (file->status == YP_OK)
        file->status = ypi_write_at(file->fd, file->path, file->offset, file->buffer, bytes);
    file->offset += bytes;
    file->used = 0;
}

static void put(struct file *file, const void *values, size_t bytes)
{
    const char *from = values;
    while (bytes > 0) {
        size_t left = (BUFFER - file->used) * sizeof *file->buffer;
        size_t part = bytes < left ? bytes : left, words = (part + 7) / 8;
        uint64_t *to = file->buffer + file->used;
        to[words - 1] = 0;
        memcpy(to, from, part);
        add_to_sum(file, to, words);
        file->used += words;
        from += part;
        bytes -= part;
        if (file->used == BUFFER)
            flush(file);
    }
}

/* Up to `bytes`, fewer at the end of the file. */
static size_t get(struct file *file, void *values, size_t bytes)
{
    size_t done = 0;
    while (done < bytes && file->status == YP_OK) {
        ssize_t n = read(file->fd, (char *)values + done, bytes - done);
        if (n < 0 && errno != EINTR)
            trouble(file, "read");
        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
    }
    return done;
}

/* -- writing -------------------------------------------------------------------------------- */

#define ARRAYS (3 + YPI_TRAIN_STATES)

/* The arrays in the order of the file; returns how many. */
static size_t arrays_of(const struct train *train, float *arrays[ARRAYS])
{
    size_t n = 0;
    arrays[n++] = train->at.parameters;
    for (size_t i = 0; i < ypi_train_states(&train->config); i++)
        arrays[n++] = train->at.state[i];
    if (train->config.average > 0)
        arrays[n++] = train->at.average;
    if (train->config.keep_best)
        arrays[n++] = train->at.best;
    return n;
}

static uint64_t words_of(const struct train *train, size_t settings)
{
    float *arrays[ARRAYS];
    return HEAD + settings + sizeof train->progress / 8 +
           arrays_of(train, arrays) * ((train->objective.parameters + 1) / 2) + 1;
}

/* Floats of an array that comes in parts: two fill a word. */
struct array {
    struct file *file;
    bool odd;
    float last; /* that waits for another one */
};

static void put_part(void *arg, const float *values, size_t count)
{
    struct array *array = arg;
    static const float zeros[512];
    while (values == NULL && count > 512) {
        put_part(array, zeros, 512);
        count -= 512;
    }
    values = values != NULL ? values : zeros;
    if (array->odd && count > 0) {
        const float pair[2] = {array->last, values[0]};
        put(array->file, pair, sizeof pair);
        array->odd = false;
        values++;
        count--;
    }
    put(array->file, values, count / 2 * 2 * sizeof *values);
    if (count % 2 != 0) {
        array->odd = true;
        array->last = values[count - 1];
    }
}

/* The optimiser's arrays lie with all ranks, of which rank 0 alone has a file. */
static enum yp_status put_shared(const struct train *train, const float *own, struct file *file)
{
    struct array array = {.file = file};
    enum yp_status status = ypi_train_gather_state(train, own, put_part, &array);
    if (file != NULL && array.odd)
        put(file, &array.last, sizeof array.last);
    return status;
}

static enum yp_status give_all(const struct train *train)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < ypi_train_states(&train->config) && status == YP_OK; i++)
        status = put_shared(train, train->at.state[i], NULL);
    return status;
}

static bool is_state(const struct train *train, const float *array)
{
    bool found = false;
    for (size_t i = 0; i < ypi_train_states(&train->config); i++)
        found |= train->at.state[i] == array;
    return found;
}

static void put_all(const struct train *train, struct file *file)
{
    enum yp_status gathered = YP_OK;
    struct ypi_train_settings settings = ypi_train_settings_of(train);
    float *arrays[ARRAYS];
    size_t n = arrays_of(train, arrays);
    uint64_t head[HEAD] = {MAGIC, VERSION, words_of(train, settings.count)};
    put(file, head, sizeof head);
    for (size_t i = 0; i < settings.count; i++)
        put(file, &settings.list[i].bits, sizeof settings.list[i].bits);
    put(file, &train->progress, sizeof train->progress);
    for (size_t a = 0; a < n; a++) {
        if (train->shards != NULL && is_state(train, arrays[a])) {
            gathered = gathered == YP_OK ? put_shared(train, arrays[a], file) : gathered;
            continue; /* a failure to write leaves no rank waiting */
        }
        if (file->status != YP_OK)
            continue;
        const float *values = ypi_train_for_host(&train->at, arrays[a]);
        if (values == NULL)
            file->status = yp_last_status();
        else
            put(file, values, train->objective.parameters * sizeof *values);
    }
    uint64_t sum = file->sum;
    put(file, &sum, sizeof sum);
    flush(file);
    file->status = file->status == YP_OK ? gathered : file->status;
}

/* Where each of many ranks is asked, all of them come here. */
static enum yp_status agree(const struct train *train, enum yp_status status)
{
    return train->shards != NULL ? ypi_ranks_agree(train->shards->all, status) : status;
}

static enum yp_status write_to(const struct train *train, struct ypi_atomic_file *to,
                               const char *path)
{
    struct file file = {.path = path, .fd = to->fd};
    put_all(train, &file);
    enum yp_status status = file.status;
    if (status == YP_OK)
        status = ypi_atomic_sync(to);
    if (status == YP_OK)
        status = ypi_atomic_publish(to, true);
    ypi_atomic_abandon(to);
    /* The directory holds the name: a crash may bring the old file back. */
    return status == YP_OK ? ypi_sync_directory(path) : status;
}

enum yp_status train_save(struct train *train, const char *path)
{
    struct ypi_atomic_file to;
    if (train == NULL || path == NULL || !train->begun)
        return yp_set_error(YP_INVALID, "train_save: %s",
                            train == NULL  ? "train is NULL"
                            : path == NULL ? "path is NULL"
                                           : "there is nothing to save before train_begin");
    const bool writes = train->shards == NULL || train->shards->rank == 0;
    enum yp_status mine = writes ? ypi_atomic_create(&to, path) : (enum yp_status)YP_OK;
    enum yp_status status = agree(train, mine);
    if (status != YP_OK) {
        if (writes && mine == YP_OK)
            ypi_atomic_abandon(&to);
        return status;
    }
    return agree(train, writes ? write_to(train, &to, path) : give_all(train));
}

/* -- reading -------------------------------------------------------------------------------- */

static enum yp_status damaged(struct file *file, const char *how)
{
    if (file->status == YP_OK)
        file->status = yp_set_error(YP_IO, "train_resume: %s %s", file->path, how);
    return file->status;
}

/* Is it such a file, and whole? */
static enum yp_status check_head(struct file *file, uint64_t bytes)
{
    uint64_t head[HEAD];
    if (get(file, head, sizeof head) < sizeof head || head[0] != MAGIC)
        return damaged(file, "is not a checkpoint of this kind of machine");
    if (head[1] != VERSION)
        return yp_set_error(YP_INVALID,
                            "train_resume: %s is of version %" PRIu64 ", this program reads %d",
                            file->path, head[1], VERSION);
    if (head[2] != bytes / 8 || bytes % 8 != 0)
        return damaged(file, "is torn: it has another size than it says");
    return YP_OK;
}

/* Sums the whole file, so that nothing is taken over from one that is damaged. */
static enum yp_status check_sum(struct file *file, uint64_t bytes)
{
    uint64_t left = bytes / 8, sum = 0;
    if (lseek(file->fd, 0, SEEK_SET) != 0)
        trouble(file, "read");
    while (left > 0 && file->status == YP_OK) {
        size_t words = left < BUFFER ? (size_t)left : BUFFER;
        if (get(file, file->buffer, words * 8) < words * 8)
            return damaged(file, "is torn: it became shorter while it was read");
        left -= words;
        if (left == 0)
            sum = file->buffer[--words];
        add_to_sum(file, file->buffer, words);
    }
    if (file->status == YP_OK && sum != file->sum)
        return damaged(file, "is damaged: the checksum is wrong");
    return file->status;
}

static enum yp_status check_settings(struct file *file, const struct train *train, uint64_t bytes)
{
    struct ypi_train_settings settings = ypi_train_settings_of(train);
    uint64_t theirs[YPI_TRAIN_SETTINGS];
    size_t want = settings.count * sizeof *theirs;
    if (lseek(file->fd, HEAD * 8, SEEK_SET) != HEAD * 8)
        trouble(file, "read");
    if (get(file, theirs, want) < want)
        return damaged(file, "is damaged: it ends in the settings");
    enum yp_status status = ypi_train_compare(file->path, &settings, theirs);
    if (status == YP_OK && bytes != 8 * words_of(train, settings.count))
        return damaged(file, "is damaged: its size does not go with its settings");
    return status;
}

/* The rank's pieces of an array that takes `bytes` from here on. */
static bool get_own(struct file *file, const struct train *train, float *to, size_t bytes)
{
    const struct ypi_train_shards *s = train->shards;
    const off_t begin = lseek(file->fd, 0, SEEK_CUR);
    bool whole = begin >= 0;
    for (size_t b = 0; b < s->n_buckets && whole; b++) {
        const struct ypi_train_piece mine = ypi_train_piece(s, b, s->rank);
        const size_t size = mine.count * sizeof *to;
        float *here = train->at.host != NULL ? train->at.host : to + s->place[b];
        whole = lseek(file->fd, begin + (off_t)(mine.first * sizeof *to), SEEK_SET) >= 0 &&
                get(file, here, size) == size;
        if (whole && train->at.host != NULL) {
            file->status = ypi_train_copy(&train->at, to + s->place[b], here, size);
            whole = file->status == YP_OK;
        }
    }
    return whole && lseek(file->fd, begin + (off_t)bytes, SEEK_SET) >= 0;
}

/* The file stands behind the settings. */
static enum yp_status get_all(struct file *file, struct train *train)
{
    float *arrays[ARRAYS];
    size_t n = arrays_of(train, arrays), bytes = train->objective.parameters * sizeof(float);
    struct ypi_train_progress progress;
    train->begun = false;
    bool whole = get(file, &progress, sizeof progress) == sizeof progress;
    for (size_t a = 0; a < n && whole; a++) {
        if (train->shards != NULL && is_state(train, arrays[a])) {
            whole = get_own(file, train, arrays[a], (bytes + 7) / 8 * 8);
            continue;
        }
        uint64_t rest = 0;
        size_t padding = (bytes + 7) / 8 * 8 - bytes;
        float *to = train->at.host != NULL ? train->at.host : arrays[a];
        whole = get(file, to, bytes) == bytes && get(file, &rest, padding) == padding;
        if (whole && to != arrays[a])
            file->status = ypi_train_copy(&train->at, arrays[a], to, bytes);
        whole = whole && file->status == YP_OK;
    }
    if (!whole)
        return damaged(file, "is torn: it became shorter while it was read");
    train->progress = progress;
    train->begun = true;
    train->unsaved = false;
    return YP_OK;
}

enum yp_status train_resume(struct train *train, const char *path)
{
    struct stat found;
    if (train == NULL || path == NULL)
        return yp_set_error(YP_INVALID, "train_resume: %s is NULL",
                            train == NULL ? "train" : "path");
    struct file file = {.path = path};
    file.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file.fd < 0 || fstat(file.fd, &found) != 0)
        trouble(&file, "opened");
    enum yp_status status = file.status;
    if (status == YP_OK)
        status = check_head(&file, (uint64_t)found.st_size);
    if (status == YP_OK)
        status = check_sum(&file, (uint64_t)found.st_size);
    if (status == YP_OK)
        status = check_settings(&file, train, (uint64_t)found.st_size);
    if (status == YP_OK)
        status = get_all(&file, train);
    train->epoch_begun = false;
    if (file.fd >= 0)
        close(file.fd);
    const bool took = status == YP_OK;
    status = agree(train, status);
    if (took && status != YP_OK)
        train->begun = false;
    return status;
}
