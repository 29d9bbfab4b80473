/* `yieldpoint machine`: the machine's parts and ceilings, measured once and kept in the history. */
#include "machine/machine.h"

#include "base/options/arguments.h"
#include "base/options/project.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/text/figures.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "device/cpu/topology.h"
#include "device/registry.h"
#include "harness/history/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All that is printed beside the topology. */
struct report {
    struct ypi_figures figures; /* of the processors and the system */
    struct ypi_machine_device devices[YPI_MACHINE_DEVICES];
    int device_count;
};

enum { FIGURE_WIDTH = 34, NAME_WIDTH = 24, COLUMNS_MAX = 8 };

/* -- as text ------------------------------------------------------------------------------- */

static void format_rate(char out[YPI_FIGURE_MAX], double rate, const char *unit)
{
    if (strcmp(unit, "s") == 0)
        ypi_format_seconds(out, rate);
    else
        ypi_format_rate(out, rate, strcmp(unit, "op/s") == 0 ? "op" : "B");
}

/* "21.5 GB/s [20.13, 22.05]": the spread in the unit of the median. */
static void format_figure(char *out, size_t size, const struct ypi_figure *f)
{
    char median[YPI_FIGURE_MAX];
    double shown = NAN;
    format_rate(median, f->rate, f->unit);
    if (isnan(f->rate) || sscanf(median, "%lf", &shown) != 1 || shown <= 0)
        snprintf(out, size, "%s", median);
    else
        snprintf(out, size, "%s [%.4g, %.4g]", median, f->low * shown / f->rate,
                 f->high * shown / f->rate);
}

static bool same_row(const struct ypi_figure *a, const struct ypi_figure *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->level, b->level) == 0 &&
           strcmp(a->isa, b->isa) == 0;
}

/* The different numbers of threads, rising. */
static int thread_counts(const struct ypi_figures *figures, int out[COLUMNS_MAX])
{
    int count = 0;
    for (size_t i = 0; i < figures->count; i++) {
        int threads = figures->list[i].threads;
        int at = 0;
        while (at < count && out[at] < threads)
            at++;
        if ((at < count && out[at] == threads) || count == COLUMNS_MAX)
            continue;
        memmove(out + at + 1, out + at, (size_t)(count - at) * sizeof *out);
        out[at] = threads;
        count++;
    }
    return count;
}

/* Padded to the column's width, except at a line's end. */
static void put_column(const char *text, bool last)
{
    if (last)
        fputs(text, stdout);
    else
        printf("%-*s", FIGURE_WIDTH, text);
}

static size_t print_row(const struct ypi_figure *row, size_t left, const int *columns, int count)
{
    char text[2 * YPI_FIGURE_MAX];
    size_t used = 0;
    bool traffic = *row->level != '\0';
    snprintf(text, sizeof text, "%s %s", row->name, traffic ? row->level : row->isa);
    printf("  %-*s", NAME_WIDTH, text);
    for (int i = 0; i < count && used < left && same_row(row, &row[used]); i++) {
        *text = '\0';
        if (row[used].threads == columns[i])
            format_figure(text, sizeof text, &row[used++]);
        bool last = used == left || !same_row(row, &row[used]);
        put_column(text, last);
    }
    putchar('\n');
    return used > 0 ? used : 1;
}

static void print_figures(const struct ypi_figures *figures)
{
    char text[32];
    int columns[COLUMNS_MAX] = {0};
    int count = thread_counts(figures, columns);
    ypi_format_time(text, figures->list[0].measured);
    printf("measured %s; medians of several runs [least, most]\n", text);
    if (columns[0] > 0)
        printf("  %-*s", NAME_WIDTH, "threads");
    for (int i = 0; i < count && columns[0] > 0; i++) {
        snprintf(text, sizeof text, "%d", columns[i]);
        put_column(text, i + 1 == count);
        if (i + 1 == count)
            putchar('\n');
    }
    for (size_t i = 0; i < figures->count;)
        i += print_row(&figures->list[i], figures->count - i, columns, count);
}

/* ", LABEL VALUE" of one of the device's facts, if it is known. */
static void print_fact(const struct ypi_machine_device *d, const char *key, const char *label)
{
    const char *value = ypi_device_fact(d->name, key);
    if (value != NULL)
        printf(", %s%s", label, value);
}

