/* Files that PyTorch made, and what is compared with them. */
#include "suites/stress/reference.h"

#include "suites/worst.h"

#include <reference_files.h> /* of the build: REFERENCE_FILES, where the suite's are */
#include <stdio.h>
#include <string.h>

YP_OPTION(reference, .value = "FOLDER", .path = true,
          .help = "with what models/.../reference/make.py wrote to FOLDER/mock, vit or graph");

/* -- files ------------------------------------------------------------------------------------ */

const char *reference_path(const struct reference *r, const char *name, char path[512])
{
    const char *folder = yp_option(reference), *slash = strrchr(r->model, '/');
    if (folder == NULL)
        snprintf(path, 512, "%s/%s/%s", REFERENCE_FILES, r->model, name);
    else
        snprintf(path, 512, "%s/%s/%s", folder, slash != NULL ? slash + 1 : r->model, name);
    return path;
}

static void open_expected(struct yp_case *t, struct reference *r)
{
    char name[64], path[512];
    snprintf(name, sizeof name, "%s.safetensors", r->variant);
    r->expected = safetensors_open(reference_path(r, name, path));
    if (r->expected == NULL && yp_option(reference) != NULL)
        yp_skip(t, "%s", yp_last_error());
    yp_got(t, r->expected);
}

static double *values_of(struct yp_case *t, const struct safetensors *file,
                         const struct safetensors_tensor *tensor)
{
    const size_t count = safetensors_elements(tensor);
    double *values = yp_alloc_host(t, count * sizeof *values);
    yp_ok(t, safetensors_read_doubles(file, tensor, 0, count, values));
    return values;
}

double reference_number(struct yp_case *t, const struct reference *r, const char *name)
{
    const struct safetensors_tensor *tensor = safetensors_find(r->expected, name);
    return tensor != NULL ? *values_of(t, r->expected, tensor) : 0;
}

/* -- results ---------------------------------------------------------------------------------- */

size_t reference_element(const struct reference *r)
{
    return r->way == REFERENCE_DOUBLE ? sizeof(double) : sizeof(float);
}

struct yp_device *reference_device(struct yp_case *t, const struct reference *r)
{
    return r->way == REFERENCE_FAST ? yp_device(t) : yp_device_cpu();
}

void *reference_fetch(struct yp_case *t, const struct reference *r, const void *from, size_t count)
{
    void *values = yp_alloc_host(t, count * reference_element(r));
    yp_ok(t, yp_device_copy(reference_device(t, r), values, from, count * reference_element(r)));
    return values;
}

void reference_add(struct reference *r, struct state_tensor tensor, const void *values, bool wide)
{
    r->results[r->count++] = (struct state_values){tensor, values, wide};
}

/* -- comparison ------------------------------------------------------------------------------- */

enum group { OUTPUT, LOSSES, GRADIENT, STATISTICS, GROUPS };
static const char *const groups[GROUPS] = {"output", "losses", "gradient", "statistics"};

struct sums {
    double off, size; /* of squares */
};

struct comparison {
    struct sums of[GROUPS];
    double worst; /* error of a tensor */
    char name[SAFETENSORS_NAME];
};

static enum group group_of(const char *name)
{
    if (strstr(name, ".grad") != NULL || strstr(name, ".running_") != NULL)
        return strstr(name, ".grad") != NULL ? GRADIENT : STATISTICS;
    return strncmp(name, "loss", 4) == 0 ? LOSSES : OUTPUT;
}

/* What an error is a share of: the size of what is right. */
static double yardstick(struct yp_case *t, const struct reference *r, const char *name, double size)
{
    static const char bias[] = "bias.grad";
    char other[SAFETENSORS_NAME + 4];
    const size_t before = strlen(name) - strlen(bias);
    if (r->is_rounding == NULL || !r->is_rounding(r, name))
        return size;
    snprintf(other, sizeof other, "%.*sweight.grad", (int)before, name);
    const struct safetensors_tensor *weight = safetensors_find(r->expected, other);
    yp_require(t, weight != NULL, "the file has no %s", other);
    const double *values = values_of(t, r->expected, weight);
    size = 0;
    for (size_t i = 0; i < safetensors_elements(weight); i++)
        size += values[i] * values[i];
    return size;
}

