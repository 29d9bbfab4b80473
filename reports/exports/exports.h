/* What `yieldpoint history export` writes for other programs: OpenMetrics text and TensorBoard's
 * event files. */
#pragma once

#include "harness/history/history.h"

/* What is exported: the results that `filter` means, oldest first. */
struct ypi_export {
    sqlite3 *db;
    const struct ypi_filter *filter;
    long long results; /* out: how many were written */
};

/* The newest result of each case on each machine as OpenMetrics text (version 1.0). The file
 * appears whole or not at all; "-": the standard output. YP_IO with yp_last_error() set. */
enum yp_status ypi_export_openmetrics(struct ypi_export *e, const char *path);

/* One event file for each result, DIRECTORY/CASE/RUN/events.out.tfevents...: its values,
 * measurements, samples and series as scalars by step and by time. Made, if it does not exist. A
 * second export of the same results replaces the same files. YP_IO with yp_last_error() set. */
enum yp_status ypi_export_tensorboard(struct ypi_export *e, const char *directory);

/* The columns of a training log (a CSV with the column `step`, as models/train/ writes it) as
 * scalars by step, DIRECTORY/NAME/events.out.tfevents.... YP_IO or YP_INVALID with yp_last_error()
 * set: the file, the line and what is wrong in it. */
enum yp_status ypi_export_log(const char *path, const char *directory);
