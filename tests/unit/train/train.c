/* models/train: checkpoints and logs of runs that were killed, damaged or are of another run; edges
 * of a run, and what is refused. suites/stress has training against plain loops, and resumed. */
#include "tests/unit/harness/folder.h"
#include "tests/unit/rx/rx_fixture.h"

#include "models/rx/train.h"
#include "models/train/internal.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- what is trained: the distance of five numbers from those of each item --------------------- */

enum { N = 5, ITEMS = 13, TRAINED = 10, STEPS = 3 /* an epoch */ };

struct subject {
    size_t calls, fails, poison; /* numbers of calls of gradient(); 0: none */
    bool poison_all, poison_loss;
    uint32_t weightless; /* an item that does not count; 0 counts */
};

static void add(const struct subject *s, struct train_items items, const float *p, double *mean,
                double *weight, double sums[N])
{
    *mean = *weight = 0;
    for (size_t n = 0; n < items.count; n++) {
        uint64_t state = items.index[n] + 1;
        if (items.index[n] == s->weightless && s->weightless > 0)
            continue;
        *weight += 1;
        for (size_t k = 0; k < N; k++) {
            double off = (double)p[k] - script_uniform(&state);
            *mean += off * off / 2;
            sums[k] += off;
        }
    }
    *mean = *weight > 0 ? *mean / *weight : 0;
}

static enum yp_status gradient(void *arg, struct train_items items, const float *p, double scale,
                               double *mean, double *weight, float *g)
{
    struct subject *s = arg;
    double sums[N] = {0};
    add(s, items, p, mean, weight, sums);
    for (size_t k = 0; k < N; k++)
        g[k] = (float)(scale * (sums[k] / *weight));
    if (++s->calls == s->poison || s->poison_all) {
        g[2] = s->poison_loss ? g[2] : NAN;
        *mean = s->poison_loss ? (double)NAN : *mean;
    }
    return s->calls == s->fails ? yp_set_error(YP_IO, "item %u is not there", items.index[0])
                                : YP_OK;
}

static enum yp_status evaluate(void *arg, struct train_items items, const float *p, double *mean,
                               double *weight, double *metrics)
{
    double sums[N] = {0};
    add(arg, items, p, mean, weight, sums);
    if (metrics != NULL)
        metrics[0] = sqrt(2 * *mean);
    return YP_OK;
}

static const struct yp_tensor tensors[] = {{"w", 0, N - 1}, {"b", N - 1, 1}};
static const struct train_setting settings[] = {{"width", N}};
static const char *const metric_names[] = {"rms"};
static const float start[N] = {4, -2, 3, 1, 2};

static struct train_objective objective_of(struct subject *s)
{
    return (struct train_objective){.parameters = N,
                                    .items = ITEMS,
                                    .tensors = tensors,
                                    .n_tensors = 2,
                                    .metrics = metric_names,
                                    .n_metrics = 1,
                                    .settings = settings,
                                    .n_settings = 1,
                                    .gradient = gradient,
                                    .evaluate = evaluate,
                                    .arg = s};
}

/* Three steps an epoch, the last one smaller; the rate falls. */
static struct train_config config_of(void)
{
    struct train_config c = train_defaults();
    c.seed = 11;
    c.epochs = 5;
    c.batch = 2;
    c.accumulate = 2;
    c.adamw.lr = 0.2;
    c.average = 0.5;
    c.plateau.patience = 0;
    c.plateau.threshold = 0.5;
    c.scaling.initial = 4;
    c.scaling.interval = 4;
    train_set_add(&c.no_decay, 1);
    return c;
}

static struct train *created(struct subject *s, const struct train_config *c)
{
    struct train_objective objective = objective_of(s);
    struct train *train = train_create(yp_device_cpu(), &objective, c);
    cr_assert_not_null(train, "%s", yp_last_error());
    return train;
}

static struct train *begun(struct subject *s, const struct train_config *c)
{
    struct train *train = created(s, c);
    OK(train_begin(train, start));
    return train;
}

static struct train_state state_of(const struct train *train)
{
    struct train_state state;
    train_state(train, &state);
    return state;
}

/* -- files ------------------------------------------------------------------------------------ */

static void leave_directory(void)
{
    const char *names[] = {"a", "b", "log", "reference"};
    for (size_t i = 0; i < LENGTH(names); i++)
        unlink(names[i]);
    cr_expect_eq(chdir("/"), 0);
    remove_empty_directory();
}

TestSuite(train, .init = enter_directory, .fini = leave_directory, .timeout = 60);

struct bytes {
    char at[1 << 14];
    size_t n;
};

static struct bytes bytes_of(const char *path)
{
    static struct bytes b;
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    memset(&b, 0, sizeof b);
    b.n = fread(b.at, 1, sizeof b.at - 1, file);
    fclose(file);
    return b;
}

static void write_bytes(const char *path, const char *mode, const void *at, size_t n)
{
    FILE *file = fopen(path, mode);
    cr_assert(file != NULL && fwrite(at, 1, n, file) == n && fclose(file) == 0);
}

