#include "harness/conduct/members.h"

#include "base/text/text.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum yp_status ypi_members_open(struct ypi_members *members, const struct ypi_job *job)
{
    enum yp_status status = YP_OK;
    *members = (struct ypi_members){.count = job->ranks};
    members->of = ypi_calloc((size_t)job->ranks, sizeof *members->of);
    for (int i = 0; i < job->ranks; i++) {
        struct ypi_member *m = &members->of[i];
        m->channel = ypi_rank_file(job->channel, i, "channel");
        m->output = job->output != NULL ? ypi_rank_file(job->channel, i, "output") : NULL;
        m->report.stage = YPI_STAGE_DONE;
        char *page = ypi_rank_file(job->channel, i, "standing");
        m->standing = ypi_standing_map(page, true);
        free(page);
        if (m->standing == NULL)
            status = yp_last_status();
        if (!ypi_channel_create(m->channel) ||
            (m->output != NULL && !ypi_channel_create(m->output)))
            status = yp_set_error(YP_IO, "%s cannot be made", m->channel);
    }
    return status;
}

static void remove_file(char *path)
{
    if (path != NULL)
        unlink(path);
    free(path);
}

void ypi_members_close(struct ypi_members *members, const struct ypi_job *job)
{
    for (int i = 0; i < members->count; i++) {
        struct ypi_member *m = &members->of[i];
        remove_file(m->channel);
        remove_file(m->output);
        ypi_standing_unmap(m->standing);
        remove_file(ypi_rank_file(job->channel, i, "standing"));
        ypi_result_clear(&m->result);
    }
    free(members->of);
    *members = (struct ypi_members){0};
}

static off_t size_of(const char *path)
{
    struct stat status;
    return path != NULL && stat(path, &status) == 0 ? status.st_size : 0;
}

/* Processes of other nodes cannot be seen. */
static bool is_gone(const struct ypi_rank_place *place)
{
    char node[sizeof place->node] = "";
    gethostname(node, sizeof node - 1);
    return place->beside > 0 && strcmp(node, place->node) == 0 && kill(place->beside, 0) != 0 &&
           errno == ESRCH;
}

static void look(struct ypi_member *m, double now)
{
    const off_t size = size_of(m->channel);
    if (size != m->seen) {
        ypi_result_clear(&m->result);
        m->result = (struct ypi_result){0};
        m->report = ypi_channel_read(m->channel, &m->result);
        m->seen = size;
    }
    if (!m->report.is_reaped && is_gone(&m->report.place))
        m->vanished = m->vanished > 0 ? m->vanished : now;
    const struct ypi_standing *s = m->standing;
    const uint64_t of_devices = s->call.devices ? UINT64_C(1) << 63 : 0;
    const uint64_t waits = s->in_call == YPI_IN_COLLECTIVE ? (2 * s->call.number + 1) | of_devices
                           : s->in_call == YPI_IN_EXCHANGE ? 2 * s->exchanges + 2
                                                           : 0;
    if (waits != m->waits_in || waits == 0)
        m->waits_since = now;
    m->waits_in = waits;
}

void ypi_members_look(struct ypi_members *members, double now)
{
    for (int i = 0; i < members->count; i++)
        if (!members->of[i].report.is_reaped)
            look(&members->of[i], now);
}

bool ypi_member_is_over(const struct ypi_member *m)
{
    return m->report.is_reaped;
}

bool ypi_member_is_whole(const struct ypi_member *m)
{
    return m->report.is_reaped && !m->report.reaped.ordered && m->report.reaped.status == 0 &&
           m->report.ended && m->report.exited;
}

bool ypi_member_is_lost(const struct ypi_member *m)
{
    return m->report.is_reaped && (!ypi_member_is_whole(m) || m->standing->over == YPI_OVER_EARLY);
}

uint64_t ypi_members_written(const struct ypi_members *members)
{
    uint64_t bytes = 0;
    for (int i = 0; i < members->count; i++)
        bytes += (uint64_t)size_of(members->of[i].output);
    return bytes;
}
