/* Probes of ceilings: short runs of kernels that do nothing but what the ceiling is about. */
#pragma once

#include "device/cpu/levels.h"

#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/device.h>
#include <yieldpoint/isa.h>

/* Those from here on are accelerators' alone. */
enum { YPI_CPU_CEILINGS = YP_INT32 + 1 };

/* Of memory or its caches. */
static inline bool ypi_is_memory_traffic(enum yp_ceiling ceiling)
{
    return ceiling >= YP_READ && ceiling <= YP_FILL;
}

/* Between host and accelerator. */
static inline bool ypi_is_transfer(enum yp_ceiling ceiling)
{
    return ceiling >= YP_UPLOAD && ceiling <= YP_DOWNLOAD_PAGEABLE;
}

static inline bool ypi_is_traffic(enum yp_ceiling ceiling)
{
    return ypi_is_memory_traffic(ceiling) || ypi_is_transfer(ceiling);
}

/* Of data that ranks exchange. */
static inline bool ypi_is_exchange(enum yp_ceiling ceiling)
{
    return ceiling >= YP_ALL_REDUCE && ceiling <= YP_POINT_TO_POINT;
}

static inline bool ypi_is_arithmetic(enum yp_ceiling ceiling)
{
    return ceiling != YP_NO_CEILING && !ypi_is_traffic(ceiling) && !ypi_is_exchange(ceiling);
}

struct ypi_probe;

/* Gets buffers and threads ready, on as many of the processors that this process was given as
 * `threads` says (0: all of them). `level` matters for traffic only. NULL with yp_last_error() set:
 * YP_INVALID, YP_OUT_OF_MEMORY. Buffers are filled with values that are neither zero nor
 * denormal; those of arithmetic kernels are chosen so that nothing overflows. */
struct ypi_probe *ypi_probe_open(enum yp_ceiling ceiling, const struct ypi_level *level,
                                 int threads, enum yp_isa isa);

/* Runs the kernel on all threads at once for about `seconds` and returns the rate: what the threads
 * did together over the time from the first one's begin to the last one's end. Threads sleep
 * before and after. */
double ypi_probe_run(struct ypi_probe *probe, double seconds);

size_t ypi_probe_bytes(const struct ypi_probe *probe); /* of resident memory that it keeps */
void ypi_probe_close(struct ypi_probe *probe);         /* takes NULL */

/* Does what emptying all caches needs: `scratch` of ypi_cache_flush_bytes() is written through and
 * read. */
size_t ypi_cache_flush_bytes(void);
void ypi_cache_flush(void *scratch);
