/*
 * The gradient checker, proved on mutants: every subject is a function with a right
 * vector-Jacobian product, every mutant damages that product in one tensor, and every mutant
 * that changes a value must be found with every seed.
 */
#include <criterion/criterion.h>
#include <yieldpoint/gradient.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers/splitmix.h"
#include "harness/body/accuracy/tensors.h"
#include "tests/unit/harness/gradient_subjects.h"

#define SEEDS 20
#define LIMIT YP_GRADIENT_LIMIT
#define MAX_INPUTS 160
#define MAX_OUTPUTS 64

enum kind {
    RIGHT,
    ZEROED,
    SCALED_UP,
    SCALED_DOWN,
    DOUBLED,
    FLIPPED,
    TRANSPOSED,
    ELEMENT_OFF,
    SHIFTED,
    COTANGENT_IGNORED,
    STALE,
    ELEMENT_NAN,
    ELEMENT_INFINITE,
    UNWRITTEN,
    ELEMENT_UNWRITTEN,
    KINDS
};

static const char *const kind_names[KINDS] = {
    "right",   "zeroed",      "x 1.001",          "x 0.999",   "x 2",
    "flipped", "transposed",  "element off",      "shifted",   "cotangent ignored",
    "stale",   "element NaN", "element infinite", "unwritten", "element unwritten"};

/* What a mutated vjp works with. `tensor` < 0: all of them. */
struct mutant {
    const struct subject *subject;
    enum kind kind;
    int tensor;
    size_t element; /* modulo the tensor's size */
    double amount;  /* of ELEMENT_OFF, in root mean squares of the tensor's gradient */
    int calls;      /* of f */
};

static void mutate_slice(const struct mutant *mutant, const struct part *part, const double *right,
                         double *g)
{
    static const double factors[KINDS] = {
        [SCALED_UP] = 1.001, [SCALED_DOWN] = 0.999, [DOUBLED] = 2, [FLIPPED] = -1};
    size_t count = (size_t)part->rows * (size_t)part->cols, element = mutant->element % count;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        size_t row = i / (size_t)part->cols, col = i % (size_t)part->cols;
        squares += right[i] * right[i];
        switch (mutant->kind) {
        case ZEROED:
        case SCALED_UP:
        case SCALED_DOWN:
        case DOUBLED:
        case FLIPPED:
            g[i] = factors[mutant->kind] * right[i];
            break;
        case TRANSPOSED: /* stored by columns */
            g[col * (size_t)part->rows + row] = right[i];
            break;
        case SHIFTED:
            g[i] = right[(i + 1) % count];
            break;
        case UNWRITTEN:
            break;
        case ELEMENT_UNWRITTEN:
            if (i != element)
                g[i] = right[i];
            break;
        default:
            g[i] = right[i];
        }
    }
    if (mutant->kind == ELEMENT_OFF)
        g[element] += mutant->amount * sqrt(squares / (double)count);
    if (mutant->kind == ELEMENT_NAN)
        g[element] = NAN;
    if (mutant->kind == ELEMENT_INFINITE)
        g[element] = INFINITY;
}

static void mutated_f(void *arg, const double *x, double *y)
{
    struct mutant *mutant = arg;
    mutant->calls++;
    mutant->subject->f(x, y);
}

static void mutated_vjp(void *arg, const double *x, const double *c, double *g)
{
    const struct mutant *mutant = arg;
    const struct subject *subject = mutant->subject;
    double right[MAX_INPUTS], other[MAX_INPUTS], ones[MAX_OUTPUTS];
    for (size_t i = 0; i < subject->outputs; i++)
        ones[i] = 1;
    subject->vjp(x, c, right, false);
    subject->vjp(x, mutant->kind == STALE ? c : ones, other, mutant->kind == STALE);

    bool replaced = mutant->kind == STALE || mutant->kind == COTANGENT_IGNORED;
    size_t offset = 0;
    for (int k = 0; subject->parts[k].name != NULL; k++) {
        const struct part *part = &subject->parts[k];
        size_t count = (size_t)part->rows * (size_t)part->cols;
        if (mutant->tensor >= 0 && mutant->tensor != k)
            memcpy(g + offset, right + offset, count * sizeof *g);
        else if (replaced)
            memcpy(g + offset, other + offset, count * sizeof *g);
        else
            mutate_slice(mutant, part, right + offset, g + offset);
        offset += count;
    }
}

