/* Table `ceiling`: what `yieldpoint machine` measured. */
#include "base/text/output.h"
#include "harness/history/history.h"
#include "harness/record/row.h"

static const struct ypi_table *const table = &ypi_tables[YPI_TABLE_CEILING];

static bool replace(sqlite3 *db, const char *machine, const struct ypi_figure *list, size_t count)
{
    struct ypi_statements statements;
    sqlite3_stmt *s = NULL;
    bool ok = sqlite3_prepare_v2(db, "DELETE FROM ceiling WHERE machine = ?", -1, &s, NULL) ==
                  SQLITE_OK &&
              sqlite3_bind_text(s, 1, machine, -1, SQLITE_STATIC) == SQLITE_OK &&
              ypi_statement_run(s);
    sqlite3_finalize(s);
    ok = ypi_statements_prepare(&statements, db) && ok;
    for (size_t i = 0; ok && i < count; i++) {
        const struct ypi_stored_row item = {.row = &list[i], .owner = machine};
        ok = ypi_row_insert(&statements, YPI_TABLE_CEILING, &item);
    }
    ypi_statements_finalize(&statements);
    return ok;
}

static enum yp_status refuse(sqlite3 *db, const char *doing)
{
    return yp_set_error(YP_IO, "history '%s': %s: %s", sqlite3_db_filename(db, "main"), doing,
                        sqlite3_errmsg(db));
}

enum yp_status ypi_ceilings_store(sqlite3 *db, const char *machine, const struct ypi_figure *list,
                                  size_t count)
{
    enum yp_status status = YP_OK;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return refuse(db, "locking it");
    if (!replace(db, machine, list, count) ||
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        status = refuse(db, "storing ceilings");
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

cJSON *ypi_ceilings_load(sqlite3 *db, const char *machine)
{
    return ypi_table_rows(db, YPI_TABLE_CEILING, machine);
}

struct ypi_figure ypi_ceiling_of(const cJSON *row)
{
    struct ypi_figure figure = {.threads = 0};
    for (size_t i = 0; i < table->count; i++)
        ypi_field_read(&table->fields[i], &figure, row);
    return figure;
}

cJSON *ypi_ceiling_document(const struct ypi_figure *figure)
{
    const struct ypi_stored_row item = {.row = figure};
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < table->count; i++) {
        const char *member = ypi_field_member(&table->fields[i]);
        struct ypi_datum d;
        ypi_field_get(&table->fields[i], &item, &d);
        if (d.type == YPI_A_TEXT)
            cJSON_AddStringToObject(object, member, d.text);
        else if (d.type == YPI_AN_INTEGER)
            cJSON_AddNumberToObject(object, member, (double)d.integer);
        else if (*member)
            ypi_json_add_real(object, member, ypi_field_real(&table->fields[i], figure));
    }
    return object;
}
