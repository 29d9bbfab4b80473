/* The changes as text: a plot of a line for each series that has any, the changes newest first. */
#include "gate/trend/trend.h"

#include "base/numbers/stats.h"
#include "base/text/figures.h"
#include "base/text/text.h"
#include "gate/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the plot ------------------------------------------------------------------------------ */

#define PLOT_WIDTH 60
#define LEVELS 8

static bool is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "UTF-8") != NULL || strcasestr(value, "UTF8") != NULL;
    }
    return false;
}

static const char *mark(int level)
{
    static const char *const bars[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[LEVELS] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    return is_utf8() ? bars[level] : letters[level];
}

/* The medians of as many stretches as there are columns, a '|' where a change lies between. */
static void plot(struct ypi_text *out, const struct ypi_trend_series *s)
{
    double values[PLOT_WIDTH];
    size_t columns = s->count < PLOT_WIDTH ? s->count : PLOT_WIDTH;
    double *points = ypi_calloc(s->count + 1, sizeof *points);
    double least = INFINITY;
    double most = -INFINITY;
    for (size_t i = 0; i < s->count; i++)
        points[i] = s->points[i].value;
    for (size_t i = 0; i < columns; i++) {
        size_t from = i * s->count / columns;
        values[i] = ypi_quantile(points + from, (i + 1) * s->count / columns - from, 0.5);
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    free(points);
    size_t change = 0;
    for (size_t i = 0; i < columns; i++) {
        bool passed = false;
        while (change < s->change_count && s->changes[change].place <= i * s->count / columns) {
            change++;
            passed = true;
        }
        double part = most > least ? (values[i] - least) / (most - least) : 0;
        ypi_text_add(out, "%s%s", passed ? "|" : "", mark((int)(part * (LEVELS - 1) + 0.5)));
    }
}

/* -- a change ------------------------------------------------------------------------------ */

static const char *word_of(const struct ypi_trend_series *s, const struct ypi_trend_change *c)
{
    bool more = c->after > c->before;
    if (s->quantity == YPI_TREND_TIME)
        return c->ratio.middle > 1 ? "slower" : "faster";
    return more ? "more" : "less";
}

static void add_figure(struct ypi_text *out, enum ypi_trend_quantity quantity, double value)
{
    char figure[YPI_FIGURE_MAX];
    if (quantity == YPI_TREND_TIME)
        ypi_format_seconds(figure, value);
    else if (quantity == YPI_TREND_PEAK)
        ypi_format_bytes(figure, value);
    else
        ypi_print_double(figure, value);
    ypi_text_add(out, "%s", figure);
}

static void add_interval(struct ypi_text *out, struct ypi_shift ratio)
{
    ypi_text_add(out, "%.3f times", ratio.middle);
    if (ratio.low > 0 && isfinite(ratio.high))
        ypi_text_add(out, " [%.3f, %.3f]", ratio.low, ratio.high);
}

static void add_place(struct ypi_text *out, double time, const struct ypi_trend_run *run)
{
    char text[32];
    ypi_format_time(text, time);
    ypi_text_add(out, "%s", text);
    if (*run->commit != '\0')
        ypi_text_add(out, " %.10s%s", run->commit, run->dirty ? " (not committed)" : "");
}

static void print_change(const struct ypi_trend_series *s, const struct ypi_trend_change *c)
{
    struct ypi_text text = {0};
    const struct ypi_trend_point *before = &s->points[c->place - 1];
    const struct ypi_trend_point *after = &s->points[c->place];
    ypi_text_add(&text, "  %-8s", word_of(s, c));
    add_figure(&text, s->quantity, c->before);
    ypi_text_add(&text, " -> ");
    add_figure(&text, s->quantity, c->after);
    if (s->quantity == YPI_TREND_TIME) {
        ypi_text_add(&text, ", ");
        add_interval(&text, c->ratio);
    }
    ypi_summary_line(stdout, &text);
    ypi_text_add(&text, "          between ");
    add_place(&text, before->last, before->run);
    ypi_text_add(&text, " and ");
    add_place(&text, after->first, after->run);
    ypi_summary_line(stdout, &text);
    if (isnan(c->share.middle))
        return;
    ypi_text_add(&text, "          share of its bound: ");
    add_interval(&text, c->share);
    if (c->cause == YPI_TREND_MACHINE)
        ypi_text_add(&text, "; the machine's: its ceiling changed as much");
    ypi_summary_line(stdout, &text);
}

static void print_drift(const struct ypi_trend_series *s)
{
    struct ypi_text text = {0};
    ypi_text_add(&text, "  drift   %s: ", s->drift.middle > 1 ? "slower" : "faster");
    add_interval(&text, s->drift);
    ypi_text_add(&text, " over the last %zu points, from ", s->count - s->steady);
    add_place(&text, s->points[s->steady].first, s->points[s->steady].run);
    ypi_summary_line(stdout, &text);
}

/* -- series -------------------------------------------------------------------------------- */

static void add_title(struct ypi_text *out, const struct ypi_trend_series *s)
{
    ypi_text_add(out, "%s  %s", s->id, s->name);
    if (s->quantity != YPI_TREND_TIME)
        ypi_text_add(out, " %s", ypi_trend_name(s->quantity));
    if (*s->options != '\0')
        ypi_text_add(out, "  %s", s->options);
}

static void print_series(const struct ypi_trend_series *s)
{
    struct ypi_text text = {0};
    add_title(&text, s);
    ypi_summary_line(stdout, &text);
    ypi_text_add(&text, "  ");
    plot(&text, s);
    ypi_text_add(&text, "  %zu points", s->count);
    ypi_summary_line(stdout, &text);
    if (s->drifts)
        print_drift(s);
    for (size_t i = s->change_count; i-- > 0;)
        print_change(s, &s->changes[i]);
    puts("");
}

static void print_others(const struct ypi_trend *t)
{
    struct ypi_text text = {0};
    for (size_t i = 0; i < t->series_count; i++) {
        const struct ypi_trend_series *s = &t->series[i];
        if (!ypi_trend_is_short(s) && !s->varies)
            continue;
        ypi_text_add(&text, "%s  ", s->varies ? "varies   " : "too short");
        add_title(&text, s);
        ypi_text_add(&text, ": %zu point%s", s->count, s->count == 1 ? "" : "s");
        if (!s->varies)
            ypi_text_add(&text, ", %zu more needed", YPI_TREND_POINTS - s->count);
        ypi_summary_line(stdout, &text);
    }
}

/* Points that the longest of those too short lacks. */
static size_t fewest_more(const struct ypi_trend *t)
{
    size_t fewest = YPI_TREND_POINTS;
    for (size_t i = 0; i < t->series_count; i++)
        if (ypi_trend_is_short(&t->series[i]) && YPI_TREND_POINTS - t->series[i].count < fewest)
            fewest = YPI_TREND_POINTS - t->series[i].count;
    return fewest;
}

void ypi_trend_print(const struct ypi_trend *t, const struct ypi_trend_request *r)
{
    struct ypi_trend_counts c = ypi_trend_count(t);
    for (size_t i = 0; i < t->series_count; i++)
        if (t->series[i].change_count > 0 || t->series[i].drifts)
            print_series(&t->series[i]);
    if (r->verbose)
        print_others(t);
    printf("machine %s, %zu case%s: of their times and memory %d changed, %d unchanged", t->machine,
           t->case_count, t->case_count == 1 ? "" : "s", c.changed, c.unchanged);
    if (c.too_short > 0)
        printf(", %d too short (fewer than %d points)", c.too_short, YPI_TREND_POINTS);
    if (c.varying > 0)
        printf(", %d vary by themselves", c.varying);
    printf("\n");
    if (c.too_short > 0)
        printf(
            "a series is searched from %d points on, one for each commit and day: the longest too "
            "short lacks %zu\n",
            YPI_TREND_POINTS, fewest_more(t));
    if (c.small > 0)
        printf("%d change%s of less than %g %% not told\n", c.small, c.small == 1 ? "" : "s",
               100 * r->change);
    printf("rank statistics, %g %% false alarms in all of it, intervals at 99 %%\n",
           100 * r->error);
}
