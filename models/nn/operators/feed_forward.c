/* Two layers of a Transformer's block: hidden (n, r, f) = dropout(relu(x w1^T + b1)), y (n, r, o) =
 * hidden w2^T + b2, of x (n, r, c), w1 (f, c) and w2 (o, f). The mask of dropout is that of drop.h,
 * a row of hidden being (r, f), with the settings rate and layer. Rows are worked on in chunks that
 * a core's cache holds, and hidden is saved: where it is above 0 its slope passes, so that the vjp
 * makes no mask again, and no array of slopes (n, r, f) is in memory. */
#ifndef REAL
#define NN_FILE "models/nn/operators/feed_forward.c"
enum { X, W1, B1, W2, B2, KEY, Y, HIDDEN };
enum { N, R, C, F, O, K };
#include "models/nn/drop.h"
#include "models/nn/operator.h"

static struct nn_drop drop_of(const struct nn_call *call)
{
    const double *setting = call->shape->setting;
    return (struct nn_drop){setting[0], (uint64_t)setting[1], call->value[KEY], false};
}

#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* Elements of hidden that are worked on at once: of float by one thread, beside others, and of 16
 * bits by all of them, since the products of bf16 are only fast outside of a parallel region. */
enum { CHUNK = 1 << 16, CHUNK_BF16 = 1 << 19, ROWS = 256, SHARES = 16 };

static size_t chunk_of(const size_t *size, enum nn_type type)
{
    const size_t rows = nn_most(ROWS, nn_rows(size[F], nn_16_bits(type) ? CHUNK_BF16 : CHUNK));
    return nn_most(1, nn_least(size[N] * size[R], rows));
}

/* The slopes at hidden become those at what relu was given. */
NN_LOOPS slopes_loops(enum nn_type type, const void *hidden, size_t n, float factor, void *slopes)
{
    for (size_t i = 0; i < n; i++) {
        const float slope = factor * nn_get(slopes, i, type);
        nn_put(slopes, i, nn_get(hidden, i, type) <= 0 ? 0 : slope, type);
    }
}
NN_TYPED_KERNEL(slopes, (const void *hidden, size_t n, float factor, void *slopes),
                (hidden, n, factor, slopes))

/* -- workspace -------------------------------------------------------------------------------- */

/* A share's: the slopes at hidden of a chunk, sums of dw1, dw2, db1 and db2, and products'. */
struct own {
    char *slopes;
    float *w1, *w2;
    double *b1, *b2;
    void *work;
};

static size_t sizes_of(const size_t *size, enum nn_type type, size_t sizes[5])
{
    sizes[0] = nn_aligned(chunk_of(size, type) * size[F] * nn_width(type));
    sizes[1] = nn_aligned(size[F] * size[C] * sizeof(float));
    sizes[2] = nn_aligned(size[O] * size[F] * sizeof(float));
    sizes[3] = nn_aligned(size[F] * sizeof(double));
    sizes[4] = nn_aligned(size[O] * sizeof(double));
    return sizes[0] + sizes[1] + sizes[2] + sizes[3] + sizes[4];
}

/* A product of `rows` rows from `first` on. */
enum product { TO_HIDDEN, TO_Y, TO_SLOPES, TO_X, TO_W1, TO_W2, PRODUCTS };

static struct nn_gemm product(const struct nn_call *call, enum nn_type type, const struct own *own,
                              enum product which, size_t first, size_t rows, bool add)
{
    const size_t *size = call->shape->size, c = size[C], f = size[F], o = size[O];
    const struct nn_matrix slopes = nn_rows_of(own->slopes, type, f);
    const struct nn_matrix hidden =
        nn_rows_of(nn_from(call->value[HIDDEN], first * f, type), type, f);
    const struct nn_matrix x = nn_rows_of(nn_from(call->value[X], first * c, type), type, c);
    if (which == TO_HIDDEN)
        return nn_gemm_of(rows, f, c, x, nn_columns_of(call->value[W1], type, c), hidden, false,
                          call->value[B1]);
    if (which == TO_Y)
        return nn_gemm_of(rows, o, f, hidden, nn_columns_of(call->value[W2], type, f),
                          nn_rows_of(nn_from(call->value[Y], first * o, type), type, o), false,
                          call->value[B2]);
    const void *dy = nn_from(call->gradient[Y], first * o, type);
    if (which == TO_SLOPES)
        return nn_gemm_of(rows, f, o, nn_rows_of(dy, type, o), nn_rows_of(call->value[W2], type, f),
                          slopes, false, NULL);
    if (which == TO_X)
        return nn_gemm_of(rows, c, f, slopes, nn_rows_of(call->value[W1], type, c),
                          nn_rows_of(nn_from(call->gradient[X], first * c, type), type, c),
                          nn_adds(call, X), NULL);
    if (which == TO_W1)
        return nn_gemm_of(f, c, rows, nn_columns_of(own->slopes, type, f), x,
                          nn_rows_of(own->w1, NN_FLOAT, c), add, NULL);
    return nn_gemm_of(o, f, rows, nn_columns_of(dy, type, o), hidden,
                      nn_rows_of(own->w2, NN_FLOAT, f), add, NULL);
}

