/* Training by many ranks: the bits of one process where that is promised, and files that go from
 * any number of ranks to any other. */
#include "tests/emulated/device.h"
#include "tests/unit/ranks/processes.h"
#include "tests/unit/rx/rx_fixture.h"

#include "models/train/trainer.h"
#include <math.h>
#include <unistd.h>

/* Tensors of many parts, of one and of a few elements, with frozen ones between them: pieces of
 * odd counts. */
enum { A = 20001, FROZEN = 777, B = 3, C = 9001, N = A + FROZEN + B + C };
enum { ITEMS = 53, STEPS = 64, FAILING = 8 /* is for training */ };

static const struct yp_tensor tensors[] = {
    {"a", 0, A}, {"frozen", A, FROZEN}, {"b", A + FROZEN, B}, {"c", A + FROZEN + B, C}};

struct subject {
    uint32_t fails; /* an item that cannot be read; 0: none */
    bool extreme, again;
    int rank;
    bool dies, tells_twice;
    train_ready *ready; /* NULL: it tells nobody */
    void *ready_arg;
};

static void tell(void *arg, train_ready *ready, void *ready_arg)
{
    struct subject *s = arg;
    s->ready = ready;
    s->ready_arg = ready_arg;
}

/* Writes the gradient from its end on, part by part, and tells each; ranks have other parts. What
 * is not told yet is no number. Only the first `count` parts. */
static void write_parts(struct subject *s, const float *from, float *g, size_t count)
{
    const size_t part = 700 + 300 * (size_t)s->rank;
    if (s->ready == NULL) {
        memcpy(g, from, N * sizeof *g);
        return;
    }
    for (size_t k = 0; k < N; k++)
        g[k] = NAN;
    for (size_t end = N, n = 0; end > 0 && n < count; n++) {
        const size_t some = end < part ? end : part;
        end -= some;
        memcpy(g + end, from + end, some * sizeof *g);
        s->ready(s->ready_arg, 0, 0);
        s->ready(s->ready_arg, end, some);
        if (s->tells_twice)
            s->ready(s->ready_arg, end, 1);
    }
}

/* Numbers of which double keeps no sum: what is left when the large ones cancel tells the order. */
static float extreme_of(uint32_t item)
{
    return item % 2 == 0 ? (float)(1 + item) : ldexpf(item % 4 == 1 ? 1 : -1, 60);
}

/* The distance of the parameters from numbers of each item, which an item counts more or less. */
static enum yp_status gradient(void *arg, struct train_items items, const float *p, double scale,
                               double *mean, double *weight, float *out)
{
    struct subject *s = arg;
    static float g[N];
    *mean = *weight = 0;
    memset(g, 0, N * sizeof *g);
    if (s->extreme) {
        g[1] = g[A - 1] = g[N - 1] = extreme_of(items.index[0]);
        *weight = 1;
        write_parts(s, g, out, SIZE_MAX);
        return YP_OK;
    }
    for (size_t n = 0; n < items.count; n++) {
        uint64_t state = items.index[n] + 1;
        const double counts = (double)(items.index[n] % 3); /* some not at all */
        if (items.index[n] == s->fails && s->fails > 0) {
            write_parts(s, g, out, 9);
            if (s->dies) {
                usleep(100000); /* the others wait for it */
                _exit(3);
            }
            s->fails = s->again ? 0 : s->fails;
            return yp_set_error(YP_IO, "item %u is not there", items.index[n]);
        }
        *weight += counts;
        for (size_t k = 0; k < N; k++) {
            const double off = (double)p[k] - script_uniform(&state);
            *mean += counts * off * off / 2 / N;
            g[k] += (float)(counts * off);
        }
    }
    for (size_t k = 0; k<N && * weight> 0; k++)
        g[k] = (float)(scale * (double)g[k] / *weight);
    *mean = *weight > 0 ? *mean / *weight : 0;
    write_parts(s, g, out, SIZE_MAX);
    return YP_OK;
}

/* The same, of arrays in the memory of the emulated device. */
static enum yp_status gradient_there(void *arg, struct train_items items, const float *p,
                                     double scale, double *mean, double *weight, float *out)
{
    static float parameters[N], g[N];
    enum yp_status status = yp_device_copy(emulated_device(), parameters, p, sizeof parameters);
    if (status == YP_OK)
        status = gradient(arg, items, parameters, scale, mean, weight, g);
    return status == YP_OK ? yp_device_copy(emulated_device(), out, g, sizeof g) : status;
}

struct outcome {
    size_t steps;
    double loss[STEPS], norm[STEPS], judged[STEPS];
    size_t epochs;
    float parameters[N], average[N];
};

