#include "gate/pair/processor.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static cpu_set_t allowed(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        CPU_ZERO(&set); /* a machine of more than 1024 processors */
    return set;
}

int ypi_processor_pick(struct ypi_seed *coin)
{
    cpu_set_t set = allowed();
    int count = CPU_COUNT(&set);
    int left = (int)(ypi_seed_uniform(coin) * count);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set) && left-- == 0)
            return (int)i;
    return -1;
}

void ypi_processor_hold(pid_t process, int processor)
{
    cpu_set_t set = allowed();
    char path[64];
    if (processor >= 0) {
        CPU_ZERO(&set);
        CPU_SET((size_t)processor, &set);
    }
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = process > 0 && CPU_COUNT(&set) > 0 ? opendir(path) : NULL;
    const struct dirent *entry = NULL;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL)
        if (entry->d_name[0] != '.')
            (void)sched_setaffinity((pid_t)strtol(entry->d_name, NULL, 10), sizeof set, &set);
    if (tasks != NULL)
        closedir(tasks);
}
