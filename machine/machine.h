/* The machine: its topology, its accelerators and their measured ceilings. */
#pragma once

#include "harness/history/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/device.h>

struct ypi_figures {
    struct ypi_figure *list; /* owned: free() */
    size_t count, capacity;
};

void ypi_figures_add(struct ypi_figures *figures, const struct ypi_figure *figure);

/* Adds the median, least and greatest of several runs; NaN when there are none. */
void ypi_figures_add_runs(struct ypi_figures *figures, const struct ypi_figure *figure,
                          const double *runs, size_t count);

/* Sorts by ceiling, then level of memory, instruction set and number of threads. */
void ypi_figures_sort(struct ypi_figures *figures);

/* Adds all stored figures of this machine. */
enum yp_status ypi_figures_load(sqlite3 *db, const char *machine, struct ypi_figures *figures);

/* Measures all figures of the host; storage is that of `directory`. Shows its progress on the
 * standard error stream when that is a terminal. */
void ypi_calibrate(struct ypi_figures *out, const char *directory);

/* Replaces the progress line on the standard error stream, if that is a terminal; "" clears it. */
void ypi_calibrate_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An accelerator of this machine. */
enum { YPI_MACHINE_DEVICES = 8 };
struct ypi_machine_device {
    char name[16];              /* "cuda:0"; its facts are those of ypi_device_fact() */
    const char *absent;         /* why it cannot be used; NULL: it can. Not owned */
    struct ypi_figures figures; /* its ceilings; `list` owned */
};

/* Finds the accelerators, each by a process of its own; returns how many entries it filled, at
 * least 1: without an accelerator the first entry says why. */
int ypi_devices_find(struct ypi_machine_device out[YPI_MACHINE_DEVICES]);

/* The key of its ceilings in the history, instead of a machine's fingerprint: it names the model,
 * since another card in the same slot has other ceilings. The caller frees. */
char *ypi_device_key(const char *machine, const struct ypi_machine_device *d);

/* Measures all its ceilings, except those it has no unit for. Errors are printed on the standard
 * error stream; figures measured before an error are kept. */
void ypi_device_calibrate(struct ypi_machine_device *d);

/* Seconds from the start to the end of a process or thread, the mean of `count` in sequence; NaN
 * when the system refuses one. */
double ypi_launch_processes(int count);
double ypi_launch_programs(int count); /* `true`, found by PATH */
double ypi_launch_threads(int count);

/* A file without a name of `bytes` (whole MiB) in `directory`, with O_DIRECT where the file system
 * supports it. NULL with yp_last_error() set: no space, no right. */
struct ypi_storage;
struct ypi_storage *ypi_storage_open(const char *directory, size_t bytes);
/* B/s until the device has the data; NaN on an error. */
double ypi_storage_write(struct ypi_storage *storage);
/* B/s of reading the written data; NaN on an error or when they differ. */
double ypi_storage_read(struct ypi_storage *storage);
void ypi_storage_close(struct ypi_storage *storage); /* takes NULL */

/* Matrix products of OpenBLAS, if that is installed. NULL: it is not. */
struct ypi_blas;
struct ypi_blas *ypi_blas_open(int threads);
double ypi_blas_single(struct ypi_blas *blas); /* op/s of one sgemm; NaN when it is wrong */
double ypi_blas_double(struct ypi_blas *blas);
void ypi_blas_close(struct ypi_blas *blas); /* takes NULL */

struct hwloc_topology;

/* Packages, memory nodes, caches, cores and processors as an indented tree with one line for equal
 * neighbours. The caller frees. */
char *ypi_machine_picture(struct hwloc_topology *topology);
char *ypi_this_machine_picture(void); /* "" when hwloc cannot read it */

/* `yieldpoint machine`; argv[0] is the subcommand's name. Returns the exit code. */
int ypi_machine_command(int argc, char **argv);