static void compare_tensor(struct yp_case *t, const struct reference *r,
                           const struct safetensors *got, const struct safetensors_tensor *wanted,
                           struct comparison *c)
{
    const struct safetensors_tensor *is = safetensors_find(got, wanted->name);
    yp_require(t, is != NULL, "no %s", wanted->name);
    yp_require(t,
               is->dims == wanted->dims && memcmp(is->shape, wanted->shape, sizeof is->shape) == 0,
               "%s has another shape", wanted->name);
    const double *a = values_of(t, got, is), *b = values_of(t, r->expected, wanted);
    struct sums sums = {0, 0}, *all = &c->of[group_of(wanted->name)];
    for (size_t i = 0; i < safetensors_elements(wanted); i++) {
        sums.off += (a[i] - b[i]) * (a[i] - b[i]);
        sums.size += b[i] * b[i];
    }
    all->off += sums.off;
    all->size += sums.size;
    const double size = yardstick(t, r, wanted->name, sums.size);
    /* The gradient of what no result depends on is 0. */
    const double error = sums.off > 0 || isnan(sums.off) ? sqrt(sums.off / size) : 0;
    if (worse(c->worst, error) == c->worst)
        return;
    c->worst = error;
    snprintf(c->name, sizeof c->name, "%s", wanted->name);
}

static void compare(struct yp_case *t, const struct reference *r, struct comparison *c)
{
    char path[512];
    const struct safetensors_tensor *tensor;
    size_t compared = 0;
    *c = (struct comparison){.worst = 0};
    snprintf(path, sizeof path, "%s/results", yp_tmp_path(t));
    yp_ok(t, state_save(path, r->results, r->count));
    struct safetensors *got = safetensors_open(path);
    yp_got(t, got);
    for (size_t i = 0; (tensor = safetensors_at(r->expected, i)) != NULL; i++) {
        if (strncmp(tensor->name, "size.", 5) == 0 || strncmp(tensor->name, "weight.", 7) == 0)
            continue;
        compare_tensor(t, r, got, tensor, c);
        compared++;
    }
    yp_expect(t, compared > 2 && (!r->all || compared == r->count), "%zu of %zu are expected",
              compared, r->count);
    safetensors_close(got);
}

/* Double by its worst tensor; the fast way, group by group, beside plain loops in float. Losses are
 * few and may be right by luck: they are held to the output's plain error, where that is larger. */
void reference_check(struct yp_case *t, struct reference *r)
{
    struct comparison found[REFERENCE_WAYS];
    open_expected(t, r);
    for (r->way = REFERENCE_DOUBLE; r->way < REFERENCE_WAYS; r->way++) {
        r->count = 0;
        r->run(t, r);
        compare(t, r, &found[r->way]);
        printf("%d: the worst is %s, off by %.2e\n", (int)r->way, found[r->way].name,
               found[r->way].worst);
    }
    yp_value(t, "error", found[REFERENCE_DOUBLE].worst);
    yp_value(t, "plain error", found[REFERENCE_PLAIN].worst);
    /* What is far off bounds nothing. In long sums it may be. */
    yp_expect(t, yp_option(reference) != NULL || found[REFERENCE_PLAIN].worst < r->plain,
              "plain loops in float: %s is off by %g", found[REFERENCE_PLAIN].name,
              found[REFERENCE_PLAIN].worst);
    for (int i = 0; i < GROUPS; i++) {
        const struct sums *fast = &found[REFERENCE_FAST].of[i], *plain = found[REFERENCE_PLAIN].of;
        const double output = sqrt(plain[OUTPUT].off / plain[OUTPUT].size);
        const double right = sqrt(plain[i].off / plain[i].size);
        const double error = sqrt(fast->off / fast->size);
        char name[64];
        if (fast->size == 0)
            continue;
        snprintf(name, sizeof name, "%s error", groups[i]);
        yp_value(t, name, error);
        snprintf(name, sizeof name, "%s to plain", groups[i]);
        yp_value(t, name, error / (i == LOSSES ? worse(right, output) : right));
    }
    safetensors_close(r->expected);
}
