/* The history: what is put in comes out, older files are upgraded, what was committed stays. */
#include "harness/record/record.h"
#include "harness/record/reproduce.h"
#include "harness/record/row.h"

#include "tests/unit/harness/folder.h"
#include "tests/unit/harness/history_v2.h"
#include "tests/unit/harness/history_v4.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN "11111111-2222-4333-8444-555555555555"

static char path[96];

static void begin(void)
{
    make_directory();
    snprintf(path, sizeof path, "%s/history.db", directory);
}

TestSuite(record, .init = begin, .fini = remove_directory, .timeout = 120);

/* -- helpers ------------------------------------------------------------------------------- */

static const struct yp_test test = {.group = "rx", .name = "fit"};

static struct yp_case case_of(const char *id, int repeat)
{
    return (struct yp_case){.test = &test,
                            .id = (char *)(uintptr_t)id,
                            .tags = NULL,
                            .device = "cpu",
                            .timeout = 60,
                            .seed = 7,
                            .repeat = repeat};
}

static struct ypi_run run_of(const char *id)
{
    struct ypi_run run = {.started = 1700000000.5, .seed = 7, .command = "a b", .program = "a"};
    snprintf(run.id, sizeof run.id, "%s", id);
    return run;
}

static struct ypi_history *begun(const char *run_id)
{
    struct ypi_run run = run_of(run_id);
    struct ypi_history *h = ypi_history_open(path);
    cr_assert_not_null(h, "%s", yp_last_error());
    cr_assert_eq(ypi_history_begin(h, &run), YP_OK, "%s", yp_last_error());
    return h;
}

static enum yp_status add_repeat(struct ypi_history *h, const char *run_id, int repeat)
{
    struct yp_case c = case_of("stress/a.c::b", repeat);
    struct ypi_result result = {.c = &c, .started = 1700000001, .ended = true};
    return ypi_history_add(h, run_id, &result);
}

/* One field of one row, as text; NULL stands as "NULL". Valid until the next call. */
static const char *query(const char *sql)
{
    static char text[4096];
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK, "%s: %s", sql,
                 sqlite3_errmsg(db));
    int code = sqlite3_step(s);
    const char *got = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : "no row";
    snprintf(text, sizeof text, "%s", got ? got : "NULL");
    sqlite3_finalize(s);
    sqlite3_close(db);
    return text;
}

static void expect(const char *sql, const char *wanted)
{
    const char *got = query(sql);
    cr_expect_str_eq(got, wanted, "%s: %s, wanted %s", sql, got, wanted);
}

static void expect_version(int version)
{
    char wanted[16];
    snprintf(wanted, sizeof wanted, "%d", version);
    expect("PRAGMA user_version", wanted);
}

static void expect_sound(void)
{
    expect("PRAGMA integrity_check", "ok");
    expect("PRAGMA foreign_key_check", "no row");
}

static void execute(const char *sql)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK, "%s", message);
    sqlite3_close(db);
}

static void write_version_1(void)
{
    execute(history_v1_tables);
    execute(history_v1_rows);
}

static void write_version_2(void)
{
    write_version_1();
    execute(history_v2_tables);
    execute(history_v2_rows);
}

/* -- what is put in comes out -------------------------------------------------------------- */

static const struct yp_budget budgets[] = {
    yp_min_rate("fit", 1e6),
    yp_max_leak(YP_DEVICE, 512),
    yp_max_gradient_error("loss", 1e-6),
    yp_max_percentile("fit", 99.9, 2),
    yp_max_count("fit", YP_BRANCH_MISSES, 7),
};
enum { BUDGETS = sizeof budgets / sizeof *budgets };

static double samples[] = {0.5, INFINITY, 0.25};
static double cpu[] = {0.75, NAN, 1.5};
static double shares[] = {0.5, 2};

