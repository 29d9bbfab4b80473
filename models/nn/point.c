/* Drawn inputs of an operator, and its three forms on them. */
#include "models/nn/point.h"

#include "base/system/arena.h"
#include "models/nn/draw.h"

#include <math.h>
#include <string.h>

enum { PURPOSE = 0x6e6e, GUARD = 64, POISON = 0xff };

/* -- memory ------------------------------------------------------------------------------------ */

/* A tensor of the version's memory: 0xff, no number of any type, up to a guard behind it. */
static void *typed(struct ypi_arena *arena, size_t count, enum nn_type type)
{
    char *place = ypi_arena_take(arena, count * nn_type_bytes(type) + GUARD, 1);
    return place;
}

static void lay_out_fast(struct nn_point *p, struct ypi_arena *arena)
{
    for (int i = 0; p->version != NULL && i < nn_tensors(p->op); i++) {
        const struct nn_tensor *tensor = &p->op->tensors[i];
        size_t count = nn_count(p->op, tensor, p->shape);
        p->fast.value[i] = typed(arena, count, nn_value_type(p->op, p->version, i));
        if (nn_has_gradient(tensor) || tensor->role == NN_OUTPUT)
            p->fast.gradient[i] = typed(arena, count, nn_gradient_type(p->op, p->version, i));
    }
    size_t work = p->version != NULL && p->version->work != NULL ? p->version->work(p->shape) : 0;
    p->fast.work = work > 0 ? typed(arena, work, NN_UINT8) : NULL;
    p->bytes = arena->used;
}

/* Offsets within a block of `block` doubles. */
static double *part(double *block, size_t *used, size_t count)
{
    double *place = block != NULL ? block + *used : NULL;
    *used += count;
    return place;
}

static void lay_out_plain(struct nn_point *p, struct ypi_arena *arena)
{
    size_t inputs = 0, outputs = 0, graded = 0, judged = 0;
    for (int i = 0; i < nn_tensors(p->op); i++) {
        size_t count = nn_count(p->op, &p->op->tensors[i], p->shape);
        p->inputs += nn_has_gradient(&p->op->tensors[i]) ? count : 0;
        p->outputs += p->op->tensors[i].role == NN_OUTPUT ? count : 0;
    }
    p->x = ypi_arena_take(arena, p->inputs, sizeof *p->x);
    p->g = ypi_arena_take(arena, p->inputs, sizeof *p->g);
    p->y = ypi_arena_take(arena, p->outputs, sizeof *p->y);
    p->c = ypi_arena_take(arena, p->outputs, sizeof *p->c);
    for (int i = 0; i < nn_tensors(p->op); i++) {
        const struct nn_tensor *tensor = &p->op->tensors[i];
        size_t count = nn_count(p->op, tensor, p->shape);
        bool has = nn_has_gradient(tensor), out = tensor->role == NN_OUTPUT;
        if (tensor->type != NN_REAL) {
            p->oracle.value[i] = p->plain.value[i] =
                ypi_arena_take(arena, count, nn_type_bytes(tensor->type));
            continue;
        }
        p->oracle.value[i] = has   ? part(p->x, &inputs, count)
                             : out ? part(p->y, &outputs, count)
                                   : ypi_arena_take(arena, count, sizeof(double));
        p->oracle.gradient[i] = has   ? part(p->g, &graded, count)
                                : out ? part(p->c, &judged, count)
                                      : NULL;
        p->plain.value[i] = ypi_arena_take(arena, count, sizeof(float));
        p->plain.gradient[i] = has || out ? ypi_arena_take(arena, count, sizeof(float)) : NULL;
        p->got[i] = ypi_arena_take(arena, count, sizeof(float));
    }
    size_t work = p->op->plain_work != NULL ? p->op->plain_work(p->shape) : 0;
    p->oracle.work = p->plain.work = work > 0 ? ypi_arena_take(arena, work, 1) : NULL;
}