static bool watch(void *arg, const struct train_event *event)
{
    struct outcome *out = arg;
    if (event->kind == TRAIN_STEP) {
        out->norm[out->steps] = event->norm;
        out->loss[out->steps++] = event->loss;
    } else if (event->kind == TRAIN_EPOCH) {
        out->judged[out->epochs++] = event->validation_loss;
    }
    return true;
}

struct job {
    size_t batch, accumulate, bucket;
    bool once, sgd, extreme;
    bool gpu;               /* a GPU for each rank */
    bool no_norm;           /* it is not compared */
    bool tells, no_overlap; /* the objective tells; and that is used */
    bool tells_twice;
    int fails;        /* rank that cannot read an item, or -1 */
    bool again, dies; /* that rank: only once, and goes on; ends in the middle of a batch */
    uint64_t steps;
    const char *from, *to;     /* checkpoints, or NULL */
    const struct outcome *one; /* what each rank must have to the bit, or NULL */
    struct outcome *rank0;     /* what rank 0 has */
    double bound;              /* of differences from `near`, relative to the largest value */
    const struct outcome *near;
};

static struct train_config config_of(const struct job *job, struct ypk_communicator *c,
                                     struct outcome *out)
{
    struct train_config config = train_defaults();
    config.seed = 3;
    config.epochs = 4;
    config.batch = job->batch;
    config.accumulate = job->accumulate;
    config.adamw.lr = 0.05;
    config.optimiser = job->sgd ? TRAIN_SGD : TRAIN_ADAMW;
    config.average = 0.5;
    config.clip = job->extreme ? 0 : 1;
    config.scaling.initial = 4;
    config.scaling.interval = 4;
    config.watch = watch;
    config.watch_arg = out;
    config.ranks = (struct train_ranks){
        .all = c, .bucket = job->bucket, .once = job->once, .no_overlap = job->no_overlap};
    train_set_add(&config.no_decay, 2);
    train_set_add(&config.frozen, 1);
    return config;
}

static enum yp_status expect_near(const char *what, const double *got, const double *right,
                                  size_t count, double bound)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - right[i]) <= bound * fabs(right[i])))
            return yp_set_error(YP_INVALID, "%s of step %zu is %.17g, of one process %.17g", what,
                                i, got[i], right[i]);
    return YP_OK;
}

/* What a trainer takes, and with it a GPU's part in several ranks: a word of each memory. */
static enum yp_status expect_memory(const struct job *job, int ranks,
                                    const struct train_objective *objective,
                                    const struct train_config *config,
                                    const struct yp_memory before[2])
{
    const size_t words = job->gpu && ranks > 1 ? 64 : 0;
    struct yp_memory host, device;
    yp_device_memory(yp_device_cpu(), &host);
    yp_device_memory(emulated_device(), &device);
    const uint64_t on_host =
        job->gpu ? train_host_bytes(objective, config) : train_bytes(objective, config);
    const uint64_t on_device = job->gpu ? train_device_bytes(objective, config) : 0;
    if (host.allocated - before[0].allocated != on_host + words ||
        device.allocated - before[1].allocated != on_device + words)
        return yp_set_error(YP_INVALID, "the trainer takes other memory than it says");
    return YP_OK;
}

static void read_there(const struct job *job, float *to, const float *from)
{
    if (!job->gpu)
        memcpy(to, from, N * sizeof *to);
    else if (yp_device_copy(emulated_device(), to, from, N * sizeof *to) != YP_OK)
        abort();
}

