#include "gate/comparison.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

struct ypi_comparison *ypi_comparison_add(struct ypi_comparisons *all, const char *id,
                                          enum ypi_quantity quantity, const char *name)
{
    all->list = ypi_realloc(all->list, (size_t)all->count + 1, sizeof *all->list);
    struct ypi_comparison *c = &all->list[all->count++];
    *c = (struct ypi_comparison){.id = ypi_strdup(id),
                                 .name = name != NULL && *name != '\0' ? ypi_strdup(name) : NULL,
                                 .quantity = quantity,
                                 .base = NAN,
                                 .head = NAN,
                                 .ratio = NAN,
                                 .low = NAN,
                                 .high = NAN};
    return c;
}

char *ypi_comparison_no_time(bool base, bool head)
{
    return ypi_format("takes no time in the %s: the compiler has removed the work there; "
                      "yp_keep() what it computes",
                      base && head ? "base and the head"
                      : base       ? "base"
                                   : "head");
}

void ypi_comparison_agree(struct ypi_comparison *c)
{
    if (c->quantity != YPI_QUANTITY_TIME || !(c->ratio > 0))
        return;
    if (c->low > 0 && c->ratio < c->low)
        c->ratio = c->low;
    if (isfinite(c->high) && c->ratio > c->high)
        c->ratio = c->high;
    double quotient = c->by_share ? c->base / c->head : c->head / c->base;
    if (!(quotient > 0) || !isfinite(quotient))
        return;
    double apart = sqrt(c->ratio / quotient);
    c->base = c->by_share ? c->base * apart : c->base / apart;
    c->head = c->by_share ? c->head / apart : c->head * apart;
}

void ypi_comparisons_note(struct ypi_comparisons *all, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    all->notes = ypi_list_add(all->notes, all->note_count++, ypi_vformat(format, arguments));
    va_end(arguments);
}

static void clear_side(struct ypi_side *side)
{
    free(side->name);
    free(side->commit);
    free(side->machine);
}

void ypi_comparisons_clear(struct ypi_comparisons *all)
{
    for (int i = 0; i < all->count; i++) {
        struct ypi_comparison *c = &all->list[i];
        free(c->id);
        free(c->name);
        free(c->base_text);
        free(c->head_text);
        free(c->unit);
        free(c->note);
    }
    free(all->list);
    ypi_list_free(all->notes, all->note_count);
    clear_side(&all->base);
    clear_side(&all->head);
    *all = (struct ypi_comparisons){0};
}

const char *ypi_compared_name(enum ypi_quantity quantity, enum ypi_compared verdict)
{
    static const char *const names[YPI_COMPARED_KINDS] = {
        [YPI_COMPARED_SAME] = "same",         [YPI_COMPARED_BETTER] = "less",
        [YPI_COMPARED_WORSE] = "more",        [YPI_COMPARED_CHANGED] = "changed",
        [YPI_COMPARED_UNSURE] = "cannot say", [YPI_COMPARED_GONE] = "only in base",
        [YPI_COMPARED_NEW] = "only in head"};
    bool better = verdict == YPI_COMPARED_BETTER;
    if (better || verdict == YPI_COMPARED_WORSE) {
        if (quantity == YPI_QUANTITY_TIME)
            return better ? "faster" : "slower";
        if (quantity == YPI_QUANTITY_OUTCOME)
            return better ? "mended" : "broken";
    }
    return verdict < YPI_COMPARED_KINDS ? names[verdict] : "?";
}

const char *ypi_quantity_name(enum ypi_quantity quantity)
{
    static const char *const names[YPI_QUANTITIES] = {[YPI_QUANTITY_CASE] = "case",
                                                      [YPI_QUANTITY_OUTCOME] = "outcome",
                                                      [YPI_QUANTITY_TIME] = "time",
                                                      [YPI_QUANTITY_PEAK] = "peak memory",
                                                      [YPI_QUANTITY_RESIDENT] = "resident peak",
                                                      [YPI_QUANTITY_ALLOCATIONS] = "allocations",
                                                      [YPI_QUANTITY_INSTRUCTIONS] = "instructions",
                                                      [YPI_QUANTITY_VALUE] = "value",
                                                      [YPI_QUANTITY_ERROR] = "error",
                                                      [YPI_QUANTITY_HASH] = "data hash"};
    return quantity < YPI_QUANTITIES ? names[quantity] : "?";
}
