/* A fit by many processes: fewer tiles than ranks, the memory, and failures that all have. That
 * ranks have the bits of one process, with any number of threads, suites/stress/ranks.c holds. */
#include "tests/unit/ranks/processes.h"
#include "tests/unit/rx/rx_fixture.h"

#include <math.h>

enum { CHANNELS = 20, TILE = 30 };

/* Values far from 0 with some that are not finite, so that every merge rounds. */
static struct scene scene_of(size_t tiles)
{
    struct scene s = {.channels = CHANNELS, .tile_pixels = TILE, .pixels = tiles * TILE - 7};
    uint64_t state = 5;
    s.values = block(s.pixels * s.channels, sizeof *s.values);
    for (size_t i = 0; i < s.pixels * s.channels; i++)
        s.values[i] = (float)(1000 + (double)(i % CHANNELS) * normal(&state) + normal(&state));
    for (size_t p = 13; p < s.pixels; p += 101)
        s.values[p * CHANNELS + 3] = NAN;
    return s;
}

struct statistics {
    struct rx_summary summary;
    double mean[CHANNELS], covariance[CHANNELS * CHANNELS];
};

static void read_statistics(const struct rx *rx, struct statistics *to)
{
    memset(to, 0, sizeof *to);
    rx_summary(rx, &to->summary);
    memcpy(to->mean, rx_mean(rx), sizeof to->mean);
    if (rx_covariance(rx, to->covariance) != YP_OK)
        abort();
}

struct job {
    struct scene scene;
    int fits;
    struct statistics *one; /* of one process */
    int failing;            /* rank whose last tile fails, or -1 */
    int other;              /* rank with fewer tiles, or -1 */
};

/* One process merges without a communicator, in a process of its own: after a fork OpenMP has no
 * team but where it had none before. */
static void fit_alone(struct job *job)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rx_source source = source_of(&job->scene);
        struct rx *rx = detector_for(&job->scene, 1);
        for (int i = 0; i < job->fits; i++)
            if (rx_fit(rx, &source) != YP_OK)
                _exit(1);
        read_statistics(rx, job->one);
        _exit(0);
    }
    int status = -1;
    cr_assert(waitpid(pid, &status, 0) == pid && status == 0);
}

static struct statistics *shared_statistics(void)
{
    void *memory = mmap(NULL, sizeof(struct statistics), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    return memory;
}

static uint64_t allocated(void)
{
    struct yp_memory m;
    yp_device_memory(yp_device_cpu(), &m);
    return m.allocated;
}

static uint64_t peak(void)
{
    struct yp_memory m;
    yp_device_memory(yp_device_cpu(), &m);
    return m.allocated_peak;
}

static enum yp_status fit(struct ypk_communicator *c, void *argument)
{
    struct job *job = argument;
    struct rx_source source = source_of(&job->scene);
    if (ypk_rank(c) == job->failing)
        job->scene.fail_from = source.tiles - 1;
    if (ypk_rank(c) == job->other)
        source.tiles--;
    struct rx *rx = detector_for(&job->scene, 1 + ypk_rank(c) % 2);
    const uint64_t before = allocated(), highest = peak();
    for (int i = 0; i < job->fits; i++) {
        enum yp_status status = rx_fit_over(rx, &source, c);
        if (status != YP_OK && rx_mean(rx)[0] != 0)
            return yp_set_error(YP_INVALID, "statistics changed");
        if (status != YP_OK)
            return status;
    }
    struct statistics got;
    read_statistics(rx, &got);
    const size_t bytes = rx_fit_over_bytes(CHANNELS, source.tiles, ypk_rank(c), ypk_size(c));
    if (allocated() != before || peak() != (before + bytes > highest ? before + bytes : highest))
        return yp_set_error(YP_INVALID, "%zu bytes were promised, the peak is %llu", bytes,
                            (unsigned long long)peak());
    rx_destroy(rx);
    return memcmp(&got, job->one, sizeof got) == 0
               ? YP_OK
               : yp_set_error(YP_INVALID, "mean of channel 7: %.17g, of one process %.17g",
                              got.mean[7], job->one->mean[7]);
}

/* And blocks of several tiles, of which the last has fewer. */
Test(rx_ranks, fewer_tiles_than_ranks)
{
    static const size_t tiles[] = {1, 3, 259};
    struct statistics *one = shared_statistics();
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        struct job job = {
            .scene = scene_of(tiles[i]), .fits = 2, .one = one, .failing = -1, .other = -1};
        struct world world = {0};
        fit_alone(&job);
        world_begin(&world);
        world_run(&world, 5, fit, &job);
        expect_ok(&world, 5);
        world_end(&world);
        scene_free(&job.scene);
    }
}

Test(rx_ranks, failing_tile)
{
    struct job job = {.scene = scene_of(300), .fits = 1, .failing = 2, .other = -1};
    struct world world = {0};
    world_begin(&world);
    world_run(&world, 3, fit, &job);
    for (int rank = 0; rank < 3; rank++)
        expect_said(&world, rank, "rank 2: tile 299 cannot be read");
    world_end(&world);
    scene_free(&job.scene);
}

Test(rx_ranks, other_tiles)
{
    struct job job = {.scene = scene_of(300), .fits = 1, .failing = -1, .other = 1};
    struct world world = {0};
    world_begin(&world);
    world_run(&world, 3, fit, &job);
    for (int rank = 0; rank < 3; rank++)
        expect_said(&world, rank,
                    "rank 1: rx_fit_over: source->tiles is 299 here and 300 on rank 0");
    world_end(&world);
    scene_free(&job.scene);
}
