/* Every way a case can go wrong. Each is one failed case with its reason; all others run. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

static void teardown_speaks(struct yp_case *t)
{
    (void)t;
    fprintf(stderr, "teardown ran\n");
}

YP_TEST(zoo, a_first_passes)
{
    yp_expect(t, 6 * 7 == 42, "%d", 6 * 7);
}

YP_TEST(zoo, crash)
{
    printf("about to write through NULL\n");
    volatile int *nowhere = NULL;
    *nowhere = 1;
}

YP_TEST(zoo, abort)
{
    abort();
}

YP_TEST(zoo, exits)
{
    exit(3);
}

YP_TEST(zoo, exits_at_once)
{
    _exit(0);
}

YP_TEST(zoo, hang, .timeout = 0.3)
{
    for (;;)
        pause();
}

YP_TEST(zoo, hang_ignoring_signals, .timeout = 0.3)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;)
        yp_use(1);
}

static void crash_late(void)
{
    raise(SIGSEGV);
}

YP_TEST(zoo, crash_in_exit_handler)
{
    atexit(crash_late);
}

static void leave_late(void)
{
    _exit(7);
}

YP_TEST(zoo, exit_in_exit_handler)
{
    atexit(leave_late);
}

static void hang_late(void)
{
    for (;;)
        pause();
}

YP_TEST(zoo, hang_in_exit_handler, .timeout = 0.3)
{
    atexit(hang_late);
}

YP_TEST(zoo, memory_limit)
{
    yp_alloc(t, 1 << 20);
    yp_alloc(t, (size_t)64 << 20);
}

/* It holds some, which is no leak. */
YP_TEST(zoo, memory_not_got)
{
    yp_got(t, yp_device_alloc(yp_device(t), 1000));
    void *block = yp_device_alloc(yp_device(t), (size_t)64 << 20);
    yp_got(t, block);
}

YP_TEST(zoo, nothing_got)
{
    yp_got(t, yp_device_alloc(yp_device(t), 0));
}

YP_TEST(zoo, nothing_got_and_no_reason)
{
    yp_got(t, strchr("haystack", 'n'));
}

YP_TEST(zoo, leak)
{
    void *block = yp_device_alloc(yp_device(t), 1000);
    yp_require(t, block != NULL, "%s", yp_last_error());
}

YP_TEST(zoo, double_free)
{
    void *block = yp_device_alloc(yp_device(t), 1000);
    yp_device_free(yp_device(t), block);
    yp_device_free(yp_device(t), block);
}

YP_TEST(zoo, overrun)
{
    volatile char *block = yp_alloc(t, 1001);
    block[1001] = 0;
    block[1004] = 0;
}

YP_TEST(zoo, underrun)
{
    volatile char *block = yp_alloc_host(t, 1000);
    block[-8] = 0;
}

YP_TEST(zoo, overrun_of_an_accounted_block)
{
    int *block = yp_device_alloc(yp_device(t), 10 * sizeof *block);
    yp_got(t, block);
    for (volatile int i = 0; i <= 10; i++)
        block[i] = -1;
    yp_device_free(yp_device(t), block);
    yp_value(t, "x", 50);
}

/* To the last byte, which is no damage. */
YP_TEST(zoo, blocks_are_filled, .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1001)))
{
    memset(yp_alloc(t, 1001), 0xff, 1001);
}

/* A group of its own with little memory, so that the kernel kills this process and no other. */
static const char *join_small_group(void)
{
    static char group[256];
    static const char *const files[][2] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                           {"/sys/fs/cgroup", "memory.max"}};
    for (int i = 0; i < 2; i++) {
        char path[320];
        snprintf(group, sizeof group, "%s/yieldpoint-zoo-%d", files[i][0], (int)getpid());
        if (mkdir(group, 0755) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", group, files[i][1]);
        int limit = open(path, O_WRONLY);
        snprintf(path, sizeof path, "%s/cgroup.procs", group);
        int members = open(path, O_WRONLY);
        char pid[32];
        int length = snprintf(pid, sizeof pid, "%d", (int)getpid());
        if (limit >= 0 && members >= 0 && write(limit, "33554432", 8) == 8 &&
            write(members, pid, (size_t)length) == length)
            return group;
        close(limit);
        close(members);
        rmdir(group);
    }
    return NULL;
}

