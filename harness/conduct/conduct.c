#include "harness/conduct/conduct.h"

#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/system/process.h"
#include "base/text/text.h"
#include "device/cpu/binding.h"
#include "device/kind.h"
#include "device/registry.h"
#include "harness/body/child.h"
#include "harness/conduct/faults.h"
#include "harness/conduct/launch.h"
#include "harness/conduct/members.h"
#include "harness/conduct/merge.h"
#include "harness/conduct/rank.h"
#include "harness/conduct/roll.h"
#include "harness/conduct/share.h"
#include "harness/message/tmp_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NANOSECONDS 10000000
/* A pause of this process that is longer than this was the runner's, at Ctrl-Z. */
#define PAUSE_SECONDS 1.0
/* In which the other ranks may come to an end by themselves, once one is lost: they often fail of
 * the same. */
#define GRACE_SECONDS 0.4
/* For which a rank waits for one that is over. Longer than any message is on its way. */
#define EARLY_SECONDS 0.7
/* From the order to end to the last rank's end. */
#define ORDER_SECONDS 2.0
/* From the last rank's end to the launcher's, and back. */
#define LAUNCHER_SECONDS 2.0
#define VANISH_SECONDS 0.5

struct conducted {
    struct yp_case *t;
    const struct ypi_job *job;
    struct ypi_members members;
    struct ypi_breaking_off off;
    pid_t launcher; /* 0: it is gone */
    double gone;    /* since when */
    double began, paused;
    double first_gone;    /* until when all ranks were in their functions */
    double lost, ordered; /* when the first rank was lost, and the others ordered to end; 0 */
    char *order;          /* path of the file that orders it, and */
    char *leave;          /* of that which says that they have */
    const char *output;   /* path of what the launcher prints; */
    off_t output_read;    /* its size when it was read, */
    double told;          /* and since when it says that a process ended badly; 0 */
    int lock;             /* on the job's file; -1: none */
};

/* -- looking ------------------------------------------------------------------------------------
 */

static void reap(struct conducted *c)
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != c->launcher)
            continue;
        c->launcher = 0;
        c->gone = ypi_kernel_now();
        c->off.launcher_status = status;
        c->off.launcher_is_gone = c->ordered <= 0;
    }
}

static int over(const struct conducted *c)
{
    int count = 0;
    for (int i = 0; i < c->members.count; i++)
        count += ypi_member_is_over(&c->members.of[i]);
    return count;
}

static bool any_lost(const struct conducted *c)
{
    for (int i = 0; i < c->members.count; i++)
        if (ypi_member_is_lost(&c->members.of[i]))
            return true;
    return false;
}

/* A rank has gone from its functions, and another has waited for a while in an operation of all,
 * which cannot end any more. */
static bool any_early(struct conducted *c, double now)
{
    bool gone = false;
    bool waits = false;
    for (int i = 0; i < c->members.count; i++) {
        const struct ypi_member *m = &c->members.of[i];
        gone = gone || m->standing->over != YPI_NOT_OVER;
        waits = waits || (!ypi_member_is_over(m) && m->standing->over == YPI_NOT_OVER &&
                          m->waits_in != 0 && now > m->waits_since + EARLY_SECONDS);
    }
    if (!gone)
        c->first_gone = now;
    return gone && waits && now > c->first_gone + EARLY_SECONDS;
}

/* A launcher of several processes may lose one of them, with the ranks that it had started. */
static bool any_vanished(const struct conducted *c, double now)
{
    for (int i = 0; i < c->members.count; i++) {
        const struct ypi_member *m = &c->members.of[i];
        if (m->vanished > 0 && !m->report.is_reaped && now > m->vanished + VANISH_SECONDS)
            return true;
    }
    return false;
}

/* srun goes on without a process that is killed, and says so. Of a process that was killed before
 * its first message, or on another node, nothing else tells. */
static bool any_told(struct conducted *c, double now)
{
    struct stat status;
    if (!ypi_launcher_tells(c->job))
        return false;
    if (c->told <= 0 && stat(c->output, &status) == 0 && status.st_size != c->output_read) {
        char text[8192];
        c->output_read = status.st_size;
        (void)ypi_read_file(c->output, text, sizeof text);
        c->told = strstr(text, ": task") != NULL ? now : 0; /* "error: n1: task 2: Killed" */
    }
    return c->told > 0 && now > c->told + VANISH_SECONDS;
}

