/* Which processors the ranks of a node get, and what .placement may say. */
#include "harness/vocabulary/placement.h"
#include "device/cpu/binding.h"
#include "harness/conduct/share.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(placement, .timeout = 60);

static struct ypi_placement wanted(const char *text)
{
    struct ypi_placement out;
    char *problem = ypi_placement_read(text, &out);
    cr_assert_null(problem, "%s", problem != NULL ? problem : "");
    return out;
}

static void expect_problem(const char *text, const char *part)
{
    struct ypi_placement out;
    char *problem = ypi_placement_read(text, &out);
    cr_assert_not_null(problem, "%s", text);
    cr_expect_not_null(strstr(problem, part), "%s", problem);
    free(problem);
}

Test(placement, says_what_is_wrong)
{
    struct ypi_placement both = wanted("spread:core  together:numa");
    cr_expect(both.spread[YPI_UNIT_CORE] && both.together[YPI_UNIT_NUMA]);
    cr_expect(!both.spread[YPI_UNIT_NUMA] && !both.together[YPI_UNIT_NODE]);
    cr_expect(!wanted(NULL).spread[YPI_UNIT_CORE]);
    struct ypi_placement devices = wanted("spread:device");
    cr_expect(devices.spread_device && !ypi_placement_has_units(&devices));
    cr_expect(ypi_placement_has_units(&both) && !both.spread_device);
    expect_problem("spread:socket", ".placement has 'spread:socket': allowed are spread:core, ");
    expect_problem("spread", "'spread'");
    expect_problem("together:core", "'together:core'");
    expect_problem("together:package spread:node", "spread:node and together:package");
    expect_problem("spread:numa together:numa", "spread:numa and together:numa");
}

/* Packages of two NUMA nodes of so many cores, and of two hardware threads a core, whose second
 * ones have the higher numbers. */
struct machine {
    struct ypi_place list[64];
    struct ypi_places places;
    unsigned char allowed[YPI_CPUS_MAX], out[YPI_CPUS_MAX];
};

static struct machine *machine_of(int packages, int cores)
{
    struct machine *m = calloc(1, sizeof *m);
    const int all = packages * 2 * cores;
    cr_assert(m != NULL && 2 * all <= 64);
    for (int core = 0; core < all; core++)
        for (int thread = 0; thread < 2; thread++)
            m->list[m->places.count++] = (struct ypi_place){.cpu = core + thread * all,
                                                            .core = core,
                                                            .node = core / cores,
                                                            .package = core / cores / 2};
    m->places.list = m->list;
    memset(m->allowed, 1, (size_t)m->places.count);
    return m;
}

/* "0,8": the processors of a rank; the reason why there are none. */
static const char *share(struct machine *m, const char *text, int number, int count)
{
    static char said[512];
    char *cannot = NULL;
    const struct ypi_placement how = wanted(text);
    const bool dealt = ypi_share(&m->places, m->allowed, &how, number, count, m->out, &cannot);
    snprintf(said, sizeof said, "%s", cannot != NULL ? cannot : dealt ? "" : "any");
    for (int cpu = 0; dealt && cpu < YPI_CPUS_MAX; cpu++)
        if (m->out[cpu])
            snprintf(said + strlen(said), sizeof said - strlen(said), "%s%d",
                     said[0] != '\0' ? "," : "", cpu);
    free(cannot);
    return said;
}

Test(placement, whole_cores_are_dealt_out)
{
    struct machine *m = machine_of(1, 2); /* 4 cores, 8 processors */
    cr_expect_str_eq(share(m, NULL, 0, 2), "0,1,4,5");
    cr_expect_str_eq(share(m, NULL, 1, 2), "2,3,6,7");
    cr_expect_str_eq(share(m, "spread:core", 2, 3), "2,3,6,7");
    cr_expect_str_eq(share(m, NULL, 5, 8), "6", "more ranks than cores: a processor each");
    cr_expect_str_eq(share(m, NULL, 8, 9), "any");
    m->allowed[0] = m->allowed[4] = 0;
    cr_expect_str_eq(share(m, "spread:core", 0, 3), "1,5");
    cr_expect_str_eq(share(m, "spread:core", 0, 4),
                     "4 ranks are to have a core each, and there are 3 cores");
    free(m);
}

Test(placement, numa_nodes_and_packages)
{
    struct machine *m = machine_of(2, 2); /* 4 NUMA nodes, 8 cores, 16 processors */
    cr_expect_str_eq(share(m, "spread:numa", 1, 4), "2,3,10,11");
    cr_expect_str_eq(share(m, "spread:package", 1, 2), "4,5,6,7,12,13,14,15");
    cr_expect_str_eq(share(m, "spread:package", 0, 3),
                     "3 ranks are to have a package each, and there are 2 packages");
    cr_expect_str_eq(share(m, "spread:core together:numa", 1, 2), "1,9");
    cr_expect_str_eq(share(m, "spread:core together:numa", 0, 3),
                     "3 ranks are to have a core each in one NUMA node, and there are 2 cores");
    m->allowed[0] = m->allowed[8] = 0;
    cr_expect_str_eq(share(m, "spread:core together:numa", 1, 2), "3,11", "one that has enough");
    cr_expect_str_eq(share(m, "together:numa", 5, 6), "2,3,10,11", "too few, and together");
    cr_expect_str_eq(share(m, "spread:numa together:package", 1, 2), "2,3,10,11");
    free(m);
}

Test(placement, a_machine_that_shows_no_cores)
{
    struct machine *m = machine_of(1, 1);
    for (int i = 0; i < m->places.count; i++)
        m->list[i].core = m->list[i].node = m->list[i].package = -1;
    cr_expect_str_eq(share(m, "spread:core", 3, 4), "3");
    cr_expect_str_eq(share(m, "spread:numa", 0, 2),
                     "2 ranks are to have a NUMA node each, and there is 1 NUMA node");
    free(m);
}
