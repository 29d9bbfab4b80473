#include "harness/record/row.h"

#include "harness/record/rows.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(double) == 8,
               "samples are stored as they lie in memory: swap their bytes here first");

/* -- one field of one row ------------------------------------------------------------------ */

static void get_text(const struct ypi_field *f, const char *at, struct ypi_datum *out)
{
    const char *text = at;
    if (f->type == YPI_TEXT)
        memcpy(&text, at, sizeof text);
    ypi_datum_text(out, text);
}

static void get_integer(const struct ypi_field *f, const char *at, struct ypi_datum *out)
{
    int whole = 0;
    if (f->type == YPI_UNSIGNED)
        memcpy(&out->integer, at, sizeof out->integer);
    else if (f->type == YPI_BOOL)
        out->integer = *(const bool *)at;
    else
        memcpy(&whole, at, sizeof whole);
    if (f->type == YPI_NAME)
        ypi_datum_text(out, ypi_name_of(f->names, whole));
    else
        out->type = YPI_AN_INTEGER;
    out->integer += whole;
}

static void get_doubles(const struct ypi_field *f, const char *row, struct ypi_datum *out)
{
    memcpy(&out->array, row + f->at, sizeof out->array);
    memcpy(&out->count, row + f->count, sizeof out->count);
    out->type = out->array || f->sql ? YPI_AN_ARRAY : YPI_NOTHING;
}

static void get_member(const struct ypi_field *f, const char *item, struct ypi_datum *out)
{
    const char *row = item;
    if (f->inside)
        memcpy(&row, item, sizeof row);
    if (!row)
        return;
    if (f->type == YPI_DOUBLES) {
        get_doubles(f, row, out);
    } else if (f->type == YPI_TEXT || f->type == YPI_CHARS) {
        get_text(f, row + f->at, out);
    } else if (f->type == YPI_REAL) {
        memcpy(&out->real, row + f->at, sizeof out->real);
        out->type = isnan(out->real) ? YPI_NOTHING : YPI_A_REAL;
    } else if (f->type != YPI_LATER) {
        get_integer(f, row + f->at, out);
    }
}

bool ypi_field_known(const struct ypi_field *f, const void *row)
{
    const char *bytes = (const char *)row + f->when;
    bool any = f->when_size == 0;
    for (size_t i = 0; !any && i < f->when_size; i++)
        any = bytes[i] != 0;
    return any;
}

void ypi_field_get(const struct ypi_field *f, const struct ypi_stored_row *item,
                   struct ypi_datum *out)
{
    memset(out, 0, sizeof *out);
    if (f->type == YPI_OF_RUN || f->type == YPI_OF_OWNER) {
        ypi_datum_text(out, f->type == YPI_OF_RUN ? item->run : item->owner);
    } else if (f->type == YPI_POSITION || f->type == YPI_NUMBER) {
        out->type = YPI_AN_INTEGER;
        out->integer = f->type == YPI_POSITION ? item->position : item->number;
    } else if (ypi_field_known(f, item->row)) {
        if (f->get)
            f->get(item, out);
        else
            get_member(f, item->row, out);
        if (out->type == YPI_NOTHING && f->sql && f->type == YPI_TEXT)
            ypi_datum_text(out, "");
    }
}

double ypi_field_real(const struct ypi_field *f, const void *row)
{
    struct ypi_datum d;
    ypi_field_get(f, &(struct ypi_stored_row){.row = row}, &d);
    return d.type == YPI_A_REAL ? d.real : d.type == YPI_AN_INTEGER ? (double)d.integer : NAN;
}

void ypi_field_read(const struct ypi_field *f, void *row, const cJSON *object)
{
    char *at = (char *)row + f->at;
    const char *member = ypi_field_member(f);
    double value = ypi_real(object, member);
    int whole = ypi_whole(object, member);
    if (f->type == YPI_REAL)
        memcpy(at, &value, sizeof value);
    else if (f->type == YPI_INT)
        memcpy(at, &whole, sizeof whole);
    else if (f->type == YPI_CHARS)
        snprintf(at, f->count, "%s", ypi_text_of(object, member));
}

/* -- SQL ----------------------------------------------------------------------------------- */

void ypi_sql_column(struct ypi_text *out, const struct ypi_field *f)
{
    static const char *const types[] = {
        [YPI_REAL] = " REAL",      [YPI_INT] = " INTEGER",   [YPI_UNSIGNED] = " INTEGER",
        [YPI_BOOL] = " BOOLEAN",   [YPI_TEXT] = " TEXT",     [YPI_CHARS] = " TEXT",
        [YPI_NAME] = " TEXT",      [YPI_DOUBLES] = " BLOB",  [YPI_ANY] = "",
        [YPI_OF_RUN] = " TEXT",    [YPI_OF_OWNER] = " TEXT", [YPI_POSITION] = " INTEGER",
        [YPI_NUMBER] = " INTEGER", [YPI_LATER] = ""};
    ypi_text_add(out, "%s%s%s", f->name, types[f->type], f->sql ? f->sql : "");
}

void ypi_sql_names(struct ypi_text *out, const struct ypi_table *t, int version)
{
    const char *between = "";
    for (size_t i = 0; i < t->count; i++) {
        if (t->fields[i].since > version)
            continue;
        ypi_text_add(out, "%s%s", between, t->fields[i].name);
        between = ", ";
    }
}

