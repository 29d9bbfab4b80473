/* What the checks of a run's surroundings need: cases that sleep, write, allocate, look around. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

static void nap(double seconds)
{
    usleep((unsigned)(seconds * 1e6));
}

/* With YPTEST_SLOW_FORK the runner's children begin late: there is time to kill it before. */
static void begin_late(void)
{
    nap(1);
}

__attribute__((constructor)) static void make_forks_slow(void)
{
    if (getenv("YPTEST_SLOW_FORK") != NULL && getenv("BXFI_MAP") == NULL)
        pthread_atfork(NULL, NULL, begin_late);
}

/* With YPTEST_FORKS a thread of the runner forks all along, and what it forks forks too: each
 * writes whether what it has forked ended with 0 to the file of that name, and allocates nothing:
 * an allocator's lock that another thread held (AddressSanitizer's) is never given back in a child.
 * The runner may take one for what a case has left, and kill it: that says nothing here. */
static void *fork_and_fork(void *arg)
{
    for (;;) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(0);
            waitpid(grandchild, &status, 0);
            int file = open(arg, O_WRONLY | O_CREAT | O_APPEND, 0666);
            if (WIFEXITED(status))
                (void)!write(file, WEXITSTATUS(status) == 0 ? "0\n" : "1\n", 2);
            _exit(0);
        }
        waitpid(child, &status, 0);
        nap(0.01);
    }
    return NULL;
}

/* With YPTEST_FAULT a thread of the runner faults in the middle of its run: in code of Criterion's
 * or its own, or it sends itself the signal. */
static void *fault(void *arg)
{
    void (*of_criterion)(void *, void *) = NULL;
    void *address = dlsym(RTLD_DEFAULT, "criterion_register_test");
    memcpy(&of_criterion, &address, sizeof address);
    nap(2);
    volatile int *volatile nowhere = NULL;
    if (strcmp(arg, "criterion") == 0)
        of_criterion(NULL, NULL);
    else if (strcmp(arg, "own") == 0)
        *nowhere = 1; /* NOLINT(clang-analyzer-core.NullDereference): the fault is what is tried */
    else
        raise(SIGSEGV);
    return NULL;
}

__attribute__((constructor)) static void begin_to_fault(void)
{
    pthread_t thread;
    if (getenv("YPTEST_FAULT") != NULL && getenv("BXFI_MAP") == NULL)
        pthread_create(&thread, NULL, fault, getenv("YPTEST_FAULT"));
}

__attribute__((constructor)) static void begin_to_fork(void)
{
    pthread_t thread;
    if (getenv("YPTEST_FORKS") != NULL && getenv("BXFI_MAP") == NULL)
        pthread_create(&thread, NULL, fork_and_fork, getenv("YPTEST_FORKS"));
}

/* Libraries have as much: threads of the framework's own have a place for it. */
static _Thread_local volatile char of_each_thread[1 << 20];

YP_TEST(usage, passes, .tags = "stress small", .parallel = true)
{
    of_each_thread[0] = 1;
}

YP_TEST(usage, fails, .tags = "perf", .parallel = true)
{
    yp_fail(t, "as it should");
}

YP_TEST(usage, axes, .tags = "stress perf", .parallel = true,
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow")),
        .axes = YP_AXES(yp_axis_int("channels", 10, 50), yp_axis_double("noise", 0.5)))
{
    yp_value(t, "channels", (double)yp_int(t, "channels"));
    yp_value(t, "noise", yp_double(t, "noise"));
}

YP_TEST(usage, text, .parallel = true, .axes = YP_AXES(yp_axis_string("label", "it's \"a\" $b-c")))
{
    yp_fail(t, "label %s", yp_string(t, "label"));
}

YP_TEST(usage, seed, .parallel = true)
{
    yp_data_hash(t, yp_seed(t));
}

YP_TEST(usage, allocates, .parallel = true)
{
    yp_alloc(t, (size_t)(8 * YP_MIB));
}

