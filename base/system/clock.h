/* The system's clocks. */
#ifndef YPI_CLOCK_H
#define YPI_CLOCK_H

double ypi_now(void);               /* monotonic seconds */
double ypi_wall_clock(void);        /* seconds since 1970 */
double ypi_processor_seconds(void); /* of all threads of this process */

/* Seconds: no processor does anything in less. A tenth of a cycle at 5 GHz. */
#define YPI_IMPOSSIBLE_SECONDS 20e-12

#endif
