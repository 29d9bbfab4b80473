/* The roofline of a run: arithmetic intensity against rate, under the ceilings that were probed
 * beside the measurements (Williams, Waterman and Patterson, CACM 52, 2009). One for each device.
 */
#include "base/numbers/stats.h"
#include "reports/plots/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More marks than that are a blot, and a page takes long to show them: then of each test only the
 * measurements with the most and the least share are drawn. */
enum { MARKS_MOST = 600, LIMITERS_MOST = 6 };
/* Pictures of a device, one for each number of threads. */
enum { THREADS_MOST = 6 };
/* Operations a byte, below which a copy with a few operations would stretch the axis. */
#define INTENSITY_LEAST 1e-3

struct spot {
    const struct ypi_plot_case *c;
    const struct ypi_plot_measurement *m;
    double intensity, rate; /* NaN: without operations, without bytes */
    bool drawn, named;
};

struct roofline {
    struct ypi_plots *plots;
    const char *device;
    struct spot *spots; /* owned */
    size_t count, drawable, drawn;
    size_t bytes_alone, flops_alone, neither;
    const int *all_threads; /* a picture for each, that of most measurements first */
    int pictures;
    int threads;          /* of this picture's measurements and roofs */
    double low, high;     /* of the intensities drawn */
    int labelled, dashes; /* roofs of arithmetic, of all, so far */
    struct ypi_drawing figure;
    cJSON *table;
};

/* -- what is on it ------------------------------------------------------------------------- */

static void add_spot(struct roofline *r, const struct ypi_plot_case *c,
                     const struct ypi_plot_measurement *m)
{
    struct spot *spot = &r->spots[r->count++];
    const bool timed = m->median > 0 && isfinite(m->median);
    *spot = (struct spot){c, m, NAN, NAN, false, false};
    if (m->flops > 0 && timed)
        spot->rate = m->flops / m->median;
    const bool few = m->flops < INTENSITY_LEAST * m->bytes;
    if (m->flops > 0 && m->bytes > 0 && !few)
        spot->intensity = m->flops / m->bytes;
    if (!timed || (m->flops <= 0 && m->bytes <= 0))
        r->neither++;
    else if (m->flops <= 0 || few)
        r->bytes_alone++;
    else if (m->bytes <= 0)
        r->flops_alone++;
    else if (ypi_scale_takes(true, spot->intensity) && ypi_scale_takes(true, spot->rate))
        r->drawable++;
    else
        r->neither++;
}

static bool is_drawable(const struct spot *s)
{
    return ypi_scale_takes(true, s->intensity) && ypi_scale_takes(true, s->rate);
}

/* What has no picture of its own is in the first one. */
static bool belongs(const struct roofline *r, const struct ypi_plot_measurement *m)
{
    if (m->threads == r->threads)
        return true;
    bool elsewhere = false;
    for (int i = 1; i < r->pictures; i++)
        elsewhere = elsewhere || r->all_threads[i] == m->threads;
    return r->threads == r->all_threads[0] && !elsewhere;
}

static void collect(struct roofline *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->plots->count; i++)
        if (strcmp(r->plots->cases[i].device, r->device) == 0)
            count += (size_t)r->plots->cases[i].measurement_count;
    r->spots = ypi_calloc(count + 1, sizeof *r->spots);
    for (size_t i = 0; i < r->plots->count; i++) {
        const struct ypi_plot_case *c = &r->plots->cases[i];
        for (int k = 0; k < c->measurement_count && strcmp(c->device, r->device) == 0; k++)
            if (belongs(r, &c->measurements[k]))
                add_spot(r, c, &c->measurements[k]);
    }
}

static int compare_spots(const void *a, const void *b)
{
    const struct spot *x = a;
    const struct spot *y = b;
    int order = strcmp(x->c->test, y->c->test);
    if (order == 0 && is_drawable(x) != is_drawable(y))
        return is_drawable(x) ? -1 : 1;
    double left = isfinite(x->m->share) ? x->m->share : -1;
    double right = isfinite(y->m->share) ? y->m->share : -1;
    if (order == 0)
        order = (left < right) - (left > right);
    if (order == 0)
        order = strcmp(x->c->id, y->c->id);
    return order != 0 ? order : strcmp(x->m->name, y->m->name);
}

