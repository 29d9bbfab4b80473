/*
 * Blocks of a kernel one after the other, each block's threads as threads of the CPU, for
 * ThreadSanitizer: what one phase writes and another thread touches before a barrier is a race
 * here, as it is on a GPU.
 *
 * A copy into shared memory writes when it is sent for, and again when it is waited for: whoever
 * else touches that memory in between races with it.
 */
#include "device/cuda/frame.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS_MAX = 512, COPIES_MAX = 1 << 12 };

/* -- barriers -------------------------------------------------------------------------------- */

/* Two in turns: who leaves one late would otherwise be told of what others did before they came to
 * the next, as if that had been before this one. */
struct meeting {
    pthread_barrier_t turn[2];
};

_Thread_local unsigned ypk_thread;
static _Thread_local unsigned block_met, warp_met;
static struct meeting block_meeting, warp_meetings[THREADS_MAX / 32];

static void meeting_open(struct meeting *m, unsigned threads)
{
    for (int i = 0; i < 2; i++)
        if (pthread_barrier_init(&m->turn[i], NULL, threads) != 0)
            abort();
}

static void meeting_close(struct meeting *m)
{
    for (int i = 0; i < 2; i++)
        pthread_barrier_destroy(&m->turn[i]);
}

static void meet(struct meeting *m, unsigned *met)
{
    int came = pthread_barrier_wait(&m->turn[(*met)++ % 2]);
    if (came != 0 && came != PTHREAD_BARRIER_SERIAL_THREAD)
        abort();
}

void ypk_block_barrier(void)
{
    meet(&block_meeting, &block_met);
}

void ypk_warp_barrier(void)
{
    meet(&warp_meetings[ypk_thread / 32], &warp_met);
}

void ypk_fill_shared(void *memory, size_t bytes)
{
    if (ypk_thread == 0)
        ypk_fill(memory, bytes);
    ypk_block_barrier();
}

/* -- copies into shared memory --------------------------------------------------------------- */

/* A thread's copies that are on their way, and where its groups of them end. */
static _Thread_local struct {
    float *to;
    const float *from;
    size_t bytes;
} copies[COPIES_MAX];
static _Thread_local unsigned copies_made, copies_arrived, group_end[2], groups_open;

void ypk_copy(float *to, const float *from, unsigned words)
{
    if (copies_made == COPIES_MAX)
        abort();
    ypk_fill(to, words * sizeof *to);
    copies[copies_made].to = to;
    copies[copies_made].from = from;
    copies[copies_made++].bytes = words * sizeof *to;
}

void ypk_commit(unsigned t)
{
    (void)t;
    if (groups_open == 2)
        abort();
    group_end[groups_open++] = copies_made;
}

void ypk_wait(unsigned t, unsigned pending)
{
    (void)t;
    while (groups_open > pending) {
        for (; copies_arrived < group_end[0]; copies_arrived++)
            memcpy(copies[copies_arrived].to, copies[copies_arrived].from,
                   copies[copies_arrived].bytes);
        group_end[0] = group_end[1];
        groups_open--;
    }
    if (groups_open == 0)
        copies_made = copies_arrived = 0;
}

/* -- blocks ---------------------------------------------------------------------------------- */

/* All threads go through all blocks; the place is written by one, between barriers. */
static void *run_thread(void *arg)
{
    const struct ypk_work *work = ypk_where.work;
    ypk_thread = *(const unsigned *)arg;
    for (unsigned y = 0; y < work->grid.y; y++)
        for (unsigned x = 0; x < work->grid.x; x++) {
            if (ypk_thread == 0)
                ypk_where.block = (struct ypk_grid){x, y};
            ypk_fill_shared(ypk_where.shared, work->shared);
            work->kernel(work->job);
            ypk_block_barrier(); /* the next block has the same memory */
        }
    return NULL;
}

void ypk_run(const struct ypk_work *work)
{
    static unsigned numbers[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    void *shared = aligned_alloc(64, (work->shared + 127) / 64 * 64);
    if (work->threads > THREADS_MAX || shared == NULL)
        abort();
    ypk_where = (struct ypk_where){.work = work, .shared = shared};
    meeting_open(&block_meeting, work->threads);
    for (unsigned w = 0; w < work->threads / 32; w++)
        meeting_open(&warp_meetings[w], 32);
    for (unsigned i = 0; i < work->threads; i++) {
        numbers[i] = i;
        if (pthread_create(&ids[i], NULL, run_thread, &numbers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < work->threads; i++)
        pthread_join(ids[i], NULL);
    meeting_close(&block_meeting);
    for (unsigned w = 0; w < work->threads / 32; w++)
        meeting_close(&warp_meetings[w]);
    free(shared);
}
