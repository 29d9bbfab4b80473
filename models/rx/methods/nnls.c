#include "models/rx/methods/nnls.h"

#include "models/rx/internal.h"

#include <math.h>
#include <string.h>

#define MOST RX_NNLS_MAX_SPECTRA
#define LANES 8           /* spectra whose products with a pixel are summed together */
#define LEAST_PIVOT 1e-12 /* of spectra of length 1: the square of what the others leave of one */
#define ROUNDING 0x1p-47  /* 32 units in the last place */

struct rx_nnls {
    struct yp_device *device;
    size_t count, channels, tile_pixels;
    int threads;
    bool sum_to_one;
    double added;      /* where the sum is held, the square of what every spectrum and pixel has in
                          one channel more: it changes no minimum, but then spectra that make up each
                          other are told apart by their sums. Else 0 */
    size_t used;       /* channels with a weight */
    uint32_t *channel; /* (used): which they are */
    double *offset;    /* (used) */
    double *weighted;  /* (groups of LANES spectra, used, LANES): W^(1/2) twice, over the length */
    double *gram;      /* (MOST, MOST): of the spectra, which have length 1 */
    double *inverse;   /* (MOST): 1 / length of a spectrum */
    float *values;     /* (threads, tile_pixels, channels) */
    struct rx_nnls_report *reports; /* (threads) */
};

/* -- one pixel ---------------------------------------------------------------------------- */

/* Minimise z^T H z / 2 - h^T z, z >= 0, and u^T z = 1 where the sum is held. H is gram. */
struct search {
    const struct rx_nnls *nnls;
    double h[MOST], z[MOST];
    double lambda; /* the multiplier of the sum: H z - h = lambda u on the chosen; else 0 */
    size_t chosen[MOST], size;
    bool is_chosen[MOST], barred[MOST];
};

/* R of H = R^T R over the chosen, row k of the transpose in lower[k]. False when the last of them
 * is made up of the others. */
static bool factor(const struct search *s, double lower[MOST][MOST])
{
    for (size_t i = 0; i < s->size; i++) {
        const double *row = s->nnls->gram + s->chosen[i] * MOST;
        for (size_t j = 0; j <= i; j++) {
            double sum = row[s->chosen[j]];
            for (size_t k = 0; k < j; k++)
                sum -= lower[i][k] * lower[j][k];
            if (i == j && !(sum > LEAST_PIVOT))
                return false;
            lower[i][j] = i == j ? sqrt(sum) : sum / lower[j][j];
        }
    }
    return true;
}

/* Solves with the factor; `of` is indexed by spectra, the result by places among the chosen. */
static void solve(const struct search *s, double lower[MOST][MOST], const double *of, double *out)
{
    for (size_t i = 0; i < s->size; i++) {
        double sum = of[s->chosen[i]];
        for (size_t k = 0; k < i; k++)
            sum -= lower[i][k] * out[k];
        out[i] = sum / lower[i][i];
    }
    for (size_t i = s->size; i-- > 0;) {
        double sum = out[i];
        for (size_t k = i + 1; k < s->size; k++)
            sum -= lower[k][i] * out[k];
        out[i] = sum / lower[i][i];
    }
}

/* The minimum over the chosen without the sign condition. */
static bool minimum(struct search *s, double *out)
{
    double lower[MOST][MOST], one[MOST];
    const double *u = s->nnls->inverse;
    if (!factor(s, lower))
        return false;
    solve(s, lower, s->h, out);
    s->lambda = 0;
    if (!s->nnls->sum_to_one)
        return true;
    double sum = 0, each = 0;
    solve(s, lower, u, one);
    for (size_t i = 0; i < s->size; i++) {
        sum += u[s->chosen[i]] * out[i];
        each += u[s->chosen[i]] * one[i];
    }
    s->lambda = (1 - sum) / each;
    for (size_t i = 0; i < s->size; i++)
        out[i] += s->lambda * one[i];
    return true;
}

static void choose(struct search *s, size_t spectrum)
{
    s->chosen[s->size++] = spectrum;
    s->is_chosen[spectrum] = true;
}

/* Keeps the others in order. */
static void leave(struct search *s, size_t place)
{
    s->is_chosen[s->chosen[place]] = false;
    s->z[s->chosen[place]] = 0;
    memmove(s->chosen + place, s->chosen + place + 1, (s->size - place - 1) * sizeof *s->chosen);
    s->size--;
}

