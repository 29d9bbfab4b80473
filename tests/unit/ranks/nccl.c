/* Devices of several ranks on a library of NCCL's that is made up (tests/fake_nccl), with the
 * plugin's own code and kernels on the emulated device: what operations come to, which calls are
 * made, and what each failure is told as. */
#include "tests/emulated/device.h"
#include "tests/unit/ranks/processes.h"

#include "ranks/nccl/devices.h"

#include <math.h>

enum { COUNTS = 4, MOST = 40001 };
static const size_t counts[COUNTS] = {1, 5, 997, MOST}; /* the last one in several chunks */

/* A device's array and one of the host. */
struct array {
    char *there, *here;
    size_t bytes;
};

static struct array array_of(size_t bytes)
{
    const struct array a = {yp_device_alloc(emulated_device(), bytes), malloc(bytes), bytes};
    if (a.there == NULL || a.here == NULL)
        abort();
    return a;
}

static void array_free(struct array *a)
{
    yp_device_free(emulated_device(), a->there);
    free(a->here);
}

static enum yp_status give(const struct array *a)
{
    return yp_device_copy(emulated_device(), a->there, a->here, a->bytes);
}

static enum yp_status take(struct ypk_devices *d, const struct array *a)
{
    const enum yp_status status = ypk_devices_wait(d);
    return status == YP_OK ? yp_device_copy(emulated_device(), a->here, a->there, a->bytes)
                           : status;
}

/* Of which float and double keep no exact sum. */
static void fill(void *values, size_t count, enum ypk_type type, int rank)
{
    for (size_t i = 0; i < count; i++) {
        const double x = ldexp(1 + (double)((i * 7 + (size_t)rank * 13) % 101) / 101,
                               (int)((i + (size_t)rank * 5) % 60)) *
                         ((i + (size_t)rank) % 2 == 0 ? 1 : -1);
        if (type == YPK_FLOAT)
            ((float *)values)[i] = (float)x;
        else if (type == YPK_DOUBLE)
            ((double *)values)[i] = x;
        else
            ((int64_t *)values)[i] = (int64_t)(i * 3) - rank * 1000;
    }
}

/* -- what operations come to ----------------------------------------------------------------------
 */

struct sums {
    struct ypk_communicator *c;
    struct ypk_devices *d;
    enum ypk_type type;
    enum ypk_op op;
    size_t count;
    size_t other; /* sums of NCCL's that are not those in the order of ranks */
};

static enum yp_status differ(const char *what, const struct sums *s)
{
    return yp_set_error(YP_INVALID, "%s of %zu: type %d, operation %d", what, s->count,
                        (int)s->type, (int)s->op);
}

/* Of the made-up library, whose sums begin at the last rank. */
static bool is_near(const struct sums *s, const char *a, const char *b, size_t i)
{
    if (s->op != YPK_SUM || s->type == YPK_INT64)
        return memcmp(a + i * ypk_type_size(s->type), b + i * ypk_type_size(s->type),
                      ypk_type_size(s->type)) == 0;
    const double x = s->type == YPK_FLOAT ? (double)((const float *)(const void *)a)[i]
                                          : ((const double *)(const void *)a)[i];
    const double y = s->type == YPK_FLOAT ? (double)((const float *)(const void *)b)[i]
                                          : ((const double *)(const void *)b)[i];
    return fabs(x - y) <= ldexp(1, 62) * (s->type == YPK_FLOAT ? 0x1p-22 : 0x1p-51);
}

static enum yp_status all_reduces(struct sums *s)
{
    const size_t bytes = s->count * ypk_type_size(s->type);
    const int rank = ypk_rank(s->c);
    struct array fast = array_of(bytes), ordered = array_of(bytes);
    struct array scratch =
        array_of(ypk_devices_scratch(s->d, s->count) * ypk_type_size(s->type) + 1);
    char *right = malloc(bytes);
    fill(right, s->count, s->type, rank);
    memcpy(fast.here, right, bytes);
    memcpy(ordered.here, right, bytes);
    enum yp_status status = ypk_all_reduce(s->c, right, s->count, s->type, s->op);
    if (status == YP_OK)
        status = give(&fast);
    if (status == YP_OK)
        status = give(&ordered);
    if (status == YP_OK)
        status = ypk_devices_all_reduce(s->d, fast.there, s->count, s->type, s->op);
    if (status == YP_OK)
        status = ypk_devices_all_reduce_in_order(s->d, ordered.there, s->count, s->type, s->op,
                                                 scratch.there);
    if (status == YP_OK)
        status = take(s->d, &fast);
    if (status == YP_OK)
        status = take(s->d, &ordered);
    if (status == YP_OK && memcmp(ordered.here, right, bytes) != 0)
        status = differ("all-reduce in order", s);
    for (size_t i = 0; i < s->count && status == YP_OK; i++)
        if (!is_near(s, fast.here, right, i))
            status = differ("all-reduce", s);
    s->other += status == YP_OK && memcmp(fast.here, right, bytes) != 0;
    free(right);
    array_free(&fast);
    array_free(&ordered);
    array_free(&scratch);
    return status;
}

