/* What changed since an earlier run: what `yieldpoint compare` says of the two. */
#include "base/text/text.h"
#include "gate/options.h"
#include "gate/stored/stored_compare.h"
#include "gate/summary.h"
#include "reports/content/loaded.h"

#include <stdlib.h>
#include <string.h>

/* -- the sides ----------------------------------------------------------------------------- */

/* The runs of a JSON array that can be compared, in the history that is open. */
static struct ypi_stored side_of(const struct ypi_loaded *l, const char *ids)
{
    const cJSON *item;
    cJSON *list = cJSON_Parse(ids);
    struct ypi_stored side = {.db = l->db, .commit = ypi_strdup("")};
    side.runs = ypi_calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *side.runs);
    cJSON_ArrayForEach(item, list)
    {
        const struct ypi_run_row *run = ypi_run_find(l, item->valuestring);
        if (run != NULL && run->normal)
            side.runs[side.run_count++] = (struct ypi_stored_run){
                ypi_strdup(run->id), ypi_strdup(run->machine), ypi_strdup(run->options)};
    }
    cJSON_Delete(list);
    return side;
}

static void clear(struct ypi_stored *side)
{
    side->db = NULL; /* the caller's */
    ypi_stored_clear(side);
}

/* -- one figure ------------------------------------------------------------------------------ */

static const char *what_of(const struct ypi_comparison *c)
{
    static const char *const names[YPI_QUANTITIES] = {
        [YPI_QUANTITY_CASE] = "case",
        [YPI_QUANTITY_OUTCOME] = "outcome",
        [YPI_QUANTITY_TIME] = "time",
        [YPI_QUANTITY_PEAK] = "memory",
        [YPI_QUANTITY_RESIDENT] = "memory",
        [YPI_QUANTITY_ALLOCATIONS] = "allocations",
        [YPI_QUANTITY_INSTRUCTIONS] = "instructions",
        [YPI_QUANTITY_VALUE] = "value",
        [YPI_QUANTITY_ERROR] = "error",
        [YPI_QUANTITY_HASH] = "hash",
    };
    return c->by_share ? "share" : names[c->quantity];
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static struct ypi_change change_of(const struct ypi_comparison *c)
{
    const bool resident = c->quantity == YPI_QUANTITY_RESIDENT;
    struct ypi_text text = {0};
    ypi_summary_change(&text, c);
    return (struct ypi_change){.what = what_of(c),
                               .name = resident ? "resident" : or_empty(c->name),
                               .word = ypi_compared_name(c->quantity, c->verdict),
                               .text = ypi_text_take(&text),
                               .unit = or_empty(c->unit),
                               .before = c->base,
                               .now = c->head,
                               .ratio = c->ratio,
                               .low = c->low,
                               .high = c->high,
                               .before_text = c->base_text,
                               .now_text = c->head_text,
                               .better = c->verdict == YPI_COMPARED_BETTER,
                               .worse = c->verdict == YPI_COMPARED_WORSE};
}

static bool is_change(const struct ypi_comparison *c)
{
    return c->quantity != YPI_QUANTITY_CASE && c->verdict != YPI_COMPARED_SAME &&
           c->verdict != YPI_COMPARED_UNSURE;
}

static void take_unsure(struct ypi_loaded *l, struct ypi_report_case *to,
                        const struct ypi_comparison *c)
{
    if (to->unsure_count++ == 0)
        to->unsure = &l->unsure[l->unsure_count];
    l->unsure[l->unsure_count++] = change_of(c);
}

/* The comparisons of a case stand together. */
static void take_changes(struct ypi_loaded *l)
{
    l->changes = ypi_calloc((size_t)l->found.count + 1, sizeof *l->changes);
    l->unsure = ypi_calloc((size_t)l->found.count + 1, sizeof *l->unsure);
    l->gone = ypi_calloc((size_t)l->found.count + 1, sizeof *l->gone);
    for (int i = 0; i < l->found.count; i++) {
        const struct ypi_comparison *c = &l->found.list[i];
        struct ypi_report_case *to = ypi_content_find(l, c->id);
        if (to == NULL && c->quantity == YPI_QUANTITY_CASE && c->verdict == YPI_COMPARED_GONE)
            l->gone[l->content.gone_count++] = c->id;
        if (to != NULL && c->verdict == YPI_COMPARED_UNSURE)
            take_unsure(l, to, c);
        if (to == NULL || !is_change(c))
            continue;
        if (to->change_count == 0)
            to->changes = &l->changes[l->change_count];
        to->change_count++;
        l->changes[l->change_count++] = change_of(c);
    }
    l->content.gone = l->gone;
    l->content.notes = (const char *const *)l->found.notes;
    l->content.note_count = (size_t)l->found.note_count;
}

/* -- all of it ------------------------------------------------------------------------------- */

static void take_before(struct ypi_loaded *l)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, l->base_rows)
    {
        struct ypi_report_case *c = ypi_content_find(l, ypi_text_of(row, "case"));
        if (c != NULL)
            c->before = ypi_text_of(row, "id");
    }
}

bool ypi_content_compare(struct ypi_loaded *l, const struct ypi_selection *selection, bool *right)
{
    struct ypi_selection choice = *selection;
    struct ypi_stored base = side_of(l, l->base);
    struct ypi_stored head = side_of(l, l->reported);
    enum yp_status status = YP_OK;
    choice.absent_too = true; /* what is not there was told before */
    l->found = (struct ypi_comparisons){.threshold = YPI_THRESHOLD, .error = YPI_ERROR};
    l->content.threshold = YPI_THRESHOLD;
    l->content.error = YPI_ERROR;
    take_before(l);
    if (base.run_count > 0 && head.run_count > 0)
        status = ypi_stored_compare(&base, &head, &choice, right, &l->found);
    clear(&base);
    clear(&head);
    if (status == YP_OK && *right)
        take_changes(l);
    return status == YP_OK && *right;
}

void ypi_content_clear_changes(struct ypi_loaded *l)
{
    for (size_t i = 0; i < l->change_count; i++)
        free((char *)(uintptr_t)l->changes[i].text);
    for (size_t i = 0; i < l->unsure_count; i++)
        free((char *)(uintptr_t)l->unsure[i].text);
    free(l->changes);
    free(l->unsure);
    free((void *)l->gone);
    ypi_comparisons_clear(&l->found);
}
