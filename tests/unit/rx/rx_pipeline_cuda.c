/* Pipelines on a GPU, without one: each kernel of rows.h against loops in double, and what
 * rx_nodes.c does not ask of them: the same bits whenever work is done and wherever tiles come
 * from, tiles of several chunks, memory, all that can fail, training, images without a factor. */
#include "tests/unit/rx/rx_fixture.h"
#include "tests/unit/rx/rx_gpu.h"

#include "models/rx/device/pipeline.h"
#include "models/rx/train.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

TestSuite(pipeline_cuda, .timeout = 120);

/* -- memory of the GPU ---------------------------------------------------------------------- */

/* Arrays of a kernel alone: each ends where a page ends, and the one behind it is nobody's, so that
 * who reads or writes further dies. What lies before it in its first page stays garbage. */
enum { ARRAYS_MOST = 16 };
static struct {
    char *from;
    size_t bytes;
} arrays[ARRAYS_MOST];
static size_t arrays_there;

/* A copy of it on the GPU; of NULL garbage. */
static void *there(const void *from, size_t bytes)
{
    size_t pages = (bytes + EMULATED_PAGE - 1) / EMULATED_PAGE * EMULATED_PAGE,
           before = pages - bytes;
    char *to = yp_device_alloc(gpu_open(), pages + EMULATED_PAGE);
    cr_assert(to != NULL && arrays_there < ARRAYS_MOST);
    emulated_block(to)->reachable = pages; /* the last page stays as it is: not to be touched */
    if (from != NULL)
        OK(yp_device_copy(gpu_open(), to + before, from, bytes));
    arrays[arrays_there].from = to;
    arrays[arrays_there++].bytes = bytes;
    return to + before;
}

static void fetch(void *to, const void *from, size_t bytes)
{
    OK(yp_device_copy(gpu_open(), to, from, bytes));
}

/* Gives all of them back. */
static void all_back(void)
{
    static unsigned char first[EMULATED_PAGE], untouched[EMULATED_PAGE];
    memset(untouched, emulated.kernels.garbage, EMULATED_PAGE);
    for (size_t i = 0; i < arrays_there; i++) {
        size_t before = (EMULATED_PAGE - arrays[i].bytes % EMULATED_PAGE) % EMULATED_PAGE;
        if (before > 0)
            fetch(first, arrays[i].from, before);
        cr_expect_eq(memcmp(first, untouched, before), 0, "array %zu is written before it", i);
        yp_device_free(gpu_open(), arrays[i].from);
    }
    arrays_there = 0;
}

/* -- kernels: what they share --------------------------------------------------------------- */

/* Around the sizes of blocks and of what they read at once. */
static const unsigned sizes[] = {1, 15, 16, 17, 18, 63, 64, 65, 66, 128, 129, 200, 248};

/* Run i of a test goes another way through the threads, and finds other garbage. */
static void vary(size_t i)
{
    emulated.kernels.order = i % 2 != 0 ? YPK_BACKWARDS : YPK_FORWARDS;
    emulated.kernels.garbage = i / 2 % 2 != 0 ? EMULATED_NAN : EMULATED_LARGE;
}

static float *normals(size_t count, uint64_t *state)
{
    float *x = block(count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)normal(state);
    return x;
}

/* What `roundings` to float do to a sum of that size at most. */
static double within(double roundings, double size)
{
    return roundings * 0x1p-24 * size;
}

/* The largest part of what was allowed so far; NaN is too much. */
static void note(double *worst, double off, double allowed)
{
    double part = off == 0 ? 0 : fabs(off) / allowed;
    if (!(part <= *worst))
        *worst = isnan(part) ? INFINITY : part;
}

/* -- gather --------------------------------------------------------------------------------- */

/* Pixel p is not finite in channel p, if it is one of these; what lies between pixels never is. */
static float *gather_pixels(size_t pixels, unsigned channels, size_t stride, uint64_t *state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    float *x = normals(pixels * stride, state);
    for (size_t i = 0; i < pixels * stride; i++)
        x[i] = i % stride < channels ? 20 + 3 * x[i] : strange[i % 3];
    for (size_t p = 0; p < pixels; p++)
        if (p % 5 == 2 || p == 7 || p == 8)
            x[p * stride + (p == 7 ? channels - 1 : p % channels)] = strange[p % 3];
    return x;
}

static void check_gather(size_t pixels, unsigned channels, size_t stride, float odd)
{
    uint64_t state = pixels * 1000 + channels;
    size_t count = pixels * channels;
    float *x = gather_pixels(pixels, channels, stride, &state), *rows = block(count, sizeof *rows);
    float *base = normals(channels, &state), *gain = normals(channels, &state);
    float *rest = normals(channels, &state);
    uint8_t *keep = block(pixels, 1);
    double worst = 0;
    struct rxc_gather job = {there(x, ((pixels - 1) * stride + channels) * sizeof *x),
                             stride,
                             pixels,
                             channels,
                             there(base, channels * sizeof *base),
                             there(gain, channels * sizeof *gain),
                             there(rest, channels * sizeof *rest),
                             odd,
                             there(NULL, count * sizeof *rows),
                             there(NULL, pixels)};
    OK(ypi_rx_cuda()->gather(gpu_open(), &job));
    fetch(rows, job.rows, count * sizeof *rows);
    fetch(keep, job.keep, pixels);
    for (size_t p = 0; p < pixels; p++) {
        bool kept = true;
        for (unsigned c = 0; c < channels; c++)
            kept = kept && isfinite(x[p * stride + c]);
        cr_expect_eq(keep[p], kept, "pixel %zu of %zu", p, pixels);
        for (unsigned c = 0; c < channels; c++) {
            double moved = ((double)x[p * stride + c] - (double)base[c]) * (double)gain[c];
            double exact = moved + (double)rest[c], got = (double)rows[p * channels + c];
            if (kept)
                note(&worst, got - exact, within(1.001, fabs(moved) + fabs(exact)));
            else if (isnan(odd) ? !isnan(got) : got != (double)odd)
                worst = INFINITY;
        }
    }
    cr_expect_leq(worst, 1, "%zu pixels of %u channels, odd %g: %g", pixels, channels, (double)odd,
                  worst);
    all_back();
    free(x);
    free(rows);
    free(base);
    free(gain);
    free(rest);
    free(keep);
}

Test(pipeline_cuda, rows_are_gathered)
{
    static const unsigned channels[] = {1, 2, 31, 32, 33, 64, 65, 200, 248};
    static const size_t pixels[] = {1, 7, 8, 9, 15, 16, 17, 100};
    for (size_t i = 0; i < LENGTH(channels) * LENGTH(pixels); i++) {
        unsigned c = channels[i % LENGTH(channels)];
        vary(i);
        check_gather(pixels[i / LENGTH(channels)], c, c + i % 4, i % 3 == 0 ? NAN : 0);
    }
}

/* -- linear --------------------------------------------------------------------------------- */

static void check_linear(unsigned inputs, unsigned outputs, size_t pixels, bool moved, bool lowered)
{
    uint64_t state = inputs + 1000 * outputs + 1000000 * pixels;
    size_t count = pixels * outputs;
    float *in = normals(pixels * inputs, &state), *w = normals((size_t)outputs * inputs, &state);
    float *offset = normals(outputs, &state), *less = normals(count, &state);
    float *out = block(count, sizeof *out);
    double worst = 0;
    struct rxc_linear job = {pixels,
                             inputs,
                             outputs,
                             there(in, pixels * inputs * sizeof *in),
                             there(w, (size_t)outputs * inputs * sizeof *w),
                             moved ? there(offset, outputs * sizeof *offset) : NULL,
                             lowered ? there(less, count * sizeof *less) : NULL,
                             there(NULL, count * sizeof *out)};
    OK(ypi_rx_cuda()->linear(gpu_open(), &job));
    fetch(out, job.out, count * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        size_t p = i / outputs, j = i % outputs;
        double plus = moved ? (double)offset[j] : 0, minus = lowered ? (double)less[i] : 0;
        double sum = plus - minus, all = fabs(plus) + fabs(minus);
        for (size_t k = 0; k < inputs; k++) {
            double product = (double)in[p * inputs + k] * (double)w[j * inputs + k];
            sum += product;
            all += fabs(product);
        }
        note(&worst, (double)out[i] - sum, within(inputs + 2, all));
    }
    cr_expect_leq(worst, 1, "%zu pixels, %u to %u, offset %d, less %d: %g", pixels, inputs, outputs,
                  moved, lowered, worst);
    all_back();
    free(in);
    free(w);
    free(offset);
    free(less);
    free(out);
}

Test(pipeline_cuda, rows_are_multiplied)
{
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t how = 0; how < 4; how++) {
            vary(i + how);
            check_linear(sizes[i], sizes[(4 * i + how + 3) % LENGTH(sizes)],
                         sizes[(7 * i + 3 * how + 5) % LENGTH(sizes)], how % 2 != 0, how > 1);
        }
}

/* -- dots ----------------------------------------------------------------------------------- */

struct dots {
    size_t pixels;
    unsigned width;
    bool given, own, judged; /* products, or scores; the loss is the score, or the labels' */
    float factor, scalars[2], *a, *b, *scores, *g;
    uint8_t *keep, *labels;
    double *sums;
    unsigned *kept;
};

