#include "harness/record/record.h"

#include "base/text.h"
#include "harness/judge/budget.h"
#include "harness/measure/series.h"
#include "harness/record/measured.h"
#include "harness/record/row.h"

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
    default:
        return yp_set_error(YP_IO, "history '%s': %s: %s%s%s; what was stored before is kept",
                            h->path, what, message, system ? ": " : "",
                            system ? strerror(system) : "");
    }
}

static bool simple(struct ypi_history *h, enum ypi_statement which)
{
    struct ypi_row r = ypi_row(&h->statements, which);
    return ypi_row_store(&r);
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

static bool add_run(struct ypi_history *h, const struct ypi_run *run)
{
    const struct ypi_environment *e = run->environment;
    struct ypi_row r = ypi_row(&h->statements, YPI_ADD_RUN);
    ypi_row_text(&r, run->id);
    ypi_row_real(&r, run->started);
    ypi_row_unsigned(&r, run->seed);
    ypi_row_text(&r, run->command ? run->command : "");
    ypi_row_text(&r, run->program ? run->program : "");
    ypi_row_int(&r, run->speed_judged);
    ypi_row_unsigned(&r, run->memory_limit);
    ypi_row_text(&r, e && *e->fingerprint ? e->fingerprint : NULL);
    bool ok = ypi_row_store(&r);
    for (int i = 0; ok && i < run->reproduce_option_count; i++) {
        r = ypi_row(&h->statements, YPI_ADD_OPTION);
        ypi_row_text(&r, run->id);
        ypi_row_int(&r, i);
        ypi_row_text(&r, run->reproduce_options[i]);
        ok = ypi_row_store(&r);
    }
    for (int i = 0; ok && e && i < e->count; i++) {
        r = ypi_row(&h->statements, YPI_ADD_FACT);
        ypi_row_text(&r, run->id);
        ypi_row_text(&r, e->facts[i].key);
        ypi_row_text(&r, e->facts[i].value);
        ok = ypi_row_store(&r);
    }
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
    struct ypi_row r = ypi_row(&h->statements, YPI_FINISH_RUN);
    snprintf(what, sizeof what, "finishing run %s", run_id);
    ypi_row_real(&r, ended);
    ypi_row_int(&r, exit_code);
    ypi_row_text(&r, run_id);
    if (!ypi_row_store(&r))
        return explain(h, what);
    if (sqlite3_changes(h->db) == 0)
        return yp_set_error(YP_INVALID, "history '%s': %s: it was not begun here", h->path, what);
    return YP_OK;
}

/* -- results ------------------------------------------------------------------------------- */

static bool is_memory_budget(enum yp_budget_kind kind)
{
    return kind >= YP_BUDGET_MAX_PEAK && kind <= YP_BUDGET_MAX_ALLOCATIONS;
}

static bool add_case(struct ypi_history *h, const struct yp_case *c)
{
    struct ypi_row r = ypi_row(&h->statements, YPI_ADD_CASE);
    ypi_row_text(&r, c->id);
    ypi_row_text(&r, c->test && c->test->group ? c->test->group : "");
    ypi_row_text(&r, c->test && c->test->name ? c->test->name : "");
    ypi_row_text(&r, c->decl && c->decl->name ? c->decl->name : "");
    ypi_row_text(&r, c->device);
    ypi_row_text(&r, c->tags ? c->tags : "");
    bool ok = ypi_row_store(&r);
    for (int i = 0; ok && i < c->setting_count; i++) {
        const struct ypi_setting *s = &c->settings[i];
        r = ypi_row(&h->statements, YPI_ADD_AXIS);
        ypi_row_text(&r, c->id);
        ypi_row_int(&r, i);
        ypi_row_text(&r, s->axis);
        ypi_row_text(&r, ypi_axis_kind_name(s->kind));
        if (s->kind == YP_AXIS_INT)
            ypi_row_int(&r, s->i);
        else if (s->kind == YP_AXIS_DOUBLE)
            ypi_row_real(&r, s->d);
        else
            ypi_row_text(&r, s->s);
        ok = ypi_row_store(&r);
    }
    return ok;
}

static bool add_memory(struct ypi_history *h, const char *id, const char *kind,
                       const struct yp_memory *m)
{
    struct ypi_row r = ypi_row(&h->statements, YPI_ADD_MEMORY);
    ypi_row_text(&r, id);
    ypi_row_text(&r, kind);
    ypi_row_unsigned(&r, m->allocated);
    ypi_row_unsigned(&r, m->allocated_peak);
    ypi_row_unsigned(&r, m->reserved);
    ypi_row_unsigned(&r, m->reserved_peak);
    ypi_row_unsigned(&r, m->total);
    ypi_row_unsigned(&r, m->allocations);
    ypi_row_unsigned(&r, m->frees);
    ypi_row_unsigned(&r, m->refused);
    ypi_row_unsigned(&r, m->limit);
    if (m->system > 0)
        ypi_row_unsigned(&r, m->system);
    else
        ypi_row_null(&r);
    return ypi_row_store(&r);
}

static bool add_main_row(struct ypi_history *h, const char *id, const char *run_id,
                         const struct ypi_result *result)
{
    char hash[17];
    const uint64_t figures[] = {result->memory.leaked_bytes, result->memory.leaked_blocks,
                                result->memory.resident_before, result->memory.resident_peak};
    struct ypi_row r = ypi_row(&h->statements, YPI_ADD_RESULT);
    ypi_row_text(&r, id);
    ypi_row_text(&r, run_id);
    ypi_row_text(&r, result->c->id);
    ypi_row_int(&r, result->c->repeat);
    ypi_row_text(&r, ypi_outcome_name(result->outcome));
    ypi_row_text(&r, result->reason);
    ypi_row_real(&r, result->started);
    ypi_row_real(&r, result->setup);
    ypi_row_real(&r, result->body);
    ypi_row_real(&r, result->teardown);
    ypi_row_real(&r, result->duration);
    ypi_row_real(&r, result->c->timeout);
    ypi_row_int(&r, result->ended);
    ypi_row_int(&r, result->exit_code);
    ypi_row_int(&r, result->signal);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)result->hash);
    ypi_row_text(&r, result->has_hash ? hash : NULL);
    ypi_row_unsigned(&r, result->c->seed);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (result->has_memory)
            ypi_row_unsigned(&r, figures[i]);
        else
            ypi_row_null(&r);
    }
    ypi_row_text(&r, result->tail ? result->tail : "");
    ypi_row_unsigned(&r, result->output_bytes);
    ypi_row_int(&r, result->attempt);
    ypi_row_unsigned(&r, result->fail_allocation);
    ypi_row_text(&r, result->note);
    bool ok = ypi_row_store(&r);
    const struct ypi_memory *m = &result->memory;
    ok = ok && (!result->has_memory || add_memory(h, id, "host", &m->host));
    return ok && (!result->has_memory || !m->has_device || add_memory(h, id, "device", &m->device));
}

