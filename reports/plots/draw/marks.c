#include "reports/plots/draw/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RADIUS 4.0

const char *ypi_render_colour(char out[8], int look)
{
    snprintf(out, 8, "c%d", look < 0 ? YPI_LOOKS : look % YPI_LOOKS);
    return out;
}

int ypi_render_dash(int look)
{
    /* The eighth series has the first one's colour: its dash is another. */
    const int turned = look + 2 * (look / YPI_LOOKS);
    return look <= -2 ? (-look - 2) % YPI_LOOKS : look < 0 ? YPI_LOOKS : turned % YPI_LOOKS;
}

void ypi_render_marker(struct ypi_render *r, double x, double y, int look, double radius)
{
    const double a = radius;
    const double h = 1.15 * radius;
    ypi_text_add(&r->svg, "M%.1f %.1f", x, y);
    /* Past the colours another marker goes with a colour, so that no pair repeats soon. */
    switch (look < 0 ? 0 : (look % YPI_LOOKS + look / YPI_LOOKS) % YPI_LOOKS) {
    case 0:
        ypi_text_add(&r->svg, "m%.1f 0a%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", -a, a, a,
                     2 * a, a, a, -2 * a);
        break;
    case 1:
        ypi_text_add(&r->svg, "m%.1f %.1fh%.1fv%.1fh%.1fz", -a, -a, 2 * a, 2 * a, -2 * a);
        break;
    case 2:
        ypi_text_add(&r->svg, "m0 %.1fl%.1f %.1fh%.1fz", -h, h, 2 * a, -2 * h);
        break;
    case 3:
        ypi_text_add(&r->svg, "m0 %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", -h, h, h, -h, h, -h, -h);
        break;
    case 4:
        ypi_text_add(&r->svg, "m0 %.1fl%.1f %.1fh%.1fz", h, h, -2 * a, -2 * h);
        break;
    case 5: /* a cross: two thick bars */
        ypi_text_add(&r->svg, "m-1.4 %.1fh2.8v%.1fh%.1fv2.8h%.1fv%.1fh-2.8v%.1fh%.1fv-2.8h%.1fz",
                     -h, h - 1.4, h - 1.4, 1.4 - h, h - 1.4, 1.4 - h, 1.4 - h, h - 1.4);
        break;
    default: /* a flat bar */
        ypi_text_add(&r->svg, "m%.1f -2h%.1fv4h%.1fz", -h, 2 * h, -2 * h);
        break;
    }
}

/* -- series -------------------------------------------------------------------------------- */

static bool is_drawn(const struct ypi_render *r, const struct ypi_drawing_point *p)
{
    return ypi_scale_takes(r->x.log, p->x) && ypi_scale_takes(r->y.log, p->y);
}

