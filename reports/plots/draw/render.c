#include "reports/plots/draw/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A reader that knows no variables (librsvg) takes the colour before them. A page may set
 * data-theme on its root; without it the system's light or dark mode holds. Hues are those of Okabe
 * and Ito, "Color Universal Design" (2008), for readers who see no red or green. Each is darkened
 * or lightened: its contrast with the ground is at least 3 (WCAG 2.1, 1.4.11). */
#define COLOUR(property, name, value) \
    property ":" value ";" property ":var(--ypp-" name "," value ")"
#define CLASS(number, value) \
    ".ypp .c" number "{" COLOUR("fill", number, value) ";" COLOUR("stroke", number, value) "}"
#define DARK \
    "--ypp-0:#56b4e9;--ypp-1:#ff9046;--ypp-2:#2fc79a;--ypp-3:#e58bbe;--ypp-4:#e6c229;" \
    "--ypp-5:#b79cf2;--ypp-6:#bbbbbb;--ypp-text:#e6e8ea;--ypp-ground:#14181d;--ypp-grid:#353b43"
#define LIGHT \
    "--ypp-0:#0072b2;--ypp-1:#d55e00;--ypp-2:#00815d;--ypp-3:#b0447f;--ypp-4:#8a6d00;" \
    "--ypp-5:#5d3a9b;--ypp-6:#555555;--ypp-text:#1b1f24;--ypp-ground:#ffffff;--ypp-grid:#d9dde1"

/* clang-format off */
static const char style[] =
    "<style>"
    "@media (prefers-color-scheme:dark){:root{" DARK "}}"
    ":root[data-theme=dark]{" DARK "}"
    ":root[data-theme=light]{" LIGHT "}"
    "@media print{:root{" LIGHT "}}"
    ".ypp{font-family:system-ui,'DejaVu Sans',sans-serif}"
    ".ypp text{" COLOUR("fill", "text", "#1b1f24") ";stroke:none;font-size:13px}"
    ".ypp .h{font-size:15px;font-weight:600}"
    ".ypp .s{font-size:11px}"
    ".ypp .n{font-size:11px;opacity:.85}"
    ".ypp .ground{" COLOUR("fill", "ground", "#ffffff") "}"
    ".ypp .g{" COLOUR("stroke", "grid", "#d9dde1") ";fill:none}"
    ".ypp .x{" COLOUR("stroke", "text", "#1b1f24") ";fill:none}"
    CLASS("0", "#0072b2") CLASS("1", "#d55e00") CLASS("2", "#00815d") CLASS("3", "#b0447f")
    CLASS("4", "#8a6d00") CLASS("5", "#5d3a9b") CLASS("6", "#555555")
    ".ypp .c7{" COLOUR("fill", "text", "#1b1f24") ";" COLOUR("stroke", "text", "#1b1f24") "}"
    ".ypp .l{fill:none;stroke-width:1.6}"
    ".ypp .e{fill:none;stroke-width:1}"
    ".ypp .m{" COLOUR("stroke", "ground", "#ffffff") ";stroke-width:.8}"
    ".ypp .k{" COLOUR("stroke", "text", "#1b1f24") ";stroke-width:1.4}"
    ".ypp .b{" COLOUR("stroke", "ground", "#ffffff") ";stroke-width:1}"
    ".ypp .d1{stroke-dasharray:7 3}.ypp .d2{stroke-dasharray:2 3}.ypp .d3{stroke-dasharray:9 3 2 3}"
    ".ypp .d4{stroke-dasharray:12 4}.ypp .d5{stroke-dasharray:4 2}"
    ".ypp .d6{stroke-dasharray:9 2 2 2 2 2}.ypp .d7{stroke-dasharray:5 4;stroke-width:1.2}"
    "</style>\n";
/* clang-format on */

enum { TITLE_BASE = 22, LEGEND_TOP = 32, PLOT_HEIGHT = 290, ROW = 21, NOTE = 15, MARGIN = 16 };

