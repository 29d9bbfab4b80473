/* Every entry of the operator table: well formed, its gradient that of its formula and no mutant of
 * it, its fast versions as exact as promised, on any number of threads, within their memory. */
#include "tests/unit/nn/checks.h"

#include "models/nn/convert.h"
#include "models/nn/draw.h"
#include "models/nn/maths.h"
#include "models/nn/operators/rope.h"
#include "models/nn/types.h"

#include "base/numbers/splitmix.h"
#include <omp.h>

#define EACH(op) \
    for (size_t op##_ = 0; op##_ == 0; op##_ = 1) \
        for (const struct nn_operator *const *at = nn_operators, *op = *at; *at != NULL; op = *++at)
#define EACH_WITH_VJP(op) \
    EACH(op) \
    if (nn_last_pass(op) == NN_VJP)

/* The version for the CPU that every entry begins with. */
static const struct nn_version *of_cpu(const struct nn_operator *op)
{
    return nn_version(op, "cpu", op->versions[0].precision);
}

/* -- entries ----------------------------------------------------------------------------------- */

static void check_tensor(const struct nn_operator *op, int i)
{
    const struct nn_tensor *tensor = &op->tensors[i];
    for (const char *letter = tensor->dims; *letter != '\0'; letter++)
        cr_expect(strchr(op->dims, *letter) != NULL, "%s: %s has a size '%c'", op->name,
                  tensor->name, *letter);
    for (int k = 0; k < i; k++)
        cr_expect(strcmp(op->tensors[k].name, tensor->name) != 0, "%s: %s twice", op->name,
                  tensor->name);
    cr_expect(!nn_is_drawn(tensor) || i == 0 || nn_is_drawn(&op->tensors[i - 1]),
              "%s: input %s stands behind an output", op->name, tensor->name);
    cr_expect(tensor->type == NN_REAL || tensor->role == NN_CONSTANT,
              "%s: %s is whole and no constant", op->name, tensor->name);
    cr_expect(tensor->domain.below == 0 || strchr(op->dims, tensor->domain.below) != NULL);
    cr_expect(tensor->domain.margin == 0 || op->kinks != NULL,
              "%s: %s keeps off a kink that has no words", op->name, tensor->name);
}

Test(nn_operators, entries_are_complete)
{
    static const char *const shapes[] = {"one", "odd", "small", "medium"};
    EACH(op)
    {
        cr_expect_eq(nn_operator(op->name), op);
        bool trained = false;
        for (int i = 0; i < nn_tensors(op); i++) {
            check_tensor(op, i);
            trained = trained || nn_has_gradient(&op->tensors[i]);
        }
        cr_expect(op->oracle != NULL && op->plain != NULL && op->flops != NULL);
        cr_expect((op->oracle_vjp != NULL) == trained && (op->plain_vjp != NULL) == trained,
                  "%s: what has a gradient has its formula", op->name);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const struct nn_shape *shape = nn_shape(op, shapes[i]);
            cr_assert_not_null(shape, "%s", yp_last_error());
            for (size_t k = 0; k < strlen(op->dims); k++)
                cr_expect(shape->size[k] >= 1 && (i > 0 || shape->size[k] <= 2), "%s %s", op->name,
                          shapes[i]);
            for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(op); pass++) {
                cr_expect_gt(op->flops(shape, (enum nn_pass)pass), 0);
                cr_expect_gt(nn_bytes_moved(op, shape, (enum nn_pass)pass, &op->versions[0]), 0);
            }
        }
        for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
            cr_expect(op->versions[i].types == NULL ||
                          strlen(op->versions[i].types) == (size_t)nn_tensors(op),
                      "%s: a letter a tensor", op->name);
        cr_expect_not_null(of_cpu(op), "%s", yp_last_error());
    }
}

Test(nn_operators, what_is_not_there_is_named)
{
    cr_expect_null(nn_operator("no such"));
    cr_expect_not_null(strstr(yp_last_error(), "'no such' is not in the table"));
    cr_expect_null(nn_shape(&nn_matmul, "huge"));
    cr_expect_not_null(strstr(yp_last_error(), "matmul has no shape 'huge'"));
    cr_expect_null(nn_version(&nn_matmul, "cuda", NN_INT8));
    cr_expect_not_null(strstr(yp_last_error(), "matmul has no version in int8 for cuda"));
    cr_expect_eq(yp_last_status(), YP_UNSUPPORTED);
}

