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

static void add_runs(struct ypi_page *page, struct ypi_text *out, const cJSON *past)
{
    const cJSON *entry;
    size_t number = page->runs.count;
    ypi_page_key(out, "P");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(entry, past)
    {
        number = number_of(&page->runs, entry, entry == past->child ? 0 : number + 1);
        ypi_page_number(out, number);
    }
    ypi_page_close(out, ']');
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

/* 0 stands for the same as before. */
static void add_peaks(struct ypi_text *out, const cJSON *past)
{
    const cJSON *entry;
    double before = NAN;
    bool any = false;
    cJSON_ArrayForEach(entry, past)
    {
        any = any || !isnan(ypi_real(entry, "peak"));
    }
    if (!any)
        return;
    ypi_page_key(out, "K");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(entry, past)
    {
        double peak = ypi_real(entry, "peak");
        if (peak == before)
            ypi_page_number(out, 0);
        else
            ypi_page_string(out, ypi_page_bytes(entry, "peak"));
        before = peak;
    }
    ypi_page_close(out, ']');
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

/* "1.234;1.2;1.3 ms": the unit once where all three have the same. */
static void add_point(struct ypi_text *out, const cJSON *m)
{
    const char *of[3] = {ypi_page_seconds(m, "median"), ypi_page_seconds(m, "low"),
                         ypi_page_seconds(m, "high")};
    struct ypi_text text = {0};
    const char *unit = strchr(of[0], ' ');
    bool interval = *of[1] && *of[2];
    if (unit == NULL || !interval) {
        ypi_page_string(out, of[0]);
        return;
    }
    const char *units[2] = {strchr(of[1], ' '), strchr(of[2], ' ')};
    bool same = units[0] != NULL && units[1] != NULL && strcmp(units[0], unit) == 0 &&
                strcmp(units[1], unit) == 0;
    if (same)
        ypi_text_add(&text, "%.*s;%.*s;%s", (int)strcspn(of[0], " "), of[0],
                     (int)strcspn(of[1], " "), of[1], of[2]);
    else
        ypi_text_add(&text, "%s;%s;%s", of[0], of[1], of[2]);
    ypi_page_string(out, text.data);
    free(ypi_text_take(&text));
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
                                    .error = 0.01,
                                    .correlation = ypi_neighbour_correlation(p->value, p->count),
                                    .estimated_from = p->count},
        places);
    if (found == 0)
        return;
    ypi_page_key(out, "c");
    ypi_page_open(out, '[');
    for (size_t i = 0; i < found; i++)
        ypi_page_number(out, p->place[places[i]]);
    ypi_page_close(out, ']');
}

void ypi_page_past_of(struct ypi_text *out, const struct ypi_report_case *one, const char *name)
{
    struct points *p = ypi_calloc(1, sizeof *p);
    const cJSON *entry;
    size_t place = 0;
    if (cJSON_GetArraySize(one->past) > 0) {
        ypi_page_key(out, "y");
        ypi_page_open(out, '[');
        cJSON_ArrayForEach(entry, one->past)
        {
            const cJSON *m = measurement_in(entry, name);
            if (m != NULL)
                add_point(out, m);
            else
                ypi_page_number(out, 0);
            take_point(p, m, place++);
        }
        ypi_page_close(out, ']');
        add_changes(out, p);
    }
    free(p);
}
