/* Processes of a test that work together. */
#pragma once

#include "base/system/file.h"
#include "ranks/communicator.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MAX = 8 };

/* What a rank says of itself, in memory of all. */
struct said {
    enum yp_status status;
    char text[1024];
};

struct world {
    char directory[64];
    double limit;        /* 0: 10 s */
    int node[RANKS_MAX]; /* of each rank; local_size is of the test */
    int local_size;      /* 0: all */
    int absent;          /* bit mask of ranks that are not started */
    struct said *said;   /* of each rank */
};

static inline void world_begin(struct world *world)
{
    snprintf(world->directory, sizeof world->directory, "/tmp/yp-ranks-%d-XXXXXX", (int)getpid());
    cr_assert_not_null(mkdtemp(world->directory));
    world->said = mmap(NULL, RANKS_MAX * sizeof *world->said, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(world->said, MAP_FAILED);
    for (int i = 0; i < RANKS_MAX; i++)
        world->said[i].status = YP_UNSUPPORTED; /* nothing said */
}

static inline void world_end(struct world *world)
{
    ypi_remove_tree(world->directory);
    munmap(world->said, RANKS_MAX * sizeof *world->said);
}

/* Each rank joins, calls body() and says what came of it. */
static inline void world_run(const struct world *world, int size,
                             enum yp_status (*body)(struct ypk_communicator *c, void *argument),
                             void *argument)
{
    pid_t pids[RANKS_MAX];
    fflush(NULL);
    for (int rank = 0; rank < size; rank++) {
        pids[rank] = (world->absent >> rank & 1) != 0 ? -1 : fork();
        if (pids[rank] != 0)
            continue;
        const struct ypk_place place = {.rank = rank,
                                        .size = size,
                                        .local_rank = -1,
                                        .local_size =
                                            world->local_size > 0 ? world->local_size : size,
                                        .node = world->node[rank]};
        struct ypk_communicator *c = NULL;
        struct said *said = &world->said[rank];
        enum yp_status status =
            ypk_join(&c, &place, world->directory, world->limit > 0 ? world->limit : 10);
        if (status == YP_OK)
            status = body(c, argument);
        said->status = status;
        if (status != YP_OK)
            snprintf(said->text, sizeof said->text, "%s", yp_last_error());
        ypk_leave(c);
        _exit(0);
    }
    for (int rank = 0; rank < size; rank++)
        if (pids[rank] > 0)
            waitpid(pids[rank], NULL, 0);
}

static inline void expect_ok(const struct world *world, int size)
{
    for (int i = 0; i < size; i++)
        cr_expect_eq(world->said[i].status, YP_OK, "rank %d: %d: %s", i, world->said[i].status,
                     world->said[i].text);
}

static inline void expect_said(const struct world *world, int rank, const char *text)
{
    cr_expect_neq(world->said[rank].status, YP_OK, "rank %d", rank);
    cr_expect(strstr(world->said[rank].text, text) != NULL, "rank %d: '%s' and not '%s'", rank,
              world->said[rank].text, text);
}
