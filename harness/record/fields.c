#include "harness/record/fields.h"

#include "harness/record/environment.h"
#include "harness/record/rows.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/kinds/kind.h"

#include <stdio.h>
#include <stdlib.h>

void ypi_datum_text(struct ypi_datum *out, const char *text)
{
    out->type = text ? YPI_A_TEXT : YPI_NOTHING;
    out->text = text;
}

/* -- values that are made ------------------------------------------------------------------ */

static void take_made(struct ypi_datum *out)
{
    out->type = YPI_A_TEXT;
    out->text = out->made;
}

static void get_machine(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    const struct ypi_environment *e = ((const struct ypi_run *)item->row)->environment;
    ypi_datum_text(out, e && *e->fingerprint ? e->fingerprint : NULL);
}

static void get_case_name(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    const struct yp_case *c = item->row;
    ypi_datum_text(out, c->decl ? c->decl->name : NULL);
}

static void get_axis_kind(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    ypi_datum_text(out, ypi_axis_kind_name(((const struct ypi_setting *)item->row)->kind));
}

static void get_axis(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    const struct ypi_setting *s = item->row;
    if (s->kind == YP_AXIS_STRING)
        ypi_datum_text(out, s->s);
    else
        out->type = s->kind == YP_AXIS_INT ? YPI_AN_INTEGER : YPI_A_REAL;
    out->integer = s->i;
    out->real = s->d;
}

static void get_hash(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    uint64_t hash = ((const struct ypi_result *)item->row)->hash;
    snprintf(out->made, sizeof out->made, "%016llx", (unsigned long long)hash);
    take_made(out);
}

static void get_memory(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    ypi_datum_text(out, ypi_memory_name((enum yp_memory_kind)item->number));
}

static void get_ceiling(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    ypi_datum_text(out, yp_ceiling_name(((const struct ypi_ceiling *)item->row)->ceiling));
}

bool ypi_has_ceiling(const struct ypi_ceiling *c)
{
    return c->ceiling != YP_NO_CEILING && (c->probes > 0 || c->work > 0);
}

static void get_bound(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    ypi_bound_text(item->row, false, out->made, sizeof out->made);
    take_made(out);
}

static void get_counter(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    ypi_datum_text(out, ypi_counter_name((enum yp_counter)item->number));
}

static const struct yp_budget *budget_of(const struct ypi_stored_row *item)
{
    return ((const struct ypi_verdict *)item->row)->budget;
}

static void get_budget_kind(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    ypi_datum_text(out, ypi_budget_kind_name(budget_of(item)->kind));
}

static void get_budget_memory(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    const struct yp_budget *b = budget_of(item);
    ypi_datum_text(out,
                   ypi_budget_kind(b->kind)->memory == NULL ? NULL : ypi_memory_name(b->memory));
}

static void get_slack(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    out->type = YPI_A_REAL;
    out->real =
        ypi_budget_slack(budget_of(item), ((const struct ypi_verdict *)item->row)->measured);
}

static void get_baseline(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    const struct ypi_baseline *b = ((const struct ypi_verdict *)item->row)->baseline;
    char *text = b != NULL ? ypi_baseline_text(b) : NULL;
    snprintf(out->made, sizeof out->made, "%s", text != NULL ? text : "");
    free(text);
    if (b != NULL)
        take_made(out);
    else
        ypi_datum_text(out, NULL);
}

static void get_budget_detail(const struct ypi_stored_row *item, struct ypi_datum *out)
{
    if (ypi_budget_detail(out->made, budget_of(item)))
        take_made(out);
    else
        ypi_datum_text(out, NULL);
}

/* -- the tables ---------------------------------------------------------------------------- */

/* What belongs to a result goes with it, and what belongs to a run goes with the run. A case's
 * row holds what its newest result said of it: tags may change from one commit to the next.
 * Keys are UUIDs and node ids, so that the rows of two histories can be put into one. */

/* clang-format off */

