/* The timed measurements of a launch as Google Benchmark writes its own (docs/google-benchmark.md).
 * There are no aggregates over repeats. */
#include "base/system/clock.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "launch/outputs/outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS 1e9

struct benchmark {
    FILE *out;
    const struct ypi_launch_results *r;
    int family, instance; /* of the case before, -1 */
    bool any;
};

/* JSON has no number for what is not finite. */
static void put_number(cJSON *object, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
}

static cJSON *context_of(const struct ypi_launch *l)
{
    cJSON *context = cJSON_CreateObject();
    char when[64];
    char host[256] = "";
    const time_t now = (time_t)ypi_wall_clock();
    struct tm broken;
    gmtime_r(&now, &broken);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S+00:00", &broken);
    gethostname(host, sizeof host - 1);
    cJSON_AddStringToObject(context, "date", when);
    ypi_json_add_text(context, "host_name", host);
    ypi_json_add_text(context, "executable", l->program);
    cJSON_AddNumberToObject(context, "num_cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
    cJSON_AddItemToObject(context, "caches", cJSON_CreateArray());
    cJSON_AddStringToObject(context, "library_build_type", "release");
    cJSON_AddNumberToObject(context, "json_schema_version", 1);
    cJSON_AddNumberToObject(context, "shards", l->count);
    return context;
}

static bool is_timed(const cJSON *m)
{
    return ypi_launch_real(m, "count") > 0 && ypi_launch_real(m, "median") > 0;
}

static size_t test_length(const char *id)
{
    const char *test = strstr(id, "::");
    return test != NULL ? (size_t)(test - id) + 2 + strcspn(test + 2, "[") : strlen(id);
}

/* Of a case, by its place among all: those of one test are neighbours. */
static void begin_case(struct benchmark *b, int i)
{
    const struct ypi_launched_case *c = &b->r->found->list[i];
    const char *before = i > 0 ? b->r->found->list[i - 1].id : "";
    const size_t length = test_length(c->id);
    if (length != test_length(before) || strncmp(before, c->id, length) != 0) {
        b->family++;
        b->instance = 0;
    } else if (strcmp(before, c->id) != 0) {
        b->instance++;
    }
}

static int repetitions_of(const struct ypi_launch_results *r, int i)
{
    const char *id = r->found->list[i].id;
    int most = 0;
    for (int k = i; k >= 0 && strcmp(r->found->list[k].id, id) == 0; k--)
        most = r->found->list[k].repeat > most ? r->found->list[k].repeat : most;
    for (int k = i; k < r->found->count && strcmp(r->found->list[k].id, id) == 0; k++)
        most = r->found->list[k].repeat > most ? r->found->list[k].repeat : most;
    return most + 1;
}

static cJSON *entry_of(const struct benchmark *b, int i, const char *measurement)
{
    const struct ypi_launched_case *c = &b->r->found->list[i];
    cJSON *entry = cJSON_CreateObject();
    char *name = ypi_format("%s%s%s", c->id, *measurement != '\0' ? "/" : "", measurement);
    ypi_json_add_text(entry, "name", name);
    cJSON_AddNumberToObject(entry, "family_index", b->family);
    cJSON_AddNumberToObject(entry, "per_family_instance_index", b->instance);
    ypi_json_add_text(entry, "run_name", name);
    cJSON_AddStringToObject(entry, "run_type", "iteration");
    cJSON_AddNumberToObject(entry, "repetitions", repetitions_of(b->r, i));
    cJSON_AddNumberToObject(entry, "repetition_index", c->repeat);
    free(name);
    return entry;
}

static void put_outcome(cJSON *entry, const struct ypi_launched_case *c)
{
    if (ypi_launch_failed(c)) {
        cJSON_AddTrueToObject(entry, "error_occurred");
        ypi_json_add_text(entry, "error_message", c->reason);
    } else if (ypi_launch_is(c, "skipped")) {
        cJSON_AddTrueToObject(entry, "skipped");
        ypi_json_add_text(entry, "skip_message", c->reason);
    }
}

static void put_rate(cJSON *entry, const char *name, const cJSON *m, const char *work)
{
    const double amount = ypi_launch_real(m, work);
    if (amount > 0)
        put_number(entry, name, amount / ypi_launch_real(m, "median"));
}

/* Peaks and values, and the end of the entry. */
static void put_entry(struct benchmark *b, cJSON *entry, const cJSON *document)
{
    const cJSON *memory = cJSON_GetObjectItem(document, "memory");
    const cJSON *host = cJSON_GetObjectItem(memory, "host");
    const cJSON *value;
    if (host != NULL) {
        put_number(entry, "max_bytes_used", ypi_launch_real(host, "allocated_peak"));
        put_number(entry, "resident_bytes",
                   ypi_launch_real(cJSON_GetObjectItem(document, "result"), "resident_peak"));
        put_number(entry, "device_bytes",
                   ypi_launch_real(cJSON_GetObjectItem(memory, "device"), "allocated_peak"));
    }
    cJSON_ArrayForEach(value, cJSON_GetObjectItem(document, "values"))
    {
        const char *name = ypi_text_of(value, "name");
        if (cJSON_GetObjectItemCaseSensitive(entry, name) == NULL)
            put_number(entry, name, ypi_launch_real(value, "value"));
    }
    char *text = ypi_json_text(entry, false);
    if (text != NULL)
        fprintf(b->out, "%s\n    %s", b->any ? "," : "", text);
    b->any = true;
    free(text);
    cJSON_Delete(entry);
}

static void put_measured(struct benchmark *b, int i, const cJSON *m, const cJSON *document)
{
    cJSON *entry = entry_of(b, i, ypi_text_of(m, "name"));
    const double cpu = ypi_launch_real(m, "cpu");
    put_number(entry, "threads", ypi_launch_real(m, "threads"));
    put_outcome(entry, &b->r->found->list[i]);
    put_number(entry, "iterations", ypi_launch_real(m, "count") * ypi_launch_real(m, "batch"));
    put_number(entry, "real_time", ypi_launch_real(m, "median") * NANOSECONDS);
    put_number(entry, "cpu_time", isnan(cpu) ? 0 : cpu * NANOSECONDS);
    cJSON_AddStringToObject(entry, "time_unit", "ns");
    put_rate(entry, "items_per_second", m, "items");
    put_rate(entry, "bytes_per_second", m, "bytes");
    put_rate(entry, "flops_per_second", m, "flops");
    put_number(entry, "real_time_low", ypi_launch_real(m, "low") * NANOSECONDS);
    put_number(entry, "real_time_high", ypi_launch_real(m, "high") * NANOSECONDS);
    put_number(entry, "real_time_mean", ypi_launch_real(m, "mean") * NANOSECONDS);
    put_number(entry, "samples", ypi_launch_real(m, "count"));
    put_number(entry, "share", ypi_launch_real(m, "share"));
    put_entry(b, entry, document);
}

static void put_untimed(struct benchmark *b, int i, const cJSON *document)
{
    cJSON *entry = entry_of(b, i, "");
    const double body = ypi_launch_real(cJSON_GetObjectItem(document, "result"), "body");
    cJSON_AddNumberToObject(entry, "threads", 1);
    put_outcome(entry, &b->r->found->list[i]);
    cJSON_AddNumberToObject(entry, "iterations", body > 0);
    put_number(entry, "real_time", (isnan(body) ? 0 : body) * NANOSECONDS);
    cJSON_AddNumberToObject(entry, "cpu_time", 0);
    cJSON_AddStringToObject(entry, "time_unit", "ns");
    put_entry(b, entry, document);
}

void ypi_launch_put_benchmark(FILE *out, const struct ypi_launch_results *r)
{
    struct benchmark b = {.out = out, .r = r, .family = -1};
    cJSON *context = context_of(r->l);
    char *text = ypi_json_text(context, false);
    fprintf(out, "{\n  \"context\": %s,\n  \"benchmarks\": [", text != NULL ? text : "{}");
    free(text);
    cJSON_Delete(context);
    for (int i = 0; i < r->found->count; i++) {
        cJSON *document = ypi_launch_document(r, &r->found->list[i]);
        const cJSON *m;
        bool timed = false;
        begin_case(&b, i);
        cJSON_ArrayForEach(m, cJSON_GetObjectItem(document, "measurements"))
        {
            if (!is_timed(m))
                continue;
            put_measured(&b, i, m, document);
            timed = true;
        }
        if (!timed)
            put_untimed(&b, i, document);
        cJSON_Delete(document);
    }
    fputs("\n  ]\n}\n", out);
}
