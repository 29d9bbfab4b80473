/* Linux, Documentation/ABI/testing/sysfs-devices-system-cpu. */
#include "device/cpu/levels.h"

#include "base/system/file.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where nothing is known of caches: a quarter of what memory is then probed with. */
#define UNKNOWN_CACHE ((size_t)64 << 20)
/* A buffer that no cache holds: so many times the largest one. */
#define BEYOND 4
#define ROOT "/sys/devices/system/cpu"

static cpu_set_t given;

/* Before anything binds the first thread. */
__attribute__((constructor)) static void remember_processors(void)
{
    if (sched_getaffinity(0, sizeof given, &given) != 0)
        CPU_ZERO(&given); /* more of them than such a set can hold */
}

static bool read_cache_line(const char *root, int cpu, int index, const char *file, char out[256])
{
    char path[512];
    snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/%s", root, cpu, index, file);
    return ypi_read_file(path, out, 256) > 0;
}

/* "48K", "32768K", "1M". */
static size_t size_of(const char *text)
{
    char *unit = NULL;
    size_t size = strtoul(text, &unit, 10);
    unsigned shift = *unit == 'G' ? 30 : *unit == 'M' ? 20 : *unit == 'K' ? 10 : 0;
    return size << shift;
}

/* The first of a list such as "2,66" or "0-7"; `otherwise` when it is not known. */
static int first_of(const char *list, bool known, int otherwise)
{
    return known && *list >= '0' && *list <= '9' ? atoi(list) : otherwise;
}

static void read_cache(const char *root, int cpu, int index, struct ypi_caches *out)
{
    char text[256];
    if (!read_cache_line(root, cpu, index, "type", text) || strncmp(text, "Instruction", 11) == 0 ||
        !read_cache_line(root, cpu, index, "level", text))
        return;
    int level = atoi(text) - 1;
    if (level < 0 || level >= YPI_CACHE_LEVELS || !read_cache_line(root, cpu, index, "size", text))
        return;
    out->size[level] = size_of(text);
    bool known = read_cache_line(root, cpu, index, "shared_cpu_list", text);
    out->owner[level] = first_of(text, known, cpu);
}

static void ask_library(int cpu, struct ypi_caches *out)
{
    static const int names[YPI_CACHE_LEVELS] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                                _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE};
    for (int level = 0; level < YPI_CACHE_LEVELS; level++) {
        long size = sysconf(names[level]);
        out->size[level] = size > 0 ? (size_t)size : 0;
        out->owner[level] = level < 2 ? cpu : 0;
    }
}

void ypi_caches_read(const char *root, int cpu, struct ypi_caches *out)
{
    enum { INDICES = 8 };
    *out = (struct ypi_caches){0};
    for (int index = 0; index < INDICES; index++)
        read_cache(root, cpu, index, out);
    for (int level = 0; level < YPI_CACHE_LEVELS; level++)
        if (out->size[level] > 0)
            return;
    ask_library(cpu, out);
}

/* Whether no processor of the same core stands before this one in the kernel's list. */
static bool is_first_of_core(const char *root, int cpu)
{
    char path[512];
    char text[256];
    snprintf(path, sizeof path, "%s/cpu%d/topology/thread_siblings_list", root, cpu);
    return first_of(text, ypi_read_file(path, text, sizeof text) > 0, cpu) == cpu;
}

int ypi_cores_first(const char *root, const cpu_set_t *allowed, int *out)
{
    int later[YPI_PROCESSORS_MAX];
    int count = 0;
    int others = 0;
    for (int cpu = 0; cpu < YPI_PROCESSORS_MAX && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, allowed))
            continue;
        if (is_first_of_core(root, cpu))
            out[count++] = cpu;
        else
            later[others++] = cpu;
    }
    memcpy(out + count, later, (size_t)others * sizeof *out);
    return count + others;
}

/* Bytes of one level that the processors have together; a cache that they share counts once. */
static size_t together(const struct ypi_caches *caches, int cpus, int level)
{
    bool seen[YPI_PROCESSORS_MAX] = {false};
    size_t total = 0;
    for (int i = 0; i < cpus; i++) {
        int owner = caches[i].owner[level];
        if (owner >= 0 && owner < YPI_PROCESSORS_MAX && seen[owner])
            continue;
        if (owner >= 0 && owner < YPI_PROCESSORS_MAX)
            seen[owner] = true;
        total += caches[i].size[level];
    }
    return total;
}

int ypi_levels_from(const struct ypi_caches *caches, int cpus, struct ypi_level *out, int capacity)
{
    int found = 0;
    size_t nearer = 0; /* bytes that one processor has of the level before */
    size_t largest = 0;
    for (int level = 0; level < YPI_CACHE_LEVELS && found < capacity - 1; level++) {
        size_t total = together(caches, cpus, level);
        size_t share = cpus > 0 ? total / (size_t)cpus : 0;
        largest = total > largest ? total : largest;
        if (share <= nearer)
            continue; /* less than what is nearer: it holds nothing that the other does not */
        out[found] = (struct ypi_level){.size = caches[0].size[level], .total = total};
        snprintf(out[found].name, sizeof out[found].name, "L%d", level + 1);
        /* Half of it; where that is not well beyond the nearer one, halfway between the two. */
        out[found].working = share / 2 > 2 * nearer ? share / 2 : nearer + (share - nearer) / 2;
        nearer = share;
        found++;
    }
    if (largest == 0)
        largest = UNKNOWN_CACHE;
    out[found] = (struct ypi_level){.name = "memory",
                                    .working = BEYOND * largest / (size_t)(cpus > 0 ? cpus : 1),
                                    .total = BEYOND * largest};
    return found + 1;
}

static struct {
    pthread_once_t once;
    int cpus[YPI_PROCESSORS_MAX];
    int count;
    struct ypi_caches caches[YPI_PROCESSORS_MAX];
} own = {.once = PTHREAD_ONCE_INIT};

static void read_own(void)
{
    own.count = ypi_cores_first(ROOT, &given, own.cpus);
    for (int i = 0; i < own.count; i++)
        ypi_caches_read(ROOT, own.cpus[i], &own.caches[i]);
}

const int *ypi_own_processors(int *count)
{
    pthread_once(&own.once, read_own);
    *count = own.count;
    return own.cpus;
}

int ypi_levels(int threads, struct ypi_level *out, int capacity)
{
    if (capacity < 1)
        return 0;
    int cpus = 0;
    (void)ypi_own_processors(&cpus);
    if (threads <= 0 || threads > cpus)
        threads = cpus;
    return ypi_levels_from(own.caches, threads, out, capacity);
}

struct ypi_level ypi_level_of(double footprint, int threads)
{
    struct ypi_level levels[YPI_LEVELS_MAX];
    int count = ypi_levels(threads, levels, YPI_LEVELS_MAX);
    for (int i = 0; i < count - 1; i++)
        if (footprint > 0 && footprint <= (double)levels[i].total)
            return levels[i];
    return levels[count - 1];
}