static struct dots dots_make(size_t pixels, unsigned width, size_t how)
{
    uint64_t state = pixels * 1000 + width;
    size_t count = pixels * width, blocks = rxc_pixel_blocks(pixels);
    struct dots d = {.pixels = pixels,
                     .width = width,
                     .given = how < 3,
                     .own = how % 3 == 1,
                     .judged = how % 3 == 2,
                     .factor = 0.3F,
                     .scalars = {1.7F, -0.4F},
                     .a = normals(count, &state),
                     .b = normals(count, &state),
                     .scores = normals(pixels, &state),
                     .g = block(pixels, sizeof(float)),
                     .keep = block(pixels, 1),
                     .labels = block(pixels, 1),
                     .sums = block(3 * blocks, sizeof(double)),
                     .kept = block(blocks, sizeof(unsigned))};
    for (size_t p = 0; p < pixels; p++) {
        d.keep[p] = p % 5 != 3 && p % 128 != 127;
        d.labels[p] = words(&state) % 3 == 0 ? 255 : 0;
        d.scores[p] *= p % 7 == 0 ? 100 : 3;
        if (d.keep[p] == 0)
            d.scores[p] = d.a[p * width + p % width] = NAN;
    }
    return d;
}

static void dots_free(struct dots *d)
{
    void *const all[] = {d->a, d->b, d->scores, d->g, d->keep, d->labels, d->sums, d->kept};
    for (size_t i = 0; i < LENGTH(all); i++)
        free(all[i]);
}

static void dots_run(struct dots *d)
{
    size_t n = d->pixels, products = n * d->width * sizeof(float);
    size_t blocks = rxc_pixel_blocks(n);
    struct rxc_dots job = {.pixels = n,
                           .width = d->width,
                           .factor = d->factor,
                           .own = d->own,
                           .a = d->given ? there(d->a, products) : NULL,
                           .b = d->given ? there(d->b, products) : NULL,
                           .keep = there(d->keep, n),
                           .labels = d->judged ? there(d->labels, n) : NULL,
                           .scalars = d->judged ? there(d->scalars, sizeof d->scalars) : NULL,
                           .scores = there(d->given ? NULL : d->scores, n * sizeof(float)),
                           .g = d->judged || d->own ? there(NULL, n * sizeof(float)) : NULL,
                           .sums = there(NULL, 3 * blocks * sizeof(double)),
                           .kept = there(NULL, blocks * sizeof(unsigned))};
    OK(ypi_rx_cuda()->dots(gpu_open(), &job));
    fetch(d->scores, job.scores, n * sizeof(float));
    if (job.g != NULL)
        fetch(d->g, job.g, n * sizeof(float));
    fetch(d->sums, job.sums, 3 * blocks * sizeof(double));
    fetch(d->kept, job.kept, blocks * sizeof(unsigned));
    all_back();
}

/* What a pixel adds to its block's sums, and what each may be off by: from the score that came. */
static void dots_pixel(const struct dots *d, size_t p, double sums[3], double allowed[3],
                       double *worst)
{
    double score = (double)d->scores[p], scale = (double)d->scalars[0];
    if (d->own) {
        sums[0] += score;
        allowed[0] += fabs(score) * 0x1p-45;
        note(worst, (double)d->g[p] - 1, 0);
    }
    if (!d->judged)
        return;
    bool target = d->labels[p] != 0;
    double away = score - (double)d->scalars[1], l = scale * away, wrong = target ? -l : l;
    double loss = 10 * (fmax(wrong, 0) + log1p(exp(-fabs(wrong))));
    double slope = 10 * (target ? -1 / (1 + exp(l)) : 1 / (1 + exp(-l)));
    /* l has two roundings, which a slope of up to 10 makes those of the loss. */
    double roundings = 2 * fabs(l) + 6;
    sums[0] += loss;
    sums[1] += slope;
    sums[2] += slope * away;
    allowed[0] += within(20, fabs(l)) + within(6, loss) + (double)FLT_MIN;
    allowed[1] += within(roundings, fabs(slope)) + (double)FLT_MIN;
    allowed[2] += within(roundings, fabs(slope * away)) + (double)FLT_MIN;
    note(worst, (double)d->g[p] - slope * scale,
         within(roundings, fabs(slope * scale)) + (double)FLT_MIN);
}

/* What blocks have made of the scores that came: sums, counts and g. */
static void check_judged(const struct dots *d, double *worst)
{
    for (size_t first = 0; first < d->pixels; first += RXC_PIXELS) {
        size_t number = first / RXC_PIXELS, kept = 0;
        double sums[3] = {0}, allowed[3] = {0};
        for (size_t p = first; p < d->pixels && p < first + RXC_PIXELS; p++) {
            kept += d->keep[p];
            if (d->keep[p] != 0)
                dots_pixel(d, p, sums, allowed, worst);
            else
                note(worst, d->judged || d->own ? (double)d->g[p] : 0, 0);
        }
        cr_expect_eq(d->kept[number], kept);
        for (size_t i = 0; i < 3; i++)
            note(worst, d->sums[3 * number + i] - sums[i], allowed[i]);
    }
}

/* The score of a pixel that counts. */
static void dots_score(const struct dots *d, size_t p, const float *before, double *worst)
{
    double sum = 0, all = 0;
    for (size_t c = 0; c < d->width; c++) {
        double product = (double)d->a[p * d->width + c] * (double)d->b[p * d->width + c];
        sum += product;
        all += fabs(product);
    }
    double factor = (double)d->factor, lanes = 32, each = ceil(d->width / lanes);
    if (d->given)
        note(worst, (double)d->scores[p] - factor * sum, within(each + lanes + 1, factor * all));
    else
        note(worst, (double)d->scores[p] - (double)before[p], 0);
}

static void check_dots(size_t pixels, unsigned width, size_t how)
{
    struct dots d = dots_make(pixels, width, how);
    float *before = block(pixels, sizeof *before);
    double worst = 0;
    memcpy(before, d.scores, pixels * sizeof *before);
    dots_run(&d);
    for (size_t p = 0; p < pixels; p++)
        if (d.keep[p] != 0)
            dots_score(&d, p, before, &worst);
    check_judged(&d, &worst);
    cr_expect_leq(worst, 1, "%zu pixels of %u, way %zu: %g", pixels, width, how, worst);
    free(before);
    dots_free(&d);
}

Test(pipeline_cuda, rows_are_scored_and_judged)
{
    static const unsigned widths[] = {1, 31, 32, 33, 63, 64, 65, 248};
    static const size_t pixels[] = {1, 127, 128, 129, 300};
    for (size_t i = 0; i < LENGTH(widths) * LENGTH(pixels); i++)
        for (size_t how = 0; how < 6; how++) {
            vary(i + how);
            check_dots(pixels[i / LENGTH(widths)], widths[i % LENGTH(widths)], how);
        }
}

/* -- products, scores and the loss in one --------------------------------------------------- */

/* As rxc_square_slices() says: slices of 16 rows and 16 inputs, an input's rows side by side. */
static float *square_slices(const float *matrix, unsigned width)
{
    unsigned blocks = (width + RXC_ROWS - 1) / RXC_ROWS;
    float *slices = block(rxc_square_slices(width), sizeof *slices);
    for (unsigned row = 0; row < width; row++)
        for (unsigned k = 0; k < width; k++) {
            unsigned slice = row / RXC_ROWS * blocks + k / RXC_ROWS;
            slices[slice * RXC_SLICE + k % RXC_ROWS * RXC_ROWS + row % RXC_ROWS] =
                matrix[row * width + k];
        }
    return slices;
}

/* A quadratic form: pixels in d->a, `gap` floats apart, their centre and offset; what it is to
 * write goes to d and, products, to d->b. */
struct form {
    size_t gap;
    bool silent; /* no scores */
    float *matrix, *centre, *offset;
};

static void form_run(struct dots *d, const struct form *f)
{
    size_t n = d->pixels, c = d->width, stride = c + f->gap, blocks = rxc_pixel_blocks(n);
    size_t slices = rxc_square_slices(d->width) * sizeof(float), floats = n * sizeof(float);
    size_t rows = (c + RXC_ROWS - 1) / RXC_ROWS * RXC_ROWS;
    float *square = square_slices(f->matrix, d->width);
    struct rxc_quadratic job = {.x = there(d->a, (n * stride - f->gap) * sizeof(float)),
                                .stride = stride,
                                .pixels = n,
                                .places = n,
                                .channels = d->width,
                                .loss = true,
                                .centre = there(f->centre, c * sizeof(float)),
                                .slices = there(square, slices),
                                .offset = f->offset != NULL ? there(f->offset, rows * sizeof(float))
                                                            : NULL,
                                .scores = f->silent ? NULL : there(NULL, floats),
                                .labels = d->judged ? there(d->labels, n) : NULL,
                                .scalars = d->judged ? there(d->scalars, sizeof d->scalars) : NULL,
                                .g = d->judged ? there(NULL, floats) : NULL,
                                .sums = there(NULL, 3 * blocks * sizeof(double)),
                                .kept = there(NULL, blocks * sizeof(unsigned)),
                                .products = there(NULL, c * floats),
                                .keep = there(d->keep, n)};
    OK(ypi_rx_cuda()->quadratic(gpu_open(), &job));
    if (!f->silent)
        fetch(d->scores, job.scores, floats);
    if (d->judged)
        fetch(d->g, job.g, floats);
    fetch(d->sums, job.sums, 3 * blocks * sizeof(double));
    fetch(d->kept, job.kept, blocks * sizeof(unsigned));
    fetch(d->b, job.products, c * floats);
    all_back();
    free(square);
}

/* A pixel's products, and its score, which is NaN where it does not count. */
static void form_pixel(const struct dots *d, const struct form *f, size_t p, double *worst)
{
    size_t c = d->width;
    const float *x = d->a + p * (c + f->gap), *y = d->b + p * c;
    double score = 0, all = 0;
    for (size_t i = 0; i < c; i++) {
        double sum = f->offset != NULL ? -(double)f->offset[i] : 0, size = fabs(sum);
        for (size_t k = 0; k < c; k++) { /* a pixel's centring rounds once */
            double product = (double)f->matrix[i * c + k] * (double)(x[k] - f->centre[k]);
            sum += product;
            size += fabs(product);
        }
        note(worst, (double)y[i] - sum, within((double)c, size));
        score += (double)y[i] * (double)(x[i] - f->centre[i]);
        all += fabs((double)y[i] * (double)(x[i] - f->centre[i]));
    }
    if (d->keep[p] != 0 && !f->silent)
        note(worst, (double)d->scores[p] - score, within((double)c + 4, all));
    else if (!f->silent && !isnan(d->scores[p]))
        *worst = INFINITY;
}

