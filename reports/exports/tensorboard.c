/* Of each case on each machine a run of TensorBoard with a step for each of its results, and of
 * each result with samples or series another one. */
#include "reports/exports/results.h"

#include "base/text/text.h"
#include "reports/exports/tfevents.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of more samples some are left out, evenly. */
#define SAMPLES_MAX 20000

/* -- a case over its results ------------------------------------------------------------------- */

struct place {
    struct ypi_events *to;
    long long step;
    double wall;
};

static void add(const struct place *at, const char *group, const char *name, double value)
{
    char *tag = ypi_format("%s/%s", group, name);
    ypi_events_add(at->to, tag, at->step, at->wall, value);
    free(tag);
}

static void add_result(const struct place *at, const cJSON *document)
{
    const cJSON *one;
    const cJSON *result = ypi_member(document, "result");
    add(at, "case", "duration (s)", ypi_real(result, "duration"));
    add(at, "memory", "resident peak (bytes)", ypi_real(result, "resident_peak"));
    cJSON_ArrayForEach(one, ypi_member(document, "measurements"))
    {
        const char *name = ypi_text_of(one, "name");
        const double rate = ypi_real(one, "items") / ypi_real(one, "median");
        add(at, "time (s)", name, ypi_real(one, "median"));
        add(at, "share of the bound", name, ypi_real(one, "share"));
        if (rate > 0)
            add(at, "rate (items a second)", name, rate);
    }
    cJSON_ArrayForEach(one, ypi_member(document, "memory"))
    {
        char *name = ypi_format("%s peak (bytes)", one->string);
        add(at, "memory", name, ypi_real(one, "allocated_peak"));
        free(name);
    }
    cJSON_ArrayForEach(one, ypi_member(document, "values"))
    {
        add(at, "value", ypi_text_of(one, "name"), ypi_real(one, "value"));
    }
}

/* -- a result by itself -------------------------------------------------------------------------
 */

static double began_of(const cJSON *document, const cJSON *measurement)
{
    const double began = ypi_real(ypi_member(measurement, "noise"), "began");
    return began > 0 ? began : ypi_real(ypi_member(document, "result"), "started");
}

/* The step is the sample's number. */
static void add_samples(struct ypi_events *to, const cJSON *document, const cJSON *measurement)
{
    const cJSON *samples = ypi_member(measurement, "samples");
    const int every = (cJSON_GetArraySize(samples) + SAMPLES_MAX - 1) / SAMPLES_MAX;
    const double batch = fmax(ypi_real(measurement, "batch"), 1);
    struct place at = {.to = to, .wall = began_of(document, measurement)};
    const cJSON *sample;
    cJSON_ArrayForEach(sample, samples)
    {
        const double seconds = cJSON_IsNumber(sample) ? sample->valuedouble : (double)NAN;
        at.wall += seconds > 0 ? batch * seconds : 0;
        if (at.step % every == 0)
            add(&at, "sample (s)", ypi_text_of(measurement, "name"), seconds);
        at.step++;
    }
}

/* The step is the row's number. */
static void add_series(struct ypi_events *to, const cJSON *document, const cJSON *column)
{
    const double began = ypi_real(ypi_member(document, "result"), "started");
    const cJSON *seconds = ypi_member(column, "seconds");
    const cJSON *value = ypi_member(column, "values");
    struct place at = {.to = to};
    seconds = seconds != NULL ? seconds->child : NULL;
    value = value != NULL ? value->child : NULL;
    for (; seconds != NULL && value != NULL; seconds = seconds->next, value = value->next) {
        at.wall = began + (cJSON_IsNumber(seconds) ? seconds->valuedouble : 0);
        if (cJSON_IsNumber(value))
            add(&at, "device", column->string, value->valuedouble);
        at.step++;
    }
}