static struct ypi_measured measured[] = {{
    .kind = YPI_MEASURED_SERVE,
    .name = "fit",
    .unit = "pixels",
    .items = 1000,
    .flops = 2000,
    .bytes = 4000,
    .footprint = 4096,
    .threads = 2,
    .cold = true,
    .rate = 250,
    .batch = 8,
    .warmup = 3,
    .stop = YPI_STOP_TIME,
    .phases = {{"forward", 0.125}, {"backward", 0.25}},
    .phase_count = 2,
    .bounds = {{YP_FP32, "", 2, 4, 2e9, 1e9, 3e9, 2000, 0, 0},
               {YP_READ, "L2", 1, 0, 5, 6, 7, 4000, 4096, 1}},
    .bound = YPI_BOUND_TRAFFIC,
    .noise = {1.5, 2.5, NAN, 0.25, 3, 4, 5, 6, 7, 8, 9, 10, 11, 2, 12},
    .counts =
        {[YP_PAGE_FAULTS] = {YPI_COUNTED_KERNEL, 0.5}, [YP_CYCLES] = {YPI_COUNTED_HARDWARE, 1e6}},
    .growth_accounted = 16,
    .growth_resident = NAN,
    .count = 3,
    .samples = samples,
    .cpu = cpu,
    .share_count = 2,
    .shares = shares,
    .estimate = {3, 0.5, 0.25, INFINITY, 0.75, NAN, 0.0625, 0.25, INFINITY, 1.25, 2.25, NAN, 1, 2,
                 3, 4, 0.125, 2.5},
    .cpu_estimate = {.median = 0.875, .low = 0.75, .high = 1.5},
    .share_estimate = {.median = 1.25, .low = 0.5, .high = 2, .coverage = 0.5},
}};

static struct ypi_failure failures[] = {
    {YPI_CAUSE_BUDGET, (char[]){"too slow"}, NULL, 0, NULL},
    {YPI_CAUSE_LEAK, (char[]){"it's 3 blocks"}, (char[]){"rx.c"}, 42,
     (char[]){"at f (rx.c:42)\nat g (rx.c:50)"}},
};

static struct ypi_value values[] = {{"auc", "", 0.97, 0.96, 0.98, true, false},
                                    {"bad", "s", NAN, NAN, NAN, false, false}};

static struct ypi_gradient gradients[] = {
    {"loss", false, 1e-9, 1e-6, 2, 0.5, 0.75, "weights", 6, 1e-12, YP_GRADIENT_NOTHING, 0},
    {"half", true, 1.5, 3, NAN, NAN, NAN, "", 1, NAN, YP_GRADIENT_NOTHING, 0},
};

static struct ypi_verdict verdicts[] = {
    {&budgets[0], YPI_UNDECIDED, 9e5, 8e5, 11e5, -0.1, 3, 1, NULL},
    {&budgets[1], YPI_NOT_MET, 1024, 1024, 1024, -1, 0, 0, NULL},
    {&budgets[2], YPI_UNMEASURED, NAN, NAN, NAN, NAN, 0, 0, NULL},
    {&budgets[3], YPI_MET, 1, 0.5, 1.5, 0.5, 0, 0, NULL},
    {&budgets[4], YPI_ABSENT, NAN, NAN, NAN, NAN, 0, 0, NULL},
};

static char because[] = "because";
static char besides[] = "besides";
static char the_end[] = "the\nend";

/* A result in which every field has a value of its own. */
static struct ypi_result full_result(const struct yp_case *c)
{
    return (struct ypi_result){
        .c = c,
        .outcome = YPI_FAILED,
        .reason = because,
        .note = besides,
        .started = 1700000002.25,
        .setup = 0.5,
        .body = 1.5,
        .teardown = 2.5,
        .duration = 5.25,
        .ended = true,
        .exit_code = 3,
        .signal = 11,
        .has_hash = true,
        .hash = 0x00c0ffee12345678U,
        .has_memory = true,
        .memory = {.host = {1, 2, 3, 4, 5, 6, 7, 8, UINT64_MAX, 10, 0, 0},
                   .leaked_bytes = 9,
                   .leaked_blocks = 10,
                   .resident_before = 11,
                   .resident_peak = 12,
                   .resident_huge = 13,
                   .resident_files = 14},
        .failures = failures,
        .failure_count = 2,
        .measured = measured,
        .measured_count = 1,
        .values = values,
        .value_count = 2,
        .gradients = gradients,
        .gradient_count = 2,
        .verdicts = verdicts,
        .verdict_count = BUDGETS,
        .tail = the_end,
        .output_bytes = 123456,
    };
}

