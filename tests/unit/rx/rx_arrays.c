#include "tests/unit/rx/rx_arrays.h"

/* Arrays of a kernel alone: each ends where a page ends, and the one behind it is nobody's, so that
 * who reads or writes further dies. What lies before it in its first page stays garbage. */
enum { ARRAYS_MAX = 16 };
static struct {
    char *from;
    size_t bytes;
} arrays[ARRAYS_MAX];
static size_t arrays_there;

/* Around the sizes of blocks and of what they read at once. */
const unsigned sizes[13] = {1, 15, 16, 17, 18, 63, 64, 65, 66, 128, 129, 200, 248};

/* A copy of it on the GPU; of NULL garbage. */
void *there(const void *from, size_t bytes)
{
    size_t pages = (bytes + EMULATED_PAGE - 1) / EMULATED_PAGE * EMULATED_PAGE,
           before = pages - bytes;
    char *to = yp_device_alloc(gpu_open(), pages + EMULATED_PAGE);
    cr_assert(to != NULL && arrays_there < ARRAYS_MAX);
    emulated_block(to)->reachable = pages; /* the last page stays as it is: not to be touched */
    if (from != NULL)
        OK(yp_device_copy(gpu_open(), to + before, from, bytes));
    arrays[arrays_there].from = to;
    arrays[arrays_there++].bytes = bytes;
    return to + before;
}

void fetch(void *to, const void *from, size_t bytes)
{
    OK(yp_device_copy(gpu_open(), to, from, bytes));
}

/* Gives all of them back. */
void all_back(void)
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

float *normals(size_t count, uint64_t *state)
{
    float *x = block(count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)normal(state);
    return x;
}

/* What `roundings` to float do to a sum of that size at most. */
double within(double roundings, double size)
{
    return roundings * 0x1p-24 * size;
}

/* The largest part of what was allowed so far; NaN is too much. */
void note(double *worst, double off, double allowed)
{
    double part = off == 0 ? 0 : fabs(off) / allowed;
    if (!(part <= *worst))
        *worst = isnan(part) ? INFINITY : part;
}

struct dots dots_make(size_t pixels, unsigned width, size_t how)
{
    uint64_t state = pixels * 1000 + width;
    size_t count = pixels * width, blocks = rxc_pixel_blocks(pixels);
    struct dots d = {.pixels = pixels,
                     .width = width,
                     .given = how < 3,
                     .own = how % 3 == 1,
                     .judged = how % 3 == 2,
                     .factor = 0.3F,
                     .target = 2.5F,
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

void dots_free(struct dots *d)
{
    void *const all[] = {d->a, d->b, d->scores, d->g, d->keep, d->labels, d->sums, d->kept};
    for (size_t i = 0; i < LENGTH(all); i++)
        free(all[i]);
}

/* What a pixel adds to its block's sums, and what each may be off by: from the score that came. */
void dots_pixel(const struct dots *d, size_t p, double sums[3], double allowed[3], double *worst)
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
    double weight = target ? 10 * (double)d->target : 10;
    double loss = weight * (fmax(wrong, 0) + log1p(exp(-fabs(wrong))));
    double slope = weight * (target ? -1 / (1 + exp(l)) : 1 / (1 + exp(-l)));
    /* l has two roundings, which a slope of up to 10 makes those of the loss. */
    double roundings = 2 * fabs(l) + 7;
    double tiny = weight / 10 * (double)FLT_MIN; /* where a sigmoid is lost */
    sums[0] += loss;
    sums[1] += slope;
    sums[2] += slope * away;
    allowed[0] += within(2 * weight, fabs(l)) + within(7, loss) + tiny;
    allowed[1] += within(roundings, fabs(slope)) + tiny;
    allowed[2] += within(roundings, fabs(slope * away)) + tiny;
    note(worst, (double)d->g[p] - slope * scale, within(roundings, fabs(slope * scale)) + tiny);
}

/* What blocks have made of the scores that came: sums, counts and g. */
void check_judged(const struct dots *d, double *worst)
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