/* Type, column, place and version; then what else there is to say. */
#define FIELD(type_, name_, at_, ...) {.type = YPI_##type_, .name = name_, .at = at_, .since = __VA_ARGS__}
#define MADE(type_, name_, get_, ...) {.type = YPI_##type_, .name = name_, .get = get_, .since = __VA_ARGS__}
/* In the struct that the row's first member points to. */
#define INSIDE(type_, name_, at_, ...) FIELD(type_, name_, at_, __VA_ARGS__, .inside = true)
#define M(member) offsetof(ROW, member)
/* Only where that member is not 0: an estimate that was never made would read as a figure. */
#define WHEN(member) .when = M(member), .when_size = sizeof ((ROW *)0)->member
#define REQUIRED .sql = " NOT NULL"
#define COUNTED .sql = " NOT NULL DEFAULT 0" /* a column that came later */
#define OF_RUN FIELD(OF_OWNER, "run_id", 0, 1, .sql = " NOT NULL REFERENCES run (id) ON DELETE CASCADE", .json = "")
#define OF_RESULT FIELD(OF_OWNER, "result_id", 0, 1, .sql = " NOT NULL REFERENCES result (id) ON DELETE CASCADE", .json = "")
#define OF_MEASUREMENT FIELD(OF_OWNER, "result_id", 0, 1, REQUIRED, .json = ""), AT_POSITION
#define AT_POSITION AT_POSITION_SINCE(1)
#define AT_POSITION_SINCE(version_) FIELD(POSITION, "position", 0, version_, REQUIRED)

#define ROW struct ypi_run
static const struct ypi_field run_fields[] = {
    FIELD(CHARS, "id", M(id), 1, .sql = " PRIMARY KEY"),
    FIELD(REAL, "started", M(started), 1, REQUIRED),
    FIELD(LATER, "ended", 0, 1, .sql = " REAL"), /* NULL: still going on, or killed */
    FIELD(LATER, "exit_code", 0, 1, .sql = " INTEGER"),
    FIELD(UNSIGNED, "seed", M(seed), 1, REQUIRED, .as_text = true),
    FIELD(TEXT, "command", M(command), 1, REQUIRED),
    FIELD(TEXT, "program", M(program), 1, REQUIRED),
    FIELD(BOOL, "speed_judged", M(speed_judged), 1, REQUIRED),
    FIELD(UNSIGNED, "memory_limit", M(memory_limit), 1, REQUIRED),
    MADE(TEXT, "machine", get_machine, 1),
    FIELD(REAL, "slowdown", M(slowdown), 5, WHEN(slowdown)), /* its samples are not those of the work */
    FIELD(BOOL, "no_fork", M(no_fork), 5, COUNTED), /* its cases shared one process */
};
#undef ROW

static const struct ypi_field run_option_fields[] = { /* arguments that a reproduction must repeat */
    OF_RUN, AT_POSITION, FIELD(TEXT, "argument", 0, 1, REQUIRED),
};

#define ROW struct ypi_fact
static const struct ypi_field fact_fields[] = {
    OF_RUN,
    FIELD(TEXT, "key", M(key), 1, REQUIRED, .json = "name"),
    FIELD(TEXT, "value", M(value), 1, REQUIRED),
};
#undef ROW

#define ROW struct yp_case
static const struct ypi_field test_case_fields[] = {
    FIELD(TEXT, "id", M(id), 1, .sql = " PRIMARY KEY"),
    INSIDE(TEXT, "test_group", offsetof(struct yp_test, group), 1, REQUIRED),
    INSIDE(TEXT, "test", offsetof(struct yp_test, name), 1, REQUIRED),
    MADE(TEXT, "name", get_case_name, 1, REQUIRED),
    FIELD(CHARS, "device", M(device), 1, REQUIRED),
    FIELD(TEXT, "tags", M(tags), 1, REQUIRED),
};
#undef ROW

#define ROW struct ypi_setting
static const struct ypi_field axis_fields[] = {
    FIELD(OF_OWNER, "case_id", 0, 1, .sql = " NOT NULL REFERENCES test_case (id) ON DELETE CASCADE", .json = ""),
    AT_POSITION,
    FIELD(TEXT, "name", M(axis), 1, REQUIRED),
    MADE(TEXT, "kind", get_axis_kind, 1, REQUIRED, .json = ""),
    MADE(ANY, "value", get_axis, 1),
};
#undef ROW

