/* Named tensors between files and a model's memory. */
#include "models/refiner/weights.h"

#include "base/system/file.h"
#include "base/system/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* -- shapes ----------------------------------------------------------------------------------- */

size_t refiner_elements(const struct refiner_tensor *tensor)
{
    uint64_t count = 1;
    for (size_t i = 0; i < tensor->axes; i++)
        count *= tensor->shape[i];
    return count;
}

struct refiner_tensor refiner_images(const char *name, size_t batch, size_t channels, size_t rows,
                                     size_t columns)
{
    struct refiner_tensor tensor = {
        .axes = 4, .shape = {batch, channels, rows, columns}, .order = {0, 2, 3, 1}};
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    return tensor;
}

/* "(64, 4, 7, 7)". */
static const char *shape_text(size_t axes, const uint64_t *shape, char text[256])
{
    size_t at = 1;
    text[0] = '(';
    for (size_t i = 0; i < axes; i++)
        at += (size_t)snprintf(text + at, 256 - at, "%s%" PRIu64, i > 0 ? ", " : "", shape[i]);
    snprintf(text + at, 256 - at, ")");
    return text;
}

/* Elements of `bytes` each from the order of files to that of memory, or back. */
static void reorder(const struct refiner_tensor *t, bool to_file, size_t bytes, const void *from,
                    void *to)
{
    size_t size[REFINER_AXES], step[REFINER_AXES]; /* of memory's axes; in elements of the file */
    for (size_t i = 0; i < REFINER_AXES; i++) {
        const bool real = i < t->axes;
        size[i] = real ? t->shape[t->order[i]] : 1;
        step[i] = 1;
        for (size_t k = real ? (size_t)t->order[i] + 1 : REFINER_AXES; k < t->axes; k++)
            step[i] *= t->shape[k];
    }
    size_t memory = 0;
    for (size_t a = 0; a < size[0]; a++)
        for (size_t b = 0; b < size[1]; b++)
            for (size_t c = 0; c < size[2]; c++)
                for (size_t d = 0; d < size[3]; d++, memory++) {
                    const size_t file = a * step[0] + b * step[1] + c * step[2] + d * step[3];
                    memcpy((char *)to + (to_file ? file : memory) * bytes,
                           (const char *)from + (to_file ? memory : file) * bytes, bytes);
                }
}

/* -- reading ---------------------------------------------------------------------------------- */

struct reading {
    const char *path;
    const struct safetensors *file;
    refiner_table *table;
    const void *model;
    bool *used;  /* by place in the file */
    size_t most; /* elements of the largest tensor */
};

/* The first tensor of the file that the model did not ask for; NULL: there is none. */
static const struct safetensors_tensor *other(const struct reading *g)
{
    const struct safetensors_tensor *tensor;
    size_t i = 0;
    for (; (tensor = safetensors_at(g->file, i)) != NULL; i++) {
        const char *dot = strrchr(tensor->name, '.');
        if (!g->used[i] && (dot == NULL || strcmp(dot, ".num_batches_tracked") != 0))
            break;
    }
    return tensor;
}

static enum yp_status missing(const struct reading *g, const struct refiner_tensor *wanted)
{
    char text[256];
    struct refiner_tensor t;
    for (size_t i = 0; g->table(g->model, i, &t); i++) {
        const struct safetensors_tensor *found = safetensors_find(g->file, t.name);
        if (found != NULL)
            g->used[found - safetensors_at(g->file, 0)] = true;
    }
    const struct safetensors_tensor *stranger = other(g);
    shape_text(wanted->axes, wanted->shape, text);
    if (stranger != NULL)
        return yp_set_error(YP_INVALID,
                            "%s: has no tensor '%s' %s but '%s', which is none of the model's",
                            g->path, wanted->name, text, stranger->name);
    return yp_set_error(YP_INVALID, "%s: has no tensor '%s' %s", g->path, wanted->name, text);
}

