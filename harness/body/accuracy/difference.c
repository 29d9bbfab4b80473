#include "harness/body/accuracy/difference.h"

#include "base/numbers/splitmix.h"
#include "base/numbers/sum.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

#define FIRST_STEP 1e-4
#define LARGEST_STEP 1e-2
#define SMALLEST_STEP 1e-6
#define ATTEMPTS 5
#define GOOD_ENOUGH 1e-7      /* a tenth of YP_GRADIENT_LIMIT */
#define COTANGENTS UINT64_MAX /* the purpose of their random stream; a tensor's is its index */

/* What f or the vjp leaves unwritten stays this NaN, and what is added to it keeps its bits. */
#define POISON_BITS UINT64_C(0x7ff8594950554e57)
#define SIGN_BIT (UINT64_C(1) << 63)

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool is_poison(double value)
{
    return (bits_of(value) & ~SIGN_BIT) == POISON_BITS;
}

static void poison(double *values, size_t count)
{
    const uint64_t bits = POISON_BITS;
    for (size_t i = 0; i < count; i++)
        memcpy(&values[i], &bits, sizeof bits);
}

/* With the guards on either side. */
static void poison_guarded(double *values, size_t count)
{
    poison(values - YPI_GUARD, count + 2 * YPI_GUARD);
}

static bool all_poison(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bits_of(values[i]) != POISON_BITS)
            return false;
    return true;
}

/* `not_finite` is the first of three findings: not finite, unwritten, outside. */
static bool written_well(struct ypi_gradient_work *work, const double *values, size_t count,
                         enum yp_gradient_finding not_finite)
{
    if (!all_poison(values - YPI_GUARD, YPI_GUARD) || !all_poison(values + count, YPI_GUARD)) {
        work->bad = not_finite + 2;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]))
            continue;
        work->bad = is_poison(values[i]) ? not_finite + 1 : not_finite;
        work->bad_index = i;
        return false;
    }
    return true;
}

bool ypi_all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

bool ypi_gradient_call(struct ypi_gradient_work *work, const double *x, double *y)
{
    poison_guarded(y, work->gradient->outputs);
    work->gradient->f(work->gradient->arg, x, y);
    return written_well(work, y, work->gradient->outputs, YP_GRADIENT_F_NOT_FINITE);
}

static double root_mean_square(const double *values, size_t count)
{
    struct ypi_norm norm = {0};
    for (size_t i = 0; i < count; i++)
        ypi_norm_add(&norm, values[i]);
    return ypi_norm_value(&norm) / sqrt((double)count);
}

/* The length of a move by `step` in tensor k. */
static double length_of(const struct ypi_gradient_work *work, size_t k, double step)
{
    const struct yp_tensor *tensor = &work->tensors[k];
    double rms = root_mean_square(work->gradient->x + tensor->offset, tensor->count);
    return step * (rms > 0 ? rms : 1) * sqrt((double)tensor->count);
}

/* Sets the slice of tensor k in `to` to x + h v. */
static void move(const struct ypi_gradient_work *work, size_t k, double h, double *to)
{
    const struct yp_tensor *tensor = &work->tensors[k];
    for (size_t i = 0; i < tensor->count; i++)
        to[tensor->offset + i] = work->gradient->x[tensor->offset + i] + h * work->v[i];
}

static void draw_direction(struct ypi_gradient_work *work, size_t k, int direction)
{
    size_t count = work->tensors[k].count;
    struct ypi_seed seed = ypi_seed_of(work->seed, (uint64_t)k, (uint64_t)direction);
    ypi_seed_normals(&seed, work->v, count);
    double length = root_mean_square(work->v, count) * sqrt((double)count);
    for (size_t i = 0; i < count; i++)
        work->v[i] /= length;
}

bool ypi_gradient_draw(struct ypi_gradient_work *work, int direction)
{
    const struct yp_gradient *gradient = work->gradient;
    struct ypi_seed seed = ypi_seed_of(work->seed, COTANGENTS, (uint64_t)direction);
    ypi_seed_normals(&seed, work->c, gradient->outputs);
    poison_guarded(work->g, gradient->inputs);
    gradient->vjp(gradient->arg, gradient->x, work->c, work->g);
    return written_well(work, work->g, gradient->inputs, YP_GRADIENT_VJP_NOT_FINITE);
}