#define ROW struct ypi_result
#define C(member) offsetof(struct yp_case, member)
static const struct ypi_field result_fields[] = {
    FIELD(OF_OWNER, "id", 0, 1, .sql = " PRIMARY KEY", .listed = true),
    FIELD(OF_RUN, "run_id", 0, 1, .sql = " NOT NULL REFERENCES run (id) ON DELETE CASCADE", .csv = "run"),
    INSIDE(TEXT, "case_id", C(id), 1, .sql = " NOT NULL REFERENCES test_case (id)", .json = "case", .listed = true, .csv = "id"),
    INSIDE(INT, "repeat", C(repeat), 1, REQUIRED, .listed = true, .csv = "repeat"),
    FIELD(NAME, "outcome", M(outcome), 1, REQUIRED, .names = ypi_outcome_names, .listed = true, .csv = "outcome"),
    FIELD(TEXT, "reason", M(reason), 1, .listed = true),
    FIELD(REAL, "started", M(started), 1, REQUIRED, .listed = true),
    FIELD(REAL, "setup", M(setup), 1),
    FIELD(REAL, "body", M(body), 1),
    FIELD(REAL, "teardown", M(teardown), 1),
    FIELD(REAL, "duration", M(duration), 1, .listed = true),
    INSIDE(REAL, "timeout", C(timeout), 1),
    FIELD(BOOL, "ended", M(ended), 1, REQUIRED),
    FIELD(INT, "exit_code", M(exit_code), 1),
    FIELD(INT, "signal", M(signal), 1),
    MADE(TEXT, "data_hash", get_hash, 1, WHEN(has_hash), .listed = true),
    INSIDE(UNSIGNED, "seed", C(seed), 1, REQUIRED, .as_text = true, .csv = "seed"),
    FIELD(UNSIGNED, "leaked_bytes", M(memory.leaked_bytes), 1, WHEN(has_memory)),
    FIELD(UNSIGNED, "leaked_blocks", M(memory.leaked_blocks), 1, WHEN(has_memory)),
    FIELD(UNSIGNED, "resident_before", M(memory.resident_before), 1, WHEN(has_memory)),
    FIELD(UNSIGNED, "resident_peak", M(memory.resident_peak), 1, WHEN(has_memory)),
    FIELD(TEXT, "tail", M(tail), 1, REQUIRED),
    FIELD(UNSIGNED, "output_bytes", M(output_bytes), 2, COUNTED),
    FIELD(INT, "attempt", M(attempt), 3, COUNTED, .listed = true, .csv = "attempt"), /* 0: the case; above: a fresh process for it */
    FIELD(UNSIGNED, "fail_allocation", M(fail_allocation), 3, COUNTED, .as_text = true, .listed = true),
    FIELD(TEXT, "note", M(note), 3),
    FIELD(UNSIGNED, "resident_huge", M(memory.resident_huge), 6, WHEN(has_memory)), /* in huge pages that nobody asked for */
    FIELD(UNSIGNED, "resident_files", M(memory.resident_files), 7, WHEN(has_memory)), /* growth of pages of files */
};
#undef C
#undef ROW

#define ROW struct yp_memory
static const struct ypi_field memory_fields[] = { /* accounted, at the end of a case */
    OF_RESULT,
    MADE(TEXT, "memory", get_memory, 1, REQUIRED),
    FIELD(UNSIGNED, "allocated", M(allocated), 1, REQUIRED),
    FIELD(UNSIGNED, "allocated_peak", M(allocated_peak), 1, REQUIRED, .csv = "value"),
    FIELD(UNSIGNED, "reserved", M(reserved), 1, REQUIRED),
    FIELD(UNSIGNED, "reserved_peak", M(reserved_peak), 1, REQUIRED),
    FIELD(UNSIGNED, "total", M(total), 1, REQUIRED),
    FIELD(UNSIGNED, "allocations", M(allocations), 1, REQUIRED),
    FIELD(UNSIGNED, "frees", M(frees), 1, REQUIRED),
    FIELD(UNSIGNED, "refused", M(refused), 1, REQUIRED),
    FIELD(UNSIGNED, "allowed", M(limit), 1, REQUIRED), /* 0: no limit */
    FIELD(UNSIGNED, "system", M(system), 4, WHEN(system)),
};
#undef ROW

