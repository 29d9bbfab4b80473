/*
 * Blocks of the kernels' threads as threads of the CPU, for ThreadSanitizer: models/rx/cuda/block.h
 * once more, with barriers that are barriers. What one phase writes and another thread touches
 * before a barrier is a race here, as it is on a GPU.
 *
 * A copy into shared memory writes when it is sent for, and again when it is waited for: whoever
 * else touches that memory in between races with it.
 */
#ifndef RXC_BLOCK_H
#define RXC_BLOCK_H

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RXC_ON_CPU
#define RXC_FUNCTION static inline
#define RXC_HELD(most_) 1
#define RXC_OWN(t_) 0
#define RXC_EACH(t_, count_) RXC_EACH_TURNED (t_, count_, 0U)
#define RXC_EACH_TURNED(t_, count_, by_) \
    for (unsigned t_ = block_thread ^ (by_), once_ = 1; once_ != 0 && t_ < (count_); once_ = 0)
#define RXC_WARPS(w_, count_) \
    for (unsigned w_ = block_thread / 32, once_ = 1; once_ != 0 && w_ < (count_); once_ = 0)
#define RXC_LANES(l_) \
    for (unsigned l_ = block_thread % 32, more_ = 1; more_ != 0 && l_ < 32; more_ = 0)
#define RXC_UNROLL(n_)
#define RXC_INFINITY INFINITY
#define RXC_NAN NAN

enum { THREADS_MOST = 512, COPIES_MOST = 1 << 12 };

/* Two take turns: who leaves one late would otherwise be told of what others did before they came
 * to the next, as if that had been before this one. */
struct meeting {
    pthread_barrier_t turn[2];
};

static _Thread_local unsigned block_thread, block_met, warp_met;
static struct meeting block_meeting, warp_meetings[THREADS_MOST / 32];

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

static inline void meet(struct meeting *m, unsigned *met)
{
    int came = pthread_barrier_wait(&m->turn[(*met)++ % 2]);
    if (came != 0 && came != PTHREAD_BARRIER_SERIAL_THREAD)
        abort();
}

static inline void rxc_barrier(void)
{
    meet(&block_meeting, &block_met);
}

static inline void rxc_warp_barrier(void)
{
    meet(&warp_meetings[block_thread / 32], &warp_met);
}

/* A thread's copies that are on their way, and where its groups of them end. */
static _Thread_local struct {
    float *to;
    const float *from;
    size_t bytes;
} copies[COPIES_MOST];
static _Thread_local unsigned copies_made, copies_sent, group_end[2], groups_open;

static inline void rxc_copy(float *to, const float *from, unsigned words)
{
    if (copies_made == COPIES_MOST)
        abort();
    memset(to, 0x7e, words * sizeof *to);
    copies[copies_made].to = to;
    copies[copies_made].from = from;
    copies[copies_made++].bytes = words * sizeof *to;
}

static inline void rxc_commit(unsigned t)
{
    (void)t;
    if (groups_open == 2)
        abort();
    group_end[groups_open++] = copies_made;
}

static inline void rxc_wait(unsigned t, unsigned most)
{
    (void)t;
    while (groups_open > most) {
        for (; copies_sent < group_end[0]; copies_sent++)
            memcpy(copies[copies_sent].to, copies[copies_sent].from, copies[copies_sent].bytes);
        group_end[0] = group_end[1];
        groups_open--;
    }
    if (groups_open == 0)
        copies_made = copies_sent = 0;
}

static inline void rxc_four(const float *from, float *to)
{
    memcpy(to, from, 4 * sizeof *to);
}

static inline void rxc_put_four(float *to, const float *from)
{
    memcpy(to, from, 4 * sizeof *to);
}

static inline void rxc_flag(unsigned *flag)
{
    __atomic_store_n(flag, 1U, __ATOMIC_RELAXED);
}

static inline bool rxc_finite(float x)
{
    return isfinite(x);
}

#define rxc_add(a_, b_) ((a_) + (b_))
#define rxc_sub(a_, b_) ((a_) - (b_))
#define rxc_mul(a_, b_) ((a_) * (b_))
#define rxc_div(a_, b_) ((a_) / (b_))
#define rxc_root(a_) sqrtf(a_)

/* -- blocks --------------------------------------------------------------------------------- */

/* Work of one block of `threads`; `own` is that thread's. */
typedef void block_work(const void *job, unsigned block, unsigned threads);

struct block_call {
    block_work *work;
    const void *job;
    unsigned blocks, threads, thread;
};

static void *block_run(void *arg)
{
    const struct block_call *call = arg;
    block_thread = call->thread;
    for (unsigned b = 0; b < call->blocks; b++) {
        call->work(call->job, b, call->threads);
        rxc_barrier(); /* the next block has the same room */
    }
    return NULL;
}

static void run_blocks(block_work *work, const void *job, unsigned blocks, unsigned threads)
{
    static struct block_call calls[THREADS_MOST];
    pthread_t ids[THREADS_MOST];
    meeting_open(&block_meeting, threads);
    for (unsigned w = 0; w < threads / 32; w++)
        meeting_open(&warp_meetings[w], 32);
    for (unsigned i = 0; i < threads; i++) {
        calls[i] = (struct block_call){work, job, blocks, threads, i};
        if (pthread_create(&ids[i], NULL, block_run, &calls[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    meeting_close(&block_meeting);
    for (unsigned w = 0; w < threads / 32; w++)
        meeting_close(&warp_meetings[w]);
}

#endif