/* The spectrum along which the sum of squares falls fastest; MOST: none, this is the minimum. */
static size_t steepest(const struct search *s)
{
    size_t count = s->nnls->count, best = MOST;
    double size = 0, most = 0;
    for (size_t k = 0; k < count; k++)
        size = fmax(size, fabs(s->h[k]) + fabs(s->lambda) * s->nnls->inverse[k]);
    for (size_t i = 0; i < s->size; i++)
        size += s->z[s->chosen[i]];
    for (size_t k = 0; k < count; k++) {
        if (s->is_chosen[k] || s->barred[k])
            continue;
        double fall = s->h[k] + s->lambda * s->nnls->inverse[k];
        for (size_t i = 0; i < s->size; i++)
            fall -= s->nnls->gram[k * MOST + s->chosen[i]] * s->z[s->chosen[i]];
        if (fall > most) {
            most = fall;
            best = k;
        }
    }
    return most > ROUNDING * size ? best : MOST;
}

/* Goes from z towards `to` as far as no sign changes; leaves the spectra that reach 0. */
static void step(struct search *s, const double *to)
{
    double share = 1;
    size_t first = 0;
    for (size_t i = 0; i < s->size; i++) {
        double z = s->z[s->chosen[i]];
        if (to[i] <= 0 && z <= share * (z - to[i])) {
            share = z / (z - to[i]);
            first = i;
        }
    }
    for (size_t i = 0; i < s->size; i++) {
        double *z = &s->z[s->chosen[i]];
        *z += share * (to[i] - *z);
    }
    s->z[s->chosen[first]] = 0;
    for (size_t i = s->size; i-- > 0;)
        if (s->z[s->chosen[i]] <= 0)
            leave(s, i);
}

static bool all_positive(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] > 0))
            return false;
    return true;
}

/* The one spectrum that is best with a share of 1. */
static void begin_on_sum(struct search *s)
{
    size_t best = 0;
    double least = INFINITY, z = 0;
    for (size_t k = 0; k < s->nnls->count; k++) {
        double length = 1 / s->nnls->inverse[k], sum = length * (length / 2 - s->h[k]);
        if (sum < least) {
            least = sum;
            best = k;
        }
    }
    choose(s, best);
    minimum(s, &z);
    s->z[best] = z;
}

/* Takes `next` in, and others out until nothing is negative. A spectrum whose part would be
 * negative at once, by rounding, or which the chosen make up, is barred until z moves. */
static void exchange(struct search *s, size_t next, size_t *left)
{
    double to[MOST], lambda = s->lambda;
    choose(s, next);
    if (!minimum(s, to) || !(to[s->size - 1] > 0)) {
        leave(s, s->size - 1);
        s->barred[next] = true;
        s->lambda = lambda;
        return;
    }
    memset(s->barred, 0, sizeof s->barred);
    while (!all_positive(to, s->size) && *left > 0) {
        step(s, to);
        minimum(s, to);
        (*left)--;
    }
    for (size_t i = 0; i<s->size && * left> 0; i++)
        s->z[s->chosen[i]] = to[i];
}

/* False when it did not come to an end. */
static bool descend(struct search *s)
{
    size_t left = 10 * s->nnls->count, next = 0;
    if (s->nnls->sum_to_one)
        begin_on_sum(s);
    while (left > 0 && (next = steepest(s)) != MOST) {
        exchange(s, next, &left);
        left -= left > 0;
    }
    return next == MOST;
}

/* h = the products of a pixel with the spectra; false when one of its values is not finite. */
static bool products(const struct rx_nnls *nnls, const float *pixel, double *h)
{
    for (size_t k = 0; k < nnls->count; k += LANES) {
        double sums[LANES] = {0};
        const double *row = nnls->weighted + k * nnls->used;
        for (size_t i = 0; i < nnls->used; i++, row += LANES) {
            double value = (double)pixel[nnls->channel[i]] - nnls->offset[i];
            for (size_t lane = 0; lane < LANES; lane++)
                sums[lane] += row[lane] * value;
        }
        for (size_t lane = 0; lane < LANES && k + lane < nnls->count; lane++)
            h[k + lane] = sums[lane] + nnls->added * nnls->inverse[k + lane];
    }
    for (size_t i = 0; i < nnls->used; i++)
        if (!isfinite(pixel[nnls->channel[i]]))
            return false;
    return true;
}

