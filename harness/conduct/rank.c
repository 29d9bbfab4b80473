#include "harness/conduct/rank.h"

#include "base/system/freeze.h"
#include "base/system/process.h"
#include "base/system/self.h"
#include "base/text/text.h"
#include "device/cpu/binding.h"
#include "harness/body/stack.h"
#include "harness/conduct/launch.h"
#include "harness/conduct/share.h"
#include "harness/message/channel.h"
#include "harness/message/rank_files.h"
#include "harness/stack/pending.h"
#include "harness/stack/walk.h"
#include "harness/vocabulary/linked.h"
#include "ranks/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 32, LOOKS = 10 /* in which it looks once whether it is orphaned */ };
#define PERIOD_NANOSECONDS 20000000
#define STOP_SECONDS 0.4

/* Files of all ranks. */
struct together {
    char *order;  /* path: is there when all are to end */
    char *leave;  /* path: is there when all have ended */
    int job_file; /* open; -1: it cannot be */
};

/* -- beside the rank ------------------------------------------------------------------------ */

static void send_reaped(const struct ypi_job *job, int status, bool ordered)
{
    struct ypi_reaped reaped;
    memset(&reaped, 0, sizeof reaped);
    reaped.status = status;
    reaped.ordered = ordered;
    ypi_channel_send(job->channel, YPI_MESSAGE_REAPED, &reaped, sizeof reaped, NULL, 0);
}

/* Where its threads are, as they stand still. Both processes have the framework's variables at the
 * same addresses. */
static void send_stacks(const struct ypi_job *job, pid_t rank)
{
    struct ypi_thread threads[THREADS_MAX];
    struct ypi_stack *stacks = ypi_calloc(THREADS_MAX, sizeof *stacks);
    const int count = ypi_threads(rank, threads, THREADS_MAX);
    ypi_walk_stopped(rank, (uintptr_t)ypi_stack_below_at(), threads, count, stacks);
    for (int i = 0; i < count; i++)
        if (stacks[i].count > 0)
            ypi_channel_send(job->channel, YPI_MESSAGE_STACK, &stacks[i],
                             offsetof(struct ypi_stack, frames), stacks[i].frames,
                             (size_t)stacks[i].count * sizeof *stacks[i].frames);
    free(stacks);
}

static void end_rank(const struct ypi_job *job, pid_t rank)
{
    struct ypi_frozen frozen = {0};
    int status = 0;
    ypi_freeze(&frozen, rank);
    ypi_await_frozen(rank, STOP_SECONDS);
    send_stacks(job, rank);
    ypi_pending_rescue(rank, (uintptr_t)stdout, job->output);
    ypi_kill_tree(rank, true);
    ypi_frozen_clear(&frozen);
    waitpid(rank, &status, 0);
    ypi_kill_tree(getpid(), false);
    send_reaped(job, status, true);
}

/* The case's process has a lock on the job's file as long as it lives; where nobody can tell, it
 * does. A launcher that died with it before this process was its child took nothing along. */
static bool is_orphaned(int job_file)
{
    return job_file >= 0 && flock(job_file, LOCK_SH | LOCK_NB) == 0;
}

/* A launcher that speaks PMI with its processes kills all of them where one goes that has not
 * finalised MPI. */
static bool is_missed(void)
{
    return getenv("PMI_FD") != NULL;
}

/* Stays until the case's process says that the case is over, where the launcher would else take the
 * end of this one for a reason to kill the other ranks. */