/* A log without its last column, the seconds. */
static struct bytes rows_of(const char *path)
{
    struct bytes b = bytes_of(path);
    size_t out = 0, comma = 0;
    for (size_t i = 0; i < b.n; i++) {
        if (b.at[i] == ',')
            comma = out;
        if (b.at[i] == '\n')
            out = comma;
        b.at[out++] = b.at[i];
    }
    b.n = out;
    return b;
}

static bool same(const struct bytes *a, const struct bytes *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

static struct train_log *log_of(const char *path, const struct train_state *after)
{
    return train_log_create(yp_device_cpu(), path, metric_names, 1, after);
}

/* -- killed and stopped ------------------------------------------------------------------------ */

struct life {
    int die; /* event that kills; 0: none */
    struct train_log *log;
};

static bool live(void *arg, const struct train_event *event)
{
    struct life *life = arg;
    train_log_watch(life->log, event);
    if (life->die > 0 && --life->die == 0)
        raise(SIGKILL);
    return true;
}

/* In a process of its own: goes on where the files are, to the end of the run or so many steps.
 * Returns whether it was killed. */
static bool live_on(const char *checkpoint, int die, uint64_t steps)
{
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct life life = {.die = die};
        struct subject s = {0};
        struct train_config c = config_of();
        c.watch = live;
        c.watch_arg = &life;
        c.checkpoint = checkpoint;
        c.checkpoint_every = 2;
        c.epochs = 3;
        struct train *train = created(&s, &c);
        bool resumed = access(checkpoint, F_OK) == 0;
        OK(resumed ? train_resume(train, checkpoint) : train_begin(train, start));
        struct train_state state = state_of(train);
        life.log = log_of("log", resumed ? &state : NULL);
        OK(train_run(train, steps));
        OK(train_log_destroy(life.log));
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "status %x", status);
    return WIFSIGNALED(status);
}

Test(train, a_run_that_is_killed_after_any_event_goes_on_as_the_same_run)
{
    live_on("reference", 0, 0);
    struct bytes wanted = bytes_of("reference"), log = rows_of("log");
    bool killed = true;
    for (int event = 1; killed; event++) {
        unlink("a");
        killed = live_on("a", event, 0);
        live_on("a", 0, 0);
        struct bytes got = bytes_of("a"), rows = rows_of("log");
        cr_expect(same(&got, &wanted), "killed at event %d", event);
        cr_expect(same(&rows, &log), "killed at event %d, another log:\n%s", event, rows.at);
        cr_expect(killed || event > 18, "%d events", event);
    }
    /* Rows of what came behind a checkpoint, and a torn one, are dropped. */
    for (uint64_t steps = 1; steps < 9; steps += 2) {
        unlink("a");
        live_on("a", 0, steps);
        struct bytes kept = bytes_of("a");
        live_on("a", 0, 3);
        write_bytes("a", "wb", kept.at, kept.n);
        write_bytes("log", "ab", "step,1,1,1,to", 13);
        live_on("a", 0, 0);
        struct bytes rows = rows_of("log");
        cr_expect(same(&rows, &log), "%d steps, another log:\n%s", (int)steps, rows.at);
    }
}

static bool count_down(void *arg, const struct train_event *event)
{
    int *left = arg;
    return event->kind == TRAIN_SAVING || event->kind == TRAIN_SAVED || --*left != 0;
}

Test(train, the_watcher_may_stop_a_run_after_any_event_and_more_epochs_go_on)
{
    struct train_config c = config_of();
    float whole[N] = {0}, average[N] = {0};
    for (int events = 0; events <= 22; events++) {
        struct subject s = {0};
        int left = events;
        c.epochs = events == 22 ? 2 : 5;
        c.watch = count_down;
        c.watch_arg = &left;
        c.checkpoint = "a";
        struct train *train = begun(&s, &c);
        OK(train_run(train, 0));
        if (events > 0) {
            train_destroy(train);
            c.epochs = 5;
            train = created(&s, &c);
            OK(train_resume(train, "a"));
            OK(train_run(train, 0));
        } else {
            memcpy(whole, train_parameters(train), sizeof whole);
            memcpy(average, train_average(train), sizeof average);
        }
        cr_expect(memcmp(whole, train_parameters(train), sizeof whole) == 0 &&
                      memcmp(average, train_average(train), sizeof average) == 0,
                  "event %d", events);
        train_destroy(train);
    }
}

/* -- files that are refused -------------------------------------------------------------------- */

