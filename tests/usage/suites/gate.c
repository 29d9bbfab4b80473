/* What the checks and the benchmark of `yieldpoint gate` compare: cases of known kinds. A file
 * `change` beside the program makes some of them slower, larger or wrong: words such as roots=20,
 * which is 1 part in 20 more of the work of case `roots`. */
#include <yieldpoint/yieldpoint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file beside the program, or NULL. */
static FILE *beside(const char *name, const char *mode)
{
    char path[4096 + 16] = "";
    ssize_t length = readlink("/proc/self/exe", path, 4095);
    char *slash = length > 0 ? strrchr(path, '/') : NULL;
    if (slash == NULL)
        return NULL;
    snprintf(slash + 1, 16, "%s", name);
    return fopen(path, mode);
}

/* The figure behind NAME= in the file; 0: it is not there. */
static double change(const char *name)
{
    char word[64];
    double value = 0;
    FILE *file = beside("change", "r");
    while (file != NULL && fscanf(file, "%63s", word) == 1)
        if (strncmp(word, name, strlen(name)) == 0 && word[strlen(name)] == '=')
            value = strtod(word + strlen(name) + 1, NULL);
    if (file != NULL)
        fclose(file);
    return value;
}

/* So many elements, and those that are more by `name`. */
static size_t more(size_t count, const char *name)
{
    double one_in = change(name);
    return one_in > 0 ? count + (size_t)((double)count / one_in) : count;
}

static float *filled(struct yp_case *t, size_t count)
{
    float *x = yp_alloc(t, count * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i % 97) + 1;
    return x;
}

/* -- arithmetic ---------------------------------------------------------------------------- */

static double roots(size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += sqrt((double)i + sum * 1e-9);
    return sum;
}

YP_TEST(gate, roots, .tags = "perf small")
{
    size_t count = more(4000, "roots");
    double sum = 0;
    yp_measure (t, "roots", .items = 4000) {
        sum = roots(count);
        yp_keep(sum);
    }
}

YP_TEST(gate, roots_long, .tags = "perf small")
{
    size_t count = more(4000000, "roots_long");
    double sum = 0;
    yp_measure (t, "roots", .items = 4e6) {
        sum = roots(count);
        yp_keep(sum);
    }
}

