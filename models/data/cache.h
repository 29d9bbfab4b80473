/* Records of bytes that are made once and kept in one file, which is mapped to be read.
 *
 * The file gets its name only when it is whole, so that a process that is killed leaves none; what
 * file systems without nameless files keep of it, the next one that makes the file removes. One
 * process makes a file at a time, by a lock of its directory, which goes with the process; others
 * wait and use what it made. A checksum holds header and index, and one each record with its number
 * and the key; no byte of the file is outside of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

struct data_cache;

/* Opens a file that holds records of this key. NULL with yp_last_error() set: YP_IO, there is none
 * or it cannot be read; YP_INVALID, it is truncated, damaged, of another version or key. */
struct data_cache *data_cache_open(struct yp_device *device, const char *path, uint64_t key);
/* Records that were read are gone. NULL is allowed. */
void data_cache_close(struct data_cache *cache);

size_t data_cache_count(const struct data_cache *cache);
uint64_t data_cache_bytes(const struct data_cache *cache); /* of the file */

/* A record, aligned to 64 bytes, the cache's. Its checksum is computed when it is read for the
 * first time. Any number of threads may read. YP_INVALID, with the file and the number: it is
 * damaged. */
enum yp_status data_cache_read(struct data_cache *cache, size_t record, const void **bytes,
                               size_t *size);

/* Writes record `record` to `to`, and how many bytes it has to *size: options.most at most. A
 * function of the number alone; called from several threads. What is not YP_OK ends it all. */
typedef enum yp_status data_cache_make(void *arg, size_t record, void *to, size_t *size);

struct data_cache_options {
    const char *path; /* NULL: a nameless file in memory, not accounted as the device's */
    uint64_t key;     /* a hash of all that records depend on */
    size_t records, most;
    data_cache_make *make;
    void *arg;   /* of make */
    int threads; /* that make records, 1 and more */
    /* In the order of records, some five times a second and at the end; NULL: not called. */
    void (*progress)(void *arg, size_t done, size_t records, double seconds_left);
    void *progress_arg;
};

/* Makes the file and opens it. When `damaged` is not NULL, it is a cache that this very file was
 * opened as, which is removed first; else a file that another process has made by now is taken as
 * it is. It takes the place of no file but one that begins as a cache. NULL with yp_last_error()
 * set. */
struct data_cache *data_cache_build(struct yp_device *device,
                                    const struct data_cache_options *options,
                                    const struct data_cache *damaged);

/* A hash of bytes, one after the other: begin with any number, go on with the last result. */
uint64_t data_cache_hash(uint64_t before, const void *bytes, size_t size);