/* `how`: 1: judged; 2: with an offset, too; 0: products alone, as for (A + A^T) / 2. */
static void check_form(size_t pixels, unsigned width, size_t gap, size_t how)
{
    struct dots d = dots_make(pixels, width, how == 0 ? 3 : 5);
    uint64_t state = pixels + 1000 * width;
    size_t stride = width + gap;
    struct form f = {
        .gap = gap, .silent = how == 0, .matrix = normals((size_t)width * width, &state)};
    double worst = 0;
    f.centre = normals(width, &state);
    f.offset = how == 2 ? normals(width + RXC_ROWS, &state) : NULL;
    free(d.a);
    d.a = normals(pixels * stride, &state);
    for (size_t i = 0; i < pixels * stride; i++)
        d.a[i] = i % stride < width ? d.a[i] : NAN;
    d.scalars[0] /= (float)width; /* scores grow with it */
    form_run(&d, &f);
    for (size_t p = 0; p < pixels; p++)
        form_pixel(&d, &f, p, &worst);
    check_judged(&d, &worst);
    cr_expect_leq(worst, 1, "%zu pixels of %u, gap %zu, way %zu: %g", pixels, width, gap, how,
                  worst);
    free(f.matrix);
    free(f.centre);
    free(f.offset);
    dots_free(&d);
}

Test(pipeline_cuda, forms_are_multiplied_scored_and_judged)
{
    static const size_t pixels[] = {1, 3, 127, 128, 129, 200};
    for (size_t i = 0; i < LENGTH(sizes) + 4; i++) /* and 2 to 5 channels */
        for (size_t how = 0; how < 3; how++) {
            unsigned width = i < LENGTH(sizes) ? sizes[i] : (unsigned)(i - LENGTH(sizes) + 2);
            vary(i + how);
            check_form(pixels[(i + how) % LENGTH(pixels)], width, i % 3, how);
        }
}

/* -- columns -------------------------------------------------------------------------------- */

/* Rows of a block, as pipelines have them. */
static const unsigned ranges[] = {32, 128, 160, 512};

static void check_columns(size_t pixels, unsigned width, unsigned range, bool weighed, bool with)
{
    uint64_t state = pixels * 1000 + width;
    size_t count = pixels * width, blocks = rxc_ranges(pixels, range);
    float *a = normals(count, &state), *b = normals(count, &state), *got = block(count, sizeof *a);
    float *weights = normals(pixels, &state), factor = 0.7F;
    double *parts = block(blocks * 2 * width, sizeof *parts), worst = 0;
    struct rxc_columns job = {pixels,
                              width,
                              range,
                              factor,
                              weighed ? there(weights, pixels * sizeof *weights) : NULL,
                              there(a, count * sizeof *a),
                              with ? there(b, count * sizeof *b) : NULL,
                              there(NULL, blocks * 2 * width * sizeof *parts)};
    OK(ypi_rx_cuda()->columns(gpu_open(), &job));
    fetch(got, job.a, count * sizeof *got);
    fetch(parts, job.parts, blocks * 2 * width * sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        double exact = (double)a[i] * (weighed ? (double)factor * (double)weights[i / width] : 1);
        note(&worst, (double)got[i] - exact, weighed ? within(2.001, fabs(exact)) : 0);
    }
    for (size_t i = 0; i < blocks * width; i++) {
        size_t c = i % width, first = i / width * range, at = i / width * 2 * width + c;
        double sums[2] = {0}, all[2] = {0};
        for (size_t p = first; p < pixels && p < first + range; p++) {
            double value = (double)got[p * width + c];
            double product = with ? value * (double)b[p * width + c] : 0;
            sums[0] += value;
            sums[1] += product;
            all[0] += fabs(value);
            all[1] += fabs(product);
        }
        for (size_t k = 0; k < 2; k++) /* in double, both of them */
            note(&worst, parts[at + k * width] - sums[k], 2 * range * 0x1p-53 * all[k]);
    }
    cr_expect_leq(worst, 1, "%zu pixels of %u by %u, weights %d, b %d: %g", pixels, width, range,
                  weighed, with, worst);
    all_back();
    free(a);
    free(b);
    free(got);
    free(weights);
    free(parts);
}

Test(pipeline_cuda, columns_are_weighed_and_summed)
{
    static const unsigned widths[] = {1, 31, 32, 33, 64, 65, 248};
    static const size_t pixels[] = {1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1025};
    for (size_t i = 0; i < LENGTH(widths) * LENGTH(pixels); i++) {
        vary(i);
        for (size_t how = 0; how < 4; how++)
            check_columns(pixels[i / LENGTH(widths)], widths[i % LENGTH(widths)],
                          ranges[(i + i / LENGTH(widths)) % LENGTH(ranges)], how % 2 != 0, how > 1);
    }
}

/* -- cross ---------------------------------------------------------------------------------- */

static void check_cross(size_t pixels, unsigned rows, unsigned columns, unsigned range)
{
    uint64_t state = pixels + 10000 * rows + columns;
    size_t square = (size_t)rows * columns, blocks = rxc_ranges(pixels, range);
    float *a = normals(pixels * rows, &state), *b = normals(pixels * columns, &state);
    float *parts = block(blocks * square, sizeof *parts);
    double *sum = block(square, sizeof *sum), *all = block(square, sizeof *all), worst = 0;
    struct rxc_cross job = {pixels,
                            rows,
                            columns,
                            range,
                            there(a, pixels * rows * sizeof *a),
                            there(b, pixels * columns * sizeof *b),
                            there(NULL, blocks * square * sizeof *parts)};
    OK(ypi_rx_cuda()->cross(gpu_open(), &job));
    fetch(parts, job.parts, blocks * square * sizeof *parts);
    for (size_t number = 0; number < blocks; number++) {
        size_t first = number * range, end = first + range < pixels ? first + range : pixels;
        memset(sum, 0, square * sizeof *sum);
        memset(all, 0, square * sizeof *all);
        for (size_t p = first; p < end; p++)
            for (size_t i = 0; i < square; i++) {
                double product =
                    (double)a[p * rows + i / columns] * (double)b[p * columns + i % columns];
                sum[i] += product;
                all[i] += fabs(product);
            }
        for (size_t i = 0; i < square; i++)
            note(&worst, (double)parts[number * square + i] - sum[i],
                 within((double)(end - first), all[i]));
    }
    cr_expect_leq(worst, 1, "%zu pixels by %u, %u by %u: %g", pixels, range, rows, columns, worst);
    all_back();
    free(a);
    free(b);
    free(parts);
    free(sum);
    free(all);
}

Test(pipeline_cuda, products_of_columns)
{
    static const size_t pixels[] = {1, 15, 16, 17, 511, 512, 513, 1025};
    for (size_t i = 0; i < 2 * LENGTH(sizes); i++) {
        vary(i);
        check_cross(pixels[i % LENGTH(pixels)], sizes[i % LENGTH(sizes)],
                    sizes[(3 * i + 1 + i / LENGTH(sizes)) % LENGTH(sizes)],
                    ranges[(i + i / LENGTH(pixels)) % LENGTH(ranges)]);
    }
}

/* -- parts ---------------------------------------------------------------------------------- */

static void check_parts(size_t count, unsigned blocks, bool fresh, bool of_doubles)
{
    uint64_t state = count + 1000 * blocks;
    float *floats = normals(count * blocks, &state);
    double *doubles = block(count * blocks, sizeof *doubles),
           *before = block(count, sizeof *before);
    double *got = block(count, sizeof *got), worst = 0;
    for (size_t i = 0; i < count * blocks; i++)
        doubles[i] = of_doubles ? normal(&state) : (double)floats[i];
    for (size_t i = 0; i < count; i++)
        before[i] = normal(&state);
    struct rxc_parts job = {
        count,
        blocks,
        fresh,
        of_doubles ? there(doubles, count * blocks * sizeof *doubles) : NULL,
        of_doubles ? NULL : there(floats, count * blocks * sizeof *floats),
        there(fresh ? NULL : before, count * sizeof *before)}; /* garbage counts nowhere */
    OK(ypi_rx_cuda()->parts(gpu_open(), &job));
    fetch(got, job.all, count * sizeof *got);
    for (size_t i = 0; i < count; i++) {
        double sum = fresh ? 0 : before[i], all = fabs(sum);
        for (size_t b = 0; b < blocks; b++) {
            sum += doubles[b * count + i];
            all += fabs(doubles[b * count + i]);
        }
        note(&worst, got[i] - sum, 2 * blocks * 0x1p-53 * all);
    }
    cr_expect_leq(worst, 1, "%zu of %u blocks, fresh %d, doubles %d: %g", count, blocks, fresh,
                  of_doubles, worst);
    all_back();
    free(floats);
    free(doubles);
    free(before);
    free(got);
}

Test(pipeline_cuda, parts_are_summed)
{
    static const size_t counts[] = {1, 2, 255, 256, 257, 1000};
    static const unsigned blocks[] = {1, 2, 7, 8, 9, 128};
    for (size_t i = 0; i < LENGTH(counts) * LENGTH(blocks); i++)
        for (size_t how = 0; how < 4; how++) {
            vary(i + how);
            check_parts(counts[i / LENGTH(blocks)], blocks[i % LENGTH(blocks)], how % 2 != 0,
                        how > 1);
        }
}