static enum yp_status reduce_scatters(struct sums *s)
{
    const size_t ranks = (size_t)ypk_size(s->c), each = ypk_type_size(s->type);
    const size_t bytes = s->count * each;
    struct array all = array_of(bytes * ranks), fast = array_of(bytes), ordered = array_of(bytes);
    struct array scratch = array_of(ypk_devices_scratch(s->d, s->count * ranks) * each + 1);
    char *right = malloc(bytes);
    fill(all.here, s->count * ranks, s->type, ypk_rank(s->c));
    enum yp_status status = ypk_reduce_scatter(s->c, all.here, s->count, right, s->type, s->op);
    if (status == YP_OK)
        status = give(&all);
    if (status == YP_OK)
        status = ypk_devices_reduce_scatter(s->d, all.there, s->count, fast.there, s->type, s->op);
    if (status == YP_OK)
        status = ypk_devices_reduce_scatter_in_order(s->d, all.there, s->count, ordered.there,
                                                     s->type, s->op, scratch.there);
    if (status == YP_OK)
        status = take(s->d, &fast);
    if (status == YP_OK)
        status = take(s->d, &ordered);
    if (status == YP_OK && memcmp(ordered.here, right, bytes) != 0)
        status = differ("reduce-scatter in order", s);
    for (size_t i = 0; i < s->count && status == YP_OK; i++)
        if (!is_near(s, fast.here, right, i))
            status = differ("reduce-scatter", s);
    free(right);
    array_free(&all);
    array_free(&fast);
    array_free(&ordered);
    array_free(&scratch);
    return status;
}

static enum yp_status gathers(struct sums *s)
{
    const int ranks = ypk_size(s->c), rank = ypk_rank(s->c);
    const size_t bytes = s->count * sizeof(float);
    struct array mine = array_of(bytes), all = array_of(bytes * (size_t)ranks);
    char *right = malloc(bytes * (size_t)ranks);
    fill(mine.here, s->count, YPK_FLOAT, rank);
    enum yp_status status = ypk_all_gather(s->c, mine.here, bytes, right);
    if (status == YP_OK)
        status = give(&mine);
    if (status == YP_OK)
        status = ypk_devices_all_gather(s->d, mine.there, bytes, all.there);
    if (status == YP_OK)
        status = take(s->d, &all);
    if (status == YP_OK && memcmp(all.here, right, bytes * (size_t)ranks) != 0)
        status = differ("all-gather", s);
    for (int root = 0; root < ranks && status == YP_OK; root++) {
        fill(mine.here, s->count, YPK_FLOAT, rank);
        fill(right, s->count, YPK_FLOAT, root);
        status = give(&mine);
        if (status == YP_OK)
            status = ypk_devices_broadcast(s->d, mine.there, bytes, root);
        if (status == YP_OK)
            status = take(s->d, &mine);
        if (status == YP_OK && memcmp(mine.here, right, bytes) != 0)
            status = differ("broadcast", s);
    }
    free(right);
    array_free(&mine);
    array_free(&all);
    return status;
}

/* Each rank to the next one, two messages at once. */
static enum yp_status messages(struct sums *s)
{
    const int ranks = ypk_size(s->c), rank = ypk_rank(s->c);
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    const size_t bytes = s->count * sizeof(float);
    struct array out = array_of(2 * bytes), in = array_of(2 * bytes);
    fill(out.here, 2 * s->count, YPK_FLOAT, rank);
    enum yp_status status = give(&out);
    if (status == YP_OK)
        status = ypk_devices_begin(s->d);
    for (size_t i = 0; i < 2 && status == YP_OK; i++) {
        status = ypk_devices_send(s->d, out.there + i * bytes, bytes, next);
        if (status == YP_OK)
            status = ypk_devices_receive(s->d, in.there + i * bytes, bytes, before);
    }
    if (status == YP_OK)
        status = ypk_devices_end(s->d);
    if (status == YP_OK)
        status = take(s->d, &in);
    fill(out.here, 2 * s->count, YPK_FLOAT, before);
    if (status == YP_OK && memcmp(in.here, out.here, 2 * bytes) != 0)
        status = differ("messages", s);
    array_free(&out);
    array_free(&in);
    return status;
}

