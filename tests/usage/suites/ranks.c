/* Cases of several ranks: good ones, and each way in which a rank can be bad. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yieldpoint/ranks.h>
#include <yieldpoint/yieldpoint.h>

static bool is(const struct yp_case *t, int rank)
{
    return yp_rank(t) == rank;
}

YP_TEST(good, sums, .ranks = "1 2 4", .budgets = YP_BUDGETS(yp_max_value("rank", 3)))
{
    yp_barrier(t);
    yp_expect(t, yp_rank(t) >= 0 && yp_rank(t) < yp_ranks(t), "rank %d of %d", yp_rank(t),
              yp_ranks(t));
    yp_expect(t, yp_int(t, "ranks") == yp_ranks(t), "the axis says another number");
    yp_value(t, "ranks", yp_ranks(t));
    yp_value(t, "seed", (double)yp_seed(t));
    yp_value(t, "own seed", (double)(yp_rank_seed(t) >> 12));
    yp_value(t, "rank", yp_rank(t));
    yp_data_hash(t, 1);
    printf("rank %d writes\n", yp_rank(t));
    yp_barrier(t);
}

/* As MPI_Finalize() of MPICH does. */
YP_TEST(good, closes_launcher, .ranks = "2")
{
    const char *number = getenv("PMI_FD");
    yp_barrier(t);
    if (number != NULL)
        close(atoi(number));
}

/* Until it is interrupted, or a rank is killed. */
YP_TEST(stay, stays, .ranks = "3", .timeout = 40)
{
    yp_barrier(t);
    while (is(t, 1))
        pause();
    yp_barrier(t);
}

YP_TEST(bad, checks, .ranks = "3")
{
    yp_expect(t, !is(t, 1), "this one is wrong");
    yp_barrier(t);
}

YP_TEST(bad, leaves, .ranks = "3")
{
    yp_require(t, !is(t, 1), "this one goes");
    yp_barrier(t);
}

YP_TEST(bad, returns_early, .ranks = "3")
{
    if (is(t, 1))
        return;
    yp_barrier(t);
}

/* The others are over, and do not come. */
YP_TEST(bad, waits_alone, .ranks = "3")
{
    if (is(t, 1))
        yp_barrier(t);
}

YP_TEST(bad, crashes, .ranks = "3")
{
    printf("rank %d is there\n", yp_rank(t));
    if (is(t, 2))
        raise(SIGSEGV);
    yp_barrier(t);
}

YP_TEST(bad, is_killed, .ranks = "3")
{
    if (is(t, 0))
        raise(SIGKILL);
    yp_barrier(t);
}

YP_TEST(bad, exits_0, .ranks = "3")
{
    if (is(t, 1))
        exit(0);
    yp_barrier(t);
}

YP_TEST(bad, exits_3, .ranks = "3")
{
    if (is(t, 1))
        _exit(3);
    yp_barrier(t);
}

YP_TEST(bad, hangs, .ranks = "3", .timeout = 2)
{
    while (is(t, 1))
        pause();
    yp_barrier(t);
}

static int hangs;

__attribute__((destructor)) static void at_exit(void)
{
    while (hangs)
        pause();
}

static void make_hang(struct yp_case *t)
{
    hangs = is(t, 1);
}

YP_TEST(bad, hangs_in_destructor, .ranks = "2", .timeout = 2, .teardown = make_hang)
{
    yp_barrier(t);
}

YP_TEST(bad, leaks, .ranks = "2")
{
    if (is(t, 1) && yp_device_alloc(yp_device(t), 4096) == NULL)
        yp_fail(t, "no memory");
    yp_barrier(t);
}

YP_TEST(bad, writes_nan, .ranks = "3", .budgets = YP_BUDGETS(yp_max_value("loss", 1)))
{
    yp_value(t, "loss", is(t, 1) ? 0.0 / (yp_rank(t) - 1) : 0.5);
}

YP_TEST(bad, finds_nan, .ranks = "3")
{
    const float want[4] = {1, 2, 3, 4};
    const float got[4] = {1, 2, is(t, 1) ? nanf("") : 3, 4};
    yp_expect_close(t, "sums", .got = got, .want = want, .count = 4, .number = YP_NUMBER_FLOAT32,
                    .absolute = 1e-6);
    yp_expect(t, isfinite(got[2]), "its sum is no number");
    yp_barrier(t);
}