/* -- pipelines: what they are asked --------------------------------------------------------- */

#define FRONT .normalise = true, .select = true, .temperature = 0.8, .train_temperature = true

enum { RX, PCA, LAD, IMAGE, CODER, SHAPES };
static const struct {
    const char *name;
    struct rx_pipeline_options options;
} shapes[SHAPES] = {
    {"RX", {FRONT, .eps = RX_EPS}},
    {"PCA", {.normalise = true, .components = 2, .orthogonality = 0.5, .eps = RX_EPS}},
    {"LAD", {FRONT, .detector = RX_LAD}},
    {"image", {FRONT, .detector = RX_IMAGE, .eps = 1e-3}},
    {"autoencoder", {FRONT, .detector = RX_AUTOENCODER, .hidden = 2}},
};

/* A scene that tiles are of, here and there; host.copy: yielders fill the room they are given. */
struct stage {
    struct scene host;
    enum rx_tiles tiles;
    size_t empty;  /* a tile without pixels; SIZE_MAX: none */
    float *packed; /* the host's pixels side by side */
    float *values; /* the GPU's, as they lie on the host */
    uint8_t *labels;
    struct yp_device *device;
};

/* Pixels whose channels hang together, one in 8 a target a little apart, `gap` strangers between
 * them. Some are not finite. */
static struct stage stage_make(size_t pixels, size_t channels, size_t tile_pixels, size_t gap)
{
    uint64_t state = 31 * channels + pixels;
    size_t stride = channels + gap;
    struct stage g = {.host = {.pixels = pixels,
                               .channels = channels,
                               .tile_pixels = tile_pixels,
                               .stride = stride,
                               .values = block(pixels * stride, sizeof(float)),
                               .labels = block(pixels, 1)},
                      .tiles = RX_TILES_COPIED,
                      .empty = SIZE_MAX,
                      .packed = block(pixels * channels, sizeof(float)),
                      .device = gpu_open()};
    for (size_t p = 0; p < pixels; p++) {
        float *x = g.host.values + p * stride;
        double common = normal(&state);
        bool target = words(&state) % 8 == 0;
        g.host.labels[p] = target ? 1 + p % 3 : 0;
        for (size_t c = 0; c < channels; c++)
            x[c] =
                (float)(3 + (double)c / 4 + common + (0.4 + (double)(c % 5) / 8) * normal(&state) +
                        (target && c % 3 == 0 ? 1.5 : 0));
        for (size_t c = channels; c < stride; c++)
            x[c] = NAN;
    }
    return g;
}

/* What the host's pixels are, to where they are copied from. */
static void stage_send(struct stage *g)
{
    const struct scene *s = &g->host;
    size_t bytes = s->pixels * s->stride * sizeof(float);
    for (size_t p = 0; p < s->pixels; p++)
        memcpy(g->packed + p * s->channels, s->values + p * s->stride, s->channels * sizeof(float));
    if (g->values == NULL) {
        g->values = yp_device_alloc(g->device, bytes);
        g->labels = yp_device_alloc(g->device, s->pixels);
        cr_assert(g->values != NULL && g->labels != NULL);
    }
    OK(yp_device_copy(g->device, g->values, s->values, bytes));
    OK(yp_device_copy(g->device, g->labels, s->labels, s->pixels));
}

static void stage_free(struct stage *g)
{
    yp_device_free(g->device, g->values);
    yp_device_free(g->device, g->labels);
    free(g->packed);
    scene_free(&g->host);
}

static enum yp_status yield_there(struct stage *g, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    const struct scene *s = &g->host;
    size_t first = index * s->tile_pixels, left = first < s->pixels ? s->pixels - first : 0;
    struct yp_stream *stream = yp_device_stream(g->device);
    enum yp_status status = YP_OK;
    if (s->fail_from > 0 && index >= s->fail_from)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    tile->pixels = left < s->tile_pixels ? left : s->tile_pixels;
    if (!s->copy) {
        tile->values = g->values + first * s->stride;
        tile->labels = g->labels + first;
        tile->stride = s->stride;
        return YP_OK;
    }
    cr_expect(emulated_has(values, 4), "the room is not the GPU's");
    if (tile->pixels > 0)
        status = yp_stream_copy(stream, values, g->packed + first * s->channels,
                                tile->pixels * s->channels * sizeof *values);
    if (tile->pixels > 0 && labels != NULL && status == YP_OK)
        status = yp_stream_copy(stream, labels, s->labels + first, tile->pixels);
    return status;
}

static enum yp_status stage_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    struct stage *g = arg;
    if (index == g->empty)
        return YP_OK;
    if (g->tiles == RX_TILES_THERE)
        return yield_there(g, index, values, labels, tile);
    cr_expect_not(emulated_has(values, 4), "the room is not the host's");
    return scene_yield(&g->host, index, values, labels, tile);
}

/* With one more tile, which has no pixels. */
static struct rx_source stage_source(struct stage *g)
{
    struct rx_source source = source_of(&g->host);
    source.yield = stage_yield;
    source.arg = g;
    source.tiles++;
    return source;
}

static struct rx_pipeline_options options_for(size_t shape, const struct stage *g)
{
    struct rx_pipeline_options o = shapes[shape].options;
    o.channels = g->host.channels;
    o.tile_pixels = g->host.tile_pixels;
    o.threads = 1;
    o.tiles = g->tiles;
    return o;
}

static struct rx_pipeline *pipeline_on(struct yp_device *device, size_t shape,
                                       const struct stage *g)
{
    struct rx_pipeline_options o = options_for(shape, g);
    struct rx_pipeline *p = rx_pipeline_create(device, &o);
    cr_assert_not_null(p, "%s: %s", shapes[shape].name, yp_last_error());
    return p;
}

/* Where statistics put them, made on the CPU, with a gentler logit; `by`: and some way off, where
 * A is not symmetric. */
static float *parameters_for(size_t shape, struct stage *g, double by)
{
    enum rx_tiles tiles = g->tiles;
    g->tiles = RX_TILES_COPIED;
    struct rx_pipeline *p = pipeline_on(yp_device_cpu(), shape, g);
    struct rx *rx = detector_for(&g->host, 1);
    struct rx_source source = stage_source(g);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    uint64_t state = 19;
    OK(rx_pipeline_fit(p, rx, &source, parameters, NULL));
    for (size_t k = 0; k < p->options.components; k++)
        parameters[p->places.mu + k] += 0.05F;
    if (ypi_rx_trains(&p->options))
        parameters[p->places.scale] = 2 / parameters[p->places.bias];
    for (size_t i = 0; i < rx_pipeline_parameters(p); i++)
        parameters[i] *= (float)(1 + by * normal(&state));
    rx_destroy(rx);
    rx_pipeline_destroy(p);
    g->tiles = tiles;
    return parameters;
}

/* -- pipelines: what they say --------------------------------------------------------------- */

enum call { GRADIENT, SCORE, CALIBRATE, TRAIN, EVALUATE, CALLS };

struct taken {
    float *logits, *labels;
};

static void take(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct taken *taken = arg;
    memcpy(taken->logits, logits, pixels * sizeof *logits);
    for (size_t i = 0; i < pixels; i++)
        taken->labels[i] = labels[i];
    taken->logits += pixels;
    taken->labels += pixels;
}

/* Places of a call's answer: loss and weight, then gradient, or what belongs to pixels. */
enum { NUMBERS = 4 };
static size_t span_of(const struct rx_pipeline *p, const struct rx_source *source)
{
    return NUMBERS + rx_pipeline_parameters(p) + 2 * source->tiles * source->tile_pixels;
}

static enum yp_status ask(enum call which, struct rx_pipeline *p, const struct rx_source *source,
                          const float *parameters, float *answer)
{
    size_t places = source->tiles * source->tile_pixels;
    float *first = answer + NUMBERS, *second = first + places;
    struct taken taken = {first, second};
    double numbers[2] = {0};
    enum yp_status status = YP_OK;
    memset(answer, 0, span_of(p, source) * sizeof *answer);
    switch (which) {
    case GRADIENT:
        status = rx_pipeline_gradient(p, source, parameters, &numbers[0], first);
        break;
    case SCORE:
        status = rx_pipeline_score(p, source, parameters, first,
                                   ypi_rx_trains(&p->options) ? second : NULL);
        break;
    case CALIBRATE:
        memcpy(first, parameters, rx_pipeline_parameters(p) * sizeof *first);
        status = rx_pipeline_calibrate(p, source, first);
        break;
    case TRAIN:
        status = rx_pipeline_train_gradient(p, source, parameters, &numbers[0], &numbers[1], first);
        break;
    default:
        status = rx_pipeline_train_evaluate(p, source, parameters, &numbers[0], &numbers[1], take,
                                            &taken);
    }
    memcpy(answer, numbers, sizeof numbers);
    return status;
}

static const char *const call_names[CALLS] = {"gradient", "score", "calibrate", "train_gradient",
                                              "train_evaluate"};

static bool lies_in(const void *at, const void *from, size_t bytes)
{
    return (const char *)at >= (const char *)from && (const char *)at < (const char *)from + bytes;
}

/* No copy goes on that reads what is the yielder's. */
static void expect_idle(const struct stage *g)
{
    const struct scene *s = &g->host;
    for (int i = 1; i < EMULATED_STREAMS; i++)
        for (size_t at = emulated.streams[i].done; at < emulated.streams[i].given; at++) {
            const struct emulated_work *w = &emulated.streams[i].queue[at % EMULATED_QUEUE];
            const void *from = w->kind == EMULATED_COPY ? w->from : NULL;
            cr_expect_not(lies_in(from, s->values, s->pixels * s->stride * sizeof *s->values) ||
                              lies_in(from, s->labels, s->pixels),
                          "copies go on");
        }
}

