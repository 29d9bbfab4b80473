/* The table at the end. */
#include "models/refiner/command/internal.h"

#include "base/text/figures.h"

#include <stdio.h>
#include <string.h>

static double rate(const struct ypi_refiner_work *work, const struct ypi_refiner_result *result)
{
    return (double)work->batch / result->mean;
}

/* What the batch gains over the smallest one of its tile that was measured; "-" for that itself. */
static void gain(char out[32], const struct ypi_refiner_request *r,
                 const struct ypi_refiner_result *results, size_t count, size_t i)
{
    const struct ypi_refiner_work work = ypi_refiner_work(r, i);
    size_t least = i;
    for (size_t k = 0; k < count; k++) {
        const struct ypi_refiner_work other = ypi_refiner_work(r, k);
        if (other.tile == work.tile && results[k].error[0] == '\0' &&
            other.batch < ypi_refiner_work(r, least).batch)
            least = k;
    }
    const struct ypi_refiner_work base = ypi_refiner_work(r, least);
    snprintf(out, 32, "-");
    if (least != i)
        snprintf(out, 32, "%+.0f %%",
                 100 * (rate(&work, &results[i]) / rate(&base, &results[least]) - 1));
}

/* Four digits at least, and never a power of ten. */
static void format_plain(char out[32], double value)
{
    snprintf(out, 32, value < 1000 ? "%.4g" : "%.0f", value);
}

static void format_name(char out[64], const struct ypi_refiner_request *r, size_t i)
{
    const struct ypi_refiner_work work = ypi_refiner_work(r, i);
    snprintf(out, 64, "%zux%zu (B=%zu)", work.tile, work.tile, work.batch);
}

static void print_head(const struct ypi_refiner_request *r, const struct ypi_refiner_plan *plan)
{
    char size[YPI_FIGURE_MAX];
    ypi_format_bytes(size, (double)plan->bytes);
    printf("%s, %s, %s on %s: %zu parameters, %s\n", r->model->name,
           r->work.train ? "train" : "inference", nn_precision_name(r->work.precision),
           r->work.kind, plan->parameters, size);
}

static void print_row(const struct ypi_refiner_request *r, const struct ypi_refiner_result *results,
                      size_t count, size_t i)
{
    const struct ypi_refiner_work work = ypi_refiner_work(r, i);
    const struct ypi_refiner_result *result = &results[i];
    char name[64], time[YPI_FIGURE_MAX], memory[YPI_FIGURE_MAX], left[YPI_FIGURE_MAX];
    char pixels[YPI_FIGURE_MAX], samples[32], by_memory[32], over[32];
    format_name(name, r, i);
    ypi_format_bytes(left, (double)result->left);
    if (result->error[0] != '\0') {
        printf("%-20s %s\n", name, result->error);
        return;
    }
    const double pixel_rate = rate(&work, result) * (double)work.tile * (double)work.tile;
    ypi_format_seconds(time, result->mean);
    ypi_format_bytes(memory, (double)result->peak);
    ypi_format_rate(pixels, pixel_rate, "px");
    format_plain(samples, rate(&work, result));
    format_plain(by_memory, pixel_rate / ((double)result->peak / YP_MIB));
    gain(over, r, results, count, i);
    printf("%-20s %10s %12s %11s %14s %13s %8s%s%s\n", name, time, memory, samples, pixels,
           by_memory, over, r->one_process ? "   " : "", r->one_process ? left : "");
}

void ypi_refiner_print(const struct ypi_refiner_request *r, const struct ypi_refiner_plan *plan,
                       const struct ypi_refiner_result *results, size_t count)
{
    print_head(r, plan);
    printf("%-20s %10s %12s %11s %14s %13s %8s%s\n", "configuration", "time", "memory", "samples/s",
           "pixels/s", "pixels/s/MiB", "by batch", r->one_process ? "   held after it" : "");
    for (size_t i = 0; i < count; i++)
        print_row(r, results, count, i);
    for (size_t i = 0; i < count; i++)
        if (results[i].note[0] != '\0') {
            char name[64];
            format_name(name, r, i);
            printf("%s: %s\n", name, results[i].note);
        }
}

void ypi_refiner_print_plans(const struct ypi_refiner_request *r,
                             const struct ypi_refiner_plan *plans)
{
    static const struct {
        const char *name;
        size_t at;
    } kinds[] = {{"weights", offsetof(struct refiner_plan, weights)},
                 {"gradients", offsetof(struct refiner_plan, gradients)},
                 {"optimiser", offsetof(struct refiner_plan, optimiser)},
                 {"frozen", offsetof(struct refiner_plan, frozen)},
                 {"copies", offsetof(struct refiner_plan, copies)},
                 {"activations", offsetof(struct refiner_plan, activations)},
                 {"transients", offsetof(struct refiner_plan, transients)},
                 {"host", offsetof(struct refiner_plan, host)},
                 {"total", offsetof(struct refiner_plan, total)}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const bool on_cpu = strcmp(r->work.kind, "cpu") == 0;
    char figure[YPI_FIGURE_MAX];
    print_head(r, plans);
    printf("%-20s %9s", "configuration", "TFLOP");
    for (int k = 0; k < KINDS; k++)
        printf(" %12s", kinds[k].name);
    printf(" %12s\n", "start");
    for (size_t i = 0; i < ypi_refiner_count(r); i++) {
        char name[64];
        format_name(name, r, i);
        printf("%-20s %9.4g", name, 1e-12 * plans[i].of.flops);
        for (int k = 0; k < KINDS; k++) {
            const char *at = (const char *)&plans[i].of + kinds[k].at;
            ypi_format_bytes(figure, (double)*(const size_t *)(const void *)at);
            printf(" %12s", figure);
        }
        ypi_format_bytes(figure, (double)plans[i].start);
        const size_t all = plans[i].of.total + (on_cpu ? plans[i].start : 0);
        printf(" %12s%s\n", figure,
               r->limit == 0     ? ""
               : all <= r->limit ? "   fits"
                                 : "   does not fit");
    }
}