/* Draws x and lays the subject out as a check; returns the number of tensors. */
static size_t lay_out(struct mutant *mutant, uint64_t seed, double *x, struct yp_gradient *gradient)
{
    static struct yp_tensor tensors[16];
    const struct subject *subject = mutant->subject;
    struct ypi_seed random = ypi_seed_of(seed, 77, 0);
    *gradient = (struct yp_gradient){.name = subject->name,
                                     .outputs = subject->outputs,
                                     .f = mutated_f,
                                     .vjp = mutated_vjp,
                                     .arg = mutant,
                                     .x = x,
                                     .tensors = tensors};
    size_t k = 0;
    for (; subject->parts[k].name != NULL; k++) {
        const struct part *part = &subject->parts[k];
        size_t count = (size_t)part->rows * (size_t)part->cols;
        tensors[k] = (struct yp_tensor){part->name, gradient->inputs, count};
        for (size_t i = 0; i < count; i++)
            x[gradient->inputs + i] = part->size * ypi_seed_normal(&random);
        gradient->inputs += count;
    }
    cr_assert(gradient->inputs <= MAX_INPUTS && subject->outputs <= MAX_OUTPUTS && k <= 16);
    return gradient->n_tensors = k;
}

/* A check of n outputs of n inputs, in one tensor. */
static struct yp_gradient square(yp_function *f, yp_vjp *vjp, void *arg, const double *x, size_t n)
{
    return (struct yp_gradient){
        .name = "square", .inputs = n, .outputs = n, .f = f, .vjp = vjp, .arg = arg, .x = x};
}

static struct ypi_gradient_result checked(struct yp_gradient gradient, uint64_t seed)
{
    struct ypi_gradient_result result;
    cr_assert(ypi_gradient_error(&gradient, seed, &result) == YP_OK, "%s", yp_last_error());
    return result;
}

static struct ypi_gradient_result check(struct mutant *mutant, uint64_t seed)
{
    double x[MAX_INPUTS];
    struct yp_gradient gradient;
    lay_out(mutant, seed, x, &gradient);
    return checked(gradient, seed);
}

/* Whether the mutant changes what the vjp returns, by more than the vjp's own rounding: a
 * symmetric matrix transposed is no mutant. */
static bool changes_value(struct mutant *mutant, uint64_t seed)
{
    double x[MAX_INPUTS], c[MAX_OUTPUTS], right[MAX_INPUTS], got[MAX_INPUTS];
    struct yp_gradient gradient;
    struct ypi_seed random = ypi_seed_of(seed, 78, 0);
    lay_out(mutant, seed, x, &gradient);
    ypi_seed_normals(&random, c, gradient.outputs);
    for (size_t i = 0; i < gradient.inputs; i++)
        got[i] = 1e300; /* what "unwritten" leaves */
    mutant->subject->vjp(x, c, right, false);
    mutated_vjp(mutant, x, c, got);

    const struct yp_tensor *tensor = &gradient.tensors[mutant->tensor];
    double size = mutant->subject->parts[mutant->tensor].zero ? 1 : 0;
    for (size_t i = tensor->offset; i < tensor->offset + tensor->count; i++)
        size = fmax(size, fabs(right[i]));
    for (size_t i = tensor->offset; i < tensor->offset + tensor->count; i++)
        if (!(fabs(got[i] - right[i]) <= 1e-12 * size))
            return true;
    return false;
}

static bool passes(const struct ypi_gradient_result *result)
{
    return result->error <= LIMIT;
}

