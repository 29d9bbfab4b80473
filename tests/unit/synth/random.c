/*
 * Random numbers as numbers: their distribution, and cuRAND's order.
 *
 * All is seeded, so a test passes always or never. With another seed a good generator would fail
 * each check with probability ALPHA; there are about 350, so all together 4e-5. For each statistic
 * another test shows that it detects a flaw.
 */
#include <Random123/philox.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random/bulk.h"
#include "base/random/stream.h"
#include "synth/scene/purpose.h"
#include "tests/unit/synth/curand.h"

#define ALPHA 1e-7
#define DEVIATIONS 5.3267 /* of a normal: beyond it, on both sides, is ALPHA */
#define SEED UINT64_C(20260118)

enum { COUNT = 1 << 24, CHUNK = 1 << 16, LAGS = 64 };

/* Adds a flaw to a chunk of numbers, which the test must detect. */
typedef void spoil(float *z, size_t count);

static void normals(struct ypi_stream stream, size_t first, float *z, spoil *spoilt)
{
    ypi_random_normals(YPI_LEVEL_AUTO, stream, first, CHUNK, z);
    if (spoilt != NULL)
        spoilt(z, CHUNK);
}

/* ---- moments ---- */

/* How many standard errors the k-th moment is off, k = 1 ... 4. Variances of z^k: 1, 2, 15, 96. */
static void moments(spoil *spoilt, double off[5])
{
    static const double mean[5] = {1, 0, 1, 0, 3}, variance[5] = {0, 1, 2, 15, 96};
    double sum[5] = {0};
    float *z = malloc(CHUNK * sizeof *z);
    for (size_t at = 0; at < COUNT; at += CHUNK) {
        normals(synth_stream(SEED, 1, SYNTH_NOISE), at, z, spoilt);
        double part[5] = {0};
        for (size_t i = 0; i < CHUNK; i++) {
            double square = (double)z[i] * z[i];
            part[1] += z[i];
            part[2] += square;
            part[3] += square * z[i];
            part[4] += square * square;
        }
        for (int k = 1; k < 5; k++)
            sum[k] += part[k];
    }
    for (int k = 1; k < 5; k++)
        off[k] = (sum[k] / COUNT - mean[k]) / sqrt(variance[k] / COUNT);
    free(z);
}

static void shift(float *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] += 0.002f;
}

static void stretch(float *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] *= 1.002f;
}

static void skew(float *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] += 0.002f * (z[i] * z[i] - 1);
}

/* Nothing beyond 3.5, the variance nearly as it was. */
static void clip(float *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] = 1.0002f * fminf(3.5f, fmaxf(-3.5f, z[i]));
}

Test(distribution, moments_are_those_of_a_normal, .timeout = 120)
{
    static spoil *const flaws[] = {NULL, shift, stretch, skew, clip};
    double off[5];
    moments(NULL, off);
    for (int k = 1; k < 5; k++)
        cr_expect_leq(fabs(off[k]), DEVIATIONS, "moment %d: %g standard errors", k, off[k]);
    for (int k = 1; k < 5; k++) {
        moments(flaws[k], off);
        cr_expect_gt(fabs(off[k]), DEVIATIONS, "moment %d does not see its flaw: %g", k, off[k]);
    }
}

/* ---- Kolmogorov-Smirnov ---- */

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* sqrt(n) D of 2^21 normals. P(sqrt(n) D > x) = 2 exp(-2 x^2) for such x (Kolmogorov 1933). */
static double kolmogorov(spoil *spoilt)
{
    const size_t n = (size_t)1 << 21;
    float *z = malloc(n * sizeof *z);
    for (size_t at = 0; at < n; at += CHUNK)
        normals(synth_stream(SEED, 2, SYNTH_NOISE), at, z + at, spoilt);
    qsort(z, n, sizeof *z, ascending);
    double distance = 0;
    for (size_t i = 0; i < n; i++) {
        double p = 0.5 * erfc(-z[i] * sqrt(0.5));
        distance = fmax(distance, fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p));
    }
    free(z);
    return sqrt((double)n) * distance;
}

