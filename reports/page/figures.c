/* Figures of a document as texts. */
#include "reports/page/parts.h"

#include "harness/history/history.h"
#include "reports/format.h"
#include "reports/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ypi_page_seconds(const cJSON *object, const char *name)
{
    double value = ypi_real(object, name);
    return isnan(value) ? "" : ypi_seconds(value);
}

const char *ypi_page_bytes(const cJSON *object, const char *name)
{
    double value = ypi_real(object, name);
    return isnan(value) ? "" : ypi_bytes_of(object, name);
}

void ypi_page_interval(struct ypi_text *out, const char *low, const char *high)
{
    const char *of_low = strchr(low, ' ');
    const char *of_high = strchr(high, ' ');
    bool same = of_low != NULL && of_high != NULL && strcmp(of_low, of_high) == 0;
    if (!*low || !*high)
        return;
    if (same)
        ypi_text_add(out, "%.*s\u2013", (int)(of_low - low), low);
    else
        ypi_text_add(out, "%s \u2013 ", low);
    ypi_text_add(out, "%s", high);
}

void ypi_page_position(char out[3], double value, double least, double most)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    double part = most > least ? (value - least) / (most - least) : 0.5;
    unsigned place = part > 0 ? (unsigned)lround(4095 * fmin(part, 1)) : 0;
    out[0] = letters[place >> 6];
    out[1] = letters[place & 63];
    out[2] = '\0';
}

/* -- budgets ------------------------------------------------------------------------------- */

static const char *unit_in(const cJSON *list, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(ypi_text_of(item, "name"), name) == 0)
            return ypi_text_of(item, "unit");
    }
    return "";
}

/* Of the measurement or value that the budget names. */
static const char *unit_of(const cJSON *document, const char *name)
{
    const char *unit = unit_in(cJSON_GetObjectItemCaseSensitive(document, "measurements"), name);
    return *unit ? unit : unit_in(cJSON_GetObjectItemCaseSensitive(document, "values"), name);
}

void ypi_page_budget(char out[256], const cJSON *document, const cJSON *budget)
{
    ypi_store_budget_text(out, budget, unit_of(document, ypi_text_of(budget, "name")));
}

void ypi_page_budget_figure(char out[128], const cJSON *document, const cJSON *budget,
                            const char *member)
{
    double value = ypi_real(budget, member);
    *out = '\0';
    if (!isnan(value) && ypi_store_budget_measured(budget))
        ypi_store_budget_figure(out, budget, value, unit_of(document, ypi_text_of(budget, "name")));
}

/* -- ceilings ------------------------------------------------------------------------------ */

void ypi_page_ceiling(char out[256], const cJSON *document, const char *name)
{
    const cJSON *m;
    const cJSON *bound = NULL;
    *out = '\0';
    cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(document, "measurements"))
    {
        if (bound == NULL && (!*name || strcmp(ypi_text_of(m, "name"), name) == 0))
            bound = ypi_nearest_bound(ypi_member(m, "bounds"), -1, NULL);
    }
    if (bound != NULL)
        ypi_ceiling_text(out, bound);
}