static double within(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Labels keep away from lines. */
static void take_line(struct ypi_render *r, double x0, double y0, double x1, double y1)
{
    const double length = hypot(x1 - x0, y1 - y0);
    for (double at = 0; at <= length; at += 5) {
        double part = length > 0 ? at / length : 0;
        ypi_boxes_take(&r->boxes, (struct ypi_box){x0 + part * (x1 - x0) - 2,
                                                   y0 + part * (y1 - y0) - 2, 4, 4});
    }
}

static void draw_line(struct ypi_render *r, const struct ypi_drawing_series *s)
{
    char colour[8];
    double x0 = NAN;
    double y0 = NAN;
    struct ypi_text path = {0};
    for (size_t i = 0; i < s->count; i++) {
        if (!is_drawn(r, &s->list[i]))
            continue;
        double x = ypi_scale_place(&r->x, s->list[i].x);
        double y = ypi_scale_place(&r->y, s->list[i].y);
        if (isnan(x0)) {
            ypi_text_add(&path, "M%.1f %.1f", x, y);
        } else if (s->kind == YPI_STEPS) {
            ypi_text_add(&path, "H%.1fV%.1f", x, y);
            take_line(r, x0, y0, x, y0);
            take_line(r, x, y0, x, y);
        } else {
            ypi_text_add(&path, "L%.1f %.1f", x, y);
            take_line(r, x0, y0, x, y);
        }
        x0 = x;
        y0 = y;
    }
    if (path.length > 0) {
        ypi_text_add(&r->svg, "<path class=\"l %s d%d\" d=\"%s\"",
                     ypi_render_colour(colour, s->look), ypi_render_dash(s->look), path.data);
        if (s->kind == YPI_ROOF && s->list[0].hover != NULL) {
            ypi_text_add(&r->svg, ">");
            ypi_render_title(r, s->list[0].hover);
            ypi_text_add(&r->svg, "</path>");
        } else {
            ypi_text_add(&r->svg, "/>");
        }
    }
    free(path.data);
}

static void draw_interval(struct ypi_render *r, const struct ypi_drawing_point *p,
                          const char *colour)
{
    double low = isfinite(p->low) ? p->low : p->y;
    double high = isfinite(p->high) ? p->high : p->y;
    const double top = r->plot.y;
    const double bottom = r->plot.y + r->plot.height;
    if (!(low < high))
        return;
    double x = ypi_scale_place(&r->x, p->x);
    double from =
        ypi_scale_takes(r->y.log, low) ? within(ypi_scale_place(&r->y, low), top, bottom) : bottom;
    double to = within(ypi_scale_place(&r->y, high), top, bottom);
    ypi_text_add(&r->svg, "<path class=\"e %s\" d=\"M%.1f %.1fh6m-3 0V%.1fm-3 0h6\"/>", colour,
                 x - 3, from, to);
}

static void draw_point(struct ypi_render *r, const struct ypi_drawing_series *s,
                       const struct ypi_drawing_point *p)
{
    char colour[8];
    char number[32];
    double x = ypi_scale_place(&r->x, p->x);
    double y = ypi_scale_place(&r->y, p->y);
    ypi_render_colour(colour, s->look);
    draw_interval(r, p, colour);
    ypi_text_add(&r->svg, "<path class=\"m %s%s\" d=\"", colour, p->strong ? " k" : "");
    ypi_render_marker(r, x, y, s->look, p->strong ? RADIUS + 1.5 : RADIUS);
    ypi_print_double(number, p->x);
    ypi_text_add(&r->svg, "\" data-x=\"%s\"", number);
    ypi_print_double(number, p->y);
    ypi_text_add(&r->svg, " data-y=\"%s\"", number);
    ypi_render_about(r, p->about);
    ypi_text_add(&r->svg, ">");
    ypi_render_title(r, p->hover);
    ypi_text_add(&r->svg, "</path>\n");
}

static void draw_label(struct ypi_render *r, const struct ypi_drawing_point *p)
{
    const double size = YPI_SMALL_SIZE;
    char *text = ypi_svg_shortened(p->label, size, 200);
    struct ypi_box box;
    if (ypi_boxes_place(&r->boxes, ypi_scale_place(&r->x, p->x), ypi_scale_place(&r->y, p->y),
                        p->strong ? RADIUS + 3 : RADIUS, ypi_svg_width(text, size), size + 2, &box))
        ypi_render_text(r, box.x, box.y + size - 0.5, "s", "start", text);
    free(text);
}

void ypi_render_series(struct ypi_render *r)
{
    const struct ypi_drawing *f = r->figure;
    for (size_t i = 0; i < f->series_count; i++)
        if (f->series[i].kind != YPI_POINTS)
            draw_line(r, &f->series[i]);
    for (size_t i = 0; i < f->series_count; i++) {
        const struct ypi_drawing_series *s = &f->series[i];
        for (size_t k = 0; k < s->count && s->kind < YPI_STEPS; k++) {
            if (!is_drawn(r, &s->list[k]))
                continue;
            draw_point(r, s, &s->list[k]);
            ypi_boxes_take(&r->boxes,
                           (struct ypi_box){ypi_scale_place(&r->x, s->list[k].x) - RADIUS - 1,
                                            ypi_scale_place(&r->y, s->list[k].y) - RADIUS - 1,
                                            2 * RADIUS + 2, 2 * RADIUS + 2});
        }
    }
    for (size_t i = 0; i < f->series_count; i++)
        for (size_t k = 0; k < f->series[i].count; k++)
            if (f->series[i].list[k].label != NULL && is_drawn(r, &f->series[i].list[k]))
                draw_label(r, &f->series[i].list[k]);
}

/* -- bars ---------------------------------------------------------------------------------- */

static void draw_part(struct ypi_render *r, const struct ypi_drawing_bar *bar, int part,
                      double from, double to, double y, double height)
{
    char colour[8];
    char text[YPI_QUANTITY_MAX];
    char number[32];
    ypi_axis_quantity_text(text, bar->parts[part], r->figure->x.quantity, "");
    ypi_text_add(&r->svg,
                 "<rect class=\"b %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                 "height=\"%.1f\"",
                 ypi_render_colour(colour, part), from, y, to - from, height);
    ypi_print_double(number, bar->parts[part]);
    ypi_text_add(&r->svg, " data-x=\"%s\"", number);
    ypi_render_about(r, bar->about);
    ypi_text_add(&r->svg, ">");
    char *hover = ypi_format("%s, %s: %s", bar->name, r->figure->parts[part], text);
    ypi_render_title(r, hover);
    free(hover);
    ypi_text_add(&r->svg, "</rect>\n");
}

void ypi_render_bars(struct ypi_render *r, double row)
{
    const struct ypi_drawing *f = r->figure;
    for (size_t i = 0; i < f->bar_count; i++) {
        const struct ypi_drawing_bar *bar = &f->bars[i];
        double y = r->plot.y + row * (double)i + 3;
        double at = 0;
        char *name = ypi_svg_shortened(bar->name, YPI_SMALL_SIZE, r->plot.x - 12);
        ypi_render_text(r, r->plot.x - 6, y + row / 2 + 1, "s", "end", name);
        free(name);
        for (int k = 0; k < f->part_count; k++) {
            if (!(bar->parts[k] > 0) || !isfinite(bar->parts[k]))
                continue;
            draw_part(r, bar, k, ypi_scale_place(&r->x, at),
                      ypi_scale_place(&r->x, at + bar->parts[k]), y, row - 6);
            at += bar->parts[k];
        }
        if (bar->total != NULL)
            ypi_render_text(r, ypi_scale_place(&r->x, at) + 5, y + row / 2 + 1, "s", "start",
                            bar->total);
    }
}