static void print_size(const struct ypi_machine_device *d, const char *key, const char *label)
{
    char size[YPI_FIGURE_MAX];
    const char *value = ypi_device_fact(d->name, key);
    if (value == NULL)
        return;
    ypi_format_bytes(size, strtod(value, NULL));
    printf(", %s%s", label, size);
}

static void print_device(const struct ypi_machine_device *d, bool only)
{
    const char *model = ypi_device_fact(d->name, "gpu.name");
    if (d->absent != NULL) {
        printf("%s%s%s\n", only ? "" : d->name, only ? "" : ": ", d->absent);
        return;
    }
    printf("%s: %s", d->name, model != NULL ? model : "a CUDA device");
    print_size(d, "gpu.memory", "");
    print_fact(d, "gpu.capability", "capability ");
    print_fact(d, "gpu.multiprocessors", "multiprocessors ");
    print_size(d, "gpu.l2", "L2 ");
    print_fact(d, "gpu.clock.most", "up to ");
    print_fact(d, "gpu.power.limit", "up to ");
    print_fact(d, "gpu.pci", "PCI ");
    print_fact(d, "gpu.driver", "driver ");
    print_fact(d, "gpu.driver.cuda", "for CUDA ");
    putchar('\n');
    if (d->figures.count > 0)
        print_figures(&d->figures);
    else
        puts("  not measured");
}

/* -- as JSON ------------------------------------------------------------------------------- */

static void add_figures(cJSON *to, const struct ypi_figures *figures)
{
    cJSON *ceilings = cJSON_AddArrayToObject(to, "ceilings");
    for (size_t i = 0; i < figures->count; i++)
        cJSON_AddItemToArray(ceilings, ypi_ceiling_document(&figures->list[i]));
}

static void add_device(cJSON *devices, const struct ypi_machine_device *d)
{
    static const char *const keys[] = {"name", "memory",     "capability",  "multiprocessors",
                                       "l2",   "clock.most", "power.limit", "ecc",
                                       "pci",  "driver",     "driver.cuda"};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "device", d->name);
    ypi_json_add_text(object, "absent", d->absent);
    cJSON *facts = cJSON_AddObjectToObject(object, "facts");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[32];
        snprintf(key, sizeof key, "gpu.%s", keys[i]);
        const char *value = ypi_device_fact(d->name, key);
        if (value != NULL)
            cJSON_AddStringToObject(facts, key, value);
    }
    add_figures(object, &d->figures);
    cJSON_AddItemToArray(devices, object);
}

static cJSON *document_of(const struct ypi_topology *topology, const struct report *report)
{
    cJSON *document = cJSON_CreateObject();
    cJSON *machine = cJSON_AddObjectToObject(document, "machine");
    cJSON_AddStringToObject(machine, "fingerprint", topology->fingerprint);
    cJSON_AddStringToObject(machine, "model", topology->model);
    cJSON_AddStringToObject(machine, "synthetic", topology->synthetic);
    cJSON_AddNumberToObject(machine, "packages", topology->packages);
    cJSON_AddNumberToObject(machine, "cores", topology->cores);
    cJSON_AddNumberToObject(machine, "threads", topology->threads);
    cJSON_AddNumberToObject(machine, "numa_nodes", topology->numa_nodes);
    cJSON_AddNumberToObject(machine, "memory", (double)topology->memory);
    add_figures(document, &report->figures);
    cJSON *devices = cJSON_AddArrayToObject(document, "devices");
    for (int i = 0; i < report->device_count; i++)
        add_device(devices, &report->devices[i]);
    return document;
}

static int print(const struct ypi_topology *topology, const struct report *report, bool json)
{
    if (json) {
        cJSON *document = document_of(topology, report);
        int code = ypi_put_json(document);
        cJSON_Delete(document);
        return code;
    }
    char *picture = ypi_this_machine_picture();
    printf("%s\nfingerprint %s\n", picture, topology->fingerprint);
    free(picture);
    print_figures(&report->figures);
    for (int i = 0; i < report->device_count; i++)
        print_device(&report->devices[i], report->device_count == 1);
    return ypi_flush();
}

/* -- the history --------------------------------------------------------------------------- */

