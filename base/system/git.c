#include "base/system/git.h"

#include "base/system/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIME_LIMIT 2.0  /* seconds */
#define OUTPUT_MAX 4096 /* the head lines and the first changes: no more is needed */

/* This process's environment without GIT_*: inside a git hook those name another repository.
 * The strings are not copied. NULL when there is no memory. */
static char **clean_environment(void)
{
    static char no_locks[] = "GIT_OPTIONAL_LOCKS=0"; /* or it would write to the index */
    size_t count = 0;
    size_t kept = 0;
    while (environ && environ[count])
        count++;
    char **clean = calloc(count + 2, sizeof *clean);
    if (!clean)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "GIT_", 4) != 0)
            clean[kept++] = environ[i];
    clean[kept] = no_locks;
    return clean;
}

/* In a process group of its own, so that whatever it starts can be ended with it. 0: it did not
 * start. */
static pid_t start(char *const *arguments, int output)
{
    pid_t pid = 0;
    sigset_t none;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char **clean = clean_environment();
    if (!clean)
        return 0;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    if (posix_spawnp(&pid, arguments[0], &files, &attributes, arguments, clean) != 0)
        pid = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(clean);
    return pid;
}

/* Up to OUTPUT_MAX - 1 bytes into `text`, the rest is dropped. False at the time limit. */
static bool read_output(int input, char *text, double deadline)
{
    char rest[OUTPUT_MAX];
    size_t length = 0;
    for (;;) {
        struct pollfd p = {.fd = input, .events = POLLIN};
        double left = deadline - ypi_now();
        if (left <= 0)
            return false;
        int ready = poll(&p, 1, (int)(1e3 * left) + 1);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        if (ready < 0)
            continue;
        size_t space = OUTPUT_MAX - 1 - length;
        ssize_t got = space ? read(input, text + length, space) : read(input, rest, sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            text[length] = '\0';
            return got == 0;
        }
        length += space ? (size_t)got : 0;
    }
}

/* Waits until the deadline, then kills. True when it exited with 0. */
static bool reap(pid_t pid, bool patient, double deadline)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int status = 0;
    for (;;) {
        pid_t got = waitpid(pid, &status, patient ? WNOHANG : 0);
        if (got == pid)
            return patient && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (got < 0 && errno != EINTR)
            return false;
        if (patient && ypi_now() >= deadline)
            patient = false;
        if (!patient)
            kill(-pid, SIGKILL);
        else if (got == 0)
            nanosleep(&pause, NULL);
    }
}

static bool run(char *const *arguments, char *text)
{
    int ends[2];
    double deadline = ypi_now() + TIME_LIMIT;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t pid = start(arguments, ends[1]);
    close(ends[1]);
    bool complete = pid > 0 && read_output(ends[0], text, deadline);
    if (pid > 0 && !complete)
        kill(-pid, SIGKILL);
    bool ok = pid > 0 && reap(pid, complete, deadline) && complete;
    close(ends[0]);
    return ok;
}

static void copy_line(const char *from, char *to, size_t size)
{
    size_t length = strcspn(from, "\n");
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), from);
}

/* git-status(1), "Porcelain Format Version 2": head lines begin with '#', others are changes. */
static void parse(const char *text, struct ypi_git *out)
{
    static const char oid[] = "# branch.oid ";
    static const char head[] = "# branch.head ";
    for (const char *line = text; line && *line;) {
        if (strncmp(line, oid, sizeof oid - 1) == 0 && line[sizeof oid - 1] != '(')
            copy_line(line + sizeof oid - 1, out->commit, sizeof out->commit);
        else if (strncmp(line, head, sizeof head - 1) == 0)
            copy_line(line + sizeof head - 1, out->branch, sizeof out->branch);
        else if (*line != '#')
            out->dirty = true;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

bool ypi_git_read(const char *directory, struct ypi_git *out)
{
    char text[OUTPUT_MAX] = "";
    /* A file system monitor would be a daemon that stays behind. Files that git does not follow
     * are not counted, as in git-describe --dirty: results and build directories are such. */
    char *arguments[] = {(char[]){"git"},
                         (char[]){"-C"},
                         strdup(directory),
                         (char[]){"-c"},
                         (char[]){"core.fsmonitor=false"},
                         (char[]){"status"},
                         (char[]){"--porcelain=v2"},
                         (char[]){"--branch"},
                         (char[]){"--untracked-files=no"},
                         NULL};
    *out = (struct ypi_git){0};
    bool ok = arguments[2] && run(arguments, text);
    if (ok)
        parse(text, out);
    free(arguments[2]);
    return ok;
}