Test(nn_operators, work_is_counted)
{
    const struct nn_shape *shape = nn_shape(&nn_matmul, "odd"); /* (5, 3) by (3, 7) */
    const struct nn_version *fp32 = nn_version(&nn_matmul, "cpu", NN_FP32);
    const struct nn_version *bf16 = nn_version(&nn_matmul, "cpu", NN_BF16);
    cr_expect_eq(nn_matmul.flops(shape, NN_FORWARD), 210);
    cr_expect_eq(nn_matmul.flops(shape, NN_VJP), 420);
    cr_expect_eq(nn_bytes_moved(&nn_matmul, shape, NN_FORWARD, fp32), 4 * (15 + 21 + 35));
    cr_expect_eq(nn_bytes_moved(&nn_matmul, shape, NN_VJP, fp32), 4 * (15 + 21 + 35 + 15 + 21));
    cr_expect_eq(nn_bytes_moved(&nn_matmul, shape, NN_FORWARD, bf16), 2 * (15 + 21) + 4 * 35);
    cr_expect_eq(nn_bytes_moved(&nn_bce, nn_shape(&nn_bce, "odd"), NN_FORWARD, fp32),
                 37 * (4 + 1 + 4));
}

Test(nn_operators, bf16_is_rounded_to_the_nearest)
{
    cr_expect_eq(nn_from_bf16(nn_to_bf16(1.0f)), 1.0f);
    cr_expect_eq(nn_to_bf16(1 + 0x1p-8f), nn_to_bf16(1.0f)); /* a tie goes to the even one */
    cr_expect_eq(nn_from_bf16(nn_to_bf16(1 + 3 * 0x1p-8f)), 1 + 0x1p-6f);
    cr_expect_eq(nn_from_bf16(nn_to_bf16(1 + 0x1p-8f + 0x1p-20f)), 1 + 0x1p-7f);
    cr_expect(isinf(nn_from_bf16(nn_to_bf16(3.4e38f))));
    cr_expect(isnan(nn_from_bf16(nn_to_bf16(NAN))));
    cr_expect_eq(nn_from_bf16(nn_to_bf16(-INFINITY)), -INFINITY);
}

/* Value `bits` of binary16, in double; the one behind the last is where it becomes infinite. */
static double half_value(unsigned bits)
{
    unsigned exponent = bits >> 10, digits = bits & 1023;
    return exponent == 0 ? ldexp(digits, -24) : ldexp(1024 + digits, (int)exponent - 25);
}

/* Every value, what lies between it and the next, and on both sides of the middle. */
Test(nn_operators, fp16_is_rounded_to_the_nearest)
{
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        double value = half_value(bits), next = half_value(bits + 1);
        float middle = (float)((value + next) / 2);
        float up = bits == 0x7bff ? INFINITY : (float)next,
              even = bits % 2 == 0 ? (float)value : up;
        cr_assert_eq(nn_as_fp16((float)value), (float)value, "%a", value);
        cr_assert_eq(nn_as_fp16(middle), even, "%a", (double)middle);
        cr_assert_eq(nn_as_fp16(nextafterf(middle, 0)), (float)value, "below %a", (double)middle);
        cr_assert_eq(nn_as_fp16(nextafterf(middle, INFINITY)), up, "above %a", (double)middle);
        cr_assert_eq(nn_as_fp16(-middle), -even, "%a", -(double)middle);
    }
    const float odd[] = {1e-30F, 3.4e38F, INFINITY, NAN, -0.0F, 0x1p-149F};
    float out[6], other[6];
    nn_round_fp16(odd, 6, out);
    nn_round_bf16(odd, 6, other);
    cr_expect(out[0] == 0 && isinf(out[1]) && isinf(out[2]) && isnan(out[3]) && signbit(out[4]) &&
              out[5] == 0);
    cr_expect(other[0] == nn_from_bf16(nn_to_bf16(1e-30F)) && isinf(other[1]) && isnan(other[3]));
}

