/* The timed measurements of a run as Google Benchmark writes its own (its JSON of schema 1), for
 * the tools that read that: an entry a measurement, `real_time` being its median.
 * docs/google-benchmark.md says what stands where. */
#include "base/numbers/stats.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text/output.h"
#include "harness/report/repeats.h"
#include "harness/report/reporter.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Tests, in the order in which their cases come. */
struct family {
    const struct yp_test *test;
    char *last; /* id of its last case; owned */
    int instances;
};

struct benchmark {
    FILE *out;
    const struct ypi_session *s;
    struct ypi_repeats repeats;
    struct family *families;
    int family_count;
    bool any; /* entry was written */
};

#define NANOSECONDS 1e9

/* -- JSON ---------------------------------------------------------------------------------- */

/* JSON has no number for what is not finite: there is then no such member. */
static void put_number(cJSON *object, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
}

static void put_entry(struct benchmark *b, cJSON *entry)
{
    char *text = ypi_json_text(entry, false);
    if (text != NULL)
        fprintf(b->out, "%s\n    %s", b->any ? "," : "", text);
    b->any = true;
    free(text);
    cJSON_Delete(entry);
}

/* -- the context --------------------------------------------------------------------------- */

/* Of the first processor. */
static cJSON *caches(void)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < 8; i++) {
        static const char *const what[] = {"type", "level", "size", "shared_cpu_list"};
        char text[4][64] = {"", "", "", ""};
        for (int k = 0; k < 4; k++) {
            char *path = ypi_format("/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, what[k]);
            if (ypi_read_file(path, text[k], sizeof text[k]) > 0)
                text[k][strcspn(text[k], "\n")] = '\0';
            free(path);
        }
        uint64_t size = 0;
        unsigned char shared[YPI_CPUS_MAX] = {0};
        if (!ypi_parse_size(text[2], &size) || !ypi_cpus_parse(text[3], shared, YPI_CPUS_MAX))
            continue;
        int sharing = 0;
        for (int k = 0; k < YPI_CPUS_MAX; k++)
            sharing += shared[k] != 0;
        cJSON *cache = cJSON_CreateObject();
        cJSON_AddStringToObject(cache, "type", text[0]);
        cJSON_AddNumberToObject(cache, "level", atoi(text[1]));
        cJSON_AddNumberToObject(cache, "size", (double)size);
        cJSON_AddNumberToObject(cache, "num_sharing", sharing);
        cJSON_AddItemToArray(list, cache);
    }
    return list;
}

static double fact(const struct ypi_session *s, const char *key)
{
    const char *text = ypi_environment_get(s->environment, key);
    double value = NAN;
    return text != NULL && ypi_parse_double(text, &value) ? value : NAN;
}

/* As the kernel tells it of the first processor; NaN: it does not. */
static double megahertz(void)
{
    static const char key[] = "cpu MHz";
    char text[4096];
    double value = NAN;
    const char *at =
        ypi_read_file("/proc/cpuinfo", text, sizeof text) > 0 ? strstr(text, key) : NULL;
    if (at != NULL && sscanf(at + sizeof key - 1, " : %lf", &value) != 1)
        value = NAN;
    return value;
}

static void put_fact(cJSON *context, const char *name, const struct ypi_session *s, const char *key)
{
    const char *text = ypi_environment_get(s->environment, key);
    if (text != NULL)
        cJSON_AddStringToObject(context, name, text);
}

static cJSON *context_of(const struct ypi_session *s)
{
    cJSON *context = cJSON_CreateObject();
    char when[64];
    double load[3];
    time_t now = (time_t)ypi_wall_clock();
    struct tm broken;
    localtime_r(&now, &broken);
    size_t length = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S%z", &broken);
    if (length > 2) { /* +0100 is to be +01:00 */
        memmove(when + length - 1, when + length - 2, 3);
        when[length - 2] = ':';
    }
    cJSON_AddStringToObject(context, "date", when);
    put_fact(context, "host_name", s, "hostname");
    cJSON_AddStringToObject(context, "executable", s->program);
    put_number(context, "num_cpus", fact(s, "cpu.threads"));
    put_number(context, "mhz_per_cpu", megahertz());
    const char *governor = ypi_environment_get(s->environment, "cpu.governor");
    if (governor != NULL)
        cJSON_AddBoolToObject(context, "cpu_scaling_enabled", strcmp(governor, "performance") != 0);
    cJSON_AddItemToObject(context, "caches", caches());
    cJSON *averages = cJSON_AddArrayToObject(context, "load_avg");
    int known = getloadavg(load, 3);
    for (int i = 0; i < known; i++)
        cJSON_AddItemToArray(averages, cJSON_CreateNumber(load[i]));
    cJSON_AddStringToObject(context, "library_version", "yieldpoint " YPI_VERSION);
    cJSON_AddStringToObject(context, "library_build_type", "release");
    cJSON_AddNumberToObject(context, "json_schema_version", 1);
    cJSON_AddStringToObject(context, "run", s->run_id);
    put_fact(context, "machine", s, "machine.fingerprint");
    put_fact(context, "cpu_model", s, "cpu.model");
    put_fact(context, "commit", s, "git.commit");
    return context;
}