static void unmix(const struct rx_nnls *nnls, const float *pixel, float *abundances,
                  struct rx_nnls_report *report)
{
    struct search s = {.nnls = nnls};
    if (!products(nnls, pixel, s.h)) {
        report->skipped++;
        for (size_t k = 0; k < nnls->count; k++)
            abundances[k] = NAN;
        return;
    }
    report->pixels++;
    report->unfinished += !descend(&s);
    for (size_t k = 0; k < nnls->count; k++)
        abundances[k] = (float)(s.z[k] * nnls->inverse[k]);
}

/* -- all pixels --------------------------------------------------------------------------- */

struct unmixing {
    const struct rx_nnls *nnls;
    float *abundances;
    size_t stride; /* pixels a tile */
};

static void work(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct unmixing *job = arg;
    const struct rx_nnls *nnls = job->nnls;
    size_t count = nnls->count;
    float *out = job->abundances + item.index * job->stride * count;
    struct rx_nnls_report own = {0}, *all = &nnls->reports[item.worker];
    for (size_t p = 0; p < tile->pixels; p++)
        unmix(nnls, tile->values + p * ypi_rx_stride(tile), out + p * count, &own);
    for (size_t i = tile->pixels * count; i < job->stride * count; i++)
        out[i] = NAN;
    all->pixels += own.pixels;
    all->skipped += own.skipped;
    all->unfinished += own.unfinished;
}

enum yp_status rx_nnls_run(struct rx_nnls *nnls, const struct rx_source *source, float *abundances,
                           struct rx_nnls_report *report)
{
    if (nnls == NULL || abundances == NULL)
        return yp_set_error(YP_INVALID, "rx_nnls_run: %s is NULL",
                            nnls == NULL ? "nnls" : "abundances");
    struct unmixing job = {.nnls = nnls, .abundances = abundances};
    job.stride = source != NULL ? source->tile_pixels : 0;
    memset(nnls->reports, 0, (size_t)nnls->threads * sizeof *nnls->reports);
    enum yp_status status = ypi_rx_run(&(struct ypi_rx_pass){.what = "rx_nnls_run",
                                                             .channels = nnls->channels,
                                                             .tile_pixels = nnls->tile_pixels,
                                                             .threads = nnls->threads,
                                                             .values = nnls->values,
                                                             .work = work,
                                                             .arg = &job},
                                       source);
    struct rx_nnls_report sum = {0};
    for (int i = 0; i < nnls->threads; i++) {
        sum.pixels += nnls->reports[i].pixels;
        sum.skipped += nnls->reports[i].skipped;
        sum.unfinished += nnls->reports[i].unfinished;
    }
    if (report != NULL)
        *report = sum;
    return status;
}

/* -- the object --------------------------------------------------------------------------- */

static void lay_out(struct rx_nnls *nnls, struct ypi_arena *arena)
{
    size_t groups = (nnls->count + LANES - 1) / LANES, teams = (size_t)nnls->threads;
    nnls->channel = ypi_arena_take(arena, nnls->channels, sizeof *nnls->channel);
    nnls->offset = ypi_arena_take(arena, nnls->channels, sizeof(double));
    nnls->weighted = ypi_arena_take(arena, groups * nnls->channels, LANES * sizeof(double));
    nnls->gram = ypi_arena_take(arena, MOST * MOST, sizeof(double));
    nnls->inverse = ypi_arena_take(arena, MOST, sizeof(double));
    nnls->values = ypi_arena_take(arena, teams * nnls->tile_pixels, nnls->channels * sizeof(float));
    nnls->reports = ypi_arena_take(arena, teams, sizeof *nnls->reports);
}

static double weight_of(const struct rx_nnls_options *options, size_t channel)
{
    return options->weights != NULL ? (double)options->weights[channel] : 1;
}

