#include "harness/collect/launcher.h"

#include "base/system/file.h"
#include "base/text/text.h"

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
