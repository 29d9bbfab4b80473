/* yp_expect_close: compared here, in pieces where an array lies on a device. */
#include "base/heap/heap.h"
#include "base/numbers/close.h"
#include "base/text/text.h"
#include "harness/body/child.h"
#include "harness/body/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/array.h>

/* Around the first element that is off. */
enum { NEIGHBOURS = 3 };

/* One of the two arrays; those of a device by way of `piece`. */
struct side {
    const struct yp_case *t;
    const char *check;
    enum yp_number number;
    const void *array;
    struct yp_device *device; /* NULL: the host's memory */
    void *piece;              /* owned; NULL until one is copied */
};

enum { PIECE = 1 << 16 }; /* elements */

static void refuse(const struct yp_case *t, const char *check, const char *what)
{
    ypi_child_quit(t, YPI_CAUSE_USAGE, "check '%s': %s", check != NULL ? check : "", what);
}

/* `count` elements from `begin` on, PIECE at most; valid until the next call. */
static const void *elements(struct side *s, size_t begin, size_t count)
{
    size_t size = ypi_number_size(s->number);
    const char *from = (const char *)s->array + begin * size;
    if (s->device == NULL || yp_device_memory_kind(s->device) == YP_HOST)
        return from;
    if (s->piece == NULL)
        s->piece = ypi_calloc(PIECE, size);
    if (yp_device_copy(s->device, s->piece, from, count * size) != YP_OK)
        ypi_child_quit(s->t, YPI_CAUSE_DEVICE, "check '%s': %s", s->check, yp_last_error());
    return s->piece;
}

static double element(struct side *s, size_t index)
{
    return ypi_number_at(s->number, elements(s, index, 1), 0);
}

/* -- what is reported -------------------------------------------------------------------------- */

static void add_place(struct ypi_text *out, const struct yp_close *check, size_t index)
{
    if (check->columns > 0)
        ypi_text_add(out, "[%zu, %zu]", index / check->columns, index % check->columns);
    else
        ypi_text_add(out, "[%zu]", index);
}

static void add_off(struct ypi_text *out, const char *which, const struct yp_close *check,
                    const struct ypi_off *off)
{
    ypi_text_add(out, "%s ", which);
    add_place(out, check, off->index);
    ypi_text_add(out, " is %.9g, expected %.9g", off->got, off->want);
    if (!isfinite(off->by))
        return;
    ypi_text_add(out, " (off by %.3g", off->by);
    if (off->want != 0)
        ypi_text_add(out, ", %.3g of it", off->by / fabs(off->want));
    ypi_text_add(out, ", %.3g ulp)", off->by / ypi_number_unit(check->number, off->want));
}

static void add_bounds(struct ypi_text *out, const struct yp_close *check)
{
    const char *before = "; allowed: ";
    if (check->absolute > 0 || check->relative > 0) {
        ypi_text_add(out, "%s%.3g + %.3g |expected|", before, check->absolute, check->relative);
        before = " or ";
    }
    if (check->ulp > 0)
        ypi_text_add(out, "%s%.3g ulp", before, check->ulp);
    else if (check->absolute == 0 && check->relative == 0)
        ypi_text_add(out, "%s%s", before, check->nmse > 0 ? "no NaN and no infinity" : "equal");
}

static void add_row(struct ypi_text *out, const char *name, struct side *s, size_t begin,
                    size_t end, size_t marked)
{
    ypi_text_add(out, "\n    %-8s", name);
    for (size_t i = begin; i < end; i++)
        ypi_text_add(out, i == marked ? " (%.9g)" : " %.9g", element(s, i));
}

/* The row of elements around the first that is off. */
static void add_neighbours(struct ypi_text *out, const struct yp_close *check, struct side *got,
                           struct side *want, size_t index)
{
    size_t row = check->columns > 0 ? index - index % check->columns : 0;
    size_t row_end = check->columns > 0 ? row + check->columns : check->count;
    size_t begin = index - row > NEIGHBOURS ? index - NEIGHBOURS : row;
    size_t end = row_end < check->count ? row_end : check->count;
    end = end - index > NEIGHBOURS + 1 ? index + NEIGHBOURS + 1 : end;
    ypi_text_add(out, "\n    from ");
    add_place(out, check, begin);
    ypi_text_add(out, ":");
    add_row(out, "got", got, begin, end, index);
    add_row(out, "expected", want, begin, end, index);
}

static char *describe(const struct yp_close *check, const struct ypi_closeness *found,
                      struct side *got, struct side *want)
{
    struct ypi_text text = {0};
    double nmse = ypi_close_nmse(found);
    ypi_text_add(&text, "'%s': ", check->name);
    if (found->off > 0) {
        ypi_text_add(&text, "%zu of %zu elements off", found->off, found->count);
        if (found->not_finite > 0)
            ypi_text_add(&text, ", %zu of them NaN or infinite", found->not_finite);
        add_off(&text, ": the first,", check, &found->first);
        if (found->worst.index != found->first.index)
            add_off(&text, "; the worst,", check, &found->worst);
        add_bounds(&text, check);
    }
    if (check->nmse > 0 && !(nmse <= check->nmse))
        ypi_text_add(&text, "%sNMSE %.3g, allowed: %.3g", found->off > 0 ? "; " : "", nmse,
                     check->nmse);
    if (found->off > 0)
        add_neighbours(&text, check, got, want, found->first.index);
    return ypi_text_take(&text);
}

/* -- the check ----------------------------------------------------------------------------- */

static bool is_bound(double value)
{
    return value >= 0 && isfinite(value);
}

static void refuse_wrong(const struct yp_case *t, const struct yp_close *c)
{
    if (c->name == NULL || c->name[0] == '\0')
        refuse(t, c->name, "it has no name");
    if (ypi_number_size(c->number) == 0)
        refuse(t, c->name, ".number is none of enum yp_number");
    if (c->want_number != 0 && ypi_number_size(c->want_number) == 0)
        refuse(t, c->name, ".want_number is none of enum yp_number");
    if (c->count > 0 && (c->got == NULL || c->want == NULL))
        refuse(t, c->name, ".got or .want is NULL");
    if (!is_bound(c->absolute) || !is_bound(c->relative) || !is_bound(c->ulp) || !is_bound(c->nmse))
        refuse(t, c->name, "a bound is negative, infinite or NaN");
}

bool ypi_expect_close(struct yp_case *t, const char *file, int line, struct yp_close check)
{
    YPI_HEAP_OWN;
    refuse_wrong(t, &check);
    if (check.want_number == 0)
        check.want_number = check.number;
    struct side got = {.t = t,
                       .check = check.name,
                       .number = check.number,
                       .array = check.got,
                       .device = check.got_on};
    struct side want = {.t = t,
                        .check = check.name,
                        .number = check.want_number,
                        .array = check.want,
                        .device = check.want_on};
    struct ypi_closeness found = {.bounds = check};
    for (size_t begin = 0; begin < check.count; begin += PIECE) {
        size_t count = check.count - begin < PIECE ? check.count - begin : PIECE;
        ypi_close_add(&found, elements(&got, begin, count), elements(&want, begin, count), count);
    }
    bool held = ypi_close_holds(&found);
    if (!held) {
        locale_t before = ypi_numbers_with_point();
        char *text = describe(&check, &found, &got, &want);
        ypi_numbers_as_before(before);
        ypi_child_fail(t, YPI_CAUSE_EXPECTATION, file, line, "%s", text);
        free(text);
    }
    free(got.piece);
    free(want.piece);
    return held;
}
