#include "reports/plots/draw/render.h"

#include <stdlib.h>

enum { SAMPLE = 26, ROW = 18, GAP = 14 };

/* What stands before a name: the series as it is drawn, or a part's colour. */
static void draw_sample(struct ypi_render *r, double x, double y, int entry)
{
    char colour[8];
    if (r->figure->bar_count > 0) {
        ypi_text_add(&r->svg,
                     "<rect class=\"b %s\" x=\"%.1f\" y=\"%.1f\" width=\"18\" "
                     "height=\"11\"/>",
                     ypi_render_colour(colour, entry), x + 2, y - 10);
        return;
    }
    const struct ypi_drawing_series *s = &r->figure->series[entry];
    ypi_render_colour(colour, s->look);
    if (s->kind != YPI_POINTS)
        ypi_text_add(&r->svg, "<path class=\"l %s d%d\" d=\"M%.1f %.1fh%d\"/>", colour,
                     ypi_render_dash(s->look), x, y - 4, SAMPLE - 4);
    if (s->kind == YPI_POINTS || s->kind == YPI_LINE) {
        ypi_text_add(&r->svg, "<path class=\"m %s\" d=\"", colour);
        ypi_render_marker(r, x + (SAMPLE - 4) / 2.0, y - 4, s->look, 4);
        ypi_text_add(&r->svg, "\"/>");
    }
}

double ypi_render_legend(struct ypi_render *r, double top, bool draw)
{
    const struct ypi_drawing *f = r->figure;
    const bool bars = f->bar_count > 0;
    const int count = bars ? f->part_count : (int)f->series_count;
    const double most = YPI_FIGURE_WIDTH - 32;
    double x = 16;
    double y = top;
    bool any = false;
    for (int i = 0; i < count; i++) {
        const char *name = bars ? f->parts[i] : f->series[i].name;
        if (*name == '\0')
            continue;
        char *text = ypi_svg_shortened(name, YPI_SMALL_SIZE, most - SAMPLE);
        double width = SAMPLE + ypi_svg_width(text, YPI_SMALL_SIZE);
        if (x > 16 && x + width > YPI_FIGURE_WIDTH - 16) {
            x = 16;
            y += ROW;
        }
        if (draw) {
            draw_sample(r, x, y + 12, i);
            ypi_render_text(r, x + SAMPLE, y + 12, "s", "start", text);
        }
        free(text);
        x += width + GAP;
        any = true;
    }
    return any ? y + ROW : y;
}
