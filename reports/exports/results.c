#include "reports/exports/results.h"

#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

struct loading {
    struct ypi_exported *out;
    size_t capacity;
};

static bool take(void *arg, const cJSON *row)
{
    struct loading *l = arg;
    struct ypi_exported *out = l->out;
    const char *id = ypi_text_of(row, "id");
    if (out->count > 0 && strcmp(out->list[out->count - 1].id, id) == 0)
        return true; /* a row for each measurement */
    if (out->count == l->capacity) {
        l->capacity = 2 * l->capacity + 64;
        out->list = ypi_realloc(out->list, l->capacity, sizeof *out->list);
    }
    out->list[out->count] =
        (struct ypi_exported_result){.id = ypi_strdup(id),
                                     .case_id = ypi_strdup(ypi_text_of(row, "case_id")),
                                     .machine = ypi_strdup(ypi_text_of(row, "machine")),
                                     .order = (long long)out->count};
    out->count++;
    return true;
}

static int same_place(const struct ypi_exported_result *a, const struct ypi_exported_result *b)
{
    int order = strcmp(a->case_id, b->case_id);
    return order != 0 ? order : strcmp(a->machine, b->machine);
}

static int by_place(const void *a, const void *b)
{
    const struct ypi_exported_result *first = a;
    const struct ypi_exported_result *second = b;
    int order = same_place(first, second);
    return order != 0 ? order : (first->order > second->order) - (first->order < second->order);
}

enum yp_status ypi_exported_load(struct ypi_exported *out, const struct ypi_export *e)
{
    struct loading loading = {.out = out};
    *out = (struct ypi_exported){0};
    enum yp_status status = ypi_results_each(
        e->db, e->filter, "r.id AS id, r.case_id AS case_id, run.machine AS machine", false, take,
        &loading);
    if (status != YP_OK)
        return status;
    if (out->count > 0)
        qsort(out->list, out->count, sizeof *out->list, by_place);
    for (size_t i = 0; i < out->count; i++)
        out->list[i].newest =
            i + 1 == out->count || same_place(&out->list[i], &out->list[i + 1]) != 0;
    return YP_OK;
}

void ypi_exported_clear(struct ypi_exported *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].id);
        free(all->list[i].case_id);
        free(all->list[i].machine);
    }
    free(all->list);
    *all = (struct ypi_exported){0};
}
