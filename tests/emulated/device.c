/* Memory and streams of the emulated device. */
#include "tests/emulated/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define GARBAGE_MAX ((size_t)1 << 24) /* of one block: large ones would take long */
#define BLOCKS ((size_t)4096)

struct emulated emulated = {.kernels = {.garbage = EMULATED_LARGE, .blocks = &emulated.blocks}};

static struct emulated_block blocks[BLOCKS];
static size_t blocks_used; /* those behind are free */

static void stop_unless(bool fine, const char *why)
{
    if (fine)
        return;
    fprintf(stderr, "the emulated device: %s\n", why);
    abort();
}

/* -- memory ---------------------------------------------------------------------------------- */

void emulated_reach(bool can)
{
    for (size_t i = 0; i < blocks_used; i++)
        if (blocks[i].at != NULL && !emulated.unprotected)
            mprotect(blocks[i].at, blocks[i].reachable, can ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool emulated_has(const void *from, size_t bytes)
{
    const char *at = from;
    for (size_t i = 0; i < blocks_used; i++)
        if (blocks[i].at != NULL && at >= blocks[i].at &&
            at + bytes <= blocks[i].at + blocks[i].bytes)
            return true;
    return false;
}

struct emulated_block *emulated_block(const void *at)
{
    for (size_t i = 0; i < blocks_used; i++)
        if (blocks[i].at == at)
            return &blocks[i];
    return NULL;
}

static size_t pages_of(size_t bytes)
{
    return (bytes + EMULATED_PAGE - 1) / EMULATED_PAGE * EMULATED_PAGE;
}

void *emulated_take(size_t bytes)
{
    size_t i = 0, pages = pages_of(bytes);
    while (i < blocks_used && blocks[i].at != NULL)
        i++;
    void *at = i == BLOCKS ? MAP_FAILED
                           : mmap(NULL, pages, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    memset(at, emulated.kernels.garbage, bytes < GARBAGE_MAX ? bytes : GARBAGE_MAX);
    if (!emulated.unprotected)
        mprotect(at, pages, PROT_NONE);
    blocks_used += i == blocks_used;
    blocks[i] = (struct emulated_block){at, bytes, pages, false};
    return at;
}

size_t emulated_give(void *block)
{
    struct emulated_block *b = emulated_block(block);
    stop_unless(block != NULL && b != NULL, "what is given back is no block of its memory");
    emulated_run_all();
    munmap(block, pages_of(b->bytes));
    b->at = NULL;
    return b->bytes;
}

/* -- streams ---------------------------------------------------------------------------------- */

static void carry_out(const struct emulated_work *w)
{
    if (w->kind == EMULATED_WAIT)
        return;
    emulated_reach(true);
    if (w->kind == EMULATED_LAUNCH)
        w->launch.run(&w->launch);
    else
        memcpy(w->to, w->from, w->bytes);
    emulated_reach(false);
}

/* The work of that stream up to there, with what it waits for; `force` false: not that. */
static void run(int stream, size_t to, bool force)
{
    struct emulated_stream *s = &emulated.streams[stream];
    while (s->done < to) {
        const struct emulated_work *w = &s->queue[s->done % EMULATED_QUEUE];
        if (w->kind == EMULATED_WAIT && emulated.streams[w->stream].done < w->at) {
            if (!force)
                return;
            run(w->stream, w->at, true);
        }
        carry_out(w);
        s->done++;
    }
}

void emulated_run(int stream, size_t to)
{
    run(stream, to, true);
}

void emulated_run_all(void)
{
    for (int i = 0; i < EMULATED_STREAMS; i++)
        run(i, emulated.streams[i].given, true);
}

/* The next place of a stream's queue. */
static struct emulated_work *place(int stream)
{
    struct emulated_stream *s = &emulated.streams[stream];
    if (s->queue == NULL)
        s->queue = calloc(EMULATED_QUEUE, sizeof *s->queue);
    stop_unless(s->queue != NULL && s->given - s->done < EMULATED_QUEUE, "too much work waits");
    return &s->queue[s->given % EMULATED_QUEUE];
}

/* What was put there is the stream's. */
static void given(int stream)
{
    struct emulated_stream *s = &emulated.streams[stream];
    s->given++;
    for (int i = 1; i < EMULATED_STREAMS && emulated.order == EMULATED_EARLY; i++)
        run(i, emulated.streams[i].given, false);
    if (emulated.order == EMULATED_AT_ONCE ||
        (emulated.order == EMULATED_KERNELS_FIRST && stream == 0))
        run(stream, s->given, true);
}

void emulated_copy(int stream, void *to, const void *from, size_t bytes)
{
    stop_unless(emulated_has(to, bytes) || emulated_has(from, bytes),
                "a copy of which neither side is its memory");
    struct emulated_work *w = place(stream);
    w->kind = EMULATED_COPY;
    w->to = to;
    w->from = from;
    w->bytes = bytes;
    given(stream);
}

void emulated_wait(int stream, int other, size_t at)
{
    struct emulated_work *w = place(stream);
    w->kind = EMULATED_WAIT;
    w->stream = other;
    w->at = at;
    given(stream);
}

static void launch(struct ypk_native_stream *native, const struct ypk_work *work)
{
    int stream = emulated_stream_number(native);
    struct emulated_work *w = place(stream);
    w->kind = EMULATED_LAUNCH;
    w->launch = *work;
    w->launch.settings = &emulated.kernels;
    given(stream);
}

static void call(const struct ypk_work *work)
{
    work->kernel(work->job);
}

void emulated_call(int stream, void (*function)(const void *job), const void *job, size_t bytes)
{
    static struct ypk_work work = {.run = call};
    stop_unless(bytes <= sizeof work.job, "a job that is too large");
    work.kernel = function;
    memcpy(work.job, job, bytes);
    launch(&emulated.streams[stream].native, &work);
}

int emulated_stream_number(const struct ypk_native_stream *stream)
{
    return (int)((const struct emulated_stream *)stream - emulated.streams);
}

/* What was done of the one that was there before stays so. */
int emulated_stream_open(void)
{
    int i = 1;
    while (i < EMULATED_STREAMS && emulated.streams[i].open)
        i++;
    if (i == EMULATED_STREAMS)
        return -1;
    emulated.streams[i].open = true;
    return i;
}

void emulated_stream_close(int stream)
{
    struct emulated_stream *s = &emulated.streams[stream];
    stop_unless(s->done == s->given, "a stream is destroyed that has work");
    free(s->queue);
    s->queue = NULL;
    s->open = false;
}

__attribute__((constructor)) static void connect(void)
{
    for (int i = 0; i < EMULATED_STREAMS; i++)
        emulated.streams[i].native.launch = launch;
}
