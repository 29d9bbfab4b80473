/* A case's past, in as few bytes as its figures allow: there are as many pasts as cases. */
#include "reports/page/escape.h"
#include "reports/page/parts.h"

#include "base/numbers/change_points.h"
#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 3, POINTS_FOR_A_CHANGE = 8, POINTS_MOST = 512 };

/* -- runs ---------------------------------------------------------------------------------- */

static void describe_run(struct ypi_text *out, const cJSON *entry)
{
    char text[64];
    ypi_page_open(out, '[');
    snprintf(text, sizeof text, "%.8s", ypi_text_of(entry, "run"));
    ypi_page_string(out, text);
    ypi_format_time(text, ypi_real(entry, "began"));
    text[strcspn(text, ":") > 0 ? 16 : 0] = '\0'; /* of the run: to the minute */
    ypi_page_string(out, text);
    snprintf(text, sizeof text, "%.12s", ypi_text_of(entry, "commit"));
    ypi_page_string(out, text);
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "dirty")))
        ypi_page_string(out, "dirty");
    ypi_page_close(out, ']');
}

/* Cases name the same runs in the same order: the one after `guess` is tried first. */
static size_t number_of(struct ypi_page_runs *runs, const cJSON *entry, size_t guess)
{
    const char *id = ypi_text_of(entry, "run");
    if (guess < runs->count && strcmp(runs->ids[guess], id) == 0)
        return guess;
    for (size_t i = 0; i < runs->count; i++)
        if (strcmp(runs->ids[i], id) == 0)
            return i;
    if (runs->count == runs->room) {
        runs->room = 2 * runs->room + 64;
        runs->ids = ypi_realloc(runs->ids, runs->room, sizeof *runs->ids);
    }
    runs->ids[runs->count] = ypi_strdup(id);
    describe_run(&runs->json, entry);
    return runs->count++;
}

/* Numbers as "0-19 25 27-30". */
static void add_runs(struct ypi_page *page, struct ypi_text *out, const cJSON *past)
{
    const cJSON *entry;
    struct ypi_text list = {0};
    size_t first = 0;
    size_t last = 0;
    cJSON_ArrayForEach(entry, past)
    {
        size_t number = number_of(&page->runs, entry, entry == past->child ? 0 : last + 1);
        bool follows = entry != past->child && number == last + 1;
        if (!follows && entry != past->child && last > first)
            ypi_text_add(&list, "-%zu", last);
        if (!follows) {
            ypi_text_add(&list, "%s%zu", list.length > 0 ? " " : "", number);
            first = number;
        }
        last = number;
    }
    if (last > first)
        ypi_text_add(&list, "-%zu", last);
    ypi_page_key(out, "P");
    ypi_page_string(out, list.data);
    free(ypi_text_take(&list));
}

static void add_outcomes(struct ypi_text *out, const cJSON *past)
{
    const cJSON *entry;
    bool all_passed = true;
    cJSON_ArrayForEach(entry, past)
    {
        all_passed = all_passed && strcmp(ypi_text_of(entry, "outcome"), "passed") == 0;
    }
    if (all_passed)
        return;
    ypi_page_key(out, "O");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(entry, past) ypi_page_string(out, ypi_text_of(entry, "outcome"));
    ypi_page_close(out, ']');
}

/* Between bars; nothing stands for the same as before. */
static void add_peaks(struct ypi_text *out, const cJSON *past)
{
    const cJSON *entry;
    struct ypi_text list = {0};
    double before = NAN;
    bool any = false;
    cJSON_ArrayForEach(entry, past)
    {
        double peak = ypi_real(entry, "peak");
        bool same = peak <= before && peak >= before;
        any = any || !isnan(peak);
        ypi_text_add(&list, "%s%s", entry == past->child ? "" : "|",
                     same          ? ""
                     : isnan(peak) ? "-"
                                   : ypi_page_bytes(entry, "peak"));
        before = peak;
    }
    if (any) {
        ypi_page_key(out, "K");
        ypi_page_string(out, list.data);
    }
    free(ypi_text_take(&list));
}

void ypi_page_past(struct ypi_page *page, struct ypi_text *out, const struct ypi_report_case *one)
{
    if (cJSON_GetArraySize(one->past) == 0)
        return;
    add_runs(page, out, one->past);
    add_outcomes(out, one->past);
    add_peaks(out, one->past);
}

/* -- one measurement's --------------------------------------------------------------------- */

