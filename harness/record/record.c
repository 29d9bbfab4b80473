#include "harness/record/record.h"

#include "base/text/text.h"
#include "harness/record/row.h"
#include "harness/record/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct ypi_history {
    sqlite3 *db;
    char *path;
    struct ypi_statements statements;
};

/* -- transactions -------------------------------------------------------------------------- */

static enum yp_status explain(struct ypi_history *h, const char *what)
{
    int extended = sqlite3_extended_errcode(h->db);
    int system = sqlite3_system_errno(h->db);
    const char *message = sqlite3_errmsg(h->db);
    switch (extended & 0xff) {
    case SQLITE_NOMEM:
        return yp_set_error(YP_OUT_OF_MEMORY, "history '%s': %s: no memory", h->path, what);
    case SQLITE_CONSTRAINT:
        if (extended == SQLITE_CONSTRAINT_FOREIGNKEY)
            return yp_set_error(YP_INVALID, "history '%s': %s: its run was not begun here", h->path,
                                what);
        return yp_set_error(YP_INVALID, "history '%s': %s: is stored already, or incomplete (%s)",
                            h->path, what, message);
    case SQLITE_FULL:
        return yp_set_error(YP_IO,
                            "history '%s': %s: there is no more room (%s); what was stored before "
                            "is kept, make room or name another file",
                            h->path, what, message);
    case SQLITE_BUSY:
        return yp_set_error(YP_IO,
                            "history '%s': %s: another process has held its lock for 30 s; wait "
                            "until that one is done, or name another file",
                            h->path, what);
    case SQLITE_IOERR:
        if (extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_TRUNCATE ||
            extended == SQLITE_IOERR_SHMSIZE)
            return yp_set_error(YP_IO,
                                "history '%s': %s: a write was refused (%s; is there a limit on "
                                "the size of files, ulimit -f?); what was stored before is kept",
                                h->path, what, message);
        if (extended == SQLITE_IOERR_SHMMAP || extended == SQLITE_IOERR_SHMOPEN)
            return ypi_schema_refuse(h->db, h->path, what);
        /* fallthrough */
    default:
        return yp_set_error(YP_IO, "history '%s': %s: %s%s%s; what was stored before is kept",
                            h->path, what, message, system ? ": " : "",
                            system ? strerror(system) : "");
    }
}

static bool simple(struct ypi_history *h, enum ypi_statement which)
{
    return ypi_statement_run(h->statements.s[which]);
}

/* Ends a transaction: all of it if `ok`, else nothing. The reason is taken before the rollback,
 * which has a message of its own. */
static enum yp_status end(struct ypi_history *h, bool ok, const char *what)
{
    enum yp_status status = YP_OK;
    if (!ok || !simple(h, YPI_COMMIT))
        status = explain(h, what);
    if (!sqlite3_get_autocommit(h->db))
        (void)simple(h, YPI_ROLLBACK);
    return status;
}

/* -- runs ---------------------------------------------------------------------------------- */

static bool insert(struct ypi_history *h, enum ypi_table_name table, const void *row,
                   const char *owner, int position)
{
    const struct ypi_stored_row item = {.row = row, .owner = owner, .position = position};
    return ypi_row_insert(&h->statements, table, &item);
}

static bool add_run(struct ypi_history *h, const struct ypi_run *run)
{
    const struct ypi_environment *e = run->environment;
    bool ok = insert(h, YPI_TABLE_RUN, run, NULL, 0);
    for (int i = 0; ok && i < run->reproduce_option_count; i++)
        ok = insert(h, YPI_TABLE_OPTION, &run->reproduce_options[i], run->id, i);
    for (int i = 0; ok && e && i < e->count; i++)
        ok = insert(h, YPI_TABLE_FACT, &e->facts[i], run->id, i);
    return ok;
}

enum yp_status ypi_history_begin(struct ypi_history *h, const struct ypi_run *run)
{
    char what[64];
    snprintf(what, sizeof what, "storing run %s", run->id);
    return end(h, simple(h, YPI_BEGIN) && add_run(h, run), what);
}