Test(train, every_damage_is_seen_and_nothing_is_taken_over)
{
    struct subject s = {0};
    struct train_config c = config_of();
    struct train *train = begun(&s, &c);
    OK(train_run(train, 4));
    OK(train_save(train, "a"));
    struct bytes whole = bytes_of("a");
    OK(train_run(train, 1));
    for (size_t n = 0; n < whole.n; n++) {
        write_bytes("b", "wb", whole.at, n);
        FAILS(train_resume(train, "b"), YP_IO, n < 24 ? "not a checkpoint" : "torn");
    }
    for (size_t i = 0; i < whole.n; i++) {
        whole.at[i] ^= (char)(1 << i % 8);
        write_bytes("b", "wb", whole.at, whole.n);
        FAILS(train_resume(train, "b"), i / 8 == 1 ? YP_INVALID : YP_IO,
              i < 8    ? "is not a checkpoint"
              : i < 16 ? "is of version"
              : i < 24 ? "torn"
                       : "damaged: the checksum is wrong");
        whole.at[i] ^= (char)(1 << i % 8);
    }
    write_bytes("b", "wb", whole.at, whole.n + 1);
    FAILS(train_resume(train, "b"), YP_IO, "torn");
    FAILS(train_resume(train, "none"), YP_IO, "none cannot be opened: No such file");
    FAILS(train_resume(train, "/"), YP_IO, "/");
    FAILS(train_resume(train, NULL), YP_INVALID, "path is NULL");
    cr_expect_eq(state_of(train).step, 5);

    /* One that cannot be written leaves the old one. */
    signal(SIGXFSZ, SIG_IGN);
    for (size_t limit = 0; limit < whole.n; limit += 64) {
        const struct rlimit tight = {limit, RLIM_INFINITY}, open = {RLIM_INFINITY, RLIM_INFINITY};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
        FAILS(train_save(train, "a"), YP_IO, "a: cannot be written at byte");
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &open), 0);
        struct bytes now = bytes_of("a");
        cr_expect(same(&now, &whole), "%zu bytes", limit);
    }
    FAILS(train_save(train, "none/a"), YP_IO, "none/a: cannot be made");
    FAILS(train_save(train, NULL), YP_INVALID, "path is NULL");
    train_destroy(train);
    FAILS(train_save(train = created(&s, &c), "b"), YP_INVALID, "nothing to save");
    train_destroy(train);
}

static void expect_other(const struct train_objective *objective, const struct train_config *c,
                         const char *words)
{
    struct train *other = train_create(yp_device_cpu(), objective, c);
    cr_assert_not_null(other, "%s", yp_last_error());
    FAILS(train_resume(other, "a"), YP_INVALID, words);
    cr_expect_null(train_parameters(other));
    train_destroy(other);
}

/* The run that was saved, but for `change`, does not take up the file. */
#define OTHER(change, words) \
    do { \
        struct train_config c = first; \
        struct train_objective objective = objective_of(&s); \
        change; \
        expect_other(&objective, &c, words); \
    } while (0)

Test(train, another_run_is_refused_by_name)
{
    static const struct train_setting wider[] = {{"width", 7}}, named[] = {{"length", N}};
    static const struct yp_tensor renamed[] = {{"v", 0, N - 1}, {"b", N - 1, 1}};
    static const struct yp_tensor moved[] = {{"w", 0, N - 2}, {"b", N - 2, 2}};
    static const uint32_t plays[ITEMS] = {1};
    static const struct yp_tensor longer[] = {{"w", 0, N - 1}, {"b", N - 1, 5}};
    struct subject s = {0};
    const struct train_config first = config_of();
    struct train *train = begun(&s, &first);
    OK(train_save(train, "a"));
    train_destroy(train);
    OTHER((objective.parameters = 9, objective.tensors = longer),
          "another configuration: parameters is 5 there, 9 here");
    OTHER(objective.tensors = renamed, "tensors is");
    OTHER(objective.tensors = moved, "tensors is");
    OTHER(objective.identity = 78, "identity is 0 there, 78 here");
    OTHER(objective.settings = wider, "width is 5 there, 7 here");
    OTHER(objective.settings = named, "settings is");
    OTHER(objective.n_settings = 0, "settings is");
    OTHER(objective.items = 41, "items is 13 there, 41 here");
    OTHER(c.seed = 12, "seed is 11 there, 12 here");
    OTHER(c.validation = 0.25, "validation is 0.2");
    OTHER(c.batch = 3, "batch is 2 there, 3 here");
    OTHER(c.accumulate = 1, "accumulate is 2 there, 1 here");
    OTHER(c.optimiser = TRAIN_SGD, "optimiser is 0 there, 1 here");
    OTHER(c.adamw.lr = 0.1, "adamw.lr is 0.2");
    OTHER(c.adamw.beta1 = 0.8, "adamw.beta1");
    OTHER(c.adamw.beta2 = 0.8, "adamw.beta2");
    OTHER(c.adamw.eps = 1e-6, "adamw.eps");
    OTHER(c.adamw.weight_decay = 0, "adamw.weight_decay");
    OTHER(c.sgd.lr = 0.2, "sgd.lr is 0.1");
    OTHER(c.sgd.momentum = 0, "sgd.momentum is 0.9");
    OTHER(c.sgd.dampening = 0.5, "sgd.dampening is 0 there, 0.5 here");
    OTHER(c.sgd.weight_decay = 1, "sgd.weight_decay");
    OTHER(c.sgd.nesterov = true, "sgd.nesterov is 0 there, 1 here");
    OTHER(c.average = 0, "average is 0.5 there, 0 here");
    OTHER(objective.group = plays, "groups is 0 there");
    OTHER(c.clip = 2, "clip is 1 there, 2 here");
    OTHER(c.scaling.initial = 2, "scaling.initial is 4 there, 2 here");
    OTHER(c.scaling.growth = 4, "scaling.growth is 2 there");
    OTHER(c.scaling.backoff = 0.25, "scaling.backoff is 0.5");
    OTHER(c.scaling.interval = 7, "scaling.interval is 4 there, 7 here");
    OTHER(c.schedule = TRAIN_CONSTANT, "schedule is 0 there, 1 here");
    OTHER(c.plateau.factor = 0.5, "plateau.factor");
    OTHER(c.plateau.patience = 5, "plateau.patience is 0 there, 5 here");
    OTHER(c.plateau.threshold = 0.25, "plateau.threshold");
    OTHER(c.plateau.absolute = true, "plateau.absolute is 0 there, 1 here");
    OTHER(c.plateau.cooldown = 1, "plateau.cooldown");
    OTHER(c.plateau.min_lr = 1e-3, "plateau.min_lr");
    OTHER(c.plateau.eps = 1e-3, "plateau.eps");
    OTHER(c.cosine.warmup = 5, "cosine.warmup is 0 there, 5 here");
    OTHER(c.cosine.steps = 30, "cosine.steps is 0 there");
    OTHER(c.cosine.min_lr = 1, "cosine.min_lr");
    OTHER(c.patience = 3, "patience is 0 there, 3 here");
    OTHER(train_set_add(&c.no_decay, 0), "no_decay is 2 there, 3 here");
    OTHER(train_set_add(&c.frozen, 0), "frozen is 0 there, 1 here");
    OTHER(c.keep_best = false, "keep_best is 1 there, 0 here");
    struct train_config c = first; /* what does not change a run */
    c.epochs = 3;
    c.max_skipped = 1;
    c.checkpoint = "b";
    c.checkpoint_every = 7;
    OK(train_resume(train = created(&s, &c), "a"));
    train_destroy(train);
}

