#include "base/system/process.h"

#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int children_of_thread(pid_t pid, const char *thread, pid_t *out, int capacity)
{
    char path[320];
    char list[16384];
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, thread);
    if (ypi_read_file(path, list, sizeof list) == 0)
        return 0;
    int count = 0;
    char *at = list;
    char *end = NULL;
    for (long child = strtol(at, &end, 10); end != at && count < capacity;
         child = strtol(at, &end, 10)) {
        if (*end == '\0')
            break; /* cut off in the middle of a number, which would be a stranger's */
        out[count++] = (pid_t)child;
        at = end;
    }
    return count;
}

int ypi_children(pid_t pid, pid_t *out, int capacity)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    int count = 0;
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            count += children_of_thread(pid, entry->d_name, out + count, capacity - count);
    if (directory != NULL)
        closedir(directory);
    return count;
}

int ypi_descendants(pid_t pid, pid_t *out, int capacity)
{
    int count = ypi_children(pid, out, capacity);
    for (int i = 0; i < count; i++)
        count += ypi_children(out[i], out + count, capacity - count);
    return count;
}

char ypi_process_state(pid_t pid)
{
    char path[64];
    char stat[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (ypi_read_file(path, stat, sizeof stat) == 0)
        return '\0';
    const char *name_end = strrchr(stat, ')');
    return name_end != NULL && name_end[1] == ' ' ? name_end[2] : '\0';
}

int ypi_threads(pid_t pid, struct ypi_thread *out, int most)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    int count = 0;
    const struct dirent *entry = NULL;
    while (directory != NULL && count < most && (entry = readdir(directory)) != NULL) {
        char stat[512];
        snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, entry->d_name);
        if (entry->d_name[0] == '.' || ypi_read_file(path, stat, sizeof stat) == 0)
            continue;
        const char *name = strchr(stat, '(');
        const char *end = strrchr(stat, ')');
        if (name == NULL || end == NULL || end[1] != ' ')
            continue;
        out[count] = (struct ypi_thread){.id = (pid_t)atoi(stat), .state = end[2]};
        snprintf(out[count++].name, sizeof out->name, "%.*s", (int)(end - name - 1), name + 1);
    }
    if (directory != NULL)
        closedir(directory);
    return count;
}

int ypi_thread_count(void)
{
    char stat[512];
    const char *at =
        ypi_read_file("/proc/self/stat", stat, sizeof stat) > 0 ? strrchr(stat, ')') : NULL;
    /* The name is the second field, this the twentieth. */
    for (int field = 2; at != NULL && field < 20; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? atoi(at) : 0;
}

void ypi_process_name(pid_t pid, char out[64])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (ypi_read_file(path, out, 64) == 0)
        snprintf(out, 64, "?");
    out[strcspn(out, "\n")] = '\0';
}

bool ypi_same_command(pid_t a, pid_t b)
{
    char path[64];
    char first[4096];
    char second[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)a);
    size_t first_size = ypi_read_file(path, first, sizeof first);
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)b);
    size_t second_size = ypi_read_file(path, second, sizeof second);
    return first_size > 0 && first_size == second_size && memcmp(first, second, first_size) == 0;
}

bool ypi_environment_has(pid_t pid, const char *setting)
{
    enum { CAPACITY = 1 << 18 };
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    char *list = ypi_calloc(CAPACITY, 1);
    size_t size = ypi_read_file(path, list, CAPACITY);
    bool found = false;
    for (size_t at = 0; at < size && !found; at += strlen(list + at) + 1)
        found = strcmp(list + at, setting) == 0;
    free(list);
    return found;
}

int ypi_kill_tree(pid_t root, bool self)
{
    enum { CAPACITY = 4096 };
    static const struct timespec pause = {.tv_nsec = 2000000};
    pid_t *found = ypi_calloc(CAPACITY, sizeof *found);
    int killed = 0;
    if (self) {
        /* Its descendants first: they are lost from sight once it is gone. */
        kill(root, SIGSTOP);
        killed = ypi_descendants(root, found, CAPACITY);
        for (int i = 0; i < killed; i++)
            kill(found[i], SIGKILL);
        kill(-root, SIGKILL);
        kill(root, SIGKILL);
    }
    double end = ypi_kernel_now() + 2;
    int live = 1;
    while (!self && live > 0 && ypi_kernel_now() < end) {
        int count = ypi_descendants(root, found, CAPACITY);
        live = 0;
        for (int i = 0; i < count; i++) {
            char state = ypi_process_state(found[i]);
            if (state != 'Z' && state != '\0' && kill(found[i], SIGKILL) == 0)
                live++;
        }
        killed = live > killed ? live : killed;
        if (live > 0)
            nanosleep(&pause, NULL);
    }
    free(found);
    return killed;
}

/* A line in kB of what a file of /proc holds, in bytes; 0: there is none. */
static uint64_t in_kb(const char *text, const char *field)
{
    const char *at = strstr(text, field);
    return at != NULL ? strtoull(at + strlen(field), NULL, 10) * 1024 : 0;
}

static uint64_t line_of(const char *path, const char *field)
{
    char text[8192];
    return ypi_read_file(path, text, sizeof text) > 0 ? in_kb(text, field) : 0;
}

uint64_t ypi_memory_available(void)
{
    return line_of("/proc/meminfo", "MemAvailable:");
}

uint64_t ypi_self_unasked_huge(void)
{
    char text[128];
    if (ypi_read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text) == 0 ||
        strstr(text, "[always]") == NULL)
        return 0;
    return line_of("/proc/self/smaps_rollup", "AnonHugePages:");
}

bool ypi_process_memory(pid_t pid, struct ypi_process_memory *out)
{
    char path[64];
    char text[8192];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (ypi_read_file(path, text, sizeof text) == 0)
        return false;
    *out = (struct ypi_process_memory){.own = in_kb(text, "RssAnon:") + in_kb(text, "RssShmem:"),
                                       .files = in_kb(text, "RssFile:"),
                                       .peak = in_kb(text, "VmHWM:")};
    return true;
}

bool ypi_self_memory(struct ypi_process_memory *out)
{
    return ypi_process_memory(getpid(), out);
}

uint64_t ypi_process_share(pid_t pid, uint64_t own)
{
    char path[64];
    char text[8192];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    if (ypi_read_file(path, text, sizeof text) == 0 || strstr(text, "Pss_Anon:") == NULL)
        return own;
    return in_kb(text, "Pss_Anon:") + in_kb(text, "Pss_Shmem:");
}

void ypi_reset_resident_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t written = write(fd, "5", 1);
    (void)written; /* where it is refused the peak is that of the whole process */
    close(fd);
}

uint64_t ypi_oom_kills(void)
{
    char text[16384];
    if (ypi_read_file("/proc/vmstat", text, sizeof text) == 0)
        return 0;
    const char *at = strstr(text, "\noom_kill ");
    return at != NULL ? strtoull(at + strlen("\noom_kill "), NULL, 10) : 0;
}
