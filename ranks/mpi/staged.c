/*
 * Private data of the ranks of a node, by slots in the window, a chunk at a time: each rank copies
 * its chunk into a slot, which the others read, and is some chunks ahead of the slowest at most.
 */
#include "ranks/mpi/node.h"

#include <stddef.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define BLOCK ((size_t)8 * 1024) /* of what is combined at once */
enum { DIRECT = 2 }; /* up to so many ranks each combines all; more combine a part each */

struct staged {
    struct ypk_node *node;
    const struct ypk_call *call;
    const char *in;
    size_t total;  /* bytes of each rank */
    uint64_t base; /* chunks of earlier calls */
};

static size_t chunk_bytes(const struct staged *s, uint64_t chunk)
{
    const size_t left = s->total - (size_t)chunk * YPK_SLOT;
    return left < YPK_SLOT ? left : YPK_SLOT;
}

static char *slot(const struct staged *s, int rank, uint64_t chunk)
{
    return s->node->segments[rank]->slots[(s->base + chunk) % YPK_SLOTS];
}

/* Past the caches: a line that is dirty in the cache of a distant core takes longer to come from
 * there than from memory, and cores of one machine may be distant from each other. */
static void copy_past_caches(char *to, const char *from, size_t bytes)
{
    size_t done = 0;
#if defined(__x86_64__)
    for (; done + sizeof(__m128i) * 4 <= bytes; done += sizeof(__m128i) * 4) {
        const __m128i *source = (const void *)(from + done);
        __m128i *target = (void *)(to + done);
        const __m128i a = _mm_loadu_si128(source);
        const __m128i b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2);
        const __m128i d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
#endif
    memcpy(to + done, from + done, bytes - done);
}

static void tell(struct ypk_flag *flag, uint64_t value)
{
    atomic_store_explicit(&flag->value, value, memory_order_release);
}

/* All ranks have done so many chunks. */
static enum yp_status wait_for(const struct staged *s, size_t offset, uint64_t chunks)
{
    return ypk_wait_flags(s->node, s->call, offset, chunks);
}

/* The chunk's data of all ranks, combined from byte `from` on. `to` may be this rank's own data. */
static void combine(const struct staged *s, uint64_t chunk, size_t from, size_t bytes, char *to)
{
    const struct ypk_node *node = s->node;
    const struct ypk_call *call = s->call;
    const size_t count = bytes / ypk_type_size(call->type);
    ypk_combine(to, slot(s, 0, chunk) + from, slot(s, 1, chunk) + from, count, call->type,
                call->op);
    for (int i = 2; i < node->ranks; i++)
        ypk_combine(to, to, slot(s, i, chunk) + from, count, call->type, call->op);
}

/* This rank's part of a chunk, which takes the place of the data in its slot. */
static size_t part_begin(const struct staged *s, size_t bytes, int rank)
{
    return rank == s->node->ranks ? bytes : bytes / 64 * (size_t)rank / (size_t)s->node->ranks * 64;
}

static void combine_part(const struct staged *s, uint64_t chunk)
{
    _Alignas(64) char block[BLOCK];
    const size_t bytes = chunk_bytes(s, chunk);
    const size_t end = part_begin(s, bytes, s->node->me + 1);
    for (size_t at = part_begin(s, bytes, s->node->me); at < end; at += BLOCK) {
        const size_t size = end - at < BLOCK ? end - at : BLOCK;
        combine(s, chunk, at, size, block);
        copy_past_caches(slot(s, s->node->me, chunk) + at, block, size);
    }
}

static void take_parts(const struct staged *s, uint64_t chunk)
{
    const size_t bytes = chunk_bytes(s, chunk);
    char *to = (char *)s->call->out + chunk * YPK_SLOT;
    for (int i = 0; i < s->node->ranks; i++) {
        const size_t begin = part_begin(s, bytes, i);
        memcpy(to + begin, slot(s, i, chunk) + begin, part_begin(s, bytes, i + 1) - begin);
    }
}