Test(nn_operators, elementary_functions_are_within_their_bounds)
{
    for (int i = -870000; i <= 880000; i += 7) {
        float x = (float)i * 1e-4f;
        cr_assert_leq(fabs((double)nn_exp(x) / exp((double)x) - 1), 0x1p-22, "e^%g", (double)x);
    }
    for (int i = 1; i <= 1000000; i += 3) {
        float u = (float)i * 1e-6f;
        cr_assert_leq(fabs((double)nn_log1p_unit(u) / log1p((double)u) - 1), 0x1p-22, "%g",
                      (double)u);
    }
    cr_expect_eq(nn_log1p_unit(0), 0);
    cr_expect_eq(nn_exp(0), 1);
    cr_expect(isnan(nn_exp(NAN)));
    cr_expect_eq(nn_exp(-1000), nn_exp(-87));
    cr_expect_eq(nn_exp(1000), nn_exp(88));
}

/* Position 0 is not turned, and pair i of position 1 by theta^(-i / p). */
Test(nn_operators, angles_are_those_of_rotary_positions)
{
    double cosine[6], sine[6];
    nn_rope_angles(3, 2, 10000, cosine, sine);
    cr_expect(cosine[0] == 1 && cosine[1] == 1 && sine[0] == 0 && sine[1] == 0);
    cr_expect_float_eq(cosine[2], cos(1), 1e-15);
    cr_expect_float_eq(sine[3], sin(0.01), 1e-15);
    cr_expect_float_eq(sine[4], sin(2), 1e-15);
}

/* -- inputs ------------------------------------------------------------------------------------ */

static void check_domain(const struct nn_point *p, int i)
{
    const struct nn_domain *d = &p->op->tensors[i].domain;
    size_t count = nn_count(p->op, &p->op->tensors[i], p->shape);
    const float *value = p->plain.value[i];
    double sum = 0;
    for (size_t k = 0; k < count && p->op->tensors[i].type == NN_REAL; k++) {
        double v = (double)value[k];
        double low = d->draw == NN_BELL ? d->low - 3.5 * (d->high != 0 ? d->high : 1) : d->low;
        double high = d->draw == NN_BELL ? d->low + 3.5 * (d->high != 0 ? d->high : 1) : d->high;
        cr_expect(v >= low && v <= high, "%s: %s is %g", p->op->name, p->op->tensors[i].name, v);
        cr_expect(d->margin == 0 || fabs(v - d->kink) >= d->margin * 0.99);
        sum += v;
    }
    if (count > 1000 && d->draw == NN_BELL && p->op->tensors[i].type == NN_REAL)
        cr_expect_lt(fabs(sum / (double)count - d->low), 5 * (d->high + 1) / sqrt((double)count));
}

Test(nn_operators, inputs_are_of_their_domains_and_of_the_seed_alone)
{
    EACH(op)
    {
        const struct nn_version *version = of_cpu(op);
        struct nn_point *p = point_of(op, "small", version, 3), *q = point_of(op, "small", NULL, 3);
        struct nn_point *other = point_of(op, "small", NULL, 4);
        for (int i = 0; i < nn_tensors(op); i++)
            if (nn_is_drawn(&op->tensors[i]))
                check_domain(p, i);
        cr_expect_eq(nn_point_hash(p), nn_point_hash(q), "%s", op->name);
        cr_expect_neq(nn_point_hash(p), nn_point_hash(other), "%s", op->name);
        nn_point_destroy(p);
        nn_point_destroy(q);
        nn_point_destroy(other);
    }
}

/* -- gradients --------------------------------------------------------------------------------- */

Test(nn_operators, gradients_are_those_of_the_formula_and_no_mutants)
{
    EACH_WITH_VJP(op)
    {
        int one = check_gradient(op, "one"), odd = check_gradient(op, "odd");
        cr_expect_geq(one, 3, "%s: %d mutants", op->name, one);
        cr_expect_geq(odd, 6, "%s: %d mutants", op->name, odd);
    }
}

/* Two tensors' gradients in each other's place, where they have the same size. */
static void swapped_vjp(void *arg, const double *x, const double *cotangent, double *g)
{
    const struct mutated *m = arg;
    m->right.vjp(m->right.arg, x, cotangent, g);
    for (size_t i = 0; i < m->part.count; i++) {
        double swapped = g[m->part.offset + i];
        size_t other = (size_t)m->tensor + i;
        g[m->part.offset + i] = g[other];
        g[other] = swapped;
    }
}