enum yp_status ypi_history_finish(struct ypi_history *h, const char *run_id, double ended,
                                  int exit_code)
{
    char what[64];
    sqlite3_stmt *s = h->statements.s[YPI_FINISH_RUN];
    snprintf(what, sizeof what, "finishing run %s", run_id);
    if (sqlite3_bind_double(s, 1, ended) != SQLITE_OK ||
        sqlite3_bind_int(s, 2, exit_code) != SQLITE_OK ||
        sqlite3_bind_text(s, 3, run_id, -1, SQLITE_STATIC) != SQLITE_OK || !ypi_statement_run(s))
        return explain(h, what);
    if (sqlite3_changes(h->db) == 0)
        return yp_set_error(YP_INVALID, "history '%s': %s: it was not begun here", h->path, what);
    return YP_OK;
}

/* -- results ------------------------------------------------------------------------------- */

static bool add_case(struct ypi_history *h, const struct yp_case *c)
{
    bool ok = insert(h, YPI_TABLE_CASE, c, NULL, 0);
    for (int i = 0; ok && i < c->setting_count; i++)
        ok = insert(h, YPI_TABLE_AXIS, &c->settings[i], c->id, i);
    return ok;
}

static bool add_memory(struct ypi_history *h, const char *id, enum yp_memory_kind kind,
                       const struct yp_memory *memory)
{
    const struct ypi_stored_row item = {.row = memory, .owner = id, .number = (int)kind};
    return ypi_row_insert(&h->statements, YPI_TABLE_MEMORY, &item);
}

static bool add_main_row(struct ypi_history *h, const char *id, const char *run_id,
                         const struct ypi_result *result)
{
    const struct ypi_memory *m = &result->memory;
    const struct ypi_stored_row item = {.row = result, .run = run_id, .owner = id};
    return ypi_row_insert(&h->statements, YPI_TABLE_RESULT, &item) &&
           (!result->has_memory || add_memory(h, id, YP_HOST, &m->host)) &&
           (!result->has_memory || !m->has_device || add_memory(h, id, YP_DEVICE, &m->device)) &&
           (!result->has_memory || !m->has_heap || add_memory(h, id, YP_HEAP, &m->heap));
}

/* A row for each element of an array, in its order. */
static bool add_list(struct ypi_history *h, enum ypi_table_name table, const char *id,
                     const void *list, int count, size_t size)
{
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        ok = insert(h, table, (const char *)list + (size_t)i * size, id, i);
    return ok;
}

/* What stands beside a measurement; a figure that nobody looked at has no row. */
static bool add_beside(struct ypi_history *h, const struct ypi_stored_row *at)
{
    bool ok = true;
    for (size_t i = 0; ok && i < ypi_noise_field_count; i++) {
        const struct ypi_field *f = &ypi_noise_fields[i];
        const struct ypi_figure_row row = {f->name, ypi_field_real(f, at->row)};
        struct ypi_stored_row item = *at;
        item.row = &row;
        ok = !ypi_field_known(f, at->row) || ypi_row_insert(&h->statements, YPI_TABLE_NOISE, &item);
    }
    return ok;
}

static bool add_measurement(struct ypi_history *h, const char *id, int position,
                            const struct ypi_measured *m)
{
    struct ypi_stored_row item = {.row = m, .owner = id, .position = position};
    bool ok = ypi_row_insert(&h->statements, YPI_TABLE_MEASUREMENT, &item) &&
              ypi_row_insert(&h->statements, YPI_TABLE_SAMPLES, &item) && add_beside(h, &item);
    for (item.number = 0; ok && item.number < m->phase_count; item.number++) {
        item.row = &m->phases[item.number];
        ok = ypi_row_insert(&h->statements, YPI_TABLE_PHASE, &item);
    }
    for (item.number = 0; ok && ypi_is_timed(m->kind) && item.number < YPI_BOUNDS; item.number++) {
        item.row = &m->bounds[item.number];
        ok = !ypi_has_ceiling(item.row) || ypi_row_insert(&h->statements, YPI_TABLE_BOUND, &item);
    }
    for (item.number = 0; ok && item.number < YP_COUNTERS; item.number++) {
        item.row = &m->counts[item.number];
        ok = m->counts[item.number].source == YPI_NOT_COUNTED ||
             ypi_row_insert(&h->statements, YPI_TABLE_COUNTER, &item);
    }
    return ok;
}