/* Everything on the host: the object, the plain forms, and the staging copy. */
static void lay_out(struct nn_point *p, struct ypi_arena *arena)
{
    ypi_arena_take(arena, 1, sizeof *p);
    lay_out_plain(p, arena);
    p->staging = p->bytes > 0 ? ypi_arena_take(arena, p->bytes, 1) : NULL;
}

static struct nn_point counted(const struct nn_operator *op, const struct nn_shape *shape,
                               const struct nn_version *version, size_t *host)
{
    struct nn_point p = {.op = op, .shape = shape, .version = version};
    struct ypi_arena arena = {0}, there = {0};
    lay_out_fast(&p, &there);
    lay_out(&p, &arena);
    *host = arena.used;
    return p;
}

size_t nn_point_bytes(const struct nn_operator *op, const struct nn_shape *shape,
                      const struct nn_version *version)
{
    size_t host;
    struct nn_point p = counted(op, shape, version, &host);
    return host + p.bytes;
}

/* -- values ------------------------------------------------------------------------------------ */

/* Where the staging copy has what the device has at `place`. */
static char *staged(const struct nn_point *p, const void *place)
{
    return p->staging + ((const char *)place - p->there);
}

/* Element k of a tensor that is lifted: a multiple of 1/4 beside `lift`, as far as the type goes.
 */
static double lifted(const struct nn_point *p, int i, size_t k, enum nn_type type,
                     struct ypi_seed *state)
{
    const double most = type == NN_FLOAT16 ? 0x1p15 : INFINITY;
    static const struct nn_domain whole = {NN_WHOLE, .low = -8, .high = 8};
    const struct nn_tensor *tensor = &p->op->tensors[i];
    char letter = tensor->dims[strlen(tensor->dims) - 1];
    size_t width = p->shape->size[strchr(p->op->dims, letter) - p->op->dims];
    return k % width == 0 ? fmin(tensor->domain.lift, most)
                          : nn_draw(p->op, p->shape, &whole, state) / 4;
}

/* A tensor's values, or its cotangents, to all three. */
static void fill(struct nn_point *p, int i, bool cotangents, uint64_t seed)
{
    const struct nn_tensor *tensor = &p->op->tensors[i];
    static const struct nn_domain any = {NN_BELL, .high = 1};
    const char *shape = p->shape->name;
    bool lift =
        !cotangents && shape != NULL && strcmp(shape, "lifted") == 0 && tensor->domain.lift != 0;
    struct ypi_seed state = ypi_seed_of(seed, PURPOSE, (uint64_t)i + (cotangents ? NN_TENSORS : 0));
    enum nn_type type = cotangents ? nn_gradient_type(p->op, p->version, i)
                        : p->version == NULL && tensor->type == NN_REAL
                            ? NN_FLOAT
                            : nn_value_type(p->op, p->version, i);
    void *oracle = cotangents ? p->oracle.gradient[i] : p->oracle.value[i];
    void *plain = cotangents ? p->plain.gradient[i] : p->plain.value[i];
    const void *fast = cotangents ? p->fast.gradient[i] : p->fast.value[i];
    char *to = fast != NULL ? staged(p, fast) : NULL;
    if (oracle == NULL || plain == NULL)
        return;
    for (size_t k = 0; k < nn_count(p->op, tensor, p->shape); k++) {
        double value = lift ? lifted(p, i, k, type, &state)
                            : nn_draw(p->op, p->shape, cotangents ? &any : &tensor->domain, &state);
        if (tensor->type == NN_REAL) {
            value = (double)nn_round(value, type);
            nn_store(oracle, NN_DOUBLE, k, value);
            nn_store(plain, NN_FLOAT, k, value);
        } else {
            nn_store(oracle, tensor->type, k, value);
        }
        if (to != NULL)
            nn_store(to, type, k, value);
    }
    if (cotangents || tensor->type != NN_INT32)
        return;
    const size_t count = nn_count(p->op, tensor, p->shape);
    nn_draw_offsets(p->op, p->shape, &tensor->domain, oracle, count);
    if (to != NULL)
        memcpy(to, oracle, count * sizeof(int32_t));
}

