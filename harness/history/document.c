#include "base/numbers/stats.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "device/backend.h"
#include "harness/history/history.h"
#include "harness/measure/noise.h"
#include "harness/record/reproduce.h"
#include "harness/record/row.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/budget_file.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- rows ---------------------------------------------------------------------------------- */

/* What many documents are read with: statements that stay ready, and the run of the last one. */
struct ypi_documents {
    sqlite3 *db;
    sqlite3_stmt *of_table[YPI_TABLES];
    sqlite3_stmt *attempts;
    char *run_id; /* NULL: none was read yet */
    cJSON *run;
};

/* An empty array, with *ok false, when they cannot be read. */
static cJSON *rows(struct ypi_documents *d, bool *ok, enum ypi_table_name table, const char *owner)
{
    cJSON *found = ypi_table_rows_ready(d->db, table, owner, &d->of_table[table]);
    *ok = *ok && found;
    return found ? found : cJSON_CreateArray();
}

static cJSON *first(struct ypi_documents *d, bool *ok, enum ypi_table_name table, const char *id)
{
    cJSON *found = rows(d, ok, table, id);
    cJSON *row = cJSON_DetachItemFromArray(found, 0);
    cJSON_Delete(found);
    return row ? row : cJSON_CreateObject();
}

/* Rows are in the order of their positions, which a document leaves out. */
static cJSON *without_positions(cJSON *found)
{
    cJSON *row;
    cJSON_ArrayForEach(row, found)
    {
        cJSON_DeleteItemFromObjectCaseSensitive(row, "position");
    }
    return found;
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

/* -- run and case --------------------------------------------------------------------------- */

static cJSON *run(struct ypi_documents *d, bool *ok, const char *id)
{
    cJSON *object = first(d, ok, YPI_TABLE_RUN, id);
    cJSON *options = cJSON_AddArrayToObject(object, "options");
    cJSON *found = rows(d, ok, YPI_TABLE_OPTION, id);
    cJSON *row;
    cJSON_ArrayForEach(row, found)
    {
        cJSON_AddItemToArray(options, cJSON_CreateString(ypi_text_of(row, "argument")));
    }
    cJSON_Delete(found);
    cJSON_AddItemToObject(object, "facts", pairs(rows(d, ok, YPI_TABLE_FACT, id)));
    return object;
}

static cJSON *test_case(struct ypi_documents *d, bool *ok, const char *id)
{
    cJSON *object = first(d, ok, YPI_TABLE_CASE, id);
    cJSON_AddItemToObject(object, "axes", pairs(rows(d, ok, YPI_TABLE_AXIS, id)));
    return object;
}

/* -- measurements --------------------------------------------------------------------------- */

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

/* {"count", "least", "median", "most"} of an array of numbers. */
static cJSON *summary(const cJSON *values)
{
    const cJSON *item;
    size_t count = 0;
    double *known = ypi_calloc((size_t)cJSON_GetArraySize(values) + 1, sizeof *known);
    cJSON_ArrayForEach(item, values)
    {
        if (cJSON_IsNumber(item))
            known[count++] = item->valuedouble;
    }
    struct ypi_estimate e = ypi_estimate(known, count);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "count", (double)count);
    ypi_json_add_real(object, "least", e.min);
    ypi_json_add_real(object, "median", e.median);
    ypi_json_add_real(object, "most", e.max);
    free(known);
    return object;
}

/* Arrays of numbers, not of rows; with what comes to samples that were set aside. */
static void add_samples(cJSON *measurement, bool samples)
{
    const struct ypi_table *t = &ypi_tables[YPI_TABLE_SAMPLES];
    cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(measurement, "rows");
    const cJSON *slowed = cJSON_GetObjectItemCaseSensitive(list->child, "set_aside_samples");
    if (cJSON_IsArray(slowed))
        cJSON_AddItemToObject(measurement, "set_aside", summary(slowed));
    for (size_t i = 0; samples && i < t->count; i++) {
        const char *name = ypi_field_member(&t->fields[i]);
        cJSON *array = cJSON_GetObjectItemCaseSensitive(list->child, name);
        if (cJSON_IsArray(array))
            cJSON_AddItemToObject(measurement, name,
                                  cJSON_DetachItemViaPointer(list->child, array));
    }
    cJSON_Delete(list);
}

