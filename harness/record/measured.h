/* The part of record.c that stores a measurement. */
#ifndef YPI_RECORD_MEASURED_H
#define YPI_RECORD_MEASURED_H

#include "harness/record/row.h"
#include "harness/result.h"

/* All rows of the measurement at `position` of a result that is stored already; false when one of
 * them cannot be, and sqlite3_errmsg() says why. */
bool ypi_record_measured(const struct ypi_statements *all, const char *result_id, int position,
                         const struct ypi_measured *m);

#endif