static void fill_all(struct nn_point *p, uint64_t seed)
{
    if (p->bytes > 0)
        memset(p->staging, POISON, p->bytes);
    for (int i = 0; i < nn_tensors(p->op); i++) {
        if (nn_is_drawn(&p->op->tensors[i]))
            fill(p, i, false, seed);
        else if (p->op->tensors[i].role == NN_OUTPUT)
            fill(p, i, true, seed);
    }
}

struct nn_point *nn_point_create(struct yp_device *device, const struct nn_operator *op,
                                 const struct nn_shape *shape, const struct nn_version *version,
                                 uint64_t seed)
{
    size_t host;
    struct nn_point p = counted(op, shape, version, &host);
    struct ypi_arena arena = {.base = yp_device_alloc(yp_device_cpu(), host)};
    if (arena.base == NULL)
        return NULL;
    struct ypi_arena there = {0};
    if (p.bytes > 0 && (there.base = yp_device_alloc(device, p.bytes)) == NULL) {
        yp_device_free(yp_device_cpu(), arena.base);
        return NULL;
    }
    p = (struct nn_point){.op = op, .shape = shape, .version = version, .device = device};
    p.there = there.base;
    if (version != NULL)
        lay_out_fast(&p, &there);
    lay_out(&p, &arena);
    p.fast.device = device;
    p.fast.shape = p.oracle.shape = p.plain.shape = shape;
    fill_all(&p, seed);
    struct nn_point *point = (struct nn_point *)(void *)arena.base;
    *point = p;
    if (p.bytes > 0 && yp_device_copy(device, p.there, p.staging, p.bytes) != YP_OK) {
        nn_point_destroy(point);
        return NULL;
    }
    return point;
}

void nn_point_destroy(struct nn_point *point)
{
    if (point == NULL)
        return;
    yp_device_free(point->device, point->there);
    yp_device_free(yp_device_cpu(), point);
}

/* -- the three forms --------------------------------------------------------------------------- */

bool nn_point_written(const struct nn_point *point, enum nn_pass pass, int i)
{
    const struct nn_tensor *tensor = &point->op->tensors[i];
    return pass == NN_VJP ? nn_has_gradient(tensor) : nn_is_result(tensor);
}

static enum nn_type written_type(const struct nn_point *p, enum nn_pass pass, int i)
{
    return pass == NN_VJP ? nn_gradient_type(p->op, p->version, i)
                          : nn_value_type(p->op, p->version, i);
}

void nn_point_plain(struct nn_point *p, enum nn_pass pass)
{
    (pass == NN_VJP ? p->op->oracle_vjp : p->op->oracle)(&p->oracle);
    (pass == NN_VJP ? p->op->plain_vjp : p->op->plain)(&p->plain);
    for (int i = 0; i < nn_tensors(p->op); i++) {
        if (!nn_point_written(p, pass, i) || !nn_16_bits(written_type(p, pass, i)))
            continue;
        float *plain = pass == NN_VJP ? p->plain.gradient[i] : p->plain.value[i];
        for (size_t k = 0; k < nn_count(p->op, &p->op->tensors[i], p->shape); k++)
            plain[k] = nn_round((double)plain[k], written_type(p, pass, i));
    }
}

enum yp_status nn_point_fast(struct nn_point *p, enum nn_pass pass)
{
    return (pass == NN_VJP ? p->version->vjp : p->version->forward)(&p->fast);
}

/* Nothing behind a tensor was written. */
static enum yp_status check_guard(const struct nn_point *p, const void *place, size_t bytes,
                                  const char *what)
{
    const unsigned char *guard = (const unsigned char *)staged(p, place) + bytes;
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != POISON)
            return yp_set_error(YP_INVALID, "operator %s in %s wrote %d bytes behind %s",
                                p->op->name, nn_precision_name(p->version->precision), i, what);
    return YP_OK;
}

