/* models/train/trainer.h: stopped, killed and resumed runs, damaged checkpoints, logs. */
#include "tests/unit/train/train_subject.h"

#include "base/system/atomic_file.h"
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* -- files ---------------------------------------------------------------------------------- */

static char directory[] = "/tmp/train_resume.XXXXXX";

static void make_directory(void)
{
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(chdir(directory), 0);
}

/* Files that were being written: how many were left, and removed now. */
static int remove_parts(void)
{
    glob_t found;
    int count = glob("*.part", 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    for (int i = 0; i < count; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
    return count;
}

static void remove_directory(void)
{
    const char *names[] = {"a", "b", "c", "log", "reference", "whole"};
    for (size_t i = 0; i < LENGTH(names); i++)
        unlink(names[i]);
    cr_expect_eq(chdir("/"), 0);
    cr_expect_eq(rmdir(directory), 0, "files are left in %s", directory);
}

TestSuite(train_resume, .init = make_directory, .fini = remove_directory);

struct bytes {
    char *at;
    size_t n;
};

static struct bytes read_bytes(const char *path)
{
    struct stat found;
    cr_assert_eq(stat(path, &found), 0, "%s", path);
    struct bytes b = {calloc((size_t)found.st_size + 1, 1), (size_t)found.st_size};
    FILE *file = fopen(path, "rb");
    cr_assert(b.at != NULL && file != NULL && fread(b.at, 1, b.n, file) == b.n);
    fclose(file);
    return b;
}

static void write_bytes(const char *path, const char *at, size_t n)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && fwrite(at, 1, n, file) == n && fclose(file) == 0);
}

/* A checkpoint has all that a run depends on, so equal files are equal runs. */
static void expect_same(const char *path, const char *other, const char *when, int number)
{
    struct bytes a = read_bytes(path), b = read_bytes(other);
    cr_expect(a.n == b.n && memcmp(a.at, b.at, a.n) == 0, "%s differs from %s, %s %d", path, other,
              when, number);
    free(a.at);
    free(b.at);
}

/* -- stopping and going on ------------------------------------------------------------------ */

static struct subject subject(void)
{
    return (struct subject){.nan_cube = SIZE_MAX, .poison = 9}; /* one step is skipped, too */
}

static void run_whole(const char *path)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    struct train *train = subject_begin(&s, &config);
    OK(train_run(train, 0));
    OK(train_save(train, path));
    subject_destroy(train);
}

Test(train_resume, a_run_that_is_stopped_anywhere_and_resumed_is_the_same_run)
{
    run_whole("whole");
    for (uint64_t k = 1; k <= 18; k++) {
        struct subject s = subject();
        struct train_config config = subject_config();
        struct train *train = subject_begin(&s, &config);
        OK(train_run(train, k));
        OK(train_save(train, "a"));
        subject_destroy(train);
        train = subject_create(&s, &config);
        OK(train_resume(train, "a"));
        OK(train_save(train, "b"));
        expect_same("a", "b", "resumed at step", (int)k);
        OK(train_run(train, 0));
        OK(train_save(train, "b"));
        expect_same("whole", "b", "finished from step", (int)k);
        subject_destroy(train);
    }
}

Test(train_resume, one_step_at_a_time_is_the_same_run)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    struct train_state state = {.end = TRAIN_NOT_ENDED};
    config.checkpoint = "a";
    config.checkpoint_every = 1;
    run_whole("whole");
    struct train *train = subject_begin(&s, &config);
    for (int runs = 0; state.end == TRAIN_NOT_ENDED; runs++) {
        cr_assert_lt(runs, 30);
        OK(train_run(train, 1));
        subject_destroy(train);
        train = subject_create(&s, &config);
        OK(train_resume(train, "a"));
        train_state(train, &state);
    }
    subject_destroy(train);
    expect_same("whole", "a", "step by step", 1);
    cr_expect_eq(remove_parts(), 0);
}

/* Stops after so many events. */
static bool count_down(void *arg, const struct train_event *event)
{
    int *left = arg;
    return event->kind == TRAIN_SAVING || event->kind == TRAIN_SAVED || --*left != 0;
}

