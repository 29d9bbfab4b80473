#include "gate/kept.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "gate/summary.h"
#include "harness/history/history.h"

#include <stdlib.h>
#include <string.h>

/* -- into it ------------------------------------------------------------------------------- */

static struct ypi_comparison_record record_of(const struct ypi_comparison *c)
{
    return (struct ypi_comparison_record){.id = c->id,
                                          .quantity = ypi_quantity_name(c->quantity),
                                          .name = c->name,
                                          .verdict = ypi_compared_name(c->quantity, c->verdict),
                                          .by_share = c->by_share,
                                          .base = c->base,
                                          .head = c->head,
                                          .base_text = c->base_text,
                                          .head_text = c->head_text,
                                          .unit = c->unit,
                                          .ratio = c->ratio,
                                          .low = c->low,
                                          .high = c->high,
                                          .pairs = c->pairs,
                                          .seconds = c->seconds,
                                          .note = c->note};
}

static enum yp_status store(sqlite3 *db, const struct ypi_comparisons *all, int exit_code)
{
    struct ypi_text notes = {0};
    for (int i = 0; i < all->note_count; i++)
        ypi_text_add(&notes, "%s%s", i > 0 ? "\n" : "", all->notes[i]);
    struct ypi_gate_record gate = {.started = ypi_wall_clock() - all->seconds,
                                   .seconds = all->seconds,
                                   .base = all->base.name,
                                   .base_commit = all->base.commit,
                                   .base_dirty = all->base.dirty,
                                   .base_machine = all->base.machine,
                                   .head = all->head.name,
                                   .head_commit = all->head.commit,
                                   .head_dirty = all->head.dirty,
                                   .head_machine = all->head.machine,
                                   .threshold = all->threshold,
                                   .error = all->error,
                                   .whole = all->whole,
                                   .exit_code = exit_code,
                                   .notes = notes.data};
    struct ypi_comparison_record *list = ypi_calloc((size_t)all->count + 1, sizeof *list);
    for (int i = 0; i < all->count; i++)
        list[i] = record_of(&all->list[i]);
    enum yp_status status = ypi_gate_store(db, &gate, list, all->count);
    free(list);
    free(ypi_text_take(&notes));
    return status;
}

enum yp_status ypi_kept_store(const char *path, const struct ypi_comparisons *all, int exit_code)
{
    sqlite3 *db = ypi_store_open_to_write(path);
    enum yp_status status = db != NULL ? store(db, all, exit_code) : YP_IO;
    sqlite3_close(db);
    return status;
}

/* -- out of it ----------------------------------------------------------------------------- */

/* NULL for what is not there. */
static char *text_of(const cJSON *row, const char *name)
{
    const char *text = ypi_text_of(row, name);
    return *text != '\0' ? ypi_strdup(text) : NULL;
}

static bool flag_of(const cJSON *row, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, name));
}

static enum ypi_quantity quantity_of(const char *name)
{
    int q = 0;
    while (q < YPI_QUANTITIES - 1 && strcmp(ypi_quantity_name((enum ypi_quantity)q), name) != 0)
        q++;
    return (enum ypi_quantity)q;
}

static enum ypi_compared verdict_of(enum ypi_quantity quantity, const char *name)
{
    int v = 0;
    while (v < YPI_COMPARED_KINDS - 1 &&
           strcmp(ypi_compared_name(quantity, (enum ypi_compared)v), name) != 0)
        v++;
    return (enum ypi_compared)v;
}

static void add(struct ypi_comparisons *out, const cJSON *row)
{
    struct ypi_comparison *c =
        ypi_comparison_add(out, ypi_text_of(row, "id"), quantity_of(ypi_text_of(row, "quantity")),
                           ypi_text_of(row, "name"));
    c->verdict = verdict_of(c->quantity, ypi_text_of(row, "verdict"));
    c->by_share = flag_of(row, "by_share");
    c->base = ypi_real(row, "base");
    c->head = ypi_real(row, "head");
    c->base_text = text_of(row, "base_text");
    c->head_text = text_of(row, "head_text");
    c->unit = text_of(row, "unit");
    c->ratio = ypi_real(row, "ratio");
    c->low = ypi_real(row, "low");
    c->high = ypi_real(row, "high");
    c->pairs = ypi_whole(row, "pairs");
    c->seconds = ypi_real(row, "seconds");
    c->note = text_of(row, "note");
}

static void read_head(struct ypi_comparisons *out, const cJSON *row)
{
    out->base = (struct ypi_side){text_of(row, "base"), text_of(row, "base_commit"),
                                  flag_of(row, "base_dirty"), text_of(row, "base_machine")};
    out->head = (struct ypi_side){text_of(row, "head"), text_of(row, "head_commit"),
                                  flag_of(row, "head_dirty"), text_of(row, "head_machine")};
    out->threshold = ypi_real(row, "threshold");
    out->error = ypi_real(row, "error");
    out->seconds = ypi_real(row, "seconds");
    out->whole = flag_of(row, "whole");
    const char *note = ypi_text_of(row, "notes");
    while (*note != '\0') {
        size_t length = strcspn(note, "\n");
        ypi_comparisons_note(out, "%.*s", (int)length, note);
        note += length + (note[length] == '\n');
    }
}

static enum yp_status load(sqlite3 *db, const char *word, struct ypi_comparisons *out)
{
    bool last = strcmp(word, "last") == 0;
    cJSON *gates = ypi_gates_load(db, last ? "" : word, last ? 1 : 2);
    cJSON *rows = NULL;
    enum yp_status status = gates != NULL ? YP_OK : YP_IO;
    int count = cJSON_GetArraySize(gates);
    if (status == YP_OK && count != 1)
        status = yp_set_error(YP_INVALID, "%s: %s", word,
                              count > 1 ? "several gates begin so; write more of it"
                                        : "no gate of that name is stored; `yieldpoint gates` "
                                          "lists them");
    if (status == YP_OK &&
        (rows = ypi_gate_comparisons(db, ypi_text_of(gates->child, "id"))) == NULL)
        status = YP_IO;
    const cJSON *row;
    if (status == YP_OK)
        read_head(out, gates->child);
    cJSON_ArrayForEach(row, rows) add(out, row);
    /* Nothing else makes a gate fail in which nothing is worse. */
    if (status == YP_OK && ypi_summary_exit(out) != YPI_GATE_WORSE)
        out->missing_fails = ypi_whole(gates->child, "exit_code") == YPI_GATE_WORSE;
    cJSON_Delete(rows);
    cJSON_Delete(gates);
    return status;
}

enum yp_status ypi_kept_load(const char *path, const char *word, struct ypi_comparisons *out)
{
    sqlite3 *db = ypi_store_open(path);
    *out = (struct ypi_comparisons){0};
    enum yp_status status = db != NULL ? load(db, word, out) : YP_IO;
    sqlite3_close(db);
    return status;
}
