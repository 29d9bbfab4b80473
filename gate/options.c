#include "gate/options.h"

#include "base/text/text.h"

/* Where the option's value is kept. */
static double *place(void *values, const struct ypi_option *option)
{
    return (double *)((char *)values + option->offset);
}

char *ypi_read_threshold(void *values, const struct ypi_option *option, const char *text)
{
    double *to = place(values, option);
    bool right = ypi_parse_part(text, to) && *to >= 0.001 && *to <= 1;
    return right ? NULL : ypi_strdup("a part from 0.1% to 100%, such as 3%");
}

char *ypi_read_error(void *values, const struct ypi_option *option, const char *text)
{
    double *to = place(values, option);
    bool right = ypi_parse_part(text, to) && *to >= 1e-6 && *to <= 0.25;
    return right ? NULL : ypi_strdup("a rate from 1e-6 to 0.25, such as 1% or 0.01");
}

char *ypi_read_budget(void *values, const struct ypi_option *option, const char *text)
{
    double *to = place(values, option);
    bool right = ypi_parse_duration(text, to) && *to >= 1 && *to <= 1e7;
    return right ? NULL : ypi_strdup("a time from 1s, such as 90s, 5m or 1h");
}