static void store_full(void)
{
    static const char *const options[] = {"--memory-limit", "1 G"};
    struct ypi_environment e = {
        .facts = {{"kernel", (char[]){"6.1"}}, {"git.dirty", (char[]){"yes"}}}, .count = 2};
    snprintf(e.fingerprint, sizeof e.fingerprint, "abcdef");
    struct ypi_run run = run_of(RUN);
    run.seed = UINT64_MAX;
    run.speed_judged = true;
    run.memory_limit = 1U << 30;
    run.environment = &e;
    run.reproduce_options = options;
    run.reproduce_option_count = 2;
    struct yp_case_decl decl = {.name = "small"};
    struct yp_case c = case_of("stress/rx.c::fit[small]", 2);
    c.decl = &decl;
    c.tags = (char[]){"small stress"};
    c.seed = UINT64_MAX - 1;
    c.settings[0] = (struct ypi_setting){.axis = "n", .kind = YP_AXIS_INT, .i = -10};
    c.settings[1] = (struct ypi_setting){.axis = "x", .kind = YP_AXIS_DOUBLE, .d = 0.5};
    c.settings[2] = (struct ypi_setting){.axis = "s", .kind = YP_AXIS_STRING, .s = "7"};
    c.setting_count = 3;
    struct ypi_result result = full_result(&c);
    struct ypi_history *h = ypi_history_open(path);
    cr_assert_not_null(h, "%s", yp_last_error());
    cr_assert_eq(ypi_history_begin(h, &run), YP_OK, "%s", yp_last_error());
    cr_assert_eq(ypi_history_add(h, RUN, &result), YP_OK, "%s", yp_last_error());
    cr_assert_eq(ypi_history_finish(h, RUN, 1700000010.5, 1), YP_OK, "%s", yp_last_error());
    ypi_history_close(h);
}

Test(record, keeps_the_run)
{
    store_full();
    expect("SELECT printf('%s|%.2f|%.2f|%d|%u|%s|%s|%d|%d|%s', id, started, ended, exit_code,"
           " seed, command, program, speed_judged, memory_limit, machine) FROM run",
           RUN "|1700000000.50|1700000010.50|1|18446744073709551615|a b|a|1|1073741824|abcdef");
    expect("SELECT group_concat(position || argument, '|') FROM run_option",
           "0--memory-limit|11 G");
    expect("SELECT group_concat(key || '=' || value, '|') FROM (SELECT * FROM fact ORDER BY key)",
           "git.dirty=yes|kernel=6.1");
    expect_sound();
}

Test(record, keeps_the_result)
{
    store_full();
    expect("SELECT printf('%s|%s|%d|%s|%s|%.2f|%g|%g|%g|%g|%g', run_id, case_id, repeat, outcome,"
           " reason, started, setup, body, teardown, duration, timeout) FROM result",
           RUN "|stress/rx.c::fit[small]|2|failed|because|1700000002.25|0.5|1.5|2.5|5.25|60");
    expect("SELECT printf('%d|%d|%d|%s|%u|%d|%d|%d|%d|%s|%d', ended, exit_code, signal, data_hash,"
           " seed, leaked_bytes, leaked_blocks, resident_before, resident_peak, tail,"
           " output_bytes) FROM result",
           "1|3|11|00c0ffee12345678|18446744073709551614|9|10|11|12|the\nend|123456");
    expect("SELECT resident_huge || '|' || resident_files FROM result", "13|14");
    expect("SELECT printf('%s|%d|%d|%d|%d|%d|%d|%d|%d|%u', memory, allocated, allocated_peak,"
           " reserved, reserved_peak, total, allocations, frees, refused, allowed) FROM memory",
           "host|1|2|3|4|5|6|7|8|18446744073709551615");
    expect("SELECT group_concat(printf('%d %s %s %s %s', position, cause, message,"
           " coalesce(file, '-'), coalesce(line, '-')), '|') FROM failure",
           "0 budget too slow - -|1 leak it's 3 blocks rx.c 42");
    expect("SELECT group_concat(coalesce(stack, '-'), '|') FROM failure",
           "-|at f (rx.c:42)\nat g (rx.c:50)");
    expect("SELECT length(id) FROM result", "36");
    expect("SELECT printf('%d|%d|%s', attempt, fail_allocation, note) FROM result", "0|0|besides");
}