static enum yp_status all_operations(struct ypk_communicator *c, void *argument)
{
    struct sums s = {.c = c};
    const size_t before = emulated.pinned;
    struct yp_memory memory;
    (void)argument;
    enum yp_status status = ypk_devices_join(&s.d, c, emulated_device());
    for (int type = YPK_FLOAT; type <= YPK_INT64 && status == YP_OK; type++)
        for (int op = YPK_SUM; op <= YPK_MIN && status == YP_OK; op++)
            for (int n = 0; n < COUNTS && status == YP_OK; n++) {
                s.type = (enum ypk_type)type;
                s.op = (enum ypk_op)op;
                s.count = counts[n];
                status = all_reduces(&s);
                if (status == YP_OK)
                    status = reduce_scatters(&s);
            }
    for (int n = 0; n < COUNTS && status == YP_OK; n++) {
        s.count = counts[n];
        status = gathers(&s);
        if (status == YP_OK)
            status = messages(&s);
    }
    if (status == YP_OK)
        status = ypk_devices_barrier(s.d);
    if (status == YP_OK && ypk_size(c) > 2 && s.other == 0)
        status = yp_set_error(YP_INVALID, "the made-up library's sums are in the order of ranks");
    ypk_devices_leave(s.d);
    yp_device_memory(emulated_device(), &memory);
    if (status == YP_OK && (memory.allocated > 0 || emulated.pinned != before))
        status = yp_set_error(YP_INVALID, "memory is left");
    return status;
}

static void by(int size, const char *fake)
{
    struct world world = {0};
    setenv("FAKE_NCCL", fake, 1);
    world_begin(&world);
    world_run(&world, size, all_operations, NULL);
    expect_ok(&world, size);
    world_end(&world);
}

Test(nccl, operations)
{
    for (int size = 2; size <= 4; size++)
        by(size, "");
}

Test(nccl, calls_that_take_long)
{
    by(2, "progress=3");
}

/* -- one rank: no library is needed --------------------------------------------------------------
 */

Test(nccl, one_rank)
{
    setenv("YIELDPOINT_NCCL", "/nowhere", 1);
    struct ypk_devices *d = NULL;
    struct array a = array_of(64), b = array_of(64);
    cr_assert_eq(ypk_devices_join(&d, NULL, emulated_device()), YP_OK, "%s", yp_last_error());
    cr_expect_str_eq(ypk_devices_engine(d), "none");
    cr_expect_null(ypk_devices_shared(d));
    fill(a.here, 16, YPK_FLOAT, 0);
    cr_expect_eq(give(&a), YP_OK);
    cr_expect_eq(ypk_devices_all_gather(d, a.there, 64, b.there), YP_OK);
    cr_expect_eq(ypk_devices_all_reduce(d, b.there, 16, YPK_FLOAT, YPK_SUM), YP_OK);
    cr_expect_eq(ypk_devices_barrier(d), YP_OK);
    cr_expect_eq(take(d, &b), YP_OK);
    cr_expect_arr_eq(a.here, b.here, 64);
    cr_expect_eq(ypk_devices_broadcast(d, b.there, 64, 1), YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "broadcast from rank 1: the ranks are 0 to 0");
    cr_expect_eq(ypk_devices_send(d, b.there, 64, 0), YP_INVALID);
    ypk_devices_leave(d);
    cr_expect_eq(ypk_devices_join(&d, NULL, yp_device_cpu()), YP_INVALID);
    array_free(&a);
    array_free(&b);
}

/* -- which calls are made
 * -------------------------------------------------------------------------- */

