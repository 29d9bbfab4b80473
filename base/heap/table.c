/* Open addressing in shards with a lock each. A process with one thread takes no lock and needs no
 * atomic operation. The memory is the kernel's, for malloc may not be called from here. */
#include "base/heap/table.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

enum { SHARD_BITS = 6, FIRST_BITS = 7, REGION_BITS = 12 };

struct shard {
    _Alignas(64) atomic_flag lock;
    struct ypi_heap_block *places;
    unsigned bits; /* the binary logarithm of the number of places */
    uint64_t count;
    uint64_t allocations, frees, total, lost;
};

static struct shard shards[1 << SHARD_BITS];
static _Atomic uint64_t live, peak; /* bytes */
/* This thread has all locks, as it forks: handlers of libraries that run meanwhile may allocate. */
static __thread __attribute__((tls_model("initial-exec"))) bool forking;

static uint64_t mix(uintptr_t address)
{
    return (uint64_t)(address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

/* By the region of the address: allocators give each thread regions of its own, so that threads
 * rarely write to the same shard. */
static struct shard *shard_of(uintptr_t address)
{
    return &shards[mix(address >> REGION_BITS) >> (64 - SHARD_BITS)];
}

static size_t home(const struct shard *s, uint64_t mixed)
{
    return (size_t)(mixed >> (64 - s->bits));
}

/* No thread comes into being between enter() and leave(): only this one could create it. */
static bool enter(struct shard *s)
{
    if (__libc_single_threaded || forking)
        return false;
    for (int tries = 1; atomic_flag_test_and_set_explicit(&s->lock, memory_order_acquire); tries++)
        if (tries % 64 == 0)
            sched_yield();
    return true;
}

static void leave(struct shard *s, bool entered)
{
    if (entered)
        atomic_flag_clear_explicit(&s->lock, memory_order_release);
}

static void add_live(uint64_t bytes)
{
    if (__libc_single_threaded) {
        uint64_t now = atomic_load_explicit(&live, memory_order_relaxed) + bytes;
        atomic_store_explicit(&live, now, memory_order_relaxed);
        if (now > atomic_load_explicit(&peak, memory_order_relaxed))
            atomic_store_explicit(&peak, now, memory_order_relaxed);
        return;
    }
    uint64_t now = atomic_fetch_add_explicit(&live, bytes, memory_order_relaxed) + bytes;
    uint64_t most = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > most && !atomic_compare_exchange_weak_explicit(
                             &peak, &most, now, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static void drop_live(uint64_t bytes)
{
    if (__libc_single_threaded)
        atomic_store_explicit(&live, atomic_load_explicit(&live, memory_order_relaxed) - bytes,
                              memory_order_relaxed);
    else
        atomic_fetch_sub_explicit(&live, bytes, memory_order_relaxed);
}

/* Pages are there at once, so that what a table takes does not depend on what is put into it. */
static struct ypi_heap_block *map_places(unsigned bits)
{
    void *places = mmap(NULL, sizeof(struct ypi_heap_block) << bits, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return places != MAP_FAILED ? places : NULL;
}

static size_t find(const struct shard *s, uintptr_t address, uint64_t mixed)
{
    const size_t mask = ((size_t)1 << s->bits) - 1;
    size_t at = home(s, mixed);
    while (s->places[at].address != 0 && s->places[at].address != address)
        at = (at + 1) & mask;
    return at;
}

static void grow(struct shard *s)
{
    struct shard old = *s;
    struct ypi_heap_block *places = map_places(old.bits + 1);
    if (places == NULL)
        return;
    s->places = places;
    s->bits++;
    for (size_t i = 0; i < (size_t)1 << old.bits; i++) {
        const uintptr_t address = old.places[i].address;
        if (address != 0)
            s->places[find(s, address, mix(address))] = old.places[i];
    }
    munmap(old.places, sizeof *old.places << old.bits);
}

/* The places behind it move up where that brings them nearer to their own. */
static void take_out(struct shard *s, size_t at)
{
    const size_t mask = ((size_t)1 << s->bits) - 1;
    for (size_t next = (at + 1) & mask; s->places[next].address != 0; next = (next + 1) & mask) {
        const size_t own = home(s, mix(s->places[next].address));
        if (((next - own) & mask) >= ((next - at) & mask)) {
            s->places[at] = s->places[next];
            at = next;
        }
    }
    s->places[at].address = 0;
    s->count--;
}

/* A child must not find a lock that a thread holds which it does not have. */
static void lock_all(void)
{
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++)
        enter(&shards[i]);
    forking = true;
}

static void unlock_all(void)
{
    forking = false;
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++)
        leave(&shards[i], true);
}

bool ypi_heap_table_watch_forks(void)
{
    return pthread_atfork(lock_all, unlock_all, unlock_all) == 0;
}

void ypi_heap_table_begin(void)
{
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        struct shard *s = &shards[i];
        if (s->places != NULL)
            munmap(s->places, sizeof *s->places << s->bits);
        *s = (struct shard){.places = map_places(FIRST_BITS), .bits = FIRST_BITS};
    }
    atomic_store(&live, 0);
    atomic_store(&peak, 0);
}

void ypi_heap_table_add(const struct ypi_heap_block *block, bool counts)
{
    const uint64_t mixed = mix(block->address);
    struct shard *s = shard_of(block->address);
    uint64_t before = 0;
    const bool entered = enter(s);
    if (s->places != NULL && 2 * (s->count + 1) > (uint64_t)1 << s->bits)
        grow(s);
    if (counts) {
        s->allocations++;
        s->total += block->bytes;
    }
    if (s->places == NULL || s->count + 1 == (uint64_t)1 << s->bits) {
        s->lost++;
        leave(s, entered);
        return;
    }
    struct ypi_heap_block *place = &s->places[find(s, block->address, mixed)];
    /* A block that is still there was freed where nobody counts. */
    if (place->address != 0) {
        before = place->bytes;
        s->frees++;
    } else {
        s->count++;
    }
    *place = *block;
    leave(s, entered);
    drop_live(before);
    add_live(block->bytes);
}

bool ypi_heap_table_take(uintptr_t address, bool counts, struct ypi_heap_block *out)
{
    const uint64_t mixed = mix(address);
    struct shard *s = shard_of(address);
    const bool entered = enter(s);
    const size_t at = s->count > 0 ? find(s, address, mixed) : 0;
    const bool found = s->count > 0 && s->places[at].address != 0;
    if (found) {
        *out = s->places[at];
        take_out(s, at);
        s->frees += counts;
    }
    leave(s, entered);
    if (found)
        drop_live(out->bytes);
    return found;
}

void ypi_heap_table_restore(const struct ypi_heap_block *block, bool counted)
{
    struct shard *s = shard_of(block->address);
    const bool entered = enter(s);
    s->frees -= counted;
    leave(s, entered);
    ypi_heap_table_add(block, false);
}

static void read_leaks(const struct shard *s, struct ypi_heap_counts *out)
{
    for (size_t i = 0; s->places != NULL && i < (size_t)1 << s->bits; i++) {
        const struct ypi_heap_block *b = &s->places[i];
        if (b->address == 0 || b->linker)
            continue;
        out->leaked_bytes += b->bytes;
        out->leaked_blocks++;
        if (out->leak_number == 0 || b->number < out->leak_number) {
            out->leak_number = b->number;
            out->leak_bytes = b->bytes;
        }
    }
}

void ypi_heap_table_read(struct ypi_heap_counts *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        struct shard *s = &shards[i];
        const bool entered = enter(s);
        out->allocations += s->allocations;
        out->frees += s->frees;
        out->total += s->total;
        out->lost += s->lost;
        read_leaks(s, out);
        leave(s, entered);
    }
    out->live = atomic_load(&live);
    out->peak = atomic_load(&peak);
}
