/* What a time-out, a signal to the runner and a thread that stays may not do to a case. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

/* In the place of the C library's: with YPTEST_CLOCK the program's clocks stand still, as in a test
 * that fakes time. */
__attribute__((visibility("default"))) int look(clockid_t clock,
                                                struct timespec *out) __asm__("clock_gettime");

int look(clockid_t clock, struct timespec *out)
{
    const char *still = getenv("YPTEST_CLOCK");
    if (still == NULL)
        return (int)syscall(SYS_clock_gettime, clock, out);
    *out = (struct timespec){.tv_sec = atoi(still)};
    return 0;
}

/* With YPTEST_NO_PTRACE it is refused, as in some containers. */
__attribute__((constructor)) static void refuse_ptrace(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (getenv("YPTEST_NO_PTRACE") != NULL && getenv("BXFI_MAP") == NULL) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    }
}

/* -- threads that outlive the body -------------------------------------------------------- */

enum { THREADS = 4 };

static int wake;
static pthread_t threads[THREADS];

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

static void *serve_by_epoll(void *arg)
{
    struct epoll_event event = {.events = EPOLLIN};
    const int poll_of = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(poll_of, EPOLL_CTL_ADD, wake, &event);
    check(epoll_wait(poll_of, &event, 1, -1) == 1, "epoll_wait");
    close(poll_of);
    return arg;
}

static void *serve_by_poll(void *arg)
{
    struct pollfd on = {.fd = wake, .events = POLLIN};
    check(poll(&on, 1, -1) == 1, "poll");
    return arg;
}

static void *wait_for_signal(void *arg)
{
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    check(sigwaitinfo(&usr1, NULL) == SIGUSR1, "sigwaitinfo");
    return arg;
}

static void *nap(void *arg)
{
    check(nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL) == 0, "nanosleep");
    return arg;
}

static void stop_threads(void)
{
    eventfd_write(wake, 1);
    pthread_kill(threads[2], SIGUSR1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

YP_TEST(deadlines, threads_stay, .parallel = true)
{
    static void *(*const work[THREADS])(void *) = {serve_by_epoll, serve_by_poll, wait_for_signal,
                                                   nap};
    wake = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work[i], NULL);
    atexit(stop_threads);
    usleep(20000); /* until they wait */
}

/* -- time-outs ---------------------------------------------------------------------------- */

static void teardown_speaks(struct yp_case *t)
{
    (void)t;
    printf("teardown ran\n");
}

YP_TEST(deadlines, late, .parallel = true, .timeout = 0.3, .teardown = teardown_speaks,
        .budgets = YP_BUDGETS(yp_max_value("answers", 10)))
{
    yp_expect(t, getppid() == 0, "there is a parent");
    (void)poll(NULL, 0, 100000);
    printf("the body went on\n");
    yp_value(t, "answers", 50);
}

__attribute__((noinline)) static void spin(const volatile int *forever)
{
    while (*forever) {
    }
}

YP_TEST(deadlines, spins, .parallel = true, .timeout = 0.3)
{
    static volatile int forever = 1;
    printf("block 17 ...");
    spin(&forever);
    printf(" is done\n");
}

YP_TEST(deadlines, aborts, .parallel = true)
{
    printf("block 18 ...");
    abort();
}

YP_TEST(deadlines, crashes, .parallel = true)
{
    printf("block 19 ...");
    raise(SIGSEGV);
}

/* Half a second of naps, each of which is as long when it is begun after a stop. */
YP_TEST(deadlines, naps, .parallel = true, .timeout = 2)
{
    for (int i = 0; i < 25; i++)
        usleep(20000);
}

/* The first to end: the runner waits for the history while it stores it. */
YP_TEST(deadlines, short_one, .parallel = true)
{
    usleep(300000);
}

YP_TEST(deadlines, in_time, .parallel = true, .timeout = 1.5)
{
    usleep(600000);
}