double *ypi_series_columns(const struct ypi_result *result)
{
    size_t count = result->series_count;
    double *columns = ypi_calloc(YPI_SERIES_COLUMNS * count + 1, sizeof *columns);
    for (size_t c = 0; c < YPI_SERIES_COLUMNS; c++)
        for (size_t i = 0; i < count; i++)
            columns[c * count + i] = result->series[i * YPI_SERIES_COLUMNS + c];
    return columns;
}

struct ypi_series_row ypi_series_row(const double *columns, size_t count, int column)
{
    return (struct ypi_series_row){ypi_series_name((enum ypi_series_column)column), columns,
                                   columns + (size_t)column * count, count};
}

static bool add_series(struct ypi_history *h, const char *id, const struct ypi_result *result)
{
    bool ok = true;
    size_t count = result->series_count;
    double *columns = ypi_series_columns(result);
    for (int c = YPI_SERIES_AT + 1; ok && count > 0 && c < YPI_SERIES_COLUMNS; c++) {
        const struct ypi_series_row row = ypi_series_row(columns, count, c);
        ok = insert(h, YPI_TABLE_SERIES, &row, id, c);
    }
    free(columns);
    return ok;
}

static bool add_result(struct ypi_history *h, const char *run_id, const struct ypi_result *result)
{
    char id[sizeof result->id];
    if (*result->id)
        memcpy(id, result->id, sizeof id);
    else
        ypi_uuid(id);
    const struct ypi_result *r = result;
    bool ok =
        add_case(h, r->c) && add_main_row(h, id, run_id, r) &&
        add_list(h, YPI_TABLE_FAILURE, id, r->failures, r->failure_count, sizeof *r->failures);
    for (int i = 0; ok && i < r->measured_count; i++)
        ok = add_measurement(h, id, i, &r->measured[i]);
    return ok && add_list(h, YPI_TABLE_VALUE, id, r->values, r->value_count, sizeof *r->values) &&
           add_list(h, YPI_TABLE_GRADIENT, id, r->gradients, r->gradient_count,
                    sizeof *r->gradients) &&
           add_list(h, YPI_TABLE_VERDICT, id, r->verdicts, r->verdict_count, sizeof *r->verdicts) &&
           add_series(h, id, r);
}

enum yp_status ypi_history_add(struct ypi_history *h, const char *run_id,
                               const struct ypi_result *result)
{
    char what[512];
    snprintf(what, sizeof what, "storing %s, repeat %d, attempt %d", result->c->id,
             result->c->repeat, result->attempt);
    return end(h, simple(h, YPI_BEGIN) && add_result(h, run_id, result), what);
}

/* -- the file ------------------------------------------------------------------------------ */

struct ypi_history *ypi_history_open(const char *path)
{
    sqlite3 *db = ypi_schema_open(path);
    if (!db)
        return NULL;
    struct ypi_history *h = calloc(1, sizeof *h);
    char *copy = strdup(path);
    if (!h || !copy) {
        (void)yp_set_error(YP_OUT_OF_MEMORY, "history '%s': no memory to open it", path);
        free(copy);
        free(h);
        sqlite3_close(db);
        return NULL;
    }
    h->db = db;
    h->path = copy;
    if (!ypi_statements_prepare(&h->statements, db)) {
        (void)explain(h, "preparing to store");
        ypi_history_close(h);
        return NULL;
    }
    return h;
}

void ypi_history_close(struct ypi_history *h)
{
    if (!h)
        return;
    ypi_statements_finalize(&h->statements);
    sqlite3_close(h->db);
    free(h->path);
    free(h);
}

/* RFC 9562, section 5.4. */
void ypi_uuid(char out[37])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char b[16];
    size_t have = 0;
    while (have < sizeof b) {
        ssize_t got = getrandom(b + have, sizeof b - have, 0);
        if (got < 0) { /* forbidden by a sandbox: the time and the process still differ */
            struct timespec now = {0};
            static unsigned count;
            clock_gettime(CLOCK_REALTIME, &now);
            uint64_t mixed[2] = {(uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec,
                                 (uint64_t)getpid() << 32 | ++count};
            memcpy(b, mixed, sizeof b);
            break;
        }
        have += (size_t)got;
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    char *p = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        *p++ = digits[b[i] >> 4];
        *p++ = digits[b[i] & 15];
    }
    *p = '\0';
}
