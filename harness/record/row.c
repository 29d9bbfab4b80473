#include "harness/record/row.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(double) == 8,
               "samples are stored as they lie in memory: swap their bytes here first");

static const char *const sql[YPI_STATEMENTS] = {
    [YPI_BEGIN] = "BEGIN IMMEDIATE",
    [YPI_COMMIT] = "COMMIT",
    [YPI_ROLLBACK] = "ROLLBACK",
    [YPI_ADD_RUN] =
        "INSERT INTO run (id, started, seed, command, program, speed_judged, memory_limit,"
        " machine) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [YPI_ADD_OPTION] = "INSERT INTO run_option (run_id, position, argument) VALUES (?, ?, ?)",
    [YPI_ADD_FACT] = "INSERT INTO fact (run_id, key, value) VALUES (?, ?, ?)",
    [YPI_FINISH_RUN] = "UPDATE run SET ended = ?, exit_code = ? WHERE id = ?",
    /* The same case comes again and again: it is written only when something of it changed. */
    [YPI_ADD_CASE] = "INSERT INTO test_case (id, test_group, test, name, device, tags)"
                     " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                     " name = excluded.name, tags = excluded.tags"
                     " WHERE name <> excluded.name OR tags <> excluded.tags",
    [YPI_ADD_AXIS] = "INSERT OR REPLACE INTO axis (case_id, position, name, kind, value)"
                     " VALUES (?, ?, ?, ?, ?)",
    [YPI_ADD_RESULT] =
        "INSERT INTO result (id, run_id, case_id, repeat, outcome, reason, started,"
        " setup, body, teardown, duration, timeout, ended, exit_code, signal, data_hash,"
        " seed, leaked_bytes, leaked_blocks, resident_before, resident_peak, tail,"
        " output_bytes, attempt, fail_allocation, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [YPI_ADD_MEMORY] = "INSERT INTO memory (result_id, memory, allocated, allocated_peak, reserved,"
                       " reserved_peak, total, allocations, frees, refused, allowed, system)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [YPI_ADD_FAILURE] = "INSERT INTO failure (result_id, position, cause, message, file, line)"
                        " VALUES (?, ?, ?, ?, ?, ?)",
    [YPI_ADD_MEASUREMENT] =
        "INSERT INTO measurement (result_id, position, name, unit, items, flops, bytes,"
        " batch, warmup, stop, count, median, low, high, coverage, mean, sd, min, max,"
        " p90, p99, p999, low_mild, high_mild, low_severe, high_severe, autocorrelation,"
        " effective, kind, footprint, threads, cold, rate, growth_accounted,"
        " growth_resident, cpu, cpu_low, cpu_high, bound, share, share_low, share_high,"
        " share_coverage, stretches) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?)",
    [YPI_ADD_SAMPLES] = "INSERT INTO samples (result_id, position, seconds, cpu, shares, slowed)"
                        " VALUES (?, ?, ?, ?, ?, ?)",
    [YPI_ADD_PHASE] = "INSERT INTO phase (result_id, position, phase, name, seconds)"
                      " VALUES (?, ?, ?, ?, ?)",
    [YPI_ADD_BOUND] =
        "INSERT INTO bound (result_id, position, number, ceiling, level, threads, probes,"
        " rate, low, high, work) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [YPI_ADD_NOISE] = "INSERT INTO noise (result_id, position, name, value) VALUES (?, ?, ?, ?)",
    [YPI_ADD_COUNTER] =
        "INSERT INTO counter (result_id, position, counter, source, count) VALUES (?, ?,"
        " ?, ?, ?)",
    [YPI_ADD_VALUE] =
        "INSERT INTO value (result_id, position, name, unit, value, low, high, of_speed)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [YPI_ADD_GRADIENT] =
        "INSERT INTO gradient (result_id, position, name, precision, error, allowed,"
        " slope, expected, got, tensor, checked, resolution) VALUES (?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, ?)",
    [YPI_ADD_SERIES] = "INSERT INTO series (result_id, name, seconds, value) VALUES (?, ?, ?, ?)",
    [YPI_ADD_VERDICT] =
        "INSERT INTO verdict (result_id, position, kind, name, memory, allowed, met,"
        " measured, low, high, distance, detail, asked, confirmed) VALUES (?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, ?, ?, ?, ?, ?)",
};

bool ypi_statements_prepare(struct ypi_statements *all, sqlite3 *db)
{
    *all = (struct ypi_statements){0};
    for (int i = 0; i < YPI_STATEMENTS; i++)
        if (sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &all->s[i], NULL) !=
            SQLITE_OK)
            return false;
    return true;
}

void ypi_statements_finalize(struct ypi_statements *all)
{
    for (int i = 0; i < YPI_STATEMENTS; i++)
        sqlite3_finalize(all->s[i]);
}

struct ypi_row ypi_row(const struct ypi_statements *all, enum ypi_statement which)
{
    return (struct ypi_row){.s = all->s[which], .next = 1};
}

static void note(struct ypi_row *r, int code)
{
    if (r->code == SQLITE_OK)
        r->code = code;
    r->next++;
}

void ypi_row_text(struct ypi_row *r, const char *text)
{
    note(r, sqlite3_bind_text(r->s, r->next, text, -1, SQLITE_STATIC));
}

void ypi_row_real(struct ypi_row *r, double value)
{
    note(r, sqlite3_bind_double(r->s, r->next, value));
}

void ypi_row_int(struct ypi_row *r, long long value)
{
    note(r, sqlite3_bind_int64(r->s, r->next, value));
}

void ypi_row_unsigned(struct ypi_row *r, uint64_t value)
{
    ypi_row_int(r, (long long)value);
}

void ypi_row_null(struct ypi_row *r)
{
    note(r, sqlite3_bind_null(r->s, r->next));
}

void ypi_row_doubles(struct ypi_row *r, const double *values, size_t count)
{
    const void *bytes = count ? (const void *)values : ""; /* NULL would be another value */
    note(r, sqlite3_bind_blob64(r->s, r->next, bytes, count * sizeof *values, SQLITE_STATIC));
}

bool ypi_row_store(struct ypi_row *r)
{
    int code = r->code == SQLITE_OK ? sqlite3_step(r->s) : r->code;
    int reset = sqlite3_reset(r->s);
    return code == SQLITE_DONE && reset == SQLITE_OK;
}
