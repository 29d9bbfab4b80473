#include "harness/collect/launcher.h"

#include "base/system/file.h"
#include "base/text/text.h"
#include "harness/vocabulary/placement.h"

#include <stdlib.h>
#include <string.h>

static char *find(const struct ypi_options *o, const char **reason)
{
    if (strcmp(o->launcher, "auto") != 0) {
        char *path = ypi_program_path(o->launcher);
        if (path == NULL)
            *reason = ypi_format("several ranks need a launcher: there is no program '%s' "
                                 "(--launcher)",
                                 o->launcher);
        return path;
    }
    /* Inside an allocation its nodes are srun's to use. */
    char *path = getenv("SLURM_JOB_ID") != NULL ? ypi_program_path("srun") : NULL;
    if (path == NULL)
        path = ypi_program_path("mpirun");
    *reason = "several ranks need a launcher: no program 'mpirun' in PATH (Debian packages "
              "openmpi-bin, mpich), and 'srun' is for the inside of an allocation";
    return path;
}

const char *ypi_launcher(const struct ypi_options *o, const char **reason)
{
    static char *of; /* the option that the rest is of */
    static char *found;
    static const char *why;
    if (of == NULL || strcmp(of, o->launcher) != 0) {
        free(of);
        free(found);
        of = ypi_strdup(o->launcher);
        found = find(o, &why);
    }
    if (reason != NULL)
        *reason = why;
    return found;
}

/* The least of "2(x3),4", processors of nodes that are alike, in their order. */
static int fewest_processors(const char *list)
{
    int fewest = 0;
    while (list != NULL && *list != '\0') {
        const int count = atoi(list);
        fewest = fewest == 0 || count < fewest ? count : fewest;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return fewest;
}

int ypi_pack_nodes(const struct ypi_options *o)
{
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");
    const char *path = o->pack && nodes != NULL ? ypi_launcher(o, NULL) : NULL;
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const bool by_srun = slash != NULL && strncmp(slash + 1, "srun", 4) == 0;
    const int count = by_srun ? atoi(nodes) : 1;
    return count > 1 ? count : 1;
}

bool ypi_is_packed(const struct yp_case *c, const struct ypi_options *o)
{
    struct ypi_placement wanted;
    if (ypi_ranks(c) < 2 || ypi_pack_nodes(o) < 2)
        return false;
    free(ypi_placement_read(c->test->placement, &wanted)); /* it was right at collection */
    return !wanted.spread[YPI_UNIT_NODE] &&
           ypi_ranks(c) <= fewest_processors(getenv("SLURM_JOB_CPUS_PER_NODE"));
}

const char *ypi_ranks_refused(const struct yp_case *c, const struct ypi_options *o)
{
    const char *reason = NULL;
    if (ypi_ranks(c) < 2)
        return NULL;
    if (o->no_fork)
        return "several ranks need processes of their own, and with --no-fork or --gdb there are "
               "none";
    if (o->instructions)
        return "Callgrind counts the instructions of one process, not of several ranks";
    if (o->audit)
        return "--audit counts the work of one process, not of several ranks";
    if (o->turns != NULL)
        return "several ranks take no turns (--turns)";
    return ypi_launcher(o, &reason) == NULL ? reason : NULL;
}
