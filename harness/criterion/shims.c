/* Functions in the place of libraries', which Criterion finds here first: a part of the program
 * itself, like its main. */
#include "harness/message/starts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static int of_criterion(void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
           strstr(info.dli_fname, "libcriterion") != NULL;
}

/* -- one program a run --------------------------------------------------------------------- */

/* In the place of the C library's. */
VISIBLE ssize_t read_link(const char *path, char *out, size_t size) __asm__("readlink");

/* Criterion asks for the path of this program, from which it then starts the process of each case:
 * another program, once a rebuild has put one there. By the link itself, a process that was forked
 * from this one executes the file that this one runs. */
ssize_t read_link(const char *path, char *out, size_t size)
{
    static const char self[] = "/proc/self/exe";
    if (strcmp(path, self) != 0 || size < sizeof self || !of_criterion(__builtin_return_address(0)))
        return readlinkat(AT_FDCWD, path, out, size);
    memcpy(out, self, sizeof self);
    return sizeof self - 1;
}

/* -- a process that ends before it begins --------------------------------------------------- */

/* Criterion 2.4.1 starts a process in two steps: a copy of the runner, which stops, and the program
 * that the copy executes, which stops too. Criterion waits for both stops. If the process is killed
 * before them, Criterion ends the whole run. So this waitpid() answers that the process has
 * stopped. Criterion then goes on, finds that the process has ended, and starts the next case. */

enum { STARTS_MAX = 256 };

static struct {
    pid_t pid;
    bool over;
    int status; /* of one that is over */
} starts[STARTS_MAX];
static int start_count;
static pthread_mutex_t starts_lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock. -1: there is none. */
static int find(pid_t pid)
{
    for (int i = 0; i < start_count; i++)
        if (starts[i].pid == pid)
            return i;
    return -1;
}

static void remove_start(int at)
{
    memmove(starts + at, starts + at + 1, (size_t)(start_count - at - 1) * sizeof *starts);
    start_count--;
}

static void note_start(pid_t pid)
{
    pthread_mutex_lock(&starts_lock);
    if (find(pid) < 0) {
        if (start_count == STARTS_MAX)
            remove_start(0);
        starts[start_count].pid = pid;
        starts[start_count++].over = false;
    }
    pthread_mutex_unlock(&starts_lock);
}

static void note_end(pid_t pid, int status)
{
    pthread_mutex_lock(&starts_lock);
    const int at = find(pid);
    if (at >= 0) {
        starts[at].over = true;
        starts[at].status = status;
    }
    pthread_mutex_unlock(&starts_lock);
}

static void clear_starts(void)
{
    pthread_mutex_lock(&starts_lock);
    start_count = 0;
    pthread_mutex_unlock(&starts_lock);
}

static void note_begun(pid_t pid)
{
    pthread_mutex_lock(&starts_lock);
    const int at = find(pid);
    if (at >= 0)
        remove_start(at);
    pthread_mutex_unlock(&starts_lock);
}

static bool has_start(pid_t pid)
{
    pthread_mutex_lock(&starts_lock);
    const int at = find(pid);
    const bool has = at >= 0 && !starts[at].over;
    pthread_mutex_unlock(&starts_lock);
    return has;
}

static bool take_ended(int *status)
{
    bool taken = false;
    pthread_mutex_lock(&starts_lock);
    for (int i = 0; i < start_count && !taken; i++)
        if (starts[i].over) {
            *status = starts[i].status;
            remove_start(i);
            taken = true;
        }
    pthread_mutex_unlock(&starts_lock);
    return taken;
}

VISIBLE const struct ypi_starts ypi_starts = {
    .clear = clear_starts, .begun = note_begun, .has = has_start, .take = take_ended};

/* What Criterion shares with such a process; the name of the function's library stands behind it.
 * By `ok` the process says that it has found all of that. */
struct order {
    size_t size;
    uint64_t function[2];
    int pid, unused[9];
    int ok, stopped;
};

static bool is_known(const struct order *o, size_t size, pid_t pid)
{
    const char *name = (const char *)(o + 1);
    const size_t length = size - sizeof *o;
    return o->size == size && o->pid == pid && strnlen(name, length) == length - 1;
}