void ypi_render_text(struct ypi_render *r, double x, double y, const char *class,
                     const char *anchor, const char *text)
{
    ypi_text_add(&r->svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class, x,
                 y, anchor);
    ypi_svg_escape(&r->svg, text);
    ypi_text_add(&r->svg, "</text>");
}

void ypi_render_about(struct ypi_render *r, const char *about)
{
    if (about == NULL)
        return;
    ypi_text_add(&r->svg, " data-case=\"");
    ypi_svg_escape(&r->svg, about);
    ypi_text_add(&r->svg, "\"");
}

void ypi_render_title(struct ypi_render *r, const char *hover)
{
    if (hover == NULL)
        return;
    ypi_text_add(&r->svg, "<title>");
    ypi_svg_escape(&r->svg, hover);
    ypi_text_add(&r->svg, "</title>");
}

/* -- the range of the axes ----------------------------------------------------------------- */

static void widen(double range[2], double value)
{
    range[0] = fmin(range[0], value); /* fmin and fmax take the number beside a NaN */
    range[1] = fmax(range[1], value);
}

static void range_of_points(struct ypi_render *r)
{
    const struct ypi_drawing *f = r->figure;
    double x[2] = {NAN, NAN};
    double y[2] = {NAN, NAN};
    for (size_t i = 0; i < f->series_count; i++)
        for (size_t k = 0; k < f->series[i].count; k++) {
            const struct ypi_drawing_point *p = &f->series[i].list[k];
            if (!ypi_scale_takes(f->x.log, p->x) || !ypi_scale_takes(f->y.log, p->y))
                continue;
            widen(x, p->x);
            widen(y, p->y);
            if (ypi_scale_takes(f->y.log, p->low))
                widen(y, p->low);
            if (ypi_scale_takes(f->y.log, p->high))
                widen(y, p->high);
        }
    r->x.log = f->x.log;
    r->y.log = f->y.log;
    ypi_scale_round(&r->x, x[0], x[1], f->x.zero, f->x.quantity);
    ypi_scale_round(&r->y, y[0], y[1], f->y.zero, f->y.quantity);
}

static void range_of_bars(struct ypi_render *r)
{
    const struct ypi_drawing *f = r->figure;
    double most = NAN;
    for (size_t i = 0; i < f->bar_count; i++) {
        double sum = 0;
        for (int k = 0; k < f->part_count; k++)
            if (f->bars[i].parts[k] > 0 && isfinite(f->bars[i].parts[k]))
                sum += f->bars[i].parts[k];
        most = fmax(most, sum);
    }
    ypi_scale_round(&r->x, isnan(most) ? NAN : 0, most, true, f->x.quantity);
}

/* -- the picture --------------------------------------------------------------------------- */

static double widest_tick(const struct ypi_render_ticks *ticks)
{
    double width = 0;
    for (size_t i = 0; i < ticks->count; i++)
        width = fmax(width, ypi_svg_width(ticks->texts[i], YPI_SMALL_SIZE));
    return width;
}

static double widest_bar_name(const struct ypi_drawing *f, bool total)
{
    double width = 0;
    for (size_t i = 0; i < f->bar_count; i++) {
        const char *text = total ? f->bars[i].total : f->bars[i].name;
        if (text != NULL)
            width = fmax(width, ypi_svg_width(text, YPI_SMALL_SIZE));
    }
    return fmin(width, total ? 100 : 250);
}

static void draw_head(struct ypi_render *r, double height)
{
    const struct ypi_drawing *f = r->figure;
    ypi_text_add(&r->svg,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" "
                 "width=\"%d\" height=\"%.0f\" role=\"img\" aria-labelledby=\"%s-title "
                 "%s-about\">\n<title id=\"%s-title\">",
                 YPI_FIGURE_WIDTH, height, YPI_FIGURE_WIDTH, height, f->name, f->name, f->name);
    ypi_svg_escape(&r->svg, f->title);
    ypi_text_add(&r->svg, "</title>\n<desc id=\"%s-about\">", f->name);
    ypi_svg_escape(&r->svg, f->description);
    ypi_text_add(&r->svg, "</desc>\n%s<g class=\"ypp\">\n", style);
    ypi_text_add(&r->svg, "<rect class=\"ground\" width=\"%d\" height=\"%.0f\"/>", YPI_FIGURE_WIDTH,
                 height);
    char *title = ypi_svg_shortened(f->title, 15.5, YPI_FIGURE_WIDTH - 2 * MARGIN);
    ypi_render_text(r, MARGIN, TITLE_BASE, "h", "start", title);
    free(title);
}