Test(nn_operators, gradients_in_each_others_place_are_found)
{
    int pairs = 0;
    EACH_WITH_VJP(op)
    {
        struct nn_point *p = point_of(op, "odd", NULL, 5);
        struct mutated m = {.point = p};
        struct yp_gradient_result result;
        nn_point_gradient(p, &m.right);
        struct yp_gradient check = m.right;
        check.f = mutated_f;
        check.vjp = swapped_vjp;
        check.arg = &m;
        for (int i = 0; i < nn_tensors(op) && !op->passes; i++) /* there they are the same */
            for (int k = 0; k < i; k++) {
                if (!nn_has_gradient(&op->tensors[i]) || !nn_has_gradient(&op->tensors[k]))
                    continue;
                m.part = slice(p, i);
                m.tensor = (int)slice(p, k).offset;
                if (m.part.count != slice(p, k).count)
                    continue;
                pairs++;
                OK(yp_gradient_error(&check, 1, &result));
                cr_expect_gt(result.error, 1e-6, "%s: %s for %s", op->name, op->tensors[i].name,
                             op->tensors[k].name);
            }
        nn_point_destroy(p);
    }
    cr_expect_geq(pairs, 3);
}

/* -- fast versions ----------------------------------------------------------------------------- */

Test(nn_operators, fast_versions_are_as_exact_as_promised)
{
    const char *more = getenv("NN_SEEDS");
    uint64_t seeds = more != NULL ? strtoull(more, NULL, 10) : 3;
    EACH(op)
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        for (int k = 0; k < 3 && strcmp(op->versions[i].device, "cpu") == 0; k++)
            for (uint64_t seed = 0; seed < seeds; seed++)
                check_precision(op, &op->versions[i], op->shapes[k].name, seed);
}

/* All results of both passes, tensor by tensor; *results, to be freed, has as many floats. */
static size_t results(struct nn_point *p, float **results)
{
    size_t n = 0;
    for (int i = 0; i < nn_tensors(p->op); i++)
        n += 2 * nn_count(p->op, &p->op->tensors[i], p->shape);
    float *out = *results = malloc((n + 1) * sizeof *out);
    n = 0;
    for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(p->op); pass++) {
        OK(nn_point_fast(p, (enum nn_pass)pass));
        OK(nn_point_fetch(p, (enum nn_pass)pass));
        for (int i = 0; i < nn_tensors(p->op); i++)
            if (nn_point_written(p, (enum nn_pass)pass, i)) {
                size_t count = nn_count(p->op, &p->op->tensors[i], p->shape);
                memcpy(out + n, p->got[i], count * sizeof *out);
                n += count;
            }
    }
    return n;
}

/* Twice on as many threads; OpenBLAS divides a product otherwise on one thread than on two. */
Test(nn_operators, the_same_threads_give_the_same_bits)
{
    EACH(op)
    for (int i = 0; i < 2 * NN_VERSIONS && op->versions[i / 2].device != NULL; i++) {
        if (strcmp(op->versions[i / 2].device, "cpu") != 0)
            continue;
        float *all[2];
        size_t n = 0;
        omp_set_num_threads(1 + i % 2);
        for (int k = 0; k < 2; k++) {
            struct nn_point *p = point_of(op, "small", &op->versions[i / 2], 7);
            n = results(p, &all[k]);
            nn_point_destroy(p);
        }
        cr_expect_eq(memcmp(all[0], all[1], n * sizeof(float)), 0, "%s in %s", op->name,
                     nn_precision_name(op->versions[i / 2].precision));
        free(all[0]);
        free(all[1]);
    }
}

/* A gradient that nobody wants is left out, and the others are the same bits. */
Test(nn_operators, gradients_that_are_not_wanted_are_left_out)
{
    EACH_WITH_VJP(op)
    {
        const struct nn_version *version = of_cpu(op);
        struct nn_point *p = point_of(op, "odd", version, 7);
        OK(nn_point_fast(p, NN_VJP));
        OK(nn_point_fetch(p, NN_VJP));
        for (int i = 0; i < nn_tensors(op); i++) {
            if (!nn_has_gradient(&op->tensors[i]))
                continue;
            struct nn_point *q = point_of(op, "odd", version, 7);
            void *left_out = q->fast.gradient[i];
            q->fast.gradient[i] = NULL;
            OK(nn_point_fast(q, NN_VJP));
            q->fast.gradient[i] = left_out;
            OK(nn_point_fetch(q, NN_VJP));
            for (int k = 0; k < nn_tensors(op); k++) {
                size_t count = nn_count(op, &op->tensors[k], p->shape);
                for (size_t j = 0; j < count && k == i; j++)
                    cr_expect(isnan(q->got[k][j]), "%s: %s was written", op->name,
                              op->tensors[k].name);
                if (k != i && nn_has_gradient(&op->tensors[k]))
                    cr_expect_eq(memcmp(p->got[k], q->got[k], count * sizeof(float)), 0,
                                 "%s: %s without %s", op->name, op->tensors[k].name,
                                 op->tensors[i].name);
            }
            nn_point_destroy(q);
        }
        nn_point_destroy(p);
    }
}

