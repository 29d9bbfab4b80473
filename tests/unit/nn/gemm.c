/* models/nn/gemm: products of any shape, stride, transposition and type, by oneDNN where it is
 * there and by OpenBLAS, against sums in double. */
#include "models/nn/gemm/onednn.h"

#include "base/numbers/splitmix.h"
#include "models/nn/draw.h"
#include "tests/unit/status.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum {
    GUARD = 64,
    SMALL = 256, /* of kinds: 8 bits, instead of what bit 0 says */
    HALF = 512   /* fp16 where bits 0 and 1 say bf16 */
};

struct problem {
    struct nn_gemm gemm;
    double *a, *b, *c; /* what it has, and what comes out */
    float *bias;
};

/* Rows and columns as they lie in memory, `gap` elements of others behind each row. */
static struct nn_matrix matrix(size_t rows, size_t columns, bool transposed, size_t gap,
                               enum nn_type type, double *values, struct ypi_seed *seed)
{
    size_t stride = (transposed ? rows : columns) + gap, lines = transposed ? columns : rows;
    char *at = malloc(lines * stride * nn_type_bytes(type) + GUARD);
    memset(at, 0xff, lines * stride * nn_type_bytes(type) + GUARD);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double drawn = 2 * ypi_seed_uniform(seed) - 1;
            double value = type == NN_SINT8 ? round(127 * drawn) : (double)nn_round(drawn, type);
            values[i * columns + j] = value;
            nn_store(at, type, transposed ? j * stride + i : i * stride + j, value);
        }
    return (struct nn_matrix){at, type, stride, transposed};
}

static struct problem problem_of(size_t m, size_t n, size_t k, unsigned kind)
{
    struct ypi_seed seed = ypi_seed_of(m * 1000 + n, k, kind);
    const enum nn_type narrow = kind & HALF ? NN_FLOAT16 : NN_BFLOAT16;
    enum nn_type in = kind & SMALL ? NN_SINT8 : kind & 1 ? narrow : NN_FLOAT;
    enum nn_type out = kind & 2 ? narrow : NN_FLOAT;
    unsigned wide = kind >> 6 & 3; /* one of the matrices: 1, 2 or 3 */
    struct problem p = {.a = malloc(m * k * sizeof(double)),
                        .b = malloc(k * n * sizeof(double)),
                        .c = malloc(m * n * sizeof(double))};
    p.gemm = (struct nn_gemm){.m = m, .n = n, .k = k, .add = (kind & 16) != 0};
    p.gemm.a = matrix(m, k, (kind & 4) != 0, wide == 1 ? 5 : 3, in, p.a, &seed);
    p.gemm.b = matrix(k, n, (kind & 8) != 0, wide == 2 ? 5 : 3, in, p.b, &seed);
    p.gemm.c = matrix(m, n, false, wide == 3 ? 5 : 3, out, p.c, &seed);
    p.bias = malloc(n * sizeof *p.bias);
    for (size_t j = 0; j < n; j++)
        p.bias[j] = (float)ypi_seed_uniform(&seed);
    p.gemm.bias = (kind & 32) != 0 && !p.gemm.add ? p.bias : NULL;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = p.gemm.add ? p.c[i * n + j] : p.gemm.bias != NULL ? (double)p.bias[j] : 0;
            for (size_t l = 0; l < k; l++)
                sum += p.a[i * k + l] * p.b[l * n + j];
            p.c[i * n + j] = sum;
        }
    return p;
}

static void destroy(struct problem *p)
{
    free(p->gemm.a.at);
    free(p->gemm.b.at);
    free(p->gemm.c.at);
    free(p->bias);
    free(p->a);
    free(p->b);
    free(p->c);
}

static void check_result(const struct problem *p, const char *by, unsigned kind)
{
    const struct nn_gemm *g = &p->gemm;
    double worst = 0, bound = (g->c.type == NN_BFLOAT16  ? 0x1p-8
                               : g->c.type == NN_FLOAT16 ? 0x1p-11
                                                         : 0) +
                              0x1p-23 * (double)(g->k + 2);
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = 0; j < g->n; j++) {
            double got = (double)nn_load(g->c.at, g->c.type, i * g->c.stride + j);
            double off = fabs(got - p->c[i * g->n + j]) / (1 + fabs(p->c[i * g->n + j]));
            worst = isnan(got) ? INFINITY : fmax(worst, off);
        }
        for (size_t j = g->n; j < g->c.stride; j++)
            cr_assert(isnan(nn_load(g->c.at, g->c.type, i * g->c.stride + j)),
                      "%s wrote behind row %zu", by, i);
    }
    cr_expect_leq(worst, bound, "%s, (%zu, %zu, %zu) of kind %u: off by %g", by, g->m, g->n, g->k,
                  kind, worst);
}

