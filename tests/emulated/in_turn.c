/* Blocks of a kernel one after the other, and each block's threads. */
#include "device/cuda/frame.h"

#include <stdio.h>
#include <stdlib.h>

enum ypk_order ypk_order;

/* -- copies into shared memory -------------------------------------------------------------- */

enum { COPIES_MAX = 1 << 18, THREADS_MAX = 1024 };
static struct {
    float *to;
    const float *from;
    unsigned words, thread;
    unsigned group; /* of its thread */
    bool arrived;
} copies[COPIES_MAX];
static size_t copies_made, copies_open; /* open: from here on not in a group yet */
static unsigned groups[THREADS_MAX];    /* of each thread, so far */

static void stop_unless(bool fine, const char *why)
{
    if (fine)
        return;
    fprintf(stderr, "a kernel on the emulated device: %s\n", why);
    abort();
}

void ypk_copy(float *to, const float *from, unsigned words)
{
    stop_unless(copies_made < COPIES_MAX, "too many copies on their way");
    stop_unless((uintptr_t)to % (4 * words) == 0 && (uintptr_t)from % (4 * words) == 0,
                "a copy between addresses that are no multiples of its size");
    copies[copies_made].to = to;
    copies[copies_made].from = from;
    copies[copies_made].words = words;
    copies[copies_made++].arrived = false;
    ypk_fill(to, words * sizeof *to);
}

void ypk_commit(unsigned t)
{
    groups[t]++;
    for (; copies_open < copies_made; copies_open++) {
        copies[copies_open].thread = t;
        copies[copies_open].group = groups[t];
    }
}

void ypk_wait(unsigned t, unsigned pending)
{
    size_t waiting = 0;
    for (size_t i = 0; i < copies_made; i++) {
        if (!copies[i].arrived && copies[i].thread == t && copies[i].group + pending <= groups[t]) {
            memcpy(copies[i].to, copies[i].from, copies[i].words * sizeof(float));
            copies[i].arrived = true;
        }
        waiting += !copies[i].arrived;
    }
    if (waiting == 0)
        copies_made = copies_open = 0;
}

/* -- blocks ---------------------------------------------------------------------------------- */

static enum ypk_order order_of(enum ypk_order order, unsigned block)
{
    static const enum ypk_order all[] = {YPK_BACKWARDS, YPK_MIXED, YPK_FORWARDS};
    return order == YPK_MIXED ? all[block % 3] : order;
}

void ypk_run(const struct ypk_work *work)
{
    const struct ypk_settings *settings = work->settings;
    void *shared = NULL; /* to the byte: a sanitizer sees who goes beyond it */
    stop_unless(posix_memalign(&shared, 64, work->shared > 0 ? work->shared : 1) == 0,
                "out of memory");
    ypk_where = (struct ypk_where){.work = work, .shared = shared};
    for (unsigned y = 0; y < work->grid.y; y++)
        for (unsigned x = 0; x < work->grid.x; x++) {
            ypk_where.block = (struct ypk_grid){x, y};
            ypk_order = order_of(settings->order, y * work->grid.x + x);
            ypk_fill(shared, work->shared);
            if (work->shared > 0 && settings->blocks != NULL)
                ++*settings->blocks;
            work->kernel(work->job);
            /* They would arrive in another block's memory. */
            stop_unless(copies_made == 0, "copies were not waited for");
        }
    free(shared);
}
