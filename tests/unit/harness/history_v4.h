/*
 * The tables of version 4 of the schema, as the program that brought them made them. They stay as
 * they are: they stand for the files that users have.
 */
#pragma once

#include <stddef.h>

static const char *const history_v4_tables[] = {
    "CREATE TABLE run ( id TEXT PRIMARY KEY, started REAL NOT NULL, ended REAL, exit_code "
    "INTEGER, seed INTEGER NOT NULL, command TEXT NOT NULL, program TEXT NOT NULL, "
    "speed_judged BOOLEAN NOT NULL, memory_limit INTEGER NOT NULL, machine TEXT)",
    "CREATE INDEX run_started ON run (started)",
    "CREATE TABLE run_option ( run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE, "
    "position INTEGER NOT NULL, argument TEXT NOT NULL, PRIMARY KEY (run_id, position)) "
    "WITHOUT ROWID",
    "CREATE TABLE fact ( run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE, key "
    "TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run_id, key)) WITHOUT ROWID",
    "CREATE TABLE test_case ( id TEXT PRIMARY KEY, test_group TEXT NOT NULL, test TEXT NOT "
    "NULL, name TEXT NOT NULL, device TEXT NOT NULL, tags TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE axis ( case_id TEXT NOT NULL REFERENCES test_case (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, value, PRIMARY KEY"
    " (case_id, position)) WITHOUT ROWID",
    "CREATE TABLE memory ( result_id TEXT NOT NULL REFERENCES result (id) ON DELETE "
    "CASCADE, memory TEXT NOT NULL, allocated INTEGER NOT NULL, allocated_peak INTEGER NOT "
    "NULL, reserved INTEGER NOT NULL, reserved_peak INTEGER NOT NULL, total INTEGER NOT "
    "NULL, allocations INTEGER NOT NULL, frees INTEGER NOT NULL, refused INTEGER NOT NULL, "
    "allowed INTEGER NOT NULL, system INTEGER, PRIMARY KEY (result_id, memory)) WITHOUT "
    "ROWID",
    "CREATE TABLE failure ( result_id TEXT NOT NULL REFERENCES result (id) ON DELETE "
    "CASCADE, position INTEGER NOT NULL, cause TEXT NOT NULL, message TEXT NOT NULL, file "
    "TEXT, line INTEGER, PRIMARY KEY (result_id, position)) WITHOUT ROWID",
    "CREATE TABLE measurement ( result_id TEXT NOT NULL REFERENCES result (id) ON DELETE "
    "CASCADE, position INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, items "
    "REAL, flops REAL, bytes REAL, batch INTEGER NOT NULL, warmup INTEGER NOT NULL, stop "
    "TEXT NOT NULL, count INTEGER NOT NULL, median REAL, low REAL, high REAL, coverage "
    "REAL, mean REAL, sd REAL, min REAL, max REAL, kind TEXT, footprint REAL, threads "
    "INTEGER, cold BOOLEAN, rate REAL, p90 REAL, p99 REAL, p999 REAL, low_mild INTEGER, "
    "high_mild INTEGER, low_severe INTEGER, high_severe INTEGER, autocorrelation REAL, "
    "effective REAL, cpu REAL, cpu_low REAL, cpu_high REAL, growth_accounted REAL, "
    "growth_resident REAL, bound TEXT, share REAL, share_low REAL, share_high REAL, "
    "share_coverage REAL, stretches INTEGER, PRIMARY KEY (result_id, position)) WITHOUT "
    "ROWID",
    "CREATE TABLE samples ( result_id TEXT NOT NULL, position INTEGER NOT NULL, seconds "
    "BLOB NOT NULL, cpu BLOB, shares BLOB, slowed BLOB, PRIMARY KEY (result_id, position), "
    "FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position) ON "
    "DELETE CASCADE)",
    "CREATE TABLE value ( result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, value REAL, low "
    "REAL, high REAL, of_speed BOOLEAN NOT NULL DEFAULT 0, PRIMARY KEY (result_id, "
    "position)) WITHOUT ROWID",
    "CREATE TABLE gradient ( result_id TEXT NOT NULL REFERENCES result (id) ON DELETE "
    "CASCADE, position INTEGER NOT NULL, name TEXT NOT NULL, precision BOOLEAN NOT NULL, "
    "error REAL, allowed REAL, slope REAL, expected REAL, got REAL, tensor TEXT NOT NULL, "
    "checked INTEGER NOT NULL, resolution REAL, PRIMARY KEY (result_id, position)) WITHOUT "
    "ROWID",
    "CREATE TABLE verdict ( result_id TEXT NOT NULL REFERENCES result (id) ON DELETE "
    "CASCADE, position INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT, memory TEXT, "
    "allowed REAL, met TEXT NOT NULL, measured REAL, low REAL, high REAL, distance REAL, "
    "detail TEXT, asked INTEGER, confirmed INTEGER, PRIMARY KEY (result_id, position)) "
    "WITHOUT ROWID",
    "CREATE TABLE phase ( result_id TEXT NOT NULL, position INTEGER NOT NULL, phase INTEGER"
    " NOT NULL, name TEXT NOT NULL, seconds REAL, PRIMARY KEY (result_id, position, phase),"
    " FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position) ON "
    "DELETE CASCADE) WITHOUT ROWID",
    "CREATE TABLE \"result\" ( id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run "
    "(id) ON DELETE CASCADE, case_id TEXT NOT NULL REFERENCES test_case (id), repeat "
    "INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT, started REAL NOT NULL, setup "
    "REAL, body REAL, teardown REAL, duration REAL, timeout REAL, ended BOOLEAN NOT NULL, "
    "exit_code INTEGER, signal INTEGER, data_hash TEXT, seed INTEGER NOT NULL, leaked_bytes"
    " INTEGER, leaked_blocks INTEGER, resident_before INTEGER, resident_peak INTEGER, tail "
    "TEXT NOT NULL, output_bytes INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL "
    "DEFAULT 0, fail_allocation INTEGER NOT NULL DEFAULT 0, note TEXT, UNIQUE (run_id, "
    "case_id, repeat, attempt))",
    "CREATE INDEX result_case ON result (case_id, started)",
    "CREATE TABLE bound ( result_id TEXT NOT NULL, position INTEGER NOT NULL, number "
    "INTEGER NOT NULL, ceiling TEXT NOT NULL, level TEXT NOT NULL, threads INTEGER NOT "
    "NULL, probes INTEGER NOT NULL, rate REAL, low REAL, high REAL, work REAL, PRIMARY KEY "
    "(result_id, position, number), FOREIGN KEY (result_id, position) REFERENCES "
    "measurement (result_id, position) ON DELETE CASCADE) WITHOUT ROWID",
    "CREATE TABLE noise ( result_id TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT"
    " NULL, value REAL, PRIMARY KEY (result_id, position, name), FOREIGN KEY (result_id, "
    "position) REFERENCES measurement (result_id, position) ON DELETE CASCADE) WITHOUT "
    "ROWID",
    "CREATE TABLE counter ( result_id TEXT NOT NULL, position INTEGER NOT NULL, counter "
    "TEXT NOT NULL, source TEXT NOT NULL, count REAL, PRIMARY KEY (result_id, position, "
    "counter), FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, "
    "position) ON DELETE CASCADE) WITHOUT ROWID",
    "CREATE TABLE ceiling (machine TEXT NOT NULL, name TEXT NOT NULL, level TEXT NOT NULL, "
    "threads INTEGER NOT NULL, isa TEXT NOT NULL, unit TEXT NOT NULL, measured REAL NOT "
    "NULL, rate REAL, low REAL, high REAL, PRIMARY KEY (machine, name, level, threads, "
    "isa)) WITHOUT ROWID",
    "CREATE TABLE series ( result_id TEXT NOT NULL REFERENCES result (id) ON DELETE "
    "CASCADE, name TEXT NOT NULL, seconds BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY "
    "(result_id, name)) WITHOUT ROWID",
    "PRAGMA application_id = 1498433609; PRAGMA user_version = 4",
    NULL};