/* As an object of figures by name, with what they come to. */
static void add_noise(cJSON *measurement)
{
    char cause[256];
    struct ypi_measured m = {0};
    cJSON *figures = pairs(cJSON_DetachItemFromObjectCaseSensitive(measurement, "noise"));
    for (size_t i = 0; i < ypi_noise_field_count; i++)
        ypi_field_read(&ypi_noise_fields[i], &m, figures);
    bool any = figures->child != NULL;
    cJSON_AddItemToObject(measurement, "noise", figures);
    if (any && ypi_noise_cause(&m.noise, ypi_whole(measurement, "threads"), cause, sizeof cause))
        cJSON_AddStringToObject(measurement, "noise_cause", cause);
}

static cJSON *measurements(struct ypi_documents *d, bool *ok, const char *id, bool samples)
{
    static const struct {
        enum ypi_table_name table;
        const char *member;
    } parts[] = {{YPI_TABLE_PHASE, "phases"},
                 {YPI_TABLE_BOUND, "bounds"},
                 {YPI_TABLE_COUNTER, "counters"},
                 {YPI_TABLE_NOISE, "noise"},
                 {YPI_TABLE_SAMPLES, "rows"}};
    cJSON *measurement;
    cJSON *list = rows(d, ok, YPI_TABLE_MEASUREMENT, id);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        distribute(list, rows(d, ok, parts[i].table, id), parts[i].member);
    cJSON_ArrayForEach(measurement, list)
    {
        add_noise(measurement);
        add_samples(measurement, samples);
    }
    return without_positions(list);
}

/* -- the accelerator over time ---------------------------------------------------------------- */

static uint64_t reasons_in(double figure)
{
    return figure > 0 && figure < 1e18 ? (uint64_t)figure : 0;
}

/* "NVML API Reference Guide" (NVIDIA), nvmlClocksEventReasons: those that slow the work. */
bool ypi_store_slowed(double reasons, char by[128])
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {{YPI_POWER_CAPPED, "its power cap"},
                 {0x8, "the hardware"},
                 {0x20, "heat"},
                 {0x40, "heat, by the hardware"},
                 {0x80, "the power brake"}};
    uint64_t bits = reasons_in(reasons);
    size_t length = 0;
    *by = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((bits & names[i].bit) != 0)
            length += (size_t)snprintf(by + length, 128 - length, "%s%s", length > 0 ? ", " : "",
                                       names[i].name);
    return (bits & YPI_SLOWED) != 0;
}

/* The highest clock that a measurement of the document saw; NaN: none did. */
static double highest_clock(const cJSON *document)
{
    const cJSON *m;
    double highest = NAN;
    cJSON_ArrayForEach(m, cJSON_GetObjectItem(document, "measurements"))
    {
        highest = fmax(highest, ypi_real(cJSON_GetObjectItem(m, "noise"), "gpu clock most"));
    }
    return highest;
}

/* In how many rows the device was slowed down, and by what; in how many it was at its power cap. */
static cJSON *throttled(const cJSON *reasons, const cJSON *clocks, double clock_max)
{
    const cJSON *item;
    const cJSON *clock = clocks != NULL ? clocks->child : NULL;
    char by[128] = "";
    uint64_t all = 0;
    int slowed = 0;
    int capped = 0;
    cJSON_ArrayForEach(item, reasons)
    {
        struct ypi_condition now = {
            .throttled = reasons_in(cJSON_IsNumber(item) ? item->valuedouble : 0),
            .clock = clock != NULL && cJSON_IsNumber(clock) ? clock->valuedouble : NAN,
            .clock_max = clock_max};
        bool slow = ypi_condition_is_slow(&now);
        slowed += slow;
        capped += (now.throttled & YPI_POWER_CAPPED) != 0;
        all |= slow ? now.throttled : 0;
        clock = clock != NULL ? clock->next : NULL;
    }
    (void)ypi_store_slowed((double)all, by);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "count", cJSON_GetArraySize(reasons));
    cJSON_AddNumberToObject(object, "slowed", slowed);
    cJSON_AddStringToObject(object, "by", by);
    cJSON_AddNumberToObject(object, "power_capped", capped);
    return object;
}

/* The values of one column. */
static const cJSON *column_of(const cJSON *rows, const char *name)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        if (strcmp(ypi_text_of(row, "name"), name) == 0)
            return cJSON_GetObjectItem(row, "value");
    }
    return NULL;
}

/* An object by column: how many rows there are and their least, median and most; with `samples` the
 * rows too. */