/* Which outputs a tensor moves at all, seen from bits that differ. One that never does adds
 * nothing to any difference, and so no rounding either: a large output of another tensor must not
 * hide the derivative of a small one. */
static void note_dependences(struct ypi_gradient_work *work, size_t k, const double *y)
{
    unsigned char *depends = work->depends + k * work->row;
    for (size_t i = 0; i < work->gradient->outputs; i++) {
        if (y[i] != work->y[i]) {
            depends[i / 8] |= (unsigned char)(1u << i % 8);
            work->moves[k] = true;
        }
    }
}

/* By the largest move there will be. */
void ypi_gradient_dependences(struct ypi_gradient_work *work, size_t k)
{
    double given = work->gradient->step;
    double length = length_of(work, k, given > 0 ? given : LARGEST_STEP);
    draw_direction(work, k, 0);
    for (int sign = -1; sign <= 1; sign += 2) {
        move(work, k, sign * length, work->plus);
        ypi_gradient_call(work, work->plus, work->y_plus);
        note_dependences(work, k, work->y_plus);
    }
    move(work, k, 0, work->plus);
}

/* <c, y_plus - y_minus>: outputs are subtracted one by one, which is exact where they are close,
 * before anything is summed.
 *
 * `rounding` is what that may be off by. With e_i the error of output i, at most
 * YPI_OUTPUT_ROUNDING eps |y_i|, the sum is off by sum c_i (e_i+ - e_i-); the c_i are independent
 * normals that know nothing of the e_i, so its size is that of the root of the sum of squares,
 * sqrt(2) YPI_OUTPUT_ROUNDING eps ||c y||, however the e_i hang together. That is far more than a
 * standard deviation of it, as outputs are seldom off by 256 units; a sum of absolute values
 * would grow by sqrt(outputs) and hide what can be seen. */
static double change_of(const struct ypi_gradient_work *work, size_t k, const double *y_plus,
                        const double *y_minus, double *rounding)
{
    struct ypi_sum sum = {0};
    struct ypi_norm norm = {0};
    const unsigned char *depends = work->depends + k * work->row;
    for (size_t i = 0; i < work->gradient->outputs; i++) {
        ypi_sum_add(&sum, work->c[i] * (y_plus[i] - y_minus[i]));
        if (depends[i / 8] & 1u << i % 8)
            ypi_norm_add(&norm, work->c[i] * fmax(fabs(y_plus[i]), fabs(y_minus[i])));
    }
    *rounding = sqrt(2) * YPI_OUTPUT_ROUNDING * DBL_EPSILON * ypi_norm_value(&norm);
    return ypi_sum_value(&sum);
}

/* g (to - from) in tensor k, with the difference as it is in doubles and not as it was meant:
 * that takes the rounding of x + h v out of the comparison. */
static double predicted_change(const struct ypi_gradient_work *work, size_t k, const double *to,
                               const double *from)
{
    const struct yp_tensor *tensor = &work->tensors[k];
    struct ypi_sum sum = {0};
    for (size_t i = tensor->offset; i < tensor->offset + tensor->count; i++)
        ypi_sum_add(&sum, work->g[i] * (to[i] - from[i]));
    return ypi_sum_value(&sum);
}

/* The central difference over [-h, h], by f, by g, and the rounding of the first. */
static bool central(struct ypi_gradient_work *work, size_t k, double h, double *by_f, double *by_g,
                    double *rounding)
{
    move(work, k, h, work->plus);
    move(work, k, -h, work->minus);
    bool finite = ypi_gradient_call(work, work->plus, work->y_plus);
    finite = ypi_gradient_call(work, work->minus, work->y_minus) && finite;
    note_dependences(work, k, work->y_plus);
    note_dependences(work, k, work->y_minus);
    *by_f = change_of(work, k, work->y_plus, work->y_minus, rounding) / (2 * h);
    *by_g = predicted_change(work, k, work->plus, work->minus) / (2 * h);
    *rounding /= 2 * h;
    move(work, k, 0, work->plus);
    move(work, k, 0, work->minus);
    return finite && isfinite(*by_f) && isfinite(*by_g) && isfinite(*rounding);
}