/* Where the line of a note that begins at `from` ends: at a blank, where it has room. */
static size_t line_length(const char *from)
{
    size_t end = strlen(from);
    char *line = ypi_strdup(from);
    while (end > 0 && ypi_svg_width(line, YPI_SMALL_SIZE) > YPI_FIGURE_WIDTH - 2 * MARGIN) {
        char *blank = strrchr(line, ' ');
        if (blank == NULL)
            break;
        *blank = '\0';
        end = (size_t)(blank - line);
    }
    free(line);
    return end;
}

/* Returns how many lines they take. */
static int draw_notes(struct ypi_render *r, double top, bool draw)
{
    int lines = 0;
    for (int i = 0; i < r->figure->note_count; i++) {
        const char *note = r->figure->notes[i];
        while (*note) {
            size_t length = line_length(note);
            char *line = ypi_format("%.*s", (int)length, note);
            char *text = ypi_svg_shortened(line, YPI_SMALL_SIZE, YPI_FIGURE_WIDTH - 2 * MARGIN);
            if (draw)
                ypi_render_text(r, MARGIN, top + NOTE * lines, "n", "start", text);
            lines++;
            free(text);
            free(line);
            note += length;
            note += strspn(note, " ");
        }
    }
    return lines;
}

/* How many ticks have room: of a text of that width. */
static size_t ticks_for(double length, double each)
{
    double count = length / fmax(each, 1);
    return count < 2 ? 2 : count > YPI_MOST_TICKS ? YPI_MOST_TICKS : (size_t)count;
}

char *ypi_drawing_svg(const struct ypi_drawing *figure)
{
    struct ypi_render r = {.figure = figure};
    struct ypi_render_ticks x;
    struct ypi_render_ticks y;
    const bool bars = figure->bar_count > 0;
    if (bars)
        range_of_bars(&r);
    else
        range_of_points(&r);
    r.plot.y = ypi_render_legend(&r, LEGEND_TOP, false) + 10;
    r.plot.height = bars ? ROW * (double)figure->bar_count : PLOT_HEIGHT;
    if (!bars)
        ypi_render_ticks(&figure->y, &r.y, 8, &y);
    r.plot.x = bars ? MARGIN + 8 + widest_bar_name(figure, false) : 32 + widest_tick(&y);
    r.plot.width = YPI_FIGURE_WIDTH - r.plot.x - (bars ? 14 + widest_bar_name(figure, true) : 20);
    ypi_render_ticks(&figure->x, &r.x, ticks_for(r.plot.width, 56), &x);
    r.x.from = r.plot.x;
    r.x.to = r.plot.x + r.plot.width;
    r.y.from = r.plot.y + r.plot.height;
    r.y.to = r.plot.y;
    r.boxes.frame = r.plot;

    const double below = r.plot.y + r.plot.height + 44;
    draw_head(&r, below + NOTE * draw_notes(&r, 0, false) + 8);
    ypi_render_legend(&r, LEGEND_TOP, true);
    ypi_text_add(&r.svg, "\n");
    ypi_render_axes(&r, &x, bars ? NULL : &y);
    ypi_text_add(&r.svg, "\n");
    if (bars)
        ypi_render_bars(&r, ROW);
    else
        ypi_render_series(&r);
    ypi_render_frame(&r);
    draw_notes(&r, below + NOTE, true);
    ypi_text_add(&r.svg, "</g></svg>\n");
    free(r.boxes.list);
    return ypi_text_take(&r.svg);
}
