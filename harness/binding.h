/* Which processors and memory a run may use, and which thread stays where. */
#ifndef YPI_BINDING_H
#define YPI_BINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/device.h>

#define YPI_CPUS_MAX 4096

enum ypi_bind {
    YPI_BIND_AUTO = 0, /* cores where there are several memory nodes, else none */
    YPI_BIND_NONE,
    YPI_BIND_CORES, /* every thread to a core of its own, memory to the node it runs on */
};

/* "0-3,8": processors as the kernel numbers them, into `out` (a byte each, 1: named). False with
 * yp_last_error() set: what is wrong, what this machine has. */
bool ypi_cpus_parse(const char *list, unsigned char *out, int most);

/* Confines this process, its threads to come and its children to the processors of `list`.
 * YP_INVALID when none of them is there or allowed. */
enum yp_status ypi_cpus_confine(const char *list);

/* Binds the calling thread to the first core this process may use and its memory to that node.
 * `bind` AUTO is resolved. YP_UNSUPPORTED with the reason where the system does not let it. */
enum yp_status ypi_bind_self(enum ypi_bind bind);

/* Binds every other thread of the process (a pool exists by now) to the next core in turn, hyper-
 * threads last. Returns how many were bound. Threads that carry an affinity of their own already
 * (OMP_PROC_BIND, a library) are left alone. */
int ypi_bind_threads(enum ypi_bind bind);

/* As many processors as this process may use. */
int ypi_processors(void);

#endif