/* A fresh process for the same case, by the id that it was begun with. */
Test(record, keeps_attempts)
{
    static const char id[] = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
    struct ypi_history *h = begun(RUN);
    struct yp_case c = case_of("stress/a.c::b", 3);
    struct ypi_result result = {.c = &c, .started = 1};
    cr_assert_eq(ypi_history_add(h, RUN, &result), YP_OK, "%s", yp_last_error());
    result.attempt = 4;
    result.fail_allocation = UINT64_MAX;
    memcpy(result.id, id, sizeof id);
    cr_assert_eq(ypi_history_add(h, RUN, &result), YP_OK, "%s", yp_last_error());
    result.id[0] = '\0';
    cr_expect_eq(ypi_history_add(h, RUN, &result), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "repeat 3, attempt 4"), "%s", yp_last_error());
    ypi_history_close(h);
    expect("SELECT group_concat(printf('%d %d %u %s', repeat, attempt, fail_allocation,"
           " coalesce(note, '-')), '|') FROM (SELECT * FROM result ORDER BY attempt)",
           "3 0 0 -|3 4 18446744073709551615 -");
    expect("SELECT id FROM result WHERE attempt = 4", id);
    expect("SELECT length(id) FROM result WHERE attempt = 0", "36");
}

Test(record, keeps_figures)
{
    store_full();
    expect("SELECT printf('%s|%s|%g|%g|%g|%d|%d|%s|%d|%g|%g|%s|%g|%s|%g|%g|%s', name, unit, items,"
           " flops, bytes, batch, warmup, stop, count, median, low, high = 9e999, coverage,"
           " coalesce(mean, 'none'), sd, min, max = 9e999) FROM measurement",
           "fit|pixels|1000|2000|4000|8|3|time|3|0.5|0.25|1|0.75|none|0.0625|0.25|1");
    expect("SELECT printf('%g|%g|%s|%d|%d|%d|%d|%g|%g', p90, p99, coalesce(p999, '-'), low_mild,"
           " high_mild, low_severe, high_severe, autocorrelation, effective) FROM measurement",
           "1.25|2.25|-|1|2|3|4|0.125|2.5");
    expect("SELECT printf('%s|%g|%d|%d|%g|%g|%s|%g|%g|%g|%s|%g|%g|%g|%g|%d', kind, footprint,"
           " threads, cold, rate, growth_accounted, coalesce(growth_resident, '-'), cpu, cpu_low,"
           " cpu_high, bound, share, share_low, share_high, share_coverage, stretches)"
           " FROM measurement",
           "serve|4096|2|1|250|16|-|0.875|0.75|1.5|fp32 + read|1.25|0.5|2|0.5|2");
    expect("SELECT hex(seconds) FROM samples", "000000000000E03F000000000000F07F000000000000D03F");
    expect("SELECT hex(shares) FROM samples", "000000000000E03F0000000000000040");
    expect("SELECT length(cpu) || hex(substr(cpu, 17)) FROM samples", "24000000000000F83F");
    expect("SELECT group_concat(printf('%d %d %s %g', position, phase, name, seconds), '|')"
           " FROM phase",
           "0 0 forward 0.125|0 1 backward 0.25");
    expect("SELECT group_concat(printf('%s %s %s %s %s %d', name, unit, coalesce(value, 'none'),"
           " coalesce(low, '-'), coalesce(high, '-'), of_speed), '|') FROM value",
           "auc  0.97 0.96 0.98 1|bad s none - - 0");
    expect("SELECT group_concat(printf('%s %d %g %g %s %s %s %s %d %s', name, precision, error,"
           " allowed, coalesce(slope, '-'), coalesce(expected, '-'), coalesce(got, '-'), tensor,"
           " checked, coalesce(resolution, '-')), '|') FROM gradient",
           "loss 0 1e-09 1e-06 2.0 0.5 0.75 weights 6 1.0e-12|half 1 1.5 3 - - -  1 -");
    expect("SELECT group_concat(printf('%s %s %s %g %s %s %s %s %s', kind, coalesce(name, '-'),"
           " coalesce(memory, '-'), allowed, met, coalesce(measured, '-'), coalesce(low, '-'),"
           " coalesce(high, '-'), coalesce(distance, '-')), '|') FROM verdict",
           "min rate fit - 1e+06 undecided 900000.0 800000.0 1100000.0 -0.1|"
           "max leak - device 512 not met 1024.0 1024.0 1024.0 -1.0|"
           "max gradient error loss - 1e-06 unmeasured - - - -|"
           "max percentile fit - 2 met 1.0 0.5 1.5 0.5|"
           "max count fit - 7 absent - - - -");
    expect("SELECT group_concat(coalesce(detail, '-') || asked || confirmed, '|') FROM verdict",
           "-31|-00|-00|p99.900|branch misses00");
}