static enum yp_status run(struct ypk_communicator *c, void *argument)
{
    const struct job *job = argument;
    static struct outcome out;
    static float start[N];
    struct subject subject = {.fails = ypk_rank(c) == job->fails ? FAILING : 0,
                              .extreme = job->extreme,
                              .rank = ypk_rank(c),
                              .again = job->again,
                              .dies = job->dies,
                              .tells_twice = job->tells_twice};
    memset(&out, 0, sizeof out);
    uint64_t state = 9 + (uint64_t)ypk_rank(c); /* rank 0's are taken */
    for (size_t k = 0; k < N; k++)
        start[k] = (float)(2 * script_uniform(&state) - 1);
    const struct train_config config = config_of(job, c, &out);
    const struct train_objective objective = {.parameters = N,
                                              .items = ITEMS,
                                              .tensors = tensors,
                                              .n_tensors = 4,
                                              .gradient = job->gpu ? gradient_there : gradient,
                                              .any_device = job->gpu,
                                              .tell = job->tells ? tell : NULL,
                                              .arg = &subject};
    struct yp_device *device = job->gpu ? emulated_device() : yp_device_cpu();
    struct yp_memory before[2];
    yp_device_memory(yp_device_cpu(), &before[0]);
    yp_device_memory(emulated_device(), &before[1]);
    struct train *train = train_create(device, &objective, &config);
    if (train == NULL)
        return yp_last_status();
    enum yp_status status = expect_memory(job, ypk_size(c), &objective, &config, before);
    if (status == YP_OK)
        status = job->from != NULL ? train_resume(train, job->from) : train_begin(train, start);
    if (status == YP_OK)
        status = train_run(train, job->steps);
    if (job->again)
        status = status == YP_OK ? yp_set_error(YP_INVALID, "no batch failed")
                                 : train_run(train, job->steps);
    if (status == YP_OK && ypk_size(c) > 1 && ypk_end_exchange(c) != YP_INVALID)
        status = yp_set_error(YP_INVALID, "an exchange is under way still");
    if (status == YP_OK && job->to != NULL)
        status = train_save(train, job->to);
    if (status != YP_OK)
        return status;
    read_there(job, out.parameters, train_parameters(train));
    read_there(job, out.average, train_average(train));
    train_destroy(train);
    if (job->no_norm)
        memset(out.norm, 0, sizeof out.norm);
    if (job->rank0 != NULL && ypk_rank(c) == 0)
        *job->rank0 = out;
    if (job->one != NULL && memcmp(&out, job->one, sizeof out) != 0) {
        status = expect_near("the loss", out.loss, job->one->loss, out.steps, 0);
        return status != YP_OK ? status : yp_set_error(YP_INVALID, "not the bits of one process");
    }
    if (job->near != NULL)
        status = expect_near("the loss", out.loss, job->near->loss, out.steps, job->bound);
    return status;
}

static struct outcome *shared_outcome(void)
{
    void *memory = mmap(NULL, sizeof(struct outcome), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    return memory;
}

static void by(int size, struct job job)
{
    struct world world = {0};
    world_begin(&world);
    world_run(&world, size, run, &job);
    expect_ok(&world, size);
    world_end(&world);
}

static struct job plain(void)
{
    return (struct job){
        .batch = 3, .accumulate = 4, .bucket = 4096 * 4, .tells = true, .fails = -1};
}

/* 42 or 43 items for training: the last step of an epoch has fewer batches than ranks. With and
 * without overlap, in several buckets and in one. */
Test(train_ranks, order_of_sums)
{
    struct job job = plain();
    struct outcome *one = shared_outcome();
    job.batch = 1;
    job.sgd = job.extreme = true;
    job.rank0 = one;
    by(1, job);
    size_t cancelled = 0;
    for (size_t i = 0; i < one->steps; i++)
        cancelled += one->norm[i] < 1000;
    cr_expect_gt(cancelled, 2);
    job.rank0 = NULL;
    job.one = one;
    for (int how = 0; how < 3; how++) {
        job.tells = how > 0;
        job.no_overlap = how == 2;
        by(2, job);
        by(4, job);
        job.bucket = 0;
        by(4, job);
        job.bucket = plain().bucket;
    }
}

/* Where the bits are not those of one process, overlap does not change them either. */
Test(train_ranks, rounded_differently)
{
    struct outcome *one = shared_outcome(), *same = shared_outcome();
    for (int once = 0; once < 2; once++) { /* or a share of each batch */
        struct job job = plain();
        job.rank0 = one;
        by(1, job);
        job.once = once;
        job.near = one;
        job.bound = 1e-5;
        job.rank0 = same;
        by(once ? 2 : 3, job);
        job.rank0 = NULL;
        job.one = same;
        job.no_overlap = true;
        by(once ? 2 : 3, job);
    }
}

/* On GPUs; suites/stress/ranks.c has the bits of a model. */
Test(train_ranks, devices_order_of_sums)
{
    struct job job = plain();
    struct outcome *one = shared_outcome();
    job.batch = 1;
    job.sgd = job.extreme = true;
    job.rank0 = one;
    by(1, job); /* of the CPU: without clipping the norm decides nothing */
    for (size_t i = 0; i < one->steps; i++)
        one->norm[i] = 0;
    job.rank0 = NULL;
    job.one = one;
    job.gpu = job.no_norm = true;
    by(2, job);
    by(4, job);
}

Test(train_ranks, devices_rounded_differently)
{
    struct job job = plain();
    struct outcome *one = shared_outcome();
    job.rank0 = one;
    by(1, job);
    job.gpu = true;
    job.rank0 = NULL;
    job.near = one;
    job.bound = 1e-5;
    by(3, job); /* a share of each batch */
    job.once = true;
    by(2, job);
}

static void expect_same_file(const char *a, const char *b)
{
    char command[256];
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    cr_expect_eq(system(command), 0, "%s", command);
}

/* Stopped by two ranks in the middle of an epoch, continued by four, then by one: at each stop the
 * file of one process, and its end. */
static void other_numbers(bool gpu)
{
    char folder[64] = "/tmp/yp-train-ranks-XXXXXX", one[2][96], many[2][96];
    cr_assert_not_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(one[i], sizeof one[i], "%s/one%d", folder, i);
        snprintf(many[i], sizeof many[i], "%s/many%d", folder, i);
    }
    struct outcome *end = shared_outcome();
    struct job job = plain();
    job.gpu = gpu;
    job.rank0 = end;
    job.steps = 5;
    job.to = one[0];
    by(1, job);
    job.from = one[0];
    job.to = one[1];
    by(1, job);
    job.to = NULL;
    job.from = one[1];
    job.steps = 0;
    by(1, job);