YP_TEST(bad, skips, .ranks = "2")
{
    if (is(t, 1))
        yp_skip(t, "not here");
    yp_barrier(t);
}

YP_TEST(good, skip, .ranks = "2")
{
    yp_skip(t, "nowhere");
}

YP_TEST(bad, leaves_process, .ranks = "2")
{
    if (is(t, 1) && fork() == 0) {
        setsid();
        for (;;)
            pause();
    }
    yp_barrier(t);
}

YP_TEST(bad, writes_much, .ranks = "2")
{
    for (int i = 0; i < 100000 && is(t, 1); i++)
        puts("nothing new");
    yp_barrier(t);
}

YP_TEST(good, memory, .ranks = "2", .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1 << 20)))
{
    yp_alloc(t, is(t, 1) ? 1 << 20 : 4096);
}

/* 4 KiB of the first rank, 1 MiB of the second. */
static void take(struct yp_case *t)
{
    yp_alloc(t, is(t, 1) ? 1 << 20 : 4096);
}

#define IN_TOTAL "peak of all ranks"

YP_TEST(good, memory_of_all, .ranks = "1 2",
        .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1 << 20),
                              yp_max_value(IN_TOTAL, (1 << 20) + 4096),
                              yp_max_resident_tree(YP_GIB)))
{
    take(t);
}

YP_TEST(bad, memory_of_one, .ranks = "2",
        .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1 << 19), yp_max_value(IN_TOTAL, 2 << 20)))
{
    take(t);
}

YP_TEST(bad, memory_of_all_together, .ranks = "2",
        .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1 << 20), yp_max_value(IN_TOTAL, 1 << 20)))
{
    take(t);
}

/* A pause in the place of what is declared, and nothing in its place. */
YP_TEST(good, exchanges, .ranks = "1 2", .budgets = YP_BUDGETS(yp_min_share("sum", 0.5)))
{
    yp_measure (t, "sum", .bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, 1 << 20)),
                .max_seconds = 0.05)
        usleep(20000);
}

YP_TEST(bad, exchanges_nothing, .ranks = "2", .budgets = YP_BUDGETS(yp_min_share("sum", 0.5)))
{
    int done = 0;
    yp_measure (t, "sum", .bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, 1 << 20)),
                .max_seconds = 0.05) {
        done++;
        yp_keep(done);
    }
}

YP_TEST(bad, exchanges_alone)
{
    yp_measure (t, "sum", .bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, 8)))
        usleep(1);
}

YP_TEST(bad, exchanges_as_traffic, .ranks = "2")
{
    yp_measure (t, "sum", .bounds = YP_WORK(yp_traffic(YP_ALL_REDUCE, 8, 8)))
        usleep(1);
}

/* Say that they took so long: as strong and as weak scaling has it, and twice as long. */
static void take_time(struct yp_case *t, double seconds)
{
    yp_measure (t, "step", .warmup = -1, .samples = 10, .manual_time = true)
        yp_iteration_time(t, seconds);
}

YP_TEST(scaling, falls, .ranks = "1 2")
{
    take_time(t, 8e-3 / yp_ranks(t));
}

YP_TEST(scaling, constant, .ranks = "1 2")
{
    take_time(t, 8e-3);
}

YP_TEST(scaling, grows, .ranks = "1 2")
{
    take_time(t, 8e-3 * yp_ranks(t));
}

#define SCALING(name_, law_, of_) \
    YP_RELATION(scaling, name_, .budgets = YP_BUDGETS(yp_min_value("efficiency", 0.9)), \
                .relation = law_("ranks.c::" of_, "step", "ranks"))
SCALING(strong, yp_strong_scaling, "falls");
SCALING(weak, yp_weak_scaling, "constant");
SCALING(not_strong, yp_strong_scaling, "constant");
SCALING(not_weak, yp_weak_scaling, "grows");

YP_TEST(good, measures, .ranks = "1 2")
{
    yp_measure (t, "work", .items = 1, .max_seconds = 0.05)
        yp_phase (t, "sleep")
            usleep(is(t, 1) ? 10000 : 100);
}

/* Each rank has two requests, and the last of them a third. Those of the fixture are not refused.
 */
YP_TEST(good, refused_sound, .ranks = "3", .fixtures = "part[count=600]")
{
    yp_alloc(t, 4096);
    yp_barrier(t);
    yp_alloc(t, 4096);
    yp_barrier(t);
    if (is(t, 2))
        yp_alloc(t, 4096);
}

