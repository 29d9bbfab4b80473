/* Kernels of quadratic forms and of sums over rows against loops in double. */
#include "tests/unit/rx/rx_arrays.h"

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
                                .target = d->target,
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