static void grid(float *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] = rintf(z[i] * 32) / 32;
}

Test(distribution, is_the_normal_one_by_kolmogorov_smirnov, .timeout = 120)
{
    double limit = sqrt(log(2 / ALPHA) / 2);
    double good = kolmogorov(NULL), bad = kolmogorov(grid);
    cr_expect_lt(good, limit, "sqrt(n) D is %g, at most %g", good, limit);
    cr_expect_gt(bad, limit, "does not see a grid of 1/32: %g", bad);
}

/* ---- tails ---- */

/* P(X <= k) and P(X >= k) of a Poisson variable. */
static double poisson_below(double mean, double k)
{
    double sum = 0;
    for (double i = 0; i <= k; i++)
        sum += exp(i * log(mean) - mean - lgamma(i + 1));
    return sum;
}

static double poisson_above(double mean, double k)
{
    double sum = 0, term = 1;
    for (double i = k; term > 1e-20; i++)
        sum += term = exp(i * log(mean) - mean - lgamma(i + 1));
    return sum;
}

enum { FAR = 5 };

/* How many of 2^26 are beyond 3, 4, 5, and the largest. */
static float tails(spoil *spoilt, double beyond[FAR + 1])
{
    float *z = malloc(CHUNK * sizeof *z), largest = 0;
    memset(beyond, 0, (FAR + 1) * sizeof *beyond);
    for (size_t at = 0; at < (size_t)4 * COUNT; at += CHUNK) {
        normals(synth_stream(SEED, 3, SYNTH_NOISE), at, z, spoilt);
        int count[FAR + 1] = {0};
        for (size_t i = 0; i < CHUNK; i++) {
            float size = fabsf(z[i]);
            count[3] += size > 3;
            count[4] += size > 4;
            count[5] += size > 5;
            largest = size > largest ? size : largest;
        }
        for (int k = 3; k <= FAR; k++)
            beyond[k] += count[k];
    }
    free(z);
    return largest;
}

/* Of a count that is large, the normal limit; of the others Poisson's own tails. */
static bool is_likely(double count, double mean)
{
    if (mean > 1e4)
        return fabs(count - mean) <= DEVIATIONS * sqrt(mean);
    return poisson_below(mean, count) > ALPHA / 2 && poisson_above(mean, count) > ALPHA / 2;
}

static void cut(float *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] = fminf(4.9f, fmaxf(-4.9f, z[i]));
}

/* Tails that are a little too long: two in a thousand are half as large again. */
static void fatten(float *z, size_t count)
{
    for (size_t i = 0; i < count; i += 500)
        z[i] *= 1.5f;
}

Test(distribution, tails_are_as_long_as_they_should_be, .timeout = 120)
{
    double beyond[FAR + 1];
    float largest = tails(NULL, beyond);
    cr_expect_lt(largest, 6.764f);
    for (int k = 3; k <= FAR; k++) {
        double mean = 4.0 * COUNT * erfc(k * sqrt(0.5));
        cr_expect(is_likely(beyond[k], mean), "%g beyond %d, %g expected", beyond[k], k, mean);
    }
    cr_log_info("largest of 2^26: %g, beyond 5: %g", (double)largest, beyond[5]);
    double mean5 = 4.0 * COUNT * erfc(5 * sqrt(0.5)), mean4 = 4.0 * COUNT * erfc(4 * sqrt(0.5));
    tails(cut, beyond);
    cr_expect_not(is_likely(beyond[5], mean5), "does not see the cut at 4.9: %g", beyond[5]);
    tails(fatten, beyond);
    cr_expect_not(is_likely(beyond[4], mean4), "does not see long tails: %g", beyond[4]);
}

/* ---- words: bins, pairs ---- */

/* (chi^2 - bins) / sqrt(2 bins) of 2^16 bins, with a mean of at least 128 in each: near enough to
 * normal (skewness 0.01). `bin` gives the bin of words i and i + 1. */