/* -- logs -------------------------------------------------------------------------------------- */

Test(train, a_log_has_a_row_for_each_event)
{
    struct subject s = {.poison = 5}; /* the gradient of step 3 */
    struct train_config c = config_of();
    c.watch = train_log_watch;
    c.watch_arg = log_of("log", NULL);
    struct train *train = begun(&s, &c);
    OK(train_run(train, 0));
    OK(train_log_destroy(c.watch_arg));
    train_destroy(train);
    struct bytes b = bytes_of("log");
    const char head[] = "kind,epoch,place,step,loss,weight,norm,lr,scale,skipped,train_loss,"
                        "validation_loss,rms,best,seconds\nepoch,0,0,0,,,,0.2,4,,,";
    cr_expect_eq(strncmp(b.at, head, strlen(head)), 0, "%s", b.at);
    double loss, rms;
    cr_expect_eq(sscanf(b.at + strlen(head), "%lf,%lf,1,", &loss, &rms), 2);
    cr_expect_float_eq(rms, sqrt(2 * loss), 1e-8);
    size_t rows = 0, steps = 0, skipped = 0;
    for (const char *line = b.at; *line != 0; line = strchr(line, '\n') + 1, rows++) {
        size_t commas = 0, at = 0;
        for (; line[at] != '\n'; at++)
            commas += line[at] == ',';
        cr_expect_eq(commas, 14, "row %zu", rows);
        steps += strncmp(line, "step,", 5) == 0;
        for (commas = at = 0; commas < 9; at++)
            commas += line[at] == ',';
        skipped += line[at] == '1';
    }
    cr_expect(steps == 5 * STEPS && rows == 2 + 5 + steps && skipped == 1, "%s", b.at);
    const struct rlimit tight = {16, RLIM_INFINITY}, open = {RLIM_INFINITY, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
    FAILS(train_log_destroy(log_of("b", NULL)), YP_IO, "rows were lost: File too large");
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &open), 0);
    OK(train_log_destroy(NULL));
}

/* What a file system may leave of a row when the power goes: a length, and zeros. */
Test(train, torn_rows_and_zeros_are_dropped_and_what_is_no_log_is_not_cut)
{
    const struct train_state late = {.judged = true, .epoch = 5};
    static const char *const others[] = {"a letter\n", "kind,epoch", "\n",
                                         "kind,epoch,place\nstep,1,1,\n"};
    const char zeros[5000] = {0}, row[] = "step,1,1,1,2,3,4,5,0,,,,,,0.5\n";
    for (size_t n = 1; n <= sizeof zeros; n *= 3) {
        OK(train_log_destroy(log_of("log", NULL)));
        write_bytes("log", "ab", row, sizeof row - 1);
        struct bytes wanted = bytes_of("log");
        write_bytes("log", "ab", zeros, n);
        write_bytes("log", "ab", row, n % 2 * (sizeof row - 1)); /* zeros first, in one line */
        OK(train_log_destroy(log_of("log", &late)));
        struct bytes now = bytes_of("log");
        cr_expect(same(&now, &wanted), "%zu zeros", n);
    }
    for (size_t i = 0; i < LENGTH(others); i++) {
        write_bytes("log", "wb", others[i], strlen(others[i]));
        REFUSED(log_of("log", &late), "log begins with another line");
        cr_expect_str_eq(bytes_of("log").at, others[i]);
    }
    REFUSED(log_of("log/below", &late), "log/below cannot be read: Not a directory");
    REFUSED(log_of("none/log", NULL), "none/log cannot be opened");
    REFUSED(log_of(NULL, NULL), "path is NULL");
    REFUSED(train_log_create(yp_device_cpu(), "log", metric_names, 33, NULL), "0 to 32");
    OK(train_log_destroy(log_of("log", NULL))); /* without `after`: anew */
    struct bytes head = bytes_of("log");
    write_bytes("log", "wb", "", 0);
    OK(train_log_destroy(log_of("log", &late)));
    struct bytes again = bytes_of("log");
    cr_expect(same(&head, &again));
}

