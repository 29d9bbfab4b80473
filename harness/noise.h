/* What else went on while something was measured: as the kernel's counters tell it. */
#ifndef YPI_NOISE_H
#define YPI_NOISE_H

#include "result.h"

/* Counters as they stand at one moment; what cannot be read is NaN. */
struct ypi_noise_mark {
    double at, own, busy, stolen, throttled, minor_faults, major_faults, waits, preemptions;
    double migrations, frequency, frequency_least, hot;
};

/* Reads them: about 0.1 ms, no memory from the heap. */
void ypi_noise_mark(struct ypi_noise_mark *mark);

/* What lies between two marks of this process. */
struct ypi_noise ypi_noise_between(const struct ypi_noise_mark *begin,
                                   const struct ypi_noise_mark *end);

/* The likely cause of noise, the heaviest first, as one sentence such as "other processes used 48 %
 * of the processors"; false when nothing stands out. `threads`: that the work used. */
bool ypi_noise_cause(const struct ypi_noise *noise, int threads, char *out, size_t size);

/* The members by name, for the history and for show: returns how many there are. */
int ypi_noise_count(void);
const char *ypi_noise_name(int i); /* "wall", "own", "others", ... */
double ypi_noise_value(const struct ypi_noise *noise, int i);

#endif