Test(train_resume, the_watcher_may_stop_a_run_after_any_event)
{
    run_whole("whole");
    for (int events = 1; events <= 25; events++) {
        struct subject s = subject();
        struct train_config config = subject_config();
        int left = events;
        config.watch = count_down;
        config.watch_arg = &left;
        config.checkpoint = "a";
        struct train *train = subject_begin(&s, &config);
        OK(train_run(train, 0));
        subject_destroy(train);
        config.watch = NULL;
        train = subject_create(&s, &config);
        OK(train_resume(train, "a"));
        OK(train_run(train, 0));
        expect_same("whole", "a", "stopped by event", events);
        subject_destroy(train);
    }
}

Test(train_resume, more_epochs_go_on_where_fewer_ended)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    run_whole("whole");
    config.epochs = 2;
    struct train *train = subject_begin(&s, &config);
    OK(train_run(train, 0));
    OK(train_save(train, "a"));
    subject_destroy(train);
    config.epochs = 6;
    train = subject_create(&s, &config);
    OK(train_resume(train, "a"));
    OK(train_run(train, 0));
    OK(train_save(train, "a"));
    expect_same("whole", "a", "after epoch", 2);
    subject_destroy(train);
}

/* -- killing -------------------------------------------------------------------------------- */

/* In a process of its own: resumes where there is a checkpoint, runs to the end. `die` is the
 * number of the event that kills it; 0: none. `slow`: enough parameters that a kill often meets a
 * checkpoint being written. */
struct life {
    const char *checkpoint, *log;
    int die;
    bool slow;
    struct train_log *rows;
};

static bool live(void *arg, const struct train_event *event)
{
    struct life *life = arg;
    if (life->rows != NULL)
        train_log_watch(life->rows, event);
    if (life->die > 0 && --life->die == 0)
        raise(SIGKILL);
    return true;
}

/* The subject's loss on the first parameters; the others only decay. */
static enum yp_status slow_gradient(void *arg, const struct rx_source *source, const float *w,
                                    double scale, double *mean, double *weight, float *gradient)
{
    memset(gradient, 0, 100000 * sizeof *gradient);
    return subject_gradient(arg, source, w, scale, mean, weight, gradient);
}

static void live_once(struct life *life)
{
    static float start[100000] = {1, 2, 3};
    struct subject s = subject();
    struct train_config config = subject_config();
    struct rx_objective objective = subject_objective(&s);
    struct rx_source source = subject_source(&s, SUBJECT_CUBES);
    struct train_state state;
    config.watch = live;
    config.watch_arg = life;
    config.checkpoint = life->checkpoint;
    config.checkpoint_every = life->slow ? 1 : 2;
    if (life->slow) {
        objective.parameters = 100000;
        objective.n_tensors = 0;
        objective.gradient = slow_gradient;
        config.no_decay.word[0] = 0;
    }
    for (size_t i = 3; i < LENGTH(start); i++)
        start[i] = (float)i;
    struct train *train =
        subject_make(yp_device_cpu(), &objective, &source, TILES_PER_CUBE, &config);
    bool resumed = access(life->checkpoint, F_OK) == 0;
    /* A poisoned call belongs to a step, not to a process: here is none. */
    s.poison = 0;
    if (train == NULL ||
        (resumed ? train_resume(train, life->checkpoint) : train_begin(train, start)) != YP_OK)
        _exit(2);
    train_state(train, &state);
    if (life->log != NULL)
        life->rows = rx_log_create(yp_device_cpu(), life->log, resumed ? &state : NULL);
    enum yp_status status = train_run(train, 0);
    _exit(status == YP_OK && train_log_destroy(life->rows) == YP_OK ? 0 : 3);
}

/* Seconds of 0: waits for the end. Returns whether it was killed. */
static bool live_for(struct life life, double seconds)
{
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        live_once(&life);
    if (seconds > 0) {
        struct timespec wait = {0, (long)(seconds * 1e9)};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "%s, status %x",
              WEXITSTATUS(status) == 2 ? "it could not be resumed" : "the run failed", status);
    return WIFSIGNALED(status);
}

/* Rows without their last column, the seconds. */
static void cut_seconds(struct bytes *b)
{
    size_t out = 0, comma = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (b->at[i] == ',')
            comma = out;
        if (b->at[i] == '\n')
            out = comma;
        b->at[out++] = b->at[i];
    }
    b->n = out;
}