static enum ypi_broken_off reason(struct conducted *c, double now)
{
    if (now > c->began + c->paused + c->job->timeout)
        return YPI_OFF_TIME;
    if (c->job->output != NULL && ypi_members_written(&c->members) > c->job->output_limit)
        return YPI_OFF_OUTPUT;
    if (c->lost <= 0 && any_lost(c))
        c->lost = now;
    if (c->lost > 0 && now > c->lost + GRACE_SECONDS)
        return YPI_OFF_LOST;
    if (any_vanished(c, now) || any_told(c, now))
        return YPI_OFF_LAUNCHER;
    if (c->launcher == 0)
        return now > c->gone + VANISH_SECONDS ? YPI_OFF_LAUNCHER : YPI_NOT_BROKEN_OFF;
    return any_early(c, now) ? YPI_OFF_EARLY : YPI_NOT_BROKEN_OFF;
}

/* -- ending -------------------------------------------------------------------------------------
 */

static void make_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static void order_end(struct conducted *c, enum ypi_broken_off why, double now)
{
    c->off.why = why;
    if (why != YPI_NOT_BROKEN_OFF)
        c->off.roll = ypi_roll_call(&c->members);
    c->ordered = now;
    make_file(c->order);
}

/* A launcher that is still there has nothing left to wait for. */
static void end_launcher(struct conducted *c)
{
    static const struct timespec period = {.tv_nsec = PERIOD_NANOSECONDS};
    const double until = ypi_kernel_now() + LAUNCHER_SECONDS;
    while (c->launcher != 0 && ypi_kernel_now() < until) {
        nanosleep(&period, NULL);
        reap(c);
    }
    ypi_kill_tree(getpid(), false);
    reap(c);
}

static void watch(struct conducted *c)
{
    static const struct timespec period = {.tv_nsec = PERIOD_NANOSECONDS};
    double before = ypi_kernel_now();
    for (;;) {
        const double now = ypi_kernel_now();
        if (now > before + PAUSE_SECONDS)
            c->paused += now - before;
        before = now;
        reap(c);
        ypi_members_look(&c->members, now);
        if (over(c) == c->members.count)
            break;
        const enum ypi_broken_off why = c->ordered > 0 ? YPI_NOT_BROKEN_OFF : reason(c, now);
        if (why != YPI_NOT_BROKEN_OFF)
            order_end(c, why, now);
        if (c->ordered > 0 && (now > c->ordered + ORDER_SECONDS ||
                               (c->launcher == 0 && now > c->gone + 2 * VANISH_SECONDS)))
            break;
        nanosleep(&period, NULL);
    }
    if (c->ordered <= 0 && any_lost(c)) /* all by themselves: those that stay beside them wait */
        order_end(c, YPI_NOT_BROKEN_OFF, ypi_kernel_now());
    make_file(c->leave);
    end_launcher(c);
}

/* -- beginning ----------------------------------------------------------------------------------
 */

/* Where the ranks meet, and where a launcher may put what it needs: goes with the case's other
 * directories. The memory of one node, or what all nodes see. */
static enum yp_status make_meeting(struct ypi_job *job)
{
    char parent[YPI_PATH_MAX];
    const bool several = ypi_on_several_nodes();
    const bool memory = access("/dev/shm", W_OK) == 0;
    ypi_directory_of(parent, job->channel);
    return ypi_tmp_path_make(job->channel, job->attempt, YPI_TMP_MEMORY,
                             several  ? parent
                             : memory ? "/dev/shm"
                                      : "/tmp",
                             &job->meeting);
}

/* Where there are too few of what .placement wants, which is known before the ranks are started but
 * for the processors of other nodes. The caller frees; NULL: there are enough. */
