/* What the plots keep of a document, and the steps from there to pictures. */
#pragma once

#include "base/text/text.h"
#include "reports/plots/draw/draw.h"
#include "reports/plots/plots.h"

#include <stdbool.h>

/* A value of a case's axis. */
struct ypi_plot_axis {
    char *name, *text; /* owned */
    double number;     /* NaN: a text */
};

struct ypi_plot_phase {
    char *name; /* owned */
    double seconds;
};

struct ypi_plot_measurement {
    char *name, *unit, *bound;      /* owned; bound: what limits it, "" where that is not known */
    double mean, median, low, high; /* seconds; NaN: not known */
    double items, flops, bytes;     /* an iteration; 0: none were declared */
    double share, share_low, share_high;
    int threads;
    struct ypi_plot_phase *phases; /* owned */
    int phase_count;
};

struct ypi_plot_case {
    char *id, *test, *device, *outcome; /* owned */
    struct ypi_plot_axis *axes;         /* owned; the device is one, too */
    int axis_count;
    double peak; /* bytes accounted on its device; NaN: not known */
    double rate; /* samples a second where a file says so; NaN: items over the median */
    struct ypi_plot_measurement *measurements; /* owned */
    int measurement_count;
};

/* All probes of one ceiling. */
struct ypi_plot_roof {
    char *device, *ceiling, *level; /* owned; level: "" of arithmetic */
    int threads;
    double *rates; /* owned: one a measurement */
    size_t count, capacity;
};

struct ypi_plots {
    struct ypi_plot_case *cases;
    size_t count, capacity;
    struct ypi_plot_roof *roofs;
    size_t roof_count;
    struct ypi_plot_list *made;
};

/* -- cases (cases.c) ----------------------------------------------------------------------- */

/* The next case, empty. */
struct ypi_plot_case *ypi_plots_add_case(struct ypi_plots *plots, const char *id, const char *test,
                                         const char *device, const char *outcome);
void ypi_plot_add_axis(struct ypi_plot_case *c, const char *name, const char *text, double number);
struct ypi_plot_measurement *ypi_plot_add_measurement(struct ypi_plot_case *c, const char *name,
                                                      const char *unit, const char *bound);
void ypi_plot_add_phase(struct ypi_plot_measurement *m, const char *name, double seconds);
/* Those from `first` on. */
void ypi_plots_forget(struct ypi_plots *plots, size_t first);
void ypi_plots_clear_cases(struct ypi_plots *plots); /* and the roofs */
const struct ypi_plot_axis *ypi_plot_axis(const struct ypi_plot_case *c, const char *name);
/* That of this name; NULL: it has none. */
const struct ypi_plot_measurement *ypi_plot_measurement(const struct ypi_plot_case *c,
                                                        const char *name);

/* -- which axis is which (axes.c) ---------------------------------------------------------- */

/* Names of axes, and of them the size and the batch. Rule: the batch is the first axis named batch,
 * batch_size, graphs, images or requests whose values are numbers. The size is the axis of numbers
 * with two values or more that comes first in the list of names in axes.c (tile_size, tile,
 * context_length, ...), else the one with the most values; else the batch, which then makes no
 * series. */
struct ypi_plot_roles {
    const char **names; /* owned array: axes with two values or more, in the order of the cases */
    int count;
    const char *size, *batch; /* NULL: there is none */
};
void ypi_plot_roles_of(const struct ypi_plot_case *const *cases, size_t count,
                       struct ypi_plot_roles *out);
/* How many values it has among the cases, a case without it counts as one; *numbers: all are. */
size_t ypi_plot_axis_values(const struct ypi_plot_case *const *cases, size_t count,
                            const char *name, bool *numbers);
/* "batch 4, precision bf16": its values of all axes but `skip` and `skip_too`. The caller frees. */
char *ypi_plot_label(const struct ypi_plot_roles *roles, const struct ypi_plot_case *c,
                     const char *skip, const char *skip_too);

/* -- a test's plots (sweep.c, phases.c, tradeoff.c, scaling.c) ----------------------------- */

/* Cases of one test that share a picture, by series and size. */
struct ypi_plot_group {
    const char *test;
    char *suffix; /* owned: "pass train_step"; "" where the test has one group */
    const struct ypi_plot_case **cases; /* owned array */
    size_t count;
    struct ypi_plot_roles roles;
    const char *measurement; /* whose times and rates are drawn; NULL: nothing was measured */
    const char *unit;

    int older; /* cases that a later one of the same values stands for */
    int other_measurements;
};

double ypi_plot_size_of(const struct ypi_plot_group *g, const struct ypi_plot_case *c);
double ypi_plot_seconds(const struct ypi_plot_group *g, const struct ypi_plot_case *c);
/* Items a second, iterations where none are declared. */
double ypi_plot_rate(const struct ypi_plot_group *g, const struct ypi_plot_case *c);
/* What makes the series of a case; the caller frees. */
char *ypi_plot_series_of(const struct ypi_plot_group *g, const struct ypi_plot_case *c);

void ypi_plot_tests(struct ypi_plots *plots);
void ypi_plot_sweep(struct ypi_plots *plots, const struct ypi_plot_group *group);
void ypi_plot_phases(struct ypi_plots *plots, const struct ypi_plot_group *group);
void ypi_plot_tradeoff(struct ypi_plots *plots, const struct ypi_plot_group *group);
void ypi_plot_scaling(struct ypi_plots *plots, const struct ypi_plot_group *group);
void ypi_plot_rooflines(struct ypi_plots *plots);

/* Of points that cost `cost` and give `gain`, those that no other one beats in both: ascending,
 * indices into `out`, which has room for all. Points that are not finite are none. */
size_t ypi_plot_frontier(const double *cost, const double *gain, size_t count, size_t *out);

/* -- what is made (made.c) ----------------------------------------------------------------- */

/* An empty figure: texts are copied. "WHAT of TEST, SUFFIX". */
struct ypi_drawing ypi_plot_figure(struct ypi_plots *plots, const struct ypi_plot_group *group,
                                   const char *kind, const char *what);
/* Linear from zero, or logarithmic where the values span more than `span` times; numbers that are
 * not finite do not count. */
bool ypi_plot_wants_log(const double *values, size_t count, double span);
/* The axis of a case's numbers; where they are few they are its ticks. All are finite. */
struct ypi_drawing_axis ypi_plot_number_axis(const char *name, const double *values, size_t count);
/* A table with those columns; ends with NULL. */
cJSON *ypi_plot_table(const char *const *columns);
/* The columns "case", the axes, "outcome", then `more`. */
cJSON *ypi_plot_group_table(const struct ypi_plot_group *group, const char *const *more);
/* A row that has the case and its axes; NULL: of a table without axes. */
cJSON *ypi_plot_row(cJSON *table, const struct ypi_plot_case *c,
                    const struct ypi_plot_group *group);
void ypi_plot_cell(cJSON *row, double value); /* null where it is not finite */
void ypi_plot_note(cJSON *table, char *note); /* takes it over */
/* Draws the figure and takes over the table; the figure is cleared. */
void ypi_plot_make(struct ypi_plots *plots, struct ypi_drawing *figure, const char *group,
                   cJSON *table);