/* By test, the largest share first, those that cannot be drawn last. */
static void choose(struct roofline *r)
{
    qsort(r->spots, r->count, sizeof *r->spots, compare_spots);
    r->low = INFINITY;
    r->high = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct spot *s = &r->spots[i];
        const bool first = i == 0 || strcmp(r->spots[i - 1].c->test, s->c->test) != 0;
        const bool last = i + 1 == r->count || !is_drawable(&r->spots[i + 1]) ||
                          strcmp(r->spots[i + 1].c->test, s->c->test) != 0;
        s->drawn = is_drawable(s) && (r->drawable <= MARKS_MOST || first || last);
        s->named = s->drawn && first;
        r->drawn += s->drawn;
        if (s->drawn) {
            r->low = fmin(r->low, s->intensity);
            r->high = fmax(r->high, s->intensity);
        }
    }
}

/* -- roofs --------------------------------------------------------------------------------- */

static double rate_of(const struct ypi_plot_roof *roof)
{
    return ypi_quantile(roof->rates, roof->count, 0.5);
}

static bool is_on(const struct roofline *r, const struct ypi_plot_roof *roof)
{
    return strcmp(roof->device, r->device) == 0 && roof->threads == r->threads;
}

static bool starts_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Of ceilings that are no floating-point arithmetic and no memory those count that limit a mark: of
 * integers, and of transfers to and from an accelerator. A launch and
 * an exchange among ranks are no rates of either axis. */
static bool is_wanted(const struct roofline *r, const struct ypi_plot_roof *roof)
{
    const bool transfer =
        starts_with(roof->ceiling, "upload") || starts_with(roof->ceiling, "download");
    if (starts_with(roof->ceiling, "launch") || starts_with(roof->level, "bus") ||
        starts_with(roof->level, "latency"))
        return false;
    if (!transfer && !starts_with(roof->ceiling, "int"))
        return true;
    for (size_t i = 0; i < r->count; i++)
        if (r->spots[i].drawn && strcmp(r->spots[i].m->bound, roof->ceiling) == 0)
            return true;
    return false;
}

static bool is_traffic(const struct ypi_plot_roof *roof)
{
    return *roof->level != '\0' || starts_with(roof->ceiling, "upload") ||
           starts_with(roof->ceiling, "download");
}

/* Of read, copy and fill of one level the fastest; and arithmetic in floating point. */
static bool is_roof(const struct roofline *r, const struct ypi_plot_roof *roof)
{
    if (!is_on(r, roof) || !is_wanted(r, roof))
        return false;
    for (size_t i = 0; i < r->plots->roof_count && *roof->level; i++) {
        const struct ypi_plot_roof *other = &r->plots->roofs[i];
        if (is_on(r, other) && is_wanted(r, other) && strcmp(other->level, roof->level) == 0 &&
            rate_of(other) > rate_of(roof))
            return false;
    }
    return true;
}

static double best_arithmetic(const struct roofline *r)
{
    double best = 0;
    for (size_t i = 0; i < r->plots->roof_count; i++) {
        const struct ypi_plot_roof *roof = &r->plots->roofs[i];
        if (!is_traffic(roof) && is_roof(r, roof))
            best = fmax(best, rate_of(roof));
    }
    return best;
}

static double best_traffic(const struct roofline *r)
{
    double best = 0;
    for (size_t i = 0; i < r->plots->roof_count; i++) {
        const struct ypi_plot_roof *roof = &r->plots->roofs[i];
        if (is_traffic(roof) && is_roof(r, roof))
            best = fmax(best, rate_of(roof));
    }
    return best;
}

