/* The system's clocks. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

double ypi_now(void);               /* monotonic seconds */
double ypi_wall_clock(void);        /* seconds since 1970 */
double ypi_processor_seconds(void); /* of all threads of this process */

/* Seconds: no processor does anything in less. A tenth of a cycle at 5 GHz. */
#define YPI_IMPOSSIBLE_SECONDS 20e-12

/* -- kernel_clock.c ------------------------------------------------------------------------ */

/* For deadlines: monotonic seconds that the kernel itself is asked for. A program, or a library
 * that is preloaded, may put its own clock_gettime(), sleep or poll() in place of the C library's.
 */
double ypi_kernel_now(void);

/* Waits on the kernel's clock until `*word` is not `value` any more, at most `seconds`. It may come
 * back early. */
void ypi_kernel_wait(_Atomic uint32_t *word, uint32_t value, double seconds);

/* Wakes all that wait for `*word`, which was set before. */
void ypi_kernel_wake(_Atomic uint32_t *word);
