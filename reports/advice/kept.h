/* What is kept of each case until the run is over: a few figures, no samples. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define YPI_VARIES 0.05 /* standard deviation over mean: stable below */

struct ypi_kept_measure {
    char *name, *unit;
    double items, median, low, high, mean; /* NaN: not known */
    double warmup;                         /* iterations */
    double first, later; /* seconds: the first sample, the median of the second half */
    double fence;        /* seconds: what later samples are below; see ypi_slow_beginning() */
    size_t slow;         /* samples at the beginning that are slower than the later ones */
    size_t count;
    bool disturbed; /* it varies, and the history has a cause of noise for it */
};

struct ypi_kept {
    char *id, *test, *device, *name; /* name: that of a named case, or "" */
    char *machine;
    bool passed, out_of_memory, accelerator;
    cJSON *axes;            /* an object: numbers and texts */
    double peak;            /* bytes accounted in the memory that it works in; NaN: none */
    double plan;            /* bytes, as the case has planned them; NaN: none was stored */
    double memory;          /* bytes that the machine, or its accelerator, has; NaN: not known */
    double weights;         /* parameters of the model; NaN: not known */
    const char *bottleneck; /* kind of its first bottleneck; NULL: none was found */
    struct ypi_kept_measure *measures;
    size_t measure_count;
};

/* Owned by the caller. */
struct ypi_kept *ypi_keep(const struct ypi_report_case *which, const cJSON *document);
void ypi_kept_free(struct ypi_kept *kept);

/* How many of the first samples are far slower than the later ones, which are not: beyond the far
 * fence of the second half (Tukey) and by a fifth at least, while of the rest one in twenty at most
 * is. 0 with fewer than 8, or where that is more than half. *later: the median of the second half;
 * *fence: what they are above. */
size_t ypi_slow_beginning(const double *samples, size_t count, double *later, double *fence);

/* Numbers of an array, NaN for what is none; the caller frees. */
double *ypi_numbers(const cJSON *array, size_t *count);

/* The first of `names`, ended by NULL, that the case has as an axis: its number, or NaN; its text,
 * or "". A text is in the axes, or stays until sixteen more were made. */
double ypi_axis_number(const struct ypi_kept *kept, const char *const *names);
const char *ypi_axis_text(const struct ypi_kept *kept, const char *const *names);
const char *ypi_axis_name(const struct ypi_kept *kept, const char *const *names); /* "": none */

extern const char *const ypi_batch_axes[],
    *const ypi_tile_axes[], *const ypi_precision_axes[], *const ypi_accumulation_axes[],
                                                             *const ypi_mode_axes[],
                                                                 *const ypi_thread_axes[],
                                                                     *const ypi_warmup_axes[],
                                                                         *const ypi_scale_axes[];

/* Of a training step, by its mode or, where it has none, by the measurement's name. */
bool ypi_is_training(const struct ypi_kept *kept, const struct ypi_kept_measure *m);