static bool add_failures(struct ypi_history *h, const char *id, const struct ypi_result *result)
{
    bool ok = true;
    for (int i = 0; ok && i < result->failure_count; i++) {
        const struct ypi_failure *f = &result->failures[i];
        struct ypi_row r = ypi_row(&h->statements, YPI_ADD_FAILURE);
        ypi_row_text(&r, id);
        ypi_row_int(&r, i);
        ypi_row_text(&r, ypi_cause_name(f->cause));
        ypi_row_text(&r, f->message ? f->message : "");
        ypi_row_text(&r, f->file);
        if (f->file)
            ypi_row_int(&r, f->line);
        else
            ypi_row_null(&r);
        ok = ypi_row_store(&r);
    }
    return ok;
}

static bool add_values(struct ypi_history *h, const char *id, const struct ypi_result *result)
{
    bool ok = true;
    for (int i = 0; ok && i < result->value_count; i++) {
        const struct ypi_value *v = &result->values[i];
        struct ypi_row r = ypi_row(&h->statements, YPI_ADD_VALUE);
        ypi_row_text(&r, id);
        ypi_row_int(&r, i);
        ypi_row_text(&r, v->name);
        ypi_row_text(&r, v->unit);
        ypi_row_real(&r, v->value);
        ypi_row_real(&r, v->low);
        ypi_row_real(&r, v->high);
        ypi_row_int(&r, v->of_speed);
        ok = ypi_row_store(&r);
    }
    return ok;
}

