#include "reports/document.h"

#include "harness/measure/noise.h"
#include "harness/record/history.h"
#include "harness/record/reproduce.h"
#include "reports/accelerator.h"
#include "reports/beside.h"
#include "reports/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that belong to `key`; an empty array, with *ok false, when they cannot be read. */
static cJSON *rows(sqlite3 *db, bool *ok, const char *sql, const char *key)
{
    cJSON *found = ypi_store_rows(db, sql, 1, &key);
    if (!found)
        *ok = false;
    return found ? found : cJSON_CreateArray();
}

static cJSON *first(sqlite3 *db, bool *ok, const char *sql, const char *key)
{
    cJSON *found = rows(db, ok, sql, key);
    cJSON *row = cJSON_DetachItemFromArray(found, 0);
    cJSON_Delete(found);
    return row ? row : cJSON_CreateObject();
}

/* An object of the rows' members `name` and `value`. */
static cJSON *pairs(cJSON *found)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *row;
    cJSON_ArrayForEach(row, found)
    {
        cJSON *value = cJSON_DetachItemFromObjectCaseSensitive(row, "value");
        cJSON_AddItemToObject(object, ypi_text_of(row, "name"), value);
    }
    cJSON_Delete(found);
    return object;
}

static cJSON *run(sqlite3 *db, bool *ok, const char *id)
{
    cJSON *object = first(db, ok,
                          "SELECT id, started, ended, exit_code, printf('%u', seed) AS seed,"
                          " command, program, speed_judged, memory_limit, machine"
                          " FROM run WHERE id = ?",
                          id);
    cJSON *options = cJSON_AddArrayToObject(object, "options");
    cJSON *found =
        rows(db, ok, "SELECT argument FROM run_option WHERE run_id = ? ORDER BY position", id);
    cJSON *row;
    cJSON_ArrayForEach(row, found)
    {
        cJSON_AddItemToArray(options, cJSON_CreateString(ypi_text_of(row, "argument")));
    }
    cJSON_Delete(found);
    found = rows(db, ok, "SELECT key AS name, value FROM fact WHERE run_id = ? ORDER BY key", id);
    cJSON_AddItemToObject(object, "facts", pairs(found));
    return object;
}

static cJSON *test_case(sqlite3 *db, bool *ok, const char *id)
{
    cJSON *object = first(db, ok,
                          "SELECT id, test_group, test, name, device, tags FROM test_case"
                          " WHERE id = ?",
                          id);
    cJSON *axes =
        rows(db, ok, "SELECT name, value FROM axis WHERE case_id = ? ORDER BY position", id);
    cJSON_AddItemToObject(object, "axes", pairs(axes));
    return object;
}

/* Moves each row to the array `name` of the measurement that it belongs to. */
static void distribute(cJSON *measurements, cJSON *parts, const char *name)
{
    cJSON *measurement;
    cJSON_ArrayForEach(measurement, measurements)
    {
        double position = ypi_real(measurement, "position");
        cJSON *list = cJSON_AddArrayToObject(measurement, name);
        for (cJSON *next, *row = parts->child; row; row = next) {
            next = row->next;
            if (ypi_real(row, "position") < position || ypi_real(row, "position") > position)
                continue;
            cJSON_DetachItemViaPointer(parts, row);
            cJSON_DeleteItemFromObjectCaseSensitive(row, "position");
            cJSON_AddItemToArray(list, row);
        }
    }
    cJSON_Delete(parts);
}

/* The samples of a measurement are arrays of numbers, not of rows. */
static void add_samples(sqlite3 *db, bool *ok, cJSON *measurements, const char *id)
{
    static const char *const arrays[] = {"samples", "cpu_samples", "shares", "set_aside_samples"};
    cJSON *measurement;
    cJSON *found = rows(db, ok,
                        "SELECT position, seconds AS samples, cpu AS cpu_samples, shares,"
                        " slowed AS set_aside_samples FROM samples WHERE result_id = ?",
                        id);
    distribute(measurements, found, "rows");
    cJSON_ArrayForEach(measurement, measurements)
    {
        cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(measurement, "rows");
        for (size_t i = 0; list->child && i < sizeof arrays / sizeof *arrays; i++) {
            cJSON *array = cJSON_DetachItemFromObjectCaseSensitive(list->child, arrays[i]);
            if (cJSON_IsArray(array))
                cJSON_AddItemToObject(measurement, arrays[i], array);
            else
                cJSON_Delete(array);
        }
        cJSON_Delete(list);
    }
}