static const struct subject *subject_named(const char *name)
{
    for (size_t i = 0; i < SUBJECTS; i++)
        if (strcmp(subjects[i].name, name) == 0)
            return &subjects[i];
    cr_assert_fail("no subject %s", name);
    return NULL;
}

/* A resolution worse than the limit would say that a mutant of that size could hide. The shared
 * shift of a softmax has a derivative of 0, of which nothing can be resolved. */
Test(gradient, right_ones_pass_with_every_seed_and_hide_nothing)
{
    for (size_t s = 0; s < SUBJECTS; s++)
        for (uint64_t seed = 0; seed < 10 * SEEDS; seed++) {
            struct mutant right = {.subject = &subjects[s], .kind = RIGHT, .tensor = -1};
            struct ypi_gradient_result result = check(&right, seed);
            cr_expect(passes(&result), "%s, seed %d: %s off by %g (%.17g, got %.17g)",
                      subjects[s].name, (int)seed, result.tensor, result.error, result.expected,
                      result.got);
            cr_expect(isnan(result.slope) || (result.slope > 1.8 && result.slope < 4.3),
                      "%s, seed %d: slope %g", subjects[s].name, (int)seed, result.slope);
            bool shifted = subjects[s].vjp == shifted_vjp;
            cr_expect(shifted ? result.resolution >= 1 && strcmp(result.coarsest, "shift") == 0
                              : result.resolution <= LIMIT,
                      "%s, seed %d: %g in %s", subjects[s].name, (int)seed, result.resolution,
                      result.coarsest);
        }
}

/* Returns whether the mutant was one. */
static bool try_mutant(struct mutant *mutant, uint64_t seed)
{
    const struct subject *subject = mutant->subject;
    if (mutant->kind == STALE && !subject->has_stale)
        return false;
    if (!changes_value(mutant, seed))
        return false;
    struct ypi_gradient_result result = check(mutant, seed);
    cr_expect(!passes(&result), "%s, %s of %s, seed %d: survived with error %g", subject->name,
              kind_names[mutant->kind], subject->parts[mutant->tensor].name, (int)seed,
              result.error);
    cr_expect_str_eq(result.tensor, subject->parts[mutant->tensor].name);
    return true;
}

Test(gradient, every_mutant_that_changes_a_value_fails_with_every_seed)
{
    int tried[KINDS] = {0}, all = 0;
    for (size_t s = 0; s < SUBJECTS; s++)
        for (int kind = RIGHT + 1; kind < KINDS; kind++)
            for (int k = 0; subjects[s].parts[k].name != NULL; k++)
                for (uint64_t seed = 0; seed < SEEDS; seed++) {
                    struct mutant mutant = {.subject = &subjects[s],
                                            .kind = (enum kind)kind,
                                            .tensor = k,
                                            .element = (size_t)(7 * seed + 3),
                                            .amount = 0.01};
                    tried[kind] += try_mutant(&mutant, seed);
                }
    /* No kind may have been left out by the comparison with the right one. */
    for (int kind = RIGHT + 1; kind < KINDS; kind++) {
        cr_expect(tried[kind] >= 6 * SEEDS, "%s: %d", kind_names[kind], tried[kind]);
        all += tried[kind];
    }
    cr_expect(all > 5400, "%d mutants in all", all);
}

Test(gradient, the_slope_tells_right_from_wrong)
{
    static const struct {
        const char *subject;
        enum kind kind;
        int tensor;
        double slope, within; /* NaN: right and linear in each tensor */
    } known[] = {{"mlp", ZEROED, 1, 1, 0.05},
                 {"mlp", SCALED_UP, 1, 1, 0.3},
                 {"log-sum-exp", RIGHT, -1, 2, 0.05},
                 {"conv1d", RIGHT, -1, NAN, 0},
                 {"conv1d", DOUBLED, 0, 1, 1e-3}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct mutant mutant = {.subject = subject_named(known[i].subject),
                                .kind = known[i].kind,
                                .tensor = known[i].tensor};
        struct ypi_gradient_result result = check(&mutant, 3);
        cr_expect(isnan(known[i].slope) ? isnan(result.slope)
                                        : fabs(result.slope - known[i].slope) < known[i].within,
                  "%s, %s: %g", known[i].subject, kind_names[known[i].kind], result.slope);
    }
}

