/* A filter of results in SQL. */
#pragma once

#include "base/text/text.h"
#include "harness/history/history.h"

enum { YPI_WHERE_MAX = 8 };

struct ypi_where {
    struct ypi_text sql; /* " AND ..." of the tables `run` and `r` (result) */
    const char *parameters[YPI_WHERE_MAX];
    int count;
    bool of_results; /* asks for something of `r`, so that a run without results is not meant */
    char *cases;     /* a JSON array of the ids that are meant; NULL: of cases nothing is asked */
    char since[32], before[32];
};

/* False with yp_last_error() set; to be freed in any case. The parameters point into the filter and
 * into `w`, neither of which may move. */
bool ypi_where_make(struct ypi_where *w, sqlite3 *db, const struct ypi_filter *filter);
void ypi_where_free(struct ypi_where *w);
