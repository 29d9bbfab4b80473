/* The caches, as the kernel's files tell of them (Linux, ABI/testing/sysfs-devices-system-cpu). */
#include "levels.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where nothing is told. */
#define UNKNOWN_CACHE ((size_t)64 << 20)
/* A buffer that no cache holds: so many times the largest one. */
enum { BEYOND = 4 };

static struct ypi_cache caches[YPI_CACHES_MAX];
static int cache_count;

static bool read_line(const char *root, int cpu, int index, const char *file, char out[256])
{
    char path[512];
    snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/%s", root, cpu, index, file);
    FILE *f = fopen(path, "re");
    bool ok = f != NULL && fgets(out, 256, f) != NULL;
    if (f != NULL)
        fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok;
}

/* "48K", "32768K", "1M". */
static size_t size_of(const char *text)
{
    char *unit = NULL;
    size_t size = strtoul(text, &unit, 10);
    unsigned shift = *unit == 'M' ? 20 : *unit == 'K' ? 10 : 0;
    return size << shift;
}

static bool read_cache(const char *root, int cpu, int index, struct ypi_cache *out)
{
    char text[256];
    *out = (struct ypi_cache){.cpu = cpu};
    if (!read_line(root, cpu, index, "type", text) || strcmp(text, "Instruction") == 0)
        return false;
    if (!read_line(root, cpu, index, "level", text))
        return false;
    out->level = atoi(text);
    if (!read_line(root, cpu, index, "size", text))
        return false;
    out->size = size_of(text);
    if (read_line(root, cpu, index, "shared_cpu_list", text))
        snprintf(out->shared, sizeof out->shared, "%.63s", text);
    return out->size > 0 && out->level > 0;
}

int ypi_caches_read(const char *root, const int *cpus, int cpu_count, struct ypi_cache *out,
                    int most)
{
    enum { INDICES = 8 };
    int count = 0;
    for (int c = 0; c < cpu_count; c++)
        for (int index = 0; index < INDICES && count < most; index++)
            count += read_cache(root, cpus[c], index, &out[count]);
    return count;
}

static int own[YPI_PROCESSORS_MAX];
static int own_count;

static void read_own(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE && own_count < YPI_PROCESSORS_MAX; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            own[own_count++] = cpu;
}

int ypi_own_processors(const int **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_own);
    *out = own;
    return own_count;
}

/* Bytes of one level that the first `threads` of the processors have together. */
static size_t together(const struct ypi_cache *all, int count, int level, const int *cpus,
                       int threads, size_t *one)
{
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        bool used = false;
        for (int t = 0; t < threads; t++)
            used = used || cpus[t] == all[i].cpu;
        if (!used || all[i].level != level)
            continue;
        bool seen = false;
        for (int k = 0; k < i && all[i].shared[0] != '\0'; k++)
            seen = seen || (all[k].level == level && strcmp(all[k].shared, all[i].shared) == 0);
        *one = all[i].size;
        total += seen ? 0 : all[i].size;
    }
    return total;
}

int ypi_levels_from(const struct ypi_cache *all, int count, const int *cpus, int threads,
                    struct ypi_level *out, int most)
{
    enum { LEVELS = 4 };
    int found = 0;
    size_t nearer = 0;
    size_t largest = 0;
    threads = threads > 0 ? threads : 1;
    for (int level = 1; level <= LEVELS && found < most - 1; level++) {
        size_t one = 0;
        size_t total = together(all, count, level, cpus, threads, &one);
        if (total == 0 || total / (size_t)threads <= nearer)
            continue;
        struct ypi_level *l = &out[found++];
        *l = (struct ypi_level){.size = one, .total = total};
        snprintf(l->name, sizeof l->name, "L%d", level);
        /* Half of it, or what is beyond the nearer one by as much: most of a pass then misses that.
         */
        size_t share = total / (size_t)threads;
        l->working = share / 2 > 2 * nearer ? share / 2 : (share + nearer) / 2;
        nearer = share;
        largest = total > largest ? total : largest;
    }
    if (largest == 0)
        largest = UNKNOWN_CACHE;
    out[found] = (struct ypi_level){
        .name = "memory", .working = BEYOND * largest / (size_t)threads, .total = BEYOND * largest};
    return found + 1;
}

static void read_once(void)
{
    const int *cpus = NULL;
    int count = ypi_own_processors(&cpus);
    cache_count = ypi_caches_read("/sys/devices/system/cpu", cpus, count, caches, YPI_CACHES_MAX);
}

int ypi_levels(int threads, struct ypi_level *out, int most)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const int *cpus = NULL;
    int count = ypi_own_processors(&cpus);
    pthread_once(&once, read_once);
    if (threads <= 0 || threads > count)
        threads = count;
    return ypi_levels_from(caches, cache_count, cpus, threads, out, most);
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