YP_TEST(gate, hash_short, .tags = "perf small")
{
    size_t count = more(20, "hash_short");
    uint64_t state = 1;
    yp_measure (t, "hash", .items = 20) {
        for (size_t i = 0; i < count; i++)
            state = (state ^ (state >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
        yp_keep(state);
    }
}

/* `not_kept`: without a yp_keep, of which an optimising compiler leaves nothing. */
YP_TEST(gate, kept, .tags = "perf small")
{
    uint64_t state = 1;
    if (change("not_kept") > 0)
        yp_measure (t, "step", .max_seconds = 0.05) {
            state *= UINT64_C(0x9e3779b97f4a7c15);
        }
    else
        yp_measure (t, "step", .max_seconds = 0.05) {
            state *= UINT64_C(0x9e3779b97f4a7c15);
            yp_keep(state);
        }
}

enum { ORDER = 96 };

static void product(const float *a, const float *b, float *c, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < ORDER; k++)
            for (size_t j = 0; j < ORDER; j++)
                c[i % ORDER * ORDER + j] += a[i % ORDER * ORDER + k] * b[k * ORDER + j];
}

YP_TEST(gate, product, .tags = "perf small")
{
    float *a = filled(t, ORDER * ORDER);
    float *b = filled(t, ORDER * ORDER);
    float *c = filled(t, ORDER * ORDER);
    size_t rows = more(ORDER, "product");
    yp_measure (t, "product", .items = ORDER) {
        product(a, b, c, rows);
        yp_clobber();
    }
}

/* -- memory -------------------------------------------------------------------------------- */

enum { COPY = 4 << 20 }; /* floats: 16 MiB */

YP_TEST(gate, copy, .tags = "perf small")
{
    float *from = filled(t, COPY + COPY / 4);
    float *to = filled(t, COPY + COPY / 4);
    size_t count = more(COPY, "copy");
    yp_measure (t, "copy", .bytes = 8.0 * COPY) {
        memcpy(to, from, count * sizeof *to);
        yp_clobber();
    }
}

enum { NEAR = 1 << 16, FAR = 1 << 20, STEPS = 20000 };

/* Through one cycle of all places, by chance. */
static size_t *cycle(struct yp_case *t, size_t places)
{
    size_t *next = yp_alloc(t, places * sizeof *next);
    uint64_t state = 88172645463325252U;
    for (size_t i = 0; i < places; i++)
        next[i] = i;
    for (size_t i = places - 1; i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t j = (size_t)(state % i);
        size_t keep = next[i];
        next[i] = next[j];
        next[j] = keep;
    }
    return next;
}

static size_t walk(const size_t *next, size_t at, size_t steps)
{
    for (size_t i = 0; i < steps; i++)
        at = next[at];
    return at;
}

/* 512 KiB, which a core's own cache holds. */
YP_TEST(gate, walk, .tags = "perf small")
{
    size_t *next = cycle(t, NEAR);
    size_t steps = more(STEPS, "walk");
    size_t at = 0;
    yp_measure (t, "walk", .items = STEPS) {
        at = walk(next, at, steps);
        yp_keep(at);
    }
}

/* 8 MiB, in a cache that is shared with whatever else the machine does. */
YP_TEST(gate, walk_far, .tags = "perf small")
{
    size_t *next = cycle(t, FAR);
    size_t steps = more(STEPS, "walk_far");
    size_t at = 0;
    yp_measure (t, "walk", .items = STEPS) {
        at = walk(next, at, steps);
        yp_keep(at);
    }
}

/* -- both, and what is exact --------------------------------------------------------------- */

enum { ROWS = 256, COLUMNS = 1024 };

/* Worse locality: of "normalise_far" in a thousand, rows are written column by column. */
YP_TEST(gate, normalise, .tags = "perf small")
{
    float *x = filled(t, ROWS * COLUMNS);
    float *y = filled(t, ROWS * COLUMNS);
    size_t far = (size_t)(ROWS * change("normalise_far") / 1000);
    yp_measure (t, "normalise", .items = ROWS) {
        for (size_t r = 0; r < ROWS; r++) {
            float sum = 0;
            for (size_t c = 0; c < COLUMNS; c++)
                sum += x[r * COLUMNS + c] * x[r * COLUMNS + c];
            float scale = 1 / sqrtf(sum / COLUMNS);
            for (size_t c = 0; c < COLUMNS; c++)
                y[r < far ? c * ROWS + r : r * COLUMNS + c] = scale * x[r * COLUMNS + c];
        }
        yp_clobber();
    }
}

/* Of processes that are not timed: each makes the file `untimed` a byte longer. With `value_varies`
 * a value that none has twice; with `allocations_vary` an allocation by each second one, the first
 * where it is odd. */
static void vary(struct yp_case *t)
{
    long first = (long)change("allocations_vary");
    bool value = change("value_varies") != 0;
    FILE *file = first > 0 || value ? beside("untimed", "a") : NULL;
    if (file == NULL)
        return;
    fputc('1', file);
    if (first > 0 && (ftell(file) + first) % 2 == 0)
        yp_alloc(t, 16);
    if (value)
        yp_value(t, "process", getpid());
    fclose(file);
}

/* Values whose budgets say which way is better. */
YP_TEST(gate, scored,
        .budgets = YP_BUDGETS(yp_min_value("accuracy", 0), yp_max_value("loss", 10),
                              yp_min_value("size", 0), yp_max_value("size", 10)))
{
    yp_value(t, "accuracy", 0.5 + change("accuracy"));
    yp_value(t, "loss", 2 + change("loss"));
    yp_value(t, "size", 3 + change("size"));
    yp_value(t, "free", 4 + change("free"));
}

YP_TEST(gate, exact, .tags = "perf small")
{
    size_t iterations = 0;
    float *x = filled(t, 1000 + (size_t)change("bytes") / sizeof(float));
    for (int i = 0; i < (int)change("allocations"); i++)
        yp_alloc(t, 16);
    yp_value(t, "mean", roots(1000) * (1 + change("value")));
    yp_expect(t, change("fails") == 0, "it was made to fail");
    yp_measure (t, "sum", .items = 1000) {
        float sum = 0;
        for (size_t i = 0; i < 1000; i++)
            sum += x[i];
        yp_keep(sum);
        iterations++;
    }
    if (iterations == 1)
        vary(t);
}
