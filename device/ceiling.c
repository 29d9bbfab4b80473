#include "ceiling.h"
#include <math.h>
#include <string.h>
const char *yp_ceiling_name(enum yp_ceiling ceiling)
{
    static const char *const names[YP_CEILINGS] = {"none", "read", "copy", "fill", "fp64",
                                                   "fp32", "bf16", "int8", "int32"};
    return ceiling < YP_CEILINGS ? names[ceiling] : "?";
}
int ypi_levels(int threads, struct ypi_level *out, int most)
{
    (void)threads, (void)out, (void)most;
    return 0;
}
struct ypi_level ypi_level_of(double footprint, int threads)
{
    (void)footprint, (void)threads;
    return (struct ypi_level){.name = "memory"};
}
struct ypi_probe *ypi_probe_open(enum yp_ceiling ceiling, const struct ypi_level *level,
                                 int threads, enum yp_isa isa)
{
    (void)ceiling, (void)level, (void)threads, (void)isa;
    yp_set_error(YP_UNSUPPORTED, "no probes yet");
    return NULL;
}
double ypi_probe_run(struct ypi_probe *probe, double seconds)
{
    (void)probe, (void)seconds;
    return NAN;
}
size_t ypi_probe_bytes(const struct ypi_probe *probe)
{
    (void)probe;
    return 0;
}
void ypi_probe_close(struct ypi_probe *probe)
{
    (void)probe;
}
size_t ypi_cache_flush_bytes(void)
{
    return 64 << 20;
}
void ypi_cache_flush(void *scratch)
{
    memset(scratch, 1, ypi_cache_flush_bytes());
}
