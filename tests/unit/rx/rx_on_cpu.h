/*
 * A made-up GPU for RX: the kernels' own code, run block by block and thread by thread on the CPU.
 *
 * Its memory cannot be touched but by kernels and copies: whoever else reads or writes it dies. New
 * memory, and shared memory, is full of garbage. Copies into shared memory arrive no sooner than
 * they are waited for; until then there is garbage too. Threads go forwards or backwards.
 *
 * Its work is done at once, or, as gpu_order says, when it is waited for: what is on other streams
 * than the default one as late as that allows (LATE) or as early (EARLY). With KERNELS_FIRST the
 * default one does not wait for who waits for it, but other streams do.
 *
 * With RX_ON_CPU_PLUGIN there are the kernels alone, for a plugin on a runtime that is made up.
 */
#ifndef RX_ON_CPU_H
#define RX_ON_CPU_H

#define RXC_ON_CPU
#ifdef RX_ON_CPU_PLUGIN
#include <stdio.h>
#include <stdlib.h>
#define cr_assert(...) RX_FIRST(__VA_ARGS__, 0)
#define RX_FIRST(is_, ...) ((is_) ? (void)0 : abort())
#define cr_assert_eq(a_, ...) RX_SECOND(==, a_, __VA_ARGS__, 0)
#define cr_assert_lt(a_, ...) RX_SECOND(<, a_, __VA_ARGS__, 0)
#define cr_assert_leq(a_, ...) RX_SECOND(<=, a_, __VA_ARGS__, 0)
#define RX_SECOND(is_, a_, b_, ...) ((a_)is_(b_) ? (void)0 : abort())
#define cr_assert_not_null(...) cr_assert(__VA_ARGS__)
#else
#include "device/backend.h"
#include "models/rx/device/detector.h"
#include <criterion/criterion.h>
#include <sys/mman.h>
#endif
#include "models/rx/cuda/factor.h"
#include "models/rx/cuda/merge.h"
#include "models/rx/cuda/rows.h"
#include <stdlib.h>
#include <string.h>

#define GARBAGE_MOST ((size_t)1 << 24)

bool rxc_backwards;

/* Each byte of it: a float of 8e37, or NaN for GARBAGE_NAN. */
#define GARBAGE_NAN 0xff
static int garbage = 0x7e;

/* -- memory --------------------------------------------------------------------------------- */

#ifdef RX_ON_CPU_PLUGIN
#define GPU_NEEDS(pointer_, count_) cr_assert((pointer_) != NULL || (count_) == 0)
static void gpu_reach(bool can)
{
    (void)can;
}
#else
enum { BLOCKS_MOST = 64, PAGE = 4096 };
static struct {
    char *at;
    size_t bytes, pages;
} gpu_blocks[BLOCKS_MOST];