static size_t products_bytes(const struct nn_shape *shape, enum nn_type type)
{
    const size_t rows = shape->size[N] * shape->size[R], chunk = chunk_of(shape->size, type);
    const size_t some[] = {chunk, rows % chunk > 0 ? rows % chunk : chunk};
    float bias = 0; /* with what may be */
    const struct own own = {0};
    struct nn_gemm products[4 * PRODUCTS];
    for (int i = 0; i < 4 * PRODUCTS; i++) {
        const bool add = i / 2 % 2 > 0;
        const struct nn_call call = {
            .shape = shape, .value = {[B1] = &bias, [B2] = &bias}, .add = add ? 1U << X : 0};
        products[i] = product(&call, type, &own, (enum product)(i / 4), 0, some[i % 2], add);
    }
    return nn_aligned(nn_gemm_most(products, 4 * PRODUCTS));
}

/* Of the chunks, each with sums of its own, so that these are the same for any number of threads.
 */
static size_t shares_of(const size_t *size, enum nn_type type)
{
    return nn_16_bits(type) ? 1
                            : nn_least(SHARES, nn_chunks(size[N] * size[R], chunk_of(size, type)));
}

/* Asked outside of parallel regions: inside, where floats take no workspace, products say so. */
static size_t own_bytes(const struct nn_shape *shape, enum nn_type type)
{
    size_t sizes[5];
    return sizes_of(shape->size, type, sizes) + products_bytes(shape, type);
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    return shares_of(shape->size, type) * own_bytes(shape, type);
}

NN_EACH_WORK

static struct own own_of(const struct nn_call *call, enum nn_type type, size_t thread, size_t each)
{
    size_t sizes[5];
    char *at = (char *)call->work + thread * each;
    sizes_of(call->shape->size, type, sizes);
    struct own own = {.slopes = at};
    own.w1 = (float *)(void *)(at += sizes[0]);
    own.w2 = (float *)(void *)(at += sizes[1]);
    own.b1 = (double *)(void *)(at += sizes[2]);
    own.b2 = (double *)(void *)(at += sizes[3]);
    own.work = at + sizes[4];
    return own;
}

/* -- passes ----------------------------------------------------------------------------------- */

static enum yp_status run(const struct nn_call *call, enum nn_type type, const struct own *own,
                          enum product which, size_t first, size_t rows, bool add)
{
    struct nn_gemm gemm = product(call, type, own, which, first, rows, add);
    gemm.inside = !nn_16_bits(type); /* for any number of threads */
    return nn_gemm(&gemm, own->work);
}

static enum yp_status chunk_forward(const struct nn_call *call, enum nn_type type,
                                    const struct own *own, size_t first, size_t rows)
{
    const size_t f = call->shape->size[F], r = call->shape->size[R];
    const struct nn_drop drop = drop_of(call);
    char *hidden = nn_from(call->value[HIDDEN], first * f, type);
    enum yp_status status = run(call, type, own, TO_HIDDEN, first, rows, false);
    if (status != YP_OK)
        return status;
    nn_activate(NN_RELU, hidden, type, rows * f);
    NN_PARALLEL_FOR(nn_16_bits(type), i, drop.rate > 0 ? rows : 0, 1, {
        void *row = nn_from(hidden, i * f, type);
        nn_drop_row(&drop, (first + i) / r, (first + i) % r * f, type, row, f, false, row);
    });
    return run(call, type, own, TO_Y, first, rows, false);
}

