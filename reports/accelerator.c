#include "reports/accelerator.h"

#include "base/stats.h"
#include "base/text.h"
#include "harness/record/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As they are named in table `series`, in the order of their columns. */
static const struct column {
    const char *name, *heading;
} columns[] = {
    {"clock", "clock Hz"},          {"temperature", "temperature C"}, {"power", "power W"},
    {"utilisation", "utilisation"}, {"memory used", "memory used B"}, {"throttled", "throttled"}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* nvmlClocksEventReasons, "NVML API Reference Guide" (NVIDIA): those that slow the work. */
static const struct {
    uint64_t bit;
    const char *name;
} reasons[] = {{0x4, "its power cap"},
               {0x8, "the hardware"},
               {0x20, "heat"},
               {0x40, "heat, by the hardware"},
               {0x80, "the power brake"}};
#define SLOWED UINT64_C(0xec)

static void add_reasons(struct ypi_text *text, uint64_t bits)
{
    const char *before = "";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if ((bits & reasons[i].bit) != 0) {
            ypi_text_add(text, "%s%s", before, reasons[i].name);
            before = ", ";
        }
}

static uint64_t bits_of(double value)
{
    return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

/* -- for a document -------------------------------------------------------------------------- */

static void add_real(cJSON *object, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

cJSON *ypi_accelerator_summary(const cJSON *values)
{
    const cJSON *item;
    size_t count = 0;
    double *known = ypi_calloc((size_t)cJSON_GetArraySize(values) + 1, sizeof *known);
    cJSON_ArrayForEach(item, values)
    {
        if (cJSON_IsNumber(item))
            known[count++] = item->valuedouble;
    }
    struct ypi_estimate e = ypi_estimate(known, count);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "count", (double)count);
    add_real(object, "least", e.min);
    add_real(object, "median", e.median);
    add_real(object, "most", e.max);
    free(known);
    return object;
}

static cJSON *throttled(const cJSON *values)
{
    const cJSON *item;
    struct ypi_text text = {0};
    uint64_t all = 0;
    int slowed = 0;
    cJSON_ArrayForEach(item, values)
    {
        uint64_t bits = cJSON_IsNumber(item) ? bits_of(item->valuedouble) : 0;
        slowed += (bits & SLOWED) != 0;
        all |= bits;
    }
    add_reasons(&text, all);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "count", cJSON_GetArraySize(values));
    cJSON_AddNumberToObject(object, "slowed", slowed);
    cJSON_AddStringToObject(object, "by", text.length > 0 ? text.data : "");
    free(ypi_text_take(&text));
    return object;
}

cJSON *ypi_accelerator_series(sqlite3 *db, bool *ok, const char *result_id, bool samples)
{
    cJSON *series = cJSON_CreateObject();
    cJSON *found = ypi_store_rows(
        db, "SELECT name, seconds, value FROM series WHERE result_id = ? ORDER BY name", 1,
        &result_id);
    *ok = *ok && found != NULL;
    cJSON *row;
    cJSON_ArrayForEach(row, found)
    {
        const char *name = ypi_text_of(row, "name");
        const cJSON *values = cJSON_GetObjectItemCaseSensitive(row, "value");
        cJSON *one =
            strcmp(name, "throttled") == 0 ? throttled(values) : ypi_accelerator_summary(values);
        const cJSON *at = cJSON_GetObjectItemCaseSensitive(row, "seconds");
        const cJSON *last = cJSON_GetArrayItem(at, cJSON_GetArraySize(at) - 1);
        bool known = last != NULL && cJSON_IsNumber(last);
        add_real(one, "duration", known ? last->valuedouble : (double)NAN);
        if (samples) {
            cJSON_AddItemToObject(one, "seconds",
                                  cJSON_DetachItemFromObjectCaseSensitive(row, "seconds"));
            cJSON_AddItemToObject(one, "values",
                                  cJSON_DetachItemFromObjectCaseSensitive(row, "value"));
        }
        cJSON_AddItemToObject(series, name, one);
    }
    cJSON_Delete(found);
    return series;
}

/* -- for a person ---------------------------------------------------------------------------- */

void ypi_accelerator_name(char out[128], const char *device, const cJSON *facts)
{
    char size[YPI_FIGURE_MAX] = "";
    const char *model = ypi_text_of(facts, "gpu.name");
    const char *driver = ypi_text_of(facts, "gpu.driver");
    snprintf(out, 128, "%s", device);
    if (strncmp(device, "cuda", 4) != 0 || !*model)
        return;
    ypi_format_bytes(size, strtod(ypi_text_of(facts, "gpu.memory"), NULL));
    snprintf(out, 128, "%.16s (%.48s, %.20s%s%.24s)", device, model, size,
             *driver ? ", driver " : "", driver);
}

static void format(char out[YPI_FIGURE_MAX], const char *column, double value)
{
    if (isnan(value))
        snprintf(out, YPI_FIGURE_MAX, "-");
    else if (strcmp(column, "clock") == 0)
        snprintf(out, YPI_FIGURE_MAX, "%.4g GHz", 1e-9 * value);
    else if (strcmp(column, "temperature") == 0)
        snprintf(out, YPI_FIGURE_MAX, "%.3g C", value);
    else if (strcmp(column, "power") == 0)
        snprintf(out, YPI_FIGURE_MAX, "%.4g W", value);
    else if (strcmp(column, "utilisation") == 0)
        snprintf(out, YPI_FIGURE_MAX, "%.3g %%", 100 * value);
    else
        ypi_format_bytes(out, value);
}

static void print_launches(const cJSON *figures)
{
    char seconds[YPI_FIGURE_MAX];
    double launching = ypi_real(figures, "gpu launching");
    ypi_format_seconds(seconds, launching);
    printf("    on the device: ");
    if (!(ypi_real(figures, "gpu held") > 0))
        printf("run as it was launched, for it waits for its own results");
    else if (launching >= 0)
        printf("launched before it ran, a batch held for %s meanwhile", seconds);
    else
        printf("launched before it ran");
    puts(ypi_real(figures, "gpu graph") > 0 ? "; replayed from a graph" : "");
}

static void print_condition(const cJSON *figures)
{
    static const struct {
        const char *member, *column, *text;
    } told[] = {{"gpu clock", "clock", "clock "},
                {"gpu clock least", "clock", "least "},
                {"gpu clock most", "clock", "of at most "},
                {"gpu temperature", "temperature", "up to "},
                {"gpu power", "power", ""},
                {"gpu utilisation", "utilisation", "utilised "},
                {"gpu memory used", "memory used", "memory used up to "}};
    struct ypi_text text = {0};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        char figure[YPI_FIGURE_MAX];
        double value = ypi_real(figures, told[i].member);
        format(figure, told[i].column, value);
        if (!isnan(value))
            ypi_text_add(&text, "%s%s%s", text.length > 0 ? ", " : "", told[i].text, figure);
    }
    if (text.length > 0)
        ypi_put_lines(text.data, 6);
    free(ypi_text_take(&text));
}