static enum yp_status look_at(struct reading *g, const struct refiner_tensor *wanted)
{
    const struct safetensors_tensor *found = safetensors_find(g->file, wanted->name);
    char is[256], must_be[256];
    if (found == NULL)
        return missing(g, wanted);
    g->used[found - safetensors_at(g->file, 0)] = true;
    g->most = refiner_elements(wanted) > g->most ? refiner_elements(wanted) : g->most;
    shape_text(found->dims, found->shape, is);
    shape_text(wanted->axes, wanted->shape, must_be);
    if (strcmp(is, must_be) != 0)
        return yp_set_error(YP_INVALID, "%s: tensor '%s' is %s: must be %s", g->path, wanted->name,
                            is, must_be);
    if (found->type > SAFETENSORS_BF16)
        return yp_set_error(YP_INVALID, "%s: tensor '%s' is of %s: must be F64, F32, F16 or BF16",
                            g->path, wanted->name, safetensors_type_name(found->type));
    return YP_OK;
}

static enum yp_status look_at_all(struct reading *g)
{
    struct refiner_tensor t;
    enum yp_status status = YP_OK;
    size_t count = 0;
    for (; status == YP_OK && g->table(g->model, count, &t); count++)
        status = look_at(g, &t);
    const struct safetensors_tensor *stranger = status == YP_OK ? other(g) : NULL;
    if (stranger == NULL)
        return status;
    return yp_set_error(YP_INVALID,
                        "%s: tensor '%s' is none of the model's: must have its %zu tensors and no "
                        "others",
                        g->path, stranger->name, count);
}

static enum yp_status check_finite(const char *path, const char *name, const double *values,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return yp_set_error(YP_IO, "%s: %s is %g at element %zu: must be finite", path, name,
                                values[i], i);
    return YP_OK;
}

/* `values` is g->most doubles for a tensor as the file has it, and as many as memory does. */
static enum yp_status read_all(const struct reading *g, double *values, refiner_take *take,
                               void *arg)
{
    struct refiner_tensor t;
    enum yp_status status = YP_OK;
    for (size_t i = 0; status == YP_OK && g->table(g->model, i, &t); i++) {
        const size_t count = refiner_elements(&t);
        status =
            safetensors_read_doubles(g->file, safetensors_find(g->file, t.name), 0, count, values);
        if (status == YP_OK)
            status = check_finite(g->path, t.name, values, count);
        reorder(&t, false, sizeof *values, values, values + g->most);
        if (status == YP_OK)
            status = take(arg, i, &t, values + g->most);
    }
    return status;
}

enum yp_status refiner_load(const char *path, refiner_table *table, const void *model,
                            refiner_take *take, void *arg)
{
    struct safetensors *file = safetensors_open(path);
    size_t count = 0;
    if (file == NULL)
        return yp_last_status();
    while (safetensors_at(file, count) != NULL)
        count++;
    struct reading g = {path, file, table, model, yp_device_alloc(yp_device_cpu(), count + 1), 0};
    double *values = NULL;
    enum yp_status status = YP_OUT_OF_MEMORY;
    if (g.used != NULL) {
        memset(g.used, 0, count);
        status = look_at_all(&g);
    }
    if (status == YP_OK) {
        values = yp_device_alloc(yp_device_cpu(), 2 * g.most * sizeof *values);
        status = values != NULL ? read_all(&g, values, take, arg) : yp_last_status();
    }
    yp_device_free(yp_device_cpu(), values);
    yp_device_free(yp_device_cpu(), g.used);
    safetensors_close(file);
    return status;
}

enum yp_status refiner_take_vectors(void *arg, size_t i, const struct refiner_tensor *tensor,
                                    const double *values)
{
    const struct refiner_vectors *vectors = arg;
    void *to = vectors->at[tensor->vector];
    (void)i;
    for (size_t k = 0; k < refiner_elements(tensor); k++)
        if (vectors->wide)
            ((double *)to)[tensor->offset + k] = values[k];
        else
            ((float *)to)[tensor->offset + k] = (float)values[k];
    return YP_OK;
}

