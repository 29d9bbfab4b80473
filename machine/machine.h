/* The machine: what it is made of and what it was measured to do at most. */
#ifndef YPI_MACHINE_H
#define YPI_MACHINE_H

#include "harness/record/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/device.h>

struct ypi_figures {
    struct ypi_figure *list; /* owned: free() */
    size_t count, capacity;
};

void ypi_figures_add(struct ypi_figures *figures, const struct ypi_figure *figure);

/* The same, from several runs: their median, least and most; NaN when there are none. */
void ypi_figures_add_runs(struct ypi_figures *figures, const struct ypi_figure *figure,
                          const double *runs, size_t count);

/* As a person reads them: by kind, then from near to far, from plain to wide, from one thread on.
 */
void ypi_figures_sort(struct ypi_figures *figures);

/* Puts the figures in the place of all that is stored of this machine. */
enum yp_status ypi_figures_store(sqlite3 *db, const char *machine,
                                 const struct ypi_figures *figures);

/* Adds all that is stored of this machine. */
enum yp_status ypi_figures_load(sqlite3 *db, const char *machine, struct ypi_figures *figures);

/* Measures everything. Storage is that of `directory`. Tells how far it is on the standard error
 * stream when that is a terminal. */
void ypi_calibrate(struct ypi_figures *out, const char *directory);

/* The line on the standard error stream, if that is a terminal, which says what is being
 * measured; "": it is taken away. */
void ypi_calibrate_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An accelerator of this machine. */
enum { YPI_MACHINE_DEVICES = 8 };
struct ypi_machine_device {
    char name[16];              /* "cuda:0"; its facts are those of ypi_device_fact() */
    const char *absent;         /* why it cannot be used; NULL: it can. Not owned */
    struct ypi_figures figures; /* its ceilings; `list` owned */
};

/* Asks for them one after the other, each in a process of its own; returns how many, 1 at least:
 * where there is none, the first says why. */
int ypi_devices_find(struct ypi_machine_device out[YPI_MACHINE_DEVICES]);

/* What its ceilings are kept under, in the place of a machine's fingerprint: another card in the
 * same slot has others. The caller frees. */
char *ypi_device_key(const char *machine, const struct ypi_machine_device *d);

/* Measures all its ceilings; those it has no unit for are left out. What went wrong is printed on
 * the standard error stream, and what was measured until then stays. */
void ypi_device_calibrate(struct ypi_machine_device *d);

/* Seconds a process or thread, of `count` one after the other, until each is gone; NaN when
 * the system refuses one. */
double ypi_launch_processes(int count);
double ypi_launch_programs(int count); /* `true`, of the PATH */
double ypi_launch_threads(int count);

/* A nameless file of `bytes` (whole MiB) in `directory` for the time between open and close, past
 * the page cache where the file system lets it. NULL with yp_last_error() set: no space, no right.
 */
struct ypi_storage;
struct ypi_storage *ypi_storage_open(const char *directory, size_t bytes);
double ypi_storage_write(struct ypi_storage *storage); /* B/s until the device has it; NaN */
double
ypi_storage_read(struct ypi_storage *storage); /* what was written; NaN also when it differs */
void ypi_storage_close(struct ypi_storage *storage); /* takes NULL */

/* Matrix products of OpenBLAS, if that is installed. NULL: it is not. */
struct ypi_blas;
struct ypi_blas *ypi_blas_open(int threads);
double ypi_blas_single(struct ypi_blas *blas); /* op/s of one sgemm; NaN when it is wrong */
double ypi_blas_double(struct ypi_blas *blas);
void ypi_blas_close(struct ypi_blas *blas); /* takes NULL */

struct hwloc_topology;

/* Packages, memory nodes, caches, cores and processors as an indented tree, in which like things
 * side by side are one line. The caller frees. */
char *ypi_machine_picture(struct hwloc_topology *topology);
char *ypi_this_machine_picture(void); /* "" when hwloc cannot read it */

/* `yieldpoint machine`: the words from its own name on; returns the exit code. */
int ypi_machine_command(int argc, char **argv);

#endif