#define ROW struct ypi_failure
static const struct ypi_field failure_fields[] = {
    OF_RESULT, AT_POSITION,
    FIELD(NAME, "cause", M(cause), 1, REQUIRED, .names = ypi_cause_names, .listed = true),
    FIELD(TEXT, "message", M(message), 1, REQUIRED, .listed = true),
    FIELD(TEXT, "file", M(file), 1),
    FIELD(INT, "line", M(line), 1, WHEN(file)),
    FIELD(TEXT, "stack", M(stack), 5),
};
#undef ROW

#define ROW struct ypi_measured
static const struct ypi_field measurement_fields[] = {
    OF_RESULT, AT_POSITION,
    FIELD(CHARS, "name", M(name), 1, REQUIRED, .listed = true),
    FIELD(CHARS, "unit", M(unit), 1, REQUIRED, .listed = true),
    FIELD(REAL, "items", M(items), 1, .listed = true, .csv = "items"), /* an iteration; 0: unknown */
    FIELD(REAL, "flops", M(flops), 1, .listed = true),
    FIELD(REAL, "bytes", M(bytes), 1, .listed = true),
    FIELD(UNSIGNED, "batch", M(batch), 1, REQUIRED),
    FIELD(UNSIGNED, "warmup", M(warmup), 1, REQUIRED),
    FIELD(NAME, "stop", M(stop), 1, REQUIRED, .names = ypi_stop_names),
    FIELD(UNSIGNED, "count", M(count), 1, REQUIRED, .csv = "samples"),
    FIELD(REAL, "median", M(estimate.median), 1, .listed = true, .csv = "value"),
    FIELD(REAL, "low", M(estimate.low), 1, .listed = true, .csv = "low"),
    FIELD(REAL, "high", M(estimate.high), 1, .listed = true, .csv = "high"),
    FIELD(REAL, "coverage", M(estimate.coverage), 1),
    FIELD(REAL, "mean", M(estimate.mean), 1),
    FIELD(REAL, "sd", M(estimate.sd), 1),
    FIELD(REAL, "min", M(estimate.min), 1),
    FIELD(REAL, "max", M(estimate.max), 1),
    FIELD(NAME, "kind", M(kind), 3, .names = ypi_measured_kind_names),
    FIELD(REAL, "footprint", M(footprint), 3), /* 0: memory */
    FIELD(INT, "threads", M(threads), 3),
    FIELD(BOOL, "cold", M(cold), 3),
    FIELD(REAL, "rate", M(rate), 3), /* requests a second that were due */
    FIELD(REAL, "p90", M(estimate.p90), 3, .csv = "p90"), /* NULL: too few samples */
    FIELD(REAL, "p99", M(estimate.p99), 3, .csv = "p99"),
    FIELD(REAL, "p999", M(estimate.p999), 3),
    FIELD(UNSIGNED, "low_mild", M(estimate.low_mild), 3), /* outliers */
    FIELD(UNSIGNED, "high_mild", M(estimate.high_mild), 3),
    FIELD(UNSIGNED, "low_severe", M(estimate.low_severe), 3),
    FIELD(UNSIGNED, "high_severe", M(estimate.high_severe), 3),
    FIELD(REAL, "autocorrelation", M(estimate.autocorrelation), 3),
    FIELD(REAL, "effective", M(estimate.effective), 3), /* number of independent samples */
    FIELD(REAL, "cpu", M(cpu_estimate.median), 3, WHEN(cpu), .csv = "cpu"), /* processor seconds */
    FIELD(REAL, "cpu_low", M(cpu_estimate.low), 3, WHEN(cpu)),
    FIELD(REAL, "cpu_high", M(cpu_estimate.high), 3, WHEN(cpu)),
    FIELD(REAL, "growth_accounted", M(growth_accounted), 3), /* bytes an iteration */
    FIELD(REAL, "growth_resident", M(growth_resident), 3),
    MADE(TEXT, "bound", get_bound, 3, .listed = true), /* the nearest ceiling, in steps 'a + b'; '': not known */
    FIELD(REAL, "share", M(share_estimate.median), 3, WHEN(share_count), .listed = true, .csv = "share"), /* of the bound */
    FIELD(REAL, "share_low", M(share_estimate.low), 3, WHEN(share_count), .listed = true),
    FIELD(REAL, "share_high", M(share_estimate.high), 3, WHEN(share_count), .listed = true),
    FIELD(REAL, "share_coverage", M(share_estimate.coverage), 3, WHEN(share_count)),
    FIELD(UNSIGNED, "stretches", M(share_count), 3), /* that the share was made of */
};

