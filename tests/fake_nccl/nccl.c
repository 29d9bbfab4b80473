/* A library of NCCL's that is made up, for the emulated device (tests/emulated): processes of one
 * machine that exchange data through memory which they share. An operation is done when its stream
 * comes to it. Sums begin with the last rank, so that nobody takes them for sums in the order of
 * ranks. What the two ends of a transfer call otherwise ends the process with a message.
 *
 * Where another rank is gone the stream is as one whose kernel never ends: what it is given later
 * is not done, until the communicator is aborted.
 *
 * FAKE_NCCL names what it should be like, words apart by blanks:
 *     version=N     [23003]
 *     progress=N    a call is under way for so many looks [0]
 *     silent=N      rank N's initialisation never ends
 *     init=N        it fails with that result
 *     fails=N       operation N (from 1) fails: it was not called as it must be
 *     async=N       operation N is accepted, and then fails with the way to another rank
 *     rank=N        the last three are rank N's alone
 *     log=FOLDER    each rank writes its calls to FOLDER/N
 */
#include "device/cuda/frame.h"
#include "ranks/nccl/library.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 8, CHUNK = 1 << 16, WHAT = 64, TRANSFERS = 256, VERSION = 23003 };
#define PATIENCE_SECONDS 60
#define EXPORTED __attribute__((visibility("default")))

/* From one rank to another: one chunk at a time. */
struct channel {
    atomic_uint full; /* bytes; 0: none */
    char what[WHAT];  /* the call that it is part of */
    char data[CHUNK];
};
struct world {
    atomic_int pid[RANKS]; /* 0: it has not come, -1: it has left */
    struct channel from[RANKS][RANKS];
};

struct comm {
    struct world *world;
    int rank, size;
    int others[RANKS];              /* files that tell when a process has ended */
    int looks;                      /* for which it is still under way */
    int state;                      /* a result */
    struct ypk_native_stream *held; /* by a kernel that never ends; NULL: none is */
    FILE *log;
};

/* -- what it should be like ----------------------------------------------------------------------
 */

static long number(const char *name, long otherwise)
{
    const size_t length = strlen(name);
    for (const char *at = getenv("FAKE_NCCL"); at != NULL && *at != '\0';) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return atol(at + length + 1);
        at += strcspn(at, " ");
    }
    return otherwise;
}

static bool is_meant(int rank)
{
    const long meant = number("rank", -1);
    return meant < 0 || meant == rank;
}

static FILE *log_of(int rank)
{
    const char *at = getenv("FAKE_NCCL");
    char path[512];
    at = at != NULL ? strstr(at, "log=") : NULL;
    if (at == NULL)
        return NULL;
    at += strlen("log=");
    snprintf(path, sizeof path, "%.*s/%d", (int)strcspn(at, " "), at, rank);
    return fopen(path, "ae");
}

static void write_log(const struct comm *c, const char *what, const void *stream)
{
    if (c->log == NULL)
        return;
    fprintf(c->log, "%s", what);
    if (stream != NULL)
        fprintf(c->log, " on %p", stream);
    fprintf(c->log, "\n");
    fflush(c->log);
}

__attribute__((noreturn)) static void stop(const char *what, const char *mine, const char *theirs)
{
    fprintf(stderr, "the made-up NCCL: %s: %s and %s\n", what, mine, theirs);
    abort();
}

/* -- transfers -----------------------------------------------------------------------------------
 */

struct transfer {
    bool sends;
    int peer;
    char *at;
    size_t bytes, done;
    char what[WHAT];
};

/* What is combined once all has arrived. */
struct sum {
    int type, op;
    size_t count;
    void *to;
    const void *of[RANKS]; /* of each rank */
    void *buffer;          /* that is freed */
};

struct group {
    struct comm *comm;
    struct ypk_native_stream *stream;
    struct transfer list[TRANSFERS];
    int count;
    struct sum sum;
    struct {
        void *to;
        const void *from;
        size_t bytes;
    } copy; /* the rank's own */
};

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_gone(const struct comm *c, int rank)
{
    struct pollfd file = {.fd = c->others[rank], .events = POLLIN};
    return atomic_load(&c->world->pid[rank]) < 0 || poll(&file, 1, 0) > 0;
}