static void add_set_aside(sqlite3 *db, bool *ok, cJSON *measurements, const char *id)
{
    cJSON *measurement;
    cJSON *found = rows(db, ok,
                        "SELECT position, slowed FROM samples WHERE result_id = ?"
                        " AND slowed IS NOT NULL",
                        id);
    distribute(measurements, found, "rows");
    cJSON_ArrayForEach(measurement, measurements)
    {
        cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(measurement, "rows");
        if (list->child)
            cJSON_AddItemToObject(
                measurement, "set_aside",
                ypi_accelerator_summary(cJSON_GetObjectItem(list->child, "slowed")));
        cJSON_Delete(list);
    }
}

/* As an object of figures by name, with what they come to. */
static void add_noise(sqlite3 *db, bool *ok, cJSON *measurements, const char *id)
{
    cJSON *measurement;
    cJSON *found = rows(db, ok, "SELECT position, name, value FROM noise WHERE result_id = ?", id);
    distribute(measurements, found, "noise");
    cJSON_ArrayForEach(measurement, measurements)
    {
        char cause[256];
        double threads = ypi_real(measurement, "threads");
        cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(measurement, "noise");
        cJSON *figures = pairs(list);
        struct ypi_noise noise = ypi_beside_noise(figures);
        bool any = figures->child != NULL;
        cJSON_AddItemToObject(measurement, "noise", figures);
        if (any && ypi_noise_cause(&noise, threads > 0 ? (int)threads : 0, cause, sizeof cause))
            cJSON_AddStringToObject(measurement, "noise_cause", cause);
    }
}

static cJSON *measurements(sqlite3 *db, bool *ok, const char *id, bool samples)
{
    cJSON *measurement;
    cJSON *list =
        rows(db, ok,
             "SELECT position, name, unit, items, flops, bytes, batch, warmup, stop,"
             " count, median, low, high, coverage, mean, sd, min, max, p90, p99, p999,"
             " low_mild, high_mild, low_severe, high_severe, autocorrelation, effective,"
             " kind, footprint, threads, cold, rate, growth_accounted, growth_resident,"
             " cpu, cpu_low, cpu_high, bound, share, share_low, share_high,"
             " share_coverage, stretches FROM measurement WHERE result_id = ? ORDER BY position",
             id);
    cJSON *phases = rows(db, ok,
                         "SELECT position, name, seconds FROM phase WHERE result_id = ?"
                         " ORDER BY position, phase",
                         id);
    cJSON *bounds = rows(db, ok,
                         "SELECT position, ceiling, level, threads, probes, rate, low, high, work"
                         " FROM bound WHERE result_id = ? ORDER BY position, number",
                         id);
    cJSON *counters = rows(db, ok,
                           "SELECT position, counter, source, count FROM counter"
                           " WHERE result_id = ? ORDER BY position, counter",
                           id);
    distribute(list, phases, "phases");
    distribute(list, bounds, "bounds");
    distribute(list, counters, "counters");
    add_noise(db, ok, list, id);
    add_set_aside(db, ok, list, id);
    if (samples)
        add_samples(db, ok, list, id);
    cJSON_ArrayForEach(measurement, list)
    {
        cJSON_DeleteItemFromObjectCaseSensitive(measurement, "position");
    }
    return list;
}

static void add_memory(sqlite3 *db, bool *ok, cJSON *document, const char *id)
{
    cJSON *row;
    cJSON *memory = cJSON_AddObjectToObject(document, "memory");
    cJSON *found = rows(db, ok,
                        "SELECT memory, allocated, allocated_peak, reserved, reserved_peak, total,"
                        " allocations, frees, refused, allowed FROM memory WHERE result_id = ?",
                        id);
    while ((row = cJSON_DetachItemFromArray(found, 0)) != NULL) {
        cJSON *name = cJSON_DetachItemFromObjectCaseSensitive(row, "memory");
        cJSON_AddItemToObject(memory, name->valuestring, row);
        cJSON_Delete(name);
    }
    cJSON_Delete(found);
}

