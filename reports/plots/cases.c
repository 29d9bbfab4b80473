#include "reports/plots/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ypi_plot_case *ypi_plots_add_case(struct ypi_plots *p, const char *id, const char *test,
                                         const char *device, const char *outcome)
{
    if (p->count == p->capacity) {
        p->capacity = 2 * p->capacity + 64;
        p->cases = ypi_realloc(p->cases, p->capacity, sizeof *p->cases);
    }
    struct ypi_plot_case *c = &p->cases[p->count++];
    *c = (struct ypi_plot_case){.id = ypi_strdup(id),
                                .test = ypi_strdup(test),
                                .device = ypi_strdup(device),
                                .outcome = ypi_strdup(outcome),
                                .peak = NAN,
                                .rate = NAN};
    return c;
}

void ypi_plot_add_axis(struct ypi_plot_case *c, const char *name, const char *text, double number)
{
    c->axes = ypi_realloc(c->axes, (size_t)c->axis_count + 1, sizeof *c->axes);
    c->axes[c->axis_count++] = (struct ypi_plot_axis){ypi_strdup(name), ypi_strdup(text), number};
}

struct ypi_plot_measurement *ypi_plot_add_measurement(struct ypi_plot_case *c, const char *name,
                                                      const char *unit, const char *bound)
{
    c->measurements =
        ypi_realloc(c->measurements, (size_t)c->measurement_count + 1, sizeof *c->measurements);
    struct ypi_plot_measurement *m = &c->measurements[c->measurement_count++];
    *m = (struct ypi_plot_measurement){.name = ypi_strdup(name),
                                       .unit = ypi_strdup(unit),
                                       .bound = ypi_strdup(bound),
                                       .mean = NAN,
                                       .median = NAN,
                                       .low = NAN,
                                       .high = NAN,
                                       .share = NAN,
                                       .share_low = NAN,
                                       .share_high = NAN};
    return m;
}

void ypi_plot_add_phase(struct ypi_plot_measurement *m, const char *name, double seconds)
{
    m->phases = ypi_realloc(m->phases, (size_t)m->phase_count + 1, sizeof *m->phases);
    m->phases[m->phase_count++] = (struct ypi_plot_phase){ypi_strdup(name), seconds};
}

const struct ypi_plot_axis *ypi_plot_axis(const struct ypi_plot_case *c, const char *name)
{
    for (int i = 0; i < c->axis_count; i++)
        if (strcmp(c->axes[i].name, name) == 0)
            return &c->axes[i];
    return NULL;
}

const struct ypi_plot_measurement *ypi_plot_measurement(const struct ypi_plot_case *c,
                                                        const char *name)
{
    for (int i = 0; i < c->measurement_count; i++)
        if (strcmp(c->measurements[i].name, name) == 0)
            return &c->measurements[i];
    return NULL;
}

static void clear_measurement(struct ypi_plot_measurement *m)
{
    for (int i = 0; i < m->phase_count; i++)
        free(m->phases[i].name);
    free(m->phases);
    free(m->name);
    free(m->unit);
    free(m->bound);
}

static void clear_case(struct ypi_plot_case *c)
{
    for (int i = 0; i < c->axis_count; i++) {
        free(c->axes[i].name);
        free(c->axes[i].text);
    }
    for (int i = 0; i < c->measurement_count; i++)
        clear_measurement(&c->measurements[i]);
    free(c->axes);
    free(c->measurements);
    free(c->id);
    free(c->test);
    free(c->device);
    free(c->outcome);
}

void ypi_plots_forget(struct ypi_plots *p, size_t first)
{
    for (size_t i = first; i < p->count; i++)
        clear_case(&p->cases[i]);
    p->count = first < p->count ? first : p->count;
}

void ypi_plots_clear_cases(struct ypi_plots *p)
{
    ypi_plots_forget(p, 0);
    for (size_t i = 0; i < p->roof_count; i++) {
        free(p->roofs[i].device);
        free(p->roofs[i].ceiling);
        free(p->roofs[i].level);
        free(p->roofs[i].rates);
    }
    free(p->cases);
    free(p->roofs);
    *p = (struct ypi_plots){.made = p->made};
}