/* Whether something was moved. */
static bool move(struct comm *c, struct transfer *t)
{
    struct channel *channel =
        t->sends ? &c->world->from[c->rank][t->peer] : &c->world->from[t->peer][c->rank];
    const unsigned full = atomic_load(&channel->full);
    const size_t left = t->bytes - t->done;
    if ((full > 0) == t->sends)
        return false;
    const size_t bytes = !t->sends ? full : left < CHUNK ? left : CHUNK;
    if (t->sends)
        memcpy(channel->what, t->what, WHAT);
    if (strcmp(channel->what, t->what) != 0 || bytes > left)
        stop("two ranks call otherwise", t->what, channel->what);
    if (t->sends)
        memcpy(channel->data, t->at + t->done, bytes);
    else
        memcpy(t->at + t->done, channel->data, bytes);
    atomic_store(&channel->full, t->sends ? (unsigned)bytes : 0);
    t->done += bytes;
    return true;
}

/* Those of a pair go one after the other. */
static bool is_first(const struct group *g, int i)
{
    for (int k = 0; k < i; k++)
        if (g->list[k].peer == g->list[i].peer && g->list[k].sends == g->list[i].sends &&
            g->list[k].done < g->list[k].bytes)
            return false;
    return true;
}

static bool exchange(struct group *g)
{
    const double begun = seconds_now();
    for (;;) {
        bool moved = false;
        int missing = -1;
        for (int i = 0; i < g->count; i++) {
            struct transfer *t = &g->list[i];
            if (t->done == t->bytes || !is_first(g, i))
                continue;
            missing = t->peer;
            moved |= move(g->comm, t);
        }
        if (missing < 0)
            return true;
        if (!moved && (is_gone(g->comm, missing) || seconds_now() - begun > PATIENCE_SECONDS))
            return false;
        if (!moved)
            usleep(20);
    }
}

static size_t size_of(int type)
{
    return type == YPK_NCCL_INT8 ? 1 : type == YPK_NCCL_FLOAT32 ? 4 : 8;
}

#define COMBINE(name_, type_) \
    static type_ name_(type_ a, type_ b, int op) \
    { \
        return op == YPK_NCCL_SUM   ? a + b \
               : op == YPK_NCCL_MAX ? (a > b ? a : b) \
                                    : (a < b ? a : b); \
    } \
    static void name_##s(const struct sum *s, int size) \
    { \
        for (size_t i = 0; i < s->count; i++) { \
            type_ all = ((const type_ *)s->of[size - 1])[i]; \
            for (int rank = size - 2; rank >= 0; rank--) \
                all = name_(all, ((const type_ *)s->of[rank])[i], op_of_sum(s)); \
            ((type_ *)s->to)[i] = all; \
        } \
    }

static int op_of_sum(const struct sum *s)
{
    return s->op;
}

COMBINE(combine_float, float)
COMBINE(combine_double, double)
COMBINE(combine_int64, int64_t)

static void hold(struct ypk_native_stream *stream, const struct ypk_work *work)
{
    (void)stream;
    (void)work;
}

/* As the stream's work. */
static void carry_out(const struct ypk_work *work)
{
    struct group *g;
    memcpy(&g, work->job, sizeof g);
    if (g->copy.bytes > 0)
        memmove(g->copy.to, g->copy.from, g->copy.bytes);
    if (!exchange(g)) {
        g->comm->held = g->stream;
        g->stream->launch = hold;
    } else if (g->sum.count > 0) {
        if (g->sum.type == YPK_NCCL_FLOAT32)
            combine_floats(&g->sum, g->comm->size);
        else if (g->sum.type == YPK_NCCL_FLOAT64)
            combine_doubles(&g->sum, g->comm->size);
        else
            combine_int64s(&g->sum, g->comm->size);
    }
    free(g->sum.buffer);
    free(g);
}