static bool has_more(const cJSON *document)
{
    const cJSON *one;
    bool any =
        ypi_member(document, "series") != NULL && ypi_member(document, "series")->child != NULL;
    cJSON_ArrayForEach(one, ypi_member(document, "measurements"))
    {
        any = any || cJSON_GetArraySize(ypi_member(one, "samples")) > 0;
    }
    return any;
}

/* "2026-11-23T16.58.00Z-9701d70f": in the order of time, and it tells which. */
static char *name_of(const cJSON *result)
{
    char when[48] = "";
    double started = ypi_real(result, "started");
    const time_t seconds = started > 0 && started < 1e11 ? (time_t)started : 0;
    struct tm utc;
    if (gmtime_r(&seconds, &utc) != NULL)
        (void)strftime(when, sizeof when, "%Y-%m-%dT%H.%M.%SZ", &utc);
    char *name = ypi_format("%s-%.8s", when, ypi_text_of(result, "id"));
    char *safe = ypi_events_name(name);
    free(name);
    return safe;
}

static enum yp_status write_result(const char *directory, const cJSON *document)
{
    struct ypi_events events;
    const cJSON *one;
    if (!has_more(document))
        return YP_OK;
    char *name = name_of(ypi_member(document, "result"));
    char *own = ypi_format("%s/%s", directory, name);
    if (ypi_events_open(&events, own, ypi_real(ypi_member(document, "result"), "started")) ==
        YP_OK) {
        cJSON_ArrayForEach(one, ypi_member(document, "measurements"))
        {
            add_samples(&events, document, one);
        }
        cJSON_ArrayForEach(one, ypi_member(document, "series"))
        {
            add_series(&events, document, one);
        }
    }
    free(own);
    free(name);
    return ypi_events_close(&events);
}

/* -- the whole ------------------------------------------------------------------------------- */

/* Where a case's events are, by its id; and those of one machine, by the fingerprint's begin. The
 * caller frees both. */
static char *directory_of(const char *parent, const struct ypi_exported_result *r)
{
    char *name = ypi_events_name(r->case_id);
    char *path = ypi_format("%s/%s", parent, name);
    free(name);
    return path;
}

static char *results_of(const char *directory, const struct ypi_exported_result *r)
{
    char *machine = ypi_events_name(r->machine);
    char *path = ypi_format("%s/results%s%.12s", directory, *r->machine ? "-" : "",
                            *r->machine ? machine : "");
    free(machine);
    return path;
}

/* Those of one case on one machine, `count` of them. */
static enum yp_status write_place(struct ypi_documents *documents, const char *parent,
                                  const struct ypi_exported_result *list, size_t count)
{
    struct ypi_events events;
    char *directory = directory_of(parent, list);
    char *path = results_of(directory, list);
    enum yp_status status = ypi_events_open(&events, path, 0);
    for (size_t i = 0; i < count && status == YP_OK; i++) {
        cJSON *document = ypi_documents_read(documents, list[i].id, true);
        status = document != NULL ? write_result(directory, document) : YP_IO;
        if (document != NULL)
            add_result(&(struct place){.to = &events,
                                       .step = (long long)i,
                                       .wall = ypi_real(ypi_member(document, "result"), "started")},
                       document);
        cJSON_Delete(document);
    }
    if (events.sink.status == YP_OK)
        events.sink.status = status;
    free(path);
    free(directory);
    return ypi_events_close(&events);
}

enum yp_status ypi_export_tensorboard(struct ypi_export *e, const char *directory)
{
    struct ypi_exported results;
    enum yp_status status = ypi_exported_load(&results, e);
    struct ypi_documents *documents = ypi_documents_open(e->db);
    for (size_t i = 0; status == YP_OK && i < results.count;) {
        size_t count = 1;
        while (!results.list[i + count - 1].newest)
            count++;
        status = write_place(documents, directory, &results.list[i], count);
        e->results += (long long)count;
        i += count;
    }
    ypi_documents_close(documents);
    ypi_exported_clear(&results);
    return status;
}