Test(train_resume, a_run_that_is_killed_after_any_event_and_resumed_is_the_same_run)
{
    live_for((struct life){.checkpoint = "reference", .log = "log"}, 0);
    struct bytes wanted = read_bytes("log");
    cut_seconds(&wanted);
    for (int event = 1;; event++) {
        unlink("a");
        unlink("log");
        bool killed = live_for((struct life){.checkpoint = "a", .log = "log", .die = event}, 0);
        live_for((struct life){.checkpoint = "a", .log = "log"}, 0);
        expect_same("reference", "a", "killed at event", event);
        struct bytes got = read_bytes("log");
        cut_seconds(&got);
        cr_expect(got.n == wanted.n && memcmp(got.at, wanted.at, got.n) == 0,
                  "another log, killed at event %d:\n%s", event, got.at);
        free(got.at);
        if (!killed) {
            cr_expect_gt(event, 40, "%d events", event);
            break;
        }
    }
    free(wanted.at);
}

Test(train_resume, a_run_that_is_killed_at_any_time_and_resumed_is_the_same_run)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    live_for((struct life){.checkpoint = "reference", .slow = true}, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double whole =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    int kills = 0, in_writing = 0;
    uint64_t random = 5;
    ypi_atomic_named = true; /* so that something is left of a file that was being written */
    for (int round = 0; round < 5; round++) {
        unlink("a");
        for (int lives = 0; lives < 8; lives++) {
            bool killed = live_for((struct life){.checkpoint = "a", .slow = true},
                                   fmin(0.9, whole) * script_uniform(&random) * 0.5 + 1e-4);
            kills += killed;
            in_writing += remove_parts();
        }
        live_for((struct life){.checkpoint = "a", .slow = true}, 0);
        expect_same("reference", "a", "round", round);
    }
    fprintf(stderr, "%d kills, %d of them while a checkpoint was written\n", kills, in_writing);
    cr_expect_gt(kills, 5);
    cr_expect_gt(in_writing, 0);
}

/* -- files that are refused ----------------------------------------------------------------- */

static struct train *half_way(struct subject *s)
{
    struct train_config config = subject_config();
    *s = subject();
    struct train *train = subject_begin(s, &config);
    OK(train_run(train, 4));
    OK(train_save(train, "a"));
    return train;
}

Test(train_resume, every_damage_is_seen_and_nothing_is_taken_over)
{
    struct subject s;
    struct train *train = half_way(&s);
    struct bytes whole = read_bytes("a");
    OK(train_run(train, 1));
    OK(train_save(train, "b"));
    for (size_t n = 0; n < whole.n; n++) {
        write_bytes("c", whole.at, n);
        cr_expect_eq(train_resume(train, "c"), YP_IO, "%zu of %zu bytes", n, whole.n);
        cr_expect_not_null(strstr(yp_last_error(), n < 24 ? "not a checkpoint" : "torn"));
    }
    for (size_t i = 0; i < whole.n; i++) {
        whole.at[i] ^= (char)(1 << i % 8);
        write_bytes("c", whole.at, whole.n);
        cr_expect_eq(train_resume(train, "c"), i / 8 == 1 ? YP_INVALID : YP_IO, "byte %zu", i);
        const char *words = i < 8    ? "is not a checkpoint"
                            : i < 16 ? "is of version"
                            : i < 24 ? "torn"
                                     : "damaged: the checksum is wrong";
        cr_expect_not_null(strstr(yp_last_error(), words), "byte %zu: %s", i, yp_last_error());
        whole.at[i] ^= (char)(1 << i % 8);
    }
    write_bytes("c", whole.at, whole.n + 1);
    FAILS(train_resume(train, "c"), YP_IO, "torn");
    FAILS(train_resume(train, "none"), YP_IO, "none cannot be opened: No such file");
    FAILS(train_resume(train, "/"), YP_IO, "/");
    FAILS(train_resume(train, NULL), YP_INVALID, "path is NULL");
    OK(train_save(train, "c"));
    expect_same("b", "c", "after refusals", 0);
    OK(train_resume(train, "a"));
    subject_destroy(train);
    free(whole.at);
}

#define OTHER(change, words) \
    do { \
        struct train_config config = subject_config(); \
        struct rx_objective objective = subject_objective(&s); \
        struct rx_source source = subject_source(&s, SUBJECT_CUBES); \
        size_t per_cube = TILES_PER_CUBE; \
        change; \
        struct train *other = \
            subject_make(yp_device_cpu(), &objective, &source, per_cube, &config); \
        cr_assert_not_null(other, "%s", yp_last_error()); \
        FAILS(train_resume(other, "a"), YP_INVALID, words); \
        cr_expect_null(train_parameters(other)); \
        subject_destroy(other); \
    } while (0)

