/* Measures every ceiling of the host, several times each. */
#include "machine/machine.h"

#include "base/system/clock.h"
#include "device/ceiling/ceiling.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define PROBE_SECONDS 0.03
#define STORAGE_BYTES ((size_t)64 << 20)
#define STORAGE_SECONDS 4.0 /* no further run after this: slow storage is measured less often */
enum { RUNS = 7, STORAGE_RUNS = 5, BLAS_RUNS = 5 };
enum { PROCESSES = 32, PROGRAMS = 16, THREADS = 128 }; /* launched in a run */

void ypi_calibrate_progress(const char *format, ...)
{
    va_list arguments;
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
}

/* -- probes -------------------------------------------------------------------------------- */

static void measure_probe(struct ypi_figures *out, enum yp_ceiling ceiling,
                          const struct ypi_level *level, int threads, enum yp_isa isa)
{
    double runs[RUNS];
    size_t count = 0;
    struct ypi_figure figure = {.threads = threads};
    snprintf(figure.name, sizeof figure.name, "%s", yp_ceiling_name(ceiling));
    snprintf(figure.level, sizeof figure.level, "%.7s", level != NULL ? level->name : "");
    snprintf(figure.isa, sizeof figure.isa, "%s", yp_isa_name(isa));
    snprintf(figure.unit, sizeof figure.unit, "%s", level != NULL ? "B/s" : "op/s");
    ypi_calibrate_progress("measuring %s %s %s, threads: %d", figure.name, figure.level, figure.isa,
                           threads);
    struct ypi_probe *probe = ypi_probe_open(ceiling, level, threads, isa);
    while (probe != NULL && count < RUNS)
        runs[count++] = ypi_probe_run(probe, PROBE_SECONDS);
    ypi_probe_close(probe);
    ypi_figures_add_runs(out, &figure, runs, count);
}

static void measure_traffic(struct ypi_figures *out, int threads)
{
    struct ypi_level levels[YPI_LEVELS_MAX];
    int count = ypi_levels(threads, levels, YPI_LEVELS_MAX);
    for (int c = YP_READ; c <= YP_FILL; c++)
        for (int i = 0; i < count; i++)
            measure_probe(out, (enum yp_ceiling)c, &levels[i], threads, yp_isa());
}

static void measure_arithmetic(struct ypi_figures *out, int threads)
{
    for (int c = YP_FP64; c <= YP_INT32; c++)
        for (int isa = YP_ISA_BASELINE; isa <= (int)yp_isa(); isa++)
            measure_probe(out, (enum yp_ceiling)c, NULL, threads, (enum yp_isa)isa);
}

/* -- launches, storage, OpenBLAS ----------------------------------------------------------- */

static void measure_launch(struct ypi_figures *out, const char *name, double (*launch)(int),
                           int launches)
{
    double runs[RUNS];
    struct ypi_figure figure = {.unit = "s", .threads = 1};
    snprintf(figure.name, sizeof figure.name, "%s", name);
    ypi_calibrate_progress("measuring %s", name);
    for (int i = 0; i < RUNS; i++)
        runs[i] = launch(launches);
    ypi_figures_add_runs(out, &figure, runs, RUNS);
}

static void measure_storage(struct ypi_figures *out, const char *name, struct ypi_storage *storage,
                            double (*move)(struct ypi_storage *))
{
    double runs[STORAGE_RUNS];
    size_t count = 0;
    struct ypi_figure figure = {.unit = "B/s", .threads = 1};
    snprintf(figure.name, sizeof figure.name, "%s", name);
    ypi_calibrate_progress("measuring %s", name);
    double end = ypi_now() + STORAGE_SECONDS;
    while (storage != NULL && count < STORAGE_RUNS && (count == 0 || ypi_now() < end))
        runs[count++] = move(storage);
    ypi_figures_add_runs(out, &figure, runs, count);
}

static void measure_blas(struct ypi_figures *out, const char *name, int threads,
                         double (*product)(struct ypi_blas *))
{
    double runs[BLAS_RUNS];
    struct ypi_figure figure = {.unit = "op/s", .threads = threads};
    snprintf(figure.name, sizeof figure.name, "%s", name);
    ypi_calibrate_progress("measuring %s, threads: %d", name, threads);
    struct ypi_blas *blas = ypi_blas_open(threads);
    if (blas == NULL)
        return;
    (void)product(blas); /* warm-up: creates its threads and buffers */
    for (int i = 0; i < BLAS_RUNS; i++)
        runs[i] = product(blas);
    ypi_blas_close(blas);
    ypi_figures_add_runs(out, &figure, runs, BLAS_RUNS);
}

/* One thread, and as many as there are processors; returns how many different counts these are. */
static int thread_counts(int counts[2])
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        processors = CPU_COUNT(&allowed);
    counts[0] = 1;
    counts[1] = (int)processors;
    return processors > 1 ? 2 : 1;
}

void ypi_calibrate(struct ypi_figures *out, const char *directory)
{
    int threads[2];
    int kinds = thread_counts(threads);
    measure_launch(out, "fork", ypi_launch_processes, PROCESSES);
    measure_launch(out, "exec", ypi_launch_programs, PROGRAMS);
    measure_launch(out, "thread", ypi_launch_threads, THREADS);
    for (int i = 0; i < kinds; i++) {
        measure_traffic(out, threads[i]);
        measure_arithmetic(out, threads[i]);
    }
    struct ypi_storage *storage = ypi_storage_open(directory, STORAGE_BYTES);
    if (storage == NULL)
        fprintf(stderr, "warning: %s\n", yp_last_error());
    measure_storage(out, "storage write", storage, ypi_storage_write);
    measure_storage(out, "storage read", storage, ypi_storage_read);
    ypi_storage_close(storage);
    /* Last: its idle threads spin for a while. */
    for (int i = 0; i < kinds; i++) {
        measure_blas(out, "sgemm", threads[i], ypi_blas_single);
        measure_blas(out, "dgemm", threads[i], ypi_blas_double);
    }
    ypi_figures_sort(out);
    ypi_calibrate_progress("%s", "");
}