/* Adds tensor i's gradient to `before`, of which element k is (k mod 7 - 3) / 4. */
static void check_adding(const struct nn_operator *op, const struct nn_version *version, int i)
{
    struct nn_point *p = point_of(op, "odd", version, 7), *q = point_of(op, "odd", version, 7);
    enum nn_type type = nn_gradient_type(op, version, i);
    double rounding = type == NN_BFLOAT16 ? 0x1p-7 : 0x1p-20;
    for (int k = 0; k < 2; k++)
        OK(nn_point_fast(k == 0 ? p : q, NN_FORWARD));
    size_t count = nn_count(op, &op->tensors[i], p->shape);
    for (size_t k = 0; k < count; k++)
        nn_store(q->fast.gradient[i], type, k, ((double)(k % 7) - 3) / 4);
    q->fast.add = 1U << i;
    OK(nn_point_fast(p, NN_VJP));
    OK(nn_point_fast(q, NN_VJP));
    OK(nn_point_fetch(p, NN_VJP));
    OK(nn_point_fetch(q, NN_VJP));
    for (size_t k = 0; k < count; k++) {
        double before = ((double)(k % 7) - 3) / 4, gradient = (double)p->got[i][k];
        cr_expect_leq(fabs((double)q->got[i][k] - (before + gradient)),
                      rounding * (fabs(before) + fabs(gradient)),
                      "%s %s: %s[%zu] is %g, not %g + %g", op->name,
                      nn_precision_name(version->precision), op->tensors[i].name, k,
                      (double)q->got[i][k], before, gradient);
    }
    nn_point_destroy(p);
    nn_point_destroy(q);
}

Test(nn_operators, gradients_are_added_where_that_is_asked)
{
    int checked = 0;
    EACH(op)
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        for (int k = 0; k < nn_tensors(op); k++)
            if (op->tensors[k].adds && strcmp(op->versions[i].device, "cpu") == 0) {
                check_adding(op, &op->versions[i], k);
                checked++;
            }
    cr_expect_geq(checked, 12);
}

/* What a vjp is said not to read may be gone by then. */
static void check_unread(const struct nn_operator *op, const struct nn_version *version, int i)
{
    struct nn_point *p = point_of(op, "odd", version, 7), *q = point_of(op, "odd", version, 7);
    OK(nn_point_fast(p, NN_FORWARD));
    OK(nn_point_fast(q, NN_FORWARD));
    q->fast.value[i] = NULL;
    OK(nn_point_fast(p, NN_VJP));
    OK(nn_point_fast(q, NN_VJP));
    for (int k = 0; k < nn_tensors(op); k++) {
        if (!nn_has_gradient(&op->tensors[k]))
            continue;
        size_t bytes = nn_count(op, &op->tensors[k], p->shape) *
                       nn_type_bytes(nn_gradient_type(op, version, k));
        cr_expect_eq(memcmp(p->fast.gradient[k], q->fast.gradient[k], bytes), 0,
                     "%s: %s without %s", op->name, op->tensors[k].name, op->tensors[i].name);
    }
    nn_point_destroy(p);
    nn_point_destroy(q);
}

Test(nn_operators, what_the_vjp_does_not_read_may_be_gone)
{
    int checked = 0;
    EACH(op)
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        for (int k = 0; k < nn_tensors(op); k++)
            if (op->tensors[k].unread && strcmp(op->versions[i].device, "cpu") == 0) {
                check_unread(op, &op->versions[i], k);
                checked++;
            }
    cr_expect_geq(checked, 8);
}

