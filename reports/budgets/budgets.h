/* Budgets of cases beside what earlier processes measured of them. */
#pragma once

#include "harness/history/history.h"
#include "reports/budgets/suggest.h"

#include <cJSON.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

/* One budget of one case, as its newest result declares it. */
struct ypi_budget_history {
    const char *id;   /* of the case */
    cJSON *verdict;   /* of that result: kind, name, memory, detail, allowed, unit, required */
    char label[160];  /* "min share fit" */
    double *measured; /* `figures.count`, newest first, as are the next three */
    double *low, *high;
    int *machine; /* place in the list of machines */
    struct ypi_figure_kind kind;
    struct ypi_figures_of figures;
    struct ypi_spread spread; /* NaN throughout without a figure */
    double slack; /* the limit over the typical value, or its reverse, so that 1 and more is met */
    double noticed; /* how many times worse the typical value must become until all of its interval
                     * is beyond the limit; NaN: that means nothing */
    double suggested; /* NaN: none */
    const char *why_not;
};

struct ypi_left_out {
    char why[64];
    int processes;
};

struct ypi_budgets {
    cJSON *cases;
    struct ypi_budget_history *list; /* by case */
    int count;
    int case_count; /* that have a budget */
    int process_count;
    char **machines;
    int machine_count;
    struct ypi_left_out left_out[32];
    int left_out_count;
};

struct ypi_budgets_wanted {
    const char *isa; /* of runs with --isa=NAME; NULL: of those without that option */
    bool fresh;      /* shares and peaks that have no budget yet, too: their "allowed" is NaN */
};
/* Reads what the cases' results say; takes `cases` over. False with yp_last_error() set; to be
 * freed in any case. */
bool ypi_budgets_load(sqlite3 *db, cJSON *cases, const struct ypi_budgets_wanted *what,
                      struct ypi_budgets *out);
/* As ypi_suggest() does; a limit of speed leaves the typical value at least `slack`, which is 1 or
 * more. */
void ypi_budgets_suggest(struct ypi_budgets *b, double error, double slack);
void ypi_budgets_free(struct ypi_budgets *b);

bool ypi_budget_is_required(const struct ypi_budget_history *b);

/* Those that are looser than `looser` (0: all), with suggestions where `suggest`. */
void ypi_budgets_print(const struct ypi_budgets *b, double looser, bool suggest);
/* The caller deletes. */
cJSON *ypi_budgets_document(const struct ypi_budgets *b, double looser, bool suggest);
struct ypi_budgets_writing {
    const char *path;
    const char
        *isa; /* into sections [ID isa], which get what the plain ones do not cover; or NULL */
    bool add; /* what the file does not have */
};
/* Puts the suggestions into a file of budgets and tells `out` what was done, as ypi_limits_write()
 * says. An enum ypi_command_exit. */
int ypi_budgets_write(const struct ypi_budgets *b, const struct ypi_budgets_writing *how,
                      FILE *out);

bool ypi_budget_is_loose(const struct ypi_budget_history *b, double looser);
