#include "harness/vocabulary/axis.h"

#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

/* Its values stand in the test. */
static const struct yp_axis ranks = {.name = "ranks", .kind = YP_AXIS_RANKS, .count = 1};

const struct yp_axis *ypi_axis_at(const struct yp_test *test, int i)
{
    if (test->types.kind != YP_AXIS_NONE && i-- == 0)
        return &test->types;
    for (int k = 0; k < YP_MAX_AXES && test->axes[k].kind != YP_AXIS_NONE; k++, i--)
        if (i == 0)
            return &test->axes[k];
    return i == 0 && test->ranks != NULL ? &ranks : NULL;
}

int ypi_ranks(const struct yp_case *c)
{
    for (int i = 0; i < c->setting_count && c->test->ranks != NULL; i++)
        if (c->settings[i].axis == ranks.name)
            return (int)c->settings[i].i;
    return 1;
}

bool ypi_setting_equal(const struct ypi_setting *x, const struct ypi_setting *y)
{
    return x->kind != y->kind          ? false
           : x->kind == YP_AXIS_INT    ? x->i == y->i
           : x->kind == YP_AXIS_DOUBLE ? x->d == y->d
                                       : strcmp(x->s, y->s) == 0;
}

char *ypi_setting_text(const struct ypi_setting *s)
{
    char number[32];
    if (s->kind == YP_AXIS_INT)
        return ypi_format("%lld", s->i);
    if (s->kind == YP_AXIS_STRING)
        return ypi_strdup(s->s);
    ypi_print_double(number, s->d);
    return ypi_strdup(number);
}

const char *ypi_axis_kind_name(enum yp_axis_kind kind)
{
    static const char *const names[] = {
        [YP_AXIS_NONE] = "none",     [YP_AXIS_INT] = "int",     [YP_AXIS_DOUBLE] = "double",
        [YP_AXIS_STRING] = "string", [YP_AXIS_FROM] = "none",   [YP_AXIS_RANGE] = "int",
        [YP_AXIS_GEOMETRIC] = "int", [YP_AXIS_THREADS] = "int", [YP_AXIS_RANKS] = "int",
    };
    return names[kind];
}

/* Room grows by half, so that many values take time in proportion to their number. */
static void append(struct yp_axis_values *values, const struct ypi_setting *value)
{
    if (values->count == values->room) {
        values->room += values->room / 2 + 8;
        values->of = ypi_realloc(values->of, values->room, sizeof *values->of);
    }
    values->of[values->count] = *value;
    values->of[values->count++].axis = values->name;
}

/* -- by a function ------------------------------------------------------------------------ */

static enum yp_status add(struct yp_axis_values *values, const struct ypi_setting *value)
{
    if (values->kind == YP_AXIS_NONE)
        values->kind = value->kind;
    bool missing = value->kind == YP_AXIS_STRING && value->s == NULL;
    if (!missing && values->kind == value->kind) {
        append(values, value);
        if (value->kind == YP_AXIS_STRING)
            values->of[values->count - 1].s = ypi_strdup(value->s);
        return YP_OK;
    }
    char *problem = missing ? ypi_format("value %zu is NULL", values->count + 1)
                            : ypi_format("value %zu is of kind %s, those before it are of kind %s",
                                         values->count + 1, ypi_axis_kind_name(value->kind),
                                         ypi_axis_kind_name(values->kind));
    yp_set_error(YP_INVALID, "axis '%s': %s", values->name, problem);
    if (values->problem == NULL)
        values->problem = problem;
    else
        free(problem);
    return YP_INVALID;
}

enum yp_status yp_axis_add_int(struct yp_axis_values *values, long long value)
{
    return add(values, &(struct ypi_setting){.kind = YP_AXIS_INT, .i = value});
}

enum yp_status yp_axis_add_double(struct yp_axis_values *values, double value)
{
    return add(values, &(struct ypi_setting){.kind = YP_AXIS_DOUBLE, .d = value});
}

enum yp_status yp_axis_add_string(struct yp_axis_values *values, const char *value)
{
    return add(values, &(struct ypi_setting){.kind = YP_AXIS_STRING, .s = value});
}

static void ask(const struct yp_axis *axis, struct yp_axis_values *out)
{
    *out = (struct yp_axis_values){.name = axis->name, .copies = true};
    enum yp_status status = axis->from(out, axis->arg);
    if (status != YP_OK && out->problem == NULL)
        out->problem = ypi_format("its function failed: %s", yp_last_error());
    if (out->count == 0 && out->problem == NULL)
        out->problem = ypi_strdup("its function gives no values");
}

static bool same(const struct yp_axis_values *x, const struct yp_axis_values *y)
{
    bool equal = x->count == y->count;
    for (size_t i = 0; equal && i < x->count; i++)
        equal = ypi_setting_equal(&x->of[i], &y->of[i]);
    return equal;
}

static int by_value(const void *a, const void *b)
{
    const struct ypi_setting *x = a;
    const struct ypi_setting *y = b;
    if (x->kind == YP_AXIS_INT)
        return (x->i > y->i) - (x->i < y->i);
    return x->kind == YP_AXIS_DOUBLE ? (x->d > y->d) - (x->d < y->d) : strcmp(x->s, y->s);
}

static char *twice(const struct yp_axis_values *values)
{
    char *problem = NULL;
    struct ypi_setting *sorted = ypi_calloc(values->count, sizeof *sorted);
    memcpy(sorted, values->of, values->count * sizeof *sorted);
    qsort(sorted, values->count, sizeof *sorted, by_value);
    for (size_t i = 1; i < values->count && problem == NULL; i++)
        if (ypi_setting_equal(&sorted[i], &sorted[i - 1])) {
            char *text = ypi_setting_text(&sorted[i]);
            problem = ypi_format(values->name == ranks.name ? "'%s' stands there twice"
                                                            : "its function gives '%s' twice",
                                 text);
            free(text);
        }
    free(sorted);
    return problem;
}