static void add_roof(struct roofline *r, const struct ypi_plot_roof *roof, double low, double high)
{
    const double rate = rate_of(roof);
    const double arithmetic = best_arithmetic(r);
    const double traffic = best_traffic(r);
    const bool memory = is_traffic(roof);
    char figure[YPI_QUANTITY_MAX];
    const char *unit = starts_with(roof->ceiling, "int") ? "op/s" : "FLOP/s";
    ypi_axis_quantity_text(figure, rate, YPI_PLAIN, memory ? "B/s" : unit);
    char *name = ypi_format("%s %s", *roof->level != '\0' ? roof->level : roof->ceiling, figure);
    char *hover =
        ypi_format("%s%s%s: %s, the median of %zu probes", roof->ceiling,
                   *roof->level != '\0' ? " from " : "", roof->level, figure, roof->count);
    /* Labels at the roofs have not always room: all are in the legend. */
    struct ypi_drawing_series *line =
        ypi_drawing_add_series(&r->figure, name, YPI_ROOF, -2 - r->dashes++);
    double from = memory ? low : traffic > 0 ? rate / traffic : low;
    double to = memory && arithmetic > 0 ? fmin(high, arithmetic / rate) : high;
    from = fmax(fmin(from, to), low);
    ypi_drawing_add_point(line, from, memory ? rate * from : rate, hover, NULL, NULL);
    /* Of roofs of the same height the labels stand beside each other. */
    if (!memory)
        ypi_drawing_add_point(line, to * pow(from / to, 0.3 * r->labelled++), rate, NULL, name,
                              NULL);
    ypi_drawing_add_point(line, to, memory ? rate * to : rate, NULL, NULL, NULL);
    ypi_plot_note(r->table, hover);
    free(name);
}

static void add_roofs(struct roofline *r)
{
    /* All ridges of memory's roofs lie inside, so that each roof is seen to end. */
    const double arithmetic = best_arithmetic(r);
    double low = r->low / 2;
    double high = r->high * 2;
    for (size_t i = 0; i < r->plots->roof_count; i++) {
        const struct ypi_plot_roof *roof = &r->plots->roofs[i];
        if (is_traffic(roof) && arithmetic > 0 && is_roof(r, roof))
            high = fmax(high, 2 * arithmetic / rate_of(roof));
    }
    for (size_t i = 0; i < r->plots->roof_count; i++)
        if (is_roof(r, &r->plots->roofs[i]))
            add_roof(r, &r->plots->roofs[i], low, high);
    if (arithmetic > 0) { /* room for the labels above the highest */
        struct ypi_drawing_series *room = ypi_drawing_add_series(&r->figure, "", YPI_ROOF, -1);
        ypi_drawing_add_point(room, high, 4 * arithmetic, NULL, NULL, NULL);
    }
}

/* -- marks --------------------------------------------------------------------------------- */

static const char *limiter_of(const struct spot *s)
{
    return *s->m->bound ? s->m->bound : "unknown limit";
}

static void add_mark(struct ypi_drawing_series *series, const struct spot *s)
{
    char rate[YPI_QUANTITY_MAX];
    char intensity[YPI_QUANTITY_MAX];
    char share[64] = "";
    ypi_axis_quantity_text(rate, s->rate, YPI_PLAIN, "FLOP/s");
    ypi_axis_quantity_text(intensity, s->intensity, YPI_PLAIN, "FLOP/B");
    if (s->m->share >= 0)
        snprintf(share, sizeof share, ", share %.3g", s->m->share);
    char *hover = ypi_format("%s, %s: %s at %s, limited by %s%s", s->c->id, s->m->name, rate,
                             intensity, limiter_of(s), share);
    const char *slash = strrchr(s->c->test, '/');
    char *label =
        s->named ? ypi_svg_shortened(slash != NULL ? slash + 1 : s->c->test, 11, 150) : NULL;
    ypi_drawing_add_point(series, s->intensity, s->rate, hover, label, s->c->id);
    free(label);
    free(hover);
}