Test(record, keeps_what_was_beside_a_measurement)
{
    store_full();
    expect("SELECT group_concat(printf('%d %d %s %s %d %d %s %s %s %g', position, number, ceiling,"
           " level, threads, probes, coalesce(rate, '-'), coalesce(low, '-'), coalesce(high, '-'),"
           " work), '|') FROM bound",
           "0 0 fp32  2 4 2000000000.0 1000000000.0 3000000000.0 2000|"
           "0 1 read L2 1 0 - - - 4000");
    expect("SELECT group_concat(printf('%g %d', footprint, stage), '|') FROM bound", "0 0|4096 1");
    expect("SELECT group_concat(printf('%d %s %s %g', position, counter, source, count), '|')"
           " FROM counter",
           "0 cycles hardware 1e+06|0 page faults kernel 0.5");
    expect("SELECT group_concat(name || ' ' || coalesce(value, '-'), '|') FROM noise",
           "began 12.0|frequency 9.0|frequency_least 10.0|hot 11.0|major_faults 5.0|migrations 8.0|"
           "minor_faults 4.0|others -|own 2.5|preemptions 7.0|processors 2.0|stolen 0.25|"
           "throttled 3.0|waits 6.0|wall 1.5");
}

/* Zeros would read as figures. */
Test(record, what_was_not_looked_at_is_absent)
{
    struct ypi_history *h = begun(RUN);
    struct yp_case c = case_of("a", 0);
    struct ypi_measured bare = {.name = "fit", .bound = -1};
    struct ypi_result result = {.c = &c, .measured = &bare, .measured_count = 1};
    cr_assert_eq(ypi_history_add(h, RUN, &result), YP_OK, "%s", yp_last_error());
    ypi_history_close(h);
    expect("SELECT coalesce(cpu, cpu_low, share, share_high, share_coverage) FROM measurement",
           "NULL");
    expect("SELECT kind || bound || stretches FROM measurement", "work0");
    expect("SELECT coalesce(cpu, shares) FROM samples", "NULL");
    expect("SELECT length(seconds) FROM samples", "0");
    expect("SELECT (SELECT count(*) FROM bound) + (SELECT count(*) FROM noise)"
           " + (SELECT count(*) FROM counter) + (SELECT count(*) FROM memory)",
           "0");
    expect("SELECT coalesce(data_hash, leaked_bytes, resident_peak, reason) FROM result", "NULL");
    expect("SELECT coalesce(ended, exit_code, machine) FROM run", "NULL");
}

Test(record, tags_follow_the_newest_result)
{
    struct ypi_history *h = begun(RUN);
    struct yp_case c = case_of("a", 0);
    struct ypi_result result = {.c = &c, .started = 1};
    c.tags = (char[]){"old"};
    cr_assert_eq(ypi_history_add(h, RUN, &result), YP_OK);
    c.tags = (char[]){"new"};
    c.repeat = 1;
    cr_assert_eq(ypi_history_add(h, RUN, &result), YP_OK);
    ypi_history_close(h);
    expect("SELECT group_concat(tags) FROM test_case", "new");
}