YP_TEST(zoo, oom_kill)
{
    const char *group = join_small_group();
    if (group == NULL)
        yp_skip(t, "no memory cgroup can be made here");
    if (fork() == 0) {
        /* Out of reach of this group's limit no more than the case, but too small to be chosen:
         * removes the group once the case is gone. */
        setsid();
        while (getppid() > 1 && kill(getppid(), 0) == 0 && rmdir(group) != 0)
            usleep(1000);
        _exit(0);
    }
    for (size_t i = 0; i < 1024; i++)
        memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1,
               1 << 20);
}

YP_TEST(zoo, orphan)
{
    if (fork() == 0) {
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(1);
    }
}

/* Twice forked and in a session of its own, as daemons are. */
YP_TEST(zoo, daemon)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            execlp("sleep", "sleep", "1001", (char *)NULL);
            _exit(1);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* The runner itself has to find what a crashed case left. */
YP_TEST(zoo, daemon_then_crash)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            execlp("sleep", "sleep", "1002", (char *)NULL);
            _exit(1);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    usleep(50000);
    abort();
}

/* The child gives the value that is allowed, the case the one that is not. */
YP_TEST(zoo, forked_child_returns, .teardown = teardown_speaks,
        .budgets = YP_BUDGETS(yp_max_value("x", 10)))
{
    pid_t child = fork();
    yp_value(t, "x", child == 0 ? 5 : 50);
    if (child > 0)
        waitpid(child, NULL, 0);
}

YP_TEST(zoo, forked_children_are_ended, .teardown = teardown_speaks)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        yp_require(t, child != 0, "the child goes no further");
        waitpid(child, NULL, 0);
    }
    yp_value(t, "x", 50);
}

YP_TEST(zoo, forked_child_gives_values)
{
    pid_t child = fork();
    if (child == 0) {
        yp_value(t, "x", 5);
        yp_data_hash(t, 1);
        exit(0);
    }
    waitpid(child, NULL, 0);
    yp_value(t, "x", 50);
}

YP_TEST(zoo, forked_child_leaves)
{
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    yp_value(t, "x", 50);
}

/* What the body does to its process must not take the case's own failure from it. */
YP_TEST(zoo, file_size_limit)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    yp_value(t, "x", 50);
    yp_require(t, 1 > 2, "no file may grow");
}

YP_TEST(zoo, no_descriptors)
{
    struct rlimit none = {0};
    getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    yp_value(t, "x", 50);
    yp_require(t, 1 > 2, "no descriptor may be had");
}

YP_TEST(zoo, all_descriptors_taken)
{
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, 100});
    while (dup(STDERR_FILENO) >= 0) {
    }
    yp_value(t, "x", 50);
    yp_require(t, 1 > 2, "all descriptors are taken");
}

YP_TEST(zoo, another_user)
{
    if (setuid(65534) != 0)
        yp_skip(t, "only root can become another user");
    yp_value(t, "x", 50);
    yp_require(t, 1 > 2, "the user is another");
}

/* The directory of the run, and with it the files of this case and of those that run beside it. */
YP_TEST(zoo, removes_files_of_the_run)
{
    char path[4096] = "";
    yp_require(t, readlink("/proc/self/fd/1", path, sizeof path - 1) > 0, "no output");
    char *slash = strrchr(path, '/');
    yp_require(t, slash != NULL && strstr(path, "/run-") != NULL, "the output is %s", path);
    *slash = '\0';
    DIR *directory = opendir(path);
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
        unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    yp_require(t, rmdir(path) == 0, "%s is still there", path);
    yp_value(t, "x", 50);
    yp_require(t, 1 > 2, "the directory is gone");
}

