/* A measurement that the ranks of a case take together: each sample begins in all of them at the
 * same time and is the slowest one's; all take the same number, as the first rank decides. */
#include "base/text/text.h"
#include "harness/measure/measurement.h"
#include "ranks/communicator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <yieldpoint/ranks.h>

/* Of more ranks only the longest wait is a value. */
enum { NAMED_MAX = 16 };

struct sample {
    double seconds;
    double counts; /* 1: it does; a double, so that there are no bytes between */
};

struct ypi_together {
    struct ypk_communicator *ranks;
    int count;
    struct sample *all; /* of each rank, of the last batch */
    double *wait;       /* of each rank, seconds of all samples: for the slowest */
    double skew;        /* the slowest before the fastest, of all samples */
    size_t samples;
};

static void check(const struct yp_measurement *m, enum yp_status status)
{
    if (status != YP_OK)
        ypi_child_quit(m->t, YPI_CAUSE_RANKS, "yp_measure '%s': %s", m->measured.name,
                       yp_last_error());
}

struct ypi_together *ypi_together_open(const struct yp_case *t)
{
    struct ypk_communicator *ranks = yp_ranks_communicator(t);
    if (ypk_size(ranks) < 2)
        return NULL;
    struct ypi_together *together = ypi_calloc(1, sizeof *together);
    together->ranks = ranks;
    together->count = ypk_size(ranks);
    together->all = ypi_calloc((size_t)together->count, sizeof *together->all);
    together->wait = ypi_calloc((size_t)together->count, sizeof *together->wait);
    return together;
}

void ypi_together_start(struct yp_measurement *m)
{
    if (m->together != NULL)
        check(m, ypk_barrier(m->together->ranks));
}

double ypi_together_slowest(struct yp_measurement *m, double seconds, bool *counts)
{
    struct ypi_together *together = m->together;
    if (together == NULL)
        return seconds;
    const struct sample own = {.seconds = seconds, .counts = *counts};
    check(m, ypk_all_gather(together->ranks, &own, sizeof own, together->all));
    double slowest = 0;
    for (int i = 0; i < together->count; i++) {
        slowest = fmax(slowest, together->all[i].seconds);
        *counts = *counts && together->all[i].counts > 0;
    }
    return slowest;
}

void ypi_together_keep(struct yp_measurement *m, double slowest)
{
    struct ypi_together *together = m->together;
    double fastest = slowest;
    if (together == NULL)
        return;
    for (int i = 0; i < together->count; i++) {
        together->wait[i] += (slowest - together->all[i].seconds) / (double)m->batch;
        fastest = fmin(fastest, together->all[i].seconds);
    }
    together->skew += (slowest - fastest) / (double)m->batch;
    together->samples++;
}

int ypi_together_decide(struct yp_measurement *m, int decision)
{
    if (m->together != NULL)
        check(m, ypk_broadcast(m->together->ranks, &decision, sizeof decision, 0));
    return decision;
}

static void send(const struct yp_measurement *m, const char *what, double seconds)
{
    char *name = ypi_format("%.*s %s", YPI_NAME_MAX - 32, m->measured.name, what);
    ypi_child_send_value(m->t, name, seconds, "s");
    free(name);
}

/* By the first rank alone, which has the others' times. */
static void send_waits(const struct yp_measurement *m)
{
    const struct ypi_together *together = m->together;
    const double samples = (double)together->samples;
    double longest = 0;
    send(m, "skew", together->skew / samples);
    for (int i = 0; i < together->count; i++) {
        char what[32];
        longest = fmax(longest, together->wait[i]);
        snprintf(what, sizeof what, "wait of rank %d", i);
        if (together->count <= NAMED_MAX)
            send(m, what, together->wait[i] / samples);
    }
    if (together->count > NAMED_MAX)
        send(m, "longest wait", longest / samples);
}

void ypi_together_close(struct yp_measurement *m)
{
    struct ypi_together *together = m->together;
    if (together == NULL)
        return;
    if (ypk_rank(together->ranks) == 0 && together->samples > 0)
        send_waits(m);
    free(together->all);
    free(together->wait);
    free(together);
    m->together = NULL;
}