/* Where no output moves, the derivative is 0 and g may be its own rounding: so little that a move
 * of x by its whole size would not move <c, y> by more than the rounding of the outputs. */
static double rounding_of_zero(const struct ypi_gradient_work *work, size_t k)
{
    struct ypi_norm norm = {0};
    for (size_t i = 0; i < work->gradient->outputs; i++)
        ypi_norm_add(&norm, work->c[i] * work->y[i]);
    return YPI_OUTPUT_ROUNDING * DBL_EPSILON * ypi_norm_value(&norm) / length_of(work, k, 1);
}

/* Richardson: the h^2 terms of the differences at h and h/2 cancel in (4 D(h/2) - D(h)) / 3, and
 * -h^4/480 of the fifth derivative is left. (D(h/2) - D(h)) / 3 is the term that was cancelled;
 * where f bends like a sine or an exponential, the one left is 1.2 times its square, relative to
 * the derivative: good enough to choose a step by. */
static struct ypi_difference difference_at(struct ypi_gradient_work *work, size_t k, double step)
{
    double h = length_of(work, k, step);
    double f1, g1, r1, f2, g2, r2;
    struct ypi_difference d = {.step = step};
    bool finite = central(work, k, h, &f1, &g1, &r1);
    d.finite = central(work, k, h / 2, &f2, &g2, &r2) && finite;
    d.bad = d.finite ? YP_GRADIENT_NOTHING : work->bad;
    d.bad_index = work->bad_index;
    d.expected = (4 * f2 - f1) / 3;
    d.got = (4 * g2 - g1) / 3;
    d.rounding = work->moves[k] ? (4 * r2 + r1) / 3 : rounding_of_zero(work, k);
    double cancelled = fabs(f2 - f1) / 3;
    d.truncation = cancelled;
    if (fabs(d.expected) > cancelled)
        d.truncation = fmin(cancelled, 1.2 * cancelled * (cancelled / fabs(d.expected)));
    return d;
}

/* Rounding falls as 1/h and truncation grows as h^4: their sum is least where the first is four
 * times the second. */
static double better_step(const struct ypi_difference *d)
{
    double factor = d->truncation > 0 ? pow(d->rounding / (4 * d->truncation), 0.2) : 32;
    factor = fmin(fmax(factor, 1.0 / 32), 32);
    return fmin(fmax(d->step * factor, SMALLEST_STEP), LARGEST_STEP);
}

/* Looks at `expected` and its errors only: a step chosen by how well g fits would forgive g. */
static struct ypi_difference best_difference(struct ypi_gradient_work *work, size_t k)
{
    double given = work->gradient->step;
    struct ypi_difference best = difference_at(work, k, given > 0 ? given : FIRST_STEP);
    if (given > 0 || !best.finite)
        return best;
    struct ypi_difference last = best;
    for (int attempt = 1; attempt < ATTEMPTS; attempt++) {
        if (best.rounding + best.truncation <= GOOD_ENOUGH * fabs(best.expected))
            break;
        double step = better_step(&last);
        if (fabs(step - last.step) <= 0.1 * last.step)
            break;
        last = difference_at(work, k, step);
        if (!last.finite || last.rounding + last.truncation >= best.rounding + best.truncation)
            break;
        best = last;
    }
    return best;
}

static void set_error(struct ypi_difference *d, double typical)
{
    double scale = fmax(fmax(fabs(d->expected), fabs(d->got)), typical);
    double excess = fabs(d->expected - d->got) - d->rounding;
    d->resolution = d->rounding > 0 ? d->rounding / scale : 0;
    d->error = !d->finite || !isfinite(scale) ? INFINITY : excess > 0 ? excess / scale : 0;
}

/* A disagreement may be truncation that its guess missed, where two differences are close by
 * chance. They are asked again at a sixteenth of the step, and that answer stands whichever it
 * is, unless its rounding is more than it may hide. */
static void look_again(struct ypi_gradient_work *work, size_t k, struct ypi_difference *d)
{
    if (work->gradient->step > 0 || !d->finite)
        return;
    struct ypi_difference again = difference_at(work, k, d->step / 16);
    if (again.finite && again.rounding <= GOOD_ENOUGH * fabs(again.expected))
        *d = again;
}