static void gelu64_f(const double *x, double *y)
{
    for (int i = 0; i < 64; i += 16)
        gelu_f(x + i, y + i);
}

static void gelu64_vjp(const double *x, const double *c, double *g, bool stale)
{
    for (int i = 0; i < 64; i += 16)
        gelu_vjp(x + i, c + i, g + i, stale);
}

/* The limits that the header states, for one wrong element among 64. */
static int survivors(double amount, int seeds)
{
    static const struct subject many = {"gelu x 4", 64,    gelu64_f,
                                        gelu64_vjp, false, {{"x", 8, 8, 1, false}}};
    int count = 0;
    for (int seed = 0; seed < seeds; seed++) {
        struct mutant mutant = {.subject = &many,
                                .kind = ELEMENT_OFF,
                                .tensor = 0,
                                .element = (size_t)seed,
                                .amount = amount};
        struct ypi_gradient_result result = check(&mutant, (uint64_t)seed);
        count += passes(&result);
    }
    return count;
}

/* Expected of 3000: 0.003, 80 to 110 and more than 2970; the bounds are five standard deviations
 * away. */
Test(gradient, finds_single_elements_down_to_the_stated_size)
{
    const double root = 8; /* of 64 elements */
    int large = survivors(1e-4 * root, 3000);
    int middle = survivors(3e-6 * root, 3000);
    int small = survivors(3e-7 * root, 3000);
    cr_expect(large == 0, "%d", large);
    cr_expect(middle > 30 && middle < 160, "%d", middle);
    cr_expect(small > 2940, "%d", small);
}

/* f of one slice is drowned by the other's, in one output: nothing can be said of it, and the
 * result must say so. */
static void drowned_f(void *arg, const double *x, double *y)
{
    (void)arg;
    y[0] = 1e8 * exp(x[0]) + 1e-8 * exp(x[1]);
}

static void drowned_vjp(void *arg, const double *x, const double *c, double *g)
{
    (void)arg;
    g[0] = c[0] * 1e8 * exp(x[0]);
    g[1] = 0; /* wrong, and out of sight */
}

Test(gradient, says_where_rounding_hides_a_derivative)
{
    double x[2] = {0.5, 0.7};
    static const struct yp_tensor tensors[] = {{"a", 0, 1}, {"b", 1, 1}};
    struct yp_gradient gradient = square(drowned_f, drowned_vjp, NULL, x, 2);
    gradient.outputs = 1;
    gradient.tensors = tensors;
    gradient.n_tensors = 2;
    struct ypi_gradient_result result = checked(gradient, 1);
    cr_expect(result.resolution >= 1, "%g", result.resolution);
    cr_expect_str_eq(result.coarsest, "b");
}

/* arg: frequency and a factor on the right gradient */
static void waves_f(void *arg, const double *x, double *y)
{
    for (int i = 0; i < 8; i++)
        y[i] = sin(*(double *)arg * x[i] + 1);
}

static void waves_vjp(void *arg, const double *x, const double *c, double *g)
{
    const double *p = arg;
    for (int i = 0; i < 8; i++)
        g[i] = p[1] * c[i] * p[0] * cos(p[0] * x[i] + 1);
}

static struct ypi_gradient_result check_waves(double frequency, double factor, double step,
                                              double size, uint64_t seed)
{
    double x[8], arg[2] = {frequency, factor};
    struct ypi_seed random = ypi_seed_of(seed, 5, 5);
    for (int i = 0; i < 8; i++)
        x[i] = size * ypi_seed_normal(&random);
    struct yp_gradient gradient = square(waves_f, waves_vjp, arg, x, 8);
    gradient.step = step;
    return checked(gradient, seed);
}