/* -- an average -------------------------------------------------------------------------------- */

static void set_last(void *arg, uint64_t epoch, float *parameters)
{
    (void)arg;
    parameters[N - 1] = (float)epoch + 0.3F;
}

/* What a workload writes itself is judged as it is; the rest lags behind what is trained. */
Test(train, a_frozen_tensor_is_not_averaged)
{
    struct subject s = {.poison_all = true};
    struct train_config c = config_of();
    struct train_objective objective = objective_of(&s);
    c.max_skipped = 0;
    train_set_add(&c.frozen, 1);
    objective.epoch = set_last;
    struct train *train = train_create(yp_device_cpu(), &objective, &c);
    OK(train_begin(train, start));
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        OK(train_run(train, STEPS)); /* those of the first two epochs are skipped */
        const float *now = train_parameters(train), *average = train_average(train);
        cr_expect(average[N - 1] == now[N - 1] && now[N - 1] == (float)epoch + 0.3F, "%g",
                  (double)average[N - 1]);
        cr_expect((memcmp(now, average, (N - 1) * sizeof *now) == 0) == (epoch < 2));
        s.poison_all = epoch < 1;
    }
    train_destroy(train);
}

/* A play is trained on, or judged by. */
Test(train, groups_stay_together)
{
    uint32_t play[ITEMS];
    struct subject s = {0};
    struct train_config c = config_of();
    struct train_objective objective = objective_of(&s);
    objective.group = play;
    c.validation = 0.4;
    for (uint32_t i = 0; i < ITEMS; i++)
        play[i] = 90 + i / 4;
    struct train *train = train_create(yp_device_cpu(), &objective, &c);
    const struct train_items judged = train_part_items(train, TRAIN_VALIDATION);
    cr_expect(judged.count == 4 || judged.count == 5, "%zu items", judged.count);
    for (size_t i = 0; i < judged.count; i++)
        for (uint32_t k = 0; k < train_part_items(train, TRAIN_TRAINING).count; k++)
            cr_expect_neq(play[judged.index[i]],
                          play[train_part_items(train, TRAIN_TRAINING).index[k]]);
    OK(train_begin(train, start));
    OK(train_run(train, 0));
    const size_t trained = ITEMS - judged.count, each = c.batch * c.accumulate;
    cr_expect_eq(state_of(train).steps_per_epoch, (trained + each - 1) / each);
    OK(train_save(train, "a"));
    train_destroy(train);
    play[ITEMS - 1]--;
    expect_other(&objective, &c, "groups is");
}

/* -- edges of a run ---------------------------------------------------------------------------- */

Test(train, without_epochs_there_is_one_judgement)
{
    struct subject s = {0};
    struct train_config c = config_of();
    c.epochs = 0;
    struct train *train = begun(&s, &c);
    for (int again = 0; again < 2; again++) {
        OK(train_run(train, 0));
        cr_expect(s.calls == 0 && memcmp(train_best(train), start, sizeof start) == 0);
    }
    cr_expect(state_of(train).end == TRAIN_ALL_EPOCHS && isfinite(state_of(train).best_loss));
    train_destroy(train);
}

static bool keep_loss(void *arg, const struct train_event *event)
{
    if (event->kind == TRAIN_EPOCH && event->epoch == 1)
        memcpy(arg, (double[]){event->train_loss, event->validation_loss}, 2 * sizeof(double));
    return true;
}

Test(train, a_single_item_is_trained_on_and_watched)
{
    struct subject s = {0};
    struct train_config c = config_of();
    struct train_objective objective = objective_of(&s);
    double losses[2];
    c.watch = keep_loss;
    c.watch_arg = losses;
    c.epochs = 1;
    objective.items = 1;
    struct train *train = train_create(yp_device_cpu(), &objective, &c);
    OK(train_begin(train, start));
    OK(train_run(train, 0));
    cr_expect_eq(train_part_items(train, TRAIN_VALIDATION).count, 0);
    cr_expect(isnan(losses[1]) && state_of(train).best_loss == losses[0]);
    train_destroy(train);
}