/* Of two ranks: this one's own data is where the caller has it, still in a cache. */
static void combine_pair(const struct staged *s, uint64_t chunk)
{
    const struct ypk_call *call = s->call;
    const size_t at = (size_t)chunk * YPK_SLOT;
    const char *own = s->in + at;
    const char *other = slot(s, 1 - s->node->me, chunk);
    const bool first = s->node->me == 0;
    ypk_combine((char *)call->out + at, first ? own : other, first ? other : own,
                chunk_bytes(s, chunk) / ypk_type_size(call->type), call->type, call->op);
}

/* What of the chunk is in this rank's part of the data. */
static void scatter(const struct staged *s, uint64_t chunk)
{
    const size_t begin = (size_t)s->node->place.rank * s->call->bytes;
    const size_t end = begin + s->call->bytes;
    const size_t at = (size_t)chunk * YPK_SLOT;
    const size_t from = at > begin ? at : begin;
    const size_t last = at + chunk_bytes(s, chunk);
    const size_t to = last < end ? last : end;
    if (from < to)
        combine(s, chunk, from - at, to - from, (char *)s->call->out + (from - begin));
}

static void take(const struct staged *s, uint64_t chunk)
{
    const struct ypk_call *call = s->call;
    const struct ypk_node *node = s->node;
    const size_t at = (size_t)chunk * YPK_SLOT;
    if (call->kind == YPK_REDUCE_SCATTER) {
        scatter(s, chunk);
    } else if (call->kind == YPK_ALL_REDUCE) {
        if (node->ranks <= DIRECT)
            combine_pair(s, chunk);
        else
            take_parts(s, chunk);
    } else if (call->kind == YPK_BROADCAST) {
        if (call->root != node->place.rank)
            memcpy((char *)call->out + at, slot(s, call->root, chunk), chunk_bytes(s, chunk));
    } else {
        for (int i = 0; i < node->ranks; i++) {
            char *to = (char *)call->out + (size_t)i * call->bytes;
            if (to != call->in)
                memcpy(to + at, slot(s, i, chunk), chunk_bytes(s, chunk));
        }
    }
}

enum yp_status ypk_staged(struct ypk_node *node, const struct ypk_call *call)
{
    const bool parts = call->kind == YPK_ALL_REDUCE && node->ranks > DIRECT;
    const bool gives = call->kind != YPK_BROADCAST || call->root == node->place.rank;
    const size_t ranks = call->kind == YPK_REDUCE_SCATTER ? (size_t)node->ranks : 1;
    const struct staged s = {.node = node,
                             .call = call,
                             .in = call->in,
                             .total = call->bytes * ranks,
                             .base = node->chunks};
    struct ypk_segment *mine = node->segments[node->me];
    const uint64_t chunks = (s.total + YPK_SLOT - 1) / YPK_SLOT;
    const uint64_t lag = parts ? 2 : 1;
    enum yp_status status = YP_OK;
    node->chunks += chunks;
    for (uint64_t step = 0; step < chunks + lag && status == YP_OK; step++) {
        if (step < chunks) {
            if (s.base + step >= YPK_SLOTS)
                status = wait_for(&s, offsetof(struct ypk_segment, taken),
                                  s.base + step - YPK_SLOTS + 1);
            if (status == YP_OK && gives)
                copy_past_caches(slot(&s, node->me, step), s.in + step * YPK_SLOT,
                                 chunk_bytes(&s, step));
            if (status == YP_OK)
                tell(&mine->staged, s.base + step + 1);
        }
        if (parts && status == YP_OK && step >= 1 && step <= chunks) {
            status = wait_for(&s, offsetof(struct ypk_segment, staged), s.base + step);
            if (status == YP_OK) {
                combine_part(&s, step - 1);
                tell(&mine->reduced, s.base + step);
            }
        }
        if (status == YP_OK && step >= lag) {
            const uint64_t done = s.base + step - lag + 1;
            status = wait_for(&s,
                              parts ? offsetof(struct ypk_segment, reduced)
                                    : offsetof(struct ypk_segment, staged),
                              done);
            if (status == YP_OK) {
                take(&s, step - lag);
                tell(&mine->taken, done);
            }
        }
    }
    return status;
}
