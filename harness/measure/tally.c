/* What iterations did, added up by the body: an iteration's average, or a rate. */
#include "base/heap/heap.h"
#include "base/text/text.h"
#include "harness/measure/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ypi_tally {
    char name[YPI_NAME_MAX];
    bool rate;
    double batch; /* of the current one */
    double total; /* of samples */
};

enum { TALLIES_MAX = 16 };

struct ypi_tallies {
    struct ypi_tally list[TALLIES_MAX];
    int count;
    uint64_t iterations; /* of `total` */
};

static struct ypi_tally *tally_of(struct yp_measurement *m, const char *name, bool rate)
{
    struct ypi_tallies *all = m->tallies;
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->list[i].name, name) == 0 && all->list[i].rate == rate)
            return &all->list[i];
    if (all->count == TALLIES_MAX)
        ypi_child_quit(m->t, YPI_CAUSE_USAGE, "'%s' in '%s' is one too many: at most %d", name,
                       m->measured.name, TALLIES_MAX);
    ypi_child_name(m->t, "value", name);
    struct ypi_tally *new = &all->list[all->count++];
    *new = (struct ypi_tally){.rate = rate};
    snprintf(new->name, sizeof new->name, "%s", name);
    return new;
}

static void add(struct yp_case *t, const char *function, const char *name, double amount, bool rate)
{
    YPI_HEAP_OWN;
    struct yp_measurement *m = *ypi_child_measurement(t);
    if (m == NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "%s '%s' outside yp_measure", function, name);
    if (!isfinite(amount))
        ypi_child_quit(t, YPI_CAUSE_USAGE, "%s '%s' in '%s': %g: allowed is a finite number",
                       function, name, m->measured.name, amount);
    if (ypi_accelerated_captures(m))
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "%s '%s' in '%s': a graph replays what the device was told and nothing else",
                       function, name, m->measured.name);
    if (m->tallies == NULL)
        m->tallies = ypi_calloc(1, sizeof *m->tallies);
    tally_of(m, name, rate)->batch += amount;
}

void yp_average(struct yp_case *t, const char *name, double amount)
{
    add(t, "yp_average", name, amount, false);
}

void yp_rate(struct yp_case *t, const char *name, double amount)
{
    add(t, "yp_rate", name, amount, true);
}

void ypi_tallies_forget(struct yp_measurement *m)
{
    for (int i = 0; m->tallies != NULL && i < m->tallies->count; i++)
        m->tallies->list[i].batch = 0;
}

void ypi_tallies_keep(struct yp_measurement *m)
{
    if (m->tallies == NULL)
        return;
    for (int i = 0; i < m->tallies->count; i++)
        m->tallies->list[i].total += m->tallies->list[i].batch;
    m->tallies->iterations += m->batch;
}

/* A rate has the interval of the time that it is over. */
static void tell(const struct yp_measurement *m, const struct ypi_tally *tally,
                 const struct ypi_estimate *time)
{
    double average = tally->total / (double)m->tallies->iterations;
    double one = tally->rate ? time->median : 1;
    double bounds[] = {average / (tally->rate ? time->high : 1),
                       average / (tally->rate ? time->low : 1)};
    bool falls = average < 0;
    struct ypi_value message;
    memset(&message, 0, sizeof message); /* what lies between its fields is sent, too */
    message.value = average / one;
    message.low = bounds[falls];
    message.high = bounds[!falls];
    message.of_speed = true;
    snprintf(message.name, sizeof message.name, "%s", tally->name);
    snprintf(message.unit, sizeof message.unit, "%s", tally->rate ? "/s" : "an iteration");
    ypi_child_send(m->t, YPI_MESSAGE_VALUE, &message, sizeof message, NULL, 0);
}

/* Where nothing was timed the values are NaN, and there is nothing to judge. */
void ypi_tallies_close(struct yp_measurement *m)
{
    const struct ypi_estimate none = {.median = NAN, .low = NAN, .high = NAN};
    struct ypi_estimate time =
        m->measured.count > 0 ? ypi_estimate(m->measured.samples, m->measured.count) : none;
    for (int i = 0; m->tallies != NULL && i < m->tallies->count; i++)
        tell(m, &m->tallies->list[i], &time);
    free(m->tallies);
    m->tallies = NULL;
}