/* -- entries ------------------------------------------------------------------------------- */

static struct family *family_of(struct benchmark *b, const struct yp_case *c)
{
    struct family *f = b->families;
    while (f < b->families + b->family_count && f->test != c->test)
        f++;
    if (f == b->families + b->family_count) {
        size_t count = (size_t)b->family_count++;
        b->families = ypi_realloc(b->families, count + 1, sizeof *b->families);
        f = &b->families[count];
        *f = (struct family){.test = c->test, .instances = -1};
    }
    if (f->last == NULL || strcmp(f->last, c->id) != 0) {
        free(f->last);
        f->last = ypi_strdup(c->id);
        f->instances++;
    }
    return f;
}

/* The entry's name: that of the case, and behind a slash that of its measurement. */
static cJSON *entry_of(struct benchmark *b, const struct yp_case *c, const char *measurement)
{
    const struct family *f = family_of(b, c);
    cJSON *entry = cJSON_CreateObject();
    char *name = ypi_format("%s%s%s", c->id, measurement[0] != '\0' ? "/" : "", measurement);
    cJSON_AddStringToObject(entry, "name", name);
    cJSON_AddNumberToObject(entry, "family_index", (double)(f - b->families));
    cJSON_AddNumberToObject(entry, "per_family_instance_index", f->instances);
    cJSON_AddStringToObject(entry, "run_name", name);
    cJSON_AddStringToObject(entry, "run_type", "iteration");
    cJSON_AddNumberToObject(entry, "repetitions", b->s->o->repeat);
    cJSON_AddNumberToObject(entry, "repetition_index", c->repeat);
    free(name);
    return entry;
}

static void put_rates(cJSON *entry, double items, double bytes, double flops, double seconds)
{
    if (items > 0)
        put_number(entry, "items_per_second", items / seconds);
    if (bytes > 0)
        put_number(entry, "bytes_per_second", bytes / seconds);
    if (flops > 0)
        put_number(entry, "flops_per_second", flops / seconds);
}

static void put_memory(cJSON *entry, const struct ypi_result *r)
{
    if (!r->has_memory)
        return;
    cJSON_AddNumberToObject(entry, "max_bytes_used", (double)r->memory.host.allocated_peak);
    cJSON_AddNumberToObject(entry, "resident_bytes", (double)r->memory.resident_peak);
    if (r->memory.has_device)
        cJSON_AddNumberToObject(entry, "device_bytes", (double)r->memory.device.allocated_peak);
}

static void put_outcome(cJSON *entry, const struct ypi_result *r)
{
    if (ypi_is_failure(r->outcome)) {
        cJSON_AddTrueToObject(entry, "error_occurred");
        cJSON_AddStringToObject(entry, "error_message", ypi_first_reason(r));
    } else if (r->outcome == YPI_SKIPPED) {
        cJSON_AddTrueToObject(entry, "skipped");
        cJSON_AddStringToObject(entry, "skip_message", r->reason != NULL ? r->reason : "");
    }
}

static void put_values(cJSON *entry, const struct ypi_result *r)
{
    for (int i = 0; i < r->value_count; i++) {
        char *name = ypi_utf8(r->values[i].name); /* as it is printed: no key is there twice */
        if (cJSON_GetObjectItemCaseSensitive(entry, name) == NULL)
            put_number(entry, name, r->values[i].value);
        free(name);
    }
}

static void add_measured(struct benchmark *b, const struct ypi_result *r,
                         const struct ypi_measured *m)
{
    cJSON *entry = entry_of(b, r->c, m->name);
    double cpu = m->cpu != NULL ? m->cpu_estimate.median : NAN;
    cJSON_AddNumberToObject(entry, "threads", m->threads);
    put_outcome(entry, r);
    cJSON_AddNumberToObject(entry, "iterations", (double)m->count * (double)m->batch);
    put_number(entry, "real_time", m->estimate.median * NANOSECONDS);
    put_number(entry, "cpu_time", isnan(cpu) ? 0 : cpu * NANOSECONDS);
    cJSON_AddStringToObject(entry, "time_unit", "ns");
    put_rates(entry, m->items, m->bytes, m->flops, m->estimate.median);
    put_number(entry, "real_time_low", m->estimate.low * NANOSECONDS);
    put_number(entry, "real_time_high", m->estimate.high * NANOSECONDS);
    put_number(entry, "real_time_mean", m->estimate.mean * NANOSECONDS);
    put_number(entry, "samples", (double)m->count);
    if (m->share_count > 0)
        put_number(entry, "share", m->share_estimate.median);
    put_memory(entry, r);
    put_values(entry, r);
    put_entry(b, entry);
}

