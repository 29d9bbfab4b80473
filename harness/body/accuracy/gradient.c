/* A vector-Jacobian product against differences; nothing here knows a running case. */
#include "base/heap/heap.h"
#include "harness/body/accuracy/difference.h"
#include "harness/body/accuracy/tensors.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTIONS 3

/* The end of the tensor that begins at `from`, or `from` itself. They do not overlap. */
static size_t end_of_tensor_at(const struct yp_gradient *gradient, size_t from)
{
    for (size_t k = 0; k < gradient->n_tensors; k++)
        if (gradient->tensors[k].offset == from)
            return from + gradient->tensors[k].count;
    return from;
}

static enum yp_status check_covered(const struct yp_gradient *gradient)
{
    size_t at = 0, end;
    while (at < gradient->inputs && (end = end_of_tensor_at(gradient, at)) > at)
        at = end;
    if (at == gradient->inputs)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "gradient \"%s\": x[%zu] of %zu is in none of the %zu tensors, so its "
                        "gradient would not be checked (.partial allows that)",
                        gradient->name, at, gradient->inputs, gradient->n_tensors);
}

static enum yp_status check_fields(const struct yp_gradient *gradient)
{
    if (gradient->name == NULL)
        return yp_set_error(YP_INVALID, "gradient: name is NULL");
    const char *missing = gradient->f == NULL      ? "f is NULL"
                          : gradient->vjp == NULL  ? "vjp is NULL"
                          : gradient->x == NULL    ? "x is NULL"
                          : gradient->inputs == 0  ? "inputs is 0"
                          : gradient->outputs == 0 ? "outputs is 0"
                                                   : NULL;
    if (missing != NULL)
        return yp_set_error(YP_INVALID, "gradient \"%s\": %s", gradient->name, missing);
    if (gradient->directions < 0)
        return yp_set_error(YP_INVALID, "gradient \"%s\": directions is %d, at least 0 is allowed",
                            gradient->name, gradient->directions);
    if (!(gradient->step >= 0 && gradient->step <= 1))
        return yp_set_error(YP_INVALID, "gradient \"%s\": step is %g, 0 to 1 is allowed",
                            gradient->name, gradient->step);
    enum yp_status status = ypi_check_tensors("gradient", gradient->name, gradient->tensors,
                                              gradient->n_tensors, "inputs", gradient->inputs);
    return status != YP_OK || gradient->n_tensors == 0 || gradient->partial
               ? status
               : check_covered(gradient);
}

static void check_direction(struct ypi_gradient_work *work, size_t k, int direction)
{
    struct ypi_gradient_result *out = work->out;
    struct ypi_difference d = ypi_difference_of(work, k, direction);
    if (out->checked == 0 || d.error > out->error) {
        out->error = d.error;
        out->tensor = work->tensors[k].name;
        out->expected = d.expected;
        out->got = d.got;
        work->worst_tensor = k;
        work->worst_direction = direction;
        work->worst_step = d.step;
        out->finding = d.bad;
        out->index = d.bad_index;
    }
    if (out->checked == 0 || d.resolution > out->resolution) {
        out->resolution = d.resolution;
        out->coarsest = work->tensors[k].name;
    }
    out->checked++;
}

static void not_finite(struct ypi_gradient_work *work, const char *tensor)
{
    work->out->error = INFINITY;
    work->out->tensor = tensor;
    work->out->finding = work->bad;
    work->out->index = work->bad_index;
}

static const char *tensor_not_finite(const struct ypi_gradient_work *work, const double *values)
{
    for (size_t k = 0; k < work->count; k++)
        if (!ypi_all_finite(values + work->tensors[k].offset, work->tensors[k].count))
            return work->tensors[k].name;
    return work->tensors[0].name;
}

static void check_directions(struct ypi_gradient_work *work)
{
    const struct yp_gradient *gradient = work->gradient;
    int directions = gradient->directions > 0 ? gradient->directions : DIRECTIONS;
    for (size_t k = 0; k < work->count; k++)
        ypi_gradient_dependences(work, k);
    for (int direction = 0; direction < directions; direction++) {
        if (!ypi_gradient_draw(work, direction)) {
            not_finite(work, tensor_not_finite(work, work->g));
            return;
        }
        for (size_t k = 0; k < work->count; k++)
            check_direction(work, k, direction);
    }
    if (!isfinite(work->out->error))
        return;
    work->out->slope = ypi_gradient_slope(work);
    if (work->out->error > YP_GRADIENT_LIMIT)
        work->out->finding = ypi_gradient_explain(work);
}