static cJSON *series(struct ypi_documents *d, bool *ok, const cJSON *document, const char *id,
                     bool samples)
{
    cJSON *all = cJSON_CreateObject();
    cJSON *found = rows(d, ok, YPI_TABLE_SERIES, id);
    cJSON *row;
    cJSON_ArrayForEach(row, found)
    {
        const char *name = ypi_text_of(row, "name");
        const cJSON *seconds = cJSON_GetObjectItem(row, "seconds");
        const cJSON *values = cJSON_GetObjectItem(row, "value");
        const cJSON *last = cJSON_GetArrayItem(seconds, cJSON_GetArraySize(seconds) - 1);
        cJSON *one = strcmp(name, "throttled") == 0
                         ? throttled(values, column_of(found, "clock"), highest_clock(document))
                         : summary(values);
        ypi_json_add_real(one, "duration", cJSON_IsNumber(last) ? last->valuedouble : (double)NAN);
        if (samples) {
            cJSON_AddItemToObject(one, "seconds", cJSON_Duplicate(seconds, true));
            cJSON_AddItemToObject(one, "values", cJSON_Duplicate(values, true));
        }
        cJSON_AddItemToObject(all, name, one);
    }
    cJSON_Delete(found);
    return all;
}

/* -- all of it -------------------------------------------------------------------------------- */

static void add_memory(struct ypi_documents *d, bool *ok, cJSON *document, const char *id)
{
    cJSON *row;
    cJSON *memory = cJSON_AddObjectToObject(document, "memory");
    cJSON *found = rows(d, ok, YPI_TABLE_MEMORY, id);
    while ((row = cJSON_DetachItemFromArray(found, 0)) != NULL) {
        cJSON *name = cJSON_DetachItemFromObjectCaseSensitive(row, "memory");
        cJSON_AddItemToObject(memory, cJSON_IsString(name) ? name->valuestring : "?", row);
        cJSON_Delete(name);
    }
    cJSON_Delete(found);
}

/* Nothing else comes to its end without having lasted. */
static bool is_of_relation(const cJSON *result)
{
    return cJSON_IsTrue(cJSON_GetObjectItem(result, "ended")) && ypi_real(result, "duration") == 0;
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
    if (!is_of_relation(result))
        count = ypi_reproduce_words_of_case(extra, count);
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
    cJSON_AddItemToObject(document, "reproduce_options", cJSON_CreateStringArray(extra, count));
    free(line);
    free(extra);
}

static void add_part(struct ypi_documents *d, bool *ok, cJSON *document, const char *member,
                     enum ypi_table_name table, const char *id)
{
    cJSON_AddItemToObject(document, member, without_positions(rows(d, ok, table, id)));
}

static void add_parts(struct ypi_documents *d, bool *ok, cJSON *document, const char *id,
                      bool samples)
{
    add_part(d, ok, document, "failures", YPI_TABLE_FAILURE, id);
    cJSON_AddItemToObject(document, "measurements", measurements(d, ok, id, samples));
    add_part(d, ok, document, "values", YPI_TABLE_VALUE, id);
    add_part(d, ok, document, "gradients", YPI_TABLE_GRADIENT, id);
    add_part(d, ok, document, "budgets", YPI_TABLE_VERDICT, id);
    add_memory(d, ok, document, id);
    cJSON_AddItemToObject(document, "series", series(d, ok, document, id, samples));
    cJSON *attempts = ypi_attempts_read(d->db, id, &d->attempts);
    if (!attempts)
        *ok = false;
    else
        cJSON_AddItemToObject(document, "attempts", attempts);
}

static cJSON *only_if(bool ok, cJSON *document)
{
    if (ok)
        return document;
    cJSON_Delete(document);
    return NULL;
}

/* Cases of one run follow each other. */
static cJSON *run_again(struct ypi_documents *d, bool *ok, const char *id)
{
    if (d->run_id == NULL || strcmp(d->run_id, id) != 0) {
        free(d->run_id);
        cJSON_Delete(d->run);
        d->run = run(d, ok, id);
        d->run_id = ypi_strdup(id);
    }
    return cJSON_Duplicate(d->run, true);
}

struct ypi_documents *ypi_documents_open(sqlite3 *db)
{
    struct ypi_documents *d = ypi_calloc(1, sizeof *d);
    d->db = db;
    return d;
}

