#include "counters.h"
#include "text.h"
#include <stdlib.h>
struct ypi_counters {
    int unused;
};
struct ypi_counters *ypi_counters_open(void)
{
    return ypi_calloc(1, sizeof(struct ypi_counters));
}
void ypi_counters_start(struct ypi_counters *counters)
{
    counters->unused = 0;
}
void ypi_counters_stop(struct ypi_counters *counters, struct ypi_count out[YP_COUNTERS])
{
    (void)counters, (void)out;
}
void ypi_counters_close(struct ypi_counters *counters)
{
    free(counters);
}
const char *ypi_counters_absent(void)
{
    return "no counters yet";
}
bool ypi_counts_contradict(const struct ypi_measured *m, char *out, size_t size)
{
    (void)m, (void)out, (void)size;
    return false;
}