static const struct ypi_field samples_fields[] = {
    OF_MEASUREMENT,
    FIELD(DOUBLES, "seconds", M(samples), 1, REQUIRED, .count = M(count), .json = "samples"),
    FIELD(DOUBLES, "cpu", M(cpu), 3, .count = M(count), .json = "cpu_samples"),
    FIELD(DOUBLES, "shares", M(shares), 3, .count = M(share_count)), /* one a stretch */
    FIELD(DOUBLES, "slowed", M(slowed), 4, .count = M(slowed_count), .json = "set_aside_samples", .csv = "value"),
};

#define NOISE(type_, name_, member_) FIELD(type_, name_, M(noise.member_), 3, WHEN(noise.wall))
#define DEVICE(type_, name_, member_) FIELD(type_, name_, M(member_), 3, WHEN(on_device.there))
const struct ypi_field ypi_noise_fields[] = { /* NULL: the kernel, or the device, does not report it */
    NOISE(REAL, "wall", wall),
    NOISE(REAL, "own", own),
    NOISE(REAL, "others", others),
    NOISE(REAL, "stolen", stolen),
    NOISE(REAL, "throttled", throttled),
    NOISE(REAL, "minor_faults", minor_faults),
    NOISE(REAL, "major_faults", major_faults),
    NOISE(REAL, "waits", waits),
    NOISE(REAL, "preemptions", preemptions),
    NOISE(REAL, "migrations", migrations),
    NOISE(REAL, "frequency", frequency),
    NOISE(REAL, "frequency_least", frequency_least),
    NOISE(REAL, "hot", hot),
    NOISE(INT, "processors", processors),
    NOISE(REAL, "began", began), /* since 1970, of the samples */
    DEVICE(BOOL, "gpu held", on_device.held),
    DEVICE(REAL, "gpu opening", on_device.opening),
    DEVICE(REAL, "gpu launching", on_device.launching),
    DEVICE(BOOL, "gpu graph", on_device.replayed),
    DEVICE(REAL, "gpu clock", on_device.clock),
    DEVICE(REAL, "gpu clock least", on_device.clock_min),
    DEVICE(REAL, "gpu clock most", on_device.clock_max),
    DEVICE(REAL, "gpu temperature", on_device.temperature),
    DEVICE(REAL, "gpu power", on_device.power),
    DEVICE(REAL, "gpu utilisation", on_device.utilisation),
    DEVICE(REAL, "gpu memory used", on_device.used),
    DEVICE(REAL, "gpu reserved over allocated", on_device.reserved),
    DEVICE(REAL, "gpu pool granule", on_device.granule),
    DEVICE(UNSIGNED, "gpu throttled", on_device.throttled),
    DEVICE(UNSIGNED, "gpu samples power capped", on_device.power_capped),
    DEVICE(UNSIGNED, "gpu samples set aside", slowed_count),
};
const size_t ypi_noise_field_count = sizeof ypi_noise_fields / sizeof *ypi_noise_fields;
#undef ROW

#define ROW struct ypi_figure_row
static const struct ypi_field noise_fields[] = {
    OF_MEASUREMENT, FIELD(TEXT, "name", M(name), 3, REQUIRED), FIELD(REAL, "value", M(value), 3, .csv = "value"),
};
#undef ROW

#define ROW struct ypi_phase
static const struct ypi_field phase_fields[] = { /* named parts of a measurement */
    OF_MEASUREMENT,
    FIELD(NUMBER, "phase", 0, 2, REQUIRED, .json = ""),
    FIELD(CHARS, "name", M(name), 2, REQUIRED),
    FIELD(REAL, "seconds", M(seconds), 2), /* mean, an iteration */
};
#undef ROW