/* -- images ----------------------------------------------------------------------------------- */

enum { MOST_LINES = 16384 }; /* of any axis: so many to the fourth are counted without overflow */

/* Takes sizes that are 0 from the file. */
static enum yp_status check_images(const char *path, const struct ypi_npy *h,
                                   struct refiner_tensor *images)
{
    char is[256], must_be[256];
    bool right = h->axes == images->axes && !h->fortran;
    shape_text(h->axes, h->shape, is);
    shape_text(images->axes, images->shape, must_be);
    if (h->kind != 'f' || h->size < 4)
        return yp_set_error(YP_INVALID, "%s: has '%c%zu': must be float or double, f4 or f8", path,
                            h->kind, h->size);
    for (size_t i = 0; i < images->axes && right; i++) {
        right = images->shape[i] == 0 || images->shape[i] == h->shape[i];
        right = right && h->shape[i] >= 1 && h->shape[i] <= MOST_LINES;
        images->shape[i] = h->shape[i];
    }
    if (right)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "%s: is %s%s: must be (batch, channels, rows, columns) in C order, %s, "
                        "where 0 is any from 1 to %d",
                        path, is, h->fortran ? " in Fortran order" : "", must_be, MOST_LINES);
}

static double number(const struct ypi_npy *h, const unsigned char *bytes)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < h->size; i++)
        bits |= (uint64_t)bytes[h->big_endian ? h->size - 1 - i : i] << (8 * i);
    const uint32_t half = (uint32_t)bits;
    double wide;
    float narrow;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &half, sizeof narrow);
    return h->size == sizeof wide ? wide : (double)narrow;
}

/* `values` is twice as many doubles as there are elements: bytes as they come, and numbers in the
 * file's order, which end in the order of memory in the first half. */
static enum yp_status read_images(int fd, const char *path, const struct ypi_npy *h,
                                  const struct refiner_tensor *images, double *values)
{
    const size_t count = refiner_elements(images);
    double *as_is = values + count;
    const unsigned char *bytes = (const unsigned char *)values;
    enum yp_status status = ypi_read_at(fd, path, h->offset, values, count * h->size);
    for (size_t i = 0; i < count && status == YP_OK; i++)
        as_is[i] = number(h, bytes + i * h->size);
    if (status == YP_OK)
        status = check_finite(path, "the image", as_is, count);
    if (status == YP_OK)
        reorder(images, false, sizeof *values, as_is, values);
    return status;
}

double *refiner_read_images(const char *path, struct refiner_tensor *images)
{
    struct ypi_npy header;
    double *values = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    enum yp_status status = ypi_npy_read(fd, path, &header);
    if (status == YP_OK)
        status = check_images(path, &header, images);
    if (status == YP_OK)
        values = yp_device_alloc(yp_device_cpu(), 2 * refiner_elements(images) * sizeof *values);
    if (values != NULL && read_images(fd, path, &header, images, values) != YP_OK) {
        yp_device_free(yp_device_cpu(), values);
        values = NULL;
    }
    close(fd);
    return values;
}

/* -- writing ---------------------------------------------------------------------------------- */

size_t refiner_values_of(refiner_table *table, const void *model,
                         const struct refiner_vectors *vectors, const char *suffix,
                         struct refiner_values *out)
{
    const size_t element = vectors->wide ? sizeof(double) : sizeof(float);
    struct refiner_tensor t;
    size_t count = 0;
    for (size_t i = 0; table(model, i, &t); i++) {
        const char *vector = vectors->at[t.vector];
        if (vector == NULL)
            continue;
        if (out != NULL) {
            strncat(t.name, suffix, sizeof t.name - strlen(t.name) - 1);
            out[count] = (struct refiner_values){t, vector + t.offset * element, vectors->wide};
        }
        count++;
    }
    return count;
}

