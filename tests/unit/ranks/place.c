/* The place that the launchers' environments give. */
#include "ranks/place.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALRANKID",
                                        "MPI_LOCALNRANKS",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_LOCALID",
                                        "SLURM_NODEID",
                                        "SLURM_STEP_TASKS_PER_NODE",
                                        "SLURM_NTASKS"};

/* "A=1 B=2": these and none of the others. */
static void surround(const char *environment)
{
    char text[256];
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    snprintf(text, sizeof text, "%s", environment);
    char *rest = text;
    for (char *word; (word = strsep(&rest, " ")) != NULL && *word != '\0';) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        setenv(word, value, 1);
    }
}

Test(place, is_of_the_launcher)
{
    static const struct {
        const char *environment, *launcher;
        struct ypk_place place;
    } tried[] = {
        {"", NULL, {.size = 1, .local_size = 1}},
        {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=2 "
         "OMPI_COMM_WORLD_LOCAL_SIZE=4",
         "Open MPI",
         {.rank = 2, .size = 4, .local_rank = 2, .local_size = 4}},
        {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 "
         "OMPI_COMM_WORLD_LOCAL_SIZE=2",
         "Open MPI",
         {.rank = 2, .size = 4, .local_size = 2, .node = -1}},
        {"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2",
         "hydra",
         {.rank = 1, .size = 2, .local_rank = 1, .local_size = 2}},
        {"PMI_RANK=1 PMI_SIZE=2",
         "hydra",
         {.rank = 1, .size = 2, .local_rank = -1, .local_size = -1, .node = -1}},
        {"SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_NODEID=2",
         "Slurm",
         {.rank = 5, .size = 8, .local_rank = 1, .local_size = -1, .node = 2}},
        {"SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_NODEID=2 "
         "SLURM_STEP_TASKS_PER_NODE=2(x3),1(x2)",
         "Slurm",
         {.rank = 5, .size = 8, .local_rank = 1, .local_size = 2, .node = 2}},
        {"SLURM_PROCID=7 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=0 SLURM_NODEID=4 "
         "SLURM_STEP_TASKS_PER_NODE=2(x3),1(x2)",
         "Slurm",
         {.rank = 7, .size = 8, .local_rank = 0, .local_size = 1, .node = 4}},
        {"SLURM_PROCID=7 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=0 SLURM_NODEID=4 "
         "SLURM_STEP_TASKS_PER_NODE=2(x3),",
         "Slurm",
         {.rank = 7, .size = 8, .local_rank = 0, .local_size = -1, .node = 4}},
        /* a batch script */
        {"SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0", NULL, {.size = 1, .local_size = 1}},
        /* mpirun inside a step */
        {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4",
         "Open MPI",
         {.rank = 3, .size = 4, .local_rank = -1, .local_size = -1, .node = -1}},
        {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 PMI_RANK=3 PMI_SIZE=4",
         "hydra",
         {.rank = 3, .size = 4, .local_rank = -1, .local_size = -1, .node = -1}},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct ypk_place place;
        const char *launcher = "";
        surround(tried[i].environment);
        cr_assert_eq(ypk_place_of_launcher(&place, &launcher), YP_OK, "%s: %s",
                     tried[i].environment, yp_last_error());
        cr_expect(tried[i].launcher == NULL ? launcher == NULL
                                            : strcmp(launcher, tried[i].launcher) == 0,
                  "%s: %s", tried[i].environment, launcher);
        const struct ypk_place *want = &tried[i].place;
        cr_expect(place.rank == want->rank && place.size == want->size &&
                      place.local_rank == want->local_rank &&
                      place.local_size == want->local_size && place.node == want->node,
                  "%s: rank %d of %d, local rank %d of %d, node %d", tried[i].environment,
                  place.rank, place.size, place.local_rank, place.local_size, place.node);
    }
}

Test(place, nonsense_is_refused)
{
    static const char *const tried[][2] = {
        {"OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4",
         "the environment of Open MPI: OMPI_COMM_WORLD_RANK is '4' and OMPI_COMM_WORLD_SIZE is "
         "'4'; a rank is a number from 0 to the number of ranks less one"},
        {"PMI_SIZE=4", "the environment of hydra: PMI_RANK is '' and PMI_SIZE is '4'; a rank is a "
                       "number from 0 to the number of ranks less one"},
        {"PMI_RANK=0 PMI_SIZE=0",
         "the environment of hydra: PMI_RANK is '0' and PMI_SIZE is '0'; a "
         "rank is a number from 0 to the number of ranks less one"},
        {"PMI_RANK=-1 PMI_SIZE=4", "the environment of hydra: PMI_RANK is '-1'; it can be a number "
                                   "from 0 to 65536"},
        {"PMI_RANK=1x PMI_SIZE=4", "the environment of hydra: PMI_RANK is '1x'; it can be a number "
                                   "from 0 to 65536"},
        {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=70000",
         "the environment of Slurm: SLURM_STEP_NUM_TASKS is '70000'; it can be a number from 0 to "
         "65536"},
        {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=2 "
         "OMPI_COMM_WORLD_LOCAL_SIZE=2",
         "rank 1 of 4: local rank 2 of 2 on its node"},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct ypk_place place;
        surround(tried[i][0]);
        cr_expect_eq(ypk_place_of_launcher(&place, NULL), YP_INVALID, "%s", tried[i][0]);
        cr_expect_str_eq(yp_last_error(), tried[i][1]);
    }
}