__attribute__((noreturn)) static void watch(const struct ypi_job *job, const struct together *all,
                                            pid_t rank, const struct ypi_standing *standing,
                                            const sigset_t *signals)
{
    static const struct timespec period = {.tv_nsec = PERIOD_NANOSECONDS};
    bool there = true; /* the rank's process */
    for (int looks = 0;; looks++) {
        const int signal_number = sigtimedwait(signals, NULL, &period);
        int status = 0;
        if (there && waitpid(rank, &status, WNOHANG) == rank) {
            there = false;
            ypi_kill_tree(getpid(), false);
            send_reaped(job, status, false);
            if (status == 0 && standing->over == YPI_OVER && !(standing->unfinished && is_missed()))
                _exit(EXIT_SUCCESS);
        }
        const bool ends = signal_number > 0 && signal_number != SIGCHLD;
        if (looks % LOOKS == 0 && is_orphaned(all->job_file)) {
            ypi_kill_tree(getpid(), false);
            _exit(EXIT_FAILURE);
        }
        const bool ordered = access(all->order, F_OK) == 0;
        if (there && (ends || ordered))
            end_rank(job, rank);
        there = there && !ends && !ordered;
        if (ends)
            _exit(EXIT_FAILURE);
        if (access(all->leave, F_OK) == 0 || (ordered && !is_missed()))
            _exit(EXIT_SUCCESS);
    }
}

/* -- its start ------------------------------------------------------------------------------ */

static void send_failure(const char *channel, const char *message)
{
    struct {
        struct ypi_failure_message head;
        char no_file;
    } failure;
    memset(&failure, 0, sizeof failure);
    failure.head.cause = YPI_CAUSE_RANKS;
    ypi_channel_send(channel, YPI_MESSAGE_FAILURE, &failure, sizeof failure.head + 1, message,
                     strlen(message) + 1);
}

/* The launcher of another MPI, or one that is none, starts every process as the only one. Told by
 * each in the first rank's channel, since nobody knows which one it is. */
__attribute__((noreturn)) static void refuse(struct ypi_job *job, const char *channel,
                                             const struct ypk_place *place, const char *launcher)
{
    char *message =
        launcher == NULL
            ? ypi_format("%s started it without telling it which rank it is, and of how many",
                         job->launcher)
            : ypi_format("%s of %s started it as rank %d of %d, and the case has %d ranks",
                         job->launcher, launcher, place->rank, place->size, job->ranks);
    job->channel = ypi_rank_file(channel, 0, "channel");
    send_failure(job->channel, message);
    send_reaped(job, 0, true);
    _exit(EXIT_FAILURE);
}

/* On other nodes the program is started by its path. What the job says cannot be read. */
__attribute__((noreturn)) static void refuse_build(const char *channel)
{
    struct ypk_place place;
    struct ypi_job job = {.rank = -1};
    char *reason = ypi_strdup(yp_last_error());
    if (ypk_place_of_launcher(&place, NULL) == YP_OK) {
        job.channel = ypi_rank_file(channel, place.rank, "channel");
        send_failure(job.channel, reason);
        send_reaped(&job, 0, true);
    }
    fprintf(stderr, "error: %s\n", reason);
    _exit(EXIT_FAILURE);
}

/* Cases that run beside each other would else get the same processors. */
static bool is_timed(const struct ypi_job *job)
{
    const struct yp_test *test = ypi_linked_at(YPI_LINKED_TESTS, job->test);
    return !job->untimed && !test->parallel;
}

/* Of this node: those that came with the job are of that of the case's own process. */
static const struct ypi_places *places_of(struct ypi_job *job, const char *node)
{
    if (job->host == NULL || strcmp(job->host, node) != 0) {
        free(job->places.list);
        job->places = (struct ypi_places){0};
    }
    ypi_bind_among(&job->places);
    return ypi_places_here();
}

/* The rank's process inherits them. */
static bool stay_on(const unsigned char *cpus)
{
    struct ypi_text list = {0};
    for (int cpu = 0; cpu < YPI_CPUS_MAX; cpu++)
        if (cpus[cpu])
            ypi_text_add(&list, "%s%d", list.length > 0 ? "," : "", cpu);
    char *text = ypi_text_take(&list);
    const bool stays = ypi_cpus_confine(text) == YP_OK;
    free(text);
    return stays;
}

