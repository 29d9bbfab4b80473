/* Figures as SVG: axes with round ticks and units, points, lines, steps and stacked bars, a legend,
 * and labels that neither overlap nor leave the picture. One picture for light and dark pages:
 * colours are CSS classes with a style block inside. Series differ by colour, marker and dash. */
#pragma once

#include "base/text/text.h"

#include <stdbool.h>
#include <stddef.h>

/* -- scales (scale.c) ---------------------------------------------------------------------- */

enum ypi_quantity {
    YPI_PLAIN,   /* 1.5 k */
    YPI_SECONDS, /* 1.5 ms: powers of 1000 */
    YPI_BYTES,   /* 1.5 MiB: powers of 1024 */
};

/* The prefix of that power of 1000, from -4 to 6, of YPI_BYTES of 1024, from 0. */
const char *ypi_axis_prefix(enum ypi_quantity quantity, int power);

/* A figure with four digits, its prefix and its unit: "1.5 ms", "64 MiB", "2.5 k tokens/s"; "n/a"
 * for NaN. `unit` is that of YPI_PLAIN; "" for none. */
enum { YPI_QUANTITY_MAX = 96 };
void ypi_axis_quantity_text(char out[YPI_QUANTITY_MAX], double value, enum ypi_quantity quantity,
                            const char *unit);

struct ypi_scale {
    bool log;
    double low, high; /* of the data, low < high; above 0 with `log` */
    double from, to;  /* their places in the picture */
};
double ypi_scale_place(const struct ypi_scale *scale, double value);

/* What of a scale's values is drawn: finite, and above 0 on a logarithmic one. */
bool ypi_scale_takes(bool log, double value);

/* Round ends around `low` to `high`, the least and the largest value drawn; `zero`: a linear scale
 * begins there. Both NaN, or the same: a range with them inside. */
void ypi_scale_round(struct ypi_scale *scale, double low, double high, bool zero,
                     enum ypi_quantity quantity);

/* Round values on it, ascending, at most `most` (2 or more) of them, which has room in `out`.
 * Returns how many. */
size_t ypi_scale_ticks(const struct ypi_scale *scale, enum ypi_quantity quantity, size_t most,
                       double *out);

/* -- text (svg.c) -------------------------------------------------------------------------- */

/* As the content of an element or an attribute: what XML 1.0 cannot hold and what is no UTF-8 are
 * U+FFFD. */
void ypi_svg_escape(struct ypi_text *to, const char *text);
/* How wide the text is drawn at most, in the font's size; the widest of the usual fonts counts. */
double ypi_svg_width(const char *text, double size);
/* The text, or its begin and end with an ellipsis between, not wider than that. The caller frees.
 */
char *ypi_svg_shortened(const char *text, double size, double width);

/* -- figures (figure.c) -------------------------------------------------------------------- */

struct ypi_drawing_axis {
    char *title; /* owned; "" for none; the unit is added */
    enum ypi_quantity quantity;
    char *unit; /* owned; of YPI_PLAIN */
    bool log, zero;
    /* Where the ticks are, in place of round values: owned, ascending; those that would overlap
     * are left out. NULL: round ones. */
    double *ticks;
    size_t tick_count;
};

struct ypi_drawing_point {
    double x, y;
    double low, high; /* interval of y; NaN: none */
    char *hover;      /* owned: shown under the pointer */
    char *label;      /* owned; NULL: none. Left out where there is no place for it. */
    char *about;      /* owned: the attribute data-case; NULL: none */
    bool strong;      /* larger, with a rim */
};

enum ypi_drawing_kind {
    YPI_POINTS,
    YPI_LINE,
    YPI_STEPS,
    YPI_ROOF, /* a line without markers */
};

/* Points of one kind. */
struct ypi_drawing_series {
    char *name; /* owned: in the legend; "" for none */
    enum ypi_drawing_kind kind;
    int look; /* colour, marker and dash; -1: that of the text, dashed; -2: the same,
                 solid, and below with other dashes */
    struct ypi_drawing_point *list;
    size_t count, capacity;
};

/* A horizontal bar of parts. */
struct ypi_drawing_bar {
    char *name;    /* owned: beside it */
    char *about;   /* owned: data-case; NULL: none */
    char *total;   /* owned: at its end */
    double *parts; /* owned: one for each name of the figure's parts; NaN and 0: none */
};

struct ypi_drawing {
    char *name;                /* owned: begins the ids in the picture, so it is unique in a page */
    char *title, *description; /* owned */
    struct ypi_drawing_axis x, y;
    struct ypi_drawing_series *series;
    size_t series_count;
    struct ypi_drawing_bar *bars; /* with bars there are no series; x is their axis */
    size_t bar_count;
    char **parts; /* owned: names of the parts of bars */
    int part_count;
    char **notes; /* owned: lines below the axes */
    int note_count;
};

/* Each copies its texts; hover, label and about may be NULL. What it returns stays until the next
 * call. */
struct ypi_drawing_series *ypi_drawing_add_series(struct ypi_drawing *figure, const char *name,
                                                  enum ypi_drawing_kind kind, int look);
struct ypi_drawing_point *ypi_drawing_add_point(struct ypi_drawing_series *series, double x,
                                                double y, const char *hover, const char *label,
                                                const char *about);
/* `parts` has figure->part_count values. */
void ypi_drawing_add_bar(struct ypi_drawing *figure, const char *name, const char *about,
                         const char *total, const double *parts);
void ypi_drawing_add_part(struct ypi_drawing *figure, const char *name);
/* Takes over `note`. */
void ypi_drawing_add_note(struct ypi_drawing *figure, char *note);

/* The picture; the caller frees. Points that a scale does not take are left out. */
char *ypi_drawing_svg(const struct ypi_drawing *figure);
void ypi_drawing_clear(struct ypi_drawing *figure);

/* -- labels (labels.c) --------------------------------------------------------------------- */

struct ypi_box {
    double x, y, width, height; /* x, y: the left upper corner */
};

/* What is taken in a picture. */
struct ypi_boxes {
    struct ypi_box frame; /* labels stay inside */
    struct ypi_box *list; /* owned */
    size_t count, capacity;
};
void ypi_boxes_take(struct ypi_boxes *boxes, struct ypi_box box);
/* A place for a label of that size beside a mark of radius `radius` at (x, y) that overlaps nothing
 * taken, which it takes; false where there is none. */
bool ypi_boxes_place(struct ypi_boxes *boxes, double x, double y, double radius, double width,
                     double height, struct ypi_box *out);