static enum yp_status check(const float *spectra, size_t count, size_t channels,
                            const struct rx_nnls_options *options)
{
    if (spectra == NULL)
        return yp_set_error(YP_INVALID, "rx_nnls_create: spectra is NULL");
    if (count == 0 || count > MOST)
        return yp_set_error(YP_INVALID, "rx_nnls_create: count is %zu, allowed are 1 to %d", count,
                            MOST);
    for (size_t c = 0; c < channels; c++) {
        double weight = weight_of(options, c);
        double offset = options->offset != NULL ? (double)options->offset[c] : 0;
        if (!(weight >= 0) || isinf(weight))
            return yp_set_error(
                YP_INVALID, "rx_nnls_create: weights[%zu] is %g, allowed is 0 or more", c, weight);
        for (size_t k = 0; k < count && weight > 0; k++)
            if (!isfinite(spectra[k * channels + c]) || !isfinite(offset))
                return yp_set_error(YP_INVALID,
                                    "rx_nnls_create: channel %zu has %g in spectrum %zu and offset "
                                    "%g: both must be finite where there is weight",
                                    c, (double)spectra[k * channels + c], k, offset);
    }
    return YP_OK;
}

static double product(const float *a, const float *b, size_t channels,
                      const struct rx_nnls_options *options)
{
    double sum = 0;
    for (size_t c = 0; c < channels; c++) {
        double weight = weight_of(options, c);
        if (weight > 0)
            sum += weight * (double)a[c] * (double)b[c];
    }
    return sum;
}

/* Spectra are divided by their lengths, so that one bound on rounding serves all of them. */
static enum yp_status prepare(struct rx_nnls *nnls, const float *spectra,
                              const struct rx_nnls_options *options)
{
    size_t channels = nnls->channels;
    for (size_t c = 0; c < channels; c++)
        if (weight_of(options, c) > 0) {
            nnls->offset[nnls->used] = options->offset != NULL ? (double)options->offset[c] : 0;
            nnls->channel[nnls->used++] = (uint32_t)c;
        }
    for (size_t k = 0; k < nnls->count; k++) {
        const float *own = spectra + k * channels;
        double square = product(own, own, channels, options);
        if (!(square > 0))
            return yp_set_error(
                YP_INVALID, "rx_nnls_create: spectrum %zu is 0 in all channels of some weight", k);
        if (nnls->sum_to_one && square > nnls->added)
            nnls->added = square;
        nnls->inverse[k] = square;
    }
    for (size_t k = 0; k < nnls->count; k++) {
        const float *own = spectra + k * channels;
        nnls->inverse[k] = 1 / sqrt(nnls->inverse[k] + nnls->added);
        double *lane = nnls->weighted + k / LANES * nnls->used * LANES + k % LANES;
        for (size_t i = 0; i < nnls->used; i++)
            lane[i * LANES] = weight_of(options, nnls->channel[i]) * (double)own[nnls->channel[i]] *
                              nnls->inverse[k];
        for (size_t j = 0; j <= k; j++)
            nnls->gram[k * MOST + j] = nnls->gram[j * MOST + k] =
                j == k ? 1
                       : (product(own, spectra + j * channels, channels, options) + nnls->added) *
                             nnls->inverse[k] * nnls->inverse[j];
    }
    return YP_OK;
}

struct rx_nnls *rx_nnls_create(struct yp_device *device, const float *spectra, size_t count,
                               size_t channels, size_t tile_pixels, int threads,
                               const struct rx_nnls_options *options)
{
    static const struct rx_nnls_options plain;
    options = options != NULL ? options : &plain;
    if (ypi_check_host("rx_nnls_create", device) != YP_OK ||
        ypi_rx_check("rx_nnls_create", channels, tile_pixels, &threads) != YP_OK ||
        check(spectra, count, channels, options) != YP_OK)
        return NULL;
    struct rx_nnls object = {.device = device,
                             .count = count,
                             .channels = channels,
                             .tile_pixels = tile_pixels,
                             .threads = threads,
                             .sum_to_one = options->sum_to_one};
    struct ypi_arena size = {0};
    ypi_arena_take(&size, 1, sizeof object);
    lay_out(&object, &size);
    struct ypi_arena arena = {.base = yp_device_alloc(device, size.used)};
    if (arena.base == NULL)
        return NULL;
    struct rx_nnls *nnls = ypi_arena_take(&arena, 1, sizeof *nnls);
    lay_out(&object, &arena);
    *nnls = object;
    memset(nnls->weighted, 0, (count + LANES - 1) / LANES * channels * LANES * sizeof(double));
    if (prepare(nnls, spectra, options) == YP_OK)
        return nnls;
    rx_nnls_destroy(nnls);
    return NULL;
}

void rx_nnls_destroy(struct rx_nnls *nnls)
{
    if (nnls != NULL)
        yp_device_free(nnls->device, nnls);
}
