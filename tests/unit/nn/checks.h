/* Checks of an operator that the table's tests and those of the entry's kinds share: its gradient
 * and mutants of it, and the precision of a fast version. */
#ifndef NN_CHECKS_H
#define NN_CHECKS_H

#include "models/nn/point.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert_eq(call, YP_OK, "%s", yp_last_error())

static struct nn_point *point_of(const struct nn_operator *op, const char *shape,
                                 const struct nn_version *version, uint64_t seed)
{
    struct nn_point *p = nn_point_create(yp_device_cpu(), op, nn_shape(op, shape), version, seed);
    cr_assert_not_null(p, "%s %s: %s", op->name, shape, yp_last_error());
    return p;
}

/* -- gradients and their mutants --------------------------------------------------------------- */

/* What a vjp may do wrong to one tensor's gradient. */
enum mutant {
    RIGHT,
    ZERO,       /* forgotten */
    NEGATED,    /* sign */
    SCALED,     /* a factor */
    REVERSED,   /* elements in another order */
    TRANSPOSED, /* rows for columns, of a matrix */
    DROPPED,    /* without what the last output's cotangent adds */
    FIRST,      /* one element */
    MUTANTS
};
static const char *const mutant_names[MUTANTS] = {
    "right",    "zeroed",     "negated",        "scaled",
    "reversed", "transposed", "without a term", "off in one element"};

struct mutated {
    struct yp_gradient right;
    const struct nn_point *point;
    int tensor; /* of the operator */
    struct yp_tensor part;
    enum mutant mutant;
    double *cotangent, *before; /* scratch */
};

static void mutated_f(void *arg, const double *x, double *y)
{
    const struct mutated *m = arg;
    m->right.f(m->right.arg, x, y);
}

static void transpose(const struct mutated *m, double *part)
{
    const char *dims = m->point->op->tensors[m->tensor].dims;
    size_t rows = m->point->shape->size[strchr(m->point->op->dims, dims[0]) - m->point->op->dims];
    size_t columns = m->part.count / rows;
    memcpy(m->before, part, m->part.count * sizeof *part);
    for (size_t i = 0; i < m->part.count; i++)
        part[i] = m->before[i % rows * columns + i / rows];
}

static void mutate(const struct mutated *m, const double *x, const double *c, double *g)
{
    double *part = g + m->part.offset;
    size_t count = m->part.count;
    for (size_t i = 0; i < count; i++)
        part[i] *= m->mutant == ZERO      ? 0
                   : m->mutant == NEGATED ? -1
                   : m->mutant == SCALED  ? 1.001
                                          : 1;
    for (size_t i = 0; m->mutant == REVERSED && i < count / 2; i++) {
        double swapped = part[i];
        part[i] = part[count - 1 - i];
        part[count - 1 - i] = swapped;
    }
    if (m->mutant == TRANSPOSED)
        transpose(m, part);
    if (m->mutant == FIRST)
        part[0] = part[0] * 1.5 + 1e-3;
    if (m->mutant == DROPPED) {
        double *all = m->before;
        memcpy(m->cotangent, c, m->right.outputs * sizeof *c);
        m->cotangent[m->right.outputs - 1] = 0;
        m->right.vjp(m->right.arg, x, m->cotangent, all);
        memcpy(part, all + m->part.offset, count * sizeof *part);
    }
}

static void mutated_vjp(void *arg, const double *x, const double *cotangent, double *g)
{
    const struct mutated *m = arg;
    m->right.vjp(m->right.arg, x, cotangent, g);
    mutate(m, x, cotangent, g);
}

/* Whether the mutant changes any value at all: a symmetric matrix is its transpose. */
static bool differs(const struct mutated *m)
{
    size_t n = m->right.inputs;
    double *right = malloc(n * sizeof *right), *wrong = malloc(n * sizeof *wrong), off = 0,
           norm = 0;
    m->right.vjp(m->right.arg, m->right.x, m->point->c, right);
    mutated_vjp((void *)(uintptr_t)m, m->right.x, m->point->c, wrong);
    for (size_t i = 0; i < n; i++) {
        off += fabs(right[i] - wrong[i]);
        norm += fabs(right[i]);
    }
    free(right);
    free(wrong);
    return off > 1e-12 * norm;
}