static double chi_square(uint32_t (*bin)(uint32_t word, uint32_t next), bool pairs,
                         void (*spoilt)(uint32_t *words))
{
    enum { BINS = 1 << 16 };
    uint32_t *words = malloc(CHUNK * sizeof *words), *count = calloc(BINS, sizeof *count);
    size_t step = pairs ? 2 : 1;
    for (size_t at = 0; at < COUNT; at += CHUNK) {
        ypi_random_words(YPI_LEVEL_AUTO, synth_stream(SEED, 4, SYNTH_TARGET), at, CHUNK, words);
        if (spoilt != NULL)
            spoilt(words);
        for (size_t i = 0; i < CHUNK; i += step)
            count[bin(words[i], words[(i + 1) % CHUNK])]++;
    }
    double mean = (double)COUNT / (double)step / BINS, sum = 0;
    for (int i = 0; i < BINS; i++)
        sum += (count[i] - mean) * (count[i] - mean) / mean;
    free(words);
    free(count);
    return (sum - (BINS - 1)) / sqrt(2.0 * (BINS - 1));
}

static uint32_t upper_bits(uint32_t word, uint32_t next)
{
    (void)next;
    return word >> 16;
}

static uint32_t lower_bits(uint32_t word, uint32_t next)
{
    (void)next;
    return word & 0xffff;
}

static uint32_t upper_bytes(uint32_t word, uint32_t next)
{
    return word >> 24 << 8 | next >> 24;
}

static uint32_t lower_bytes(uint32_t word, uint32_t next)
{
    return (word & 0xff) << 8 | (next & 0xff);
}

/* One word in 128 is in the lower half and should not be: an eighth of a bin's standard error. */
static void lean(uint32_t *words)
{
    for (size_t i = 0; i < CHUNK; i += 64)
        words[i] &= 0x7fff7fff;
}

/* One word in 256 is what the one before it was. */
static void repeat(uint32_t *words)
{
    for (size_t i = 0; i < CHUNK; i += 256)
        words[i + 1] = words[i];
}

Test(distribution, words_fill_bins_and_pairs_of_bins_evenly, .timeout = 120)
{
    static const struct {
        uint32_t (*bin)(uint32_t, uint32_t);
        bool pairs;
        void (*flaw)(uint32_t *);
    } checks[] = {{upper_bits, false, lean},
                  {lower_bits, false, lean},
                  {upper_bytes, true, repeat},
                  {lower_bytes, true, repeat}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        double good = chi_square(checks[i].bin, checks[i].pairs, NULL);
        double bad = chi_square(checks[i].bin, checks[i].pairs, checks[i].flaw);
        cr_expect_leq(fabs(good), DEVIATIONS, "check %zu: %g deviations", i, good);
        cr_expect_gt(bad, DEVIATIONS, "check %zu does not see its flaw: %g", i, bad);
    }
}

/* ---- correlations ---- */

/* The largest of the correlations of two streams' normals at lags from `from` to LAGS, in standard
 * errors; the second stream is the later one. */
static double correlation(struct ypi_stream a, struct ypi_stream b, size_t count, size_t from,
                          float leak, size_t leak_lag)
{
    float *x = malloc((CHUNK + LAGS) * sizeof *x), *y = malloc((CHUNK + LAGS) * sizeof *y);
    double product[LAGS + 1] = {0}, worst = 0;
    for (size_t at = 0; at < count; at += CHUNK) {
        ypi_random_normals(YPI_LEVEL_AUTO, a, at, CHUNK + LAGS, x);
        ypi_random_normals(YPI_LEVEL_AUTO, b, at, CHUNK + LAGS, y);
        for (size_t i = CHUNK + LAGS; leak > 0 && i-- > leak_lag;)
            y[i] += leak * x[i - leak_lag];
        for (size_t lag = from; lag <= LAGS; lag++) {
            float lanes[16] = {0};
            for (size_t i = 0; i < CHUNK; i += 16)
                for (size_t k = 0; k < 16; k++)
                    lanes[k] += x[i + k] * y[i + k + lag];
            for (size_t k = 0; k < 16; k++)
                product[lag] += lanes[k];
        }
    }
    for (size_t lag = from; lag <= LAGS; lag++)
        worst = fmax(worst, fabs(product[lag]) / sqrt((double)count));
    free(x);
    free(y);
    return worst;
}

