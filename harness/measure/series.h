/* What the accelerator does beside a case, over time. */
#ifndef YPI_SERIES_H
#define YPI_SERIES_H

#include <stddef.h>
#include <yieldpoint/device.h>

/* A row: monotonic seconds since the series began, then these of enum ypi_series_column. */
enum ypi_series_column {
    YPI_SERIES_AT,
    YPI_SERIES_CLOCK,       /* Hz */
    YPI_SERIES_TEMPERATURE, /* degrees Celsius */
    YPI_SERIES_POWER,       /* W */
    YPI_SERIES_UTILISATION, /* 0 to 1 */
    YPI_SERIES_USED,        /* bytes of the device's memory, by all processes */
    YPI_SERIES_THROTTLED,   /* NVML's reasons */
    YPI_SERIES_COLUMNS
};

const char *ypi_series_name(enum ypi_series_column column); /* "clock", ... */

struct ypi_series;

/* Begins a thread that asks the device ten times a second; half as often each time there are as
 * many rows as are kept. NULL where the device reports nothing. */
struct ypi_series *ypi_series_open(struct yp_device *device);

/* Ends it: `*count` rows of YPI_SERIES_COLUMNS, which the caller frees. Takes NULL. */
double *ypi_series_close(struct ypi_series *s, size_t *count);

#endif
