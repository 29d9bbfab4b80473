/* Mixtures of paths where their numbers are at their ends: correlations near 1 and -1, deviations
 * at both bounds, targets far off, modes that are all but impossible. In long double by the formula
 * as it is written, gradients by differences. */
#include "models/nn/draw.h"
#include "models/nn/types.h"
#include "suites/operators.h"
#include "suites/worst.h"

#include "base/numbers/splitmix.h"

#include <math.h>

enum { P, LOGIT, TARGET, LOSS, SHARE };
enum { NODES = 200, STEPS = 2, MOST = 5 };

static const double deviations[] = {0.01, 0.02, 0.3, 4, 10};
static const double correlations[] = {-1, -0.9999999, -0.999, -0.6, 0, 0.6, 0.9999, 1};
static const double distances[] = {-6, -1, -1e-3, 0, 1e-2, 0.7, 4};
static const double logits[] = {-90, -20, -1, 0, 0.5, 30};

#define ANY(list_, seed_) any(list_, sizeof(list_) / sizeof *(list_), seed_)
static double any(const double *list, size_t count, struct ypi_seed *seed)
{
    return list[(size_t)(ypi_seed_uniform(seed) * (double)count)];
}

static void set(struct nn_point *p, struct yp_case *t, int i, size_t at, double value)
{
    const enum nn_type type = nn_value_type(p->op, p->version, i);
    const float rounded = nn_round(value, type);
    union {
        float wide;
        uint16_t narrow;
    } element;
    nn_put(&element, 0, rounded, type);
    ((double *)p->oracle.value[i])[at] = (double)rounded;
    ((float *)p->plain.value[i])[at] = rounded;
    const size_t bytes = nn_type_bytes(type);
    yp_ok(t, yp_device_copy(yp_device(t), (char *)p->fast.value[i] + at * bytes, &element, bytes));
}

/* A single mode is anywhere, and at first on the long axis of a thin one. Several have shares that
 * float tells: no density's logarithm is large.
 */
static void draw(struct nn_point *p, struct yp_case *t, size_t modes)
{
    struct ypi_seed seed = ypi_seed_of(0, 77, modes);
    for (size_t i = 0; i < (size_t)NODES * STEPS * 2; i++)
        set(p, t, TARGET, i, 0.25 * floor(8 * ypi_seed_uniform(&seed)));
    for (size_t i = 0; i < NODES * modes; i++)
        set(p, t, LOGIT, i, ANY(logits, &seed));
    for (size_t i = 0; i < NODES * modes * STEPS; i++) {
        const size_t step = i / modes / STEPS * STEPS + i % STEPS;
        const double *target = (double *)p->oracle.value[TARGET] + 2 * step;
        const bool single = modes == 1, along = single && i < NODES / 4;
        const double x = ANY(distances, &seed), y = ANY(distances, &seed);
        const double a = ANY(deviations, &seed), b = ANY(deviations, &seed);
        const double near = 1 - ypi_seed_uniform(&seed) / 2, r = ANY(correlations, &seed);
        set(p, t, P, 5 * i, target[0] + (single ? x : x / 50));
        set(p, t, P, 5 * i + 1, target[1] + (along ? x : single ? y : y / 50));
        set(p, t, P, 5 * i + 2, along ? 0.25 : single ? a : near);
        set(p, t, P, 5 * i + 3, along ? 0.25 : single ? b : 1.5 - near);
        set(p, t, P, 5 * i + 4, along ? 0.9999999 : single ? r : 1.6 * near - 1.2);
    }
}

/* Of one node. Squares are taken as they lose nothing: so small steps are seen beside 10^13. */
static long double loss_of(const long double *p, const long double *logit,
                           const long double *target, size_t modes)
{
    const long double ridge = 1e-6L;
    long double all = 0, sum = 0, term[MOST], most = -HUGE_VALL;
    for (size_t i = 0; i < modes; i++)
        all += expl(logit[i]);
    for (size_t i = 0; i < modes; i++) {
        term[i] = logl(expl(logit[i]) / all + ridge);
        for (size_t s = 0; s < STEPS; s++, p += 5) {
            const long double u = (target[2 * s] - p[0]) / p[2];
            const long double v = (target[2 * s + 1] - p[1]) / p[3], r = p[4],
                              q = 1 - r * r + ridge;
            const long double square = (u - r * v) * (u - r * v) + (1 - r * r) * v * v;
            term[i] -= square / q / 2 + logl(p[2]) + logl(p[3]) + logl(q) / 2 + logl(2 * acosl(-1));
        }
        most = fmaxl(most, term[i]);
    }
    for (size_t i = 0; i < modes; i++)
        sum += expl(term[i] - most);
    return -most - logl(sum);
}

/* A node's numbers in long double. */
struct node {
    long double p[MOST * STEPS * 5], logit[MOST], target[STEPS * 2];
};

/* Off by how much of the gradient of one tensor of a node, or of `least`, by differences. */
static double off_by(struct node *node, long double *values, const double *got, size_t count,
                     size_t modes, double cotangent, double least)
{
    long double off = 0, norm = (long double)least * least + 1e-30L;
    for (size_t i = 0; i < count; i++) {
        const long double at = values[i], size = fmaxl(fabsl(at), 0.1L);
        const long double h = modes > 1 ? 1e-7L : 1e-10L * size;
        long double sides[2], slope;
        for (int side = 0; side < 2; side++) {
            values[i] = side == 0 ? at - h : at + h;
            sides[side] = loss_of(node->p, node->logit, node->target, modes);
        }
        values[i] = at;
        slope = cotangent * (sides[1] - sides[0]) / (2 * h);
        off += (slope - got[i]) * (slope - got[i]);
        norm += slope * slope;
    }
    return (double)sqrtl(off / norm);
}

