#include "harness/criterion/surroundings.h"

#include "base/system/thread.h"
#include "base/text/text.h"
#include "harness/message/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of the runner itself and of each case that runs beside others: what Criterion, its sockets, our
 * files and the watchdog take, with some to spare. */
enum { DESCRIPTORS = 32, DESCRIPTORS_OF_JOB = 8 };
enum { PROCESSES = 8, PROCESSES_OF_JOB = 6 };
/* Threads have stacks of 8 MiB. */
#define ADDRESSES ((size_t)48 << 20)
#define ADDRESSES_OF_JOB ((size_t)16 << 20)
/* Written of the memory that Criterion shares with the cases: at the start, and for each case. */
#define SHARED ((size_t)256 << 10)
#define SHARED_BY_CASE (sizeof(struct ypi_job) + 1024)

/* Present in a program built with ThreadSanitizer. */
extern void __tsan_init(void) __attribute__((weak));

/* <yieldpoint/thread_sanitizer.h> helps where it can. */
static enum yp_status check_thread_sanitizer(void)
{
    unsigned char page = 0;
    void *tried = (void *)(uintptr_t)0x280000000000;
    if (__tsan_init == NULL || mincore(tried, 1, &page) != 0)
        return YP_OK;
    return yp_set_error(YP_UNSUPPORTED,
                        "ThreadSanitizer leaves Criterion no memory to share with the cases: build "
                        "the program with gcc, whose ThreadSanitizer can be brought to");
}

static enum yp_status check_proc(void)
{
    if (access("/proc/self/exe", F_OK) == 0)
        return YP_OK;
    return yp_set_error(YP_UNSUPPORTED,
                        "/proc is not mounted: the process of a case is started and watched by it "
                        "(--no-fork runs the cases without it)");
}

/* By taking them and giving them back: others of the process are open already. */
static enum yp_status check_descriptors(int jobs, int fixtures)
{
    struct rlimit limit = {0};
    const int need = DESCRIPTORS + DESCRIPTORS_OF_JOB * jobs + fixtures;
    int *taken = ypi_calloc((size_t)need, sizeof *taken);
    int count = 0;
    while (count < need && (taken[count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) >= 0)
        count++;
    for (int i = 0; i < count; i++)
        close(taken[i]);
    free(taken);
    if (count == need)
        return YP_OK;
    getrlimit(RLIMIT_NOFILE, &limit);
    return yp_set_error(YP_IO,
                        "only %d more files can be open at once, %d are needed for %d case%s side "
                        "by side: raise the limit of open files (ulimit -n), which is %llu, or "
                        "lower --jobs",
                        count, need, jobs, jobs == 1 ? "" : "s",
                        (unsigned long long)limit.rlim_cur);
}

static void *wait_for_all(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* A thread counts like a process. */
static enum yp_status check_processes(int jobs)
{
    enum { STACK = 64 << 10 };
    const int need = PROCESSES + PROCESSES_OF_JOB * jobs;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = ypi_calloc((size_t)need, sizeof *threads);
    int count = 0;
    pthread_mutex_lock(&gate);
    while (count < need && ypi_thread_begin(&threads[count], wait_for_all, &gate, STACK))
        count++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    if (count == need)
        return YP_OK;
    return yp_set_error(YP_IO,
                        "only %d more processes and threads can be had, %d are needed for %d "
                        "case%s side by side: raise the limit of processes (ulimit -u, or pids.max "
                        "of the control group), or lower --jobs",
                        count, need, jobs, jobs == 1 ? "" : "s");
}

static enum yp_status check_addresses(int jobs)
{
    const size_t need = ADDRESSES + ADDRESSES_OF_JOB * (size_t)jobs;
    void *some = mmap(NULL, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (some == MAP_FAILED)
        return yp_set_error(YP_OUT_OF_MEMORY,
                            "no %zu MiB of memory can be mapped (%s): raise the limit of the "
                            "address space (ulimit -v)",
                            need >> 20, strerror(errno));
    munmap(some, need);
    return YP_OK;
}

static enum yp_status check_shared_memory(int cases)
{
    const size_t need = SHARED + SHARED_BY_CASE * (size_t)cases;
    char name[] = "/dev/shm/yieldpoint-XXXXXX"; /* a runner's that was killed here may be left */
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)need);
    if (fd >= 0)
        close(fd);
    if (error == 0)
        return YP_OK;
    return yp_set_error(YP_IO,
                        "/dev/shm gives no %zu KiB of shared memory (%s), which Criterion needs "
                        "for the processes of cases (--no-fork runs the cases without it)",
                        need >> 10, strerror(error));
}

/* -- what killed runners left --------------------------------------------------------------- */

/* By a file of this name, and the number of the process, Criterion tells the process of a case what
 * to run, which removes it. */
#define SHARED_MEMORY "/dev/shm"
#define ORDER "bxfi_"

/* Longer than a case may take to come to life. A younger one may be of a process of another
 * namespace. */
enum { STALE_SECONDS = 60 };

static bool is_stale(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && time(NULL) - file.st_mtime > STALE_SECONDS;
}

void ypi_surroundings_tidy(void)
{
    DIR *directory = opendir(SHARED_MEMORY);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char path[sizeof SHARED_MEMORY + sizeof entry->d_name];
        char *end = NULL;
        if (strncmp(entry->d_name, ORDER, sizeof ORDER - 1) != 0)
            continue;
        const long pid = strtol(entry->d_name + sizeof ORDER - 1, &end, 10);
        snprintf(path, sizeof path, SHARED_MEMORY "/%s", entry->d_name);
        if (pid > 0 && *end == '\0' && kill((pid_t)pid, 0) != 0 && errno == ESRCH && is_stale(path))
            unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
}

void ypi_surroundings_make_way(void)
{
    char path[64];
    snprintf(path, sizeof path, SHARED_MEMORY "/" ORDER "%d", (int)getpid());
    if (unlink(path) != 0 && errno != ENOENT)
        dprintf(STDERR_FILENO,
                "error: %s is in the way, which another user's killed run has left: remove it, or "
                "run again\n",
                path);
}

enum yp_status ypi_surroundings_check(int cases, int jobs, int fixtures)
{
    const int at_once = jobs < cases ? jobs : cases;
    enum yp_status status = check_thread_sanitizer();
    if (status == YP_OK)
        status = check_proc();
    if (status == YP_OK)
        status = check_descriptors(at_once, fixtures);
    if (status == YP_OK)
        status = check_addresses(at_once);
    if (status == YP_OK)
        status = check_processes(at_once);
    if (status == YP_OK)
        status = check_shared_memory(cases);
    return status;
}