/* Without it the result is that of zeros. */
static void check_optional(const struct nn_operator *op, const struct nn_version *version, int i)
{
    struct nn_point *p = point_of(op, "odd", version, 7), *q = point_of(op, "odd", version, 7);
    size_t count = nn_count(op, &op->tensors[i], p->shape);
    for (size_t k = 0; k < count; k++)
        nn_store(p->fast.value[i], nn_value_type(op, version, i), k, 0);
    q->fast.value[i] = q->fast.gradient[i] = NULL;
    for (int pass = NN_FORWARD; pass <= NN_VJP; pass++) {
        OK(nn_point_fast(p, (enum nn_pass)pass));
        OK(nn_point_fast(q, (enum nn_pass)pass));
        for (int k = 0; k < nn_tensors(op); k++) {
            const struct nn_tensor *tensor = &op->tensors[k];
            void *const *of_p = pass == NN_VJP ? p->fast.gradient : p->fast.value;
            void *const *of_q = pass == NN_VJP ? q->fast.gradient : q->fast.value;
            enum nn_type type =
                pass == NN_VJP ? nn_gradient_type(op, version, k) : nn_value_type(op, version, k);
            for (size_t j = 0; k != i && nn_point_written(p, (enum nn_pass)pass, k) &&
                               j < nn_count(op, tensor, p->shape);
                 j++)
                cr_expect_eq(nn_load(of_p[k], type, j), nn_load(of_q[k], type, j), "%s: %s",
                             op->name, tensor->name);
        }
    }
    nn_point_destroy(p);
    nn_point_destroy(q);
}

Test(nn_operators, what_is_optional_may_be_left_out)
{
    int checked = 0;
    EACH(op)
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        for (int k = 0; k < nn_tensors(op); k++)
            if (op->tensors[k].optional && strcmp(op->versions[i].device, "cpu") == 0) {
                check_optional(op, &op->versions[i], k);
                checked++;
            }
    cr_expect_geq(checked, 2);
}

/* Without forward: its results and the gradients, the same bits. */
static void check_both(const struct nn_operator *op, const struct nn_version *version)
{
    struct nn_point *p = point_of(op, "small", version, 7), *q = point_of(op, "small", version, 7);
    OK(nn_point_fast(p, NN_FORWARD));
    OK(nn_point_fast(p, NN_VJP));
    q->fast.both = true;
    OK(nn_point_fast(q, NN_VJP));
    for (int pass = NN_FORWARD; pass <= NN_VJP; pass++) {
        OK(nn_point_fetch(p, (enum nn_pass)pass));
        OK(nn_point_fetch(q, (enum nn_pass)pass));
        for (int i = 0; i < nn_tensors(op); i++)
            if (nn_point_written(p, (enum nn_pass)pass, i))
                cr_expect_eq(memcmp(p->got[i], q->got[i],
                                    nn_count(op, &op->tensors[i], p->shape) * sizeof *p->got[i]),
                             0, "%s: %s", op->name, op->tensors[i].name);
    }
    nn_point_destroy(p);
    nn_point_destroy(q);
}

Test(nn_operators, a_vjp_that_may_do_forwards_work_does_the_same)
{
    int checked = 0;
    EACH(op)
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        if (op->both && strcmp(op->versions[i].device, "cpu") == 0) {
            check_both(op, &op->versions[i]);
            checked++;
        }
    cr_expect_geq(checked, 2);
}

Test(nn_operators, indices_outside_are_refused)
{
    EACH(op)
    for (int i = 0; i < nn_tensors(op); i++)
        for (int32_t wrong = -1; wrong <= 7 && op->tensors[i].type == NN_INT32; wrong += 8) {
            struct nn_point *p = point_of(op, "odd", of_cpu(op), 1);
            const char *below = strchr(op->dims, op->tensors[i].domain.below);
            ((int32_t *)p->fast.value[i])[3] = wrong;
            char words[128];
            snprintf(words, sizeof words, "%s: %s[3] is %d: must be 0 to %zu", op->name,
                     op->tensors[i].name, wrong, p->shape->size[below - op->dims] - 1);
            cr_expect_eq(nn_point_fast(p, NN_FORWARD), YP_INVALID);
            cr_expect_str_eq(yp_last_error(), words);
            p->fast.both = true;
            cr_expect(!op->both || nn_point_fast(p, NN_VJP) == YP_INVALID);
            nn_point_destroy(p);
        }
}