static char *no_placement(const struct yp_case *t, const struct ypi_job *job)
{
    static unsigned char cpus[YPI_CPUS_MAX];
    struct ypi_placement wanted;
    char *cannot = NULL;
    free(ypi_placement_read(t->test->placement, &wanted)); /* it was right at collection */
    if (wanted.spread[YPI_UNIT_NODE] && job->ranks > ypi_launcher_nodes())
        return ypi_format("%d ranks are to have a node each, and there %s %d", job->ranks,
                          ypi_launcher_nodes() == 1 ? "is" : "are", ypi_launcher_nodes());
    const int devices = ypi_devices_seen(t->device);
    const bool here = !ypi_on_several_nodes();
    if (wanted.spread_device && ypi_device_kind(t->device) != NULL && here && job->ranks > devices)
        return ypi_format("%d ranks are to have a device each, and there %s %d", job->ranks,
                          devices == 1 ? "is" : "are", devices);
    const bool units = ypi_placement_has_units(&wanted);
    const struct ypi_places *places = units ? ypi_places_here() : NULL;
    if (units && places == NULL)
        return ypi_strdup("hwloc cannot read the processors of this machine");
    if (places != NULL && here)
        (void)ypi_share(places, ypi_cpus_allowed(), &wanted, 0, job->ranks, cpus, &cannot);
    return cannot;
}

static enum yp_status begin(struct conducted *c, struct ypi_job *job, const char *file)
{
    enum yp_status status = make_meeting(job);
    if (status == YP_OK)
        status = ypi_members_open(&c->members, job);
    if (status == YP_OK)
        status = ypi_job_write(job, file);
    /* As long as this process lives, whatever becomes of the launcher. */
    c->lock = status == YP_OK ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (c->lock >= 0)
        flock(c->lock, LOCK_EX);
    return status;
}

static bool is_crowded(const struct conducted *c)
{
    int processors = 0;
    for (int i = 0; i < c->members.count; i++) {
        const struct ypi_member *m = &c->members.of[i];
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = strcmp(c->members.of[k].report.place.node, m->report.place.node) == 0;
        processors += seen ? 0 : m->report.place.processors;
    }
    return processors > 0 && c->members.count > processors;
}

static void conduct(struct conducted *c, const char *output)
{
    c->began = ypi_kernel_now();
    c->off.oom_kills = ypi_oom_kills();
    c->output = output;
    c->launcher = ypi_launch(c->job, output);
    if (c->launcher < 0) {
        ypi_child_fail(c->t, YPI_CAUSE_RANKS, NULL, 0, "%s", yp_last_error());
        return;
    }
    watch(c);
    struct ypi_result all = {0};
    ypi_rank_faults(&all, &c->members, c->job, &c->off);
    ypi_merge(c->t, &c->members, &all, is_crowded(c));
    ypi_merge_outputs(c->job, &c->members, &all, output);
    ypi_result_clear(&all);
}

/* False where they have no place as the test wants it, and the case is skipped. */
static bool has_placement(const struct yp_case *t, const struct ypi_job *job)
{
    char *none = no_placement(t, job);
    char *reason = ypi_format("placement '%s': %s", t->test->placement, none != NULL ? none : "");
    if (none != NULL)
        ypi_child_send(t, YPI_MESSAGE_SKIP, reason, strlen(reason) + 1, NULL, 0);
    const bool has = none == NULL;
    free(reason);
    free(none);
    return has;
}

void ypi_conduct(struct yp_case *t)
{
    struct ypi_job job = *ypi_child_job(t);
    char host[sizeof((struct ypi_rank_place *)NULL)->node] = "";
    if (t->test->placement != NULL && !has_placement(t, &job))
        return;
    gethostname(host, sizeof host - 1);
    job.host = host;
    job.bound = ypi_launcher_binds();
    struct conducted c = {.t = t, .job = &job, .lock = -1};
    /* No rank has to measure until a verdict is sure. */
    job.speed_judged =
        job.speed_judged && (ypi_on_several_nodes() || job.ranks <= ypi_processors());
    char *file = ypi_ranks_file(job.channel, YPI_RANKS_JOB);
    char *output = ypi_ranks_file(job.channel, "launcher.output");
    c.order = ypi_ranks_file(job.channel, YPI_ORDER);
    c.leave = ypi_ranks_file(job.channel, YPI_LEAVE);
    if (begin(&c, &job, file) == YP_OK)
        conduct(&c, output);
    else
        ypi_child_fail(t, YPI_CAUSE_RANKS, NULL, 0, "%s", yp_last_error());
    ypi_members_close(&c.members, &job);
    if (c.lock >= 0)
        close(c.lock);
    unlink(file);
    unlink(output);
    unlink(c.order);
    unlink(c.leave);
    free(file);
    free(output);
    free(c.order);
    free(c.leave);
    free(c.off.roll);
    free(job.meeting);
}