/* Each rank of a node stays on processors of its own, where there are enough. */
static void take_share(struct ypi_job *job, const struct ypk_place *place,
                       const struct ypi_placement *wanted, const char *node)
{
    static unsigned char cpus[YPI_CPUS_MAX];
    const struct ypi_places *places = places_of(job, node);
    if (places == NULL || place->local_rank < 0 || place->local_size < 1)
        return;
    char *cannot = NULL;
    if (ypi_share(places, ypi_cpus_allowed(), wanted, place->local_rank, place->local_size, cpus,
                  &cannot))
        (void)stay_on(cpus);
    /* Of the only node the case's own process knows, and it has what this one may use less. */
    if (ypi_on_several_nodes())
        job->cannot = cannot;
    else
        free(cannot);
}

/* Before it starts the rank. */
static void take_place(struct ypi_job *job, const struct ypk_place *place)
{
    const struct yp_test *test = ypi_linked_at(YPI_LINKED_TESTS, job->test);
    struct ypi_placement wanted;
    struct ypi_rank_place message;
    free(ypi_placement_read(test->placement, &wanted)); /* it was right at collection */
    memset(&message, 0, sizeof message);
    gethostname(message.node, sizeof message.node - 1);
    const char *queue = getenv("SLURMD_NODENAME");
    snprintf(message.queue, sizeof message.queue, "%s", queue != NULL ? queue : "");
    message.beside = getpid();
    message.local_rank = place->local_rank;
    message.processors = ypi_processors();
    ypi_channel_send(job->channel, YPI_MESSAGE_PLACE, &message, sizeof message, NULL, 0);
    if (job->bind == YPI_BIND_NONE)
        job->cannot = ypi_strdup("--bind none leaves the ranks where they are");
    else if (!job->bound && (test->placement != NULL || is_timed(job)))
        take_share(job, place, &wanted, message.node);
}

/* True in the rank's process. */
static bool start(const struct ypi_job *job, const struct together *all)
{
    sigset_t signals;
    sigset_t before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &before);
    char *page = ypi_ranks_file_of(job, "standing");
    const struct ypi_standing *standing = ypi_standing_map(page, false);
    free(page);
    const pid_t beside = getpid();
    const pid_t rank = standing != NULL ? fork() : -1;
    if (rank == 0) {
        close(all->job_file);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0); /* not in that which a launcher signals */
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (getppid() != beside)
            _exit(EXIT_FAILURE);
        return true;
    }
    if (rank > 0)
        watch(job, all, rank, standing, &signals);
    if (standing != NULL)
        yp_set_error(YP_IO, "no process can be started for the rank: %s", strerror(errno));
    return false;
}

bool ypi_rank_executed(const struct ypi_job **job)
{
    const char *channel = getenv(YPI_RANKS_MARK);
    *job = NULL;
    if (channel == NULL)
        return false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    ypi_self_take_name();
    char *file = ypi_ranks_file(channel, YPI_RANKS_JOB);
    struct ypi_job *own = ypi_job_read(file);
    const struct together all = {.order = ypi_ranks_file(channel, YPI_ORDER),
                                 .leave = ypi_ranks_file(channel, YPI_LEAVE),
                                 .job_file = open(file, O_RDONLY | O_CLOEXEC)};
    free(file);
    if (own == NULL && yp_last_status() == YP_UNSUPPORTED)
        refuse_build(channel);
    if (own == NULL)
        return true;
    struct ypk_place place;
    const char *launcher = NULL;
    if (ypk_place_of_launcher(&place, &launcher) != YP_OK)
        return true;
    if (launcher == NULL || place.size != own->ranks)
        refuse(own, channel, &place, launcher);
    own->rank = place.rank;
    own->memory = -1;
    free(own->channel);
    own->channel = ypi_rank_file(channel, place.rank, "channel");
    char *output = own->output != NULL ? ypi_rank_file(channel, place.rank, "output") : NULL;
    free(own->output);
    own->output = output;
    unsetenv(YPI_RANKS_MARK); /* what the case starts is no rank */
    take_place(own, &place);
    own->bind = YPI_BIND_NONE; /* within its share */
    if (start(own, &all))
        *job = own;
    free(all.order);
    free(all.leave);
    return true;
}
