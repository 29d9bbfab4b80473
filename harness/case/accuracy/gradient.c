/* A vector-Jacobian product against differences; nothing here knows a running case. */
#include "harness/case/accuracy/difference.h"
#include "harness/case/accuracy/tensors.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTIONS 3

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
    return ypi_check_tensors("gradient", gradient->name, gradient->tensors, gradient->n_tensors,
                             "inputs", gradient->inputs);
}

static void check_direction(struct ypi_gradient_work *work, size_t k, int direction)
{
    struct yp_gradient_result *out = work->out;
    struct ypi_difference d = ypi_difference_of(work, k, direction);
    if (out->checked == 0 || d.error > out->error) {
        out->error = d.error;
        out->tensor = work->tensors[k].name;
        out->expected = d.expected;
        out->got = d.got;
        work->worst_tensor = k;
        work->worst_direction = direction;
        work->worst_step = d.step;
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
    if (isfinite(work->out->error))
        work->out->slope = ypi_gradient_slope(work);
}

/* y = f(x), twice: a function that draws a new mask at each call has no gradient to check. */
static enum yp_status evaluate(struct ypi_gradient_work *work, bool *finite)
{
    const struct yp_gradient *gradient = work->gradient;
    *finite = ypi_gradient_call(work, gradient->x, work->y) &&
              ypi_all_finite(gradient->x, gradient->inputs);
    ypi_gradient_call(work, gradient->x, work->y_plus);
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
    *work->out = (struct yp_gradient_result){.tensor = work->tensors[0].name,
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

enum yp_status yp_gradient_error(const struct yp_gradient *gradient, uint64_t seed,
                                 struct yp_gradient_result *out)
{
    if (gradient == NULL || out == NULL)
        return yp_set_error(YP_INVALID, "%s is NULL", gradient == NULL ? "gradient" : "out");
    enum yp_status status = check_fields(gradient);
    if (status != YP_OK)
        return status;

    size_t n = gradient->inputs, m = gradient->outputs;
    struct ypi_gradient_work work = {
        .gradient = gradient, .seed = seed, .out = out, .row = (m + 7) / 8};
    work.whole = (struct yp_tensor){"x", 0, n};
    work.tensors = gradient->n_tensors > 0 ? gradient->tensors : &work.whole;
    work.count = gradient->n_tensors > 0 ? gradient->n_tensors : 1;

    bool countable = n <= SIZE_MAX / 64 && m <= SIZE_MAX / 64;
    double *input_arrays = countable ? calloc(n, 4 * sizeof(double)) : NULL;
    double *output_arrays = countable ? calloc(m, 4 * sizeof(double)) : NULL;
    work.depends = countable ? calloc(work.count, work.row) : NULL;
    work.moves = calloc(work.count, sizeof *work.moves);
    if (input_arrays == NULL || output_arrays == NULL || work.depends == NULL ||
        work.moves == NULL) {
        status = yp_set_error(YP_OUT_OF_MEMORY, "gradient \"%s\": %zu inputs and %zu outputs",
                              gradient->name, n, m);
    } else {
        work.g = input_arrays;
        work.v = work.g + n;
        work.plus = work.v + n;
        work.minus = work.plus + n;
        work.y = output_arrays;
        work.y_plus = work.y + m;
        work.y_minus = work.y_plus + m;
        work.c = work.y_minus + m;
        status = run_check(&work);
    }
    free(input_arrays);
    free(output_arrays);
    free(work.depends);
    free(work.moves);
    return status;
}