Test(train_resume, another_configuration_is_refused_by_name)
{
    struct subject s;
    subject_destroy(half_way(&s));
    const struct yp_tensor renamed[] = {{"v", 0, CHANNELS}, {"b", CHANNELS, 1}};
    const struct yp_tensor moved[] = {{"w", 0, CHANNELS - 1}, {"b", CHANNELS - 1, 2}};
    const struct yp_tensor longer[] = {{"w", 0, CHANNELS}, {"b", CHANNELS, 2}};
    OTHER((objective.parameters = 8, objective.tensors = longer),
          "another configuration: parameters is 7 there, 8 here");
    OTHER(objective.tensors = renamed, "tensors is");
    OTHER(objective.tensors = moved, "tensors is");
    OTHER(objective.identity = 78, "identity is 77 there, 78 here");
    OTHER(source.channels = 7, "channels is 6 there, 7 here");
    OTHER(source.tile_pixels = 25, "tile_pixels is 24 there");
    OTHER(source.tiles = 28, "tiles is 26 there, 28 here");
    OTHER(per_cube = 1, "tiles_per_cube is 2 there, 1 here");
    OTHER(config.seed = 12, "seed is 11 there, 12 here");
    OTHER(config.validation = 0.25, "validation is 0.2");
    OTHER(config.batch = 3, "batch is 2 there, 3 here");
    OTHER(config.accumulate = 1, "accumulate is 2 there, 1 here");
    OTHER(config.adamw.lr = 0.1, "adamw.lr is 0.2");
    OTHER(config.adamw.beta1 = 0.8, "adamw.beta1");
    OTHER(config.adamw.beta2 = 0.8, "adamw.beta2");
    OTHER(config.adamw.eps = 1e-6, "adamw.eps");
    OTHER(config.adamw.weight_decay = 0, "adamw.weight_decay");
    OTHER(config.clip = 2, "clip is 1 there, 2 here");
    OTHER(config.plateau.factor = 0.5, "plateau.factor");
    OTHER(config.plateau.patience = 5, "plateau.patience is 0 there, 5 here");
    OTHER(config.plateau.threshold = 0.5, "plateau.threshold");
    OTHER(config.plateau.absolute = true, "plateau.absolute is 0 there, 1 here");
    OTHER(config.plateau.cooldown = 1, "plateau.cooldown");
    OTHER(config.plateau.min_lr = 1e-3, "plateau.min_lr");
    OTHER(config.plateau.eps = 1e-3, "plateau.eps");
    OTHER(config.patience = 3, "patience is 0 there, 3 here");
    OTHER(config.no_decay.word[0] = 0, "no_decay is 2 there, 0 here");
    OTHER(config.frozen.word[0] = 1, "frozen is 0 there, 1 here");
    OTHER(config.keep_best = false, "keep_best is 1 there, 0 here");
}

Test(train_resume, what_does_not_change_a_run_may_differ)
{
    struct subject s;
    struct train_config config = subject_config();
    subject_destroy(half_way(&s));
    config.epochs = 3;
    config.max_skipped = 1;
    config.checkpoint = "b";
    config.checkpoint_every = 7;
    struct rx_objective objective = subject_objective(&s);
    struct rx_source source = subject_source(&s, SUBJECT_CUBES);
    objective.targets = 0;
    struct train *train =
        subject_make(yp_device_cpu(), &objective, &source, TILES_PER_CUBE, &config);
    OK(train_resume(train, "a"));
    subject_destroy(train);
}

/* -- trouble in writing ----------------------------------------------------------------------- */

Test(train_resume, a_checkpoint_that_cannot_be_written_leaves_the_old_one)
{
    struct subject s;
    struct train *train = half_way(&s);
    struct bytes whole = read_bytes("a");
    OK(train_run(train, 1));
    signal(SIGXFSZ, SIG_IGN);
    for (size_t limit = 0; limit < whole.n; limit += 64) {
        const struct rlimit tight = {limit, RLIM_INFINITY}, open = {RLIM_INFINITY, RLIM_INFINITY};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
        enum yp_status status = train_save(train, "a");
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &open), 0);
        cr_expect_eq(status, YP_IO, "%zu bytes", limit);
        cr_expect_not_null(strstr(yp_last_error(), "a: cannot be written at byte"));
        cr_expect_eq(remove_parts(), 0);
        struct bytes now = read_bytes("a");
        cr_expect(now.n == whole.n && memcmp(now.at, whole.at, now.n) == 0);
        free(now.at);
    }
    FAILS(train_save(train, "none/a"), YP_IO, "none/a: cannot be made");
    FAILS(train_save(train, "/"), YP_IO, "/");
    FAILS(train_save(train, NULL), YP_INVALID, "path is NULL");
    char *path = calloc(9000, 1);
    memset(path, 'x', 8999);
    FAILS(train_save(train, path), YP_INVALID, "a path of 8999 bytes");
    free(path);
    subject_destroy(train);
    struct train_config config = subject_config();
    train = subject_create(&s, &config);
    FAILS(train_save(train, "b"), YP_INVALID, "nothing to save");
    subject_destroy(train);
    free(whole.at);
}