Test(gradient, a_small_factor_is_found_down_to_the_limit)
{
    const double factors[] = {1 + 1e-4, 1 + 1e-5, 1 - 1e-5, 1 + 1e-7};
    for (int i = 0; i < 4; i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct ypi_gradient_result result = check_waves(1, factors[i], 0, 1, seed);
            cr_expect(passes(&result) == (i == 3), "%.17g: %g", factors[i], result.error);
        }
}

Test(gradient, chooses_a_step_that_suits_the_function)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        /* A phase of 2 a step: the fourth power of that, over 480, is 3 % and not 1e-6. */
        struct ypi_gradient_result result = check_waves(20000, 1, 0, 1, seed);
        cr_expect(passes(&result), "shorter, seed %d: %g", (int)seed, result.error);
        result = check_waves(20000, 1.001, 0, 1, seed);
        cr_expect(!passes(&result), "shorter, seed %d: %g", (int)seed, result.error);
        result = check_waves(20000, 1, 1e-4, 1, seed);
        cr_expect(!passes(&result), "a given step is kept: %g", result.error);

        /* Elements far smaller than the scale of f: 1e-4 of them resolves 1e-3 of a derivative,
         * 1e-2 of them a hundred times less. */
        result = check_waves(1, 1, 0, 1e-6, seed);
        cr_expect(passes(&result) && result.resolution < 1e-4, "longer: %g", result.resolution);
        result = check_waves(1, 1.001, 0, 1e-6, seed);
        cr_expect(!passes(&result), "longer, seed %d: %g", (int)seed, result.error);
    }
}

Test(gradient, costs_one_vjp_a_direction_and_four_calls_of_f_a_tensor)
{
    struct mutant right = {.subject = subject_named("mlp"), .kind = RIGHT, .tensor = -1};
    check(&right, 11);
    /* 2 at x, 2 a tensor to see what it moves, 4 a tensor and direction, 5 for the slope */
    cr_expect(right.calls == 2 + 2 * 5 + 4 * 5 * 3 + 5, "%d", right.calls);
}

Test(gradient, the_same_seed_gives_the_same_bits)
{
    for (size_t s = 0; s < SUBJECTS; s++) {
        struct mutant mutant = {.subject = &subjects[s], .kind = SCALED_UP, .tensor = 0};
        double x[MAX_INPUTS];
        struct yp_gradient gradient;
        struct ypi_gradient_result a, b, other;
        lay_out(&mutant, 5, x, &gradient);
        cr_assert(ypi_gradient_error(&gradient, 5, &a) == YP_OK);
        cr_assert(ypi_gradient_error(&gradient, 5, &b) == YP_OK);
        cr_assert(ypi_gradient_error(&gradient, 6, &other) == YP_OK);
        cr_expect(memcmp(&a.error, &b.error, sizeof a.error) == 0);
        cr_expect(memcmp(&a.slope, &b.slope, sizeof a.slope) == 0);
        cr_expect(memcmp(&a.expected, &b.expected, sizeof a.expected) == 0);
        cr_expect(memcmp(&a.got, &b.got, sizeof a.got) == 0);
        cr_expect(memcmp(&a.resolution, &b.resolution, sizeof a.resolution) == 0);
        cr_expect(a.expected != other.expected, "%s", subjects[s].name);
        cr_expect(a.checked == b.checked && a.checked > 0);
    }
}

/* Notes what it is called with. */
struct notes {
    double moved[2]; /* x of the first call away from where it began */
    int calls, pulls;
    double cotangents[3][2];
};

static void noting_f(void *arg, const double *x, double *y)
{
    struct notes *notes = arg;
    if (notes->calls++ == 2)
        memcpy(notes->moved, x, sizeof notes->moved);
    memcpy(y, x, 2 * sizeof *y);
}

static void noting_vjp(void *arg, const double *x, const double *c, double *g)
{
    struct notes *notes = arg;
    (void)x;
    if (notes->pulls < 3)
        memcpy(notes->cotangents[notes->pulls++], c, sizeof *notes->cotangents);
    memcpy(g, c, 2 * sizeof *g);
}