Test(train, a_step_that_is_not_finite_is_as_if_it_had_not_been)
{
    for (int loss = 0; loss < 2; loss++) {
        struct subject s = {.poison = 3, .poison_loss = loss != 0};
        struct train_config c = config_of();
        float before[N];
        c.accumulate = 1;
        struct train *train = begun(&s, &c);
        OK(train_run(train, 2));
        memcpy(before, train_parameters(train), sizeof before);
        OK(train_run(train, 1));
        cr_expect(memcmp(train_parameters(train), before, sizeof before) == 0);
        cr_expect(state_of(train).step == 2 && state_of(train).skipped == 1);
        train_destroy(train);
    }
    struct subject s = {.poison_all = true};
    struct train_config c = config_of();
    c.max_skipped = 4;
    struct train *train = begun(&s, &c);
    OK(train_run(train, 2));
    s.poison_all = false;
    OK(train_run(train, 1)); /* those skipped before are not in a row with others */
    s.poison_all = true;
    FAILS(train_run(train, 0), YP_INVALID, "5 steps in a row were skipped");
    cr_expect_not_null(strstr(yp_last_error(), "the last is step 2 of epoch 3"), "%s",
                       yp_last_error());
    s.poison_all = false;
    OK(train_run(train, 0));
    cr_expect(state_of(train).end == TRAIN_ALL_EPOCHS && state_of(train).skipped == 7);
    train_destroy(train);
}

/* Alone it is a skipped step; beside another batch it is not there. */
Test(train, a_batch_without_weight_adds_nothing)
{
    for (size_t accumulate = 1; accumulate <= 2; accumulate++) {
        struct subject s = {0};
        struct train_config c = config_of();
        c.batch = 1;
        c.accumulate = accumulate;
        struct train *train = begun(&s, &c);
        s.weightless = train_part_items(train, TRAIN_TRAINING).index[4];
        OK(train_run(train, 0));
        cr_expect_eq(state_of(train).skipped, accumulate == 1 ? 5 : 0);
        double loss;
        OK(train_judge(train, (struct train_items){&s.weightless, 1}, start, &loss, NULL));
        cr_expect(isnan(loss));
        for (size_t k = 0; k < N; k++)
            cr_expect(isfinite(train_parameters(train)[k]));
        train_destroy(train);
    }
}

/* It jumps around: the best epoch is kept, and so many without a better one end the run. */
Test(train, a_run_ends_when_it_gets_no_better)
{
    struct subject s = {0};
    struct train_config c = config_of();
    double loss;
    c.epochs = 60;
    c.adamw.lr = 8;
    c.schedule = TRAIN_CONSTANT;
    c.patience = 2;
    struct train *train = begun(&s, &c);
    OK(train_run(train, 0));
    struct train_state state = state_of(train);
    cr_expect(state.end == TRAIN_NO_BETTER && state.epoch == state.best_epoch + 3 && state.lr == 8);
    OK(train_judge(train, train_part_items(train, TRAIN_VALIDATION), train_best(train), &loss,
                   NULL));
    cr_expect_eq(loss, state.best_loss);
    OK(train_save(train, "a"));
    struct train *other = created(&s, &c);
    OK(train_resume(other, "a"));
    cr_expect(memcmp(train_best(other), train_best(train), sizeof start) == 0);
    train_destroy(other);
    train_destroy(train);
}

Test(train, a_failure_leaves_the_last_step_and_may_be_tried_again)
{
    struct subject s = {.fails = 5}, calm = {0};
    struct train_config c = config_of();
    struct train *train = begun(&s, &c), *other = begun(&calm, &c);
    OK(train_run(other, 0));
    for (; state_of(train).end == TRAIN_NOT_ENDED; s.fails = s.calls + 7)
        if (train_run(train, 0) != YP_OK)
            cr_expect_not_null(strstr(yp_last_error(), "is not there"));
    cr_expect_geq(s.calls, calm.calls + 4, "it did not fail");
    cr_expect(memcmp(train_parameters(train), train_parameters(other), sizeof start) == 0);
    train_destroy(train);
    train_destroy(other);
}

Test(train, memory_is_one_block_of_the_size_that_was_said)
{
    for (int variant = 0; variant < 8; variant++) {
        struct subject s = {0};
        struct train_config c = config_of();
        c.keep_best = (variant & 1) != 0;
        c.accumulate = (variant & 2) != 0 ? 3 : 1;
        c.optimiser = (variant & 4) != 0 ? TRAIN_SGD : TRAIN_ADAMW;
        c.sgd.momentum = (variant & 2) != 0 ? 0.9 : 0;
        struct train_objective objective = objective_of(&s);
        struct yp_memory before = memory();
        struct train *train = begun(&s, &c);
        OK(train_run(train, 0));
        cr_expect_eq(memory().allocated, train_bytes(&objective, &c));
        cr_expect_eq(memory().allocations - before.allocations, 1);
        train_destroy(train);
        yp_device_fail_allocation(yp_device_cpu(), 1);
        cr_expect_null(train_create(yp_device_cpu(), &objective, &c));
        cr_expect_eq(memory().allocated, 0);
    }
}