static enum yp_status chunk_vjp(const struct nn_call *call, enum nn_type type,
                                const struct own *own, size_t first, size_t rows, bool add)
{
    const size_t f = call->shape->size[F], o = call->shape->size[O];
    const float factor = (float)(1 / (1 - call->shape->setting[0]));
    slopes_kernel *slopes = best_slopes(type);
    enum yp_status status = run(call, type, own, TO_SLOPES, first, rows, false);
    if (status != YP_OK)
        return status;
    NN_PARALLEL_FOR(nn_16_bits(type), i, rows, 1,
                    slopes(nn_from(call->value[HIDDEN], (first + i) * f, type), f, factor,
                           nn_from(own->slopes, i * f, type)));
    if (call->gradient[X] != NULL)
        status = run(call, type, own, TO_X, first, rows, false);
    if (status == YP_OK && call->gradient[W1] != NULL)
        status = run(call, type, own, TO_W1, first, rows, add);
    if (status == YP_OK && call->gradient[W2] != NULL)
        status = run(call, type, own, TO_W2, first, rows, add);
    if (call->gradient[B1] != NULL)
        nn_add_columns(own->slopes, type, rows, f, own->b1);
    if (call->gradient[B2] != NULL)
        nn_add_columns(nn_from(call->gradient[Y], first * o, type), type, rows, o, own->b2);
    return status;
}

/* Share t of `shares` of the chunks. */
static enum yp_status chunks_of(const struct nn_call *call, enum nn_type type, enum nn_pass pass,
                                const struct own *own, size_t t, size_t shares)
{
    const size_t *size = call->shape->size, all = size[N] * size[R], chunk = chunk_of(size, type);
    const size_t chunks = nn_chunks(all, chunk);
    const size_t begin = t * chunks / shares, end = (t + 1) * chunks / shares;
    enum yp_status status = YP_OK;
    memset(own->b1, 0, size[F] * sizeof *own->b1);
    memset(own->b2, 0, size[O] * sizeof *own->b2);
    for (size_t i = begin; i < end && status == YP_OK; i++) {
        const size_t first = i * chunk, rows = nn_least(chunk, all - first);
        status = pass == NN_FORWARD ? chunk_forward(call, type, own, first, rows)
                                    : chunk_vjp(call, type, own, first, rows, i > begin);
    }
    return status;
}

/* All shares, each with its own workspace of `each` bytes; the first status that is not YP_OK. */
static enum yp_status each_chunk(const struct nn_call *call, enum nn_type type, enum nn_pass pass,
                                 size_t each)
{
    const size_t shares = shares_of(call->shape->size, type);
    enum yp_status status[SHARES] = {YP_OK};
    NN_PARALLEL_FOR(shares > 1, i, shares, 1, {
        const struct own own = own_of(call, type, i, each);
        status[i] = chunks_of(call, type, pass, &own, i, shares);
    });
    for (size_t i = 1; i < shares && status[0] == YP_OK; i++)
        status[0] = status[i];
    return status[0];
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const struct nn_drop drop = drop_of(call);
    const enum yp_status status = nn_check_drop("feed_forward", &drop);
    return status == YP_OK ? each_chunk(call, type, NN_FORWARD, own_bytes(call->shape, type))
                           : status;
}

/* A gradient of the shares' sums, in their order. */
NN_LOOPS total_loops(const char *from, size_t each, size_t shares, size_t n, bool add,
                     float *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        float sum = add ? to[i] : 0;
        for (size_t t = 0; t < shares; t++)
            sum += ((const float *)(const void *)(from + t * each))[i];
        to[i] = sum;
    }
}
NN_KERNEL(total, (const char *from, size_t each, size_t shares, size_t n, bool add, float *to),
          (from, each, shares, n, add, to))

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, each = own_bytes(call->shape, type);
    const size_t shares = shares_of(size, type);
    const struct own own = own_of(call, type, 0, each);
    const enum yp_status status = each_chunk(call, type, NN_VJP, each);
    if (status != YP_OK)
        return status;
    if (call->gradient[W1] != NULL)
        best_total()((const char *)own.w1, each, shares, size[F] * size[C], nn_adds(call, W1),
                     call->gradient[W1]);
    if (call->gradient[W2] != NULL)
        best_total()((const char *)own.w2, each, shares, size[O] * size[F], nn_adds(call, W2),
                     call->gradient[W2]);
    for (size_t t = 1; t < shares; t++) {
        const struct own other = own_of(call, type, t, each);
        for (size_t i = 0; i < size[F]; i++)
            own.b1[i] += other.b1[i];
        for (size_t i = 0; i < size[O]; i++)
            own.b2[i] += other.b2[i];
    }
    nn_put_sums(call, B1, own.b1, size[F]);
    nn_put_sums(call, B2, own.b2, size[O]);
    return YP_OK;
}