YP_TEST(bad, refused_crashes, .ranks = "2")
{
    char *first = yp_device_alloc(yp_device(t), 64);
    yp_barrier(t);
    char *second = yp_device_alloc(yp_device(t), 64);
    if (first != NULL)
        second[0] = 1;
    yp_device_free(yp_device(t), first);
    yp_device_free(yp_device(t), second);
}

YP_TEST(bad, refused_loses, .ranks = "2")
{
    void *first = yp_device_alloc(yp_device(t), 64);
    void *second = first != NULL ? yp_device_alloc(yp_device(t), 4096) : NULL;
    yp_require(t, second != NULL, "no memory");
    yp_device_free(yp_device(t), first);
    yp_device_free(yp_device(t), second);
}

/* The other one waits for it. */
YP_TEST(bad, refused_goes_silently, .ranks = "2")
{
    void *memory = yp_device_alloc(yp_device(t), 64);
    if (memory == NULL)
        return;
    yp_device_free(yp_device(t), memory);
    yp_barrier(t);
}

YP_TEST(good, placed_cores, .ranks = "2", .placement = "spread:core")
{
    yp_barrier(t);
}

YP_TEST(good, placed_numa, .ranks = "2", .placement = "spread:numa spread:core")
{
    yp_barrier(t);
}

YP_TEST(good, placed_in_one, .ranks = "2", .placement = "together:numa")
{
    yp_barrier(t);
}

YP_TEST(good, placed_nodes, .ranks = "2", .placement = "spread:node")
{
    yp_barrier(t);
}

/* A part of some numbers in each rank, by a seed of its own. */
YP_FIXTURE(data, part, .each_rank = true, .axes = YP_AXES(yp_axis_int("count", 600, 1200)))
{
    size_t n = (size_t)(yp_int(t, "count") / yp_ranks(t));
    uint64_t *x = yp_provide(t, n * sizeof *x);
    yp_alloc(t, 1 << 20);
    for (size_t i = 0; i < n; i++)
        x[i] = yp_seed(t) + i * (uint64_t)(yp_rank(t) + 1);
    yp_barrier(t);
}

YP_TEST(good, fixture_of_each, .ranks = "1 2 3", .fixtures = "part[count=600] part[count=1200]",
        .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 4096)))
{
    size_t few = 0;
    size_t many = 0;
    const uint64_t *x = yp_fixture(t, "part[count=600]", &few);
    const uint64_t *y = yp_fixture(t, "part[count=1200]", &many);
    yp_expect(t, few == 600 / (size_t)yp_ranks(t) * sizeof *x && many == 2 * few, "%zu bytes", few);
    yp_expect(t, x[0] == yp_rank_seed(t) && y[0] == x[0], "its seed is %llu",
              (unsigned long long)x[0]);
    yp_expect(t, x[10] == x[0] + 10 * (uint64_t)(yp_rank(t) + 1), "x[10]");
    yp_alloc(t, 4096);
    yp_barrier(t);
}

YP_FIXTURE(data, whole)
{
    *(int *)yp_provide(t, sizeof(int)) = 7;
}

YP_TEST(good, fixture_of_run, .ranks = "2", .fixtures = "whole")
{
    yp_expect(t, *(const int *)yp_fixture(t, "whole", NULL) == 7, "it is another");
}

YP_FIXTURE(data, wrong, .each_rank = true)
{
    yp_provide(t, 8);
    yp_require(t, !is(t, 1), "this one is wrong");
}

YP_TEST(bad, fixture_fails, .ranks = "3", .fixtures = "wrong")
{
    yp_barrier(t);
}

YP_FIXTURE(data, careless, .each_rank = true)
{
    yp_provide(t, 8);
    if (is(t, 1) && yp_device_alloc(yp_device(t), 64) == NULL)
        yp_fail(t, "no memory");
}

YP_TEST(bad, fixture_leaks, .ranks = "2", .fixtures = "careless")
{
    yp_barrier(t);
}

YP_FIXTURE(data, small, .each_rank = true)
{
    yp_provide(t, 8);
}

YP_TEST(bad, fixture_is_written, .ranks = "2", .fixtures = "small")
{
    if (is(t, 1))
        *(char *)(uintptr_t)yp_fixture(t, "small", NULL) = 1;
    yp_barrier(t);
}