static void launch(struct group *g)
{
    static struct ypk_work work;
    work.run = carry_out;
    *(struct group **)(void *)work.job = g;
    g->stream->launch(g->stream, &work);
}

/* -- groups --------------------------------------------------------------------------------------
 */

static struct group *open_group; /* between start and end; NULL: none, or nothing in it yet */
static int depth;

static struct group *group_of(struct comm *c, void *stream)
{
    if (depth > 0 && open_group != NULL)
        return open_group;
    struct group *g = calloc(1, sizeof *g);
    if (g == NULL)
        abort();
    g->comm = c;
    g->stream = stream;
    if (depth > 0)
        open_group = g;
    return g;
}

static void add(struct group *g, bool sends, int peer, const void *at, size_t bytes,
                const char *what)
{
    if (g->count == TRANSFERS)
        abort();
    struct transfer *t = &g->list[g->count++];
    *t = (struct transfer){.sends = sends, .peer = peer, .bytes = bytes};
    t->at = (char *)(uintptr_t)at;
    snprintf(t->what, sizeof t->what, "%s", what);
}

static int operations; /* so far */

/* What comes of a call before anything is done. */
static int begin(struct comm *c, const char *what, const void *stream)
{
    operations++;
    write_log(c, what, stream);
    if (stream == NULL)
        return YPK_NCCL_INVALID_ARGUMENT;
    if (is_meant(c->rank) && number("fails", 0) == operations)
        return YPK_NCCL_INVALID_USAGE;
    if (is_meant(c->rank) && number("async", 0) == operations)
        c->state = YPK_NCCL_REMOTE_ERROR;
    if (c->state != YPK_NCCL_SUCCESS || depth > 0)
        return YPK_NCCL_SUCCESS;
    c->looks = (int)number("progress", 0);
    return c->looks > 0 ? YPK_NCCL_IN_PROGRESS : YPK_NCCL_SUCCESS;
}

static bool goes_on(const struct comm *c, int result)
{
    return (result == YPK_NCCL_SUCCESS || result == YPK_NCCL_IN_PROGRESS) &&
           c->state == YPK_NCCL_SUCCESS;
}

EXPORTED int ncclGroupStart(void)
{
    depth++;
    return YPK_NCCL_SUCCESS;
}

EXPORTED int ncclGroupEnd(void)
{
    struct group *g = open_group;
    if (depth == 0)
        return YPK_NCCL_INVALID_USAGE;
    depth--;
    open_group = NULL;
    if (g == NULL)
        return YPK_NCCL_SUCCESS;
    struct comm *c = g->comm;
    write_log(c, "end of a group", NULL);
    if (c->state == YPK_NCCL_SUCCESS) {
        launch(g);
        c->looks = (int)number("progress", 0);
    }
    return c->looks > 0 ? YPK_NCCL_IN_PROGRESS : YPK_NCCL_SUCCESS;
}

/* -- the library's functions ------------------------------------------------------------------- */

EXPORTED int ncclGetVersion(int *version)
{
    *version = (int)number("version", VERSION);
    return YPK_NCCL_SUCCESS;
}

EXPORTED const char *ncclGetErrorString(int result)
{
    static const char *const texts[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote process exited",  "in progress"};
    return texts[result];
}

EXPORTED const char *ncclGetLastError(const struct comm *c)
{
    return c != NULL ? "" : "made up";
}

/* The memory is a file that rank 0 has open, and that others open by its name. */
EXPORTED int ncclGetUniqueId(struct ypk_nccl_id *out)
{
    const int fd = memfd_create("fake-nccl", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(struct world)) != 0)
        return YPK_NCCL_SYSTEM_ERROR;
    memset(out, 0, sizeof *out);
    snprintf(out->bytes, sizeof out->bytes, "/proc/%d/fd/%d", (int)getpid(), fd);
    return YPK_NCCL_SUCCESS;
}

