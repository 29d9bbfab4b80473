/* Budgets as a table and as a document. */
#include "reports/budgets/budgets.h"

#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET, LIMIT, TYPICAL, PROCESSES, COUNT, MACHINES, SLACK, NOTICED, SUGGESTED, COLUMNS };

struct row {
    char cells[COLUMNS][YPI_FIGURE_MAX];
};

bool ypi_budget_is_loose(const struct ypi_budget_history *b, double looser)
{
    return !(looser > 0) || (b->slack > looser && !ypi_budget_is_required(b));
}

/* A share as a bare number: the column says what it is. */
static void format_figure(char out[YPI_FIGURE_MAX], const struct ypi_budget_history *b,
                          double value)
{
    if (isnan(value))
        snprintf(out, YPI_FIGURE_MAX, "-");
    else if (strcmp(ypi_text_of(b->verdict, "kind"), "min share") == 0)
        snprintf(out, YPI_FIGURE_MAX, "%.3g", value);
    else
        ypi_store_budget_figure(out, b->verdict, value, ypi_text_of(b->verdict, "unit"));
}

static void format_part(char out[YPI_FIGURE_MAX], double part, double of)
{
    if (isnan(part) || (part > 0 && !(fabs(of) > 0)))
        snprintf(out, YPI_FIGURE_MAX, "-");
    else if (!(part > 0))
        snprintf(out, YPI_FIGURE_MAX, "0 %%");
    else
        ypi_format_percent(out, part / fabs(of), 2);
}

static void format_factor(char out[YPI_FIGURE_MAX], double factor, const char *unit)
{
    if (isnan(factor))
        snprintf(out, YPI_FIGURE_MAX, "-");
    else
        snprintf(out, YPI_FIGURE_MAX, "%.3g%s", factor, isinf(factor) ? "" : unit);
}

static int machines_of(const struct ypi_budget_history *b)
{
    int different = 0;
    for (int i = 0; i < b->figures.count; i++) {
        int k = 0;
        while (b->machine[k] != b->machine[i])
            k++;
        different += k == i;
    }
    return different;
}

static void fill(struct row *row, const struct ypi_budget_history *b, bool suggest)
{
    int machines = machines_of(b);
    snprintf(row->cells[BUDGET], YPI_FIGURE_MAX, "  %.120s", b->label);
    format_figure(row->cells[LIMIT], b, ypi_real(b->verdict, "allowed"));
    format_figure(row->cells[TYPICAL], b, b->spread.typical);
    format_part(row->cells[PROCESSES], b->spread.processes, b->spread.typical);
    snprintf(row->cells[COUNT], YPI_FIGURE_MAX, "%d", b->figures.count);
    if (machines > 1)
        format_part(row->cells[MACHINES], b->spread.machines, b->spread.typical);
    else
        snprintf(row->cells[MACHINES], YPI_FIGURE_MAX, "-");
    format_factor(row->cells[SLACK], b->slack, "");
    format_factor(row->cells[NOTICED], b->noticed, "x");
    if (!suggest && ypi_budget_is_required(b))
        snprintf(row->cells[SUGGESTED], YPI_FIGURE_MAX, "required");
    else if (suggest && b->why_not)
        snprintf(row->cells[SUGGESTED], YPI_FIGURE_MAX, "%s", b->why_not);
    else if (suggest)
        format_figure(row->cells[SUGGESTED], b, b->suggested);
}

/* Names to the left, figures to the right; what may be a reason is the last. */
static void put_row(const struct row *row, const int *width)
{
    for (int i = 0; i < COLUMNS; i++) {
        const char *cell = row->cells[i];
        int pad = width[i] - ypi_line_columns(cell);
        if (*cell == '\0')
            continue;
        if (i > 0)
            printf("  ");
        if (i > 0 && i < SUGGESTED)
            printf("%*s", pad, "");
        (void)ypi_put_line(cell, 0);
        if (i == BUDGET)
            printf("%*s", pad, "");
    }
    putchar('\n');
}