/* A cosine that is given no steps reaches its end with the last epoch. */
Test(train, cosine_over_all_epochs)
{
    float after[3][N];
    const uint64_t steps[] = {0, 15, 16};
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct subject s = {0};
        struct train_config c = config_of();
        c.schedule = TRAIN_COSINE;
        c.cosine = (struct train_cosine){.warmup = 2, .steps = steps[i], .min_lr = 0.01};
        struct train *train = begun(&s, &c);
        OK(train_run(train, 0));
        cr_expect(i == 2 || fabs(state_of(train).lr - 0.01) < 1e-12, "%g", state_of(train).lr);
        memcpy(after[i], train_parameters(train), sizeof after[i]);
        train_destroy(train);
    }
    cr_expect(memcmp(after[0], after[1], sizeof after[0]) == 0);
    cr_expect(memcmp(after[0], after[2], sizeof after[0]) != 0);
}

/* -- what is refused --------------------------------------------------------------------------- */

static void expect_refused(const struct train_objective *objective, const struct train_config *c,
                           const char *words)
{
    REFUSED(train_create(yp_device_cpu(), objective, c), words);
    cr_expect_eq(train_bytes(objective, c), 0);
}

#define REFUSES(change, words) \
    do { \
        struct train_config c = config_of(); \
        struct train_objective objective = objective_of(&s); \
        change; \
        expect_refused(&objective, &c, words); \
    } while (0)

Test(train, what_is_not_allowed_is_named)
{
    static const char *const nameless[] = {NULL};
    static const struct train_setting unnamed[] = {{NULL, 0}};
    static const struct yp_tensor gap[] = {{"w", 0, 3}, {"b", 4, 1}};
    static const struct yp_tensor over[] = {{"w", 0, 4}, {"b", 4, 9}};
    struct subject s = {0};
    REFUSES(objective.parameters = 0, "objective->parameters is 0");
    REFUSES(objective.gradient = NULL, "objective->gradient is NULL");
    REFUSES(objective.n_tensors = TRAIN_TENSORS + 1, "n_tensors is 513, allowed are 0 to 512");
    REFUSES(objective.tensors = NULL, "objective->tensors is NULL");
    REFUSES(objective.tensors = gap, "tensor 1, b, has 1 parameters from 4 on");
    REFUSES(objective.tensors = over, "tensor 1, b, has 9");
    REFUSES(objective.n_tensors = 1, "the tensors end at 4, there are 5");
    REFUSES(objective.items = 0, "objective->items is 0, allowed are 1 to 4294967295");
    REFUSES(objective.items = SIZE_MAX, "objective->items is 1844");
    REFUSES(objective.n_metrics = 33, "n_metrics is 33, allowed are 0 to 32");
    REFUSES(objective.n_settings = 25, "n_settings is 25, allowed are 0 to 24");
    REFUSES(objective.metrics = nameless, "objective->metrics has no name 0");
    REFUSES(objective.settings = unnamed, "objective->settings has no name 0");
    REFUSES(c.validation = 1, "validation is 1, allowed is [0, 1)");
    REFUSES(c.validation = NAN, "validation is nan");
    REFUSES(c.batch = 0, "batch is 0");
    REFUSES(c.accumulate = 0, "accumulate is 0");
    REFUSES(c.optimiser = 2, "optimiser is 2");
    REFUSES(c.adamw.lr = 0, "adamw.lr is 0, allowed is (0, inf)");
    REFUSES(c.adamw.lr = INFINITY, "adamw.lr is inf");
    REFUSES(c.adamw.beta1 = 1, "adamw.beta1 is 1");
    REFUSES(c.adamw.beta2 = -0.1, "adamw.beta2 is -0.1");
    REFUSES(c.adamw.eps = -1, "adamw.eps is -1");
    REFUSES(c.adamw.weight_decay = NAN, "adamw.weight_decay is nan");
    REFUSES(c.clip = -1, "clip is -1");
    REFUSES(c.average = 1, "average is 1");
    REFUSES(c.plateau.factor = 0, "plateau.factor is 0");
    REFUSES(c.plateau.threshold = -1, "plateau.threshold is -1");
    REFUSES(c.plateau.min_lr = -1, "plateau.min_lr is -1");
    REFUSES(c.plateau.eps = NAN, "plateau.eps is nan");
    REFUSES(train_set_add(&c.no_decay, 2), "no_decay has tensor 2, beyond the 2");
    REFUSES(train_set_add(&c.frozen, 511), "frozen has tensor 511");
    REFUSES(c.scaling.initial = -1, "scaling.initial is -1");
    REFUSES(c.scaling.growth = 1, "scaling.growth is 1");
    REFUSES(c.scaling.backoff = 1, "scaling.backoff is 1");
    REFUSES(c.scaling.interval = 0, "scaling.interval is 0");
    REFUSES(c.schedule = 3, "schedule is 3");
#define SGD(change, words) REFUSES((c.optimiser = TRAIN_SGD, change), words)
    SGD(c.sgd.lr = 0, "sgd.lr is 0, allowed is (0, inf)");
    SGD(c.sgd.momentum = 1, "sgd.momentum is 1, allowed is [0, 1)");
    SGD(c.sgd.dampening = 2, "sgd.dampening is 2");
    SGD(c.sgd.weight_decay = -1, "sgd.weight_decay is -1");
    SGD((c.sgd.nesterov = true, c.sgd.momentum = 0), "sgd.nesterov needs momentum");
    SGD((c.sgd.nesterov = true, c.sgd.dampening = 0.1), "dampening 0, they are");
#define COSINE(warmup_, steps_, least, words) \
    REFUSES((c.schedule = TRAIN_COSINE, c.cosine.warmup = warmup_, c.cosine.steps = steps_, \
             c.cosine.min_lr = least), \
            words)
    COSINE(4, 4, 0, "cosine.steps is 4, allowed are more than cosine.warmup, 4");
    COSINE(4, 8, 0.5, "cosine.min_lr is 0.5, allowed is [0, 0.2]");
    struct train_config all = config_of(); /* of 15 steps, which only a trainer knows */
    all.schedule = TRAIN_COSINE;
    all.cosine.warmup = 15;
    struct train_objective whole = objective_of(&s);
    cr_expect_null(train_create(yp_device_cpu(), &whole, &all));
    cr_expect_not_null(
        strstr(yp_last_error(), "cosine.warmup is 15, allowed are fewer than the 15"));

    struct train_config c = config_of();
    struct train *train = created(&s, &c);
    const float wrong[N] = {0, 1, INFINITY};
    struct train_items part = train_part_items(train, TRAIN_VALIDATION), none = {NULL, 3};
    double loss;
    cr_expect(train_parameters(train) == NULL && train_best(train) == NULL);
    FAILS(train_run(train, 0), YP_INVALID, "no parameters yet");
    FAILS(train_begin(train, wrong), YP_INVALID, "w[2] is inf");
    FAILS(train_begin(train, NULL), YP_INVALID, "parameters is NULL");
    FAILS(train_run(NULL, 0), YP_INVALID, "train is NULL");
    FAILS(train_judge(NULL, part, start, &loss, NULL), YP_INVALID, "train is NULL");
    FAILS(train_judge(train, none, start, &loss, NULL), YP_INVALID, "items.index is NULL");
    FAILS(train_judge(train, part, NULL, &loss, NULL), YP_INVALID, "parameters is NULL");
    FAILS(train_judge(train, part, start, NULL, NULL), YP_INVALID, "loss is NULL");
    train_destroy(train);
}

