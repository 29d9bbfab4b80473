#include "reports/plots/draw/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The prefix and unit that all ticks of a linear axis share, and its size. */
static double shared_unit(const struct ypi_drawing_axis *axis, const struct ypi_scale *s,
                          char out[YPI_QUANTITY_MAX])
{
    const double base = axis->quantity == YPI_BYTES ? 1024 : 1000;
    double largest = fmax(fabs(s->low), fabs(s->high));
    double size = 1;
    int power = 0;
    while (largest / size >= base && power < 6) {
        size *= base;
        power++;
    }
    while (axis->quantity == YPI_SECONDS && largest / size < 1 && power > -4) {
        size /= base;
        power--;
    }
    if (axis->quantity == YPI_BYTES)
        snprintf(out, YPI_QUANTITY_MAX, "%sB", ypi_axis_prefix(YPI_BYTES, power));
    else if (axis->quantity == YPI_SECONDS)
        snprintf(out, YPI_QUANTITY_MAX, "%ss", ypi_axis_prefix(YPI_SECONDS, power));
    else
        snprintf(out, YPI_QUANTITY_MAX, "%s%s%.60s", ypi_axis_prefix(YPI_PLAIN, power),
                 power > 0 && axis->unit != NULL && *axis->unit ? " " : "",
                 axis->unit != NULL ? axis->unit : "");
    return size;
}

char *ypi_render_axis_title(const struct ypi_drawing_axis *axis, const struct ypi_scale *s)
{
    char unit[YPI_QUANTITY_MAX] = "";
    if (axis->ticks != NULL || (s->log && axis->quantity == YPI_PLAIN))
        snprintf(unit, sizeof unit, "%.60s", axis->unit != NULL ? axis->unit : "");
    else if (!s->log)
        shared_unit(axis, s, unit);
    return *unit ? ypi_format("%s (%s)", axis->title, unit) : ypi_strdup(axis->title);
}

void ypi_render_ticks(const struct ypi_drawing_axis *axis, const struct ypi_scale *s, size_t most,
                      struct ypi_render_ticks *out)
{
    const size_t room = sizeof out->values / sizeof *out->values;
    out->count = 0;
    if (axis->ticks != NULL) {
        for (size_t i = 0; i < axis->tick_count && out->count < room; i++) {
            out->values[out->count] = axis->ticks[i];
            snprintf(out->texts[out->count++], YPI_QUANTITY_MAX, "%.6g", axis->ticks[i]);
        }
        return;
    }
    char unit[YPI_QUANTITY_MAX];
    double size = shared_unit(axis, s, unit);
    out->count = ypi_scale_ticks(s, axis->quantity, most, out->values);
    for (size_t i = 0; i < out->count; i++)
        if (s->log)
            ypi_axis_quantity_text(out->texts[i], out->values[i], axis->quantity, "");
        else
            snprintf(out->texts[i], YPI_QUANTITY_MAX, "%.6g", out->values[i] / size);
}

static void draw_x(struct ypi_render *r, const struct ypi_render_ticks *ticks)
{
    const double bottom = r->plot.y + r->plot.height;
    double free_from = -1e9;
    for (size_t i = 0; i < ticks->count; i++) {
        double x = ypi_scale_place(&r->x, ticks->values[i]);
        double half = ypi_svg_width(ticks->texts[i], YPI_SMALL_SIZE) / 2;
        ypi_text_add(&r->svg, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", x, r->plot.y, bottom);
        if (x - half < free_from || x + half > YPI_FIGURE_WIDTH)
            continue; /* of neighbours that would overlap the first is named */
        ypi_render_text(r, x, bottom + 16, "s", "middle", ticks->texts[i]);
        free_from = x + half + 4;
    }
}

static void draw_y(struct ypi_render *r, const struct ypi_render_ticks *ticks)
{
    double free_below = 1e9;
    for (size_t i = 0; i < ticks->count; i++) {
        double y = ypi_scale_place(&r->y, ticks->values[i]);
        ypi_text_add(&r->svg, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", r->plot.x, y,
                     r->plot.x + r->plot.width);
        if (y + YPI_SMALL_SIZE / 2 > free_below)
            continue;
        ypi_render_text(r, r->plot.x - 6, y + 4, "s", "end", ticks->texts[i]);
        free_below = y - YPI_SMALL_SIZE / 2 - 2;
    }
}

static void draw_titles(struct ypi_render *r, bool y_too)
{
    char *whole = ypi_render_axis_title(&r->figure->x, &r->x);
    char *text = ypi_svg_shortened(whole, YPI_TEXT_SIZE, r->plot.width);
    ypi_render_text(r, r->plot.x + r->plot.width / 2, r->plot.y + r->plot.height + 36, "a",
                    "middle", text);
    free(text);
    free(whole);
    if (!y_too)
        return;
    whole = ypi_render_axis_title(&r->figure->y, &r->y);
    text = ypi_svg_shortened(whole, YPI_TEXT_SIZE, r->plot.height);
    ypi_text_add(&r->svg,
                 "<text class=\"a\" text-anchor=\"middle\" transform=\"translate(14 %.1f) "
                 "rotate(-90)\">",
                 r->plot.y + r->plot.height / 2);
    ypi_svg_escape(&r->svg, text);
    ypi_text_add(&r->svg, "</text>");
    free(text);
    free(whole);
}

void ypi_render_axes(struct ypi_render *r, const struct ypi_render_ticks *x,
                     const struct ypi_render_ticks *y)
{
    draw_x(r, x);
    if (y != NULL)
        draw_y(r, y);
    draw_titles(r, y != NULL);
}

void ypi_render_frame(struct ypi_render *r)
{
    ypi_text_add(&r->svg, "<path class=\"x\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", r->plot.x, r->plot.y,
                 r->plot.y + r->plot.height, r->plot.x + r->plot.width);
}