/* The answers to the first calls, one behind the other. */
static float *answers_of(struct rx_pipeline *p, const struct rx_source *source,
                         const float *parameters, size_t calls)
{
    size_t span = span_of(p, source);
    float *answers = block(calls * span, sizeof *answers);
    for (size_t i = 0; i < calls; i++)
        OK(ask((enum call)i, p, source, parameters, answers + i * span));
    expect_idle(source->arg);
    return answers;
}

static void expect_same(const float *right, const float *got, size_t calls, size_t span,
                        const char *where)
{
    for (size_t i = 0; i < calls; i++)
        cr_expect_eq(memcmp(right + i * span, got + i * span, span * sizeof *got), 0,
                     "%s: %s has other bits", where, call_names[i]);
}

static void expect_nothing_left(struct yp_device *device)
{
    struct yp_memory now;
    yp_device_memory(device, &now);
    cr_expect_eq(now.allocated, 0);
    cr_expect_eq(memory().allocated, 0);
    cr_expect_eq(emulated.pinned, 0);
    cr_expect_eq(emulated.events, 0);
    for (int i = 1; i < EMULATED_STREAMS; i++)
        cr_expect_not(emulated.streams[i].open);
}

/* -- bits ----------------------------------------------------------------------------------- */

/* Tiles of a little more than one block, one without pixels, one without a finite one. */
static struct stage stage_for_bits(void)
{
    struct stage g = stage_make(4 * 130 - 90, 5, 130, 2);
    g.empty = 1;
    for (size_t p = 260; p < 390; p++)
        g.host.values[p * g.host.stride + p % 5] = p % 2 != 0 ? NAN : INFINITY;
    g.host.values[128 * g.host.stride + 4] = NAN;
    g.host.values[429 * g.host.stride] = -INFINITY;
    stage_send(&g);
    return g;
}

/* A pipeline's gradient and scores, the way that the numbers say. */
static float *answers_by(struct stage *g, size_t shape, const float *parameters, int tiles,
                         bool copy, size_t way)
{
    vary(way);
    g->tiles = (enum rx_tiles)tiles;
    g->host.copy = copy;
    struct rx_pipeline *p = pipeline_on(g->device, shape, g);
    struct rx_source source = stage_source(g);
    float *answers = answers_of(p, &source, parameters, SCORE + 1);
    rx_pipeline_destroy(p);
    return answers;
}

static void check_bits(struct stage *g, size_t shape, double by)
{
    float *parameters = parameters_for(shape, g, by);
    struct rx_pipeline *p = pipeline_on(g->device, shape, g);
    struct rx_source source = stage_source(g);
    size_t span = span_of(p, &source);
    emulated.order = EMULATED_AT_ONCE;
    float *right = answers_by(g, shape, parameters, RX_TILES_THERE, false, 0);
    for (int order = EMULATED_AT_ONCE; order < EMULATED_ORDERS; order++)
        for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++)
            for (int copy = 0; copy < 2; copy++) {
                char where[80];
                int way = (order + tiles + 2 * copy) % 4;
                snprintf(where, sizeof where, "%s: order %d, tiles %d, copy %d, way %d",
                         shapes[shape].name, order, tiles, copy, way);
                emulated.order = (int)order;
                float *got = answers_by(g, shape, parameters, tiles, copy != 0, (size_t)way);
                expect_same(right, got, SCORE + 1, span, where);
                free(got);
            }
    rx_pipeline_destroy(p);
    free(parameters);
    free(right);
}

Test(pipeline_cuda, bits_are_the_same_in_any_order_and_from_anywhere)
{
    struct stage g = stage_for_bits();
    for (size_t shape = 0; shape < SHAPES; shape++)
        check_bits(&g, shape, shape == LAD ? 0 : 0.02);
    stage_free(&g);
    expect_nothing_left(g.device);
}

/* -- tiles of several chunks ---------------------------------------------------------------- */

/* ||got - wanted|| / ||wanted||, of what is a number in both. */
static double off(const float *got, const float *wanted, size_t count)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(got[i]) && isnan(wanted[i]))
            continue;
        difference += pow((double)got[i] - (double)wanted[i], 2);
        norm += pow((double)wanted[i], 2);
    }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

/* Each tensor of a gradient within `bound`. */
static void check_gradient(const struct rx_pipeline *p, const float *got, const float *wanted,
                           double bound, const char *name)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    size_t count = rx_pipeline_tensors(p, tensors);
    for (size_t i = 0; i < count; i++) {
        double error = off(got + tensors[i].offset, wanted + tensors[i].offset, tensors[i].count);
        cr_expect_leq(error, bound, "%s: %s is off by %g", name, tensors[i].name, error);
    }
}

/* Products in plain loops, of which there are many: their kernels have been looked at above. */
static void quick_linear(const void *given)
{
    const struct rxc_linear *job = given;
    for (size_t i = 0; i < job->pixels * job->outputs; i++) {
        size_t p = i / job->outputs, j = i % job->outputs;
        float sum = 0;
        for (size_t k = 0; k < job->inputs; k++)
            sum += job->in[p * job->inputs + k] * job->w[j * job->inputs + k];
        sum += job->offset != NULL ? job->offset[j] : 0;
        job->out[i] = sum - (job->less != NULL ? job->less[i] : 0);
    }
}

static void quick_cross(const void *given)
{
    const struct rxc_cross *job = given;
    size_t square = (size_t)job->rows * job->columns;
    memset(job->parts, 0, rxc_ranges(job->pixels, job->range) * square * sizeof *job->parts);
    for (size_t p = 0; p < job->pixels; p++)
        for (size_t i = 0; i < square; i++)
            job->parts[p / job->range * square + i] += job->a[p * job->rows + i / job->columns] *
                                                       job->b[p * job->columns + i % job->columns];
}

static enum yp_status give_linear(struct yp_device *device, const struct rxc_linear *job)
{
    (void)device;
    emulated_call(0, quick_linear, job, sizeof *job);
    return YP_OK;
}

static enum yp_status give_cross(struct yp_device *device, const struct rxc_cross *job)
{
    (void)device;
    emulated_call(0, quick_cross, job, sizeof *job);
    return YP_OK;
}

/* The GPU's table with these. */
static const struct rx_cuda *quick_table(void)
{
    static struct rx_cuda quick;
    quick = gpu_table;
    quick.linear = give_linear;
    quick.cross = give_cross;
    return &quick;
}

/* Gradient, scores and logits are the CPU's, each tensor within `bound`. */
static void check_answers(struct stage *g, size_t shape, double by, double bound)
{
    const char *name = shapes[shape].name;
    float *parameters = parameters_for(shape, g, by), *answers[2];
    struct rx_pipeline *here = pipeline_on(yp_device_cpu(), shape, g);
    struct rx_pipeline *on = pipeline_on(g->device, shape, g);
    struct rx_source source = stage_source(g);
    size_t span = span_of(on, &source), places = source.tiles * source.tile_pixels;
    answers[0] = answers_of(here, &source, parameters, SCORE + 1);
    answers[1] = answers_of(on, &source, parameters, SCORE + 1);
    double means[2];
    for (int i = 0; i < 2; i++)
        memcpy(&means[i], answers[i], sizeof *means);
    cr_expect_leq(fabs(means[1] / means[0] - 1), 1e-6, "%s: the loss is %.9g, not %.9g", name,
                  means[1], means[0]);
    check_gradient(on, answers[1] + NUMBERS, answers[0] + NUMBERS, bound, name);
    for (size_t i = 0; i < 2; i++) { /* scores and logits */
        const float *got = answers[1] + span + NUMBERS + i * places;
        const float *wanted = answers[0] + span + NUMBERS + i * places;
        for (size_t at = 0; at < places; at++)
            cr_assert(!isnan(got[at]) == !isnan(wanted[at]), "%s: place %zu is %g, not %g", name,
                      at, (double)got[at], (double)wanted[at]);
        double error = off(got, wanted, places);
        cr_expect_leq(error, 1e-6, "%s: %s are off by %g", name, i == 0 ? "scores" : "logits",
                      error);
    }
    rx_pipeline_destroy(here);
    rx_pipeline_destroy(on);
    for (int i = 0; i < 2; i++)
        free(answers[i]);
    free(parameters);
}

/* One chunk, more channels, and the kernels themselves. Twice what rx_nodes.c allows of either. */
Test(pipeline_cuda, answers_are_the_cpus)
{
    struct stage g = stage_make(700, 12, 300, 3);
    g.host.values[299 * g.host.stride + 11] = NAN;
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int moved = 0; moved < 2; moved++)
            check_answers(&g, shape, moved != 0 ? 0.02 : 0, 8e-6);
    stage_free(&g);
}

/* The first tile's third chunk is one pixel. */
Test(pipeline_cuda, tiles_of_several_chunks)
{
    size_t large = 2 * YPI_RX_DEVICE_CHUNK + 1;
    struct stage g = stage_make(large + 70000, 3, large, 0);
    g.host.values[3 * (YPI_RX_DEVICE_CHUNK + 5) + 1] = NAN;
    g.host.values[3 * (large + YPI_RX_DEVICE_CHUNK + 700)] = INFINITY;
    ypi_rx_set_cuda(quick_table());
    check_answers(&g, RX, 0.02, 1e-6);
    check_answers(&g, PCA, 0.02, 1e-6);
    check_answers(&g, IMAGE, 0.02, 1e-6);
    check_answers(&g, CODER, 0.02, 1e-6);
    stage_free(&g);
}

/* -- memory --------------------------------------------------------------------------------- */

