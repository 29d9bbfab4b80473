#include "harness/driver/in_process.h"

#include "base/system/clock.h"
#include "harness/case/life.h"
#include "harness/driver/conclude.h"
#include "harness/driver/finish.h"

#include <stdlib.h>
#include <unistd.h>

/* The case that is running here, for the handler of exit(). */
static struct {
    struct ypi_runner *run;
    struct ypi_item *item; /* NULL: none */
    void (*end)(void);
    pid_t pid;
    struct ypi_job job; /* of the last case; its handlers of signals go on looking at it */
} here;

/* The body has left by exit(): what is known is stored and printed, and the run is over. */
static void on_exit_of_case(int status, void *unused)
{
    (void)unused;
    struct ypi_item *item = here.item;
    if (item == NULL || getpid() != here.pid)
        return;
    here.item = NULL;
    ypi_run_stop(here.run);
    ypi_finish(here.run, item, 0, status);
    ypi_finish_pending(here.run);
    here.end();
    ypi_history_finish(here.run->history, here.run->session->run_id, ypi_wall_clock(),
                       YPI_EXIT_FAILED);
    ypi_plan_clear(here.run->plan);
    fflush(NULL);
    _exit(YPI_EXIT_FAILED);
}

void ypi_run_here(struct ypi_runner *run, struct ypi_item *item, void (*end)(void))
{
    static bool watched;
    if (!watched)
        watched = on_exit(on_exit_of_case, NULL) == 0;
    here.job = ypi_job_of(item, run->o);
    here.run = run;
    here.end = end;
    here.pid = getpid();
    here.item = item;
    fflush(NULL); /* what a crash would take with it */
    ypi_channel_create(item->channel);
    ypi_item_open_files(item);
    item->pid = here.pid;
    ypi_child_here(&here.job);
    here.item = NULL;
    ypi_finish(run, item, 0, EXIT_SUCCESS);
}