    job.rank0 = NULL;
    job.steps = 5;
    job.from = NULL;
    job.to = many[0];
    by(2, job);
    expect_same_file(one[0], many[0]);
    job.from = many[0];
    job.to = many[1];
    by(4, job);
    expect_same_file(one[1], many[1]);
    job.steps = 0;
    job.from = many[1];
    job.to = NULL;
    job.one = end;
    by(2, job);
    ypi_remove_tree(folder);
}

Test(train_ranks, other_number_of_ranks)
{
    other_numbers(false);
}

Test(train_ranks, devices_other_number_of_ranks)
{
    other_numbers(true);
}

static void expect_all(int size, struct job job, const char *text)
{
    struct world world = {0};
    world_begin(&world);
    world_run(&world, size, run, &job);
    for (int rank = 0; rank < size; rank++)
        expect_said(&world, rank, text);
    world_end(&world);
}

/* A batch that fails when a part of it is sent: the next run goes on, with the same bits. */
Test(train_ranks, goes_on_after_a_failure)
{
    struct outcome *one = shared_outcome();
    struct job job = plain();
    job.rank0 = one;
    by(1, job);
    job.rank0 = NULL;
    job.one = one;
    job.again = true;
    for (job.fails = 0; job.fails < 2; job.fails++)
        by(2, job);
}

/* A rank that ends in the middle of a batch, when a part of it is sent. */
Test(train_ranks, names_a_rank_that_ends)
{
    struct world world = {0};
    struct job job = plain();
    job.fails = 1;
    job.dies = true;
    job.accumulate = 3;
    job.batch = 16;
    world_begin(&world);
    world_run(&world, 2, run, &job);
    expect_said(&world, 0, "ranks: rank 1 of 2 closed the connection; rank 0 ");
    world_end(&world);
}

Test(train_ranks, failures)
{
    struct job job = plain();
    job.fails = 1;
    job.accumulate = 3; /* rank 1 sees an item of every batch */
    job.batch = 16;
    expect_all(2, job, "rank 1: item 8 is not there");
    job.tells = false;
    expect_all(2, job, "rank 1: item 8 is not there");
    job = plain();
    job.tells_twice = true;
    expect_all(2, job, "rank 0: train_run: the objective tells elements ");
    job = plain();
    job.to = "/proc/nobody/can/write/this";
    expect_all(2, job, "rank 0: ");
    job = plain();
    job.bucket = 100;
    expect_all(2, job, "ranks.bucket is 100 bytes, allowed are 0 and 4096 to 2^40");
}

/* On GPUs; without NCCL there is no trainer, and all ranks say why. */
Test(train_ranks, devices_failures)
{
    struct job job = plain();
    job.gpu = true;
    job.fails = 1;
    job.accumulate = 3;
    job.batch = 16;
    expect_all(2, job, "rank 1: item 8 is not there");
    job = plain();
    job.gpu = true;
    setenv("YIELDPOINT_NCCL", "/nowhere/libnccl.so", 1);
    expect_all(2, job, "rank 0: NCCL's library (YIELDPOINT_NCCL): /nowhere/libnccl.so");
}

/* In the middle of a step, while the other one's GPU waits for it or soon will. */
Test(train_ranks, devices_rank_that_dies)
{
    struct world world = {.limit = 2};
    struct job job = plain();
    job.gpu = true;
    job.fails = 1;
    job.dies = true;
    world_begin(&world);
    world_run(&world, 2, run, &job);
    expect_said(&world, 0, "rank 1 of 2 closed the connection");
    world_end(&world);
}