static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* One pipeline's memory, to the byte. */
static void check_memory(const struct rx_pipeline_options *o, const char *name)
{
    struct yp_device *gpu = gpu_open();
    struct yp_memory taken;
    size_t rooms = o->tiles == RX_TILES_COPIED ? 2 : o->tiles == RX_TILES_IN_TURN;
    size_t labels = o->detector != RX_AUTOENCODER ? lines(o->tile_pixels) : 0;
    size_t room = lines(o->tile_pixels * o->channels * sizeof(float)) + labels;
    size_t pinned = rx_pipeline_pinned_bytes(o), here = rx_pipeline_host_bytes(o);
    struct rx_pipeline_options alone = *o;
    alone.tiles = RX_TILES_THERE;
    cr_expect_eq(pinned, rooms * room, "%s: %zu, not %zu", name, pinned, rooms * room);
    cr_expect_eq(rx_pipeline_device_bytes(o),
                 rx_pipeline_device_bytes(&alone) + (rooms == 2 ? room : 0), "%s", name);
    cr_expect_eq(here, rx_pipeline_host_bytes(&alone));
    struct rx_pipeline *p = rx_pipeline_create(gpu, o);
    cr_assert_not_null(p, "%s", yp_last_error());
    yp_device_memory(gpu, &taken);
    cr_expect_eq(taken.allocated, rx_pipeline_device_bytes(o), "%s: %zu there, not %zu", name,
                 (size_t)taken.allocated, rx_pipeline_device_bytes(o));
    cr_expect_eq(emulated.pinned, pinned);
    cr_expect_eq(memory().allocated, here + pinned, "%s: %zu here, not %zu", name,
                 (size_t)memory().allocated, here + pinned);
    rx_pipeline_destroy(p);
    expect_nothing_left(gpu);
}

Test(pipeline_cuda, memory_is_what_was_predicted)
{
    static const size_t kinds[][2] = {{1, 1},   {7, 300},   {33, 1025},
                                      {248, 7}, {3, 65536}, {2, YPI_RX_DEVICE_CHUNK * 3 + 1}};
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (size_t kind = 0; kind < LENGTH(kinds); kind++)
            for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++)
                for (int threads = 0; threads < 8; threads += 7) {
                    struct rx_pipeline_options o = shapes[shape].options;
                    o.channels = kinds[kind][0];
                    o.tile_pixels = kinds[kind][1];
                    o.components = o.components < o.channels ? o.components : o.channels;
                    o.hidden = o.hidden < o.channels ? o.hidden : o.channels;
                    o.threads = threads; /* of no matter */
                    o.tiles = (enum rx_tiles)tiles;
                    check_memory(&o, shapes[shape].name);
                }
}

/* A source of three tiles, and the right answers to all calls of it. */
struct subject {
    struct stage stage;
    struct rx_source source;
    float *parameters, *right;
    size_t span;
};

static void subject_begin(struct subject *s, size_t shape, int tiles)
{
    struct stage *g = &s->stage;
    *g = stage_make(2 * 24 + 7, 4, 24, 1);
    g->host.values[30 * g->host.stride + 2] = NAN;
    stage_send(g);
    g->tiles = (enum rx_tiles)tiles;
    s->source = stage_source(g);
    s->source.arg = g;
    s->parameters = parameters_for(shape, g, 0.02);
    emulated.order = EMULATED_AT_ONCE;
    ypi_rx_set_cuda(quick_table());
    struct rx_pipeline *p = pipeline_on(g->device, shape, g);
    s->span = span_of(p, &s->source);
    s->right = answers_of(p, &s->source, s->parameters, CALLS);
    rx_pipeline_destroy(p);
    emulated.order = EMULATED_LATE;
}

static void subject_end(struct subject *s)
{
    free(s->parameters);
    free(s->right);
    stage_free(&s->stage);
}

/* Nothing takes more than create() has. */
Test(pipeline_cuda, calls_take_no_memory)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct subject s;
        struct yp_memory before, after;
        subject_begin(&s, shape, RX_TILES_COPIED);
        struct rx_pipeline *p = pipeline_on(s.stage.device, shape, &s.stage);
        struct yp_memory here = memory();
        yp_device_memory(s.stage.device, &before);
        free(answers_of(p, &s.source, s.parameters, CALLS));
        yp_device_memory(s.stage.device, &after);
        cr_expect_eq(after.allocations, before.allocations, "%s", shapes[shape].name);
        cr_expect_eq(memory().allocations, here.allocations, "%s", shapes[shape].name);
        rx_pipeline_destroy(p);
        subject_end(&s);
    }
}

/* Each request of `device` refused in turn until there is none; how many there are. */
static int refusals(struct subject *s, size_t shape, struct yp_device *device)
{
    struct yp_device *gpu = s->stage.device;
    struct rx_pipeline_options o = options_for(shape, &s->stage);
    struct yp_memory before, now;
    yp_device_memory(gpu, &before);
    for (int n = 1;; n++) {
        yp_device_fail_allocation(device, (uint64_t)n);
        struct rx_pipeline *p = rx_pipeline_create(gpu, &o);
        yp_device_fail_allocation(device, 0);
        if (p != NULL) {
            float *got = answers_of(p, &s->source, s->parameters, CALLS);
            expect_same(s->right, got, CALLS, s->span, "after a refusal");
            free(got);
            rx_pipeline_destroy(p);
            return n - 1;
        }
        cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        cr_expect_not_null(strstr(yp_last_error(), "out of memory"), "%s", yp_last_error());
        yp_device_memory(gpu, &now);
        cr_expect_eq(now.allocated, before.allocated);
        cr_expect_eq(memory().allocated, 0);
        cr_expect_eq(emulated.pinned, 0);
        cr_expect_eq(emulated.events, 0);
        for (int i = 1; i < EMULATED_STREAMS; i++)
            cr_expect_not(emulated.streams[i].open);
    }
}

Test(pipeline_cuda, out_of_memory_is_an_answer)
{
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++) {
            struct subject s;
            subject_begin(&s, shape, tiles);
            cr_expect_eq(refusals(&s, shape, s.stage.device), 1);
            cr_expect_eq(refusals(&s, shape, yp_device_cpu()), tiles == RX_TILES_THERE ? 1 : 2);
            subject_end(&s);
        }
}

/* -- what fails ------------------------------------------------------------------------------ */

/* A GPU that refuses the request that is `left` requests away; 0: none. */
static unsigned left;
static const char *refused; /* what that was, NULL: nothing */

static bool refuses(const char *what)
{
    if (left == 0 || --left > 0)
        return false;
    refused = what;
    (void)yp_set_error(YP_DEVICE_FAULT, "no %s today", what);
    return true;
}

