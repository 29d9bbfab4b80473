/* Which processors and memory a run may use, and which thread stays where. */
#pragma once

#include <stdbool.h>
#include <yieldpoint/device.h>

#define YPI_CPUS_MAX 4096

enum ypi_bind {
    YPI_BIND_AUTO = 0, /* cores where there are several memory nodes, else none */
    YPI_BIND_NONE,
    YPI_BIND_CORES, /* every thread to a core of its own, memory to the node it runs on */
};

/* "0-3,8": processors as the kernel numbers them, into `out` (a byte each, 1: named). False with
 * yp_last_error() set: what is wrong, what this machine has. */
bool ypi_cpus_parse(const char *list, unsigned char *out, int capacity);

/* Confines this process, its threads to come and its children to the processors of `list`.
 * YP_INVALID when none of them is there or allowed. */
enum yp_status ypi_cpus_confine(const char *list);

/* Binds the calling thread to the first core this process may use and its memory to that node.
 * Threads it starts afterwards inherit that core until ypi_bind_threads moves them on. `bind` AUTO
 * is resolved. YP_UNSUPPORTED with the reason where the system does not let it. */
enum yp_status ypi_bind_self(enum ypi_bind bind);

/* Binds every other thread of the process (a pool exists by now) to the next core in turn, hyper-
 * threads last, always to one that the fewest are bound to; those of an earlier call stay. Returns
 * how many were bound. Threads that carry an affinity of their own already (OMP_PROC_BIND, a
 * library) are left alone, and so are those that block all signals: helpers of libraries, which
 * wait most of the time and would take a core from a worker. */
int ypi_bind_threads(enum ypi_bind bind);

/* Threads of the process that may work for a case: all but those that block every signal (probes of
 * ceilings, what a library keeps for itself). */
int ypi_working_threads(void);

/* As many processors as this process may use. */
int ypi_processors(void);

/* These processors, a byte each, YPI_CPUS_MAX of them. They are what all threads together may use
 * when it is first asked for (by any function here), less what ypi_cpus_confine takes away, and
 * stay the same when threads are bound later. */
const unsigned char *ypi_cpus_allowed(void);

/* Those that the calling thread may use now, YPI_CPUS_MAX bytes; false when that cannot be told. */
bool ypi_cpus_now(unsigned char *out);

struct ypi_places;

/* Gives this process the places of processors, so that it does not read the machine itself. Call it
 * before anything is bound; `places` stays in use. */
void ypi_bind_among(const struct ypi_places *places);

/* The places that it was given, or else those of the machine; NULL when it cannot be read. */
const struct ypi_places *ypi_places_here(void);

/* One of these processors after the other, as threads are to be bound: in the order of the cores,
 * which keeps to one node until it is full, first one of every core, then the second ones. Returns
 * how many there are; `out` takes `capacity`. */
int ypi_bind_order(const struct ypi_places *places, const unsigned char *allowed, int *out,
                   int capacity);

/* What AUTO means for these processors; the others are what they are. */
enum ypi_bind ypi_bind_resolve(const struct ypi_places *places, const unsigned char *allowed,
                               enum ypi_bind bind);