const char *ypi_field_member(const struct ypi_field *f)
{
    return f->json ? f->json : f->name;
}

void ypi_sql_export(struct ypi_text *out, const struct ypi_table *t, const char *before,
                    bool listed)
{
    const char *between = "";
    for (size_t i = 0; i < t->count; i++) {
        const struct ypi_field *f = &t->fields[i];
        const char *member = ypi_field_member(f);
        if (!*member || (listed && !f->listed))
            continue;
        ypi_text_add(out, f->as_text ? "%sprintf('%%u', %s%s) AS '%s'" : "%s%s%s AS '%s'", between,
                     before, f->name, member);
        between = ", ";
    }
}

static char *sql_of_table(const struct ypi_table *t)
{
    struct ypi_text sql = {0};
    ypi_text_add(&sql, "SELECT ");
    ypi_sql_export(&sql, t, "", false);
    ypi_text_add(&sql, " FROM %s WHERE %s = ?%s%s", t->name, t->fields[0].name,
                 t->order ? " ORDER BY " : "", t->order ? t->order : "");
    return ypi_text_take(&sql);
}

cJSON *ypi_table_rows_ready(sqlite3 *db, enum ypi_table_name table, const char *owner,
                            sqlite3_stmt **ready)
{
    char *sql = *ready == NULL ? sql_of_table(&ypi_tables[table]) : NULL;
    cJSON *found = ypi_store_rows_ready(db, sql, ready, owner);
    free(sql);
    return found;
}

cJSON *ypi_table_rows(sqlite3 *db, enum ypi_table_name table, const char *owner)
{
    sqlite3_stmt *ready = NULL;
    cJSON *found = ypi_table_rows_ready(db, table, owner, &ready);
    (void)sqlite3_finalize(ready);
    return found;
}

static void add_insert(struct ypi_text *out, const struct ypi_table *t)
{
    ypi_text_add(out, "INSERT%s INTO %s (", t->or ? t->or : "", t->name);
    ypi_sql_names(out, t, INT_MAX);
    ypi_text_add(out, ") VALUES (");
    for (size_t i = 0; i < t->count; i++)
        ypi_text_add(out, "%s?", i > 0 ? ", " : "");
    ypi_text_add(out, ")%s", t->conflict ? t->conflict : "");
}

/* -- statements ---------------------------------------------------------------------------- */

static bool prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out)
{
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) == SQLITE_OK;
}

bool ypi_statements_prepare(struct ypi_statements *all, sqlite3 *db)
{
    static const char *const sql[YPI_STATEMENTS] = {
        [YPI_BEGIN] = "BEGIN IMMEDIATE",
        [YPI_COMMIT] = "COMMIT",
        [YPI_ROLLBACK] = "ROLLBACK",
        [YPI_FINISH_RUN] = "UPDATE run SET ended = ?, exit_code = ? WHERE id = ?",
    };
    bool ok = true;
    *all = (struct ypi_statements){0};
    for (int i = 0; ok && i < YPI_STATEMENTS; i++)
        ok = prepare(db, sql[i], &all->s[i]);
    for (int i = 0; ok && i < YPI_TABLES; i++) {
        struct ypi_text text = {0};
        add_insert(&text, &ypi_tables[i]);
        ok = prepare(db, text.data, &all->insert[i]);
        free(ypi_text_take(&text));
    }
    return ok;
}

void ypi_statements_finalize(struct ypi_statements *all)
{
    for (int i = 0; i < YPI_STATEMENTS; i++)
        sqlite3_finalize(all->s[i]);
    for (int i = 0; i < YPI_TABLES; i++)
        sqlite3_finalize(all->insert[i]);
}

bool ypi_statement_run(sqlite3_stmt *s)
{
    int code = sqlite3_step(s);
    int reset = sqlite3_reset(s);
    return code == SQLITE_DONE && reset == SQLITE_OK;
}

/* -- rows ---------------------------------------------------------------------------------- */

static int bind(sqlite3_stmt *s, int place, const struct ypi_datum *d)
{
    switch (d->type) {
    case YPI_A_REAL:
        return sqlite3_bind_double(s, place, d->real);
    case YPI_AN_INTEGER:
        return sqlite3_bind_int64(s, place, d->integer);
    case YPI_A_TEXT: /* what stands elsewhere stays until the row is stored */
        return sqlite3_bind_text(s, place, d->text, -1,
                                 d->text == d->made ? SQLITE_TRANSIENT : SQLITE_STATIC);
    case YPI_AN_ARRAY:
        return sqlite3_bind_blob64(s, place, d->count ? (const void *)d->array : "",
                                   d->count * sizeof *d->array, SQLITE_STATIC);
    case YPI_NOTHING:
        break;
    }
    return sqlite3_bind_null(s, place);
}

bool ypi_row_insert(const struct ypi_statements *all, enum ypi_table_name table,
                    const struct ypi_stored_row *item)
{
    const struct ypi_table *t = &ypi_tables[table];
    sqlite3_stmt *s = all->insert[table];
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < t->count; i++) {
        struct ypi_datum d;
        ypi_field_get(&t->fields[i], item, &d);
        code = bind(s, (int)i + 1, &d);
    }
    return code == SQLITE_OK && ypi_statement_run(s);
}