/* The history that a run here would use: that of yieldpoint.ini, else below the project's root. */
static char *default_history(void)
{
    struct ypi_project project;
    const struct ypi_project_search usual = {0};
    char *path = ypi_project_read(&project, &usual) ? ypi_strdup(project.history) : NULL;
    ypi_project_clear(&project);
    if (path == NULL)
        return NULL;
    if (ypi_make_parents(path) != YP_OK)
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    return path;
}

/* Accelerators first: they are measured in forks, and OpenBLAS's threads do not survive a fork. */
static void measure(struct report *report, const bool wanted[], bool host, const char *path)
{
    static const volatile bool never = false;
    int lock = ypi_machine_lock(stderr, &never);
    for (int i = 0; i < report->device_count; i++)
        if (wanted[i]) {
            report->devices[i].figures.count = 0;
            ypi_device_calibrate(&report->devices[i]);
        }
    if (host) {
        char directory[YPI_PATH_MAX];
        ypi_directory_of(directory, path);
        report->figures.count = 0;
        ypi_calibrate(&report->figures, directory);
    }
    if (lock >= 0)
        close(lock);
}

static bool load(sqlite3 *db, const char *machine, struct report *report)
{
    bool ok = ypi_figures_load(db, machine, &report->figures) == YP_OK;
    for (int i = 0; i < report->device_count && ok; i++) {
        char *key = ypi_device_key(machine, &report->devices[i]);
        if (report->devices[i].absent == NULL)
            ok = ypi_figures_load(db, key, &report->devices[i].figures) == YP_OK;
        free(key);
    }
    return ok;
}

/* Measures what is missing, or everything with `again`; new figures replace the stored ones. */
static bool complete(sqlite3 *db, const char *machine, struct report *report, bool again,
                     const char *path)
{
    bool wanted[YPI_MACHINE_DEVICES] = {false};
    bool host = again || report->figures.count == 0;
    bool any = host;
    for (int i = 0; i < report->device_count; i++) {
        const struct ypi_machine_device *d = &report->devices[i];
        wanted[i] = d->absent == NULL && (again || d->figures.count == 0);
        any = any || wanted[i];
    }
    if (any)
        measure(report, wanted, host, path);
    bool ok = !host ||
              ypi_ceilings_store(db, machine, report->figures.list, report->figures.count) == YP_OK;
    for (int i = 0; i < report->device_count && ok; i++) {
        char *key = ypi_device_key(machine, &report->devices[i]);
        if (wanted[i] && report->devices[i].figures.count > 0)
            ok = ypi_ceilings_store(db, key, report->devices[i].figures.list,
                                    report->devices[i].figures.count) == YP_OK;
        free(key);
    }
    return ok;
}

static void clear(struct report *report)
{
    free(report->figures.list);
    for (int i = 0; i < report->device_count; i++)
        free(report->devices[i].figures.list);
}

static int run(const char *path, bool again, bool json)
{
    const struct ypi_topology *topology = ypi_topology();
    struct report report = {0};
    int code = YPI_COMMAND_FILE;
    if (topology == NULL) {
        fputs("yieldpoint: hwloc cannot read this machine\n", stderr);
        return YPI_COMMAND_FILE;
    }
    sqlite3 *db = ypi_store_open_to_write(path);
    if (db != NULL)
        report.device_count = ypi_devices_find(report.devices);
    if (db != NULL && load(db, topology->fingerprint, &report) &&
        complete(db, topology->fingerprint, &report, again, path)) {
        ypi_figures_sort(&report.figures);
        for (int i = 0; i < report.device_count; i++)
            ypi_figures_sort(&report.devices[i].figures);
        code = print(topology, &report, json);
    } else {
        code = ypi_file_error();
    }
    clear(&report);
    sqlite3_close(db);
    return code;
}

struct request {
    const char *file;
    bool again, json;
};

int ypi_machine_command(int argc, char **argv)
{
    struct request r = {0};
    static const struct ypi_option options[] = {
        {"history", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, file)},
        {"again", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, again)},
        {"json", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, json)},
        YPI_OPTIONS_END,
    };
    if (!ypi_arguments_read(&(struct ypi_arguments){.options = options, .values = &r}, argc, argv))
        return YPI_COMMAND_USAGE;
    char *path = r.file != NULL ? ypi_strdup(r.file) : default_history();
    int code = path != NULL ? run(path, r.again, r.json) : YPI_COMMAND_USAGE;
    free(path);
    return code;
}
