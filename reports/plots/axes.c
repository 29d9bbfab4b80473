#include "reports/plots/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const batch_names[] = {"batch", "batch_size", "graphs", "images", "requests"};
/* The nearer the front, the more it is what a user means by the size of the work. */
static const char *const size_names[] = {
    "tile_size", "tile",     "context_length", "context", "size",    "side",
    "channels",  "sequence", "length",         "n",       "players", "pixels",
    "rows",      "points",   "targets",        "depth",   "d_model", "threads"};

static const char *text_at(const struct ypi_plot_case *c, const char *name)
{
    const struct ypi_plot_axis *axis = ypi_plot_axis(c, name);
    return axis != NULL ? axis->text : "";
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t ypi_plot_axis_values(const struct ypi_plot_case *const *cases, size_t count,
                            const char *name, bool *numbers)
{
    const char **texts = ypi_calloc(count + 1, sizeof *texts);
    size_t found = 0;
    *numbers = count > 0;
    for (size_t i = 0; i < count; i++) {
        const struct ypi_plot_axis *axis = ypi_plot_axis(cases[i], name);
        *numbers = *numbers && axis != NULL && isfinite(axis->number);
        texts[i] = text_at(cases[i], name);
    }
    qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 0; i < count; i++)
        found += i == 0 || strcmp(texts[i - 1], texts[i]) != 0;
    free(texts);
    return found;
}

static bool has(const struct ypi_plot_roles *roles, const char *name)
{
    for (int i = 0; i < roles->count; i++)
        if (strcmp(roles->names[i], name) == 0)
            return true;
    return false;
}

static void find_names(const struct ypi_plot_case *const *cases, size_t count,
                       struct ypi_plot_roles *out)
{
    bool numbers;
    const char **seen = NULL;
    int seen_count = 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < cases[i]->axis_count; k++) {
            const char *name = cases[i]->axes[k].name;
            if (ypi_list_has(seen, seen_count, name))
                continue;
            seen = ypi_realloc(seen, (size_t)seen_count + 1, sizeof *seen);
            seen[seen_count++] = name;
            if (ypi_plot_axis_values(cases, count, name, &numbers) < 2)
                continue;
            out->names = ypi_realloc(out->names, (size_t)out->count + 1, sizeof *out->names);
            out->names[out->count++] = name;
        }
    free(seen);
}

void ypi_plot_roles_of(const struct ypi_plot_case *const *cases, size_t count,
                       struct ypi_plot_roles *out)
{
    bool numbers;
    size_t most = 1;
    *out = (struct ypi_plot_roles){0};
    find_names(cases, count, out);
    for (size_t i = 0; i < sizeof batch_names / sizeof *batch_names && out->batch == NULL; i++)
        if (has(out, batch_names[i]) &&
            ypi_plot_axis_values(cases, count, batch_names[i], &numbers) > 1 && numbers)
            out->batch = batch_names[i];
    for (size_t i = 0; i < sizeof size_names / sizeof *size_names && out->size == NULL; i++)
        if (has(out, size_names[i]) &&
            ypi_plot_axis_values(cases, count, size_names[i], &numbers) > 1 && numbers)
            out->size = size_names[i];
    const bool named = out->size != NULL;
    for (int i = 0; i < out->count && !named; i++) {
        size_t values = ypi_plot_axis_values(cases, count, out->names[i], &numbers);
        bool batch = out->batch != NULL && strcmp(out->batch, out->names[i]) == 0;
        if (numbers && values > most && !batch) {
            most = values;
            out->size = out->names[i];
        }
    }
    if (out->size == NULL) {
        out->size = out->batch;
        out->batch = NULL;
    }
}

char *ypi_plot_label(const struct ypi_plot_roles *roles, const struct ypi_plot_case *c,
                     const char *skip, const char *skip_too)
{
    struct ypi_text text = {0};
    /* The batch first: it is what one looks for. */
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < roles->count; i++) {
            const char *name = roles->names[i];
            const bool batch = roles->batch != NULL && strcmp(roles->batch, name) == 0;
            if (batch != (pass == 0) || (skip != NULL && strcmp(skip, name) == 0) ||
                (skip_too != NULL && strcmp(skip_too, name) == 0) || ypi_plot_axis(c, name) == NULL)
                continue;
            ypi_text_add(&text, "%s%s %s", text.length > 0 ? ", " : "", name, text_at(c, name));
        }
    return ypi_text_take(&text);
}
