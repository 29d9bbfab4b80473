#include "reports/print.h"

#include "base/text/text.h"
#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
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

void ypi_accelerator_figure(char out[YPI_FIGURE_MAX], const char *column, double value)
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
    double launching = ypi_real(figures, "gpu launching");
    printf("    on the device: ");
    if (!(ypi_real(figures, "gpu held") > 0))
        printf("run as it was launched, for it waits for its own results");
    else if (launching >= 0)
        printf("launched before it ran, a batch held for %s meanwhile", ypi_seconds(launching));
    else
        printf("launched before it ran");
    puts(ypi_real(figures, "gpu graph") > 0 ? "; replayed from a graph" : "");
    if (ypi_real(figures, "gpu opening") >= 0)
        printf("      opened in %s\n", ypi_seconds_of(figures, "gpu opening"));
}

static void print_condition(const cJSON *figures)
{
    static const struct {
        const char *member, *column, *text;
    } figures_of[] = {{"gpu clock", "clock", "clock "},
                      {"gpu clock least", "clock", "least "},
                      {"gpu clock most", "clock", "of at most "},
                      {"gpu temperature", "temperature", "up to "},
                      {"gpu power", "power", ""},
                      {"gpu utilisation", "utilisation", "utilised "},
                      {"gpu memory used", "memory used", "memory used up to "}};
    struct ypi_text text = {0};
    for (size_t i = 0; i < sizeof figures_of / sizeof *figures_of; i++) {
        char figure[YPI_FIGURE_MAX];
        double value = ypi_real(figures, figures_of[i].member);
        ypi_accelerator_figure(figure, figures_of[i].column, value);
        if (!isnan(value))
            ypi_text_add(&text, "%s%s%s", text.length > 0 ? ", " : "", figures_of[i].text, figure);
    }
    if (text.length > 0)
        ypi_put_lines(text.data, 6);
    free(ypi_text_take(&text));
}

static void print_set_aside(const cJSON *measurement, const cJSON *figures)
{
    struct ypi_text text = {0};
    char by[128];
    const cJSON *aside = cJSON_GetObjectItemCaseSensitive(measurement, "set_aside");
    double count = ypi_real(figures, "gpu samples set aside");
    double capped = ypi_real(figures, "gpu samples power capped");
    bool slowed = ypi_store_slowed(ypi_real(figures, "gpu throttled"), by);
    if (count > 0)
        ypi_text_add(&text, "%.0f sample%s set aside and taken again, from %s to %s: ", count,
                     count > 1 ? "s" : "", ypi_seconds_of(aside, "least"),
                     ypi_seconds_of(aside, "most"));
    if (count > 0 || slowed)
        ypi_text_add(&text, "the device was slowed down by %s\n",
                     *by ? by : "a clock below three quarters of its highest");
    if (capped > 0)
        ypi_text_add(&text, "%.0f sample%s kept that the device took at its power cap\n", capped,
                     capped > 1 ? "s" : "");
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
    char min[YPI_FIGURE_MAX];
    char median[YPI_FIGURE_MAX];
    char max[YPI_FIGURE_MAX];
    if (!(ypi_real(one, "count") > 0))
        return;
    if (strcmp(name, "throttled") == 0) {
        printf("  %-14sin %.0f of %.0f%s%s\n", "slowed down", ypi_real(one, "slowed"),
               ypi_real(one, "count"), *ypi_text_of(one, "by") ? ", by " : "",
               ypi_text_of(one, "by"));
        if (ypi_real(one, "power_capped") > 0)
            printf("  %-14sin %.0f of %.0f\n", "at power cap", ypi_real(one, "power_capped"),
                   ypi_real(one, "count"));
        return;
    }
    ypi_accelerator_figure(min, name, ypi_real(one, "least"));
    ypi_accelerator_figure(median, name, ypi_real(one, "median"));
    ypi_accelerator_figure(max, name, ypi_real(one, "most"));
    printf("  %-14s%s, from %s to %s\n", name, median, min, max);
}

void ypi_accelerator_print_series(const cJSON *series)
{
    if (series == NULL || series->child == NULL)
        return;
    printf("device over time (%.0f looks in %s; the median, from least to most)\n",
           ypi_real(cJSON_GetObjectItemCaseSensitive(series, "throttled"), "count"),
           ypi_seconds_of(series->child, "duration"));
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
