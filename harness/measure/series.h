/* What the accelerator does beside a case, over time. */
#pragma once

#include <stddef.h>
#include <yieldpoint/device.h>

struct ypi_series;

/* Begins a thread that asks the device ten times a second; half as often each time there are as
 * many rows as are kept. NULL where the device reports nothing. */
struct ypi_series *ypi_series_open(struct yp_device *device);

/* Ends it: `*count` rows of YPI_SERIES_COLUMNS, which the caller frees. Takes NULL. */
double *ypi_series_close(struct ypi_series *s, size_t *count);