Test(gradient, cotangents_and_directions_are_drawn_afresh)
{
    const double x[2] = {0, 0};
    struct notes notes[2] = {0};
    for (int i = 0; i < 2; i++) {
        struct ypi_gradient_result result =
            checked(square(noting_f, noting_vjp, &notes[i], x, 2), (uint64_t)i);
        cr_expect(result.error <= LIMIT);
    }
    for (int a = 0; a < 3; a++) {
        cr_expect(notes[0].cotangents[a][0] != notes[1].cotangents[a][0], "by seed");
        cr_expect(notes[0].cotangents[a][0] != notes[0].cotangents[a][1], "by output");
        cr_expect(notes[0].cotangents[a][0] != notes[0].cotangents[(a + 1) % 3][0], "by direction");
    }
    cr_expect(notes[0].moved[0] != notes[1].moved[0], "directions by seed");
    cr_expect_float_eq(hypot(notes[0].moved[0], notes[0].moved[1]), 1e-2 * sqrt(2), 1e-15);
}

/* y_i = exp(x_i) or |x_i|, with a mistake in f or in the product. */
enum mistake {
    NO_MISTAKE,
    F_NAN,
    F_INFINITE,
    F_OVERFLOWS,
    F_RANDOM,
    F_SKIPS,
    F_ADDS,
    F_BEHIND,
    F_BEFORE,
    F_KINK,
    F_FLOAT,
    VJP_NAN,
    VJP_SKIPS,
    VJP_ADDS,
    VJP_BEHIND,
    VJP_BEFORE,
    VJP_DOUBLES
};

struct mistaken {
    enum mistake mistake;
    int calls; /* of f */
};

static void mistaken_f(void *arg, const double *x, double *y)
{
    struct mistaken *mistaken = arg;
    enum mistake mistake = mistaken->mistake;
    mistaken->calls++;
    for (int i = 0; i < 4; i++) {
        double value = mistake == F_KINK ? fabs(x[i]) : exp(x[i]);
        if (mistake == F_FLOAT)
            value = (double)expf((float)x[i]);
        if (mistake == F_NAN && i == 2)
            value = NAN;
        if (i == 2 && (mistake == F_INFINITE || (mistake == F_OVERFLOWS && mistaken->calls > 2)))
            value = INFINITY; /* the second is finite at x alone */
        if (mistake == F_RANDOM && i == 2)
            value *= mistaken->calls % 2;
        if (mistake == F_SKIPS && i == 1)
            continue;
        y[i] = mistake == F_ADDS ? y[i] + value : value;
    }
    if (mistake == F_BEHIND)
        y[4] = 1;
    if (mistake == F_BEFORE)
        y[-1] = 0;
}

static void mistaken_vjp(void *arg, const double *x, const double *c, double *g)
{
    enum mistake mistake = ((const struct mistaken *)arg)->mistake;
    for (int i = 0; i < 4; i++) {
        double slope = mistake == F_KINK ? (x[i] < 0 ? -1 : 1) : exp(x[i]);
        if (mistake == VJP_NAN && i == 3)
            slope = NAN;
        if (mistake == VJP_SKIPS && i == 2)
            continue;
        double value = c[i] * slope * (mistake == VJP_DOUBLES ? 2 : 1);
        g[i] = mistake == VJP_ADDS ? g[i] + value : value;
    }
    if (mistake == VJP_BEHIND)
        g[4] = 1;
    if (mistake == VJP_BEFORE)
        g[-1] = 0;
}

static enum yp_status find(enum mistake mistake, double first, struct ypi_gradient_result *result)
{
    const double x[4] = {first, 0.5, -0.25, 1.5};
    struct mistaken mistaken = {mistake, 0};
    struct yp_gradient gradient = square(mistaken_f, mistaken_vjp, &mistaken, x, 4);
    return ypi_gradient_error(&gradient, 3, result);
}

static struct ypi_gradient_result found(enum mistake mistake, double first)
{
    struct ypi_gradient_result result;
    cr_assert(find(mistake, first, &result) == YP_OK, "%s", yp_last_error());
    return result;
}