static enum yp_status some_calls(struct ypk_communicator *c, void *argument)
{
    struct ypk_devices *d = NULL;
    struct array a = array_of(1024), scratch = array_of(1024);
    float *data = (float *)(void *)a.there;
    (void)argument;
    memset(a.here, 0, a.bytes);
    enum yp_status status = give(&a);
    if (status == YP_OK)
        status = ypk_devices_join(&d, c, emulated_device());
    if (status == YP_OK)
        status = ypk_devices_broadcast(d, data, 12, 1);
    if (status == YP_OK)
        status = ypk_devices_all_gather(d, data + ypk_rank(c) * 2, 8, data);
    if (status == YP_OK)
        status = ypk_devices_all_reduce(d, data, 3, YPK_DOUBLE, YPK_MAX);
    if (status == YP_OK)
        status = ypk_devices_reduce_scatter(d, data, 7, scratch.there, YPK_FLOAT, YPK_MIN);
    if (status == YP_OK)
        status = ypk_devices_all_reduce_in_order(d, data, 5, YPK_INT64, YPK_SUM, scratch.there);
    if (status == YP_OK)
        status = ypk_devices_all_reduce(d, data, 0, YPK_FLOAT, YPK_SUM);
    if (status == YP_OK)
        status = ypk_devices_barrier(d);
    if (status == YP_OK)
        status = ypk_devices_wait(d);
    ypk_devices_leave(d);
    return status;
}

/* Of the lines, without the stream: it is the device's own in all. */
static void expect_log(const char *folder, int rank, const char *const *lines, size_t count)
{
    char path[128], line[256], stream[32];
    snprintf(path, sizeof path, "%s/%d", folder, rank);
    snprintf(stream, sizeof stream, " on %p",
             yp_stream_native(yp_device_stream(emulated_device())));
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file);
    for (size_t i = 0; i < count; i++) {
        cr_assert_not_null(fgets(line, sizeof line, file), "%s", lines[i]);
        line[strcspn(line, "\n")] = '\0';
        char *on = strstr(line, " on ");
        if (on != NULL) {
            cr_expect_str_eq(on, stream);
            *on = '\0';
        }
        cr_expect_str_eq(line, lines[i]);
    }
    cr_expect_null(fgets(line, sizeof line, file), "%s", line);
    fclose(file);
}

Test(nccl, calls)
{
    static const char *const of_one[] = {"broadcast 12 int8 from 1",
                                         "all-gather 8 int8",
                                         "all-reduce 3 float64 max",
                                         "reduce-scatter 7 float32 min",
                                         "send 24 int8 to 0",
                                         "receive 16 int8 from 0",
                                         "end of a group",
                                         "send 16 int8 to 0",
                                         "receive 24 int8 from 0",
                                         "end of a group",
                                         "all-reduce 1 int64 max",
                                         "finalize",
                                         "destroy"};
    char folder[] = "/tmp/yp-nccl-XXXXXX", fake[64];
    struct world world = {0};
    cr_assert_not_null(mkdtemp(folder));
    snprintf(fake, sizeof fake, "log=%s", folder);
    setenv("FAKE_NCCL", fake, 1);
    world_begin(&world);
    world_run(&world, 2, some_calls, NULL);
    expect_ok(&world, 2);
    world_end(&world);
    expect_log(folder, 1, of_one, sizeof of_one / sizeof *of_one);
    ypi_remove_tree(folder);
}

/* -- what is refused -----------------------------------------------------------------------------
 */

/* `argument`: what rank 1 finds otherwise. */
struct otherwise {
    const char *fake, *library, *place;
};

static enum yp_status joins(struct ypk_communicator *c, void *argument)
{
    const struct otherwise *other = argument;
    struct ypk_devices *d = NULL;
    if (other != NULL && ypk_rank(c) == 1 && other->fake != NULL)
        setenv("FAKE_NCCL", other->fake, 1);
    if (other != NULL && ypk_rank(c) == 1 && other->library != NULL)
        setenv("YIELDPOINT_NCCL", other->library, 1);
    if (other != NULL)
        emulated.place = other->place;
    enum yp_status status = ypk_devices_join(&d, c, emulated_device());
    if (status == YP_OK && ypk_devices_shared(d) != NULL)
        status = yp_set_error(YP_INVALID, "%s: %s, %s is %s", ypk_devices_engine(d),
                              ypk_devices_shared(d), "NCCL_MULTI_RANK_GPU_ENABLE",
                              getenv("NCCL_MULTI_RANK_GPU_ENABLE"));
    ypk_devices_leave(d);
    if (status != YP_OK && ypk_barrier(c) != YP_OK)
        return yp_set_error(YP_INVALID, "the ranks' own communicator is broken");
    return status;
}

static void expect_refused(const char *fake, struct otherwise other, const char *text)
{
    struct world world = {.limit = 2};
    setenv("FAKE_NCCL", fake, 1);
    world_begin(&world);
    world_run(&world, 2, joins, &other);
    for (int rank = 0; rank < 2; rank++)
        expect_said(&world, rank, text);
    world_end(&world);
}

