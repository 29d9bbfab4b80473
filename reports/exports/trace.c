/* Of a case the history has the begin and the end, of a measurement too since `began` is stored.
 * Stages, samples and phases are known by their durations: they are drawn one behind the other in
 * what they are parts of. */
#include "reports/exports/trace.h"

#include "base/text/output.h"
#include "reports/exports/sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slices of a measurement's samples; where there are more samples, a slice stands for several. */
#define SLICES_MAX 1000
/* Of what a damaged history may hold: the year 2040, 30 years. Until then a double holds a quarter
 * of a microsecond exactly, so that readers find slices which touch and do not overlap. */
#define LAST_MOMENT 2.24e9
#define LONGEST 1e9

enum { ROW_CASE = 1, ROW_MEASUREMENTS, ROW_SAMPLES, ROW_PHASES, ROW_PROCESSES, ROWS };

static const char *const row_names[ROWS] = {"",        "case",           "measurements",
                                            "samples", "phases (means)", "fresh processes"};

struct ypi_trace {
    struct ypi_sink sink;
    long long events;
    int process;          /* the row of the present case */
    double free_at[ROWS]; /* seconds: where the last slice of a row has ended */
    bool row_named[ROWS];
};

/* -- events ----------------------------------------------------------------------------------- */

static double within(double seconds, double most)
{
    return seconds > 0 ? fmin(seconds, most) : 0; /* NaN: 0 */
}

static int64_t quarters(double seconds)
{
    return llround(4e6 * seconds);
}

static void add_microseconds(struct ypi_trace *t, const char *name, int64_t q)
{
    static const char *const parts[] = {"", ".25", ".5", ".75"};
    ypi_text_add(&t->sink.text, ",\"%s\":%" PRId64 "%s", name, q / 4, parts[q % 4]);
}

/* Left open, for its other members. */
static void begin_event(struct ypi_trace *t, char kind, int row, const char *name)
{
    ypi_text_add(&t->sink.text,
                 "%s{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"name\":", t->events++ > 0 ? ",\n" : "\n",
                 kind, t->process, row);
    ypi_sink_json_text(&t->sink, name);
}

static void end_event(struct ypi_trace *t)
{
    ypi_text_add(&t->sink.text, "}");
    ypi_sink_step(&t->sink);
}

static void add_metadata(struct ypi_trace *t, int row, const char *what, const char *text)
{
    begin_event(t, 'M', row, what);
    ypi_text_add(&t->sink.text, ",\"args\":{\"name\":");
    ypi_sink_json_text(&t->sink, text);
    ypi_text_add(&t->sink.text, "}");
    end_event(t);
}

/* In seconds since 1970; `args` may be NULL, and is freed. */
static void add_slice(struct ypi_trace *t, int row, const char *name, const char *category,
                      double begin, double end, cJSON *args)
{
    if (!t->row_named[row])
        add_metadata(t, row, "thread_name", row_names[row]);
    t->row_named[row] = true;
    int64_t from = quarters(within(begin, LAST_MOMENT));
    int64_t to = quarters(within(end, LAST_MOMENT));
    begin_event(t, 'X', row, name);
    ypi_text_add(&t->sink.text, ",\"cat\":\"%s\"", category);
    add_microseconds(t, "ts", from);
    add_microseconds(t, "dur", to > from ? to - from : 0);
    char *text = args != NULL ? ypi_json_text(args, false) : NULL;
    if (text != NULL)
        ypi_text_add(&t->sink.text, ",\"args\":%s", text);
    free(text);
    cJSON_Delete(args);
    end_event(t);
    t->free_at[row] = fmax(t->free_at[row], end);
}

static void add_counter(struct ypi_trace *t, const char *name, double at, double value)
{
    begin_event(t, 'C', 0, name);
    add_microseconds(t, "ts", quarters(within(at, LAST_MOMENT)));
    ypi_text_add(&t->sink.text, ",\"args\":{\"value\":");
    ypi_sink_json_number(&t->sink, value);
    ypi_text_add(&t->sink.text, "}");
    end_event(t);
}