Test(correlation, of_a_stream_with_itself_is_none, .timeout = 120)
{
    struct ypi_stream stream = synth_stream(SEED, 5, SYNTH_NOISE);
    double good = correlation(stream, stream, COUNT / 4, 1, 0, 0);
    cr_expect_leq(good, DEVIATIONS, "%g standard errors", good);
    for (size_t lag = 1; lag <= LAGS; lag += 21) {
        double bad = correlation(stream, stream, COUNT / 16, 1, 0.01f, lag);
        cr_expect_gt(bad, DEVIATIONS, "does not see 0.01 at lag %zu: %g", lag, bad);
    }
}

Test(correlation, of_neighbouring_streams_is_none, .timeout = 120)
{
    const struct ypi_stream from = synth_stream(SEED, 6, SYNTH_NOISE);
    const struct ypi_stream to[] = {synth_stream(SEED, 7, SYNTH_NOISE),
                                    synth_stream(SEED, 6 + (1 << 20), SYNTH_NOISE),
                                    synth_stream(SEED, 6, SYNTH_FIELD),
                                    synth_stream(SEED + 1, 6, SYNTH_NOISE),
                                    synth_stream(SEED + (UINT64_C(1) << 32), 6, SYNTH_NOISE),
                                    {from.subsequence, from.seed}};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        double good = correlation(from, to[i], COUNT / 16, 0, 0, 0);
        cr_expect_leq(good, DEVIATIONS, "stream %zu: %g standard errors", i, good);
    }
    double bad = correlation(from, to[0], COUNT / 16, 0, 0.01f, 0);
    cr_expect_gt(bad, DEVIATIONS, "does not see 0.01: %g", bad);
    bad = correlation(from, from, COUNT / 16, 0, 0, 0);
    cr_expect_gt(bad, DEVIATIONS, "does not see a stream that is the same: %g", bad);
}

/* ---- long ranges ---- */

/* Ranges written by non-temporal stores, at every alignment, against short ranges. */
Test(stream, long_ranges_are_what_short_ones_are, .timeout = 120)
{
    enum { PIECE = 4099 };
    size_t count = ypi_nontemporal_bytes() / sizeof(uint32_t) + 1001;
    uint32_t *whole = aligned_alloc(64, (count + 64) / 16 * 16 * sizeof *whole + 1024);
    uint32_t piece[PIECE];
    static const size_t starts[] = {0, 3, 4, 12};
    static const uint64_t firsts[] = {0, 3, (UINT64_C(1) << 34) - 501, 4};
    struct ypi_stream stream = synth_stream(SEED, 9, SYNTH_NOISE);
    for (int kind = 0; kind < 3; kind++)
        for (size_t t = 0; t < sizeof starts / sizeof *starts; t++) {
            uint64_t first = firsts[t];
            uint32_t *out = whole + starts[t];
            memset(whole, 0x55, (count + 64) * sizeof *whole);
            if (kind == 0)
                ypi_random_words(YPI_LEVEL_AUTO, stream, first, count, out);
            else if (kind == 1)
                ypi_random_normals(YPI_LEVEL_AUTO, stream, first, count, (float *)out);
            else
                ypi_random_words_curand(YPI_LEVEL_AUTO, stream.seed, first, count, out);
            for (size_t at = 0; at < count; at += PIECE) {
                size_t size = count - at < PIECE ? count - at : PIECE;
                if (kind == 0)
                    ypi_random_words(YPI_LEVEL_AUTO, stream, first + at, size, piece);
                else if (kind == 1)
                    ypi_random_normals(YPI_LEVEL_AUTO, stream, first + at, size, (float *)piece);
                else
                    ypi_random_words_curand(YPI_LEVEL_AUTO, stream.seed, first + at, size, piece);
                cr_assert(memcmp(piece, out + at, size * sizeof *piece) == 0,
                          "kind %d, start %zu, first %llu: differs behind %zu", kind, starts[t],
                          (unsigned long long)first, at);
            }
            cr_assert_eq(out[count], 0x55555555, "wrote past the end");
            cr_assert(starts[t] == 0 || out[-1] == 0x55555555, "wrote before the beginning");
        }
    free(whole);
}