static void gpu_reach(bool can)
{
    for (int i = 0; i < BLOCKS_MOST; i++)
        if (gpu_blocks[i].at != NULL)
            mprotect(gpu_blocks[i].at, gpu_blocks[i].pages,
                     can ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* Whether `bytes` from there on are the GPU's. */
static bool gpu_has(const void *from, size_t bytes)
{
    const char *at = from;
    for (int i = 0; i < BLOCKS_MOST; i++)
        if (gpu_blocks[i].at != NULL && at >= gpu_blocks[i].at &&
            at + bytes <= gpu_blocks[i].at + gpu_blocks[i].bytes)
            return true;
    return false;
}

#define GPU_NEEDS(pointer_, count_) \
    cr_assert(gpu_has(pointer_, (count_) * sizeof *(pointer_)), \
              "%s: %zu elements are not the GPU's", #pointer_, (size_t)(count_))

static const char *gpu_name(const struct yp_device *device)
{
    (void)device;
    return "made-up:0";
}

static void *gpu_take(struct yp_device *device, size_t bytes)
{
    (void)device;
    for (int i = 0; i < BLOCKS_MOST; i++) {
        if (gpu_blocks[i].at != NULL)
            continue;
        size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
        char *at = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(at, MAP_FAILED);
        memset(at, garbage, bytes < GARBAGE_MOST ? bytes : GARBAGE_MOST);
        mprotect(at, pages, PROT_NONE);
        gpu_blocks[i].at = at;
        gpu_blocks[i].bytes = bytes;
        gpu_blocks[i].pages = pages;
        return at;
    }
    cr_assert_fail("too many blocks");
    return NULL;
}

static void gpu_run_all(void);

/* Whatever stream still uses it is done then. */
static size_t gpu_give(struct yp_device *device, void *block)
{
    (void)device;
    gpu_run_all();
    for (int i = 0; i < BLOCKS_MOST; i++)
        if (gpu_blocks[i].at == block) {
            munmap(block, gpu_blocks[i].pages);
            gpu_blocks[i].at = NULL;
            return gpu_blocks[i].bytes;
        }
    cr_assert_fail("not a block of the GPU");
    return 0;
}

static void gpu_memory(const struct yp_device *device, struct yp_memory *out)
{
    (void)device;
    (void)out;
}

/* -- streams -------------------------------------------------------------------------------- */

static enum { AT_ONCE, LATE, EARLY, KERNELS_FIRST, ORDERS } gpu_order;

enum { STREAMS_MOST = 4, WORK_MOST = 1 << 12 };

struct gpu_event {
    struct yp_event base;
    int stream; /* where it was recorded last */
    size_t at;  /* work of that stream that is done by then; 0: never recorded */
};

/* One piece of work: `run`, a copy, or a wait for another stream. */
struct gpu_work {
    void (*run)(struct gpu_work *work);
    union {
        struct rxc_gram gram;
        struct rxc_merge merge;
        struct rxc_quadratic quadratic;
        struct rxc_loss loss;
        struct rxc_factor factor;
        struct rxc_gather gather;
        struct rxc_linear linear;
        struct rxc_dots dots;
        struct rxc_columns columns;
        struct rxc_cross cross;
        struct rxc_parts parts;
    } job;
    void *to;
    const void *from;
    size_t bytes;
    int stream; /* waits for `at` pieces of it */
    size_t at;
};

static struct gpu_stream {
    struct yp_stream base;
    bool open;
    struct gpu_work *work;
    size_t given, done;
} gpu_streams[STREAMS_MOST]; /* the first is the default one */
static int gpu_events;       /* that are open */

/* The work of that stream up to there, with what it waits for; `force` false: not that. */
static void gpu_run(int stream, size_t to, bool force)
{
    struct gpu_stream *s = &gpu_streams[stream];
    while (s->done < to) {
        struct gpu_work *w = &s->work[s->done % WORK_MOST];
        if (w->run == NULL && w->to == NULL && gpu_streams[w->stream].done < w->at) {
            if (!force)
                return;
            gpu_run(w->stream, w->at, true);
        }
        if (w->to != NULL) {
            gpu_reach(true);
            memcpy(w->to, w->from, w->bytes);
            gpu_reach(false);
        } else if (w->run != NULL) {
            w->run(w);
        }
        s->done++;
    }
}

static void gpu_give_work(int stream, struct gpu_work work)
{
    struct gpu_stream *s = &gpu_streams[stream];
    if (s->work == NULL)
        s->work = calloc(WORK_MOST, sizeof *s->work);
    cr_assert_lt(s->given - s->done, WORK_MOST);
    s->work[s->given++ % WORK_MOST] = work;
    for (int i = 1; i < STREAMS_MOST && gpu_order == EARLY; i++)
        gpu_run(i, gpu_streams[i].given, false);
    if (gpu_order == AT_ONCE || (gpu_order == KERNELS_FIRST && stream == 0))
        gpu_run(stream, s->given, true);
}

static void gpu_run_all(void)
{
    for (int i = 0; i < STREAMS_MOST; i++)
        gpu_run(i, gpu_streams[i].given, true);
}

static int gpu_number(const struct yp_stream *stream)
{
    return (int)((const struct gpu_stream *)stream - gpu_streams);
}

static struct yp_stream *gpu_stream(struct yp_device *device)
{
    gpu_streams[0].base.device = device;
    return &gpu_streams[0].base;
}

static struct yp_stream *gpu_stream_create(struct yp_device *device)
{
    for (int i = 1; i < STREAMS_MOST; i++)
        if (!gpu_streams[i].open) {
            gpu_streams[i].base.device = device; /* what was done stays so */
            gpu_streams[i].open = true;
            return &gpu_streams[i].base;
        }
    cr_assert_fail("too many streams");
    return NULL;
}

static void gpu_stream_destroy(struct yp_stream *stream)
{
    struct gpu_stream *s = &gpu_streams[gpu_number(stream)];
    free(s->work);
    s->work = NULL;
    s->open = false;
}

static enum yp_status gpu_stream_wait(struct yp_stream *stream, struct yp_event *event)
{
    const struct gpu_event *e = (const struct gpu_event *)event;
    if (e->at > 0)
        gpu_give_work(gpu_number(stream), (struct gpu_work){.stream = e->stream, .at = e->at});
    return YP_OK;
}

static enum yp_status gpu_stream_copy(struct yp_stream *stream, void *to, const void *from,
                                      size_t bytes)
{
    cr_assert(gpu_has(to, bytes) || gpu_has(from, bytes), "neither side is the GPU's");
    gpu_give_work(gpu_number(stream), (struct gpu_work){.to = to, .from = from, .bytes = bytes});
    return YP_OK;
}

static enum yp_status gpu_stream_synchronize(struct yp_stream *stream)
{
    int i = gpu_number(stream);
    gpu_run(i, gpu_streams[i].given, true);
    return YP_OK;
}

static enum yp_status gpu_synchronize(struct yp_device *device)
{
    (void)device;
    gpu_run_all();
    return YP_OK;
}

static struct yp_event *gpu_event_create(struct yp_device *device)
{
    struct gpu_event *e = calloc(1, sizeof *e);
    cr_assert_not_null(e);
    e->base.device = device;
    gpu_events++;
    return &e->base;
}

static void gpu_event_destroy(struct yp_event *event)
{
    free(event);
    gpu_events--;
}

/* An event is the work before it: nothing of its own. */
static enum yp_status gpu_event_record(struct yp_event *event, struct yp_stream *stream)
{
    struct gpu_event *e = (struct gpu_event *)event;
    e->stream = gpu_number(stream);
    e->at = gpu_streams[e->stream].given;
    return YP_OK;
}

static enum yp_status gpu_event_synchronize(struct yp_event *event)
{
    const struct gpu_event *e = (const struct gpu_event *)event;
    gpu_run(e->stream, e->at, true);
    return YP_OK;
}

static enum yp_status gpu_copy(struct yp_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    (void)gpu_stream_synchronize(gpu_stream(device));
    cr_assert(gpu_has(to, bytes) || gpu_has(from, bytes), "neither side is the GPU's");
    gpu_reach(true);
    memcpy(to, from, bytes);
    gpu_reach(false);
    return YP_OK;
}

static size_t gpu_pinned; /* bytes */

static void *gpu_take_pinned(struct yp_device *device, size_t bytes)
{
    (void)device;
    size_t *block = malloc(bytes + 64);
    cr_assert_not_null(block);
    memset(block, garbage, bytes + 64);
    *block = bytes;
    gpu_pinned += bytes;
    return (char *)block + 64;
}

static size_t gpu_give_pinned(struct yp_device *device, void *pinned)
{
    (void)device;
    size_t *block = (size_t *)(void *)((char *)pinned - 64), bytes = *block;
    free(block);
    gpu_pinned -= bytes;
    return bytes;
}

static const struct ypi_backend gpu_backend = {.kind = YP_DEVICE,
                                               .name = gpu_name,
                                               .take = gpu_take,
                                               .give = gpu_give,
                                               .take_pinned = gpu_take_pinned,
                                               .give_pinned = gpu_give_pinned,
                                               .memory = gpu_memory,
                                               .stream = gpu_stream,
                                               .stream_create = gpu_stream_create,
                                               .stream_destroy = gpu_stream_destroy,
                                               .stream_wait = gpu_stream_wait,
                                               .stream_copy = gpu_stream_copy,
                                               .stream_synchronize = gpu_stream_synchronize,
                                               .synchronize = gpu_synchronize,
                                               .event_create = gpu_event_create,
                                               .event_destroy = gpu_event_destroy,
                                               .event_record = gpu_event_record,
                                               .event_synchronize = gpu_event_synchronize,
                                               .copy = gpu_copy};

#endif

/* -- copies into shared memory -------------------------------------------------------------- */

enum { COPIES_MOST = 1 << 18 };
static struct {
    float *to;
    const float *from;
    unsigned words, thread;
    unsigned group; /* of its thread */
    bool sent;
} copies[COPIES_MOST];
static size_t copies_made, copies_open; /* open: from here on not in a group yet */
static unsigned groups[1024];           /* of each thread, so far */

void rxc_copy_later(float *to, const float *from, unsigned words)
{
    cr_assert_lt(copies_made, COPIES_MOST);
    cr_assert_eq((uintptr_t)to % (4 * words), 0);
    cr_assert_eq((uintptr_t)from % (4 * words), 0);
    copies[copies_made].to = to;
    copies[copies_made].from = from;
    copies[copies_made].words = words;
    copies[copies_made++].sent = false;
    memset(to, garbage, words * sizeof *to);
}

void rxc_commit(unsigned t)
{
    groups[t]++;
    for (; copies_open < copies_made; copies_open++) {
        copies[copies_open].thread = t;
        copies[copies_open].group = groups[t];
    }
}

void rxc_wait(unsigned t, unsigned most)
{
    size_t waiting = 0;
    for (size_t i = 0; i < copies_made; i++) {
        if (!copies[i].sent && copies[i].thread == t && copies[i].group + most <= groups[t]) {
            memcpy(copies[i].to, copies[i].from, copies[i].words * sizeof(float));
            copies[i].sent = true;
        }
        waiting += !copies[i].sent;
    }
    if (waiting == 0)
        copies_made = copies_open = 0;
}

/* -- kernels -------------------------------------------------------------------------------- */

static unsigned launches; /* so far */

static float *shared_memory(size_t bytes)
{
    float *shared = aligned_alloc(64, (bytes + 63) / 64 * 64);
    cr_assert_not_null(shared);
    memset(shared, garbage, bytes);
    copies_made = copies_open = 0;
    launches++;
    return shared;
}

/* Copies that nobody waited for would arrive in another block's memory. */
static void shared_give(float *shared)
{
    cr_assert_eq(copies_made, 0, "%zu copies were not waited for", copies_made);
    free(shared);
}

static size_t parts_of(size_t count, size_t each)
{
    return (count + each - 1) / each;
}

static enum yp_status cpu_gram(struct yp_device *device, const struct rxc_gram *job)
{
    size_t blocks = parts_of(job->pixels, job->range), c = job->channels;
    unsigned threads = rxc_product_threads(job->channels);
    (void)device;
    cr_assert_leq(threads, 512);
    GPU_NEEDS(job->x, (job->pixels - 1) * job->stride + c);
    GPU_NEEDS(job->products, blocks * RXC_SQUARE * rxc_pairs(job->channels));
    GPU_NEEDS(job->mean, blocks * c);
    GPU_NEEDS(job->kept, blocks);
    GPU_NEEDS(job->skipped, blocks);
    if (job->weights != NULL) {
        GPU_NEEDS(job->weights, job->pixels);
        GPU_NEEDS(job->centre, c);
    } else {
        GPU_NEEDS(job->low, blocks * c);
        GPU_NEEDS(job->away, blocks * c);
    }
    struct rxc_multiplier *own = calloc(threads, sizeof *own);
    gpu_reach(true);
    for (unsigned b = 0; b < blocks; b++) {
        float *shared = shared_memory(rxc_product_shared(job->channels));
        memset(own, garbage, threads * sizeof *own);
        rxc_products(job, b, b / 3, threads, rxc_row(job->channels), job->weights != NULL, shared,
                     own);
        shared_give(shared);
    }
    gpu_reach(false);
    free(own);
    return YP_OK;
}

static enum yp_status cpu_merge(struct yp_device *device, const struct rxc_merge *job)
{
    (void)device;
    GPU_NEEDS(job->m2, (size_t)job->channels * job->channels);
    GPU_NEEDS(job->products, (size_t)job->blocks * RXC_SQUARE * rxc_pairs(job->channels));
    gpu_reach(true);
    struct rxc_merge_room *room = malloc(sizeof *room);
    double means[RXC_MERGE_THREADS];
    cr_assert_not_null(room);
    for (size_t b = 0; b < parts_of(job->channels, RXC_ABREAST); b++) {
        memset(room, garbage, sizeof *room);
        memset(means, garbage, sizeof means);
        rxc_merge_channels(job, (unsigned)b, room, means);
    }
    for (unsigned b = 0; b < rxc_entry_blocks(job->channels); b++) {
        memset(room, garbage, sizeof *room);
        rxc_merge_entries(job, b, room);
    }
    memset(room, garbage, sizeof *room);
    if (!job->weighted)
        rxc_merge_counts(job, room);
    free(room);
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_quadratic(struct yp_device *device, const struct rxc_quadratic *job)
{
    size_t blocks = parts_of(job->room, RXC_PIXELS);
    struct rxc_lane own[32];
    (void)device;
    GPU_NEEDS(job->slices,
              job->products != NULL ? rxc_square_slices(job->channels) : rxc_slices(job->channels));
    GPU_NEEDS(job->centre, job->channels);
    if (job->products != NULL) {
        GPU_NEEDS(job->products, job->pixels * job->channels);
        GPU_NEEDS(job->keep, job->pixels);
        cr_assert(job->loss);
    }
    if (job->scores != NULL)
        GPU_NEEDS(job->scores, job->room);
    if (job->offset != NULL)
        GPU_NEEDS(job->offset, parts_of(job->channels, RXC_ROWS) * RXC_ROWS);
    if (job->loss && (job->products == NULL || job->labels != NULL)) {
        GPU_NEEDS(job->labels, job->pixels);
        GPU_NEEDS(job->scalars, 2);
        GPU_NEEDS(job->g, job->pixels);
    }
    if (job->loss) {
        GPU_NEEDS(job->sums, 3 * blocks);
        GPU_NEEDS(job->kept, blocks);
    }
    gpu_reach(true);
    for (unsigned b = 0; b < blocks; b++) {
        float *shared = shared_memory(rxc_quadratic_shared(job->channels));
        memset(own, garbage, sizeof own);
        rxc_quadratics(job, b, rxc_outcome_of(job), shared, own);
        shared_give(shared);
    }
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_fold(struct yp_device *device, unsigned channels, const float *a,
                               float *slices)
{
    (void)device;
    GPU_NEEDS(a, (size_t)channels * channels);
    GPU_NEEDS(slices, rxc_slices(channels));
    gpu_reach(true);
    for (unsigned i = 0, row, k; i < rxc_slices(channels); i++) {
        rxc_entry(i, &row, &k);
        slices[i] = rxc_folded(channels, a, row, k);
    }
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_add_loss(struct yp_device *device, const struct rxc_loss *job)
{
    (void)device;
    GPU_NEEDS(job->all, 4);
    gpu_reach(true);
    double shared[RXC_LOSS_THREADS];
    memset(shared, garbage, sizeof shared);
    rxc_add_loss(job, shared);
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_gradient(struct yp_device *device, const struct rxc_loss *job)
{
    size_t count = (size_t)job->channels * (job->channels + 1) + 2;
    (void)device;
    GPU_NEEDS(job->parameters, count);
    GPU_NEEDS(job->gradient, count);
    gpu_reach(true);
    for (size_t i = 0; i < count; i++)
        rxc_write_gradient(job, i);
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_clip(struct yp_device *device, size_t count, const float *values,
                               double most, double *parts, double *factor)
{
    (void)device;
    GPU_NEEDS(values, count);
    GPU_NEEDS(parts, RXC_NORM_PARTS);
    GPU_NEEDS(factor, 1);
    gpu_reach(true);
    for (unsigned i = 0; i < RXC_NORM_PARTS; i++)
        parts[i] = rxc_norm_part(count, values, i);
    *factor = rxc_clip(parts, most);
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_adamw(struct yp_device *device, const struct rxc_adamw *job)
{
    (void)device;
    GPU_NEEDS(job->gradient, job->count);
    GPU_NEEDS(job->m, job->count);
    GPU_NEEDS(job->v, job->count);
    GPU_NEEDS(job->parameters, job->count);
    gpu_reach(true);
    for (size_t i = 0; i < job->count; i++)
        rxc_adamw_element(job, i);
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_factor(struct yp_device *device, const struct rxc_factor *job)
{
    struct rxc_factor_room room;
    double sums[RXC_FACTOR_THREADS];
    (void)device;
    GPU_NEEDS(job->m2, (size_t)job->channels * job->channels);
    GPU_NEEDS(job->mean, job->channels);
    GPU_NEEDS(job->low, job->channels);
    GPU_NEEDS(job->high, job->channels);
    GPU_NEEDS(job->centre, job->channels);
    GPU_NEEDS(job->matrix, (size_t)job->channels * job->channels);
    GPU_NEEDS(job->inverse, (size_t)job->channels * job->channels);
    GPU_NEEDS(job->slices, rxc_slices(job->channels));
    GPU_NEEDS(job->offset, job->channels + RXC_ROWS);
    GPU_NEEDS(job->failed, 1);
    memset(&room, garbage, sizeof room);
    memset(sums, garbage, sizeof sums);
    gpu_reach(true);
    rxc_factorise(job, &room, sums);
    gpu_reach(false);
    return YP_OK;
}

/* Each block of a kernel of rows.h, with new room and a thread's own, both full of garbage. */
static void *fresh_room(void *room, size_t bytes)
{
    cr_assert_not_null(room);
    return memset(room, garbage, bytes);
}

static enum yp_status cpu_gather(struct yp_device *device, const struct rxc_gather *job)
{
    unsigned odd[RXC_GATHERED];
    (void)device;
    GPU_NEEDS(job->x, (job->pixels - 1) * job->stride + job->channels);
    GPU_NEEDS(job->base, job->channels);
    GPU_NEEDS(job->gain, job->channels);
    GPU_NEEDS(job->rest, job->channels);
    GPU_NEEDS(job->rows, job->pixels * job->channels);
    GPU_NEEDS(job->keep, job->pixels);
    gpu_reach(true);
    for (size_t b = 0; b < parts_of(job->pixels, RXC_GATHERED); b++)
        rxc_gather_rows(job, (unsigned)b, fresh_room(odd, sizeof odd));
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_linear(struct yp_device *device, const struct rxc_linear *job)
{
    struct rxc_linear_room *room = aligned_alloc(64, (sizeof *room + 63) / 64 * 64);
    struct rxc_linear_own own[RXC_ROW_THREADS];
    (void)device;
    GPU_NEEDS(job->in, job->pixels * job->inputs);
    GPU_NEEDS(job->w, (size_t)job->outputs * job->inputs);
    GPU_NEEDS(job->out, job->pixels * job->outputs);
    if (job->offset != NULL)
        GPU_NEEDS(job->offset, job->outputs);
    if (job->less != NULL)
        GPU_NEEDS(job->less, job->pixels * job->outputs);
    gpu_reach(true);
    for (size_t b = 0; b < parts_of(job->pixels, RXC_PIXELS); b++)
        for (size_t w = 0; w < parts_of(job->outputs, RXC_WIDE); w++)
            rxc_linear_rows(job, (unsigned)b, (unsigned)w, fresh_room(room, sizeof *room),
                            fresh_room(own, sizeof own));
    gpu_reach(false);
    free(room);
    return YP_OK;
}

static enum yp_status cpu_dots(struct yp_device *device, const struct rxc_dots *job)
{
    struct rxc_dots_room room;
    size_t blocks = parts_of(job->pixels, RXC_PIXELS);
    (void)device;
    GPU_NEEDS(job->keep, job->pixels);
    GPU_NEEDS(job->scores, job->pixels);
    GPU_NEEDS(job->sums, 3 * blocks);
    GPU_NEEDS(job->kept, blocks);
    if (job->a != NULL) {
        GPU_NEEDS(job->a, job->pixels * job->width);
        GPU_NEEDS(job->b, job->pixels * job->width);
    }
    if (job->labels != NULL) {
        GPU_NEEDS(job->labels, job->pixels);
        GPU_NEEDS(job->scalars, 2);
    }
    if (job->labels != NULL || job->own)
        GPU_NEEDS(job->g, job->pixels);
    gpu_reach(true);
    for (size_t b = 0; b < blocks; b++)
        rxc_dots_rows(job, (unsigned)b, fresh_room(&room, sizeof room));
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_columns(struct yp_device *device, const struct rxc_columns *job)
{
    struct rxc_columns_room room;
    (void)device;
    GPU_NEEDS(job->a, job->pixels * job->width);
    GPU_NEEDS(job->parts, (size_t)rxc_ranges(job->pixels, job->range) * 2 * job->width);
    if (job->b != NULL)
        GPU_NEEDS(job->b, job->pixels * job->width);
    if (job->weights != NULL)
        GPU_NEEDS(job->weights, job->pixels);
    gpu_reach(true);
    for (unsigned b = 0; b < rxc_ranges(job->pixels, job->range); b++)
        for (size_t w = 0; w < parts_of(job->width, RXC_COLUMNS); w++)
            rxc_columns_rows(job, b, (unsigned)w, fresh_room(&room, sizeof room));
    gpu_reach(false);
    return YP_OK;
}

static enum yp_status cpu_cross(struct yp_device *device, const struct rxc_cross *job)
{
    struct rxc_cross_room *room = aligned_alloc(64, (sizeof *room + 63) / 64 * 64);
    struct rxc_cross_own own[RXC_ROW_THREADS];
    size_t squares = parts_of(job->rows, RXC_WIDE) * parts_of(job->columns, RXC_WIDE);
    (void)device;
    GPU_NEEDS(job->a, job->pixels * job->rows);
    GPU_NEEDS(job->b, job->pixels * job->columns);
    GPU_NEEDS(job->parts, (size_t)rxc_ranges(job->pixels, job->range) * job->rows * job->columns);
    gpu_reach(true);
    for (unsigned b = 0; b < rxc_ranges(job->pixels, job->range); b++)
        for (size_t square = 0; square < squares; square++)
            rxc_cross_rows(job, b, (unsigned)square, fresh_room(room, sizeof *room),
                           fresh_room(own, sizeof own));
    gpu_reach(false);
    free(room);
    return YP_OK;
}

static enum yp_status cpu_parts(struct yp_device *device, const struct rxc_parts *job)
{
    (void)device;
    GPU_NEEDS(job->all, job->count);
    if (job->doubles != NULL)
        GPU_NEEDS(job->doubles, job->blocks * job->count);
    else
        GPU_NEEDS(job->floats, job->blocks * job->count);
    gpu_reach(true);
    for (size_t i = 0; i < job->count; i++)
        rxc_add_parts(job, i);
    gpu_reach(false);
    return YP_OK;
}

static const struct rx_cuda cpu_table = {.gram = cpu_gram,
                                         .merge = cpu_merge,
                                         .quadratic = cpu_quadratic,
                                         .fold = cpu_fold,
                                         .add_loss = cpu_add_loss,
                                         .gradient = cpu_gradient,
                                         .clip = cpu_clip,
                                         .adamw = cpu_adamw,
                                         .factor = cpu_factor,
                                         .gather = cpu_gather,
                                         .linear = cpu_linear,
                                         .dots = cpu_dots,
                                         .columns = cpu_columns,
                                         .cross = cpu_cross,
                                         .parts = cpu_parts};

#ifndef RX_ON_CPU_PLUGIN
/* Kernels as work of the default stream. */
#define GPU_WORK(name_, type_) \
    static void run_##name_(struct gpu_work *work) \
    { \
        cr_assert_eq(cpu_##name_(NULL, &work->job.type_), YP_OK); \
    } \
    static enum yp_status gpu_##name_(struct yp_device *device, const struct rxc_##type_ *job) \
    { \
        (void)device; \
        gpu_give_work(0, (struct gpu_work){.run = run_##name_, .job.type_ = *job}); \
        return YP_OK; \
    }
GPU_WORK(gram, gram)
GPU_WORK(merge, merge)
GPU_WORK(quadratic, quadratic)
GPU_WORK(add_loss, loss)
GPU_WORK(gradient, loss)
GPU_WORK(factor, factor)
GPU_WORK(gather, gather)
GPU_WORK(linear, linear)
GPU_WORK(dots, dots)
GPU_WORK(columns, columns)
GPU_WORK(cross, cross)
GPU_WORK(parts, parts)

static enum yp_status gpu_fold(struct yp_device *device, unsigned channels, const float *a,
                               float *slices)
{
    (void)gpu_stream_synchronize(gpu_stream(device));
    return cpu_fold(device, channels, a, slices);
}

static const struct rx_cuda gpu_table = {.gram = gpu_gram,
                                         .merge = gpu_merge,
                                         .quadratic = gpu_quadratic,
                                         .fold = gpu_fold,
                                         .add_loss = gpu_add_loss,
                                         .gradient = gpu_gradient,
                                         .clip = cpu_clip,
                                         .adamw = cpu_adamw,
                                         .factor = gpu_factor,
                                         .gather = gpu_gather,
                                         .linear = gpu_linear,
                                         .dots = gpu_dots,
                                         .columns = gpu_columns,
                                         .cross = gpu_cross,
                                         .parts = gpu_parts};

/* A device of its own, with its kernels. */
static struct yp_device *gpu_open(void)
{
    static struct yp_device gpu = {.backend = &gpu_backend};
    ypi_rx_set_cuda(&gpu_table);
    return &gpu;
}

#endif

#endif