YP_TEST(zoo, thread_ended, .teardown = teardown_speaks)
{
    yp_value(t, "x", 50);
    pthread_exit(NULL);
}

static void ends_thread(struct yp_case *t)
{
    (void)t;
    pthread_exit(NULL);
}

YP_TEST(zoo, thread_ended_in_setup, .setup = ends_thread, .teardown = teardown_speaks)
{
    fprintf(stderr, "not reached\n");
}

YP_TEST(zoo, thread_ended_in_teardown, .teardown = ends_thread)
{
}

static void *wait_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void *expects(void *t)
{
    for (int i = 0; i < 50; i++)
        yp_expect(t, i % 2 == 0, "odd: %d", i);
    return NULL;
}

/* Failures of workers are the case's, all of them. */
YP_TEST(zoo, workers_expect)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, expects, t);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void *requires(void *t)
{
    yp_require(t, 1 + 1 == 3, "in a worker");
    return NULL;
}

YP_TEST(zoo, worker_requires)
{
    pthread_t thread;
    pthread_create(&thread, NULL, requires, t);
    pthread_join(thread, NULL);
}

YP_TEST(zoo, thread_left)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    pthread_setname_np(thread, "forgotten");
    pthread_detach(thread);
    usleep(50000); /* it waits by now */
    yp_value(t, "x", 50);
}

/* Two threads that wait for each other. */
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *take_second_then_first(void *arg)
{
    pthread_mutex_lock(&second);
    usleep(50000);
    pthread_mutex_lock(&first);
    return arg;
}

YP_TEST(zoo, deadlock, .timeout = 0.5)
{
    pthread_t thread;
    pthread_mutex_lock(&first);
    pthread_create(&thread, NULL, take_second_then_first, NULL);
    usleep(50000);
    pthread_mutex_lock(&second);
    pthread_join(thread, NULL);
}

static int overflow(volatile char *before)
{
    char now[4096];
    now[0] = before[0];
    return now[0] == 0 ? overflow(now) + now[0] : 0;
}

YP_TEST(zoo, stack_overflow)
{
    char bottom[1] = "";
    yp_value(t, "x", overflow(bottom));
}

static void expect_modes(struct yp_case *t)
{
    volatile double one = 1, third = 3;
    const struct lconv *conventions = localeconv();
    yp_expect(t, fegetround() == FE_TONEAREST && one / third * third == 1, "rounding is %d",
              fegetround());
    yp_expect(t, strcmp(setlocale(LC_ALL, NULL), "C") == 0, "the locale is %s, the point '%s'",
              setlocale(LC_ALL, NULL), conventions->decimal_point);
}

static void expect_modes_late(void)
{
    if (fegetround() != FE_TONEAREST || strcmp(setlocale(LC_ALL, NULL), "C") != 0)
        _exit(7);
}

YP_TEST(zoo, modes_left)
{
    atexit(expect_modes_late);
    fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO);
    yp_require(t, setlocale(LC_ALL, "C.UTF-8") != NULL, "no locale C.UTF-8");
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

YP_TEST(zoo, modes_left_and_failed, .teardown = teardown_speaks)
{
    fesetround(FE_DOWNWARD);
    yp_fail(t, "rounding is %d", fegetround());
}

YP_TEST(zoo, modes_of_the_next_case)
{
    expect_modes(t);
}

YP_TEST(zoo, closed_descriptors)
{
    for (int fd = 0; fd < 100; fd++)
        close(fd);
}

YP_TEST(zoo, floods_output, .timeout = 20)
{
    char line[1001];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 100000; i++)
        fwrite(line, sizeof line, 1, stdout);
}

YP_TEST(zoo, fork_bomb, .timeout = 20)
{
    for (;;)
        fork();
}

YP_TEST(zoo, expectation)
{
    int found = 41;
    yp_expect(t, found == 42, "found is %d", found);
    yp_expect(t, found == 43, "found is %d", found);
}

YP_TEST(zoo, requirement, .teardown = teardown_speaks)
{
    yp_require(t, 1 > 2, "one is not greater than %d", 2);
    fprintf(stderr, "not reached\n");
}