/* -- a measurement ---------------------------------------------------------------------------- */

static void copy_members(cJSON *to, const cJSON *from, const char *const *names)
{
    for (; *names != NULL; names++) {
        const cJSON *item = ypi_member(from, *names);
        if (item != NULL && !cJSON_IsNull(item) && !(cJSON_IsString(item) && !*item->valuestring))
            cJSON_AddItemToObject(to, *names, cJSON_Duplicate(item, true));
    }
}

/* Iterations of a sample. */
static double batch_of(const cJSON *measurement)
{
    double batch = ypi_real(measurement, "batch");
    return batch > 1 ? batch : 1;
}

static double seconds_of(const cJSON *samples)
{
    double sum = 0;
    const cJSON *sample;
    cJSON_ArrayForEach(sample, samples)
    {
        sum += cJSON_IsNumber(sample) ? within(sample->valuedouble, LONGEST) : 0;
    }
    return sum;
}

/* A slice for some samples: `count` of them, which took an iteration `sum` seconds in all. */
struct group {
    int count;
    double sum, least, most;
};

static void add_group(struct ypi_trace *t, const struct group *g, double begin, double end,
                      double batch)
{
    char name[48] = "sample";
    cJSON *args = cJSON_CreateObject();
    if (g->count > 1)
        snprintf(name, sizeof name, "%d samples", g->count);
    ypi_json_add_real(args, "seconds an iteration", g->sum / g->count);
    if (g->count > 1) {
        ypi_json_add_real(args, "least", g->least);
        ypi_json_add_real(args, "most", g->most);
    }
    ypi_json_add_real(args, "iterations", batch * g->count);
    add_slice(t, ROW_SAMPLES, name, "sample", begin, end, args);
}

static void add_samples(struct ypi_trace *t, const cJSON *measurement, double begin)
{
    const cJSON *samples = ypi_member(measurement, "samples");
    const double batch = batch_of(measurement);
    const int each = (cJSON_GetArraySize(samples) + SLICES_MAX - 1) / SLICES_MAX;
    double at = fmax(begin, t->free_at[ROW_SAMPLES]);
    struct group g = {0};
    const cJSON *sample;
    cJSON_ArrayForEach(sample, samples)
    {
        double seconds = cJSON_IsNumber(sample) ? within(sample->valuedouble, LONGEST) : 0;
        g.least = g.count > 0 ? fmin(g.least, seconds) : seconds;
        g.most = fmax(g.most, seconds);
        g.sum += seconds;
        g.count++;
        if (g.count < each && sample->next != NULL)
            continue;
        double end = at + within(batch * g.sum, LONGEST);
        add_group(t, &g, at, end, batch);
        at = end;
        g = (struct group){0};
    }
}

/* Each as long as all its iterations took. */
static void add_phases(struct ypi_trace *t, const cJSON *measurement, double begin)
{
    const cJSON *phase;
    const double iterations = batch_of(measurement) * ypi_real(measurement, "count");
    double at = fmax(begin, t->free_at[ROW_PHASES]);
    cJSON_ArrayForEach(phase, ypi_member(measurement, "phases"))
    {
        double seconds = ypi_real(phase, "seconds");
        double end = at + within(seconds * iterations, LONGEST);
        cJSON *args = cJSON_CreateObject();
        ypi_json_add_real(args, "seconds an iteration", seconds);
        ypi_json_add_real(args, "part of the mean", seconds / ypi_real(measurement, "mean"));
        add_slice(t, ROW_PHASES, ypi_text_of(phase, "name"), "phase", at, end, args);
        at = end;
    }
}