void ypi_documents_close(struct ypi_documents *d)
{
    if (d == NULL)
        return;
    for (int i = 0; i < YPI_TABLES; i++)
        (void)sqlite3_finalize(d->of_table[i]);
    (void)sqlite3_finalize(d->attempts);
    free(d->run_id);
    cJSON_Delete(d->run);
    free(d);
}

cJSON *ypi_documents_read(struct ypi_documents *d, const char *result_id, bool samples)
{
    bool ok = true;
    cJSON *document = cJSON_CreateObject();
    cJSON *result = first(d, &ok, YPI_TABLE_RESULT, result_id);
    cJSON_AddItemToObject(document, "result", result);
    cJSON_AddItemToObject(document, "case", test_case(d, &ok, ypi_text_of(result, "case")));
    cJSON_AddItemToObject(document, "run", run_again(d, &ok, ypi_text_of(result, "run_id")));
    add_parts(d, &ok, document, result_id, samples);
    add_reproduce(document);
    return only_if(ok, document);
}

cJSON *ypi_document_of_result(sqlite3 *db, const char *result_id, bool samples)
{
    struct ypi_documents *d = ypi_documents_open(db);
    cJSON *document = ypi_documents_read(d, result_id, samples);
    ypi_documents_close(d);
    return document;
}

cJSON *ypi_document_of_run(sqlite3 *db, const char *run_id)
{
    bool ok = true;
    struct ypi_documents *d = ypi_documents_open(db);
    cJSON *object = run(d, &ok, run_id);
    ypi_documents_close(d);
    return only_if(ok, object);
}

/* -- what stored names mean ------------------------------------------------------------------- */

const char *ypi_store_outcome(int i)
{
    return i >= 0 && i < YPI_OUTCOMES ? ypi_outcome_names[i] : NULL;
}

struct yp_budget ypi_store_budget(const cJSON *b)
{
    const char *detail = ypi_text_of(b, "detail");
    struct yp_budget budget = {.kind = ypi_budget_kind_at(ypi_text_of(b, "kind"))->kind,
                               .limit = ypi_real(b, "allowed")};
    if (*ypi_text_of(b, "name"))
        budget.name = ypi_text_of(b, "name");
    (void)ypi_memory_of_name(&budget.memory, ypi_text_of(b, "memory"));
    if (*ypi_text_of(b, "required"))
        budget.required = ypi_text_of(b, "required");
    for (int counter = 0; counter < YP_COUNTERS; counter++)
        if (strcmp(ypi_counter_name((enum yp_counter)counter), detail) == 0)
            budget.counter = (enum yp_counter)counter;
    if (*detail == 'p')
        budget.quantile = strtod(detail + 1, NULL) / 100;
    return budget;
}

void ypi_store_budget_text(char out[256], const cJSON *budget, const char *unit)
{
    struct yp_budget b = ypi_store_budget(budget);
    ypi_budget_text(out, &b, unit);
}

void ypi_store_budget_figure(char out[128], const cJSON *budget, double value, const char *unit)
{
    struct yp_budget b = ypi_store_budget(budget);
    ypi_budget_figure(out, &b, value, unit);
}

char *ypi_store_budget_key(const cJSON *budget)
{
    struct yp_budget b = ypi_store_budget(budget);
    return ypi_budget_key(&b);
}

struct ypi_figure_kind ypi_store_budget_kind(const cJSON *budget)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(ypi_store_budget(budget).kind);
    return (struct ypi_figure_kind){.at_least = k->at_least,
                                    .speed = k->speed,
                                    .any_sign = k->any_sign,
                                    .exact = k->memory != NULL || k->detail == YPI_COUNTER,
                                    .ordinal = k->ordinal,
                                    .relative = k->relative};
}

char *ypi_store_speed_kinds(void)
{
    struct ypi_text text = {0};
    ypi_text_add(&text, ",");
    for (int kind = 0; kind < YP_BUDGET_FOR_DEVICE; kind++)
        if (ypi_budget_kind((enum yp_budget_kind)kind)->speed)
            ypi_text_add(&text, "%s,", ypi_budget_kind_name((enum yp_budget_kind)kind));
    return ypi_text_take(&text);
}

bool ypi_store_budget_measured(const cJSON *budget)
{
    static const enum ypi_met without[] = {YPI_UNMEASURED, YPI_NOT_JUDGED, YPI_ABSENT};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(ypi_text_of(budget, "met"), ypi_met_name(without[i])) == 0)
            return false;
    return true;
}