/* In the process's place. False: it is no order that is known here, as of another version. */
static bool agree(pid_t pid)
{
    char name[32];
    struct stat file;
    bool known = false;
    snprintf(name, sizeof name, "/bxfi_%d", (int)pid);
    const int fd = shm_open(name, O_RDWR, 0600);
    if (fd < 0) /* not yet made, or the process has agreed, and removed it */
        return true;
    if (fstat(fd, &file) == 0 && (size_t)file.st_size > sizeof(struct order)) {
        const size_t size = (size_t)file.st_size;
        struct order *o = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        known = o != MAP_FAILED && is_known(o, size, pid);
        if (known)
            o->ok = 1;
        if (o != MAP_FAILED)
            munmap(o, size);
    }
    close(fd);
    if (known)
        shm_unlink(name);
    return known;
}

/* It stays to be reaped by Criterion, whose it then is. */
static pid_t await_stop(pid_t pid, int *status)
{
    note_start(pid);
    for (;;) {
        siginfo_t about = {0};
        if (waitid(P_PID, (id_t)pid, &about, WEXITED | WSTOPPED | WNOWAIT) != 0)
            return -1;
        if (about.si_code != CLD_STOPPED)
            break;
        about.si_pid = 0; /* takes the stop alone: the process may have been killed since */
        if (waitid(P_PID, (id_t)pid, &about, WSTOPPED | WNOHANG) == 0 && about.si_pid == pid) {
            *status = W_STOPCODE(SIGSTOP);
            return pid;
        }
    }
    if (!agree(pid))
        return wait4(pid, status, 0, NULL);
    *status = W_STOPCODE(SIGSTOP);
    return pid;
}

/* In the place of the C library's. */
VISIBLE pid_t wait_pid(pid_t pid, int *status, int options) __asm__("waitpid");

pid_t wait_pid(pid_t pid, int *status, int options)
{
    if (pid <= 0 || status == NULL || !of_criterion(__builtin_return_address(0)))
        return wait4(pid, status, options, NULL);
    if (options == WUNTRACED)
        return await_stop(pid, status);
    const pid_t ended = wait4(pid, status, options, NULL);
    if (ended == pid && (WIFEXITED(*status) || WIFSIGNALED(*status)))
        note_end(pid, *status);
    return ended;
}

/* -- libgit2, when it is used -------------------------------------------------------------- */

/* Criterion starts libgit2 in the process of every case, which there reads all certificates of the
 * system, a third of what a case costs. It uses one function of it, to show how two strings differ:
 * the start waits for that one. Others who call libgit2 get it as it is. */
static int waiting; /* starts that Criterion asked for */

typedef int start_or_end(void);
typedef void callback(void);
typedef int diff_buffers(const void *old, size_t old_length, const char *old_path, const void *new_,
                         size_t new_length, const char *new_path, const void *options,
                         callback *file, callback *binary, callback *hunk, callback *line,
                         void *payload);
VISIBLE start_or_end git_libgit2_init, git_libgit2_shutdown;
VISIBLE diff_buffers git_diff_buffers;

/* What the program's own function hides. */
static void *hidden(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static int call(const char *name)
{
    start_or_end *function = NULL;
    *(void **)&function = hidden(name);
    return function != NULL ? function() : -1;
}

int git_libgit2_init(void)
{
    return of_criterion(__builtin_return_address(0)) ? ++waiting : call("git_libgit2_init");
}

int git_libgit2_shutdown(void)
{
    if (waiting > 0 && of_criterion(__builtin_return_address(0)))
        return --waiting;
    return call("git_libgit2_shutdown");
}

int git_diff_buffers(const void *old, size_t old_length, const char *old_path, const void *new_,
                     size_t new_length, const char *new_path, const void *options, callback *file,
                     callback *binary, callback *hunk, callback *line, void *payload)
{
    diff_buffers *function = NULL;
    *(void **)&function = hidden("git_diff_buffers");
    for (; waiting > 0; waiting--)
        call("git_libgit2_init");
    return function != NULL ? function(old, old_length, old_path, new_, new_length, new_path,
                                       options, file, binary, hunk, line, payload)
                            : -1;
}
