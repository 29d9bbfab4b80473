/* A case of several ranks, in the process of one of them. */
#include "base/numbers/splitmix.h"
#include "harness/body/state.h"
#include "harness/message/rank_files.h"
#include "harness/vocabulary/axis.h"
#include "ranks/communicator.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/ranks.h>

/* Longer than any case: its own process ends a rank that waits, and says for whom. */
#define WAIT_SECONDS 1e8

/* Of this process: the communicator knows no case. */
static struct ypi_standing *here;

int yp_rank(const struct yp_case *t)
{
    return t->child != NULL && t->child->job->rank > 0 ? t->child->job->rank : 0;
}

int yp_ranks(const struct yp_case *t)
{
    return t->child != NULL ? t->child->job->ranks : ypi_ranks(t);
}

uint64_t yp_rank_seed(const struct yp_case *t)
{
    return ypi_mix64(yp_seed(t) + ((uint64_t)yp_rank(t) + 1) * YPI_GOLDEN);
}

struct ypk_communicator *yp_ranks_communicator(const struct yp_case *t)
{
    return t->child->communicator;
}

void *yp_ranks_native(const struct yp_case *t)
{
    return ypk_native(t->child->communicator);
}

void yp_barrier(struct yp_case *t)
{
    if (ypk_barrier(t->child->communicator) != YP_OK)
        ypi_child_quit(t, YPI_CAUSE_RANKS, "yp_barrier: %s", yp_last_error());
}

/* -- where it stands ---------------------------------------------------------------------- */

void ypi_child_stands(const char *stage)
{
    if (here == NULL)
        return;
    here->phase[0] = '\0';
    snprintf(here->stage, sizeof here->stage, "%s", stage);
}

void ypi_child_stands_in(const char *phase)
{
    if (here != NULL)
        snprintf(here->phase, sizeof here->phase, "%s", phase != NULL ? phase : "");
}

void ypi_child_leaves(bool early)
{
    if (here != NULL)
        here->over = early ? YPI_OVER_EARLY : YPI_OVER;
}

static void on_call(const struct ypk_call *call, int to, int from)
{
    here->in_call = YPI_NOT_IN_CALL;
    if (call != NULL) {
        here->call = *call;
        here->in_call = YPI_IN_COLLECTIVE;
    } else if (to >= 0 || from >= 0) {
        here->to = to;
        here->from = from;
        here->exchanges++;
        here->in_call = YPI_IN_EXCHANGE;
    }
}

/* -- the others ---------------------------------------------------------------------------- */

bool ypi_child_join(struct yp_case *t)
{
    const struct ypi_job *job = ypi_child_job(t);
    struct ypk_place place;
    const char *launcher = NULL;
    if (job->rank < 0)
        return true;
    char *page = ypi_ranks_file_of(job, "standing");
    here = ypi_standing_map(page, false);
    free(page);
    ypi_child_stands("joining the ranks");
    enum yp_status status = ypk_place_of_launcher(&place, &launcher);
    if (status == YP_OK)
        status = ypk_join(&t->child->communicator, &place, job->meeting, WAIT_SECONDS);
    if (status != YP_OK)
        ypi_child_fail(t, YPI_CAUSE_RANKS, NULL, 0, "it did not get to the other ranks: %s",
                       yp_last_error());
    else if (ypk_size(t->child->communicator) != job->ranks)
        ypi_child_fail(t, YPI_CAUSE_RANKS, NULL, 0, "it sees %d ranks, and the case has %d",
                       ypk_size(t->child->communicator), job->ranks);
    else if (here != NULL)
        ypk_set_watch(on_call);
    const bool placed = !t->child->failed && ypi_child_place(t);
    if (t->child->failed)
        ypi_child_leaves(true);
    return placed;
}

/* What the program is linked to, and the framework is not. */
static bool is_unfinished(void)
{
    int (*initialised)(int *) = NULL;
    int (*finalised)(int *) = NULL;
    int begun = 0;
    int over = 0;
    *(void **)&initialised = dlsym(RTLD_DEFAULT, "MPI_Initialized");
    *(void **)&finalised = dlsym(RTLD_DEFAULT, "MPI_Finalized");
    if (initialised == NULL || finalised == NULL)
        return false;
    initialised(&begun);
    finalised(&over);
    return begun && !over;
}

/* One that left its body early does not wait for the others, which may never come; its communicator
 * stays to the end of the process. */
void ypi_child_part(struct yp_case *t)
{
    if (ypi_child_job(t)->rank < 0 || t->child->communicator == NULL)
        return;
    ypk_set_watch(NULL);
    ypi_child_leaves(t->child->left_early);
    ypi_child_stands("leaving the ranks");
    if (!t->child->left_early) {
        ypk_leave(t->child->communicator);
        t->child->communicator = NULL;
    }
    if (here != NULL)
        here->unfinished = is_unfinished();
    ypi_child_stands("at the end");
}