Test(record, refuses_what_does_not_fit)
{
    struct ypi_run run = run_of(RUN);
    struct ypi_history *h = begun(RUN);
    cr_assert_eq(add_repeat(h, RUN, 0), YP_OK);
    cr_expect_eq(add_repeat(h, RUN, 0), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "stress/a.c::b, repeat 0"), "%s", yp_last_error());
    cr_expect_eq(add_repeat(h, "no such run", 1), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "not begun"), "%s", yp_last_error());
    cr_expect_eq(ypi_history_begin(h, &run), YP_INVALID);
    cr_expect_eq(ypi_history_finish(h, "no such run", 1, 0), YP_INVALID);
    cr_expect_eq(add_repeat(h, RUN, 1), YP_OK, "nothing may hang on a failure: %s",
                 yp_last_error());
    ypi_history_close(h);
    expect("SELECT count(*) FROM result", "2");
    expect_sound();
}

/* A result is all there or not at all: here its last part meets a constraint. */
Test(record, a_result_is_one_transaction)
{
    struct ypi_history *h = begun(RUN);
    execute("CREATE TRIGGER no BEFORE INSERT ON verdict WHEN new.position = 2"
            " BEGIN SELECT raise(ABORT, 'no'); END");
    struct yp_case c = case_of("a", 0);
    struct ypi_result result = full_result(&c);
    cr_assert_neq(ypi_history_add(h, RUN, &result), YP_OK);
    ypi_history_close(h);
    expect("SELECT (SELECT count(*) FROM result) + (SELECT count(*) FROM verdict)"
           " + (SELECT count(*) FROM test_case) + (SELECT count(*) FROM samples)",
           "0");
}

/* -- the file ------------------------------------------------------------------------------ */

Test(record, names_are_file_names)
{
    cr_assert_eq(chdir(directory), 0);
    struct ypi_history *h = ypi_history_open(":memory:");
    cr_assert_not_null(h, "%s", yp_last_error());
    ypi_history_close(h);
    cr_expect_eq(access(":memory:", F_OK), 0);
}

static void expect_rows_of_version_2(void)
{
    expect("SELECT group_concat(substr(id, 36) || outcome || output_bytes || attempt"
           " || fail_allocation || coalesce(note, '-'), ' ') FROM (SELECT * FROM result ORDER BY"
           " rowid)",
           "1failed000- 2passed000- 3noisy7700-");
    expect("SELECT printf('%s|%s|%d|%s|%.1f|%g|%g|%g|%g|%g', run_id, case_id, repeat, reason,"
           " started, setup, body, teardown, duration, timeout) FROM result WHERE rowid = 3",
           "5f0c5a0e-3d6b-4b53-9f0e-0f4f8c1a7e01|stress/rx.c::fit[small-channels=10-cpu]|1|"
           "for some reason|1700000003.5|0.01|0.02|0.03|0.07|61");
    expect("SELECT printf('%d|%d|%d|%s|%d|%d|%d|%d|%d|%s', ended, exit_code, signal, data_hash,"
           " seed, leaked_bytes, leaked_blocks, resident_before, resident_peak, tail) FROM result"
           " WHERE rowid = 3",
           "0|4|9|0123456789abcdef|-2|1|2|3|4|its end");
    expect("SELECT group_concat(hex(seconds) || coalesce(cpu, shares, '-')) FROM samples",
           "000000000000F03F0000000000000040-,"
           "000000000000E03F000000000000D03F000000000000F03F-");
    expect("SELECT group_concat(name || seconds) FROM phase", "forward0.125,backward0.25");
    expect("SELECT group_concat(kind || met || coalesce(detail, asked, confirmed, '-'))"
           " FROM verdict",
           "min ratenot met-,max latencyundecided-,max leakmet-");
    expect("SELECT group_concat(printf('%g %s %g', median, stop, max), '|') FROM measurement",
           "0.0011 precision 0.0012|0.5 time 1");
    expect("SELECT count(*) FROM measurement WHERE coalesce(kind, threads, p90, effective, cpu,"
           " bound, share, stretches) IS NOT NULL",
           "0");
    expect("SELECT printf('%g|%s|%d', value, coalesce(low, high, '-'), of_speed) FROM value",
           "0.97|-|0");
}

