/*
 * frame.h for a C compiler: a launch goes to the stream of an emulated device (tests/emulated),
 * which runs it block by block with ypk_run(). The threads of a block come one after the other;
 * with -DYPK_BY_THREADS they are threads of the CPU and barriers are barriers, so that
 * ThreadSanitizer sees a race where a GPU has one.
 */
#pragma once

#include <assert.h>
#include <yieldpoint/plugin.h>

#define YPK_FUNCTION static inline

/* -- kernels and launches ------------------------------------------------------------------- */

#define YPK_JOB_MAX 2048                   /* bytes of a job; CUDA's own limit is 4096 */
#define YPK_SHARED_MAX ((size_t)227 << 10) /* bytes of a block, of sm_90 */

struct ypk_grid {
    unsigned x, y;
};

/* One launch, as the stream keeps it until its turn. */
struct ypk_work {
    void (*run)(const struct ypk_work *work); /* ypk_run(), or what a test does instead */
    void (*kernel)(const void *job);          /* one block of it */
    const struct ypk_settings *settings;      /* the device's */
    struct ypk_grid grid;
    unsigned threads;
    size_t shared; /* bytes, dynamic */
    _Alignas(16) unsigned char job[YPK_JOB_MAX];
};

/* How blocks are run: their threads forwards, backwards, or, block by block in turn, forwards,
 * backwards and scattered. */
struct ypk_settings {
    enum ypk_order { YPK_FORWARDS, YPK_BACKWARDS, YPK_MIXED } order;
    int garbage; /* each byte of memory that is new */
    /* Counts blocks with dynamic shared memory; NULL: they are not counted. */
    unsigned *blocks;
};

/* What a native stream of an emulated device begins with. */
struct ypk_native_stream {
    /* Takes a copy of the work, with the device's settings. */
    void (*launch)(struct ypk_native_stream *stream, const struct ypk_work *work);
};

typedef struct ypk_native_stream *ypk_stream_type;

static inline ypk_stream_type ypk_stream(const struct yp_plugin_host *host,
                                         struct yp_device *device)
{
    return (ypk_stream_type)host->stream(device);
}

static inline struct ypk_grid ypk_grid(unsigned x, unsigned y)
{
    return (struct ypk_grid){x, y};
}

/* Of tests/emulated: ypk_run() is in_turn.c's or by_threads.c's. */
void ypk_run(const struct ypk_work *work);
void ypk_launch(ypk_stream_type stream, void (*kernel)(const void *job), struct ypk_grid grid,
                unsigned threads, size_t shared, const void *job, size_t bytes);
enum yp_status ypk_launched(const struct yp_plugin_host *host, const char *what);

#define YPK_KERNEL(name_, type_, job_, ...) \
    static void name_##_block(const type_ job_); \
    static void name_(const void *ypk_job) \
    { \
        static_assert(sizeof(type_) <= YPK_JOB_MAX, "YPK_JOB_MAX is too small"); \
        name_##_block(*(const type_ *)ypk_job); \
    } \
    static void name_##_block(const type_ job_)

#define YPK_KERNEL_CONSTANT YPK_KERNEL
#define YPK_KERNEL_TYPE(name_, type_) typedef void name_(const void *job)

#define YPK_LAUNCH(kernel_, grid_, threads_, shared_, stream_, job_) \
    ypk_launch(stream_, kernel_, grid_, threads_, shared_, &(job_), sizeof(job_))

/* Which block it is, of which launch. */
struct ypk_where {
    const struct ypk_work *work;
    struct ypk_grid block;
    void *shared;
};

#define YPK_BLOCK_X (ypk_where.block.x)
#define YPK_BLOCK_Y (ypk_where.block.y)
#define YPK_GRID_X (ypk_where.work->grid.x)
#define YPK_THREADS (ypk_where.work->threads)
#define YPK_INDEX(t_) ((size_t)YPK_BLOCK_X * YPK_THREADS + (t_))

static inline enum yp_status ypk_allow_shared(const struct yp_plugin_host *host,
                                              void (*kernel)(const void *job), size_t bytes,
                                              const char *what)
{
    (void)kernel;
    if (bytes <= YPK_SHARED_MAX)
        return YP_OK;
    return host->set_error(YP_UNSUPPORTED,
                           "%s: %zu bytes of shared memory, a block has at most %zu", what, bytes,
                           YPK_SHARED_MAX);
}

static inline enum yp_status ypk_prefer_shared(const struct yp_plugin_host *host,
                                               void (*kernel)(const void *job), const char *what)
{
    (void)host, (void)kernel, (void)what;
    return YP_OK;
}

static inline unsigned ypk_multiprocessors(void)
{
    return 3;
}