/* The limiters, those of most marks first, and in the last series what is left. */
static char **limiters(const struct roofline *r, int *count)
{
    char **names = NULL;
    *count = 0;
    for (;;) {
        const char *best = NULL;
        size_t most = 0;
        for (size_t i = 0; i < r->count; i++) {
            size_t have = 0;
            const char *name = limiter_of(&r->spots[i]);
            if (!r->spots[i].drawn || ypi_list_has((const char *const *)names, *count, name))
                continue;
            for (size_t k = i; k < r->count; k++)
                have += r->spots[k].drawn && strcmp(limiter_of(&r->spots[k]), name) == 0;
            if (have > most) {
                most = have;
                best = name;
            }
        }
        if (best == NULL || *count == LIMITERS_MOST)
            return names;
        names = ypi_list_add(names, (*count)++, ypi_strdup(best));
    }
}

/* The marks of one limiter; NULL: of all that are not among `names`. */
static void add_limiter(struct roofline *r, const char *limiter, char *const *names, int count,
                        int look)
{
    struct ypi_drawing_series *series = NULL;
    for (size_t i = 0; i < r->count; i++) {
        const char *name = limiter_of(&r->spots[i]);
        if (!r->spots[i].drawn ||
            (limiter != NULL ? strcmp(name, limiter) != 0
                             : ypi_list_has((const char *const *)names, count, name)))
            continue;
        if (series == NULL) {
            char *legend =
                limiter != NULL ? ypi_format("limit: %s", limiter) : ypi_strdup("other limits");
            series = ypi_drawing_add_series(&r->figure, legend, YPI_POINTS, look);
            free(legend);
        }
        add_mark(series, &r->spots[i]);
    }
}

static void add_marks(struct roofline *r)
{
    int count;
    char **names = limiters(r, &count);
    for (int i = 0; i < count; i++)
        add_limiter(r, names[i], names, count, i);
    add_limiter(r, NULL, names, count, LIMITERS_MOST);
    ypi_list_free(names, count);
}

static void fill_table(struct roofline *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct spot *s = &r->spots[i];
        const bool timed = s->m->median > 0;
        cJSON *row = ypi_plot_row(r->table, s->c, NULL);
        char *name = ypi_utf8(s->m->name);
        char *bound = ypi_utf8(s->m->bound);
        cJSON_AddItemToArray(row, cJSON_CreateString(name));
        cJSON_AddItemToArray(row, cJSON_CreateString(bound));
        ypi_plot_cell(row, s->m->share);
        ypi_plot_cell(row, s->intensity);
        ypi_plot_cell(row, s->rate);
        ypi_plot_cell(row, timed && s->m->bytes > 0 ? s->m->bytes / s->m->median : NAN);
        free(name);
        free(bound);
    }
}

static void add_notes(struct roofline *r)
{
    const size_t left = r->bytes_alone + r->flops_alone;
    if (left > 0) {
        struct ypi_text note = {0};
        ypi_text_add(&note, "Not drawn (in the table): ");
        if (r->bytes_alone > 0)
            ypi_text_add(&note, "%zu with bytes and no operations, or less than one in 1,000 bytes",
                         r->bytes_alone);
        if (r->flops_alone > 0)
            ypi_text_add(&note, "%s%zu with operations and no bytes",
                         r->bytes_alone > 0 ? ", " : "", r->flops_alone);
        ypi_text_add(&note, ".");
        ypi_plot_note(r->table, ypi_strdup(note.data));
        ypi_drawing_add_note(&r->figure, ypi_text_take(&note));
    }
    if (r->neither > 0)
        ypi_plot_note(r->table,
                      ypi_format("%zu measurements have neither, or no time", r->neither));
    if (r->drawn < r->drawable)
        ypi_drawing_add_note(&r->figure, ypi_format("Of each test those nearest to and farthest "
                                                    "from their limit: %zu of %zu.",
                                                    r->drawn, r->drawable));
    if (r->threads > 0) {
        char *note = ypi_format("Roofs: medians of what was probed on %d thread%s.", r->threads,
                                r->threads > 1 ? "s" : "");
        ypi_plot_note(r->table, ypi_strdup(note));
        ypi_drawing_add_note(&r->figure, note);
    }
}