static int come(struct comm *c, const struct ypk_nccl_id *id)
{
    const double begun = seconds_now();
    FILE *file = fopen(id->bytes, "r+e");
    if (file == NULL)
        return YPK_NCCL_SYSTEM_ERROR;
    c->world = mmap(NULL, sizeof *c->world, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    fclose(file);
    if (c->world == MAP_FAILED)
        return YPK_NCCL_SYSTEM_ERROR;
    atomic_store(&c->world->pid[c->rank], (int)getpid());
    for (int rank = 0; rank < c->size; rank++) {
        while (atomic_load(&c->world->pid[rank]) == 0 && seconds_now() - begun < 1)
            usleep(20);
        const int pid = atomic_load(&c->world->pid[rank]);
        if (pid == 0)
            return YPK_NCCL_IN_PROGRESS; /* it will never be there */
        c->others[rank] = (int)syscall(SYS_pidfd_open, pid, 0);
    }
    return YPK_NCCL_SUCCESS;
}

EXPORTED int ncclCommInitRankConfig(struct comm **out, int size, struct ypk_nccl_id id, int rank,
                                    const struct ypk_nccl_config *config)
{
    struct comm *c = calloc(1, sizeof *c);
    *out = NULL;
    if (c == NULL || size > RANKS || rank < 0 || rank >= size || config->magic != YPK_NCCL_MAGIC ||
        config->size < sizeof *config || config->blocking != 0) {
        free(c);
        return YPK_NCCL_INVALID_ARGUMENT;
    }
    c->rank = rank;
    c->size = size;
    c->log = log_of(rank);
    if (is_meant(rank) && number("init", 0) > 0) {
        free(c);
        return (int)number("init", 0);
    }
    *out = c;
    c->state = number("silent", -1) == rank ? (int)YPK_NCCL_IN_PROGRESS : come(c, &id);
    c->looks = (int)number("progress", 0);
    return YPK_NCCL_IN_PROGRESS;
}

EXPORTED int ncclCommGetAsyncError(struct comm *c, int *result)
{
    *result = c->looks > 0 ? (int)YPK_NCCL_IN_PROGRESS : c->state;
    c->looks -= c->looks > 0;
    return YPK_NCCL_SUCCESS;
}

static void end(struct comm *c)
{
    if (c->world != NULL)
        atomic_store(&c->world->pid[c->rank], -1);
    for (int rank = 0; rank < c->size; rank++)
        if (c->others[rank] > 0)
            close(c->others[rank]);
    if (c->log != NULL)
        fclose(c->log);
    free(c);
}

EXPORTED int ncclCommFinalize(struct comm *c)
{
    write_log(c, "finalize", NULL);
    return c->state;
}

EXPORTED int ncclCommDestroy(struct comm *c)
{
    write_log(c, "destroy", NULL);
    end(c);
    return YPK_NCCL_SUCCESS;
}

static void (*launch_of_stream)(struct ypk_native_stream *, const struct ypk_work *);

EXPORTED int ncclCommAbort(struct comm *c)
{
    write_log(c, "abort", NULL);
    if (c->held != NULL)
        c->held->launch = launch_of_stream;
    end(c);
    return YPK_NCCL_SUCCESS;
}

static const char *type_text(int type)
{
    return type == YPK_NCCL_INT8      ? "int8"
           : type == YPK_NCCL_INT64   ? "int64"
           : type == YPK_NCCL_FLOAT32 ? "float32"
                                      : "float64";
}

static const char *op_text(int op)
{
    return op == YPK_NCCL_SUM ? "sum" : op == YPK_NCCL_MAX ? "max" : "min";
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): a group is its stream's work, which frees it. */

/* Done at once where it is in no group. */
static void finish(struct group *g)
{
    launch_of_stream = g->stream->launch != hold ? g->stream->launch : launch_of_stream;
    if (depth == 0)
        launch(g);
}

EXPORTED int ncclSend(const void *from, size_t count, int type, int peer, struct comm *c,
                      void *stream)
{
    char what[WHAT];
    snprintf(what, sizeof what, "send %zu %s to %d", count, type_text(type), peer);
    const int result = begin(c, what, stream);
    if (!goes_on(c, result))
        return result;
    snprintf(what, sizeof what, "message %zu %s", count, type_text(type));
    struct group *g = group_of(c, stream);
    add(g, true, peer, from, count * size_of(type), what);
    finish(g);
    return result;
}

EXPORTED int ncclRecv(void *to, size_t count, int type, int peer, struct comm *c, void *stream)
{
    char what[WHAT];
    snprintf(what, sizeof what, "receive %zu %s from %d", count, type_text(type), peer);
    const int result = begin(c, what, stream);
    if (!goes_on(c, result))
        return result;
    snprintf(what, sizeof what, "message %zu %s", count, type_text(type));
    struct group *g = group_of(c, stream);
    add(g, false, peer, to, count * size_of(type), what);
    finish(g);
    return result;
}

EXPORTED int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                           struct comm *c, void *stream)
{
    char what[WHAT];
    snprintf(what, sizeof what, "broadcast %zu %s from %d", count, type_text(type), root);
    const int result = begin(c, what, stream);
    if (!goes_on(c, result))
        return result;
    struct group *g = group_of(c, stream);
    for (int rank = 0; rank < c->size && c->rank == root; rank++)
        if (rank != root)
            add(g, true, rank, from, count * size_of(type), what);
    if (c->rank != root)
        add(g, false, root, to, count * size_of(type), what);
    finish(g);
    return result;
}