struct ypi_difference ypi_difference_of(struct ypi_gradient_work *work, size_t k, int direction)
{
    const struct yp_tensor *tensor = &work->tensors[k];
    draw_direction(work, k, direction);
    double typical = root_mean_square(work->g + tensor->offset, tensor->count);
    struct ypi_difference d = best_difference(work, k);
    set_error(&d, typical);
    if (d.error > GOOD_ENOUGH) {
        look_again(work, k, &d);
        set_error(&d, typical);
    }
    return d;
}

/* Least squares through the logarithms of the remainders at h, h/2, h/4, ...; only those that
 * stand clear of rounding count. */
static double fit_slope(const double *remainder, const double *floor, int count)
{
    int used = 0;
    double mean = 0;
    while (used < count && remainder[used] > floor[used])
        mean += log2(remainder[used++]);
    if (used < 3)
        return NAN;
    mean /= used;
    double above = 0, below = 0;
    for (int i = 0; i < used; i++) {
        double t = (used - 1) / 2.0 - i;
        above += t * (log2(remainder[i]) - mean);
        below += t * t;
    }
    return above / below;
}

/* Where the error was worst, once more: five steps from the one used down to its sixteenth. */
double ypi_gradient_slope(struct ypi_gradient_work *work)
{
    size_t k = work->worst_tensor;
    double remainder[5], floor[5];
    double h = length_of(work, k, work->worst_step);
    if (!ypi_gradient_draw(work, work->worst_direction))
        return NAN;
    draw_direction(work, k, work->worst_direction);
    for (int i = 0; i < 5; i++, h /= 2) {
        move(work, k, h, work->plus);
        if (!ypi_gradient_call(work, work->plus, work->y_plus))
            return NAN;
        double change = change_of(work, k, work->y_plus, work->y, &floor[i]);
        remainder[i] = fabs(change - predicted_change(work, k, work->plus, work->gradient->x));
    }
    return fit_slope(remainder, floor, 5);
}

/* Whether the low bits that only a double has are zero in all of them, and one is no short number
 * such as 0.5, which has them zero in either. */
static bool are_floats(const double *values, size_t count)
{
    const uint64_t of_double = (UINT64_C(1) << 29) - 1, low_of_float = UINT64_C(0xff) << 29;
    bool long_one = false;
    for (size_t i = 0; i < count; i++) {
        if ((bits_of(values[i]) & of_double) != 0)
            return false;
        long_one = long_one || (bits_of(values[i]) & low_of_float) != 0;
    }
    return long_one;
}

/* |D+ - D-| of the two one-sided differences over h, along the direction drawn last, and what of it
 * may be rounding. A smooth f has h |f''|, a kink at x the same for every h. */
static double gap_of(struct ypi_gradient_work *work, size_t k, double h, double *rounding)
{
    double above = 0, below = 0;
    move(work, k, h, work->plus);
    move(work, k, -h, work->minus);
    if (!ypi_gradient_call(work, work->plus, work->y_plus) ||
        !ypi_gradient_call(work, work->minus, work->y_minus))
        return NAN;
    double forward = change_of(work, k, work->y_plus, work->y, &above);
    double backward = change_of(work, k, work->y, work->y_minus, &below);
    *rounding = (above + below) / h;
    return fabs(forward - backward) / h;
}

enum yp_gradient_finding ypi_gradient_explain(struct ypi_gradient_work *work)
{
    size_t k = work->worst_tensor, outputs = work->gradient->outputs;
    double h = length_of(work, k, work->worst_step);
    if (!ypi_gradient_draw(work, work->worst_direction))
        return YP_GRADIENT_NOTHING;
    draw_direction(work, k, work->worst_direction);
    double of_wide = 0, of_near = 0;
    double wide = gap_of(work, k, h, &of_wide);
    if (are_floats(work->y, outputs) && are_floats(work->y_plus, outputs) &&
        are_floats(work->y_minus, outputs))
        return YP_GRADIENT_IN_FLOAT;
    double near = gap_of(work, k, h / 16, &of_near);
    bool kink = near > wide / 2 && near > 10 * of_near &&
                fabs(work->out->expected - work->out->got) <= near;
    return kink ? YP_GRADIENT_KINK : YP_GRADIENT_NOTHING;
}
