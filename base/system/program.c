#include "base/system/program.h"

#include "base/system/clock.h"
#include "base/system/process.h"
#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yieldpoint/device.h>

#define PATIENCE 5.0 /* seconds between SIGTERM and SIGKILL */
#define POLL_MS 20   /* how soon an interrupt is seen */

/* -- the new process ----------------------------------------------------------------------- */

static void set_variables(const char *const *variables)
{
    for (; variables != NULL && *variables != NULL; variables++) {
        const char *equals = strchr(*variables, '=');
        if (equals == NULL) {
            unsetenv(*variables);
            continue;
        }
        char *name = ypi_format("%.*s", (int)(equals - *variables), *variables);
        setenv(name, equals + 1, 1);
        free(name);
    }
}

/* -1 when one cannot be had. */
static int redirect(const struct ypi_program *p, int output)
{
    int input = open(p->input != NULL ? p->input : "/dev/null", O_RDONLY | O_CLOEXEC);
    int error = p->log == NULL ? STDERR_FILENO
                               : open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (input < 0 || error < 0)
        return -1;
    if (dup2(input, STDIN_FILENO) < 0 || dup2(error, STDERR_FILENO) < 0)
        return -1;
    return dup2(output >= 0 ? output : STDERR_FILENO, STDOUT_FILENO);
}

/* Does not return; `tell` gets errno where the program did not start. */
static void become(const struct ypi_program *p, int output, int tell, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    set_variables(p->variables);
    if (redirect(p, output) >= 0 && (p->directory == NULL || chdir(p->directory) == 0))
        execvp(p->words[0], (char *const *)p->words);
    int reason = errno;
    if (write(tell, &reason, sizeof reason) < 0)
        _exit(EXIT_FAILURE - 1);
    _exit(EXIT_FAILURE);
}

/* With its standard output into `output`; -1: where .log says. */
static pid_t start(const struct ypi_program *p, int output)
{
    int told[2];
    int reason = 0;
    if (pipe2(told, O_CLOEXEC) != 0) {
        (void)yp_set_error(YP_IO, "%s: cannot be started: %s", p->words[0], strerror(errno));
        return -1;
    }
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(p, output, told[1], parent);
    if (pid < 0)
        reason = errno;
    close(told[1]);
    ssize_t got = 0;
    while (pid > 0 && (got = read(told[0], &reason, sizeof reason)) < 0 && errno == EINTR)
        continue;
    close(told[0]);
    if (pid > 0 && got == 0)
        return pid;
    if (pid > 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    (void)yp_set_error(YP_IO, "%s: cannot be started%s%s: %s", p->words[0],
                       p->directory != NULL ? " in " : "", p->directory != NULL ? p->directory : "",
                       strerror(reason));
    return -1;
}

pid_t ypi_program_start(const struct ypi_program *program)
{
    return start(program, -1);
}

pid_t ypi_program_open(const struct ypi_program *program, int *output)
{
    int ends[2];
    *output = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        (void)yp_set_error(YP_IO, "%s: cannot be started: %s", program->words[0], strerror(errno));
        return -1;
    }
    pid_t pid = start(program, ends[1]);
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    else
        *output = ends[0];
    return pid;
}

/* -- its end ------------------------------------------------------------------------------- */

static struct ypi_program_status status_of(int status)
{
    if (WIFEXITED(status))
        return (struct ypi_program_status){YPI_PROGRAM_EXITED, WEXITSTATUS(status)};
    return (struct ypi_program_status){YPI_PROGRAM_KILLED, WTERMSIG(status)};
}

/* Whether it is over; a group is signalled while its leader is still a zombie, so that its number
 * is nobody else's. */
bool ypi_program_is_over(pid_t pid)
{
    siginfo_t info = {0};
    int got = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return got != 0 ? errno != EINTR : info.si_pid == pid;
}

static void nap(void)
{
    (void)poll(NULL, 0, POLL_MS);
}

static bool any_runs(const pid_t *list, int count)
{
    for (int i = 0; i < count; i++) {
        const char state = ypi_process_state(list[i]);
        if (state != '\0' && state != 'Z')
            return true;
    }
    return false;
}

