/* Processes of cases that do not come to life: a constructor hangs, or one is killed, or leaves,
 * before it begins. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

__attribute__((constructor)) static void hang(void)
{
    while (getenv("BXFI_MAP") != NULL && getenv("YIELDPOINT_TEST_HANG") != NULL)
        pause();
}

/* Of all processes the first that comes here, by a file that it makes. */
static bool is_first(const char *variable)
{
    const char *path = getenv(variable);
    const int fd = path != NULL ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Not in git's process, but in one that Criterion starts, which by then listens. */
static void end_forked(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/criterion_%d.sock", (int)getppid());
    if (access(path, F_OK) == 0 && is_first("YIELDPOINT_TEST_END_FORKED"))
        raise(SIGKILL);
}

__attribute__((constructor)) static void end_executed(void)
{
    if (getenv("BXFI_MAP") != NULL && is_first("YIELDPOINT_TEST_END_EXECUTED"))
        raise(SIGKILL);
    if (getenv("BXFI_MAP") != NULL && is_first("YIELDPOINT_TEST_LEAVE"))
        _exit(7);
    pthread_atfork(NULL, NULL, end_forked);
}

YP_TEST(stillborn, first)
{
}

YP_TEST(stillborn, second)
{
}