#define ROW struct ypi_ceiling
static const struct ypi_field bound_fields[] = { /* ceilings, as they were probed beside a measurement */
    OF_MEASUREMENT,
    FIELD(NUMBER, "number", 0, 3, REQUIRED, .json = ""),
    MADE(TEXT, "ceiling", get_ceiling, 3, REQUIRED),
    FIELD(CHARS, "level", M(level), 3, REQUIRED),
    FIELD(INT, "threads", M(threads), 3, REQUIRED),
    FIELD(INT, "probes", M(probes), 3, REQUIRED, .csv = "samples"),
    FIELD(REAL, "rate", M(rate), 3, WHEN(probes), .csv = "value"),
    FIELD(REAL, "low", M(low), 3, WHEN(probes), .csv = "low"),
    FIELD(REAL, "high", M(high), 3, WHEN(probes), .csv = "high"),
    FIELD(REAL, "work", M(work), 3, .csv = "items"),
    FIELD(REAL, "footprint", M(footprint), 5), /* of traffic; 0: not known, -1: memory */
    FIELD(INT, "stage", M(stage), 5), /* of work in steps: their least times add up */
};
#undef ROW

#define ROW struct ypi_count
static const struct ypi_field counter_fields[] = { /* an iteration */
    OF_MEASUREMENT,
    MADE(TEXT, "counter", get_counter, 3, REQUIRED),
    FIELD(NAME, "source", M(source), 3, REQUIRED, .names = ypi_counter_source_names),
    FIELD(REAL, "count", M(count), 3),
};
#undef ROW

#define ROW struct ypi_value
static const struct ypi_field value_fields[] = {
    OF_RESULT, AT_POSITION,
    FIELD(CHARS, "name", M(name), 1, REQUIRED),
    FIELD(CHARS, "unit", M(unit), 1, REQUIRED),
    FIELD(REAL, "value", M(value), 1, .csv = "value"),
    FIELD(REAL, "low", M(low), 3, .csv = "low"),
    FIELD(REAL, "high", M(high), 3, .csv = "high"),
    FIELD(BOOL, "of_speed", M(of_speed), 3, COUNTED),
};
#undef ROW

#define ROW struct ypi_gradient
static const struct ypi_field gradient_fields[] = {
    OF_RESULT, AT_POSITION,
    FIELD(CHARS, "name", M(name), 1, REQUIRED),
    FIELD(BOOL, "precision", M(precision), 1, REQUIRED),
    FIELD(REAL, "error", M(error), 1, .csv = "value"),
    FIELD(REAL, "allowed", M(limit), 1),
    FIELD(REAL, "slope", M(slope), 1),
    FIELD(REAL, "expected", M(expected), 1),
    FIELD(REAL, "got", M(got), 1),
    FIELD(CHARS, "tensor", M(tensor), 1, REQUIRED),
    FIELD(INT, "checked", M(checked), 1, REQUIRED),
    FIELD(REAL, "resolution", M(resolution), 3),
};
#undef ROW

#define ROW struct ypi_verdict
#define B(member) offsetof(struct yp_budget, member)
static const struct ypi_field verdict_fields[] = {
    OF_RESULT, AT_POSITION,
    MADE(TEXT, "kind", get_budget_kind, 1, REQUIRED),
    INSIDE(TEXT, "name", B(name), 1),
    MADE(TEXT, "memory", get_budget_memory, 1),
    INSIDE(REAL, "allowed", B(limit), 1),
    FIELD(NAME, "met", M(met), 1, REQUIRED, .names = ypi_met_names, .csv = "met"),
    FIELD(REAL, "measured", M(measured), 1, .csv = "value"),
    FIELD(REAL, "low", M(low), 1, .csv = "low"),
    FIELD(REAL, "high", M(high), 1, .csv = "high"),
    FIELD(REAL, "distance", M(distance), 1),
    MADE(TEXT, "detail", get_budget_detail, 3), /* a counter's name, or such as p99 */
    FIELD(INT, "asked", M(asked), 3), /* fresh processes */
    FIELD(INT, "confirmed", M(confirmed), 3), /* of them, that said the same */
    MADE(REAL, "slack", get_slack, 5), /* allowed over measured; 1 and more when met */
    INSIDE(TEXT, "required", B(required), 5), /* who states the limit; NULL: nobody */
    MADE(TEXT, "baseline", get_baseline, 8), /* that a regression is measured against */
};
#undef B
#undef ROW