/* A shell is over at once and leaves what it ran, such as ninja, whose commands have process groups
 * of their own: they end if ninja itself is asked to, and else one by one. */
static void end(pid_t pid)
{
    enum { CAPACITY = 4096 };
    pid_t *below = ypi_calloc(CAPACITY, sizeof *below);
    const int count = ypi_descendants(pid, below, CAPACITY);
    double deadline = ypi_kernel_now() + PATIENCE;
    kill(pid, SIGTERM);
    while (!ypi_program_is_over(pid) && ypi_kernel_now() < deadline)
        nap();
    if (any_runs(below, count))
        kill(-pid, SIGTERM);
    while (any_runs(below, count) && ypi_kernel_now() < deadline)
        nap();
    kill(-pid, SIGKILL);
    for (int i = 0; i < count; i++)
        if (any_runs(&below[i], 1))
            kill(below[i], SIGKILL);
    free(below);
}

struct ypi_program_status ypi_program_wait(pid_t pid, double seconds, const volatile bool *stop)
{
    double deadline = ypi_kernel_now() + seconds;
    enum ypi_program_end ended = YPI_PROGRAM_EXITED;
    int status = 0;
    /* Most are over within some milliseconds. */
    for (int wait = 1; !ypi_program_is_over(pid); wait = wait < POLL_MS ? 2 * wait : POLL_MS) {
        bool stopped = stop != NULL && *stop;
        if (stopped || (seconds > 0 && ypi_kernel_now() >= deadline)) {
            ended = stopped ? YPI_PROGRAM_STOPPED : YPI_PROGRAM_LATE;
            end(pid);
            break;
        }
        (void)poll(NULL, 0, wait);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    struct ypi_program_status s = status_of(status);
    if (ended != YPI_PROGRAM_EXITED)
        s.end = ended;
    return s;
}

/* All that comes until the end of the file, or until it is to stop. */
static void read_all(int input, struct ypi_text *text, double deadline, const volatile bool *stop)
{
    char bytes[4096];
    while (!(stop != NULL && *stop) && ypi_kernel_now() < deadline) {
        struct pollfd p = {.fd = input, .events = POLLIN};
        if (poll(&p, 1, POLL_MS) <= 0)
            continue;
        ssize_t got = read(input, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return;
        if (got > 0)
            ypi_text_bytes(text, bytes, (size_t)got);
    }
}

struct ypi_program_status ypi_program_run(const struct ypi_program *program, double seconds,
                                          const volatile bool *stop, char **text)
{
    int output = -1;
    double began = ypi_kernel_now();
    if (text != NULL)
        *text = NULL;
    pid_t pid = text != NULL ? ypi_program_open(program, &output) : ypi_program_start(program);
    if (pid < 0)
        return (struct ypi_program_status){YPI_PROGRAM_NOT_STARTED, 0};
    struct ypi_text read = {0};
    if (text != NULL)
        read_all(output, &read, seconds > 0 ? began + seconds : (double)INFINITY, stop);
    double left = began + seconds - ypi_kernel_now();
    struct ypi_program_status status = ypi_program_wait(pid,
                                                        seconds <= 0  ? 0
                                                        : left > 1e-3 ? left
                                                                      : 1e-3,
                                                        stop);
    if (output >= 0)
        close(output);
    if (text != NULL)
        *text = ypi_text_take(&read);
    return status;
}

void ypi_program_ending(char out[64], struct ypi_program_status status)
{
    switch (status.end) {
    case YPI_PROGRAM_EXITED:
        snprintf(out, 64, "ended with %d", status.code);
        return;
    case YPI_PROGRAM_KILLED:
        snprintf(out, 64, "was ended by signal %d (%s)", status.code, strsignal(status.code));
        return;
    case YPI_PROGRAM_STOPPED:
        snprintf(out, 64, "was interrupted");
        return;
    case YPI_PROGRAM_LATE:
        snprintf(out, 64, "took too long and was ended");
        return;
    case YPI_PROGRAM_NOT_STARTED:
        snprintf(out, 64, "did not start");
        return;
    }
}