/* -- phases and memory ------------------------------------------------------------------------ */

void ypk_fill(void *memory, size_t bytes); /* with garbage */

#define YPK_SHARED(type_, name_) \
    static _Alignas(64) type_ name_; \
    ypk_fill_shared(&(name_), sizeof(name_))
#define YPK_SHARED_ARRAY(type_, name_, count_) \
    static _Alignas(64) type_ name_[count_]; \
    ypk_fill_shared(name_, sizeof(name_))
#define YPK_DYNAMIC(type_, name_) type_ *const name_ = ypk_where.shared
#define YPK_EVERY(t_) YPK_EACH (t_, YPK_THREADS)

#ifdef YPK_BY_THREADS

extern struct ypk_where ypk_where;
extern _Thread_local unsigned ypk_thread;

void ypk_block_barrier(void);
void ypk_warp_barrier(void);
void ypk_fill_shared(void *memory, size_t bytes); /* by one thread, before the others go on */

#define YPK_EACH(t_, count_) YPK_EACH_XOR (t_, count_, 0U)
#define YPK_EACH_XOR(t_, count_, by_) \
    for (unsigned t_ = ypk_thread ^ (by_), once_ = 1; once_ != 0 && t_ < (count_); once_ = 0)
#define YPK_WARPS(w_, count_) \
    for (unsigned w_ = ypk_thread / 32, once_ = 1; once_ != 0 && w_ < (count_); once_ = 0)
#define YPK_LANES(l_) \
    for (unsigned l_ = ypk_thread % 32, more_ = 1; more_ != 0 && l_ < 32; more_ = 0)
#define YPK_OWN(t_) 0
#define YPK_PRIVATE(type_, name_, threads_) \
    type_ name_[1]; \
    ypk_fill(name_, sizeof(name_))

#else

extern struct ypk_where ypk_where;
extern enum ypk_order ypk_order; /* of the block that runs; for YPK_MIXED: its own */

enum { YPK_SCATTER = 97 }; /* a prime, so that few counts are its multiples */

/* Which thread comes at that turn. */
static inline unsigned ypk_turn(unsigned at, unsigned count)
{
    if (ypk_order == YPK_MIXED && count % YPK_SCATTER != 0)
        return (at * YPK_SCATTER + 33) % count;
    return ypk_order == YPK_FORWARDS ? at : count - 1 - at;
}

static inline void ypk_block_barrier(void)
{
}

static inline void ypk_warp_barrier(void)
{
}

static inline void ypk_fill_shared(void *memory, size_t bytes)
{
    ypk_fill(memory, bytes);
}

#define YPK_EACH(t_, count_) YPK_EACH_XOR (t_, count_, 0U)
#define YPK_EACH_XOR(t_, count_, by_) \
    for (unsigned t_##_at = 0, t_##_is = ypk_turn(0, count_), t_ = t_##_is ^ (by_); \
         t_##_at < (count_) && t_ < (count_); \
         t_##_at++, t_##_is = ypk_turn(t_##_at, count_), t_ = t_##_is ^ (by_))
#define YPK_WARPS(w_, count_) YPK_EACH (w_, count_)
#define YPK_LANES(l_) YPK_EACH (l_, 32U)
#define YPK_OWN(t_) (t_##_is) /* the thread itself, whatever number it goes by */
#define YPK_PRIVATE(type_, name_, threads_) \
    static type_ name_[threads_]; \
    ypk_fill(name_, sizeof(name_))

#endif

/* Copies to shared memory; until they are waited for there is garbage. */
void ypk_copy(float *to, const float *from, unsigned words);
void ypk_commit(unsigned t);
void ypk_wait(unsigned t, unsigned pending);

static inline void ypk_load_four(const float *from, float *to)
{
    memcpy(to, from, 4 * sizeof *to);
}

static inline void ypk_store_four(float *to, const float *from)
{
    memcpy(to, from, 4 * sizeof *to);
}

static inline void ypk_set_flag(unsigned *flag)
{
    __atomic_store_n(flag, 1U, __ATOMIC_RELAXED);
}

/* -- arithmetic ------------------------------------------------------------------------------- */

#define YPK_UNROLL(n_)
#define YPK_INFINITY INFINITY
#define YPK_NAN NAN

static inline bool ypk_finite(float x)
{
    return isfinite(x);
}

#define ypk_add(a_, b_) ((a_) + (b_))
#define ypk_sub(a_, b_) ((a_) - (b_))
#define ypk_mul(a_, b_) ((a_) * (b_))
#define ypk_div(a_, b_) ((a_) / (b_))
#define ypk_root(a_) sqrtf(a_)