/* Without a time: what fails before, is skipped or only checked. */
static void add_untimed(struct benchmark *b, const struct ypi_result *r)
{
    cJSON *entry = entry_of(b, r->c, "");
    cJSON_AddNumberToObject(entry, "threads", 1);
    put_outcome(entry, r);
    cJSON_AddNumberToObject(entry, "iterations", r->body > 0);
    put_number(entry, "real_time", r->body * NANOSECONDS);
    cJSON_AddNumberToObject(entry, "cpu_time", 0);
    cJSON_AddStringToObject(entry, "time_unit", "ns");
    put_memory(entry, r);
    put_values(entry, r);
    put_entry(b, entry);
}

/* An entry for each measurement of the case, or one that says why there is none. */
static enum yp_status report(struct ypi_reporting *to)
{
    const struct ypi_result *r = to->r;
    struct benchmark *b = to->state;
    int timed = 0;
    for (int i = 0; i < r->measured_count; i++)
        if (ypi_is_timed(r->measured[i].kind) && r->measured[i].count > 0) {
            add_measured(b, r, &r->measured[i]);
            timed++;
        }
    if (timed == 0)
        add_untimed(b, r);
    ypi_repeats_add(&b->repeats, r);
    return YP_OK;
}

/* -- over repeats -------------------------------------------------------------------------- */

static const char *const aggregates[] = {"mean", "median", "stddev", "cv"};

static void values_of(double out[4], const double *samples, size_t count)
{
    struct ypi_estimate e = ypi_estimate(samples, count);
    const double values[] = {e.mean, e.median, e.sd, e.sd / e.mean};
    memcpy(out, values, sizeof values);
}

static void add_aggregates(void *arg, const struct ypi_repeat *repeats, size_t count)
{
    struct benchmark *b = arg;
    double *seconds = ypi_calloc(2 * count, sizeof *seconds);
    double real[4];
    double cpu[4];
    char *name = ypi_format("%s/%s", repeats[0].id, repeats[0].name);
    for (size_t i = 0; i < count; i++) {
        seconds[i] = repeats[i].seconds * NANOSECONDS;
        seconds[count + i] = repeats[i].cpu * NANOSECONDS;
    }
    values_of(real, seconds, count);
    values_of(cpu, seconds + count, count);
    for (size_t i = 0; i < sizeof aggregates / sizeof *aggregates; i++) {
        bool ratio = strcmp(aggregates[i], "cv") == 0;
        cJSON *entry = cJSON_CreateObject();
        char *whole = ypi_format("%s_%s", name, aggregates[i]);
        cJSON_AddStringToObject(entry, "name", whole);
        cJSON_AddStringToObject(entry, "run_name", name);
        cJSON_AddStringToObject(entry, "run_type", "aggregate");
        cJSON_AddNumberToObject(entry, "repetitions", (double)count);
        cJSON_AddNumberToObject(entry, "threads", repeats[0].threads);
        cJSON_AddStringToObject(entry, "aggregate_name", aggregates[i]);
        cJSON_AddStringToObject(entry, "aggregate_unit", ratio ? "percentage" : "time");
        cJSON_AddNumberToObject(entry, "iterations", (double)count);
        put_number(entry, "real_time", real[i]);
        put_number(entry, "cpu_time", isnan(cpu[i]) ? 0 : cpu[i]);
        cJSON_AddStringToObject(entry, "time_unit", "ns");
        if (i < 2)
            put_rates(entry, repeats[0].items, repeats[0].bytes, repeats[0].flops,
                      real[i] / NANOSECONDS);
        put_entry(b, entry);
        free(whole);
    }
    free(name);
    free(seconds);
}

/* -- the file ------------------------------------------------------------------------------ */

static enum yp_status begin(struct ypi_reporting *to)
{
    struct benchmark *b = to->state = ypi_calloc(1, sizeof *b);
    *b = (struct benchmark){.out = to->out, .s = to->s};
    cJSON *context = context_of(to->s);
    char *text = ypi_json_text(context, false);
    fprintf(to->out, "{\n  \"context\": %s,\n  \"benchmarks\": [", text != NULL ? text : "{}");
    free(text);
    cJSON_Delete(context);
    return YP_OK;
}

/* With mean, median, standard deviation and their ratio of what --repeat did more than once. */
static enum yp_status end(struct ypi_reporting *to)
{
    struct benchmark *b = to->state;
    ypi_repeats_each(&b->repeats, add_aggregates, b);
    fputs("\n  ]\n}\n", to->out);
    for (int i = 0; i < b->family_count; i++)
        free(b->families[i].last);
    free(b->families);
    ypi_repeats_clear(&b->repeats);
    return YP_OK;
}

const struct ypi_reporter ypi_benchmark_reporter = {
    .options = {{"json", .value = "FILE", .help = "write times as Google Benchmark does",
                 .kind = YPI_OPTION_PATH}},
    .has_file = true,
    .on = {[YPI_RUN_BEGINS] = begin, [YPI_RESULT] = report, [YPI_RUN_ENDS] = end}};