static void run(struct problem *p)
{
    size_t bytes = nn_gemm_bytes(&p->gemm);
    unsigned char *work = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    memset(work, 0xff, bytes + GUARD);
    OK(nn_gemm(&p->gemm, work));
    for (size_t i = bytes; i < bytes + GUARD; i++)
        cr_assert_eq(work[i], 0xff, "wrote behind its workspace");
    free(work);
}

static void check(size_t m, size_t n, size_t k)
{
    for (unsigned kind = 0; kind < 2 * HALF; kind++) {
        if (((kind & SMALL) != 0 && (kind & 1) != 0) ||
            ((kind & HALF) != 0 && ((kind & 3) == 0 || (kind & SMALL) != 0)))
            continue; /* sums of 8 bits are beyond fp16 */
        struct problem p = problem_of(m, n, k, kind), q = problem_of(m, n, k, kind);
        run(&p);
        check_result(&p, "alone", kind);
        /* In a parallel region each thread has a product of its own, by OpenBLAS. */
#pragma omp parallel num_threads(2)
#pragma omp single
        run(&q);
        check_result(&q, "among threads", kind);
        destroy(&p);
        destroy(&q);
    }
}

Test(nn_gemm, products_are_right_in_every_form)
{
    check(1, 1, 1);
    check(5, 7, 3);
    check(33, 65, 130);
}

/* What was made for one number of threads does not serve another. */
Test(nn_gemm, any_number_of_threads_will_do)
{
    for (int threads = 3; threads > 0; threads--)
        for (unsigned kind = 0; kind < 2; kind++) {
            omp_set_num_threads(threads);
            struct problem p = problem_of(70, 300, 90, kind);
            run(&p);
            check_result(&p, "threads", kind);
            destroy(&p);
        }
}

/* A model is planned for all threads, and its speed is measured on one. */
Test(nn_gemm, workspace_for_several_threads_does_for_one)
{
    static const size_t sizes[][3] = {
        {70, 300, 90}, {512, 512, 512}, {128, 768, 768}, {768, 128, 1024}, {4096, 512, 128}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned kind = 0; kind < 32; kind++) {
            struct nn_gemm gemm = {.m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2]};
            enum nn_type type = kind & 16 ? NN_FLOAT16 : kind & 1 ? NN_BFLOAT16 : NN_FLOAT;
            gemm.a = (struct nn_matrix){NULL, type, kind & 2 ? gemm.m : gemm.k, (kind & 2) != 0};
            gemm.b = (struct nn_matrix){NULL, type, kind & 4 ? gemm.k : gemm.n, (kind & 4) != 0};
            gemm.c = (struct nn_matrix){NULL, NN_FLOAT, gemm.n, false};
            gemm.add = (kind & 8) != 0;
            omp_set_num_threads(3);
            size_t planned = nn_gemm_bytes(&gemm);
            omp_set_num_threads(1);
            cr_expect_leq(nn_gemm_bytes(&gemm), planned, "(%zu, %zu, %zu) of kind %u: %zu, not %zu",
                          gemm.m, gemm.n, gemm.k, kind, nn_gemm_bytes(&gemm), planned);
            cr_expect_geq(nn_gemm_most(&gemm, 1), nn_gemm_bytes(&gemm));
        }
}

#ifdef NN_ONEDNN_FROM
/* Else the other tests would be of OpenBLAS. */
Test(nn_gemm, onednn_takes_them)
{
    if (yp_isa() < NN_ONEDNN_FROM)
        cr_skip_test("the processor has no %s", yp_isa_name(NN_ONEDNN_FROM));
    size_t bytes;
    struct problem p = problem_of(70, 300, 90, 0), q = problem_of(33, 65, 130, 16);
    cr_expect(ypi_onednn_takes(&p.gemm, omp_get_max_threads(), &bytes));
    cr_expect(ypi_onednn_takes(&q.gemm, omp_get_max_threads(), &bytes));
    destroy(&p);
    destroy(&q);
}
#endif

/* More shapes than are kept. */
Test(nn_gemm, shapes_take_the_place_of_others)
{
    for (int round = 0; round < 2; round++)
        for (size_t m = 1; m <= 300; m++) {
            struct problem p = problem_of(m, 3, 2, 0);
            run(&p);
            check_result(&p, "many", 0);
            destroy(&p);
        }
}

/* What was made for a shape is made anew. */
Test(nn_gemm, products_after_all_was_forgotten)
{
    nn_gemm_forget();
    for (int round = 0; round < 3; round++) {
        struct problem p = problem_of(70, 300, 90, 0);
        run(&p);
        check_result(&p, "again", 0);
        destroy(&p);
        nn_gemm_forget();
    }
}
