/* Where a rank is as its body begins, and whether all are where their test wants them. */
#include "harness/vocabulary/placement.h"
#include "base/text/text.h"
#include "device/backend.h"
#include "device/cpu/binding.h"
#include "device/cpu/topology.h"
#include "harness/body/state.h"
#include "ranks/communicator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the others have to know of a rank. */
struct placed {
    char node[64];
    char cannot[192]; /* why its processors are not as wanted; "" */
    char device[64];  /* its place on the bus, or its name; "": none */
    bool known;       /* which processors it may use */
    unsigned char in[YPI_UNIT_NODE][YPI_CPUS_MAX / 8]; /* bits: the units that it may run in */
};

/* -- where this one is -------------------------------------------------------------------------
 */

static void name_node(char *out, size_t size)
{
    const char *named = getenv("SLURMD_NODENAME");
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    snprintf(out, size, "%s", named != NULL ? named : host);
}

static void add_bit(struct placed *own, enum ypi_unit unit, int number)
{
    if (number >= 0 && number < YPI_CPUS_MAX)
        own->in[unit][number / 8] |= (unsigned char)(1 << (number % 8));
}

/* Of what hwloc does not tell, a processor is a core. */
static int core_of(const struct ypi_place *place)
{
    return place->core >= 0 ? place->core : place->cpu;
}

static struct ypi_rank_stays look(struct placed *own)
{
    static unsigned char now[YPI_CPUS_MAX];
    struct ypi_rank_stays stays;
    const struct ypi_places *places = ypi_places_here();
    memset(&stays, 0, sizeof stays);
    own->known = places != NULL && ypi_cpus_now(now);
    for (int i = 0; own->known && i < places->count; i++) {
        const struct ypi_place *place = &places->list[i];
        if (place->cpu >= YPI_CPUS_MAX || !now[place->cpu])
            continue;
        if (stays.count++ == 0) {
            stays.processor = place->cpu;
            stays.core = place->core;
            stays.numa = place->node;
            stays.package = place->package;
        }
        add_bit(own, YPI_UNIT_CORE, core_of(place));
        add_bit(own, YPI_UNIT_NUMA, place->node);
        add_bit(own, YPI_UNIT_PACKAGE, place->package);
    }
    return stays;
}

/* -- where all are -----------------------------------------------------------------------------
 */

static bool has_bit(const struct placed *p, enum ypi_unit unit, int number)
{
    return (p->in[unit][number / 8] & (1 << (number % 8))) != 0;
}

static bool same_node(const struct placed *a, const struct placed *b)
{
    return strcmp(a->node, b->node) == 0;
}

/* The number of the first unit that both may run in; -1: they have none in common. */
static int in_common(const struct placed *a, const struct placed *b, enum ypi_unit unit)
{
    if (unit == YPI_UNIT_NODE || !same_node(a, b))
        return same_node(a, b) ? 0 : -1;
    for (int number = 0; number < YPI_CPUS_MAX; number++)
        if (has_bit(a, unit, number) && has_bit(b, unit, number))
            return number;
    return -1;
}

/* How many units a rank may run in. */
static int count_of(const struct placed *p, enum ypi_unit unit)
{
    int count = 0;
    for (int number = 0; unit != YPI_UNIT_NODE && number < YPI_CPUS_MAX; number++)
        count += has_bit(p, unit, number);
    return unit == YPI_UNIT_NODE ? 1 : count;
}

/* "ranks 0 and 2 may both use core 1 of n1": the first two of them. NULL: there are none. */
static char *share_a_unit(const struct placed *all, int count, enum ypi_unit unit)
{
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            const int number = in_common(&all[a], &all[b], unit);
            if (number >= 0 && unit == YPI_UNIT_NODE)
                return ypi_format("ranks %d and %d are both on node %s", a, b, all[a].node);
            if (number >= 0)
                return ypi_format("ranks %d and %d may both use %s %d of %s", a, b,
                                  ypi_unit_words(unit, 1), number, all[a].node);
        }
    return NULL;
}

/* "rank 1 may use 2 NUMA nodes", "ranks 0 and 1 have no NUMA node in common". NULL: all are in one.
 */