#define FRAGILE_WORK(name_, type_, by_) \
    static enum yp_status fragile_##name_(struct yp_device *device, const struct rxc_##type_ *job) \
    { \
        return refuses(#name_) ? YP_DEVICE_FAULT : by_(device, job); \
    }
FRAGILE_WORK(gram, gram, gpu_table.gram)
FRAGILE_WORK(merge, merge, gpu_table.merge)
FRAGILE_WORK(quadratic, quadratic, gpu_table.quadratic)
FRAGILE_WORK(add_loss, loss, gpu_table.add_loss)
FRAGILE_WORK(factor, factor, gpu_table.factor)
FRAGILE_WORK(gather, gather, gpu_table.gather)
FRAGILE_WORK(linear, linear, give_linear)
FRAGILE_WORK(dots, dots, gpu_table.dots)
FRAGILE_WORK(columns, columns, gpu_table.columns)
FRAGILE_WORK(cross, cross, give_cross)
FRAGILE_WORK(parts, parts, gpu_table.parts)

static const struct rx_cuda fragile_table = {.gram = fragile_gram,
                                             .merge = fragile_merge,
                                             .quadratic = fragile_quadratic,
                                             .add_loss = fragile_add_loss,
                                             .factor = fragile_factor,
                                             .gather = fragile_gather,
                                             .linear = fragile_linear,
                                             .dots = fragile_dots,
                                             .columns = fragile_columns,
                                             .cross = fragile_cross,
                                             .parts = fragile_parts};

static enum yp_status fragile_copy(struct yp_device *device, void *to, const void *from,
                                   size_t bytes)
{
    return refuses("copy") ? YP_DEVICE_FAULT : emulated_backend.copy(device, to, from, bytes);
}

static enum yp_status fragile_stream_copy(struct yp_stream *stream, void *to, const void *from,
                                          size_t bytes)
{
    return refuses("stream_copy") ? YP_DEVICE_FAULT
                                  : emulated_backend.stream_copy(stream, to, from, bytes);
}

static enum yp_status fragile_stream_wait(struct yp_stream *stream, struct yp_event *event)
{
    return refuses("stream_wait") ? YP_DEVICE_FAULT : emulated_backend.stream_wait(stream, event);
}

static enum yp_status fragile_event_record(struct yp_event *event, struct yp_stream *stream)
{
    return refuses("event_record") ? YP_DEVICE_FAULT : emulated_backend.event_record(event, stream);
}

static enum yp_status fragile_event_synchronize(struct yp_event *event)
{
    return refuses("event_synchronize") ? YP_DEVICE_FAULT
                                        : emulated_backend.event_synchronize(event);
}

static struct yp_stream *fragile_stream_create(struct yp_device *device)
{
    return refuses("stream") ? NULL : emulated_backend.stream_create(device);
}

static struct yp_event *fragile_event_create(struct yp_device *device)
{
    return refuses("event") ? NULL : emulated_backend.event_create(device);
}

static const char *const requests[] = {"gram",
                                       "merge",
                                       "quadratic",
                                       "add_loss",
                                       "factor",
                                       "gather",
                                       "linear",
                                       "dots",
                                       "columns",
                                       "cross",
                                       "parts",
                                       "copy",
                                       "stream_copy",
                                       "event",
                                       "event_record",
                                       "stream_wait",
                                       "event_synchronize",
                                       "stream"};

/* How often each has been refused. */
static unsigned refused_so_far[LENGTH(requests)];

static struct yp_device *fragile_open(void)
{
    static struct ypi_backend backend;
    static struct yp_device device = {.backend = &backend};
    backend = emulated_backend;
    backend.copy = fragile_copy;
    backend.stream_copy = fragile_stream_copy;
    backend.stream_wait = fragile_stream_wait;
    backend.event_record = fragile_event_record;
    backend.event_synchronize = fragile_event_synchronize;
    backend.stream_create = fragile_stream_create;
    backend.event_create = fragile_event_create;
    ypi_rx_set_cuda(&fragile_table);
    return &device;
}

/* The last call failed for what was refused, and says so; false: nothing was. */
static bool was_refused(enum yp_status status, const char *name)
{
    char wanted[64];
    left = 0;
    if (refused == NULL)
        return false;
    snprintf(wanted, sizeof wanted, "no %s today", refused);
    cr_expect_eq(status, YP_DEVICE_FAULT, "%s: %s was refused", name, refused);
    cr_expect_str_eq(yp_last_error(), wanted, "%s", name);
    for (size_t i = 0; i < LENGTH(requests); i++)
        refused_so_far[i] += strcmp(refused, requests[i]) == 0;
    refused = NULL;
    return true;
}

/* Everything that a call asks of the GPU, refused in turn; the call after it is right. */
static void check_refused_calls(struct subject *s, struct rx_pipeline *p, enum call which)
{
    float *got = block(s->span, sizeof *got);
    const float *right = s->right + (size_t)which * s->span;
    for (unsigned n = 1;; n++) {
        left = n;
        enum yp_status status = ask(which, p, &s->source, s->parameters, got);
        if (!was_refused(status, call_names[which]))
            break;
        expect_idle(&s->stage);
        OK(ask(which, p, &s->source, s->parameters, got));
        cr_expect_eq(memcmp(got, right, s->span * sizeof *got), 0, "%s: other bits after %u",
                     call_names[which], n);
    }
    free(got);
}

static struct rx_pipeline *check_refused_creation(struct subject *s, size_t shape)
{
    struct rx_pipeline_options o = options_for(shape, &s->stage);
    struct yp_device *device = fragile_open();
    for (unsigned n = 1;; n++) {
        left = n;
        struct rx_pipeline *p = rx_pipeline_create(device, &o);
        if (!was_refused(p == NULL ? yp_last_status() : YP_OK, "create")) {
            cr_assert_not_null(p, "%s", yp_last_error());
            return p;
        }
        cr_expect_null(p);
        expect_nothing_left(device);
    }
}

Test(pipeline_cuda, whatever_the_gpu_refuses_ends_the_call)
{
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++) {
            struct subject s;
            subject_begin(&s, shape, tiles);
            struct rx_pipeline *p = check_refused_creation(&s, shape);
            for (size_t i = 0; i < CALLS; i++)
                if (i != TRAIN && (tiles == RX_TILES_COPIED || i == GRADIENT))
                    check_refused_calls(&s, p, (enum call)i);
            rx_pipeline_destroy(p);
            subject_end(&s);
        }
    for (size_t i = 0; i < LENGTH(requests); i++)
        cr_expect_gt(refused_so_far[i], 0, "no %s was ever refused", requests[i]);
}

/* A yielder's failure is the call's. */
Test(pipeline_cuda, a_tile_that_fails_ends_the_call)
{
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++)
            for (int copy = 0; copy < 2; copy++) {
                struct subject s;
                subject_begin(&s, shape, tiles);
                struct rx_pipeline *p = pipeline_on(s.stage.device, shape, &s.stage);
                float *got = block(s.span, sizeof *got);
                s.stage.host.copy = copy != 0;
                for (size_t i = 0; i < CALLS; i++) {
                    if (i == CALIBRATE && shape == CODER)
                        continue; /* nothing to do */
                    s.stage.host.fail_from = 2;
                    FAILS(ask((enum call)i, p, &s.source, s.parameters, got), YP_IO,
                          "tile 2 cannot be read");
                    expect_idle(&s.stage);
                    s.stage.host.fail_from = 0;
                    OK(ask((enum call)i, p, &s.source, s.parameters, got));
                    cr_expect_eq(memcmp(got, s.right + i * s.span, s.span * sizeof *got), 0,
                                 "%s: %s", shapes[shape].name, call_names[i]);
                }
                free(got);
                rx_pipeline_destroy(p);
                subject_end(&s);
            }
}

/* -- refusals ------------------------------------------------------------------------------- */

/* The create function and those that tell its memory, each by its own name. */
static void check_refusal(const struct rx_pipeline_options *o, enum yp_status status,
                          const char *words)
{
    const struct {
        const char *name;
        size_t (*bytes)(const struct rx_pipeline_options *options);
    } all[] = {{"rx_pipeline_device_bytes: ", rx_pipeline_device_bytes},
               {"rx_pipeline_pinned_bytes: ", rx_pipeline_pinned_bytes},
               {"rx_pipeline_host_bytes: ", rx_pipeline_host_bytes}};
    for (size_t i = 0; i < LENGTH(all); i++) {
        cr_expect_eq(all[i].bytes(o), 0);
        FAILS(yp_last_status(), status, words);
        cr_expect_eq(strstr(yp_last_error(), all[i].name), yp_last_error(), "%s", yp_last_error());
    }
    REFUSED(rx_pipeline_create(gpu_open(), o), words);
    cr_expect_eq(yp_last_status(), status);
    cr_expect_eq(strstr(yp_last_error(), "rx_pipeline_create: "), yp_last_error(), "%s",
                 yp_last_error());
}

Test(pipeline_cuda, what_is_not_allowed_is_said)
{
    static const struct {
        struct rx_pipeline_options options;
        enum yp_status status;
        const char *words;
    } wrong[] = {
        {{.channels = 249, .tile_pixels = 9},
         YP_UNSUPPORTED,
         "channels is 249, a GPU takes 1 to 248"},
        {{.channels = 8193, .tile_pixels = 9}, YP_INVALID, "channels is 8193"},
        {{.channels = 0, .tile_pixels = 9}, YP_INVALID, "channels is 0"},
        {{.channels = 4, .tile_pixels = 0}, YP_INVALID, "tile_pixels is 0"},
        {{.channels = 4, .tile_pixels = 9, .tiles = (enum rx_tiles)3}, YP_INVALID, "tiles is 3"},
        {{.channels = 4, .tile_pixels = 9, .threads = -1}, YP_INVALID, "threads is -1"},
        {{.channels = 4, .tile_pixels = 9, .detector = RX_IMAGE}, YP_INVALID, "eps is 0"},
        {{.channels = 4, .tile_pixels = 9, .components = 5}, YP_INVALID, "components is 5"},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        check_refusal(&wrong[i].options, wrong[i].status, wrong[i].words);
    check_refusal(NULL, YP_INVALID, "options is NULL");
    const struct rx_pipeline_options most = {.channels = 248, .tile_pixels = 9, .components = 248};
    struct yp_device *gpu = gpu_open();
    struct rx_pipeline *p = rx_pipeline_create(gpu, &most);
    cr_expect_not_null(p, "%s", yp_last_error());
    rx_pipeline_destroy(p);
    ypi_rx_set_cuda(NULL); /* no kernels */
    setenv("YIELDPOINT_PLUGINS", "/nowhere", 1);
    REFUSED(rx_pipeline_create(gpu, &most), RXC_PLUGIN);
    cr_expect_eq(yp_last_status(), YP_UNSUPPORTED);
    expect_nothing_left(gpu);
}

/* Sources and tiles are asked as on the CPU. */
Test(pipeline_cuda, sources_that_are_wrong_are_refused)
{
    for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++) {
        struct subject s;
        subject_begin(&s, RX, tiles);
        struct rx_pipeline *p = pipeline_on(s.stage.device, RX, &s.stage);
        float *got = block(s.span, sizeof *got);
        struct rx_source wrong = s.source;
        wrong.channels = 5;
        FAILS(ask(GRADIENT, p, &wrong, s.parameters, got), YP_INVALID, "channels is 5");
        wrong = s.source;
        wrong.tile_pixels = 1; /* the yielder has more */
        FAILS(ask(GRADIENT, p, &wrong, s.parameters, got), YP_INVALID, "has 24 pixels");
        uint8_t *labels = s.stage.labels, *host = s.stage.host.labels;
        s.stage.host.labels = NULL;
        for (int call = GRADIENT; tiles != RX_TILES_THERE && call < CALLS; call++)
            if (call != SCORE && call != CALIBRATE)
                FAILS(ask((enum call)call, p, &s.source, s.parameters, got), YP_INVALID,
                      "tile 0 has no labels");
        OK(ask(SCORE, p, &s.source, s.parameters, got));
        s.stage.labels = labels;
        s.stage.host.labels = host;
        OK(ask(GRADIENT, p, &s.source, s.parameters, got));
        cr_expect_eq(memcmp(got, s.right, s.span * sizeof *got), 0);
        rx_pipeline_destroy(p);
        free(got);
        subject_end(&s);
    }
}

/* -- the statistical phase, and training ----------------------------------------------------- */