/* -- logs ------------------------------------------------------------------------------------- */

Test(train_resume, a_log_changes_nothing_and_has_a_row_for_each_event)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    run_whole("whole");
    struct train_log *log = rx_log_create(yp_device_cpu(), "log", NULL);
    config.watch = train_log_watch;
    config.watch_arg = log;
    config.checkpoint = "a";
    config.checkpoint_every = 1;
    struct train *train = subject_begin(&s, &config);
    OK(train_run(train, 0));
    subject_destroy(train);
    OK(train_log_destroy(log));
    expect_same("whole", "a", "with a log", 1);
    struct bytes b = read_bytes("log");
    size_t rows = 0, commas = 0, steps = 0, epochs = 0;
    for (const char *line = b.at; *line != 0; line = strchr(line, '\n') + 1, rows++) {
        steps += strncmp(line, "step,", 5) == 0;
        epochs += strncmp(line, "epoch,", 6) == 0;
        commas = 0;
        for (const char *c = line; *c != '\n'; c++)
            commas += *c == ',';
        cr_expect_eq(commas, 21, "row %zu: %zu commas", rows, commas);
    }
    cr_expect(steps == 18 && epochs == 7 && rows == 26);
    cr_expect_not_null(strstr(b.at, ",1,,,,")); /* the step that was skipped */
    free(b.at);

    FAILS(rx_log_create(yp_device_cpu(), NULL, NULL) == NULL ? YP_INVALID : YP_OK, YP_INVALID,
          "path is NULL");
    cr_expect_null(rx_log_create(yp_device_cpu(), "none/log", NULL));
    cr_expect_not_null(strstr(yp_last_error(), "none/log cannot be opened"));
    OK(train_log_destroy(NULL));
    log = rx_log_create(yp_device_cpu(), "/dev/full", NULL);
    if (log != NULL)
        FAILS(train_log_destroy(log), YP_IO, "rows were lost: No space left");
}

/* Runs `steps` steps from where the file is, or to the end, with a log of it. */
static void run_logged(const char *path, bool on, uint64_t steps)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    struct train_state state;
    struct train *train = subject_create(&s, &config);
    OK(train_resume(train, path));
    train_state(train, &state);
    struct train_log *log = rx_log_create(yp_device_cpu(), "log", on ? &state : NULL);
    cr_assert_not_null(log, "%s", yp_last_error());
    subject_destroy(train);
    config.watch = train_log_watch;
    config.watch_arg = log;
    train = subject_create(&s, &config);
    OK(train_resume(train, path));
    OK(train_run(train, steps));
    OK(train_log_destroy(log));
    subject_destroy(train);
}

Test(train_resume, a_log_goes_on_where_the_checkpoint_is_not_where_the_log_ended)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    struct train *train = subject_begin(&s, &config);
    OK(train_save(train, "a"));
    subject_destroy(train);
    run_logged("a", false, 0);
    struct bytes wanted = read_bytes("log");
    cut_seconds(&wanted);
    for (uint64_t steps = 1; steps < 9; steps++) {
        run_logged("a", false, steps);
        FILE *file = fopen("log", "a");
        cr_assert(file != NULL && fputs("step,1,1,1,to", file) >= 0 && fclose(file) == 0);
        run_logged("a", true, 0);
        struct bytes got = read_bytes("log");
        cut_seconds(&got);
        cr_expect(got.n == wanted.n && memcmp(got.at, wanted.at, got.n) == 0, "%d steps:\n%s",
                  (int)steps, got.at);
        free(got.at);
    }
    free(wanted.at);
}