/* Twice, since an id that is there in one collection only would reproduce nothing. */
static bool read_function(const struct yp_axis *axis, struct yp_axis_values *out)
{
    struct yp_axis_values again;
    ask(axis, out);
    if (out->problem == NULL)
        out->problem = twice(out);
    if (out->problem == NULL) {
        ask(axis, &again);
        if (!same(out, &again))
            out->problem = ypi_strdup("its function gives other values when it is asked again");
        ypi_axis_clear(&again);
    }
    return out->problem == NULL;
}

/* -- as declared -------------------------------------------------------------------------- */

static void append_int(struct yp_axis_values *out, long long i)
{
    append(out, &(struct ypi_setting){.kind = YP_AXIS_INT, .i = i});
}

/* How many steps there are between the ends. */
static unsigned long long range_steps(long long first, long long last, long long step)
{
    unsigned long long span = last > first ? (unsigned long long)last - (unsigned long long)first
                                           : (unsigned long long)first - (unsigned long long)last;
    return span / (step > 0 ? (unsigned long long)step : 0 - (unsigned long long)step);
}

static void read_range(struct yp_axis_values *out, long long first, long long last, long long step)
{
    if (step == 0 || (last != first && (last > first) != (step > 0))) {
        out->problem = ypi_format("it goes from %lld to %lld by %lld, which never arrives: allowed "
                                  "is a step %s 0",
                                  first, last, step, last < first ? "below" : "above");
        return;
    }
    unsigned long long steps = range_steps(first, last, step);
    if (steps >= YPI_AXIS_VALUES_MOST) {
        out->problem = ypi_format("it goes from %lld to %lld by %lld in more than %u values", first,
                                  last, step, YPI_AXIS_VALUES_MOST);
        return;
    }
    append_int(out, first);
    for (; steps > 0; steps--)
        append_int(out, first += step);
}

static void read_geometric(struct yp_axis_values *out, long long first, long long last,
                           long long factor)
{
    if (first < 1 || last < first || factor < 2) {
        out->problem = ypi_format("it goes from %lld to %lld by the factor %lld: allowed are a "
                                  "first value from 1, a last one from there and a factor from 2",
                                  first, last, factor);
        return;
    }
    for (long long at = first; at < last; at *= factor) {
        append_int(out, at);
        if (at > last / factor)
            break;
    }
    append_int(out, last);
}

/* Of all processors, where the last number is not given. */
static void read_threads(struct yp_axis_values *out, long long first, long long last,
                         int processors)
{
    if (last == 0 && first > processors)
        first = processors;
    read_geometric(out, first, last == 0 ? processors : last, 2);
}

static void read_values(struct yp_axis_values *out, const struct yp_axis *axis)
{
    for (unsigned i = 0; i < axis->count; i++) {
        struct ypi_setting value = {.kind = axis->kind};
        if (axis->kind == YP_AXIS_INT)
            value.i = axis->list.i != NULL ? axis->list.i[i] : axis->values.i[i];
        else if (axis->kind == YP_AXIS_DOUBLE)
            value.d = axis->list.d != NULL ? axis->list.d[i] : axis->values.d[i];
        else
            value.s = axis->list.s != NULL ? axis->list.s[i] : axis->values.s[i];
        append(out, &value);
    }
}

/* "1 2 4" */
static bool read_ranks(const char *list, struct yp_axis_values *out)
{
    const char *word = NULL;
    size_t length = 0;
    *out = (struct yp_axis_values){.name = ranks.name, .kind = YP_AXIS_INT};
    for (const char *at = list; out->problem == NULL && ypi_next_word(&at, &word, &length);) {
        char *text = ypi_format("%.*s", (int)length, word);
        long long count = 0;
        if (!ypi_parse_i64(text, &count) || count < 1 || count > YPI_RANKS_MOST)
            out->problem = ypi_format("'%s' is no number of processes: allowed are 1 to %d", text,
                                      YPI_RANKS_MOST);
        else
            append_int(out, count);
        free(text);
    }
    if (out->problem == NULL && out->count == 0)
        out->problem = ypi_strdup(".ranks is empty: allowed are numbers such as \"1 2 4\"");
    if (out->problem == NULL)
        out->problem = twice(out);
    return out->problem == NULL;
}

bool ypi_axis_read(const struct yp_test *test, const struct yp_axis *axis, int processors,
                   struct yp_axis_values *out)
{
    const long long *ends = axis->values.i;
    if (axis->kind == YP_AXIS_RANKS)
        return read_ranks(test->ranks, out);
    if (axis->kind == YP_AXIS_FROM)
        return read_function(axis, out);
    *out = (struct yp_axis_values){.name = axis->name, .kind = axis->kind};
    if (axis->kind < YP_AXIS_RANGE) {
        read_values(out, axis);
        return true;
    }
    out->kind = YP_AXIS_INT;
    if (axis->kind == YP_AXIS_RANGE)
        read_range(out, ends[0], ends[1], ends[2]);
    else if (axis->kind == YP_AXIS_GEOMETRIC)
        read_geometric(out, ends[0], ends[1], ends[2]);
    else
        read_threads(out, ends[0], ends[1], processors);
    return out->problem == NULL;
}

void ypi_axis_clear(struct yp_axis_values *values)
{
    for (size_t i = 0; values->copies && i < values->count; i++)
        free((char *)(uintptr_t)values->of[i].s);
    free(values->of);
    free(values->problem);
    *values = (struct yp_axis_values){0};
}