/* ---- cuRAND's order ---- */

/* Word i: block q = i / 4 of four; of subsequence q mod 65536 it is block q / 65536. */
static uint32_t oracle_word(uint64_t seed, uint64_t i)
{
    uint64_t block = (i >> 2) >> 16;
    philox4x32_ctr_t counter = {
        {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)(i >> 2) & 0xffff, 0}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    return philox4x32_R(10, counter, key).v[i % 4];
}

#define CAPACITY 300007 /* more than the 262,144 words between two changes of the block */

static const size_t odd_sizes[] = {1, 2, 3, 31, 33, 129, 4099, 65537, CAPACITY};
enum { SIZES = sizeof odd_sizes / sizeof *odd_sizes };
static const uint64_t odd_offsets[] = {
    0, 1, 262143, 1000003, (UINT64_C(1) << 34) - 77, 1250000000003};
enum { OFFSETS = sizeof odd_offsets / sizeof *odd_offsets };

Test(curand, order_is_random123s_blocks_dealt_out, .timeout = 120)
{
    uint32_t *words = malloc((CAPACITY + 1) * sizeof *words);
    for (int level = YPI_LEVEL_BASELINE; level < YPI_LEVELS; level++) {
        if (!ypi_level_runs((enum ypi_level)level))
            continue;
        for (int o = 0; o < OFFSETS; o++)
            for (int s = 0; s < SIZES; s++) {
                size_t bad = 0;
                words[odd_sizes[s]] = 0x5eed;
                ypi_random_words_curand((enum ypi_level)level, SEED, odd_offsets[o], odd_sizes[s],
                                        words);
                for (size_t i = 0; i < odd_sizes[s]; i++)
                    bad += words[i] != oracle_word(SEED, odd_offsets[o] + i);
                cr_assert_eq(bad, 0, "level %d, offset %d, size %zu: %zu differ", level, o,
                             odd_sizes[s], bad);
                cr_assert_eq(words[odd_sizes[s]], 0x5eed, "wrote past the end");
            }
    }
    free(words);
}

/* Over a million words of the library itself, in calls of odd sizes one after the other. */
Test(curand, order_is_the_librarys, .timeout = 240)
{
    static const int orders[] = {CURAND_LEGACY, CURAND_DEFAULT, CURAND_BEST};
    static const char *const names[] = {"legacy", "default", "best"};
    struct curand lib;
    if (!curand_open(&lib))
        cr_skip_test("no libcurand.so.10: not on the loader's path, nor beside nvcc");
    uint32_t *theirs = malloc(CAPACITY * sizeof *theirs), *ours = malloc(CAPACITY * sizeof *ours);
    size_t compared = 0;
    for (int n = 0; n < 3; n++)
        for (int o = 0; o < OFFSETS; o++) {
            curand_generator generator = curand_new(&lib, SEED, odd_offsets[o], orders[n]);
            cr_assert_not_null(generator);
            uint64_t at = odd_offsets[o];
            for (int s = 0; s < SIZES; s++) {
                cr_assert_eq(lib.generate(generator, theirs, odd_sizes[s]), 0);
                ypi_random_words_curand(YPI_LEVEL_AUTO, SEED, at, odd_sizes[s], ours);
                cr_assert(memcmp(ours, theirs, odd_sizes[s] * sizeof *ours) == 0,
                          "order %s, offset %d, size %zu", names[n], o, odd_sizes[s]);
                at += odd_sizes[s];
                compared += odd_sizes[s];
            }
            cr_assert_eq(lib.destroy(generator), 0);
        }
    cr_expect_gt(compared, 1000000);
    cr_log_info("%zu words are cuRAND's", compared);
    free(theirs);
    free(ours);
}