Test(record, upgrades_version_2)
{
    write_version_2();
    struct ypi_history *h = ypi_history_open(path);
    cr_assert_not_null(h, "%s", yp_last_error());
    expect_version(ypi_schema_version());
    expect_sound();
    expect_rows_of_version_2();
    struct yp_case c = case_of("stress/rx.c::fit[small-channels=10-cpu]", 1);
    struct ypi_result result = full_result(&c);
    struct ypi_run run = run_of(RUN);
    cr_expect_eq(ypi_history_begin(h, &run), YP_OK, "%s", yp_last_error());
    for (result.attempt = 0; result.attempt < 3; result.attempt++)
        cr_expect_eq(ypi_history_add(h, RUN, &result), YP_OK, "%s", yp_last_error());
    ypi_history_close(h);
    expect("SELECT group_concat(attempt) FROM result WHERE run_id = '" RUN "'", "0,1,2");
    expect_sound();
}

/* What a person has added to his history is not in the way. */
Test(record, upgrades_around_a_view)
{
    write_version_2();
    execute("CREATE VIEW failed AS SELECT id FROM result WHERE outcome = 'failed'");
    ypi_history_close(ypi_history_open(path));
    expect_version(ypi_schema_version());
    expect("SELECT count(*) FROM failed", "1");
}

/* Stops at its first step or at the very last: a table that a version brings is there already. */
Test(record, the_whole_way_from_version_1_is_one_transaction)
{
    static const char *const tables[] = {"phase", "ceiling"};
    write_version_1();
    for (int i = 0; i < 2; i++) {
        char create[64], drop[64];
        snprintf(create, sizeof create, "CREATE TABLE %s (other)", tables[i]);
        snprintf(drop, sizeof drop, "DROP TABLE %s", tables[i]);
        execute(create);
        cr_expect_null(ypi_history_open(path));
        cr_expect_not_null(strstr(yp_last_error(), "upgrading"), "%s", yp_last_error());
        expect("PRAGMA user_version", "1");
        expect("SELECT count(*) FROM pragma_table_info('result') WHERE name = 'output_bytes'", "0");
        expect("SELECT count(*) FROM sqlite_master WHERE name IN ('phase', 'bound', 'ceiling')",
               "1");
        execute(drop);
    }
    ypi_history_close(ypi_history_open(path));
    expect_version(ypi_schema_version());
    expect("SELECT (SELECT count(*) FROM run) || (SELECT count(*) FROM run_option)"
           " || (SELECT count(*) FROM fact) || (SELECT count(*) FROM test_case)"
           " || (SELECT count(*) FROM axis) || (SELECT count(*) FROM memory)"
           " || (SELECT count(*) FROM failure) || (SELECT count(*) FROM measurement)"
           " || (SELECT count(*) FROM samples) || (SELECT count(*) FROM value)"
           " || (SELECT count(*) FROM gradient) || (SELECT count(*) FROM verdict)"
           " || (SELECT count(*) FROM phase) || (SELECT count(*) FROM result)",
           "22111111111102");
    expect_sound();
}

/* An upgrade may not pass over what was wrong before. */
Test(record, an_upgrade_looks_at_the_references)
{
    write_version_1();
    execute("DELETE FROM run");
    cr_expect_null(ypi_history_open(path));
    cr_expect_not_null(strstr(yp_last_error(), "refer to nothing"), "%s", yp_last_error());
    expect("PRAGMA user_version", "1");
}

Test(record, a_new_file_has_the_tables_of_an_upgraded_one)
{
    static char upgraded[16384];
    static const char sql[] = "SELECT group_concat(sql, ';') FROM"
                              " (SELECT sql FROM sqlite_master ORDER BY name)";
    write_version_1();
    ypi_history_close(ypi_history_open(path));
    snprintf(upgraded, sizeof upgraded, "%s", query(sql));
    cr_assert_eq(unlink(path), 0);
    ypi_history_close(ypi_history_open(path));
    expect(sql, upgraded);
}

/* The columns, their order and the constraints of version 4 are what they were; a newer version
 * only adds to them. */