/* y = f(x), twice: a function that draws a new mask at each call has no gradient to check. */
static enum yp_status evaluate(struct ypi_gradient_work *work, bool *finite)
{
    const struct yp_gradient *gradient = work->gradient;
    *finite = ypi_gradient_call(work, gradient->x, work->y);
    for (size_t i = gradient->inputs; i > 0; i--) {
        if (!isfinite(gradient->x[i - 1])) {
            *finite = false;
            work->bad = YP_GRADIENT_X_NOT_FINITE;
            work->bad_index = i - 1;
        }
    }
    if (!*finite)
        return YP_OK;
    *finite = ypi_gradient_call(work, gradient->x, work->y_plus);
    for (size_t i = 0; *finite && i < gradient->outputs; i++) {
        double allowed = YPI_OUTPUT_ROUNDING * DBL_EPSILON * fabs(work->y[i]);
        if (!(fabs(work->y[i] - work->y_plus[i]) <= allowed))
            return yp_set_error(
                YP_INVALID,
                "gradient \"%s\": f gave y[%zu] = %.17g and then %.17g for the same "
                "x; it must be deterministic (freeze random masks)",
                gradient->name, i, work->y[i], work->y_plus[i]);
    }
    return YP_OK;
}

static enum yp_status run_check(struct ypi_gradient_work *work)
{
    const struct yp_gradient *gradient = work->gradient;
    bool finite;
    *work->out = (struct ypi_gradient_result){.tensor = work->tensors[0].name,
                                              .coarsest = work->tensors[0].name,
                                              .slope = NAN,
                                              .expected = NAN,
                                              .got = NAN};
    enum yp_status status = evaluate(work, &finite);
    if (status != YP_OK)
        return status;
    memcpy(work->plus, gradient->x, gradient->inputs * sizeof(double));
    memcpy(work->minus, gradient->x, gradient->inputs * sizeof(double));
    if (finite)
        check_directions(work);
    else
        not_finite(work, tensor_not_finite(work, gradient->x));
    return YP_OK;
}

enum yp_status ypi_gradient_error(const struct yp_gradient *gradient, uint64_t seed,
                                  struct ypi_gradient_result *out)
{
    if (gradient == NULL || out == NULL)
        return yp_set_error(YP_INVALID, "%s is NULL", gradient == NULL ? "gradient" : "out");
    enum yp_status status = check_fields(gradient);
    if (status != YP_OK)
        return status;

    size_t n = gradient->inputs, m = gradient->outputs;
    struct ypi_gradient_work work = {
        .gradient = gradient, .seed = seed, .out = out, .row = m / 8 + 1};
    work.whole = (struct yp_tensor){"x", 0, n};
    work.tensors = gradient->n_tensors > 0 ? gradient->tensors : &work.whole;
    work.count = gradient->n_tensors > 0 ? gradient->n_tensors : 1;

    /* The caller's functions, which are called in between, count as its own. */
    int *inside = ypi_heap_enter();
    bool countable = n <= SIZE_MAX / 64 && m <= SIZE_MAX / 64;
    /* Arrays in a row, guards in front of each and behind the last. */
    double *input_arrays =
        countable ? calloc(4 * (n + YPI_GUARD) + YPI_GUARD, sizeof(double)) : NULL;
    double *output_arrays =
        countable ? calloc(4 * (m + YPI_GUARD) + YPI_GUARD, sizeof(double)) : NULL;
    work.depends = countable ? calloc(work.count, work.row) : NULL;
    work.moves = calloc(work.count, sizeof *work.moves);
    if (input_arrays == NULL || output_arrays == NULL || work.depends == NULL ||
        work.moves == NULL) {
        status = yp_set_error(YP_OUT_OF_MEMORY, "gradient \"%s\": %zu inputs and %zu outputs",
                              gradient->name, n, m);
    } else {
        work.g = input_arrays + YPI_GUARD;
        work.v = work.g + n + YPI_GUARD;
        work.plus = work.v + n + YPI_GUARD;
        work.minus = work.plus + n + YPI_GUARD;
        work.y = output_arrays + YPI_GUARD;
        work.y_plus = work.y + m + YPI_GUARD;
        work.y_minus = work.y_plus + m + YPI_GUARD;
        work.c = work.y_minus + m + YPI_GUARD;
        ypi_heap_leave(&inside);
        status = run_check(&work);
        inside = ypi_heap_enter();
    }
    free(input_arrays);
    free(output_arrays);
    free(work.depends);
    free(work.moves);
    ypi_heap_leave(&inside);
    return status;
}