/* Tensor i of the operator as a slice of the check. */
static struct yp_tensor slice(const struct nn_point *p, int i)
{
    return (struct yp_tensor){p->op->tensors[i].name, (size_t)((double *)p->oracle.value[i] - p->x),
                              nn_count(p->op, &p->op->tensors[i], p->shape)};
}

/* The check passes, and finds every mutant where it is; returns how many there were. */
static int check_gradient(const struct nn_operator *op, const char *shape)
{
    struct nn_point *p = point_of(op, shape, NULL, 5);
    struct yp_gradient_result result;
    struct mutated m = {.point = p};
    int found = 0;
    nn_point_gradient(p, &m.right);
    struct yp_gradient check = m.right;
    check.f = mutated_f;
    check.vjp = mutated_vjp;
    check.arg = &m;
    m.cotangent = malloc(p->outputs * sizeof(double));
    m.before = malloc(p->inputs * sizeof(double));
    OK(yp_gradient_error(&check, 1, &result));
    cr_expect_leq(result.error, 1e-7, "%s %s: %g at %s (expected %g, got %g)", op->name, shape,
                  result.error, result.tensor, result.expected, result.got);
    /* Of one channel a softmax is 1: its gradient is 0, and no difference shows it. */
    cr_expect(strcmp(shape, "one") == 0 || result.resolution <= 1e-4,
              "%s %s: %s is hardly seen: %g", op->name, shape, result.coarsest, result.resolution);
    for (m.tensor = 0; m.tensor < nn_tensors(op); m.tensor++)
        for (m.mutant = ZERO; m.mutant < MUTANTS && nn_has_gradient(&op->tensors[m.tensor]);
             m.mutant++) {
            m.part = slice(p, m.tensor);
            if ((m.mutant == TRANSPOSED && strlen(op->tensors[m.tensor].dims) != 2) || !differs(&m))
                continue;
            found++;
            OK(yp_gradient_error(&check, 1, &result));
            cr_expect_gt(result.error, 1e-6, "%s %s: %s %s is not found (%g)", op->name, shape,
                         m.part.name, mutant_names[m.mutant], result.error);
            cr_expect_str_eq(result.tensor, m.part.name, "%s %s: %s %s is found in %s", op->name,
                             shape, m.part.name, mutant_names[m.mutant], result.tensor);
        }
    free(m.cotangent);
    free(m.before);
    nn_point_destroy(p);
    return found;
}

/* -- precision -------------------------------------------------------------------------------- */

static void check_precision(const struct nn_operator *op, const struct nn_version *version,
                            const char *shape, uint64_t seed)
{
    struct nn_point *p = point_of(op, shape, version, seed);
    for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(op); pass++) {
        nn_point_plain(p, (enum nn_pass)pass);
        OK(nn_point_fast(p, (enum nn_pass)pass));
        OK(nn_point_fetch(p, (enum nn_pass)pass));
        for (int i = 0; i < nn_tensors(op); i++) {
            struct yp_precision_result result;
            if (!nn_point_written(p, (enum nn_pass)pass, i))
                continue;
            struct yp_precision check = nn_point_precision(p, (enum nn_pass)pass, i);
            OK(yp_precision_error(&check, &result));
            if (getenv("NN_FIGURES") != NULL)
                fprintf(stderr, "%-14s %-7s %-5s %-4s %-12s fast %8.2e plain %8.2e ratio %6.2f\n",
                        op->name, shape, nn_precision_name(version->precision),
                        pass == NN_VJP ? "vjp" : "", check.name, result.error, result.plain_error,
                        result.ratio);
            cr_expect_leq(result.ratio, check.multiple, "%s %s %s: %s is off by %g, plain by %g",
                          op->name, shape, nn_precision_name(version->precision), check.name,
                          result.error, result.plain_error);
        }
    }
    nn_point_destroy(p);
}

#endif