Test(gradient, says_what_makes_the_error)
{
    static const struct {
        enum mistake mistake;
        enum yp_gradient_finding finding;
        size_t index;
    } expected[] = {
        {F_NAN, YP_GRADIENT_F_NOT_FINITE, 2},       {F_INFINITE, YP_GRADIENT_F_NOT_FINITE, 2},
        {F_OVERFLOWS, YP_GRADIENT_F_NOT_FINITE, 2}, {F_SKIPS, YP_GRADIENT_F_UNWRITTEN, 1},
        {F_ADDS, YP_GRADIENT_F_UNWRITTEN, 0},       {F_BEHIND, YP_GRADIENT_F_OUTSIDE, 0},
        {F_BEFORE, YP_GRADIENT_F_OUTSIDE, 0},       {F_KINK, YP_GRADIENT_KINK, 0},
        {F_FLOAT, YP_GRADIENT_IN_FLOAT, 0},         {VJP_NAN, YP_GRADIENT_VJP_NOT_FINITE, 3},
        {VJP_SKIPS, YP_GRADIENT_VJP_UNWRITTEN, 2},  {VJP_ADDS, YP_GRADIENT_VJP_UNWRITTEN, 0},
        {VJP_BEHIND, YP_GRADIENT_VJP_OUTSIDE, 0},   {VJP_BEFORE, YP_GRADIENT_VJP_OUTSIDE, 0},
        {VJP_DOUBLES, YP_GRADIENT_NOTHING, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct ypi_gradient_result r = found(expected[i].mistake, 0);
        cr_expect(!passes(&r), "mistake %d passes", (int)expected[i].mistake);
        cr_expect(r.finding == expected[i].finding && r.index == expected[i].index,
                  "mistake %d: finding %d at %zu", (int)expected[i].mistake, (int)r.finding,
                  r.index);
    }
    struct ypi_gradient_result right = found(NO_MISTAKE, 0);
    cr_expect(passes(&right) && right.finding == YP_GRADIENT_NOTHING);
    struct ypi_gradient_result beside = found(F_KINK, 0.75);
    cr_expect(passes(&beside), "a kink elsewhere: %g", beside.error);
    const double strange[] = {NAN, INFINITY, -INFINITY, 1e4};
    for (int i = 0; i < 4; i++) {
        struct ypi_gradient_result r = found(NO_MISTAKE, strange[i]);
        cr_expect(!passes(&r) && strcmp(r.tensor, "x") == 0, "x[0] = %g: %g", strange[i], r.error);
        cr_expect(i == 3 || (r.finding == YP_GRADIENT_X_NOT_FINITE && r.index == 0));
    }
}

/* y_i = x_i^2, whose gradient is wrong in one of a thousand tensors. */
enum { MANY = 1000 };

static void squares_f(void *arg, const double *x, double *y)
{
    (void)arg;
    for (int i = 0; i < 2 * MANY; i++)
        y[i] = x[i] * x[i];
}

static void squares_vjp(void *arg, const double *x, const double *c, double *g)
{
    const size_t *wrong = arg;
    for (size_t i = 0; i < (size_t)2 * MANY; i++)
        g[i] = 2 * x[i] * c[i] * (i == *wrong ? 1.001 : 1);
}

Test(gradient, any_number_of_tensors)
{
    static double x[2 * MANY];
    static struct yp_tensor tensors[MANY];
    static char names[MANY][8];
    size_t wrong = SIZE_MAX;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "t%zu", i);
        tensors[i] = (struct yp_tensor){names[i], 2 * i, 2};
        x[2 * i] = x[2 * i + 1] = 1 + 0.01 * (double)i;
    }
    struct yp_gradient gradient = square(squares_f, squares_vjp, &wrong, x, (size_t)2 * MANY);
    gradient.tensors = tensors;
    gradient.n_tensors = MANY;
    gradient.directions = 1;
    struct ypi_gradient_result result = checked(gradient, 1);
    cr_expect(result.error <= LIMIT && result.checked == MANY, "%g", result.error);
    wrong = 1999;
    result = checked(gradient, 1);
    cr_expect(result.error > LIMIT && strcmp(result.tensor, "t999") == 0, "%s", result.tensor);
}

