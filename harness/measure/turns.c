#include "harness/measure/turns.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/measure/measurement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 1, LINE_MAX_BYTES = 64 };
/* A pool's threads spin for some milliseconds after their work, on the other's processors. They
 * have come to rest when the process used less than this part of a while. */
#define QUIET_SECONDS 200e-6
#define QUIET_PART 0.25
#define QUIET_PATIENCE 0.05

/* One a process, for as long as it lives. */
static FILE *peer_in, *peer_out;

static int open_socket(struct yp_case *t, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = -1;
    if (strlen(path) >= sizeof address.sun_path)
        errno = ENAMETOOLONG;
    else
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "--turns %s: %s", path, strerror(errno));
    return fd;
}

void ypi_turns_connect(struct yp_case *t)
{
    const char *path = ypi_child_job(t)->turns;
    if (path == NULL || peer_in != NULL)
        return;
    int fd = open_socket(t, path);
    peer_in = fdopen(fd, "r");
    peer_out = fdopen(dup(fd), "w");
    if (peer_in == NULL || peer_out == NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "--turns %s: %s", path, strerror(errno));
    fprintf(peer_out, "turns %d\n", VERSION);
}

/* Which would else run beside the other's batches. A process of one thread is at rest at once. */
static void come_to_rest(void)
{
    const struct timespec while_ = {.tv_nsec = (long)(QUIET_SECONDS * 1e9)};
    double begun = ypi_now();
    for (double now = begun; now < begun + QUIET_PATIENCE;) {
        double used = ypi_processor_seconds();
        nanosleep(&while_, NULL);
        double then = ypi_now();
        if (ypi_processor_seconds() - used <= QUIET_PART * (then - now))
            return;
        now = then;
    }
}

/* The next order; false: there are no more turns. */
static bool wait_for_turn(struct yp_measurement *m)
{
    char line[LINE_MAX_BYTES];
    uint64_t iterations = 0;
    fflush(peer_out);
    if (fgets(line, sizeof line, peer_in) == NULL || strcmp(line, "leave\n") == 0)
        ypi_child_leave(m->t);
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "next") == 0)
        return false;
    if (strncmp(line, "run ", 4) != 0 || !ypi_parse_u64(line + 4, &iterations) || iterations == 0)
        ypi_child_quit(m->t, YPI_CAUSE_USAGE, "--turns: '%s' is no order of this protocol", line);
    m->turn.left = iterations;
    m->turn.seconds = 0;
    m->turn.iterations = 0;
    return true;
}

bool ypi_turns_begin(struct yp_measurement *m)
{
    come_to_rest();
    fprintf(peer_out, "measurement %s\n", m->measured.name);
    m->turn.open = wait_for_turn(m);
    return m->turn.open;
}

bool ypi_turns_batch(struct yp_measurement *m, double seconds, bool *turned)
{
    m->turn.seconds += seconds;
    m->turn.iterations += m->batch;
    m->turn.left -= m->batch < m->turn.left ? m->batch : m->turn.left;
    *turned = m->turn.left == 0;
    if (!*turned)
        return true;
    come_to_rest();
    fprintf(peer_out, "took %.17g %" PRIu64 "\n", m->turn.seconds, m->turn.iterations);
    m->turn.open = wait_for_turn(m);
    return m->turn.open;
}

void ypi_turns_over(struct yp_measurement *m)
{
    if (!m->turn.open)
        return;
    m->turn.open = false;
    fprintf(peer_out, "over\n");
    fflush(peer_out);
}