Test(nccl, refusals)
{
    expect_refused("", (struct otherwise){.library = "/nowhere/libnccl.so.2"},
                   "rank 1: NCCL's library (YIELDPOINT_NCCL): /nowhere/libnccl.so.2");
    expect_refused("version=21300", (struct otherwise){0},
                   "rank 0: NCCL's version is 21300 (no error); 2.14 (21400) and later are used");
    expect_refused("version=22809", (struct otherwise){.fake = "version=22703"},
                   "rank 1 has NCCL 2.27.3 and rank 0 NCCL 2.28.9");
    expect_refused("init=5 rank=1", (struct otherwise){0},
                   "rank 1: NCCL: joining the other ranks: invalid usage");
}

/* A device that is several ranks'. */
Test(nccl, shared)
{
    const struct otherwise same = {.place = "0000:17:00.0"};
    expect_refused("version=22809", same,
                   "rank 0: ranks 0 and 1 share 0000:17:00.0 of node 0, and NCCL 2.28.9 has one "
                   "rank a device: 2.30 and later can have several");
    expect_refused("version=23003", same,
                   "NCCL 2.30.3: ranks 0 and 1 share 0000:17:00.0 of node 0, "
                   "NCCL_MULTI_RANK_GPU_ENABLE is 1");
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "0", 1);
    expect_refused("version=23003", same,
                   "ranks 0 and 1 share 0000:17:00.0 of node 0, and NCCL_MULTI_RANK_GPU_ENABLE is "
                   "0");
}

/* -- failures ------------------------------------------------------------------------------------
 */

struct failing {
    bool leaves; /* rank 1 does not come to the second operation */
    bool waits;  /* it does not, and is in another call */
};

static enum yp_status fails(struct ypk_communicator *c, void *argument)
{
    const struct failing *how = argument;
    struct ypk_devices *d = NULL;
    struct array a = array_of(4096);
    memset(a.here, 0, a.bytes);
    enum yp_status status = give(&a);
    if (status == YP_OK)
        status = ypk_devices_join(&d, c, emulated_device());
    for (int i = 0; i < 3 && status == YP_OK; i++) {
        if (i == 1 && how->leaves && ypk_rank(c) == 1)
            _exit(0);
        if (i == 1 && how->waits && ypk_rank(c) == 1)
            return ypk_barrier(c);
        status = ypk_devices_all_reduce(d, a.there, 1024, YPK_FLOAT, YPK_SUM);
        if (status == YP_OK)
            status = ypk_devices_wait(d);
    }
    char why[512];
    snprintf(why, sizeof why, "%s", yp_last_error());
    if (status != YP_OK && d != NULL &&
        (ypk_devices_barrier(d) != status || strcmp(why, yp_last_error()) != 0 ||
         ypk_devices_wait(d) != status))
        status = yp_set_error(YP_INVALID, "a later call is not that error: %s", yp_last_error());
    if (status != YP_OK && d != NULL)
        yp_set_error(status, "%s", why);
    ypk_devices_leave(d);
    return status;
}

static void expect_fails(const char *fake, struct failing how, enum yp_status status,
                         const char *text)
{
    struct world world = {.limit = 1.5};
    setenv("FAKE_NCCL", fake, 1);
    world_begin(&world);
    world_run(&world, 2, fails, &how);
    expect_said(&world, 0, text);
    cr_expect_eq(world.said[0].status, status, "%s: %d", text, world.said[0].status);
    world_end(&world);
}

Test(nccl, failures)
{
    expect_fails("fails=2 rank=0", (struct failing){0}, YP_INVALID,
                 "NCCL: all-reduce: invalid usage");
    expect_fails("async=2 rank=0", (struct failing){0}, YP_IO,
                 "NCCL: all-reduce: remote process exited; ");
    expect_fails("silent=0", (struct failing){0}, YP_IO, "joining the other ranks has not begun");
}

Test(nccl, rank_that_is_gone)
{
    expect_fails("", (struct failing){.leaves = true}, YP_IO,
                 "NCCL: the work up to all-reduce is not done after 1.5 s; ranks: rank 1 of 2 "
                 "closed the connection; rank 0 is in barrier");
    expect_fails("progress=1", (struct failing){.leaves = true}, YP_IO,
                 "; ranks: rank 1 of 2 closed the connection");
}

/* It is there, and comes to the roll call by way of its own. */
Test(nccl, rank_that_is_elsewhere)
{
    expect_fails("", (struct failing){.waits = true}, YP_IO, "is not done after 1.5 s; ");
}