static void print_set_aside(const cJSON *measurement, const cJSON *figures)
{
    struct ypi_text text = {0};
    char least[YPI_FIGURE_MAX];
    char most[YPI_FIGURE_MAX];
    const cJSON *aside = cJSON_GetObjectItemCaseSensitive(measurement, "set_aside");
    double count = ypi_real(figures, "gpu samples set aside");
    uint64_t bits = bits_of(ypi_real(figures, "gpu throttled"));
    ypi_format_seconds(least, ypi_real(aside, "least"));
    ypi_format_seconds(most, ypi_real(aside, "most"));
    if (count > 0)
        ypi_text_add(
            &text,
            "%.0f sample%s set aside and taken again, from %s to %s: the device was slowed "
            "down by ",
            count, count > 1 ? "s" : "", least, most);
    else if ((bits & SLOWED) != 0)
        ypi_text_add(&text, "the device was slowed down by ");
    if (text.length > 0 && (bits & SLOWED) == 0)
        ypi_text_add(&text, "a clock below three quarters of its highest");
    else if (text.length > 0)
        add_reasons(&text, bits);
    if (text.length > 0)
        ypi_put_lines(text.data, 6);
    free(ypi_text_take(&text));
}

void ypi_accelerator_print(const cJSON *measurement)
{
    const cJSON *figures = cJSON_GetObjectItemCaseSensitive(measurement, "noise");
    if (!cJSON_HasObjectItem(figures, "gpu held"))
        return;
    print_launches(figures);
    print_condition(figures);
    print_set_aside(measurement, figures);
}

static void print_column(const char *name, const cJSON *one)
{
    char least[YPI_FIGURE_MAX];
    char median[YPI_FIGURE_MAX];
    char most[YPI_FIGURE_MAX];
    if (!(ypi_real(one, "count") > 0))
        return;
    if (strcmp(name, "throttled") == 0) {
        printf("  %-14sin %.0f of %.0f%s%s\n", "slowed down", ypi_real(one, "slowed"),
               ypi_real(one, "count"), *ypi_text_of(one, "by") ? ", by " : "",
               ypi_text_of(one, "by"));
        return;
    }
    format(least, name, ypi_real(one, "least"));
    format(median, name, ypi_real(one, "median"));
    format(most, name, ypi_real(one, "most"));
    printf("  %-14s%s, from %s to %s\n", name, median, least, most);
}

void ypi_accelerator_print_series(const cJSON *series)
{
    char duration[YPI_FIGURE_MAX];
    if (series == NULL || series->child == NULL)
        return;
    ypi_format_seconds(duration, ypi_real(series->child, "duration"));
    printf("device over time (%.0f looks in %s; the median, from least to most)\n",
           ypi_real(cJSON_GetObjectItemCaseSensitive(series, "throttled"), "count"), duration);
    for (int i = 0; i < COLUMNS; i++)
        print_column(columns[i].name, cJSON_GetObjectItemCaseSensitive(series, columns[i].name));
}

static void put_number(const cJSON *item)
{
    if (cJSON_IsNumber(item))
        printf("%.9g", item->valuedouble);
}

bool ypi_accelerator_put_csv(const cJSON *series)
{
    const cJSON *of[COLUMNS];
    const cJSON *seconds = NULL;
    for (int i = 0; i < COLUMNS; i++) {
        const cJSON *one = cJSON_GetObjectItemCaseSensitive(series, columns[i].name);
        of[i] = cJSON_GetObjectItemCaseSensitive(one, "values");
        if (seconds == NULL)
            seconds = cJSON_GetObjectItemCaseSensitive(one, "seconds");
    }
    if (cJSON_GetArraySize(seconds) == 0)
        return false;
    printf("seconds");
    for (int i = 0; i < COLUMNS; i++)
        printf(",%s", columns[i].heading);
    putchar('\n');
    for (int at = 0; at < cJSON_GetArraySize(seconds); at++) {
        put_number(cJSON_GetArrayItem(seconds, at));
        for (int i = 0; i < COLUMNS; i++) {
            putchar(',');
            put_number(cJSON_GetArrayItem(of[i], at));
        }
        putchar('\n');
    }
    return true;
}