static enum yp_status write_one(struct safetensors_writer *writer, size_t i,
                                const struct refiner_values *one)
{
    const size_t count = refiner_elements(&one->tensor);
    const size_t element = one->wide ? sizeof(double) : sizeof(float);
    void *as_file = yp_device_alloc(yp_device_cpu(), count * element);
    if (as_file == NULL)
        return yp_last_status();
    reorder(&one->tensor, true, element, one->values, as_file);
    enum yp_status status = safetensors_write(writer, i, 0, count, as_file);
    yp_device_free(yp_device_cpu(), as_file);
    return status;
}

enum yp_status refiner_save(const char *path, const struct refiner_values *all, size_t count)
{
    struct safetensors_tensor *described =
        yp_device_alloc(yp_device_cpu(), count * sizeof *described);
    if (described == NULL)
        return yp_last_status();
    for (size_t i = 0; i < count; i++) {
        const struct refiner_tensor *t = &all[i].tensor;
        described[i] = (struct safetensors_tensor){
            .type = all[i].wide ? SAFETENSORS_F64 : SAFETENSORS_F32, .dims = t->axes};
        memcpy(described[i].name, t->name, sizeof t->name);
        memcpy(described[i].shape, t->shape, sizeof t->shape);
    }
    struct safetensors_writer *writer = safetensors_create(path, described, count);
    enum yp_status status = writer != NULL ? YP_OK : yp_last_status();
    for (size_t i = 0; i < count && status == YP_OK; i++)
        status = write_one(writer, i, &all[i]);
    if (status == YP_OK)
        status = safetensors_finish(writer);
    else
        safetensors_abandon(writer);
    yp_device_free(yp_device_cpu(), described);
    return status;
}

/* -- the mock --------------------------------------------------------------------------------- */

bool refiner_mock_table(const void *width, size_t i, struct refiner_tensor *out)
{
    const size_t w = *(const size_t *)width;
    struct mock_tensor t;
    size_t parameters = 0;
    *out = (struct refiner_tensor){.axes = 1, .vector = REFINER_PARAMETERS};
    if (!mock_parameter(w, false, i, &t)) {
        while (mock_parameter(w, false, parameters, &t))
            parameters++;
        if (!mock_statistic(w, i - parameters, &t))
            return false;
        out->vector = REFINER_STATISTICS;
    }
    const struct mock_layer layer = mock_layer(w, t.layer);
    const uint64_t weight[] = {layer.transposed ? layer.in : layer.out,
                               layer.transposed ? layer.out : layer.in, layer.kernel, layer.kernel};
    memcpy(out->name, t.name, sizeof t.name);
    out->offset = t.offset;
    out->shape[0] = t.count;
    if (t.part == MOCK_WEIGHT) {
        static const int order[] = {0, 2, 3, 1};
        out->axes = 4;
        memcpy(out->shape, weight, sizeof weight);
        memcpy(out->order, order, sizeof order);
    }
    return true;
}

/* -- the vision transformer ------------------------------------------------------------------- */

bool refiner_vit_table(const void *options, size_t i, struct refiner_tensor *out)
{
    struct vit_tensor t;
    if (!vit_tensor(options, i, &t))
        return false;
    *out = (struct refiner_tensor){.axes = (size_t)t.axes,
                                   .vector = t.trained ? REFINER_PARAMETERS : REFINER_FROZEN,
                                   .offset = t.offset};
    memcpy(out->name, t.name, sizeof t.name);
    for (int axis = 0; axis < t.axes; axis++) {
        out->shape[axis] = t.shape[axis];
        out->order[axis] = t.order[axis];
    }
    return true;
}

enum yp_status refiner_take_vit(void *arg, size_t i, const struct refiner_tensor *tensor,
                                const double *values)
{
    struct refiner_vit *to = arg;
    return tensor->vector == REFINER_FROZEN ? vit_freeze(to->vit, i, values)
                                            : refiner_take_vectors(&to->vectors, i, tensor, values);
}