static void add_measurement(struct ypi_trace *t, const cJSON *measurement, double body)
{
    static const char *const shown[] = {
        "unit",   "kind", "items", "batch", "count", "warmup", "stop",        "threads",
        "median", "low",  "high",  "p99",   "bound", "share",  "noise_cause", NULL};
    const cJSON *noise = ypi_member(measurement, "noise");
    double began = ypi_real(noise, "began");
    double seconds = ypi_real(noise, "wall");
    if (!(seconds > 0))
        seconds = batch_of(measurement) * seconds_of(ypi_member(measurement, "samples"));
    bool known = began > 0;
    double begin = fmax(known ? began : body, t->free_at[ROW_MEASUREMENTS]);
    cJSON *args = cJSON_CreateObject();
    copy_members(args, measurement, shown);
    if (!known)
        cJSON_AddStringToObject(args, "begin", "not stored: drawn behind the one before");
    add_slice(t, ROW_MEASUREMENTS, ypi_text_of(measurement, "name"), "measurement", begin,
              begin + within(seconds, LONGEST), args);
    add_samples(t, measurement, begin);
    add_phases(t, measurement, begin);
}

/* -- a case ----------------------------------------------------------------------------------- */

/* The seconds before setup, which are not stored: the process's start and, of an accelerator, its
 * context take most of what the stages leave. */
static double before_setup(const cJSON *document, double stages)
{
    const cJSON *result = ypi_member(document, "result");
    const double start = within(ypi_real(result, "duration"), LONGEST) - stages;
    const cJSON *first = ypi_member(document, "measurements");
    double began = ypi_real(ypi_member(first != NULL ? first->child : NULL, "noise"), "began") -
                   ypi_real(result, "started") - within(ypi_real(result, "setup"), LONGEST);
    return within(began > 0 ? fmin(start, began) : start, LONGEST);
}

/* Begins and lengths, inside of the case's. Returns where setup begins; *body: where the body
 * does. */
static double add_stages(struct ypi_trace *t, const cJSON *document, double *body)
{
    static const char *const names[] = {"setup", "body", "teardown"};
    const cJSON *result = ypi_member(document, "result");
    double seconds[3];
    double all = 0;
    for (int i = 0; i < 3; i++)
        all += seconds[i] = within(ypi_real(result, names[i]), LONGEST);
    double end = t->free_at[ROW_CASE];
    double setup = within(ypi_real(result, "started"), LAST_MOMENT) + before_setup(document, all);
    double at = setup;
    for (int i = 0; i < 3; i++) {
        double until = fmin(at + seconds[i], end);
        if (until > at)
            add_slice(t, ROW_CASE, names[i], "stage", at, until, NULL);
        at = fmax(at, until);
        *body = i == 0 ? at : *body;
    }
    return setup;
}

static cJSON *case_args(const cJSON *document)
{
    static const char *const of_case[] = {"device", "tags", "axes", NULL};
    static const char *const of_result[] = {"outcome", "reason",    "note",     "repeat", "signal",
                                            "id",      "exit_code", "duration", "run_id", NULL};
    cJSON *args = cJSON_CreateObject();
    const cJSON *failure;
    copy_members(args, ypi_member(document, "result"), of_result);
    copy_members(args, ypi_member(document, "case"), of_case);
    ypi_json_add_text(args, "commit",
                      ypi_text_of(ypi_member(ypi_member(document, "run"), "facts"), "git.commit"));
    cJSON *failures = cJSON_AddArrayToObject(args, "failures");
    cJSON_ArrayForEach(failure, ypi_member(document, "failures"))
    {
        cJSON_AddItemToArray(failures, cJSON_CreateString(ypi_text_of(failure, "message")));
    }
    return args;
}

static void add_attempts(struct ypi_trace *t, const cJSON *document)
{
    const cJSON *attempt;
    static const char *const shown[] = {"outcome", "attempt", "id", "fail_allocation", NULL};
    cJSON_ArrayForEach(attempt, ypi_member(document, "attempts"))
    {
        char name[48];
        snprintf(name, sizeof name, "fresh process %d", ypi_whole(attempt, "attempt"));
        double begin = fmax(ypi_real(attempt, "started"), t->free_at[ROW_PROCESSES]);
        cJSON *args = cJSON_CreateObject();
        copy_members(args, attempt, shown);
        add_slice(t, ROW_PROCESSES, name, "process", begin,
                  begin + within(ypi_real(attempt, "duration"), LONGEST), args);
    }
}

