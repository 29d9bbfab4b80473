#include "harness/vocabulary/baseline.h"

#include "base/text/figures.h"
#include "base/text/text.h"
#include "harness/vocabulary/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ypi_baseline *ypi_baseline_of(const struct yp_case *c, const char *name)
{
    for (int i = 0; c->baselines != NULL && i < c->baselines->count; i++) {
        const struct ypi_baseline *b = &c->baselines->list[i];
        if (b->of != YPI_BASELINE_EXACT && strcmp(b->name, name) == 0)
            return b;
    }
    return NULL;
}

double ypi_baseline_worse(const struct ypi_baseline *b, double typical, double figure)
{
    return b->of == YPI_BASELINE_SHARE ? typical / figure - 1 : figure / typical - 1;
}

void ypi_baseline_figure(char out[128], const struct ypi_baseline *b, double figure)
{
    if (b->of == YPI_BASELINE_SHARE)
        snprintf(out, 128, "%.3g of its ceiling", figure);
    else
        ypi_format_seconds(out, figure);
}

char *ypi_baseline_text(const struct ypi_baseline *b)
{
    char figure[128];
    struct ypi_text text = {0};
    if (b->of == YPI_BASELINE_EXACT)
        ypi_text_add(&text, "%s", b->exact);
    else
        ypi_baseline_figure(figure, b, b->typical);
    if (b->of != YPI_BASELINE_EXACT)
        ypi_text_add(&text, "%s", figure);
    if (b->of != YPI_BASELINE_EXACT && isfinite(b->slower)) {
        ypi_baseline_figure(figure, b, b->slower);
        ypi_text_add(&text, " (%s in the machine's slower state)", figure);
    }
    if (*b->commit)
        ypi_text_add(&text, " at %.10s", b->commit);
    ypi_text_add(&text, " on %s (%d processes, %d runs)", b->date, b->processes, b->runs);
    return ypi_text_take(&text);
}

/* -- exact figures ------------------------------------------------------------------------- */

/* What follows `what` and a blank in the name; NULL: it is of something else. */
static const char *behind(const char *name, const char *what)
{
    const size_t length = strlen(what);
    return strncmp(name, what, length) == 0 && name[length] == ' ' ? name + length + 1 : NULL;
}

static double memory_of(const struct ypi_result *r, const char *which, bool peak)
{
    const struct ypi_memory *all = &r->memory;
    const struct yp_memory *m = strcmp(which, "device") == 0 ? &all->device
                                : strcmp(which, "heap") == 0 ? &all->heap
                                                             : &all->host;
    if (!r->has_memory || (m == &all->device && !all->has_device) ||
        (m == &all->heap && !all->has_heap))
        return NAN;
    return (double)(peak ? m->allocated_peak : m->allocations);
}

static double value_of(const struct ypi_result *r, const char *name)
{
    for (int i = 0; i < r->value_count; i++)
        if (!r->values[i].of_speed && strcmp(r->values[i].name, name) == 0)
            return r->values[i].value;
    return NAN;
}

static double instructions_of(const struct ypi_result *r, const char *name)
{
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_count *c = &r->measured[i].counts[YP_INSTRUCTIONS];
        if (strcmp(r->measured[i].name, name) == 0 && c->source == YPI_COUNTED_CALLGRIND)
            return c->count;
    }
    return NAN;
}

char *ypi_baseline_exact_text(const struct ypi_result *r, const char *name)
{
    const char *of = NULL;
    double figure = NAN;
    char text[32];
    if (strcmp(name, "hash") == 0)
        return r->has_hash ? ypi_format("%016llx", (unsigned long long)r->hash) : NULL;
    if ((of = behind(name, "peak")) != NULL)
        figure = memory_of(r, of, true);
    else if ((of = behind(name, "allocations")) != NULL)
        figure = memory_of(r, of, false);
    else if ((of = behind(name, "value")) != NULL)
        figure = value_of(r, of);
    else if ((of = behind(name, "instructions")) != NULL)
        figure = instructions_of(r, of);
    if (isnan(figure))
        return NULL;
    ypi_print_double(text, figure);
    return ypi_strdup(text);
}

void ypi_baseline_clear(struct ypi_baseline *b)
{
    free(b->name);
    free(b->exact);
    *b = (struct ypi_baseline){0};
}
