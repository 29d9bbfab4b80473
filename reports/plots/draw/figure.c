#include "reports/plots/draw/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
    return text != NULL ? ypi_strdup(text) : NULL;
}

struct ypi_drawing_series *ypi_drawing_add_series(struct ypi_drawing *f, const char *name,
                                                  enum ypi_drawing_kind kind, int look)
{
    f->series = ypi_realloc(f->series, f->series_count + 1, sizeof *f->series);
    struct ypi_drawing_series *series = &f->series[f->series_count++];
    memset(series, 0, sizeof *series);
    series->name = ypi_strdup(name);
    series->kind = kind;
    series->look = look;
    return series;
}

struct ypi_drawing_point *ypi_drawing_add_point(struct ypi_drawing_series *s, double x, double y,
                                                const char *hover, const char *label,
                                                const char *about)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity * 2 + 8;
        s->list = ypi_realloc(s->list, s->capacity, sizeof *s->list);
    }
    struct ypi_drawing_point *point = &s->list[s->count++];
    *point =
        (struct ypi_drawing_point){x, y, NAN, NAN, copy(hover), copy(label), copy(about), false};
    return point;
}

void ypi_drawing_add_bar(struct ypi_drawing *f, const char *name, const char *about,
                         const char *total, const double *parts)
{
    const size_t count = (size_t)f->part_count;
    f->bars = ypi_realloc(f->bars, f->bar_count + 1, sizeof *f->bars);
    struct ypi_drawing_bar *bar = &f->bars[f->bar_count++];
    *bar = (struct ypi_drawing_bar){copy(name), copy(about), copy(total),
                                    ypi_calloc(count, sizeof *bar->parts)};
    memcpy(bar->parts, parts, count * sizeof *parts);
}

void ypi_drawing_add_part(struct ypi_drawing *f, const char *name)
{
    f->parts = ypi_list_add(f->parts, f->part_count++, ypi_strdup(name));
}

void ypi_drawing_add_note(struct ypi_drawing *f, char *note)
{
    f->notes = ypi_list_add(f->notes, f->note_count++, note);
}

static void clear_axis(struct ypi_drawing_axis *axis)
{
    free(axis->title);
    free(axis->unit);
    free(axis->ticks);
}

static void clear_series(struct ypi_drawing_series *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->list[i].hover);
        free(s->list[i].label);
        free(s->list[i].about);
    }
    free(s->list);
    free(s->name);
}

void ypi_drawing_clear(struct ypi_drawing *f)
{
    for (size_t i = 0; i < f->series_count; i++)
        clear_series(&f->series[i]);
    for (size_t i = 0; i < f->bar_count; i++) {
        free(f->bars[i].name);
        free(f->bars[i].about);
        free(f->bars[i].total);
        free(f->bars[i].parts);
    }
    free(f->series);
    free(f->bars);
    ypi_list_free(f->parts, f->part_count);
    ypi_list_free(f->notes, f->note_count);
    clear_axis(&f->x);
    clear_axis(&f->y);
    free(f->name);
    free(f->title);
    free(f->description);
    memset(f, 0, sizeof *f);
}