static void put_left_out(const struct ypi_budgets *b)
{
    for (int i = 0; i < b->left_out_count; i++)
        printf("%s%s (%d)", i > 0 ? ", " : "left out, in processes: ", b->left_out[i].why,
               b->left_out[i].processes);
    if (b->left_out_count > 0)
        putchar('\n');
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* Of a list that a limit on the slack has made shorter, too. */
static void put_summary(const struct ypi_budgets *b, double looser)
{
    int loose = 0;
    int machines = 0;
    for (int i = 0; i < b->count; i++)
        loose += ypi_budget_is_loose(&b->list[i], looser);
    for (int m = 0; m < b->machine_count; m++) {
        bool used = false;
        for (int i = 0; i < b->count; i++)
            for (int k = 0; k < b->list[i].figures.count; k++)
                used = used || b->list[i].machine[k] == m;
        machines += used;
    }
    if (looser > 0)
        printf("%d of %d budget%s %s looser than %g\n", loose, b->count, plural(b->count),
               loose == 1 ? "is" : "are", looser);
    else
        printf("%d budget%s of %d case%s, from %d process%s on %d machine%s\n", b->count,
               plural(b->count), b->case_count, plural(b->case_count), b->process_count,
               b->process_count == 1 ? "" : "es", machines, plural(machines));
    put_left_out(b);
}

void ypi_budgets_print(const struct ypi_budgets *b, double looser, bool suggest)
{
    struct row *rows = ypi_calloc((size_t)b->count + 1, sizeof *rows);
    int width[COLUMNS] = {0};
    rows[0] = (struct row){
        {"budget", "limit", "typical", "spread", "processes", "machines", "slack", "noticed", ""}};
    if (suggest)
        snprintf(rows[0].cells[SUGGESTED], YPI_FIGURE_MAX, "suggested");
    int listed = 0;
    for (int i = 0; i < b->count; i++) {
        if (!ypi_budget_is_loose(&b->list[i], looser))
            continue;
        fill(&rows[i + 1], &b->list[i], suggest);
        listed++;
    }
    for (int i = 0; i <= b->count; i++)
        for (int k = 0; k < COLUMNS; k++)
            if (ypi_line_columns(rows[i].cells[k]) > width[k])
                width[k] = ypi_line_columns(rows[i].cells[k]);
    const char *id = NULL;
    if (listed > 0)
        put_row(&rows[0], width);
    for (int i = 0; i < b->count; i++) {
        if (!ypi_budget_is_loose(&b->list[i], looser))
            continue;
        if (!id || strcmp(id, b->list[i].id) != 0)
            printf("%s\n", id = b->list[i].id);
        put_row(&rows[i + 1], width);
    }
    put_summary(b, looser);
    free(rows);
}

/* -- as JSON ------------------------------------------------------------------------------- */

static void add_text(cJSON *object, const char *name, const char *text)
{
    if (text && *text)
        cJSON_AddStringToObject(object, name, text);
    else
        cJSON_AddNullToObject(object, name);
}

static cJSON *document_of(const struct ypi_budget_history *b, bool suggest)
{
    static const char *const of_verdict[] = {"kind",   "name", "memory",
                                             "detail", "unit", "required"};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "case", b->id);
    cJSON_AddStringToObject(object, "budget", b->label);
    for (size_t i = 0; i < sizeof of_verdict / sizeof *of_verdict; i++)
        add_text(object, of_verdict[i], ypi_text_of(b->verdict, of_verdict[i]));
    ypi_json_add_real(object, "limit", ypi_real(b->verdict, "allowed"));
    ypi_json_add_real(object, "typical", b->spread.typical);
    ypi_json_add_real(object, "least", b->spread.least);
    ypi_json_add_real(object, "most", b->spread.most);
    ypi_json_add_real(object, "spread_of_processes", b->spread.processes);
    ypi_json_add_real(object, "spread_of_machines", b->spread.machines);
    cJSON_AddNumberToObject(object, "processes", b->figures.count);
    cJSON_AddNumberToObject(object, "machines", machines_of(b));
    ypi_json_add_real(object, "slack", b->slack);
    ypi_json_add_real(object, "noticed", b->noticed);
    if (suggest) {
        ypi_json_add_real(object, "suggested", b->suggested);
        add_text(object, "why_not", b->why_not);
    }
    return object;
}

cJSON *ypi_budgets_document(const struct ypi_budgets *b, double looser, bool suggest)
{
    cJSON *document = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(document, "budgets");
    for (int i = 0; i < b->count; i++)
        if (ypi_budget_is_loose(&b->list[i], looser))
            cJSON_AddItemToArray(list, document_of(&b->list[i], suggest));
    cJSON *left_out = cJSON_AddArrayToObject(document, "left_out");
    for (int i = 0; i < b->left_out_count; i++) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "why", b->left_out[i].why);
        cJSON_AddNumberToObject(object, "processes", b->left_out[i].processes);
        cJSON_AddItemToArray(left_out, object);
    }
    return document;
}