#define ROW struct ypi_series_row
static const struct ypi_field series_fields[] = { /* what an accelerator did beside a case */
    OF_RESULT,
    FIELD(TEXT, "name", M(name), 4, REQUIRED),
    FIELD(DOUBLES, "seconds", M(seconds), 4, REQUIRED, .count = M(count)),
    FIELD(DOUBLES, "value", M(values), 4, REQUIRED, .count = M(count), .csv = "value"),
};
#undef ROW

#define ROW struct ypi_figure
#define SIZED(name_, member) FIELD(CHARS, name_, M(member), 3, REQUIRED, .count = sizeof ((ROW *)0)->member)
static const struct ypi_field ceiling_fields[] = { /* where `yieldpoint machine` keeps what it measured */
    FIELD(OF_OWNER, "machine", 0, 3, REQUIRED, .json = ""),
    SIZED("name", name),
    SIZED("level", level),
    FIELD(INT, "threads", M(threads), 3, REQUIRED),
    SIZED("isa", isa),
    SIZED("unit", unit),
    FIELD(REAL, "measured", M(measured), 3, REQUIRED),
    FIELD(REAL, "rate", M(rate), 3),
    FIELD(REAL, "low", M(low), 3),
    FIELD(REAL, "high", M(high), 3),
};
#undef SIZED
#undef ROW

#define ROW struct ypi_gate_record
static const struct ypi_field gate_fields[] = { /* two revisions that `yieldpoint gate` compared */
    FIELD(CHARS, "id", M(id), 6, .sql = " PRIMARY KEY"),
    FIELD(REAL, "started", M(started), 6, REQUIRED),
    FIELD(REAL, "seconds", M(seconds), 6),
    FIELD(TEXT, "base", M(base), 6),
    FIELD(TEXT, "base_commit", M(base_commit), 6),
    FIELD(BOOL, "base_dirty", M(base_dirty), 6),
    FIELD(TEXT, "base_machine", M(base_machine), 6),
    FIELD(TEXT, "head", M(head), 6),
    FIELD(TEXT, "head_commit", M(head_commit), 6),
    FIELD(BOOL, "head_dirty", M(head_dirty), 6),
    FIELD(TEXT, "head_machine", M(head_machine), 6),
    FIELD(REAL, "threshold", M(threshold), 6),
    FIELD(REAL, "error", M(error), 6),
    FIELD(BOOL, "whole", M(whole), 6), /* it came to its end */
    FIELD(INT, "exit_code", M(exit_code), 6),
    FIELD(TEXT, "notes", M(notes), 6), /* a line each */
};
#undef ROW

#define ROW struct ypi_comparison_record
static const struct ypi_field comparison_fields[] = { /* one quantity of one case, by a gate */
    FIELD(OF_OWNER, "gate_id", 0, 6, .sql = " NOT NULL REFERENCES gate (id) ON DELETE CASCADE", .json = ""),
    AT_POSITION_SINCE(6),
    FIELD(TEXT, "id", M(id), 6, REQUIRED), /* of the case, which need not be one of this history */
    FIELD(TEXT, "quantity", M(quantity), 6, REQUIRED),
    FIELD(TEXT, "name", M(name), 6),
    FIELD(TEXT, "verdict", M(verdict), 6, REQUIRED),
    FIELD(BOOL, "by_share", M(by_share), 6),
    FIELD(REAL, "base", M(base), 6),
    FIELD(REAL, "head", M(head), 6),
    FIELD(TEXT, "base_text", M(base_text), 6),
    FIELD(TEXT, "head_text", M(head_text), 6),
    FIELD(TEXT, "unit", M(unit), 6),
    FIELD(REAL, "ratio", M(ratio), 6),
    FIELD(REAL, "low", M(low), 6),
    FIELD(REAL, "high", M(high), 6),
    FIELD(INT, "pairs", M(pairs), 6),
    FIELD(REAL, "seconds", M(seconds), 6),
    FIELD(TEXT, "note", M(note), 6),
};
#undef ROW

