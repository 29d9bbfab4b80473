#include "reports/history/columns.h"

/* clang-format off */

#define FACT(key) "(SELECT value FROM fact WHERE run_id = run.id AND key = '" key "')"
#define PEAK(memory, column) "(SELECT " column " FROM memory WHERE result_id = r.id AND memory = '" memory "')"
/* "a=1; b=2" of ordered rows. */
#define JOINED(text, from) "(SELECT group_concat(" text ", '; ') FROM (SELECT * FROM " from " ORDER BY position))"
#define ISO(seconds) "strftime('%Y-%m-%dT%H:%M:%SZ', " seconds ", 'unixepoch')"
#define DEVICE "CASE c.device WHEN '' THEN 'cpu' ELSE c.device END"
#define FIRST_FAILURE "(SELECT message FROM failure WHERE result_id = r.id AND position = 0)"
#define OF_MEASUREMENT(column) {column, "m." column}

static const struct ypi_column all[] = {
    {"started", "r.started"},
    {"time", ISO("r.started")},
    {"run", "run.id"},
    {"result", "r.id"},
    {"id", "r.case_id"},
    {"group", "c.test_group"},
    {"test", "c.test"},
    {"case", "c.name"},
    {"axes", JOINED("name || '=' || value", "axis WHERE case_id = r.case_id")},
    {"device", DEVICE},
    {"tags", "c.tags"},
    {"outcome", "r.outcome"},
    {"reason", "r.reason"},
    {"failure", FIRST_FAILURE},
    {"repeat", "r.repeat"},
    {"attempt", "r.attempt"},
    {"seed", "printf('%u', r.seed)"}, /* as text: beyond what a JSON reader takes as a number */
    {"data_hash", "r.data_hash"},
    {"duration", "r.duration"},
    OF_MEASUREMENT("name"),
    OF_MEASUREMENT("kind"),
    OF_MEASUREMENT("unit"),
    {"value", "m.median"},
    OF_MEASUREMENT("low"),
    OF_MEASUREMENT("high"),
    OF_MEASUREMENT("coverage"),
    OF_MEASUREMENT("mean"),
    OF_MEASUREMENT("sd"),
    OF_MEASUREMENT("min"),
    OF_MEASUREMENT("max"),
    OF_MEASUREMENT("p90"),
    OF_MEASUREMENT("p99"),
    OF_MEASUREMENT("p999"),
    {"samples", "m.count"},
    OF_MEASUREMENT("effective"),
    OF_MEASUREMENT("batch"),
    OF_MEASUREMENT("warmup"),
    OF_MEASUREMENT("stop"),
    OF_MEASUREMENT("items"),
    OF_MEASUREMENT("flops"),
    OF_MEASUREMENT("bytes"),
    OF_MEASUREMENT("footprint"),
    OF_MEASUREMENT("threads"),
    OF_MEASUREMENT("cold"),
    OF_MEASUREMENT("rate"),
    OF_MEASUREMENT("cpu"),
    OF_MEASUREMENT("bound"),
    OF_MEASUREMENT("share"),
    OF_MEASUREMENT("share_low"),
    OF_MEASUREMENT("share_high"),
    OF_MEASUREMENT("growth_accounted"),
    OF_MEASUREMENT("growth_resident"),
    {"budgets", JOINED("kind || ' ' || coalesce(name || ' ', memory || ' ', '') || coalesce(detail || ' ', '') || met",
                       "verdict WHERE result_id = r.id")},
    {"values", JOINED("name || '=' || value || CASE unit WHEN '' THEN '' ELSE ' ' || unit END",
                      "value WHERE result_id = r.id")},
    {"host_peak", PEAK("host", "allocated_peak")},
    {"device_peak", PEAK("device", "allocated_peak")},
    {"device_reserved_peak", PEAK("device", "reserved_peak")},
    {"resident_peak", "r.resident_peak"},
    {"leaked_bytes", "r.leaked_bytes"},
    {"run_started", "run.started"},
    {"speed_judged", "run.speed_judged"},
    {"slowdown", "run.slowdown"},
    {"no_fork", "run.no_fork"},
    {"machine", "run.machine"},
    {"processor", FACT("cpu.model")},
    {"hostname", FACT("hostname")},
    {"commit", FACT("git.commit")},
    {"branch", FACT("git.branch")},
    {"dirty", FACT("git.dirty")},
    {"program", "run.program"},
};