/* -- cubes as items: models/rx/train.h, whose objective is not called ----------------------------
 */

static enum yp_status no_tile(void *arg, size_t index, float *values, uint8_t *labels,
                              struct rx_tile *tile)
{
    (void)arg, (void)index, (void)values, (void)labels, (void)tile;
    return YP_INVALID;
}

static enum yp_status no_gradient(void *arg, const struct rx_source *source, const float *p,
                                  double scale, double *mean, double *weight, float *g)
{
    (void)arg, (void)source, (void)p, (void)scale, (void)mean, (void)weight, (void)g;
    return YP_INVALID;
}

#define CUBES(change) \
    struct rx_objective objective = {.parameters = N, .gradient = no_gradient}; \
    struct rx_source source = {6, 24, 26, no_tile, NULL}; \
    struct train_config c = train_defaults(); \
    size_t per_cube = 2; \
    change; \
    struct rx_training *training = \
        rx_training_create(yp_device_cpu(), &objective, &source, per_cube, &c)

#define NO_CUBES(change, words) \
    do { \
        CUBES(change); \
        REFUSED(training, words); \
        cr_expect_eq(rx_training_bytes(&objective, &source, per_cube, &c), 0); \
    } while (0)

#define OTHER_CUBES(change, words) \
    do { \
        CUBES(change); \
        cr_assert_not_null(training, "%s", yp_last_error()); \
        FAILS(train_resume(rx_training_trainer(training), "a"), YP_INVALID, words); \
        rx_training_destroy(training); \
    } while (0)

Test(train, cubes_are_checked_and_named)
{
    double loss;
    {
        CUBES((void)0);
        cr_expect_eq(memory().allocated, rx_training_bytes(&objective, &source, per_cube, &c));
        OK(train_begin(rx_training_trainer(training), start));
        OK(train_save(rx_training_trainer(training), "a"));
        rx_training_destroy(training);
    }
    FAILS(rx_training_judge(NULL, TRAIN_VALIDATION, start, &loss, NULL), YP_INVALID,
          "training is NULL");
    rx_training_destroy(NULL);
    OTHER_CUBES(source.channels = 7, "channels is 6 there, 7 here");
    OTHER_CUBES(source.tile_pixels = 25, "tile_pixels is 24 there");
    OTHER_CUBES(source.tiles = 28, "tiles is 26 there, 28 here");
    OTHER_CUBES(per_cube = 1, "tiles_per_cube is 2 there, 1 here");
    NO_CUBES(source.yield = NULL, "source->yield is NULL");
    NO_CUBES(source.tiles = 0, "divisor of source->tiles, 0");
    NO_CUBES(per_cube = 3, "tiles_per_cube is 3, allowed is a divisor of source->tiles, 26");
    NO_CUBES(per_cube = 0, "tiles_per_cube is 0");
    NO_CUBES(objective.whole_cubes = true, "tiles_per_cube is 2, allowed is 1");
    NO_CUBES(objective.targets = 400, "targets is 400, but the objective has no logits");
}
