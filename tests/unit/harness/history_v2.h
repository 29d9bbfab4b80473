/*
 * What version 2 of the schema made of a history of version 1, and rows that only it had. It stays
 * as it is: it stands for the files that users have.
 */
#pragma once

#include "tests/unit/harness/history_v1.h"

static const char history_v2_tables[] =
    "ALTER TABLE result ADD COLUMN output_bytes INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE phase ("
    " result_id TEXT NOT NULL, position INTEGER NOT NULL, phase INTEGER NOT NULL,"
    " name TEXT NOT NULL, seconds REAL,"
    " PRIMARY KEY (result_id, position, phase),"
    " FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position)"
    " ON DELETE CASCADE) WITHOUT ROWID;";

static const char history_v2_rows[] =
    "INSERT INTO result VALUES ('0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03',"
    " '5f0c5a0e-3d6b-4b53-9f0e-0f4f8c1a7e01', 'stress/rx.c::fit[small-channels=10-cpu]', 1,"
    " 'noisy', 'for some reason', 1700000003.5, 0.01, 0.02, 0.03, 0.07, 61.0, 0, 4, 9,"
    " '0123456789abcdef', -2, 1, 2, 3, 4, 'its end', 77);"
    "INSERT INTO measurement VALUES ('0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03', 0, 'fit', 'pixels',"
    " 1000.0, 2000.0, 4000.0, 8, 5, 'time', 3, 0.5, 0.25, 1.0, 0.75, 0.6, 0.4, 0.25, 1.0);"
    "INSERT INTO samples VALUES ('0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03', 0,"
    " X'000000000000E03F000000000000D03F000000000000F03F');"
    "INSERT INTO phase VALUES ('0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03', 0, 0, 'forward', 0.125);"
    "INSERT INTO phase VALUES ('0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03', 0, 1, 'backward', 0.25);"
    "INSERT INTO verdict VALUES ('0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03', 0, 'max latency', 'fit',"
    " NULL, 0.75, 'undecided', 0.5, 0.25, 1.0, 0.5);"
    "INSERT INTO verdict VALUES ('0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03', 1, 'max leak', NULL,"
    " 'host', 0.0, 'met', 0.0, 0.0, 0.0, NULL);"
    "PRAGMA user_version = 2;";
