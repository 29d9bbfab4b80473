/* From documents to what the plots keep. */
#include "reports/plots/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ypi_plots *ypi_plots_create(void)
{
    return ypi_calloc(1, sizeof(struct ypi_plots));
}

void ypi_plots_free(struct ypi_plots *p)
{
    if (p != NULL)
        ypi_plots_clear_cases(p);
    free(p);
}

/* -- ceilings ------------------------------------------------------------------------------ */

static struct ypi_plot_roof *roof_of(struct ypi_plots *p, const char *device, const char *ceiling,
                                     const char *level, int threads)
{
    for (size_t i = 0; i < p->roof_count; i++) {
        struct ypi_plot_roof *r = &p->roofs[i];
        if (r->threads == threads && strcmp(r->device, device) == 0 &&
            strcmp(r->ceiling, ceiling) == 0 && strcmp(r->level, level) == 0)
            return r;
    }
    p->roofs = ypi_realloc(p->roofs, p->roof_count + 1, sizeof *p->roofs);
    p->roofs[p->roof_count] = (struct ypi_plot_roof){.device = ypi_strdup(device),
                                                     .ceiling = ypi_strdup(ceiling),
                                                     .level = ypi_strdup(level),
                                                     .threads = threads};
    return &p->roofs[p->roof_count++];
}

static int threads_of(const cJSON *object)
{
    double threads = ypi_real(object, "threads");
    return threads > 0 && threads < 1e6 ? (int)threads : 0;
}

static void take_roof(struct ypi_plots *p, const char *device, const cJSON *bound)
{
    double rate = ypi_real(bound, "rate");
    if (!(rate > 0) || !isfinite(rate))
        return;
    struct ypi_plot_roof *r = roof_of(p, device, ypi_text_of(bound, "ceiling"),
                                      ypi_text_of(bound, "level"), threads_of(bound));
    if (r->count == r->capacity) {
        r->capacity = 2 * r->capacity + 16;
        r->rates = ypi_realloc(r->rates, r->capacity, sizeof *r->rates);
    }
    r->rates[r->count++] = rate;
}

/* -- cases --------------------------------------------------------------------------------- */

static double work_of(const cJSON *m, const char *name)
{
    double work = ypi_real(m, name);
    return work > 0 && isfinite(work) ? work : 0;
}

static void take_measurement(struct ypi_plots *p, struct ypi_plot_case *c, const cJSON *m)
{
    struct ypi_plot_measurement *out = ypi_plot_add_measurement(
        c, ypi_text_of(m, "name"), ypi_text_of(m, "unit"), ypi_text_of(m, "bound"));
    out->mean = ypi_real(m, "mean");
    out->median = ypi_real(m, "median");
    out->low = ypi_real(m, "low");
    out->high = ypi_real(m, "high");
    out->items = work_of(m, "items");
    out->flops = work_of(m, "flops");
    out->bytes = work_of(m, "bytes");
    out->share = ypi_real(m, "share");
    out->share_low = ypi_real(m, "share_low");
    out->share_high = ypi_real(m, "share_high");
    out->threads = threads_of(m);
    const cJSON *part;
    cJSON_ArrayForEach(part, ypi_member(m, "phases"))
    {
        ypi_plot_add_phase(out, ypi_text_of(part, "name"), ypi_real(part, "seconds"));
    }
    cJSON_ArrayForEach(part, ypi_member(m, "bounds"))
    {
        take_roof(p, c->device, part);
        if (out->threads == 0)
            out->threads = threads_of(part);
    }
}

static void take_axes(struct ypi_plot_case *c, const cJSON *axes, const char *device)
{
    const cJSON *axis;
    char text[32];
    cJSON_ArrayForEach(axis, axes)
    {
        if (axis->string == NULL)
            continue;
        if (cJSON_IsString(axis)) {
            ypi_plot_add_axis(c, axis->string, axis->valuestring, NAN);
        } else if (cJSON_IsNumber(axis)) {
            if (fabs(axis->valuedouble) < 1e15 && axis->valuedouble == floor(axis->valuedouble))
                snprintf(text, sizeof text, "%.0f", axis->valuedouble);
            else
                ypi_print_double(text, axis->valuedouble);
            ypi_plot_add_axis(c, axis->string, text, axis->valuedouble);
        }
    }
    if (*device && ypi_plot_axis(c, "device") == NULL)
        ypi_plot_add_axis(c, "device", device, NAN);
}

/* The id without the values of axes and the device. The caller frees. */
static char *test_of(const char *id)
{
    const char *name = strstr(id, "::"); /* a folder's name may hold anything */
    const size_t before = name != NULL ? (size_t)(name - id) : 0;
    return ypi_format("%.*s", (int)(before + strcspn(id + before, "[")), id);
}

enum yp_status ypi_plots_take(struct ypi_plots *p, const struct ypi_report_case *about,
                              const cJSON *document)
{
    const cJSON *of = ypi_member(document, "case");
    const char *id = about != NULL ? about->id : ypi_text_of(of, "id");
    const char *device_name = ypi_text_of(of, "device");
    const char *outcome = ypi_text_of(ypi_member(document, "result"), "outcome");
    char *test = about != NULL ? ypi_strdup(about->test) : test_of(id);
    /* A case that names no device runs on the processor: one roofline with those that name it. */
    struct ypi_plot_case *c =
        ypi_plots_add_case(p, id, test, *device_name ? device_name : "cpu", outcome);
    free(test);
    take_axes(c, ypi_member(of, "axes"), device_name);
    const cJSON *memory = ypi_member(document, "memory");
    const cJSON *device = ypi_member(memory, "device");
    bool there = device != NULL && strncmp(c->device, "cuda", 4) == 0;
    c->peak = ypi_real(there ? device : ypi_member(memory, "host"), "allocated_peak");
    const cJSON *m;
    cJSON_ArrayForEach(m, ypi_member(document, "measurements"))
    {
        take_measurement(p, c, m);
    }
    return YP_OK;
}