NN_EACH_TYPE

/* -- on a GPU: all rows at once -------------------------------------------------------------------
 */

/* Slopes at hidden, and behind them the workspace of sums. */
static size_t slopes_bytes(const size_t *size, enum nn_type type)
{
    return nn_aligned(size[N] * size[R] * size[F] * nn_width(type));
}

static size_t work_cuda(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    return slopes_bytes(size, NN_FLOAT) +
           nn_cuda_columns_bytes(size[N] * size[R], nn_most(size[F], size[O]));
}

static struct nn_cuda_hidden hidden_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, count = size[R] * size[F];
    return (struct nn_cuda_hidden){.n = size[N] * count,
                                   .count = count,
                                   .type = type,
                                   .drop = drop_of(call),
                                   .hidden = call->value[HIDDEN],
                                   .slopes = call->work};
}

/* Product `which` of all rows. */
static enum yp_status product_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type, enum product which)
{
    const struct own own = {
        .slopes = call->work, .w1 = call->gradient[W1], .w2 = call->gradient[W2]};
    const struct nn_gemm gemm =
        product(call, type, &own, which, 0, call->shape->size[N] * call->shape->size[R],
                nn_adds(call, which == TO_W1 ? W1 : W2));
    return nn_cuda_product(cuda, call->device, &gemm);
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    const struct nn_cuda_hidden hidden = hidden_of(call, type);
    enum yp_status status = nn_check_drop("feed_forward", &hidden.drop);
    if (status == YP_OK)
        status = product_on(cuda, call, type, TO_HIDDEN);
    if (status == YP_OK)
        status = cuda->hidden[NN_FORWARD](call->device, &hidden);
    return status == YP_OK ? product_on(cuda, call, type, TO_Y) : status;
}

/* The gradient of a bias (c), tensor i, from slopes (rows, c). */
static enum yp_status bias_on(const struct nn_cuda *cuda, const struct nn_call *call,
                              enum nn_type type, int i, const void *slopes, size_t c)
{
    const size_t *size = call->shape->size;
    const struct nn_cuda_columns sums = {
        .n = size[N] * size[R],
        .c = c,
        .type = type,
        .add = nn_adds(call, i),
        .dy = slopes,
        .sums = call->gradient[i],
        .work = (double *)(void *)((char *)call->work + slopes_bytes(size, NN_FLOAT))};
    return cuda->columns(call->device, &sums);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    static const struct {
        int tensor;
        enum product by;
    } products[] = {{X, TO_X}, {W1, TO_W1}, {W2, TO_W2}};
    const struct nn_cuda_hidden hidden = hidden_of(call, type);
    enum yp_status status = product_on(cuda, call, type, TO_SLOPES);
    if (status == YP_OK)
        status = cuda->hidden[NN_VJP](call->device, &hidden);
    for (int i = 0; i < 3 && status == YP_OK; i++)
        if (call->gradient[products[i].tensor] != NULL)
            status = product_on(cuda, call, type, products[i].by);
    if (status == YP_OK)
        status = bias_on(cuda, call, type, B1, call->work, call->shape->size[F]);
    if (status == YP_OK)
        status = bias_on(cuda, call, type, B2, call->gradient[Y], call->shape->size[O]);
    return status;
}

NN_ON_CUDA

/* Masks are made in forward alone; their words count as in dropout.c. */
static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    const double hidden = (double)(size[N] * size[R]) * (double)size[F];
    const double products = 2 * hidden * (double)(size[C] + size[O]);
    return pass == NN_VJP ? 2 * products + 3 * hidden
                          : products + (shape->setting[0] > 0 ? 18 : 2) * hidden;
}