static bool add_gradients(struct ypi_history *h, const char *id, const struct ypi_result *result)
{
    bool ok = true;
    for (int i = 0; ok && i < result->gradient_count; i++) {
        const struct ypi_gradient *g = &result->gradients[i];
        struct ypi_row r = ypi_row(&h->statements, YPI_ADD_GRADIENT);
        ypi_row_text(&r, id);
        ypi_row_int(&r, i);
        ypi_row_text(&r, g->name);
        ypi_row_int(&r, g->precision);
        ypi_row_real(&r, g->error);
        ypi_row_real(&r, g->limit);
        ypi_row_real(&r, g->slope);
        ypi_row_real(&r, g->expected);
        ypi_row_real(&r, g->got);
        ypi_row_text(&r, g->tensor);
        ypi_row_int(&r, g->checked);
        ypi_row_real(&r, g->resolution);
        ok = ypi_row_store(&r);
    }
    return ok;
}

static bool add_verdicts(struct ypi_history *h, const char *id, const struct ypi_result *result)
{
    bool ok = true;
    for (int i = 0; ok && i < result->verdict_count; i++) {
        const struct ypi_verdict *v = &result->verdicts[i];
        const struct yp_budget *b = v->budget;
        char detail[YPI_DETAIL_MAX];
        struct ypi_row r = ypi_row(&h->statements, YPI_ADD_VERDICT);
        ypi_row_text(&r, id);
        ypi_row_int(&r, i);
        ypi_row_text(&r, ypi_budget_kind_name(b->kind));
        ypi_row_text(&r, b->name);
        if (is_memory_budget(b->kind))
            ypi_row_text(&r, b->memory == YP_DEVICE ? "device" : "host");
        else
            ypi_row_null(&r);
        ypi_row_real(&r, b->limit);
        ypi_row_text(&r, ypi_met_name(v->met));
        ypi_row_real(&r, v->measured);
        ypi_row_real(&r, v->low);
        ypi_row_real(&r, v->high);
        ypi_row_real(&r, v->distance);
        ypi_row_text(&r, ypi_budget_detail(detail, b) ? detail : NULL);
        ypi_row_int(&r, v->asked);
        ypi_row_int(&r, v->confirmed);
        ok = ypi_row_store(&r);
    }
    return ok;
}

/* Columns one behind the other; a row refers to them until it is stored. The caller frees them. */
static double *columns_of(const struct ypi_result *result)
{
    size_t count = result->series_count;
    double *columns = ypi_calloc(YPI_SERIES_COLUMNS * count + 1, sizeof *columns);
    for (size_t c = 0; c < YPI_SERIES_COLUMNS; c++)
        for (size_t i = 0; i < count; i++)
            columns[c * count + i] = result->series[i * YPI_SERIES_COLUMNS + c];
    return columns;
}

static bool add_series(struct ypi_history *h, const char *id, const struct ypi_result *result)
{
    bool ok = true;
    size_t count = result->series_count;
    double *columns = columns_of(result);
    for (int c = YPI_SERIES_AT + 1; ok && count > 0 && c < YPI_SERIES_COLUMNS; c++) {
        struct ypi_row r = ypi_row(&h->statements, YPI_ADD_SERIES);
        ypi_row_text(&r, id);
        ypi_row_text(&r, ypi_series_name((enum ypi_series_column)c));
        ypi_row_doubles(&r, columns, count);
        ypi_row_doubles(&r, columns + (size_t)c * count, count);
        ok = ypi_row_store(&r);
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
    bool ok = add_case(h, result->c) && add_main_row(h, id, run_id, result) &&
              add_failures(h, id, result);
    for (int i = 0; ok && i < result->measured_count; i++)
        ok = ypi_record_measured(&h->statements, id, i, &result->measured[i]);
    return ok && add_values(h, id, result) && add_gradients(h, id, result) &&
           add_verdicts(h, id, result) && add_series(h, id, result);
}

enum yp_status ypi_history_add(struct ypi_history *h, const char *run_id,
                               const struct ypi_result *result)
{
    char what[512];
    snprintf(what, sizeof what, "storing %s, repeat %d, attempt %d", result->c->id,
             result->c->repeat, result->attempt);
    return end(h, simple(h, YPI_BEGIN) && add_result(h, run_id, result), what);
}

bool ypi_budget_detail(char out[YPI_DETAIL_MAX], const struct yp_budget *budget)
{
    *out = '\0';
    if (budget->kind == YP_BUDGET_MAX_COUNT)
        snprintf(out, YPI_DETAIL_MAX, "%s", ypi_counter_name(budget->counter));
    else if (budget->kind == YP_BUDGET_MAX_PERCENTILE)
        snprintf(out, YPI_DETAIL_MAX, "p%g", 100 * budget->quantile);
    return *out != '\0';
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
        if (got < 0) { /* forbidden by a sandbox: the time and the process still tell apart */
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