/* Gradients may be next to nothing where a mode is all but certain, or where those of means cancel;
 * their terms are not. */
static double least_of(const struct nn_point *p, int tensor, size_t node, size_t modes)
{
    const size_t each = modes * STEPS * 5;
    const double *dp = (const double *)p->oracle.gradient[P] + node * each;
    double squares = 0;
    for (size_t i = 0; i < each; i++)
        squares += i % 5 < 2 ? dp[i] * dp[i] : 0;
    return tensor == LOGIT ? 1e-3 : tensor == TARGET ? 1e-2 * sqrt(squares) : 0;
}

static void read_node(const struct nn_point *p, size_t n, size_t modes, struct node *node)
{
    for (size_t i = 0; i < modes * STEPS * 5; i++)
        node->p[i] = ((const double *)p->oracle.value[P])[n * modes * STEPS * 5 + i];
    for (size_t i = 0; i < modes; i++)
        node->logit[i] = ((const double *)p->oracle.value[LOGIT])[n * modes + i];
    for (size_t i = 0; i < (size_t)STEPS * 2; i++)
        node->target[i] = ((const double *)p->oracle.value[TARGET])[n * STEPS * 2 + i];
}

/* The largest over nodes of what a version's results are off the oracle's. */
static double worst_of(const struct nn_point *p, enum nn_pass pass, int tensor, size_t modes)
{
    const double *right = pass == NN_VJP ? p->oracle.gradient[tensor] : p->oracle.value[tensor];
    const size_t each = nn_count(p->op, &p->op->tensors[tensor], p->shape) / NODES;
    double worst = 0;
    for (size_t n = 0; n < NODES; n++) {
        const double least = least_of(p, tensor, n, modes);
        double off = 0, norm = least * least + 1e-30;
        for (size_t i = n * each; i < (n + 1) * each; i++) {
            off += pow((double)p->got[tensor][i] - right[i], 2);
            norm += right[i] * right[i];
        }
        worst = worse(worst, sqrt(off / norm));
    }
    return worst;
}

static void check_oracle(struct yp_case *t, const struct nn_point *p, size_t modes)
{
    const double *loss = p->oracle.value[LOSS], *c = p->oracle.gradient[LOSS];
    for (size_t n = 0; n < NODES; n++) {
        struct node node;
        const double *dp = (double *)p->oracle.gradient[P] + n * modes * STEPS * 5;
        const double *dlogit = (double *)p->oracle.gradient[LOGIT] + n * modes;
        const double *dtarget = (double *)p->oracle.gradient[TARGET] + n * STEPS * 2;
        read_node(p, n, modes, &node);
        const long double right = loss_of(node.p, node.logit, node.target, modes);
        yp_expect(t, fabsl(right - loss[n]) <= 1e-9L * (20 + fabsl(right)), "node %zu: %g, not %Lg",
                  n, loss[n], right);
        long double *const values[] = {node.p, node.logit, node.target};
        const double *const got[] = {dp, dlogit, dtarget};
        const size_t counts[] = {modes * STEPS * 5, modes > 1 ? modes : 0, (size_t)STEPS * 2};
        for (int i = P; i <= TARGET; i++) {
            const double off =
                off_by(&node, values[i], got[i], counts[i], modes, c[n], least_of(p, i, n, modes));
            yp_expect(t, off <= 1e-5, "node %zu: d%s is off by %g", n, p->op->tensors[i].name, off);
        }
    }
}

YP_TEST(mixtures, ends, .tags = "stress small", .devices = "cpu cuda", .parallel = true,
        .filter = operators_has,
        .axes = YP_AXES(yp_axis_string("operator", "mixture_nll"), yp_axis_string("shape", "odd"),
                        yp_axis_from("precision", operators_precisions, NULL),
                        yp_axis_int("modes", 1, 5)))
{
    const size_t modes = (size_t)yp_int(t, "modes");
    const struct nn_shape shape = {"ends", .size = {NODES, modes, STEPS, 5, 2},
                                   .setting = {1e-6, 1e-6}};
    struct nn_point *p = operators_point_at(t, &nn_mixture_nll, &shape);
    draw(p, t, modes);
    nn_point_plain(p, NN_FORWARD);
    nn_point_plain(p, NN_VJP);
    check_oracle(t, p, modes);
    for (int pass = NN_FORWARD; pass <= (int)NN_VJP; pass++) {
        yp_ok(t, nn_point_fast(p, (enum nn_pass)pass));
        yp_ok(t, yp_device_synchronize(yp_device(t)));
        yp_ok(t, nn_point_fetch(p, (enum nn_pass)pass));
        for (int i = P; i <= LOSS; i++) {
            if (!nn_point_written(p, (enum nn_pass)pass, i) || (i == LOGIT && modes == 1))
                continue;
            const double off = worst_of(p, (enum nn_pass)pass, i, modes);
            yp_value(t, p->op->tensors[i].name, off);
            const enum nn_type type =
                pass == NN_VJP ? nn_gradient_type(p->op, p->version, i) : NN_FLOAT;
            const double bound = type == NN_BFLOAT16 ? 5e-3 : type == NN_FLOAT16 ? 5e-3 / 8 : 1e-4;
            yp_expect(t, off <= bound, "%s is off by %g", p->op->tensors[i].name, off);
        }
    }
    nn_point_destroy(p);
}