const struct nn_operator nn_feed_forward = {
    .name = "feed_forward",
    .dims = "nrcfok",
    .settings = {"rate", "layer"},
    .tensors = {{"x", "nrc", .role = NN_INPUT, .adds = true},
                {"w1", "fc", .role = NN_PARAMETER, .adds = true, .domain = {.high = 0.05}},
                {"b1", "f", .role = NN_PARAMETER, .adds = true, .unread = true,
                 .domain = {NN_BELL, .gap = 1.5}},
                {"w2", "of", .role = NN_PARAMETER, .adds = true},
                {"b2", "o", .role = NN_PARAMETER, .adds = true, .unread = true},
                {"key", "nk", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .low = INT32_MIN, .high = INT32_MAX}},
                {"y", "nro", .role = NN_OUTPUT},
                {"hidden", "nrf", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 1, 2}, .setting = {0, 0}},
               {"odd", .size = {3, 5, 7, 11, 5, 2}, .setting = {0.25, 3}},
               {"small", .size = {4, 10, 32, 128, 32, 2}, .setting = {0.1, 1}},
               {"medium", .size = {22, 60, 64, 256, 64, 2}, .setting = {0.1, 7}}},
    NN_PLAIN,
    .flops = flops,
    /* The rounding of hidden: in fp16, too, a sum of one is off by up to twice what is typical. */
    .versions =
        {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
         {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
          .types = "bbfbffbb", .gradients = "bfffffbb", .arithmetic = YP_BF16,
          .rounding = {[X] = 0x1p-9, [W1] = 0x1p-9, [B1] = 0x1p-9, [W2] = 0x1p-9, [Y] = 0x1p-9}},
         {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
          .types = "bbfbffbb", .gradients = "bfffffbb",
          .rounding =
              {[X] = 0x1p-12, [W1] = 0x1p-12, [B1] = 0x1p-12, [W2] = 0x1p-12, [Y] = 0x1p-11}},
         {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
         {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16, .work = work_cuda,
          .types = "bbfbffbb", .gradients = "bfffffbb", .arithmetic = YP_BF16,
          .rounding = {[X] = 0x1p-9, [W1] = 0x1p-9, [B1] = 0x1p-9, [W2] = 0x1p-9, [Y] = 0x1p-9}},
         {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16, .work = work_cuda,
          .types = "bbfbffbb", .gradients = "bfffffbb", .arithmetic = YP_FP16,
          .rounding =
              {[X] = 0x1p-12, [W1] = 0x1p-12, [B1] = 0x1p-12, [W2] = 0x1p-12, [Y] = 0x1p-11}}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *w1 = call->value[W1], *b1 = call->value[B1];
    const REAL *w2 = call->value[W2], *b2 = call->value[B2];
    REAL *y = call->value[Y], *hidden = call->value[HIDDEN];
    const struct nn_drop drop = drop_of(call);
    for (size_t row = 0; row < size[N] * size[R]; row++, x += size[C], hidden += size[F]) {
        for (size_t f = 0; f < size[F]; f++) {
            REAL sum = b1[f];
            for (size_t c = 0; c < size[C]; c++)
                sum += w1[f * size[C] + c] * x[c];
            hidden[f] = (sum < 0 ? 0 : sum) *
                        (REAL)nn_drop_factor(&drop, row / size[R], row % size[R] * size[F] + f);
        }
        for (size_t o = 0; o < size[O]; o++) {
            REAL sum = b2[o];
            for (size_t f = 0; f < size[F]; f++)
                sum += w2[o * size[F] + f] * hidden[f];
            *y++ = sum;
        }
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *w1 = call->value[W1], *w2 = call->value[W2];
    const REAL *dy = call->gradient[Y], *hidden = call->value[HIDDEN];
    REAL *dx = call->gradient[X], *dw1 = call->gradient[W1], *db1 = call->gradient[B1];
    REAL *dw2 = call->gradient[W2], *db2 = call->gradient[B2];
    const REAL factor = 1 / (1 - (REAL)call->shape->setting[0]);
    memset(dx, 0, size[N] * size[R] * size[C] * sizeof *dx);
    memset(dw1, 0, size[F] * size[C] * sizeof *dw1);
    memset(dw2, 0, size[O] * size[F] * sizeof *dw2);
    memset(db1, 0, size[F] * sizeof *db1);
    memset(db2, 0, size[O] * sizeof *db2);
    for (size_t row = 0; row < size[N] * size[R]; row++, hidden += size[F], dy += size[O]) {
        for (size_t f = 0; f < size[F]; f++) {
            REAL slope = 0;
            for (size_t o = 0; o < size[O]; o++) {
                slope += dy[o] * w2[o * size[F] + f];
                dw2[o * size[F] + f] += dy[o] * hidden[f];
            }
            slope = hidden[f] <= 0 ? 0 : slope * factor;
            db1[f] += slope;
            for (size_t c = 0; c < size[C]; c++) {
                dx[row * size[C] + c] += slope * w1[f * size[C] + c];
                dw1[f * size[C] + c] += slope * x[row * size[C] + c];
            }
        }
        for (size_t o = 0; o < size[O]; o++)
            db2[o] += dy[o];
    }
}
#endif