/* An input, or a cotangent, is still what was drawn. */
static enum yp_status check_read(const struct nn_point *p, int i, bool cotangent)
{
    const struct nn_tensor *tensor = &p->op->tensors[i];
    const double *drawn = cotangent ? p->oracle.gradient[i] : p->oracle.value[i];
    const void *now = staged(p, cotangent ? p->fast.gradient[i] : p->fast.value[i]);
    enum nn_type type =
        cotangent ? nn_gradient_type(p->op, p->version, i) : nn_value_type(p->op, p->version, i);
    size_t count = nn_count(p->op, tensor, p->shape);
    bool same = true;
    if (tensor->type != NN_REAL)
        same = memcmp(now, p->oracle.value[i], count * nn_type_bytes(type)) == 0;
    for (size_t k = 0; k < count && tensor->type == NN_REAL; k++) {
        const double is = (double)nn_load(now, type, k);
        same = same && (is == drawn[k] || (isnan(is) && isnan(drawn[k])));
    }
    return same ? YP_OK
                : yp_set_error(YP_INVALID, "operator %s in %s wrote to %s, which it may only read",
                               p->op->name, nn_precision_name(p->version->precision), tensor->name);
}

static enum yp_status check_tensor(const struct nn_point *p, enum nn_pass pass, int i)
{
    const struct nn_tensor *tensor = &p->op->tensors[i];
    size_t count = nn_count(p->op, tensor, p->shape);
    enum yp_status status =
        check_guard(p, p->fast.value[i], count * nn_type_bytes(nn_value_type(p->op, p->version, i)),
                    tensor->name);
    if (status == YP_OK && p->fast.gradient[i] != NULL)
        status = check_guard(p, p->fast.gradient[i],
                             count * nn_type_bytes(nn_gradient_type(p->op, p->version, i)),
                             tensor->name);
    if (status == YP_OK && !nn_is_result(tensor))
        status = check_read(p, i, false);
    if (status == YP_OK && pass == NN_VJP && tensor->role == NN_OUTPUT)
        status = check_read(p, i, true);
    return status;
}

enum yp_status nn_point_fetch(struct nn_point *p, enum nn_pass pass)
{
    enum yp_status status = yp_device_copy(p->device, p->staging, p->there, p->bytes);
    for (int i = 0; i < nn_tensors(p->op) && status == YP_OK; i++) {
        status = check_tensor(p, pass, i);
        if (status != YP_OK || !nn_point_written(p, pass, i))
            continue;
        const void *from = staged(p, pass == NN_VJP ? p->fast.gradient[i] : p->fast.value[i]);
        for (size_t k = 0; k < nn_count(p->op, &p->op->tensors[i], p->shape); k++)
            p->got[i][k] = nn_load(from, written_type(p, pass, i), k);
    }
    if (status == YP_OK && p->fast.work != NULL)
        status = check_guard(p, p->fast.work, p->version->work(p->shape), "its workspace");
    return status;
}

/* -- comparison -------------------------------------------------------------------------------- */

static struct yp_precision comparison(const struct nn_point *p, enum nn_pass pass, int i)
{
    return (struct yp_precision){
        .name = p->op->tensors[i].name,
        .count = nn_count(p->op, &p->op->tensors[i], p->shape),
        .oracle = pass == NN_VJP ? p->oracle.gradient[i] : p->oracle.value[i],
        .plain = pass == NN_VJP ? p->plain.gradient[i] : p->plain.value[i],
        .got = p->got[i],
        .multiple = p->version->multiple > 0 ? p->version->multiple : 3,
    };
}

/* ||plain - oracle|| / ||oracle||, as ypi_precision_error() has it. */
static double plain_error(const struct yp_precision *check)
{
    double off = 0, norm = 0;
    for (size_t i = 0; i < check->count; i++) {
        double by = (double)check->plain[i] - check->oracle[i];
        off += by * by;
        norm += check->oracle[i] * check->oracle[i];
    }
    return norm > 0 ? fmax(sqrt(off / norm), 0x1p-24) : 0x1p-24;
}

