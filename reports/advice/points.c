#include "reports/advice/points.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_varied(const struct ypi_run_rule *rule, const char *axis)
{
    for (size_t i = 0; rule->varied[i] != NULL; i++)
        if (strcmp(rule->varied[i], axis) == 0)
            return true;
    return false;
}

/* Each axis that may not differ, as "BETWEEN NAME EQUALS VALUE". */
static void add_fixed(struct ypi_text *text, const struct ypi_run_rule *rule,
                      const struct ypi_kept *kept, const char *between, const char *equals)
{
    char number[32];
    const cJSON *axis;
    cJSON_ArrayForEach(axis, kept->axes)
    {
        if (is_varied(rule, axis->string))
            continue;
        ypi_print_double(number, axis->valuedouble);
        ypi_text_add(text, "%s%s%s%s", text->length > 0 ? between : "", axis->string, equals,
                     cJSON_IsString(axis) ? axis->valuestring : number);
    }
}

/* Test, device, machine, measurement and all axes that may not differ, unmistakably. */
static char *key_of(const struct ypi_run_rule *rule, const struct ypi_kept *kept,
                    const struct ypi_kept_measure *m)
{
    struct ypi_text text = {0};
    if (rule->place == NULL)
        return ypi_strdup("");
    ypi_text_add(&text, "%s\n%s\n%s\n%s", kept->test, kept->device, kept->machine,
                 m != NULL ? m->name : "");
    add_fixed(&text, rule, kept, "\n", "=");
    return ypi_text_take(&text);
}

char *ypi_points_common(const struct ypi_run_rule *rule, const struct ypi_kept *kept)
{
    struct ypi_text text = {0};
    if (rule->place != NULL)
        add_fixed(&text, rule, kept, ", ", " ");
    char *axes = ypi_text_take(&text);
    char *common = *axes != '\0' ? ypi_format(" (%s)", axes) : ypi_strdup("");
    free(axes);
    return common;
}

static void add(struct ypi_points *points, size_t *room, struct ypi_point point)
{
    if (points->count == *room) {
        *room = *room > 0 ? 2 * *room : 64;
        points->list = ypi_realloc(points->list, *room, sizeof *points->list);
    }
    point.at = points->count;
    points->list[points->count++] = point;
}

static int by_group(const void *left, const void *right)
{
    const struct ypi_point *a = left;
    const struct ypi_point *b = right;
    int order = strcmp(a->key, b->key);
    if (order != 0)
        return order;
    if (a->x < b->x || a->x > b->x)
        return a->x < b->x ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

struct ypi_points ypi_points_of(const struct ypi_run_rule *rule, struct ypi_kept *const *cases,
                                size_t count)
{
    struct ypi_points points = {0};
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ypi_kept *kept = cases[i];
        double x = rule->place != NULL ? rule->place(kept) : 0;
        if (isnan(x))
            continue;
        if (rule->of_cases)
            add(&points, &room, (struct ypi_point){kept, NULL, x, key_of(rule, kept, NULL), 0});
        for (size_t j = 0; !rule->of_cases && j < kept->measure_count; j++) {
            const struct ypi_kept_measure *m = &kept->measures[j];
            if (m->disturbed)
                continue;
            add(&points, &room, (struct ypi_point){kept, m, x, key_of(rule, kept, m), 0});
        }
    }
    if (points.count > 0)
        qsort(points.list, points.count, sizeof *points.list, by_group);
    return points;
}

size_t ypi_points_group(const struct ypi_points *points, size_t from)
{
    size_t end = from + 1;
    while (end < points->count && strcmp(points->list[end].key, points->list[from].key) == 0)
        end++;
    return end - from;
}

void ypi_points_free(struct ypi_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        free(points->list[i].key);
    free(points->list);
    *points = (struct ypi_points){0};
}