static const cJSON *measurement_in(const cJSON *entry, const char *name)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(entry, "measurements"))
    {
        if (strcmp(ypi_text_of(m, "name"), name) == 0)
            return m;
    }
    return NULL;
}

static const char *unit_of(const char *figure)
{
    const char *unit = strchr(figure, ' ');
    return unit != NULL ? unit : "";
}

/* "1.234;1.2;1.3 ms": value, low and high, the unit once where all three have the same, and not
 * again where the point before had it. */
static void add_point(struct ypi_text *list, const cJSON *m, char unit[8], bool intervals)
{
    const char *of[3] = {ypi_page_seconds(m, "median"), ypi_page_seconds(m, "low"),
                         ypi_page_seconds(m, "high")};
    const char *units[3] = {unit_of(of[0]), unit_of(of[1]), unit_of(of[2])};
    if (!intervals || !*of[1] || !*of[2]) {
        of[1] = of[2] = "";
        units[1] = units[2] = units[0];
    }
    bool same = strcmp(units[0], units[1]) == 0 && strcmp(units[0], units[2]) == 0;
    if (!same) {
        ypi_text_add(list, "%s;%s;%s", of[0], of[1], of[2]);
        *unit = '\0';
        return;
    }
    ypi_text_add(list, "%.*s", (int)strcspn(of[0], " "), of[0]);
    if (*of[1])
        ypi_text_add(list, ";%.*s;%.*s", (int)strcspn(of[1], " "), of[1], (int)strcspn(of[2], " "),
                     of[2]);
    if (strcmp(unit, units[0]) != 0)
        ypi_text_add(list, "%s", units[0]);
    snprintf(unit, 8, "%s", units[0]);
}

/* Where no interval is apart from another, a change of the level would not matter; and to look for
 * one takes a millisecond. */
static bool may_change(const double *low, const double *high, size_t count)
{
    double highest_low = -INFINITY;
    double lowest_high = INFINITY;
    for (size_t i = 0; i < count; i++) {
        highest_low = fmax(highest_low, low[i]);
        lowest_high = fmin(lowest_high, high[i]);
    }
    return count >= POINTS_FOR_A_CHANGE && highest_low > lowest_high;
}

struct points {
    double value[POINTS_MOST], low[POINTS_MOST], high[POINTS_MOST];
    size_t place[POINTS_MOST]; /* in the past */
    size_t count;
};

static void take_point(struct points *p, const cJSON *m, size_t place)
{
    double median = ypi_real(m, "median");
    if (!(median > 0) || !isfinite(median) || p->count == POINTS_MOST)
        return;
    p->value[p->count] = log(median);
    p->low[p->count] = fmin(ypi_real(m, "low"), median);
    p->high[p->count] = fmax(ypi_real(m, "high"), median);
    p->place[p->count++] = place;
}

static void add_changes(struct ypi_text *out, const struct points *p)
{
    size_t places[POINTS_MOST / LEAST + 1];
    if (!may_change(p->low, p->high, p->count))
        return;
    size_t found = ypi_change_points(
        p->value, p->count,
        &(struct ypi_change_search){.least = LEAST,
                                    .error = 0.05,
                                    .correlation = ypi_neighbour_correlation(p->value, p->count),
                                    .estimated_from = p->count},
        places);
    if (found == 0)
        return;
    struct ypi_text list = {0};
    for (size_t i = 0; i < found; i++)
        ypi_text_add(&list, "%s%zu", i > 0 ? " " : "", p->place[places[i]]);
    ypi_page_key(out, "c");
    ypi_page_string(out, list.data);
    free(ypi_text_take(&list));
}

void ypi_page_past_of(struct ypi_text *out, const struct ypi_report_case *one, const char *name,
                      bool intervals)
{
    struct points *p = ypi_calloc(1, sizeof *p);
    struct ypi_text list = {0};
    char unit[8] = "";
    const cJSON *entry;
    size_t place = 0;
    cJSON_ArrayForEach(entry, one->past)
    {
        const cJSON *m = measurement_in(entry, name);
        ypi_text_add(&list, "%s", place > 0 ? "|" : "");
        if (m != NULL)
            add_point(&list, m, unit, intervals);
        take_point(p, m, place++);
    }
    if (place > 0) {
        ypi_page_key(out, "y");
        ypi_page_string(out, list.data);
        add_changes(out, p);
    }
    free(ypi_text_take(&list));
    free(p);
}