/* A row of x that has NaN, an infinity or only zeros leaves the others as they are. */
Test(nn_operators, quantised_rows_are_each_their_own)
{
    const struct nn_operator *op = nn_operator("linear_int8");
    struct nn_point *p = point_of(op, "odd", of_cpu(op), 7),
                    *q = point_of(op, "odd", of_cpu(op), 7);
    enum { X, W, SCALE, B, Y, WIDTH = 7, DEPTH = 3 };
    float *x = p->fast.value[X], *y = p->fast.value[Y];
    const float *b = p->fast.value[B], *other = q->fast.value[Y];
    x[0 * DEPTH + 1] = NAN;
    x[1 * DEPTH + 2] = -INFINITY;
    for (int i = 0; i < DEPTH; i++)
        x[3 * DEPTH + i] = 0;
    const float near[DEPTH] = {127, 63.4F, -1.6F}; /* to 127, 63 and -2 */
    memcpy(x + 2 * DEPTH, near, sizeof near);
    OK(nn_point_fast(p, NN_FORWARD));
    OK(nn_point_fast(q, NN_FORWARD));
    for (int i = 0; i < WIDTH; i++) {
        const int8_t *w = (const int8_t *)p->fast.value[W] + i * DEPTH;
        float sum = (float)(127 * w[0] + 63 * w[1] - 2 * w[2]);
        float scale = ((const float *)p->fast.value[SCALE])[i];
        cr_expect_float_eq(y[2 * WIDTH + i], sum * scale + b[i], 1e-5F);
        cr_expect(isnan(y[i]) && isnan(y[WIDTH + i]), "%g and %g", (double)y[i],
                  (double)y[WIDTH + i]);
        cr_expect_eq(y[3 * WIDTH + i], b[i]);
        cr_expect_eq(y[4 * WIDTH + i], other[4 * WIDTH + i]);
    }
    nn_point_destroy(p);
    nn_point_destroy(q);
}

/* -- what a wrong version does ----------------------------------------------------------------- */

static enum yp_status writes_beyond(const struct nn_call *call)
{
    memset(call->value[2], 0, 36 * sizeof(float)); /* y has 35 */
    return YP_OK;
}

static enum yp_status writes_an_input(const struct nn_call *call)
{
    ((float *)call->value[1])[3] += 1;
    return YP_OK;
}

static enum yp_status writes_beyond_work(const struct nn_call *call)
{
    ((char *)call->work)[8] = 0;
    return YP_OK;
}

static size_t eight(const struct nn_shape *shape)
{
    (void)shape;
    return 8;
}

Test(nn_operators, what_a_version_may_not_write_is_found)
{
    static const struct {
        nn_fast *forward;
        nn_bytes *work;
        const char *words;
    } wrong[] = {{writes_beyond, NULL, "matmul in fp32 wrote 0 bytes behind y"},
                 {writes_an_input, NULL, "matmul in fp32 wrote to b, which it may only read"},
                 {writes_beyond_work, eight, "matmul in fp32 wrote 0 bytes behind its workspace"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct nn_version version = {NN_FP32, "cpu", .forward = wrong[i].forward};
        version.work = wrong[i].work;
        struct nn_point *p = point_of(&nn_matmul, "odd", &version, 1);
        OK(nn_point_fast(p, NN_FORWARD));
        cr_expect_eq(nn_point_fetch(p, NN_FORWARD), YP_INVALID);
        cr_expect_not_null(strstr(yp_last_error(), wrong[i].words), "%s", yp_last_error());
        nn_point_destroy(p);
    }
}

/* -- memory ------------------------------------------------------------------------------------ */

static struct yp_memory memory(void)
{
    struct yp_memory figures;
    yp_device_memory(yp_device_cpu(), &figures);
    return figures;
}

Test(nn_operators, memory_is_what_was_predicted_and_every_refusal_is_told)
{
    EACH(op)
    {
        const struct nn_version *version = of_cpu(op);
        const struct nn_shape *shape = nn_shape(op, "odd");
        yp_device_reset_peak(yp_device_cpu());
        struct nn_point *p = point_of(op, "odd", version, 1);
        cr_expect_eq(memory().allocated_peak, nn_point_bytes(op, shape, version), "%s", op->name);
        nn_point_destroy(p);
        for (uint64_t nth = 1; nth <= 2; nth++) {
            yp_device_fail_allocation(yp_device_cpu(), nth);
            cr_expect_null(nn_point_create(yp_device_cpu(), op, shape, version, 1));
            cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        }
        yp_device_fail_allocation(yp_device_cpu(), 0);
        cr_expect_eq(memory().allocated, 0, "%s", op->name);
    }
}
