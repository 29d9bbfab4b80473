/* What the files of this folder share: a content as it is while it is read. */
#pragma once

#include "gate/comparison.h"
#include "reports/content/content.h"

/* One run of the history, by the order of its UUID in struct ypi_loaded. Texts are the rows'. */
struct ypi_run_row {
    const char *id, *machine, *options, *commit;
    double started;
    bool dirty, normal; /* normal: YPI_NORMAL_RUN */
};

struct ypi_loaded {
    struct ypi_content content; /* first: what the caller has */
    sqlite3 *db;                /* the caller's */
    cJSON *run_rows;
    struct ypi_run_row *all; /* of the history, by UUID */
    size_t all_count;
    char *reported, *base; /* UUIDs as JSON arrays; base: "[]" where there is none */
    cJSON *rows;           /* of the cases: what their texts are in */
    struct ypi_report_case *list;
    cJSON *base_rows; /* the results compared with */
    struct ypi_comparisons found;
    struct ypi_change *changes; /* by case */
    struct ypi_change *unsure;  /* the same */
    size_t unsure_count;
    size_t change_count;
    const char **gone;
    int past;
    struct ypi_documents *documents;
    cJSON *past_of_last;               /* of the case whose document was asked for last */
    size_t last;                       /* its place */
    sqlite3_stmt *of_case, *of_result; /* of past.c */
};

/* NULL: the history has no such run. */
const struct ypi_run_row *ypi_run_find(const struct ypi_loaded *l, const char *id);

/* Finds the runs that are reported and those that they are compared with. False with *right as
 * ypi_content_load() has it. */
bool ypi_content_find_runs(struct ypi_loaded *l, const struct ypi_content_request *what,
                           bool *right);

/* Compares the results and fills in what changed; the list has to be in the order of ids. False as
 * ypi_content_load() has it. */
bool ypi_content_compare(struct ypi_loaded *l, const struct ypi_selection *selection, bool *right);
void ypi_content_clear_changes(struct ypi_loaded *l);

/* The case in the list, which is in the order of ids; NULL: it is not there. */
struct ypi_report_case *ypi_content_find(const struct ypi_loaded *l, const char *id);

/* The past of one case; owned by the caller. NULL with yp_last_error() set. */
cJSON *ypi_content_past(struct ypi_loaded *l, const struct ypi_report_case *c);
void ypi_content_end_past(struct ypi_loaded *l);