static void setup_fails(struct yp_case *t)
{
    yp_fail(t, "no licence for the %s", "solver");
}

YP_TEST(zoo, setup_error, .setup = setup_fails, .teardown = teardown_speaks)
{
    fprintf(stderr, "not reached\n");
}

static void setup_skips(struct yp_case *t)
{
    yp_skip(t, "no licence");
}

YP_TEST(zoo, setup_skips, .setup = setup_skips, .teardown = teardown_speaks)
{
    fprintf(stderr, "not reached\n");
}

YP_TEST(zoo, misspelt_axis,
        .axes = YP_AXES(yp_axis_int("channels", 10), yp_axis_double("noise", 0.5)))
{
    yp_value(t, "chanels", (double)yp_int(t, "chanels"));
}

YP_TEST(zoo, name_twice)
{
    yp_value(t, "auc", 0.5);
    yp_value(t, "auc", 0.6);
}

YP_TEST(zoo, never_measured, .budgets = YP_BUDGETS(yp_min_rate("fit", 1), yp_min_value("auc", 0.5)))
{
}

YP_TEST(zoo, crash_before_measuring, .budgets = YP_BUDGETS(yp_min_rate("fit", 1)))
{
    raise(SIGFPE);
}

YP_TEST(zoo, value_nan, .budgets = YP_BUDGETS(yp_min_value("auc", 0.5)))
{
    yp_value(t, "auc", strtod("nan", NULL));
}

YP_TEST(zoo, value_too_low, .budgets = YP_BUDGETS(yp_min_value("auc", 0.95)))
{
    yp_value(t, "auc", 0.5);
}

YP_TEST(zoo, peak_too_high, .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1 * YP_MIB)))
{
    yp_alloc(t, (size_t)(2 * YP_MIB));
}

YP_TEST(zoo, resident_too_high, .budgets = YP_BUDGETS(yp_max_resident(8 * YP_MIB)))
{
    char *block = malloc((size_t)(32 * YP_MIB));
    memset(block, 1, (size_t)(32 * YP_MIB));
    yp_keep(block);
    free(block);
}

/* More than a hundred times, and longer than others get at a time: no crowd on the machine excuses
 * that. */
YP_TEST(zoo, too_slow, .budgets = YP_BUDGETS(yp_max_latency("nap", 20e-6)))
{
    yp_measure (t, "nap", .samples = 10)
        usleep(30000);
}

static void square(void *arg, const double *x, double *y)
{
    (void)arg;
    for (int i = 0; i < 5; i++)
        y[i] = x[i] * x[i];
}

static void square_vjp_off(void *arg, const double *x, const double *c, double *g)
{
    double scale = *(const double *)arg;
    for (int i = 0; i < 5; i++)
        g[i] = 2 * scale * x[i] * c[i];
}

YP_TEST(zoo, wrong_gradient)
{
    static const double x[] = {1, -2, 3, 0.5, 0.25};
    double scale = 1.001;
    struct yp_gradient gradient = {.name = "square",
                                   .inputs = 5,
                                   .outputs = 5,
                                   .f = square,
                                   .vjp = square_vjp_off,
                                   .arg = &scale,
                                   .x = x};
    yp_check_gradient(t, &gradient);
}

YP_TEST(zoo, predicted_memory_is_wrong)
{
    void *block = NULL;
    yp_expect_memory (t, "a block", .host = 4000)
        block = yp_device_alloc(yp_device(t), 4096);
    yp_device_free(yp_device(t), block);
}

YP_TEST(zoo, requests_in_a_pass)
{
    yp_expect_no_requests (t, "a pass")
        yp_device_free(yp_device(t), yp_device_alloc(yp_device(t), 100));
}

/* Three ways to take two blocks that are wrong. */
enum wrong { LEAKS, TELLS_NOTHING, BREAKS };