static void add_reproduce(cJSON *document)
{
    const cJSON *of_run = cJSON_GetObjectItem(document, "run");
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    const cJSON *options = cJSON_GetObjectItem(of_run, "options");
    int count = cJSON_GetArraySize(options);
    const char **extra = calloc((size_t)count + 1, sizeof *extra);
    if (!extra)
        return;
    for (int i = 0; i < count; i++)
        extra[i] = cJSON_GetArrayItem(options, i)->valuestring;
    /* One of the many processes that "each" stands for. */
    char one[64];
    snprintf(one, sizeof one, "--fail-allocation=%s", ypi_text_of(result, "fail_allocation"));
    for (int i = 0; i < count && ypi_real(result, "attempt") > 0; i++)
        if (strcmp(extra[i], "--fail-allocation=each") == 0)
            extra[i] = one;
    char *line = ypi_reproduce(ypi_text_of(of_run, "program"), ypi_text_of(result, "case"),
                               strtoull(ypi_text_of(result, "seed"), NULL, 10), extra, count);
    if (line)
        cJSON_AddStringToObject(document, "reproduce", line);
    free(line);
    free(extra);
}

static void add_parts(sqlite3 *db, bool *ok, cJSON *document, const char *id, bool samples)
{
    cJSON_AddItemToObject(document, "failures",
                          rows(db, ok,
                               "SELECT cause, message, file, line FROM failure"
                               " WHERE result_id = ? ORDER BY position",
                               id));
    cJSON_AddItemToObject(document, "measurements", measurements(db, ok, id, samples));
    cJSON_AddItemToObject(document, "values",
                          rows(db, ok,
                               "SELECT name, unit, value, low, high, of_speed FROM value"
                               " WHERE result_id = ? ORDER BY position",
                               id));
    cJSON_AddItemToObject(document, "gradients",
                          rows(db, ok,
                               "SELECT name, precision, error, allowed, slope, expected, got,"
                               " tensor, checked, resolution FROM gradient WHERE result_id = ?"
                               " ORDER BY position",
                               id));
    cJSON_AddItemToObject(document, "budgets",
                          rows(db, ok,
                               "SELECT kind, name, memory, allowed, met, measured, low, high,"
                               " distance, detail, asked, confirmed FROM verdict WHERE result_id = "
                               "? ORDER BY position",
                               id));
    add_memory(db, ok, document, id);
    cJSON_AddItemToObject(document, "series", ypi_accelerator_series(db, ok, id, samples));
    cJSON *attempts = ypi_attempts_load(db, id);
    if (!attempts)
        *ok = false;
    else
        cJSON_AddItemToObject(document, "attempts", attempts);
}

cJSON *ypi_document_of_result(sqlite3 *db, const char *result_id, bool samples)
{
    bool ok = true;
    cJSON *document = cJSON_CreateObject();
    cJSON *result = first(db, &ok,
                          "SELECT id, run_id, case_id AS 'case', repeat, outcome, reason, started,"
                          " setup, body, teardown, duration, timeout, ended, exit_code, signal,"
                          " data_hash, printf('%u', seed) AS seed, leaked_bytes, leaked_blocks,"
                          " resident_before, resident_peak, output_bytes, tail, attempt,"
                          " printf('%u', fail_allocation) AS fail_allocation, note"
                          " FROM result WHERE id = ?",
                          result_id);
    cJSON_AddItemToObject(document, "result", result);
    cJSON_AddItemToObject(document, "case", test_case(db, &ok, ypi_text_of(result, "case")));
    cJSON_AddItemToObject(document, "run", run(db, &ok, ypi_text_of(result, "run_id")));
    add_parts(db, &ok, document, result_id, samples);
    add_reproduce(document);
    if (!ok) {
        cJSON_Delete(document);
        return NULL;
    }
    return document;
}

cJSON *ypi_document_of_run(sqlite3 *db, const char *run_id)
{
    bool ok = true;
    cJSON *object = run(db, &ok, run_id);
    if (!ok) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}
