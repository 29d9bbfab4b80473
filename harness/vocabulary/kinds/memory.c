/* Budgets of a case's memory. */
#include "base/text/figures.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stdio.h>

static void format_number(char out[128], double value)
{
    snprintf(out, 128, "%.0f", value);
}

static void peak(struct ypi_verdict *v, const struct ypi_memory *all, const struct yp_memory *of)
{
    (void)all;
    ypi_verdict_exact(v, (double)of->allocated_peak);
}

/* The first touch of a huge page makes all of it resident, be a page or the whole of it used. Where
 * the kernel hands them out unasked, what is beyond the limit may be its doing alone. */
static void judge_resident(struct ypi_verdict *v, const struct ypi_memory *all, double growth)
{
    const double unused = 511.0 / 512; /* of a huge page, at most */
    ypi_verdict_exact(v, growth);
    double low = v->measured - unused * (double)all->resident_huge;
    if (v->met == YPI_NOT_MET && low <= v->budget->limit) {
        v->low = low;
        v->met = YPI_UNDECIDED;
    }
}

static void resident(struct ypi_verdict *v, const struct ypi_memory *all,
                     const struct yp_memory *of)
{
    (void)of;
    judge_resident(v, all, (double)all->resident_peak - (double)all->resident_before);
}

static void resident_tree(struct ypi_verdict *v, const struct ypi_memory *all,
                          const struct yp_memory *of)
{
    (void)of;
    if (all->has_tree)
        judge_resident(v, all, (double)all->resident_tree);
    else
        v->met = YPI_NOT_JUDGED;
}

static void leak(struct ypi_verdict *v, const struct ypi_memory *all, const struct yp_memory *of)
{
    const uint64_t left = of == &all->device ? of->allocated
                          : of == &all->heap ? all->heap_leaked_bytes
                                             : all->leaked_bytes;
    ypi_verdict_exact(v, (double)left);
}

static void allocations(struct ypi_verdict *v, const struct ypi_memory *all,
                        const struct yp_memory *of)
{
    (void)all;
    ypi_verdict_exact(v, (double)of->allocations);
}

/* Of what is resident, over the samples of a measurement. */
static void growth(struct ypi_verdict *v, const struct ypi_measured *m)
{
    if (!isnan(m->growth_resident))
        ypi_verdict_exact(v, m->growth_resident);
}

/* clang-format off */
const struct ypi_budget_kind ypi_memory_kinds[] = {
    {YP_BUDGET_MAX_PEAK, "max peak", .of = "accounted at once", .of_heap = "at once", .figure = ypi_format_bytes, .memory = peak},
    {YP_BUDGET_MAX_RESIDENT, "max resident", .of = "resident growth", .figure = ypi_format_bytes, .memory = resident,
     .host_only = true, .confirmed = true, .undecided = "cannot say, ",
     .unjudged = YPI_WHEN_COUNTING | YPI_WHEN_SANITIZED},
    {YP_BUDGET_MAX_RESIDENT_TREE, "max resident tree", .of = "resident growth with children", .figure = ypi_format_bytes,
     .memory = resident_tree, .host_only = true, .confirmed = true, .undecided = "cannot say, ",
     .unjudged = YPI_WHEN_COUNTING | YPI_WHEN_SANITIZED},
    {YP_BUDGET_MAX_LEAK, "max leak", .of = "left behind", .figure = ypi_format_bytes, .memory = leak,
     .cause = YPI_CAUSE_LEAK},
    {YP_BUDGET_MAX_ALLOCATIONS, "max allocations", .of = "allocations", .figure = format_number,
     .memory = allocations},
    {YP_BUDGET_MAX_GROWTH, "max growth", .of = " resident growth an iteration", .figure = ypi_format_bytes,
     .measured = growth, .inside = true, .unjudged = YPI_WHEN_COUNTING | YPI_WHEN_ONCE},
    {.name = NULL}};
/* clang-format on */
