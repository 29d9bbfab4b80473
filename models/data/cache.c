/* Records in one file: made once, mapped, checked. */
#include "models/data/cache.h"

#include "models/data/pass.h"

#include "base/numbers/splitmix.h"
#include "base/system/arena.h"
#include "base/system/atomic_file.h"
#include "base/system/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yieldpoint/case.h>

enum { LINE = 64, CHUNK_BYTES = 1 << 20, CHUNK_RECORDS = 256 };
#define MAGIC "ypcache1"

/* The first line of the file. Records follow, each filled up with zeros to whole lines, then the
 * index, filled up as well. */
struct header {
    char magic[8];
    uint64_t key, records;
    uint64_t index, bytes; /* where the index begins, and where the file ends */
    uint64_t index_sum, none;
    uint64_t sum; /* of what is before */
};
_Static_assert(sizeof(struct header) == LINE, "one line");

struct entry {
    uint64_t offset, size, sum;
};

struct data_cache {
    struct yp_device *device;
    char path[YPI_PATH_MAX];
    int fd;
    const char *data;
    struct header header;
    const struct entry *index;
    _Atomic uint64_t *checked; /* a bit for each record */
};

static uint64_t padded(uint64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

uint64_t data_cache_hash(uint64_t before, const void *bytes, size_t size)
{
    uint32_t last = 0;
    uint64_t sum = yp_hash_f32(0, bytes, size / sizeof last);
    memcpy(&last, (const char *)bytes + size / sizeof last * sizeof last, size % sizeof last);
    sum += ypi_mix64((uint64_t)last + size * YPI_GOLDEN);
    return ypi_mix64(sum + before * YPI_GOLDEN);
}

static uint64_t record_sum(uint64_t key, size_t record, const void *bytes, size_t size)
{
    return data_cache_hash(ypi_mix64(key + record), bytes, padded(size));
}

static uint64_t header_sum(const struct header *h)
{
    return data_cache_hash(0, h, offsetof(struct header, sum));
}

/* -- reading ----------------------------------------------------------------------------------- */

static enum yp_status check_header(const struct data_cache *c, uint64_t bytes, uint64_t key)
{
    const struct header *h = &c->header;
    const char *wrong = NULL;
    if (bytes < LINE || memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
        wrong = "is no cache of this version";
    else if (h->sum != header_sum(h))
        wrong = "has a damaged header";
    else if (h->key != key)
        wrong = "is of other data or settings";
    else if (h->bytes != bytes)
        wrong = "is truncated";
    return wrong == NULL ? YP_OK : yp_set_error(YP_INVALID, "%s: %s", c->path, wrong);
}

static void lay_out_cache(struct data_cache *c, struct ypi_arena *arena)
{
    ypi_arena_take(arena, 1, sizeof *c);
    c->checked = ypi_arena_take(arena, (size_t)c->header.records / 64 + 1, sizeof *c->checked);
}

/* Sets size and header. */
static enum yp_status read_header(struct data_cache *c, uint64_t key)
{
    struct stat found;
    if (fstat(c->fd, &found) != 0)
        return yp_set_error(YP_IO, "%s: %s", c->path, strerror(errno));
    const uint64_t bytes = (uint64_t)found.st_size;
    const enum yp_status status =
        bytes >= LINE ? ypi_read_at(c->fd, c->path, 0, &c->header, LINE) : YP_OK;
    return status == YP_OK ? check_header(c, bytes, key) : status;
}

/* Maps the file whose header is good. */
static enum yp_status map(struct data_cache *c)
{
    void *mapped = mmap(NULL, (size_t)c->header.bytes, PROT_READ, MAP_SHARED, c->fd, 0);
    if (mapped == MAP_FAILED)
        return yp_set_error(YP_IO, "%s: cannot be mapped: %s", c->path, strerror(errno));
    c->data = mapped;
    c->index = (const void *)(c->data + c->header.index);
    const size_t bytes = (size_t)(c->header.bytes - c->header.index);
    if (c->header.index_sum == data_cache_hash(c->header.key, c->index, bytes))
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s: has a damaged index", c->path);
}

/* The file that is open; takes `fd` over. */
static struct data_cache *open_file(struct yp_device *device, int fd, const char *path,
                                    uint64_t key)
{
    struct data_cache found = {.device = device, .fd = fd};
    struct ypi_arena arena = {0};
    memcpy(found.path, path, strlen(path) + 1);
    if (read_header(&found, key) == YP_OK) {
        lay_out_cache(&found, &arena);
        arena = (struct ypi_arena){.base = yp_device_alloc(device, arena.used)};
    }
    struct data_cache *c = (void *)arena.base;
    if (c == NULL) {
        close(fd);
        return NULL;
    }
    lay_out_cache(&found, &arena);
    memset((void *)found.checked, 0, (found.header.records / 64 + 1) * sizeof *found.checked);
    *c = found;
    if (map(c) == YP_OK)
        return c;
    data_cache_close(c);
    return NULL;
}

struct data_cache *data_cache_open(struct yp_device *device, const char *path, uint64_t key)
{
    if (strlen(path) >= YPI_PATH_MAX) {
        yp_set_error(YP_INVALID, "a path of %zu bytes: must be below %d", strlen(path),
                     YPI_PATH_MAX);
        return NULL;
    }
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* waits for no writer */
    if (fd >= 0)
        return open_file(device, fd, path, key);
    yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    return NULL;
}

void data_cache_close(struct data_cache *c)
{
    if (c == NULL)
        return;
    if (c->data != NULL)
        munmap((void *)(uintptr_t)c->data, (size_t)c->header.bytes);
    close(c->fd);
    yp_device_free(c->device, c);
}

size_t data_cache_count(const struct data_cache *c)
{
    return (size_t)c->header.records;
}

uint64_t data_cache_bytes(const struct data_cache *c)
{
    return c->header.bytes;
}

enum yp_status data_cache_read(struct data_cache *c, size_t record, const void **bytes,
                               size_t *size)
{
    const uint64_t bit = UINT64_C(1) << record % 64;
    if (record >= c->header.records)
        return yp_set_error(YP_INVALID, "%s: record %zu: must be below %" PRIu64, c->path, record,
                            c->header.records);
    const struct entry *entry = &c->index[record];
    *bytes = c->data + entry->offset;
    *size = (size_t)entry->size;
    if ((atomic_load_explicit(&c->checked[record / 64], memory_order_relaxed) & bit) != 0)
        return YP_OK;
    if (record_sum(c->header.key, record, *bytes, *size) != entry->sum)
        return yp_set_error(YP_INVALID, "%s: record %zu is damaged", c->path, record);
    atomic_fetch_or_explicit(&c->checked[record / 64], bit, memory_order_relaxed);
    return YP_OK;
}

/* -- building ---------------------------------------------------------------------------------- */

struct builder {
    const struct data_cache_options *o;
    int fd;
    const char *path;
    size_t stride, chunk;  /* bytes of a record at most, padded; records of a chunk */
    char *slots;           /* (slots, chunk, stride) */
    struct entry *entries; /* (slots, chunk) */
    size_t *counts;        /* (slots): records */
    struct entry *index;   /* (records) */
    size_t done;
    uint64_t end; /* of what is written */
    double begun, told;
    atomic_bool failed; /* to write: the first message is kept */
    enum yp_status status;
    char message[512];
};

static enum yp_status make_chunk(void *arg, struct ypi_work_item item)
{
    struct builder *b = arg;
    const size_t first = item.index * b->chunk, left = b->o->records - first;
    char *to = b->slots + (size_t)item.slot * b->chunk * b->stride;
    struct entry *entry = b->entries + (size_t)item.slot * b->chunk;
    b->counts[item.slot] = left < b->chunk ? left : b->chunk;
    for (size_t i = 0; i < b->counts[item.slot] && !atomic_load(&b->failed); i++, entry++) {
        size_t size = 0;
        const enum yp_status status = b->o->make(b->o->arg, first + i, to, &size);
        if (status != YP_OK)
            return status;
        if (size > b->o->most)
            return yp_set_error(YP_INVALID, "%s: record %zu has %zu bytes: must be %zu at most",
                                b->path, first + i, size, b->o->most);
        memset(to + size, 0, padded(size) - size);
        *entry = (struct entry){0, size, record_sum(b->o->key, first + i, to, size)};
        to += padded(size);
    }
    return YP_OK;
}

static void keep_failure(struct builder *b, enum yp_status status)
{
    b->status = status;
    memcpy(b->message, yp_last_error(), strnlen(yp_last_error(), sizeof b->message - 1));
    atomic_store(&b->failed, true);
}

static void tell_progress(struct builder *b)
{
    enum { TIMES_A_SECOND = 5 };
    const double now = ypi_now(), past = now - b->begun;
    if (b->o->progress == NULL || (b->done < b->o->records && now - b->told < 1.0 / TIMES_A_SECOND))
        return;
    b->told = now;
    b->o->progress(b->o->progress_arg, b->done, b->o->records,
                   past / (double)b->done * (double)(b->o->records - b->done));
}

static void write_chunk(void *arg, int slot)
{
    struct builder *b = arg;
    const struct entry *entry = b->entries + (size_t)slot * b->chunk;
    uint64_t bytes = 0;
    if (atomic_load(&b->failed))
        return;
    for (size_t i = 0; i < b->counts[slot]; i++) {
        b->index[b->done] = entry[i];
        b->index[b->done++].offset = b->end + bytes;
        bytes += padded(entry[i].size);
    }
    const enum yp_status status =
        ypi_write_at(b->fd, b->path, b->end, b->slots + (size_t)slot * b->chunk * b->stride, bytes);
    if (status != YP_OK)
        keep_failure(b, status);
    b->end += bytes;
    tell_progress(b);
}

static enum yp_status write_index(struct builder *b)
{
    const size_t used = b->o->records * sizeof *b->index, bytes = (size_t)padded(used);
    struct header h = {.key = b->o->key,
                       .records = b->o->records,
                       .index = b->end,
                       .bytes = b->end + bytes,
                       .index_sum = data_cache_hash(b->o->key, b->index, bytes)};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.sum = header_sum(&h);
    const enum yp_status status = ypi_write_at(b->fd, b->path, b->end, b->index, bytes);
    return status == YP_OK ? ypi_write_at(b->fd, b->path, 0, &h, sizeof h) : status;
}

static void lay_out(struct builder *b, struct ypi_arena *arena)
{
    const size_t slots = 2 * (size_t)b->o->threads;
    b->slots = ypi_arena_take(arena, slots * b->chunk, b->stride);
    b->entries = ypi_arena_take(arena, slots * b->chunk, sizeof *b->entries);
    b->counts = ypi_arena_take(arena, slots, sizeof *b->counts);
    b->index = ypi_arena_take(arena, 1, (size_t)padded(b->o->records * sizeof *b->index));
}

/* All records, index and header, to an empty file. */
static enum yp_status write_all(struct yp_device *device, const struct data_cache_options *o,
                                int fd, const char *path)
{
    struct builder b = {.o = o, .fd = fd, .path = path, .end = LINE, .begun = ypi_now()};
    struct ypi_arena arena = {0};
    b.stride = (size_t)padded(o->most > 0 ? o->most : 1);
    b.chunk = CHUNK_BYTES / b.stride < CHUNK_RECORDS ? CHUNK_BYTES / b.stride : CHUNK_RECORDS;
    b.chunk = b.chunk > 0 ? b.chunk : 1;
    lay_out(&b, &arena);
    void *block = arena.overflow ? NULL : yp_device_alloc(device, arena.used);
    if (block == NULL)
        return arena.overflow ? yp_set_error(YP_INVALID, "%s: %zu records of %zu bytes", path,
                                             o->records, o->most)
                              : yp_last_status();
    arena = (struct ypi_arena){.base = block};
    lay_out(&b, &arena);
    memset(b.index, 0, (size_t)padded(o->records * sizeof *b.index));
    const struct ypi_pass pass = {.items = (o->records + b.chunk - 1) / b.chunk,
                                  .workers = o->threads,
                                  .spare = 1,
                                  .work = make_chunk,
                                  .merge = write_chunk,
                                  .arg = &b};
    enum yp_status status = ypi_pass_run(&pass);
    if (status == YP_OK && atomic_load(&b.failed))
        status = yp_set_error(b.status, "%s", b.message);
    if (status == YP_OK)
        status = write_index(&b);
    yp_device_free(device, block);
    return status;
}

static struct data_cache *build_in_memory(struct yp_device *device,
                                          const struct data_cache_options *o)
{
    static const char name[] = "a cache in memory";
    const int fd = memfd_create("cache", MFD_CLOEXEC);
    if (fd < 0) {
        yp_set_error(YP_IO, "%s: %s", name, strerror(errno));
        return NULL;
    }
    if (write_all(device, o, fd, name) == YP_OK)
        return open_file(device, fd, name, o->key);
    close(fd);
    return NULL;
}

/* Removes what killed processes left: files beside `path` that never got their name. */
static void remove_parts(const char *path)
{
    static const char end[] = ".part";
    char directory[YPI_PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    ypi_directory_of(directory, path);
    DIR *opened = opendir(directory);
    if (opened == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;) {
        const size_t all = strlen(entry->d_name);
        if (all > length + sizeof end && strncmp(entry->d_name, name, length) == 0 &&
            entry->d_name[length] == '.' &&
            strcmp(entry->d_name + all - (sizeof end - 1), end) == 0)
            unlinkat(dirfd(opened), entry->d_name, 0);
    }
    closedir(opened);
}

/* Whether nothing is lost where a cache takes the place of what has the name: that begins as a
 * cache, but for a byte, which may be another version's or damaged. */
static enum yp_status check_place(const char *path)
{
    char begin[sizeof MAGIC];
    struct stat there;
    size_t others = 0;
    if (stat(path, &there) != 0)
        return errno == ENOENT ? YP_OK : yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    const bool regular = S_ISREG(there.st_mode);
    const size_t size = regular ? ypi_read_file(path, begin, sizeof begin) : 0;
    for (size_t i = 0; i < size; i++)
        others += begin[i] != MAGIC[i];
    if (regular && others <= 1 && (size > 0 || there.st_size == 0))
        return YP_OK;
    return yp_set_error(YP_IO, "%s: is no cache: must be one, or not be there", path);
}

static bool is_file_of(const struct data_cache *c, const char *path)
{
    struct stat mine, there;
    return c != NULL && fstat(c->fd, &mine) == 0 && stat(path, &there) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

static struct data_cache *build_file(struct yp_device *device, const struct data_cache_options *o,
                                     const struct data_cache *damaged, bool locked)
{
    struct ypi_atomic_file file;
    if (!is_file_of(damaged, o->path)) {
        struct data_cache *made = data_cache_open(device, o->path, o->key);
        if (made != NULL || yp_last_status() == YP_OUT_OF_MEMORY)
            return made;
    }
    if (check_place(o->path) != YP_OK)
        return NULL;
    if (locked) /* else it may be somebody's who is at it */
        remove_parts(o->path);
    enum yp_status status = ypi_atomic_create(&file, o->path);
    if (status != YP_OK)
        return NULL;
    status = write_all(device, o, file.fd, o->path);
    if (status == YP_OK)
        status = ypi_atomic_sync(&file);
    /* The old one stays until the new one is on the disk, which may be full. It gives its name back
     * then: a nameless file takes a free name at once, so a kill leaves no file of another name. */
    if (status == YP_OK)
        unlink(o->path);
    /* What was made is used, even if somebody removes the name at once. */
    const int fd = status == YP_OK ? fcntl(file.fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (status == YP_OK)
        status = ypi_atomic_publish(&file, true);
    ypi_atomic_abandon(&file);
    if (status == YP_OK)
        status = ypi_sync_directory(o->path);
    if (status == YP_OK && fd >= 0)
        return open_file(device, fd, o->path, o->key);
    if (fd >= 0)
        close(fd);
    return status == YP_OK ? data_cache_open(device, o->path, o->key) : NULL;
}

struct data_cache *data_cache_build(struct yp_device *device, const struct data_cache_options *o,
                                    const struct data_cache *damaged)
{
    char directory[YPI_PATH_MAX];
    if (o->path == NULL)
        return build_in_memory(device, o);
    if (ypi_make_parents(o->path) != YP_OK)
        return NULL;
    ypi_directory_of(directory, o->path);
    const int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool locked = false;
    while (lock >= 0 && !(locked = flock(lock, LOCK_EX) == 0) && errno == EINTR)
        continue;
    struct data_cache *made = build_file(device, o, damaged, locked);
    if (lock >= 0)
        close(lock);
    return made;
}
