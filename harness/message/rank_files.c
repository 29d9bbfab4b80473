#include "harness/message/rank_files.h"

#include "base/text/text.h"
#include "harness/message/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHANNEL ".channel"

char *ypi_ranks_file(const char *channel, const char *ending)
{
    return ypi_format("%.*s-%s", (int)(strlen(channel) - strlen(CHANNEL)), channel, ending);
}

char *ypi_rank_file(const char *channel, int rank, const char *ending)
{
    return ypi_format("%.*s-rank%d.%s", (int)(strlen(channel) - strlen(CHANNEL)), channel, rank,
                      ending);
}

char *ypi_ranks_file_of(const struct ypi_job *job, const char *ending)
{
    /* Its channel is such a file already. */
    return ypi_format("%.*s.%s", (int)(strlen(job->channel) - strlen(CHANNEL)), job->channel,
                      ending);
}

struct ypi_standing *ypi_standing_map(const char *path, bool create)
{
    const int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0);
    const int fd = open(path, flags, 0600);
    void *page = MAP_FAILED;
    if (fd >= 0 && (!create || ftruncate(fd, sizeof(struct ypi_standing)) == 0))
        page = mmap(NULL, sizeof(struct ypi_standing), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return page != MAP_FAILED ? page : NULL;
}

void ypi_standing_unmap(struct ypi_standing *standing)
{
    if (standing != NULL)
        munmap(standing, sizeof *standing);
}

static void call_text(const struct ypi_standing *now, char out[160])
{
    out[0] = '\0';
    if (now->in_call == YPI_IN_COLLECTIVE && now->call.kind <= YPK_MESSAGES)
        snprintf(out, 160, "in %s ", ypk_call_text(&now->call));
    else if (now->in_call == YPI_IN_EXCHANGE && now->to >= 0)
        snprintf(out, 160, "in a message to rank %d ", now->to);
    else if (now->in_call == YPI_IN_EXCHANGE)
        snprintf(out, 160, "in a message from rank %d ", now->from);
}

void ypi_standing_text(const struct ypi_standing *standing, char out[YPI_STANDING_MAX])
{
    struct ypi_standing now = *standing;
    char call[160];
    now.stage[sizeof now.stage - 1] = now.phase[sizeof now.phase - 1] = '\0';
    call_text(&now, call);
    const bool phase = now.phase[0] != '\0';
    snprintf(out, YPI_STANDING_MAX, "%s%s%s%s%s", call, phase ? "in phase " : "", now.phase,
             phase ? " " : "", now.stage[0] != '\0' ? now.stage : "before the start");
}