static char *leave_a_unit(const struct placed *all, int count, enum ypi_unit unit)
{
    for (int i = 0; i < count; i++) {
        const int units = count_of(&all[i], unit);
        if (units > 1)
            return ypi_format("rank %d may use %d %s of %s", i, units, ypi_unit_words(unit, units),
                              all[i].node);
        if (in_common(&all[0], &all[i], unit) < 0)
            return ypi_format("ranks 0 and %d have no %s in common", i, ypi_unit_words(unit, 1));
    }
    return NULL;
}

/* "ranks 0 and 2 both have 0000:17:00.0 of n1". NULL: none do. */
static char *share_a_device(const struct placed *all, int count)
{
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count && all[a].device[0] != '\0'; b++)
            if (same_node(&all[a], &all[b]) && strcmp(all[a].device, all[b].device) == 0)
                return ypi_format("ranks %d and %d both have %s of %s", a, b, all[a].device,
                                  all[a].node);
    return NULL;
}

static char *problem_of(const struct ypi_placement *wanted, const struct placed *all, int count)
{
    const bool units = ypi_placement_has_units(wanted);
    char *problem = wanted->spread_device ? share_a_device(all, count) : NULL;
    for (int i = 0; i < count && problem == NULL && units; i++)
        if (!all[i].known)
            problem = ypi_format("rank %d cannot tell which processors it may use", i);
    for (int unit = 0; unit < YPI_UNITS && problem == NULL; unit++) {
        if (wanted->spread[unit])
            problem = share_a_unit(all, count, (enum ypi_unit)unit);
        if (wanted->together[unit] && problem == NULL)
            problem = leave_a_unit(all, count, (enum ypi_unit)unit);
    }
    return problem;
}

static const char *first_reason(const struct placed *all, int count)
{
    for (int i = 0; i < count; i++)
        if (all[i].cannot[0] != '\0')
            return all[i].cannot;
    return NULL;
}

/* All ranks see the same and say the same. */
static bool judge(struct yp_case *t, const struct placed *own)
{
    const int count = ypk_size(t->child->communicator);
    struct placed *all = ypi_calloc((size_t)count, sizeof *all);
    struct ypi_placement wanted;
    free(ypi_placement_read(t->test->placement, &wanted)); /* it was right at collection */
    char *problem = ypk_all_gather(t->child->communicator, own, sizeof *own, all) == YP_OK
                        ? problem_of(&wanted, all, count)
                        : ypi_strdup(yp_last_error());
    const char *reason = ypi_placement_has_units(&wanted) ? first_reason(all, count) : NULL;
    if (problem != NULL && reason != NULL) {
        char *text = ypi_format("placement '%s': %s", t->test->placement, reason);
        ypi_child_send(t, YPI_MESSAGE_SKIP, text, strlen(text) + 1, NULL, 0);
        free(text);
    } else if (problem != NULL) {
        ypi_child_fail(t, YPI_CAUSE_RANKS, NULL, 0, "placement '%s' is not met: %s",
                       t->test->placement, problem);
    }
    const bool met = problem == NULL;
    free(problem);
    free(all);
    return met;
}

static void name_device(const struct yp_case *t, char *out, size_t size)
{
    const struct yp_device *device = t->child->device;
    const char *place = device != yp_device_cpu() && device->backend->place != NULL
                            ? device->backend->place(device)
                            : "";
    if (device != yp_device_cpu())
        snprintf(out, size, "%s", place[0] != '\0' ? place : yp_device_name(device));
}

bool ypi_child_place(struct yp_case *t)
{
    struct placed *own = ypi_calloc(1, sizeof *own);
    const struct ypi_job *job = ypi_child_job(t);
    name_node(own->node, sizeof own->node);
    name_device(t, own->device, sizeof own->device);
    snprintf(own->cannot, sizeof own->cannot, "%s", job->cannot != NULL ? job->cannot : "");
    const struct ypi_rank_stays stays = look(own);
    ypi_child_send(t, YPI_MESSAGE_STAYS, &stays, sizeof stays, NULL, 0);
    const bool met = t->test->placement == NULL || judge(t, own);
    free(own);
    return met;
}