/* What a case says of itself, by an axis, a named case's parameter or a value of one of two names. */
#define SAID(name) "coalesce((SELECT value FROM axis WHERE case_id = r.case_id AND name = '" name "')," \
    " (SELECT value FROM value WHERE result_id = r.id AND name = '" name "'))"
#define SAID_AS(name, other) "coalesce(" SAID(name) ", " SAID(other) ")"
#define OF_CASE(name) {name, SAID(name)}
#define MILLI(seconds) "1e3 * " seconds
#define PHASE(name) \
    "(SELECT 1e3 * seconds FROM phase WHERE result_id = r.id AND position = m.position AND name = '" name "')"
#define MEBI(column) "(SELECT " column " / 1048576.0 FROM memory WHERE result_id = r.id" \
    " AND memory = CASE c.device WHEN 'cuda' THEN 'device' ELSE 'host' END)"
#define IS_OOM "(coalesce(r.reason, '') LIKE 'OOM%' OR coalesce(" FIRST_FAILURE ", '') LIKE '%out of memory%')"

static const struct ypi_column tile_sweep[] = {
    {"timestamp", ISO("r.started")},
    {"mode", SAID_AS("mode", "pass")},
    {"tile_size", SAID_AS("tile_size", "tile")},
    {"batch_size", SAID_AS("batch_size", "batch")},
    {"device", DEVICE},
    {"model_params", SAID_AS("model_params", "parameters")},
    OF_CASE("model_size_mb"),
    {"avg_time_ms", MILLI("m.mean")},
    {"std_time_ms", MILLI("m.sd")},
    {"throughput_samples_per_sec", SAID_AS("batch_size", "batch") " / m.mean"},
    {"memory_allocated_mb", MEBI("allocated")},
    {"memory_reserved_mb", MEBI("reserved")},
    {"memory_peak_mb", MEBI("allocated_peak")},
    {"forward_time_ms", PHASE("forward")},
    {"backward_time_ms", PHASE("backward")},
    {"total_time_ms", "CASE WHEN " PHASE("backward") " IS NOT NULL THEN 1e3 * m.mean END"},
    {"error", "CASE WHEN r.outcome = 'passed' THEN NULL WHEN " IS_OOM " THEN 'OOM'"
              " ELSE coalesce(" FIRST_FAILURE ", r.reason) END"},
};

static const struct ypi_column model_sweep[] = {
    {"timestamp", ISO("r.started")},
    {"model_size", SAID_AS("model_size", "size")},
    OF_CASE("d_model"),
    OF_CASE("d_ff"),
    {"num_layers", SAID_AS("num_layers", "layers")},
    {"num_heads", SAID_AS("num_heads", "heads")},
    {"vocab_size", SAID_AS("vocab_size", "vocabulary")},
    {"batch_size", SAID_AS("batch_size", "batch")},
    {"context_length", SAID_AS("context_length", "context")},
    {"pass_type", SAID_AS("pass_type", "pass")},
    {"device", DEVICE},
    {"warmup_steps", "m.warmup"},
    {"measure_steps", "m.count"},
    OF_CASE("parameters"),
    {"mean_time_ms", MILLI("m.mean")},
    {"mean_time_s", "m.mean"},
    {"std_time_ms", MILLI("m.sd")},
    {"std_time_s", "m.sd"},
    {"cv_percent", "100 * m.sd / m.mean"},
    {"status", "CASE WHEN r.outcome = 'passed' THEN 'ok' WHEN " IS_OOM " THEN 'OOM' ELSE r.outcome END"},
};

#define SET(list) {list, sizeof list / sizeof *list}
const struct ypi_column_set ypi_column_sets[3] = {SET(all), SET(tile_sweep), SET(model_sweep)};
/* clang-format on */
