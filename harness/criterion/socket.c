#include "harness/criterion/socket.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Criterion's own; it takes no other. */
#define DIRECTORY "/tmp"
#define PATH DIRECTORY "/criterion_%d.sock"

/* A runner that was killed leaves its socket, and process IDs come round again. */
enum { TRIES = 1000 };

/* What a child that is not taken ends with, unseen by anybody else. */
enum { IN_THE_WAY = 113 };

static volatile pid_t successor;

/* By a runner of the same ID in another namespace of processes with the same /tmp. */
static bool is_listened_at(const struct sockaddr_un *address)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool answers =
        fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;
    if (fd >= 0)
        close(fd);
    return answers;
}

/* Listens there as Criterion will, and no more. False: errno. The run
 * reports too few descriptors later. */
static bool can_listen_at(const struct sockaddr_un *address)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool can = fd < 0 || (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0 &&
                                unlink(address->sun_path) == 0);
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    return can;
}

/* False: errno. */
static bool free_here(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, PATH, (int)getpid());
    if (!is_listened_at(&address))
        return (unlink(address.sun_path) == 0 || errno == ENOENT) && can_listen_at(&address);
    errno = EADDRINUSE;
    return false;
}

/* Whether it is so for this process's ID alone: the file is another user's, or is used. */
static bool is_in_the_way(int reason)
{
    return reason == EPERM || reason == EADDRINUSE || reason == EISDIR;
}

/* What a terminal sends reaches every process of its group by itself. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int before = errno;
    if (info->si_code <= 0)
        kill(successor, number);
    errno = before;
}

static void pass_signals_on(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_RESTART | SA_SIGINFO};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static _Noreturn void end_like(int status)
{
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* By `taken` the child says that it goes on. */
static pid_t begin_successor(int taken[2])
{
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child != 0)
        return child;
    close(taken[0]);
    /* Whoever kills this process means the run. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (!free_here() || getppid() != self)
        _exit(IN_THE_WAY);
    const ssize_t said = write(taken[1], "", 1);
    close(taken[1]);
    if (said != 1)
        _exit(IN_THE_WAY);
    return 0;
}

/* 0: in the child that goes on. 1: it was not free there either. -1: errno. */
static int try_successor(void)
{
    int taken[2];
    char word = 0;
    int status = 0;
    if (pipe(taken) != 0)
        return -1;
    successor = begin_successor(taken);
    if (successor == 0)
        return 0;
    const int error = errno;
    close(taken[1]);
    const bool goes_on = successor > 0 && read(taken[0], &word, 1) == 1;
    close(taken[0]);
    if (successor < 0) {
        errno = error;
        return -1;
    }
    if (goes_on)
        pass_signals_on();
    while (waitpid(successor, &status, 0) < 0 && errno == EINTR)
        continue;
    if (goes_on)
        end_like(status);
    return 1;
}

enum yp_status ypi_socket_secure(void)
{
    if (free_here())
        return YP_OK;
    if (!is_in_the_way(errno))
        return yp_set_error(YP_IO,
                            "nothing was run: " DIRECTORY " takes no socket (%s), where Criterion "
                            "listens to the processes of cases (--no-fork runs the cases without "
                            "it)",
                            strerror(errno));
    fflush(NULL); /* or the child would write it once more */
    int outcome = 1;
    for (int i = 0; i < TRIES && outcome == 1; i++)
        outcome = try_successor();
    if (outcome == 0)
        return YP_OK;
    return yp_set_error(YP_IO,
                        "nothing was run: " PATH ", where Criterion would listen, cannot be "
                        "removed, and %s: remove it as its owner",
                        (int)getpid(),
                        outcome < 0 ? strerror(errno) : "those of a thousand other processes too");
}