EXPORTED int ncclAllGather(const void *from, void *to, size_t count, int type, struct comm *c,
                           void *stream)
{
    const size_t bytes = count * size_of(type);
    char what[WHAT];
    snprintf(what, sizeof what, "all-gather %zu %s", count, type_text(type));
    const int result = begin(c, what, stream);
    if (!goes_on(c, result))
        return result;
    struct group *g = group_of(c, stream);
    char *own = (char *)to + (size_t)c->rank * bytes;
    g->copy.to = own;
    g->copy.from = from;
    g->copy.bytes = bytes;
    for (int rank = 0; rank < c->size; rank++)
        if (rank != c->rank) {
            add(g, true, rank, own, bytes, what);
            add(g, false, rank, (char *)to + (size_t)rank * bytes, bytes, what);
        }
    finish(g);
    return result;
}

/* `count` elements of each rank's array from `first` of each rank on: the others' into a buffer. */
static void add_sum(struct group *g, const char *from, size_t count, int type, int op, bool parts,
                    void *to, const char *what)
{
    const struct comm *c = g->comm;
    const size_t bytes = count * size_of(type);
    char *buffer = malloc(bytes * (size_t)c->size);
    if (buffer == NULL)
        abort();
    g->sum = (struct sum){.type = type, .op = op, .count = count, .to = to, .buffer = buffer};
    for (int rank = 0; rank < c->size; rank++) {
        char *theirs = buffer + (size_t)rank * bytes;
        g->sum.of[rank] = theirs;
        if (rank == c->rank) {
            g->copy.to = theirs;
            g->copy.from = from + (parts ? (size_t)rank * bytes : 0);
            g->copy.bytes = bytes;
            continue;
        }
        add(g, true, rank, from + (parts ? (size_t)rank * bytes : 0), bytes, what);
        add(g, false, rank, theirs, bytes, what);
    }
}

EXPORTED int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                           struct comm *c, void *stream)
{
    char what[WHAT];
    snprintf(what, sizeof what, "all-reduce %zu %s %s", count, type_text(type), op_text(op));
    const int result = begin(c, what, stream);
    if (!goes_on(c, result))
        return result;
    struct group *g = group_of(c, stream);
    add_sum(g, from, count, type, op, false, to, what);
    finish(g);
    return result;
}

EXPORTED int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
                               struct comm *c, void *stream)
{
    char what[WHAT];
    snprintf(what, sizeof what, "reduce-scatter %zu %s %s", count, type_text(type), op_text(op));
    const int result = begin(c, what, stream);
    if (!goes_on(c, result))
        return result;
    struct group *g = group_of(c, stream);
    add_sum(g, from, count, type, op, true, to, what);
    finish(g);
    return result;
}

/* NOLINTEND(clang-analyzer-unix.Malloc) */
