/* What else went on while something was measured: from the kernel's counters. */
#pragma once

#include "harness/vocabulary/result.h"

/* Counters as they stand at one moment; what cannot be read is NaN. */
struct ypi_noise_mark {
    double at, own, busy, stolen, throttled, minor_faults, major_faults, waits, preemptions;
    double migrations, frequency, frequency_least, hot;
    int processors;
};

/* Reads them: about 0.1 ms, no memory from the heap. Busy and stolen time are those of the
 * processors that this process may use. Frequencies and heat are looked up for the first 32 of
 * these, migrations only while there are at most 64 threads: each is a file to open. */
void ypi_noise_mark(struct ypi_noise_mark *mark);

/* The same from the kernel's files under `root` ("": this machine); `cpus` names the processors, a
 * byte each, YPI_CPUS_MAX of them. Time, own time, faults and switches are this process's. */
void ypi_noise_mark_from(const char *root, const unsigned char *cpus, struct ypi_noise_mark *mark);

/* What lies between two marks of this process. Time that its children use is the others'. The
 * frequency is the mean before, the least one that of any processor before or after. */
struct ypi_noise ypi_noise_between(const struct ypi_noise_mark *begin,
                                   const struct ypi_noise_mark *end);

/* The likely cause of noise as one sentence such as "other processes used 48 % of the processors";
 * false when nothing stands out. `threads`: that the work used. Of stolen, throttled and others'
 * time and a fallen frequency it is the one that cost the work most; only without these it is
 * preemptions, migrations, pages from disk or heat, in this order. */
bool ypi_noise_cause(const struct ypi_noise *noise, int threads, char *out, size_t size);

/* Seconds: the kernel counts a processor's time in hundredths, and what is below two of them may be
 * its rounding. */
#define YPI_NOISE_GRAIN 0.02

/* Whether the work, of at most so many threads, had to share its processors, or the hypervisor or
 * the control group's quota held it back. It may then be slow for that alone. */
bool ypi_noise_crowded(const struct ypi_noise *noise, int threads);

/* At most how many times longer the work took because the hypervisor and the quota held it back: 1
 * where nothing did; infinity where nothing bounds it. */
double ypi_noise_stretch(const struct ypi_noise *noise);