Test(train_resume, a_row_that_is_torn_is_dropped)
{
    const struct train_state late = {.judged = true, .epoch = 5};
    OK(train_log_destroy(rx_log_create(yp_device_cpu(), "log", NULL)));
    struct bytes head = read_bytes("log");
    FILE *file = fopen("log", "a");
    cr_assert(file != NULL && fputs("step,1,1,1,to", file) >= 0 && fclose(file) == 0);
    OK(train_log_destroy(rx_log_create(yp_device_cpu(), "log", &late)));
    struct bytes now = read_bytes("log");
    cr_expect(now.n == head.n && memcmp(now.at, head.at, now.n) == 0, "%s", now.at);
    free(head.at);
    free(now.at);
}

static void add_to(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "a");
    cr_assert(file != NULL && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

/* What a file system may leave of a row when the power goes: a length, and zeros. */
Test(train_resume, zeros_at_the_end_of_a_log_are_dropped)
{
    const struct train_state late = {.judged = true, .epoch = 5};
    const char zeros[5000] = {0}, row[] = "step,1,1,1,2,3,4,5,0,,,,,,,,,,,,0.5\n";
    for (size_t n = 1; n <= sizeof zeros; n *= 3) {
        OK(train_log_destroy(rx_log_create(yp_device_cpu(), "log", NULL)));
        add_to("log", row, sizeof row - 1);
        struct bytes wanted = read_bytes("log");
        add_to("log", zeros, n);
        add_to("log", row, n % 2 * (sizeof row - 1)); /* zeros first, then a row, in one line */
        OK(train_log_destroy(rx_log_create(yp_device_cpu(), "log", &late)));
        struct bytes now = read_bytes("log");
        cr_expect(now.n == wanted.n && memcmp(now.at, wanted.at, now.n) == 0, "%zu zeros", n);
        free(wanted.at);
        free(now.at);
    }
}

#define NO_LOG(path, after, status, words) \
    FAILS(rx_log_create(yp_device_cpu(), path, after) == NULL ? status : YP_OK, status, words)

Test(train_resume, what_is_no_log_is_not_cut)
{
    const struct train_state late = {.judged = true, .epoch = 5};
    const char *const others[] = {"a letter\n", "kind,epoch", "\n",
                                  "kind,epoch,place\nstep,1,1,\n"};
    for (size_t i = 0; i < LENGTH(others); i++) {
        write_bytes("log", others[i], strlen(others[i]));
        NO_LOG("log", &late, YP_INVALID, "log begins with another line");
        struct bytes now = read_bytes("log");
        cr_expect(now.n == strlen(others[i]) && memcmp(now.at, others[i], now.n) == 0);
        free(now.at);
    }
    NO_LOG("log/below", &late, YP_IO, "log/below cannot be read: Not a directory");
    NO_LOG(".", &late, YP_IO, ". cannot be read: Is a directory");
    OK(train_log_destroy(rx_log_create(yp_device_cpu(), "log", NULL))); /* without `after`: anew */
    struct bytes head = read_bytes("log");
    write_bytes("log", "", 0);
    OK(train_log_destroy(rx_log_create(yp_device_cpu(), "log", &late)));
    struct bytes again = read_bytes("log");
    unlink("log");
    OK(train_log_destroy(rx_log_create(yp_device_cpu(), "log", &late)));
    struct bytes none = read_bytes("log");
    cr_expect(head.n == again.n && memcmp(head.at, again.at, head.n) == 0);
    cr_expect(head.n == none.n && memcmp(head.at, none.at, head.n) == 0);
    free(head.at);
    free(again.at);
    free(none.at);
}

/* A figure, not a bar: what a step pays for its row. */
Test(train_resume, a_row_costs_microseconds)
{
    const struct train_event event = {.kind = TRAIN_STEP,
                                      .epoch = 3,
                                      .place = 17,
                                      .step = 517,
                                      .loss = 0.123456789,
                                      .weight = 65536,
                                      .norm = 3.4567891234,
                                      .lr = 1e-3,
                                      .seconds = 0.0123456789};
    double best = INFINITY;
    for (int round = 0; round < 5; round++) {
        struct timespec begin, end;
        struct train_log *log = rx_log_create(yp_device_cpu(), "log", NULL);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < 20000; i++)
            train_log_watch(log, &event);
        clock_gettime(CLOCK_MONOTONIC, &end);
        OK(train_log_destroy(log));
        best = fmin(best, (double)(end.tv_sec - begin.tv_sec) +
                              1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    }
    fprintf(stderr, "a row of the log: %.2f us\n", best / 20000 * 1e6);
    cr_expect_lt(best / 20000, 1e-3);
}
