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

/* -- images ----------------------------------------------------------------------------------- */

struct state_tensor refiner_images(const char *name, size_t batch, size_t channels, size_t rows,
                                   size_t columns)
{
    struct state_tensor tensor = {
        .axes = 4, .shape = {batch, channels, rows, columns}, .order = {0, 2, 3, 1}};
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    return tensor;
}

enum { MOST_LINES = 16384 }; /* of any axis: so many to the fourth are counted without overflow */

/* Takes sizes that are 0 from the file. */
static enum yp_status check_images(const char *path, const struct ypi_npy *h,
                                   struct state_tensor *images)
{
    char is[256], must_be[256];
    bool right = h->axes == images->axes && !h->fortran;
    state_shape(h->axes, h->shape, is);
    state_shape(images->axes, images->shape, must_be);
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
                                  const struct state_tensor *images, double *values)
{
    const size_t count = state_elements(images);
    double *as_is = values + count;
    const unsigned char *bytes = (const unsigned char *)values;
    enum yp_status status = ypi_read_at(fd, path, h->offset, values, count * h->size);
    for (size_t i = 0; i < count && status == YP_OK; i++)
        as_is[i] = number(h, bytes + i * h->size);
    if (status == YP_OK)
        status = state_check_finite(path, "the image", as_is, count);
    if (status == YP_OK)
        state_reorder(images, false, sizeof *values, as_is, values);
    return status;
}

double *refiner_read_images(const char *path, struct state_tensor *images)
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
        values = yp_device_alloc(yp_device_cpu(), 2 * state_elements(images) * sizeof *values);
    if (values != NULL && read_images(fd, path, &header, images, values) != YP_OK) {
        yp_device_free(yp_device_cpu(), values);
        values = NULL;
    }
    close(fd);
    return values;
}

/* -- the mock --------------------------------------------------------------------------------- */

bool refiner_mock_table(const void *width, size_t i, struct state_tensor *out)
{
    const size_t w = *(const size_t *)width;
    struct mock_tensor t;
    size_t parameters = 0;
    *out = (struct state_tensor){.axes = 1, .vector = STATE_PARAMETERS};
    if (!mock_parameter(w, false, i, &t)) {
        while (mock_parameter(w, false, parameters, &t))
            parameters++;
        if (!mock_statistic(w, i - parameters, &t))
            return false;
        out->vector = STATE_STATISTICS;
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

bool refiner_vit_table(const void *options, size_t i, struct state_tensor *out)
{
    struct vit_tensor t;
    if (!vit_tensor(options, i, &t))
        return false;
    *out = (struct state_tensor){.axes = (size_t)t.axes,
                                 .vector = t.trained ? STATE_PARAMETERS : STATE_FROZEN,
                                 .offset = t.offset};
    memcpy(out->name, t.name, sizeof t.name);
    for (int axis = 0; axis < t.axes; axis++) {
        out->shape[axis] = t.shape[axis];
        out->order[axis] = t.order[axis];
    }
    return true;
}

enum yp_status refiner_take_vit(void *arg, size_t i, const struct state_tensor *tensor,
                                const double *values)
{
    struct refiner_vit *to = arg;
    return tensor->vector == STATE_FROZEN ? vit_freeze(to->vit, i, values)
                                          : state_take_vectors(&to->vectors, i, tensor, values);
}
