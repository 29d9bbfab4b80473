/* Points in time as a command line names them. */
#pragma once

#include <stdbool.h>

/* The seconds since 1970 from `first` on that are before `past`. */
struct ypi_span {
    double first, past;
};

#define YPI_TIME_ALLOWED \
    "a date such as 2026-11-22, a time of UTC such as 2026-11-22T17:30 or 2026-11-22T17:30:05Z, " \
    "or how long ago, such as 30m, 12h, 7d or 2w"

/* "2026-11-22": that day of UTC; "2026-11-22T17:30": that minute; "2026-11-22T17:30:05": that
 * second; with a blank instead of the T or a Z at the end all the same (ISO 8601). "7d" is the
 * moment that was so long before `now`, without extent: seconds, minutes, hours, days, weeks. */
bool ypi_parse_time(const char *text, double now, struct ypi_span *out);