YP_TEST(usage, speaks, .parallel = true)
{
    printf("said on standard output\n");
    fprintf(stderr, "said on standard error\n");
}

/* The C library fills fresh blocks with the complement of MALLOC_PERTURB_'s byte. */
YP_TEST(usage, perturbed, .parallel = true)
{
    const char *setting = getenv("MALLOC_PERTURB_");
    yp_expect(t, setting != NULL && strcmp(setting, "0") == 0, "MALLOC_PERTURB_ is %s", setting);
    const unsigned char *block = malloc(100000);
    int set = 0;
    for (int i = 0; i < 100000; i++)
        set += block[i] == (173 ^ 0xff); /* NOLINT: what is in a fresh block is the question */
    yp_value(t, "bytes set", set);
    free((void *)block);
}

YP_TEST(usage, moves_away, .parallel = true)
{
    yp_expect(t, chdir("/") == 0, "%s", strerror(errno));
    yp_value(t, "after", 1);
}

YP_TEST(usage, reads, .parallel = true, .timeout = 2)
{
    char byte;
    yp_value(t, "read", (double)read(STDIN_FILENO, &byte, 1));
}

/* The signals a program expects to find as they are by default, whatever the runner set. */
YP_TEST(usage, signals, .parallel = true)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGQUIT};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action;
        sigaction(numbers[i], NULL, &action);
        yp_expect(t, action.sa_handler == SIG_DFL, "SIG%s is not the default",
                  sigabbrev_np(numbers[i]));
    }
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int i = 1; i < 32; i++)
        yp_expect(t, !sigismember(&blocked, i), "SIG%s is blocked", sigabbrev_np(i));
}

/* Until all four have been there at once, if they are to meet: naps alone may miss each other. */
static void meet(struct yp_case *t, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%lld", folder, (long long)yp_int(t, "n"));
    FILE *mark = fopen(path, "w");
    yp_require(t, mark != NULL, "%s cannot be made", path);
    fclose(mark);
    for (int n = 1; n <= 4; n++) {
        snprintf(path, sizeof path, "%s/%d", folder, n);
        for (int waited = 0; access(path, F_OK) != 0 && waited < 3000; waited++)
            nap(0.01);
        yp_expect(t, access(path, F_OK) == 0, "number %d has not come in 30 s", n);
    }
}

YP_TEST(usage, naps, .parallel = true, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3, 4)))
{
    if (getenv("MEETING") != NULL)
        meet(t, getenv("MEETING"));
    else
        nap(0.4);
}

YP_TEST(usage, timed, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3)))
{
    yp_measure (t, "nap", .samples = 3)
        nap(0.05);
}

/* Long enough to be found in the midst, with a process of its own beside it. Each notes that it has
 * begun in the file $LONG_WORK, if there is one. */
YP_TEST(usage, long_work, .parallel = true,
        .axes = YP_AXES(yp_axis_int("n", 1, 2, 3, 4, 5, 6, 7, 8)))
{
    const char *path = getenv("LONG_WORK");
    FILE *begun = path != NULL ? fopen(path, "a") : NULL;
    if (begun != NULL) {
        fprintf(begun, "%lld\n", (long long)yp_int(t, "n"));
        fclose(begun);
    }
    pid_t helper = fork();
    if (helper == 0) {
        execlp("sleep", "sleep", "4711", (char *)NULL);
        _exit(1);
    }
    nap(yp_int(t, "n") <= 2 ? 0.05 : 30);
    kill(helper, SIGKILL);
    waitpid(helper, NULL, 0);
}

/* Does not let itself be ended but by force. */
YP_TEST(usage, stubborn, .parallel = true)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;)
        nap(1);
}

YP_TEST(usage, slow, .parallel = true, .timeout = 20)
{
    nap(10);
}

/* More than a small disk holds. */
YP_TEST(usage, floods, .parallel = true)
{
    char line[1001];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 8000; i++)
        fwrite(line, sizeof line, 1, stdout);
}
