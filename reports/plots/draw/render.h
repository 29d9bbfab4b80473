/* A figure while it is drawn: what figure.c's users do not see. */
#pragma once

#include "reports/plots/draw/draw.h"

enum { YPI_FIGURE_WIDTH = 640, YPI_LOOKS = 7, YPI_MOST_TICKS = 12 };
#define YPI_TEXT_SIZE 13.0
#define YPI_SMALL_SIZE 11.0

struct ypi_render {
    const struct ypi_drawing *figure;
    struct ypi_text svg;
    struct ypi_scale x, y;
    struct ypi_box plot; /* the frame of the axes */
    struct ypi_boxes boxes;
};

/* A text element; `anchor`: "start", "middle" or "end". */
void ypi_render_text(struct ypi_render *r, double x, double y, const char *class,
                     const char *anchor, const char *text);
/* data-case of a mark; nothing for NULL. */
void ypi_render_about(struct ypi_render *r, const char *about);
void ypi_render_title(struct ypi_render *r, const char *hover);
/* The path of a marker at a place. */
void ypi_render_marker(struct ypi_render *r, double x, double y, int look, double radius);
const char *ypi_render_colour(char out[8], int look); /* its class */
int ypi_render_dash(int look);                        /* the number of its class */

/* -- axes.c -------------------------------------------------------------------------------- */

struct ypi_render_ticks {
    double values[64];
    char texts[64][YPI_QUANTITY_MAX];
    size_t count;
};
/* Round ticks, or the axis's own, with what stands at them. */
void ypi_render_ticks(const struct ypi_drawing_axis *axis, const struct ypi_scale *scale,
                      size_t most, struct ypi_render_ticks *out);
/* "Peak memory (MiB)"; the caller frees. */
char *ypi_render_axis_title(const struct ypi_drawing_axis *axis, const struct ypi_scale *scale);
void ypi_render_axes(struct ypi_render *r, const struct ypi_render_ticks *x,
                     const struct ypi_render_ticks *y);
void ypi_render_frame(struct ypi_render *r); /* their lines, above the marks */

/* -- marks.c ------------------------------------------------------------------------------- */

void ypi_render_series(struct ypi_render *r);
void ypi_render_bars(struct ypi_render *r, double row);

/* -- legend.c ------------------------------------------------------------------------------ */

/* From `top` on; returns where it ends. Without `draw` only that. */
double ypi_render_legend(struct ypi_render *r, double top, bool draw);