Test(gradient, a_function_that_draws_masks_is_refused)
{
    struct ypi_gradient_result result;
    cr_expect(find(F_RANDOM, 1, &result) == YP_INVALID);
    cr_expect(strstr(yp_last_error(), "y[2]") && strstr(yp_last_error(), "deterministic"), "%s",
              yp_last_error());
}

static void expect_invalid(const struct yp_gradient *gradient, const char *names)
{
    struct ypi_gradient_result result;
    cr_expect(ypi_gradient_error(gradient, 1, &result) == YP_INVALID, "%s was allowed", names);
    cr_expect(strstr(yp_last_error(), names) != NULL, "\"%s\" does not name %s", yp_last_error(),
              names);
}

Test(gradient, names_the_field_that_is_not_allowed)
{
    double x[8] = {0};
    double arg[2] = {1, 1};
    const struct yp_tensor right[2] = {{"a", 0, 4}, {"b", 4, 4}};
    struct yp_tensor tensors[2];
    struct yp_gradient good = square(waves_f, waves_vjp, arg, x, 8);
    good.tensors = right;
    good.n_tensors = 2;
    struct ypi_gradient_result result;
    cr_expect(ypi_gradient_error(&good, 1, &result) == YP_OK);
    cr_expect(ypi_gradient_error(NULL, 1, &result) == YP_INVALID);
    cr_expect(ypi_gradient_error(&good, 1, NULL) == YP_INVALID);

#define BAD(names, ...) \
    do { \
        struct yp_gradient bad = good; \
        memcpy(tensors, right, sizeof tensors); \
        bad.tensors = tensors; \
        __VA_ARGS__; \
        expect_invalid(&bad, names); \
    } while (0)
    BAD("name is NULL", bad.name = NULL);
    BAD("f is NULL", bad.f = NULL);
    BAD("vjp is NULL", bad.vjp = NULL);
    BAD("x is NULL", bad.x = NULL);
    BAD("inputs is 0", bad.inputs = 0);
    BAD("outputs is 0", bad.outputs = 0);
    BAD("directions is -1", bad.directions = -1);
    BAD("step is -0.1", bad.step = -0.1);
    BAD("step is nan", bad.step = fabs(NAN));
    BAD("step is 2", bad.step = 2);
    BAD("(\"b\").count is 0", tensors[1].count = 0);
    BAD("tensors[1].name is NULL", tensors[1].name = NULL);
    BAD("inputs is 8", tensors[1].count = 5);
    BAD("inputs is 8", tensors[1].offset = 9);
    BAD("inputs is 8", tensors[1].offset = SIZE_MAX);
    BAD("inputs is 8", tensors[1].count = SIZE_MAX);
    BAD("overlaps tensors[0] (\"a\")", tensors[1].offset = 3);
    BAD("overlaps tensors[0] (\"a\")", tensors[1] = (struct yp_tensor){"b", 1, 2});
    BAD("tensors is NULL, n_tensors is 2", bad.tensors = NULL);
    BAD("x[3] of 8 is in none of the 2 tensors", tensors[0].count = 3);
    BAD("x[0] of 8 is in none of the 2 tensors", tensors[0].offset = 1, tensors[0].count = 3);
    BAD("x[7] of 8 is in none of the 2 tensors", tensors[1].count = 3);
#undef BAD

    struct yp_gradient partial = good;
    partial.n_tensors = 1;
    expect_invalid(&partial, "x[4] of 8");
    partial.partial = true;
    cr_expect(ypi_gradient_error(&partial, 1, &result) == YP_OK);

    struct yp_gradient huge = good;
    huge.outputs = SIZE_MAX / 8;
    cr_expect(ypi_gradient_error(&huge, 1, &result) == YP_OUT_OF_MEMORY);
}