/* All of it where the tiles are: the detector's parameters too. */
Test(pipeline_cuda, the_statistical_phase_is_the_cpus)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct stage g = stage_make(1000, 6, 300, 2);
        stage_send(&g);
        float *wanted = NULL;
        for (int tiles = -1; tiles <= (int)RX_TILES_IN_TURN; tiles++) {
            g.tiles = tiles < 0 ? RX_TILES_COPIED : (enum rx_tiles)tiles; /* before: of the CPU */
            struct yp_device *device = tiles < 0 ? yp_device_cpu() : g.device;
            struct rx_pipeline *p = pipeline_on(device, shape, &g);
            const struct rx_options options = {.tiles = g.tiles};
            struct rx *rx = rx_create_with(device, 6, 300, 1, &options);
            struct rx_source source = stage_source(&g);
            float *got = block(rx_pipeline_parameters(p), sizeof *got);
            OK(rx_pipeline_fit(p, rx, &source, got, NULL));
            for (size_t k = 0; k < p->options.components; k++)
                got[p->places.mu + k] += 1; /* it is 0 but for rounding */
            if (wanted == NULL)
                wanted = got;
            else
                check_gradient(p, got, wanted, 2e-5, shapes[shape].name);
            if (got != wanted)
                free(got);
            rx_destroy(rx);
            rx_pipeline_destroy(p);
        }
        free(wanted);
        stage_free(&g);
        expect_nothing_left(g.device);
    }
}

static struct train_config training(void)
{
    struct train_config config = train_defaults();
    config.seed = 3;
    config.epochs = 2;
    config.batch = 2;
    config.accumulate = 2;
    config.adamw.lr = 0.01;
    return config;
}

/* Trains for so many steps (0: all), from the file or, without one, from `parameters`; then to the
 * file, if there is one. The parameters that come out are new. */
static float *trained(struct stage *g, size_t shape, struct yp_device *device,
                      const float *parameters, const char *from, const char *to, uint64_t steps)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx_pipeline *p = pipeline_on(device, shape, g);
    struct rx_objective objective = rx_pipeline_objective(p, tensors);
    struct train_config config = training();
    struct rx_source source = stage_source(g);
    objective.targets = objective.no_logits ? 0 : 100;
    objective.identity = 7;
    source.tiles--;
    struct rx_training *training =
        rx_training_create(yp_device_cpu(), &objective, &source, 1, &config);
    cr_assert_not_null(training, "%s", yp_last_error());
    struct train *train = rx_training_trainer(training);
    OK(from != NULL ? train_resume(train, from) : train_begin(train, parameters));
    OK(train_run(train, steps));
    if (to != NULL)
        OK(train_save(train, to));
    struct train_state state;
    train_state(train, &state);
    cr_expect_eq(state.end, steps == 0 ? TRAIN_ALL_EPOCHS : TRAIN_NOT_ENDED);
    cr_expect(state.skipped == 0 && (steps == 0 ? state.step == 6 : state.step == steps));
    float *out = block(objective.parameters, sizeof *out);
    memcpy(out, train_parameters(train), objective.parameters * sizeof *out);
    rx_training_destroy(training);
    rx_pipeline_destroy(p);
    return out;
}

/* Each tensor is where the CPU's is, seen by how far that has come. */
static void check_trained(const struct rx_pipeline *p, const float *start, const float *here,
                          const float *got, const char *name)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    size_t count = rx_pipeline_tensors(p, tensors);
    for (size_t i = 0; i < count; i++) {
        size_t at = tensors[i].offset;
        double moved = off(here + at, start + at, tensors[i].count);
        double error = off(got + at, here + at, tensors[i].count);
        cr_expect_gt(moved, 0);
        cr_expect_leq(error, 1e-4 * moved, "%s: %s is %g off, training moved it by %g", name,
                      tensors[i].name, error, moved);
    }
}

static void check_training(struct stage *g, size_t shape, const char *path)
{
    const char *name = shapes[shape].name;
    float *start = parameters_for(shape, g, 0.02);
    float *here = trained(g, shape, yp_device_cpu(), start, NULL, NULL, 0);
    struct rx_pipeline *p = pipeline_on(yp_device_cpu(), shape, g);
    size_t bytes = rx_pipeline_parameters(p) * sizeof *start;
    for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++) {
        g->tiles = (enum rx_tiles)tiles;
        float *whole = trained(g, shape, g->device, start, NULL, NULL, 0);
        check_trained(p, start, here, whole, name);
        for (uint64_t steps = 1; steps < 6; steps += 2) {
            free(trained(g, shape, g->device, start, NULL, path, steps));
            float *resumed = trained(g, shape, g->device, NULL, path, NULL, 0);
            cr_expect_eq(memcmp(resumed, whole, bytes), 0, "%s, tiles %d, stopped after %d", name,
                         tiles, (int)steps);
            free(resumed);
        }
        free(whole);
    }
    g->tiles = RX_TILES_COPIED;
    rx_pipeline_destroy(p);
    free(here);
    free(start);
}

Test(pipeline_cuda, training_is_the_cpus_and_can_be_resumed)
{
    char directory[] = "/tmp/rx_pipeline_cuda.XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/checkpoint", directory);
    struct stage g = stage_make(13 * 40, 4, 40, 1);
    g.host.values[50 * g.host.stride] = NAN;
    stage_send(&g);
    ypi_rx_set_cuda(quick_table());
    for (size_t shape = 0; shape < SHAPES; shape++)
        check_training(&g, shape, path);
    stage_free(&g);
    unlink(path);
    cr_expect_eq(rmdir(directory), 0);
}

/* -- images without a factor ----------------------------------------------------------------- */

/* All calls of the source fail alike on the GPU and on the CPU, and tell of that image. */
static void check_no_factor(struct stage *g, struct rx_pipeline *on, const float *parameters,
                            size_t image)
{
    char wanted[64], told[512];
    enum rx_tiles tiles = g->tiles;
    struct rx_source source = stage_source(g);
    struct rx_pipeline *here = rx_pipeline_create(yp_device_cpu(), &on->options);
    cr_assert_not_null(here, "%s", yp_last_error());
    float *got = block(span_of(on, &source), sizeof *got);
    snprintf(wanted, sizeof wanted, "the covariance of image %zu with eps", image);
    for (int call = 0; call < CALLS; call++) {
        g->tiles = RX_TILES_COPIED;
        FAILS(ask((enum call)call, here, &source, parameters, got), YP_INVALID, wanted);
        g->tiles = tiles;
        snprintf(told, sizeof told, "%s", yp_last_error());
        FAILS(ask((enum call)call, on, &source, parameters, got), YP_INVALID,
              "not positive definite");
        cr_expect_str_eq(yp_last_error(), told);
        expect_idle(g);
    }
    free(got);
    rx_pipeline_destroy(here);
}

Test(pipeline_cuda, the_first_image_without_a_factor_is_told)
{
    struct stage g = stage_make(5 * 40, 4, 40, 0);
    struct rx_pipeline_options o = {
        .channels = 4, .tile_pixels = 40, .threads = 1, .detector = RX_IMAGE, .eps = 1e-6};
    for (size_t p = 2 * 40; p < 5 * 40; p++) { /* images 2 to 4: two channels are one */
        g.host.values[4 * p] *= 1000;
        g.host.values[4 * p + 3] = g.host.values[4 * p];
    }
    stage_send(&g);
    emulated.order = EMULATED_LATE;
    for (int tiles = RX_TILES_THERE; tiles <= RX_TILES_IN_TURN; tiles++) {
        o.tiles = g.tiles = (enum rx_tiles)tiles;
        struct rx_pipeline *p = rx_pipeline_create(g.device, &o);
        cr_assert_not_null(p, "%s", yp_last_error());
        check_no_factor(&g, p, (float[]){1, 3}, 2); /* of the logit */
        rx_pipeline_destroy(p);
    }
    stage_free(&g);
}

/* Values whose squares float does not have, in one channel or in all. */
Test(pipeline_cuda, an_infinite_variance_leaves_no_factor)
{
    for (size_t channels = 1; channels < 4; channels++)
        for (size_t huge = 1; huge <= channels; huge++) {
            struct stage g = stage_make(3 * 40, channels, 40, 0);
            struct rx_pipeline_options o = {
                .channels = channels, .tile_pixels = 40, .detector = RX_IMAGE, .eps = 1e-3};
            for (size_t p = 40; p < 80; p++)
                for (size_t c = 0; c < huge; c++)
                    g.host.values[p * channels + c] *= 1e25F;
            o.tiles = g.tiles;
            struct rx_pipeline *p = rx_pipeline_create(g.device, &o);
            cr_assert_not_null(p, "%s", yp_last_error());
            check_no_factor(&g, p, (float[]){1, 3}, 1);
            rx_pipeline_destroy(p);
            stage_free(&g);
        }
}

/* min, max; logits; temperature; scale, bias: channels are multiplied by about 1e6. */
static const float steep[] = {3, 3, 0, 0, 0, 0, 0.8F, 1e-12F, 4};

/* A pixel that is finite, and where the detector sees it no more. */
Test(pipeline_cuda, a_pixel_that_overflows_on_its_way_leaves_no_factor)
{
    struct stage g = stage_make(4 * 40, 4, 40, 0);
    struct rx_source source = stage_source(&g);
    struct rx_pipeline *p = pipeline_on(g.device, IMAGE, &g);
    size_t span = span_of(p, &source);
    g.host.values[4 * 50 + 1] = NAN; /* which is no failure */
    float *right = answers_of(p, &source, steep, CALLS);
    for (size_t channel = 0; channel < 4; channel++)
        for (int sign = -1; sign <= 1; sign += 2) {
            float *at = &g.host.values[4 * (2 * 40 + 17 + channel) + channel], before = *at;
            *at = (float)sign * 1e35F;
            check_no_factor(&g, p, steep, 2);
            *at = before;
            float *got = answers_of(p, &source, steep, CALLS);
            expect_same(right, got, CALLS, span, "after an image without a factor");
            free(got);
        }
    rx_pipeline_destroy(p);
    free(right);
    stage_free(&g);
}