#define TABLE(name_, since_) \
    .name = #name_, .since = since_, .fields = name_##_fields, .count = sizeof name_##_fields / sizeof *name_##_fields
#define KEY(columns_) ", PRIMARY KEY (" columns_ ")"
#define PART ", FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position) ON DELETE CASCADE"
const struct ypi_table ypi_tables[YPI_TABLES] = {
    [YPI_TABLE_RUN] = {TABLE(run, 1), ")", .index = "CREATE INDEX run_started ON run (started);"},
    [YPI_TABLE_OPTION] = {TABLE(run_option, 1), KEY("run_id, position") ") WITHOUT ROWID", .order = "position"},
    [YPI_TABLE_FACT] = {TABLE(fact, 1), KEY("run_id, key") ") WITHOUT ROWID", .order = "key"},
    [YPI_TABLE_CASE] = {TABLE(test_case, 1), ") WITHOUT ROWID",
        /* The same case comes again and again: it is written only when something of it changed. */
        .conflict = " ON CONFLICT (id) DO UPDATE SET name = excluded.name, tags = excluded.tags"
                    " WHERE name <> excluded.name OR tags <> excluded.tags"},
    [YPI_TABLE_AXIS] = {TABLE(axis, 1), KEY("case_id, position") ") WITHOUT ROWID", .or = " OR REPLACE", .order = "position"},
    [YPI_TABLE_RESULT] = {TABLE(result, 1), ", UNIQUE (run_id, case_id, repeat, attempt))",
        .index = "CREATE INDEX result_case ON result (case_id, started);"},
    [YPI_TABLE_MEMORY] = {TABLE(memory, 1), KEY("result_id, memory") ") WITHOUT ROWID", .order = "memory"},
    [YPI_TABLE_FAILURE] = {TABLE(failure, 1), KEY("result_id, position") ") WITHOUT ROWID", .order = "position"},
    [YPI_TABLE_MEASUREMENT] = {TABLE(measurement, 1), KEY("result_id, position") ") WITHOUT ROWID", .order = "position"},
    [YPI_TABLE_SAMPLES] = {TABLE(samples, 1), KEY("result_id, position") PART ")", .order = "position"},
    [YPI_TABLE_PHASE] = {TABLE(phase, 2), KEY("result_id, position, phase") PART ") WITHOUT ROWID", .order = "position, phase"},
    [YPI_TABLE_BOUND] = {TABLE(bound, 3), KEY("result_id, position, number") PART ") WITHOUT ROWID", .order = "position, number"},
    [YPI_TABLE_NOISE] = {TABLE(noise, 3), KEY("result_id, position, name") PART ") WITHOUT ROWID", .order = "position, name"},
    [YPI_TABLE_COUNTER] = {TABLE(counter, 3), KEY("result_id, position, counter") PART ") WITHOUT ROWID", .order = "position, counter"},
    [YPI_TABLE_VALUE] = {TABLE(value, 1), KEY("result_id, position") ") WITHOUT ROWID", .order = "position"},
    [YPI_TABLE_GRADIENT] = {TABLE(gradient, 1), KEY("result_id, position") ") WITHOUT ROWID", .order = "position"},
    [YPI_TABLE_VERDICT] = {TABLE(verdict, 1), KEY("result_id, position") ") WITHOUT ROWID", .order = "position"},
    [YPI_TABLE_SERIES] = {TABLE(series, 4), KEY("result_id, name") ") WITHOUT ROWID", .order = "name"},
    [YPI_TABLE_CEILING] = {TABLE(ceiling, 3), KEY("machine, name, level, threads, isa") ") WITHOUT ROWID", .order = "name"},
    [YPI_TABLE_GATE] = {TABLE(gate, 6), ")", .index = "CREATE INDEX gate_started ON gate (started);"},
    [YPI_TABLE_COMPARISON] = {TABLE(comparison, 6), KEY("gate_id, position") ") WITHOUT ROWID", .order = "position"},
};
/* clang-format on */