static void draw(struct roofline *r)
{
    static const char *const columns[] = {
        "case",          "measurement",   "limiter", "share", "intensity (FLOP/B)",
        "rate (FLOP/s)", "traffic (B/s)", NULL};
    char threads[32] = "";
    if (r->pictures > 1)
        snprintf(threads, sizeof threads, "%d thread%s", r->threads, r->threads == 1 ? "" : "s");
    const bool first = r->threads == r->all_threads[0];
    const struct ypi_plot_group group = {.test = *r->device ? r->device : "cpu",
                                         .suffix = first ? (char[]){""} : threads};
    r->table = ypi_plot_table(columns);
    r->figure = ypi_plot_figure(r->plots, &group, "roofline", "Roofline");
    if (first && r->pictures > 1) { /* its name is the same, however many there are */
        free(r->figure.title);
        r->figure.title = ypi_format("Roofline: %s, %s", group.test, threads);
    }
    r->figure.x = (struct ypi_drawing_axis){
        .title = ypi_strdup("Arithmetic intensity"), .unit = ypi_strdup("FLOP/B"), .log = true};
    r->figure.y = (struct ypi_drawing_axis){
        .title = ypi_strdup("Rate"), .unit = ypi_strdup("FLOP/s"), .log = true};
    add_roofs(r);
    add_marks(r);
    add_notes(r);
    fill_table(r);
    r->figure.description = ypi_format(
        "Rates of %zu measurements over their arithmetic intensity, below the ceilings that were "
        "probed beside them.",
        r->drawn);
    ypi_plot_make(r->plots, &r->figure, "run", r->table);
}

static void draw_threads(struct ypi_plots *p, const char *device, const int *threads, int count,
                         int at)
{
    struct roofline r = {.plots = p,
                         .device = device,
                         .all_threads = threads,
                         .pictures = count,
                         .threads = threads[at]};
    collect(&r);
    choose(&r);
    if (r.drawn > 0)
        draw(&r);
    free(r.spots);
}

/* The numbers of threads whose measurements can be drawn, that of most first; gives how many. */
static int choose_threads(const struct roofline *all, int threads[THREADS_MOST])
{
    enum { DIFFERENT_MOST = 64 };
    struct {
        int threads;
        size_t count;
    } seen[DIFFERENT_MOST];
    int different = 0;
    for (size_t i = 0; i < all->count; i++) {
        int at = 0;
        while (at < different && seen[at].threads != all->spots[i].m->threads)
            at++;
        if (!is_drawable(&all->spots[i]) || at == DIFFERENT_MOST)
            continue;
        if (at == different) {
            seen[different].threads = all->spots[i].m->threads;
            seen[different++].count = 0;
        }
        seen[at].count++;
    }
    int count = 0;
    for (; count < THREADS_MOST && count < different; count++) {
        int best = 0;
        for (int i = 1; i < different; i++)
            best = seen[i].count > seen[best].count ? i : best;
        threads[count] = seen[best].threads;
        seen[best].count = 0;
    }
    return count;
}

static void draw_device(struct ypi_plots *p, const char *device)
{
    int threads[THREADS_MOST] = {0};
    struct roofline all = {.plots = p, .device = device, .all_threads = threads, .pictures = 1};
    collect(&all); /* with one picture, all belong to it */
    const int count = choose_threads(&all, threads);
    free(all.spots);
    for (int i = 0; i < count; i++)
        draw_threads(p, device, threads, count, i);
}

void ypi_plot_rooflines(struct ypi_plots *p)
{
    char **devices = NULL;
    int count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (!ypi_list_has((const char *const *)devices, count, p->cases[i].device))
            devices = ypi_list_add(devices, count++, ypi_strdup(p->cases[i].device));
    for (int i = 0; i < count; i++)
        draw_device(p, devices[i]);
    ypi_list_free(devices, count);
}