static enum yp_status two_blocks(struct yp_case *t, void *arg)
{
    static bool broken;
    enum wrong wrong = *(const enum wrong *)arg;
    void *one = yp_device_alloc(yp_device(t), 100);
    void *two = one != NULL ? yp_device_alloc(yp_device(t), 200) : NULL;
    if (two == NULL) {
        yp_device_free(yp_device(t), wrong == LEAKS ? NULL : one);
        broken = true;
        return wrong == TELLS_NOTHING ? YP_OK : YP_OUT_OF_MEMORY;
    }
    yp_device_free(yp_device(t), one);
    yp_device_free(yp_device(t), two);
    return wrong == BREAKS && broken ? yp_set_error(YP_INVALID, "it is broken") : YP_OK;
}

YP_TEST(zoo, a_refusal_leaks, .budgets = YP_BUDGETS(yp_max_leak(YP_HOST, 100)))
{
    enum wrong wrong = LEAKS;
    int refused = yp_refuse_each(t, yp_device(t), two_blocks, &wrong);
    yp_expect(t, refused == 2, "%d", refused);
}

YP_TEST(zoo, a_refusal_is_not_told)
{
    enum wrong wrong = TELLS_NOTHING;
    yp_refuse_each(t, yp_device(t), two_blocks, &wrong);
}

YP_TEST(zoo, a_refusal_breaks)
{
    enum wrong wrong = BREAKS;
    yp_refuse_each(t, yp_device(t), two_blocks, &wrong);
}

YP_TEST(zoo, wrong_precision)
{
    static const double oracle[] = {1, 2, 3, 4};
    static const float plain[] = {1, 2, 3, 4.000001F}, got[] = {1, 2, 3.01F, 4};
    static const struct yp_tensor tensors[] = {{"a", 0, 2}, {"b", 2, 2}};
    struct yp_precision check = {.name = "y",
                                 .count = 4,
                                 .oracle = oracle,
                                 .plain = plain,
                                 .got = got,
                                 .tensors = tensors,
                                 .n_tensors = 2};
    yp_check_precision(t, &check);
}

YP_TEST(zoo, strict_xfail_passes, .xfail = "not supported yet", .xfail_strict = true)
{
}

YP_TEST(zoo, xfail_fails, .xfail = "known to be wrong")
{
    yp_fail(t, "wrong, as known");
}

YP_TEST(zoo, xfail_passes, .xfail = "known to be wrong")
{
}

YP_TEST(zoo, skipped, .skip = "needs a licence")
{
    abort();
}

YP_TEST(zoo, skips_itself)
{
    yp_skip(t, "needs %d GiB", 512);
}

/* What Criterion shows two strings with. */
typedef int line_found(const void *delta, const void *hunk, const void *line, void *count);
int git_diff_buffers(const void *old, size_t old_length, const char *old_path, const void *new_,
                     size_t new_length, const char *new_path, const void *options, void *file,
                     void *binary, void *hunk, line_found *line, void *count);

static int count_line(const void *delta, const void *hunk, const void *line, void *count)
{
    (void)delta, (void)hunk, (void)line;
    ++*(int *)count;
    return 0;
}

YP_TEST(zoo, libgit2_starts_when_it_is_used)
{
    int (*start)(void) = NULL; /* its own, which says how often it was started */
    *(void **)&start = dlsym(RTLD_NEXT, "git_libgit2_init");
    yp_require(t, start != NULL, "no libgit2");
    int before = start();
    yp_expect(t, before == 1, "Criterion had started it: %d", before);
    int lines = 0;
    int code = git_diff_buffers("a\nb\nc\n", 6, NULL, "a\nB\nc\n", 6, NULL, NULL, NULL, NULL, NULL,
                                count_line, &lines);
    yp_expect(t, code == 0 && lines == 4, "%d: %d lines", code, lines);
    int after = start();
    yp_expect(t, after == 3, "started %d times", after);
}

YP_TEST(zoo, z_last_passes)
{
    yp_expect(t, strcmp(yp_case_name(t), "") == 0, "the case is '%s'", yp_case_name(t));
}