/* A column of the series as a counter, in a unit that a person reads. */
static void add_series(struct ypi_trace *t, const char *device, const cJSON *column, double begin)
{
    static const struct {
        const char *column, *name;
        double factor;
    } known[] = {{"clock", "clock (MHz)", 1e-6},
                 {"temperature", "temperature (\u00b0C)", 1},
                 {"power", "power (W)", 1},
                 {"utilisation", "utilisation (%)", 100},
                 {"memory used", "memory used (MiB)", 1.0 / 1048576},
                 {"throttled", "throttled (NVML's reasons)", 1}};
    const char *name = column->string;
    double factor = 1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(column->string, known[i].column) == 0) {
            name = known[i].name;
            factor = known[i].factor;
        }
    char *full = ypi_format("%s %s", *device ? device : "cpu", name);
    const cJSON *seconds = ypi_member(column, "seconds");
    const cJSON *value = ypi_member(column, "values");
    value = value != NULL ? value->child : NULL;
    for (seconds = seconds != NULL ? seconds->child : NULL; seconds != NULL && value != NULL;
         seconds = seconds->next, value = value->next)
        if (cJSON_IsNumber(seconds) && cJSON_IsNumber(value))
            add_counter(t, full, begin + seconds->valuedouble, factor * value->valuedouble);
    free(full);
}

/* The row has the case's id; those of a case that did not pass begin with its outcome. */
static void name_row(struct ypi_trace *t, const cJSON *document)
{
    const cJSON *result = ypi_member(document, "result");
    const char *outcome = ypi_text_of(result, "outcome");
    const bool passed = strcmp(outcome, "passed") == 0;
    char *name = ypi_format("%s%s%s", passed ? "" : outcome, passed ? "" : ": ",
                            ypi_text_of(result, "case"));
    add_metadata(t, 0, "process_name", name);
    free(name);
    begin_event(t, 'M', 0, "process_sort_index");
    ypi_text_add(&t->sink.text, ",\"args\":{\"sort_index\":%d}", t->process);
    end_event(t);
}

struct ypi_trace *ypi_trace_create(const char *path)
{
    struct ypi_trace *t = ypi_calloc(1, sizeof *t);
    if (ypi_sink_open(&t->sink, path) != YP_OK) {
        ypi_trace_drop(t);
        return NULL;
    }
    ypi_text_add(&t->sink.text, "{\"displayTimeUnit\":\"ms\",\"otherData\":"
                                "{\"times\":\"microseconds since 1970\"},\"traceEvents\":[");
    return t;
}

enum yp_status ypi_trace_take(struct ypi_trace *t, const struct ypi_report_case *about,
                              const cJSON *document)
{
    (void)about; /* the document has it all */
    const cJSON *result = ypi_member(document, "result");
    const char *device = ypi_text_of(ypi_member(document, "case"), "device");
    const cJSON *one;
    double begin = within(ypi_real(result, "started"), LAST_MOMENT);
    double body = 0;
    t->process++;
    memset(t->row_named, 0, sizeof t->row_named);
    memset(t->free_at, 0, sizeof t->free_at);
    name_row(t, document);
    add_slice(t, ROW_CASE, ypi_text_of(result, "case"), "case", begin,
              begin + within(ypi_real(result, "duration"), LONGEST), case_args(document));
    double setup = add_stages(t, document, &body);
    cJSON_ArrayForEach(one, ypi_member(document, "measurements"))
    {
        add_measurement(t, one, body);
    }
    add_attempts(t, document);
    cJSON_ArrayForEach(one, ypi_member(document, "series"))
    {
        add_series(t, device, one, setup); /* it begins right before */
    }
    return t->sink.status;
}

enum yp_status ypi_trace_finish(struct ypi_trace *t)
{
    ypi_text_add(&t->sink.text, "\n]}\n");
    enum yp_status status = ypi_sink_close(&t->sink);
    free(t);
    return status;
}

void ypi_trace_drop(struct ypi_trace *t)
{
    if (t == NULL)
        return;
    ypi_sink_drop(&t->sink);
    free(t);
}