struct yp_precision nn_point_precision(const struct nn_point *p, enum nn_pass pass, int i)
{
    struct yp_precision check = comparison(p, pass, i);
    double worst = plain_error(&check);
    for (int k = 0; k < nn_tensors(p->op) && check.count == 1; k++)
        if (nn_point_written(p, pass, k)) {
            struct yp_precision other = comparison(p, pass, k);
            worst = fmax(worst, plain_error(&other));
        }
    worst = fmax(worst, p->version->rounding[i]);
    check.multiple *= worst / plain_error(&check);
    return check;
}

/* -- the oracle as a function ------------------------------------------------------------------ */

/* The oracle's call with other places for what has a gradient, and for outputs. */
static struct nn_call elsewhere(const struct nn_point *p, const double *x, double *y,
                                const double *c, double *g)
{
    struct nn_call call = p->oracle;
    for (int i = 0; i < nn_tensors(p->op); i++) {
        size_t at;
        if (nn_has_gradient(&p->op->tensors[i])) {
            at = (size_t)((double *)p->oracle.value[i] - p->x);
            call.value[i] = (void *)(uintptr_t)(x + at);
            call.gradient[i] = g != NULL ? g + at : NULL;
        } else if (p->op->tensors[i].role == NN_OUTPUT) {
            at = (size_t)((double *)p->oracle.value[i] - p->y);
            call.value[i] = y != NULL ? y + at : NULL;
            call.gradient[i] = c != NULL ? (void *)(uintptr_t)(c + at) : NULL;
        }
    }
    return call;
}

static void run_oracle(void *point, const double *x, double *y)
{
    const struct nn_point *p = point;
    struct nn_call call = elsewhere(p, x, y, NULL, NULL);
    p->op->oracle(&call);
}

static void run_oracle_vjp(void *point, const double *x, const double *cotangent, double *g)
{
    const struct nn_point *p = point;
    struct nn_call call = elsewhere(p, x, p->y, cotangent, g);
    p->op->oracle(&call); /* for what it saves */
    p->op->oracle_vjp(&call);
}

void nn_point_gradient(struct nn_point *p, struct yp_gradient *gradient)
{
    size_t n = 0;
    *gradient = (struct yp_gradient){.name = p->op->name,
                                     .inputs = p->inputs,
                                     .outputs = p->outputs,
                                     .f = run_oracle,
                                     .vjp = run_oracle_vjp,
                                     .arg = p,
                                     .x = p->x,
                                     .tensors = p->tensors};
    for (int i = 0; i < nn_tensors(p->op); i++)
        if (nn_has_gradient(&p->op->tensors[i]))
            p->tensors[n++] = (struct yp_tensor){p->op->tensors[i].name,
                                                 (size_t)((double *)p->oracle.value[i] - p->x),
                                                 nn_count(p->op, &p->op->tensors[i], p->shape)};
    gradient->n_tensors = n;
}

uint64_t nn_point_hash(const struct nn_point *p)
{
    uint64_t hash = 0;
    for (int i = 0; i < nn_tensors(p->op); i++) {
        const struct nn_tensor *tensor = &p->op->tensors[i];
        const double *drawn =
            tensor->role == NN_OUTPUT ? p->oracle.gradient[i] : p->oracle.value[i];
        for (size_t k = 0; k < nn_count(p->op, tensor, p->shape) && drawn != NULL; k++) {
            uint64_t bits = 0;
            if (tensor->type == NN_UINT8 || tensor->type == NN_SINT8)
                bits = ((const uint8_t *)drawn)[k];
            else if (tensor->type == NN_INT32)
                memcpy(&bits, (const int32_t *)(const void *)drawn + k, sizeof(int32_t));
            else if (tensor->role != NN_SAVED)
                memcpy(&bits, drawn + k, sizeof bits);
            hash = ypi_mix64(hash ^ bits) + YPI_GOLDEN;
        }
    }
    return hash;
}