Test(record, the_tables_of_version_4_are_those_of_older_programs)
{
    static char older[16384];
    static const char sql[] = "SELECT replace(group_concat(sql, ';'), '( ', '(') FROM"
                              " (SELECT sql FROM sqlite_master ORDER BY name)";
    for (int i = 0; history_v4_tables[i]; i++)
        execute(history_v4_tables[i]);
    ypi_history_close(ypi_history_open(path));
    expect_version(ypi_schema_version());
    snprintf(older, sizeof older, "%s", query(sql));
    cr_assert_eq(unlink(path), 0);
    ypi_history_close(ypi_history_open(path));
    expect(sql, older);
}

/* tests/usage has the other places: surroundings.py, hostile.py, history.py. */
Test(record, refuses_places_that_cannot_be)
{
    char missing[128];
    snprintf(missing, sizeof missing, "%s/none/history.db", directory);
    cr_expect_null(ypi_history_open(missing));
    cr_expect(strstr(yp_last_error(), "does not exist; create it") != NULL &&
                  strstr(yp_last_error(), missing) != NULL,
              "%s", yp_last_error());
    cr_expect_null(ypi_history_open(""));
    cr_expect_not_null(strstr(yp_last_error(), "empty"));
}

/* -- reading ------------------------------------------------------------------------------- */

Test(record, is_read_while_it_is_written)
{
    struct ypi_history *h = begun(RUN);
    sqlite3 *db = ypi_schema_open_to_read(path);
    cr_assert_not_null(db, "%s", yp_last_error());
    cr_expect_eq(add_repeat(h, RUN, 0), YP_OK);
    sqlite3_stmt *s = NULL;
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT count(*) FROM result", -1, &s, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(s), SQLITE_ROW);
    cr_expect_eq(sqlite3_column_int(s, 0), 1);
    cr_expect_eq(add_repeat(h, RUN, 1), YP_OK, "a reader may not stop a writer: %s",
                 yp_last_error());
    sqlite3_finalize(s);
    cr_expect_neq(sqlite3_exec(db, "DELETE FROM result", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    ypi_history_close(h);
}

Test(record, reading_upgrades_nothing)
{
    cr_expect_null(ypi_schema_open_to_read(path));
    cr_expect_neq(access(path, F_OK), 0);
    write_version_1();
    cr_expect_null(ypi_schema_open_to_read(path));
    cr_expect_not_null(strstr(yp_last_error(), "version 1"), "%s", yp_last_error());
    expect("PRAGMA user_version", "1");
}

/* -- dying, meeting, filling up ------------------------------------------------------------ */

static void hold_lock(int out)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE", NULL, NULL, NULL) !=
            SQLITE_OK ||
        write(out, "x", 1) != 1)
        _exit(1);
    nanosleep(&pause, NULL);
    sqlite3_close(db);
    _exit(0);
}

/* The file has its tables but not yet its log, and another process is at it: SQLite itself would
 * not wait for that one before the change to the log. */
Test(record, waits_for_the_log_too)
{
    int ends[2];
    int status;
    char byte;
    ypi_history_close(begun(RUN));
    cr_assert_eq(pipe(ends), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0)
        hold_lock(ends[1]);
    close(ends[1]);
    cr_assert_eq(read(ends[0], &byte, 1), 1);
    struct ypi_history *h = ypi_history_open(path);
    cr_expect_not_null(h, "%s", yp_last_error());
    ypi_history_close(h);
    waitpid(pid, &status, 0);
    cr_expect_eq(status, 0);
    expect("PRAGMA journal_mode", "wal");
}

/* -- small things -------------------------------------------------------------------------- */

Test(record, uuids_are_random_and_well_formed)
{
    char one[37];
    char other[37];
    ypi_uuid(one);
    ypi_uuid(other);
    cr_expect_str_neq(one, other);
    cr_expect_eq(strlen(one), 36);
    cr_expect_eq(one[14], '4');
    cr_expect_not_null(strchr("89ab", one[19]));
    for (int i = 0; i < 36; i++)
        cr_expect((i == 8 || i == 13 || i == 18 || i == 23) == (one[i] == '-'), "%s", one);
}
