/* Tables `gate` and `comparison`: what `yieldpoint gate` found. */
#include "harness/history/history.h"
#include "harness/record/record.h"
#include "harness/record/row.h"

#include <stdio.h>

static bool insert(sqlite3 *db, const struct ypi_gate_record *gate,
                   const struct ypi_comparison_record *list, int count)
{
    struct ypi_statements statements;
    struct ypi_stored_row item = {.row = gate};
    bool ok = ypi_statements_prepare(&statements, db) &&
              ypi_row_insert(&statements, YPI_TABLE_GATE, &item);
    item.owner = gate->id;
    for (; ok && item.position < count; item.position++) {
        item.row = &list[item.position];
        ok = ypi_row_insert(&statements, YPI_TABLE_COMPARISON, &item);
    }
    ypi_statements_finalize(&statements);
    return ok;
}

static enum yp_status refuse(sqlite3 *db, const char *doing)
{
    return yp_set_error(YP_IO, "history '%s': %s: %s", sqlite3_db_filename(db, "main"), doing,
                        sqlite3_errmsg(db));
}

enum yp_status ypi_gate_store(sqlite3 *db, struct ypi_gate_record *gate,
                              const struct ypi_comparison_record *list, int count)
{
    enum yp_status status = YP_OK;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return refuse(db, "locking it");
    ypi_uuid(gate->id);
    if (!insert(db, gate, list, count) || sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        status = refuse(db, "storing what the gate found");
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

cJSON *ypi_gates_load(sqlite3 *db, const char *prefix, int limit)
{
    static const char sql[] =
        "SELECT *, (SELECT count(*) FROM comparison WHERE gate_id = gate.id AND verdict IN"
        " ('slower', 'more', 'broken', 'changed')) AS worse FROM gate"
        " WHERE substr(id, 1, length(?1)) = lower(?1) ORDER BY started DESC, rowid DESC LIMIT ?2";
    char most[16];
    snprintf(most, sizeof most, "%d", limit);
    const char *parameters[] = {prefix, most};
    return ypi_store_rows(db, sql, 2, parameters);
}

cJSON *ypi_gate_comparisons(sqlite3 *db, const char *id)
{
    return ypi_table_rows(db, YPI_TABLE_COMPARISON, id);
}
