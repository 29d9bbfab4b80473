/* The refiner's files: what is saved is loaded again, and what does not fit is refused by name. */
#include "base/system/npy.h"
#include "models/refiner/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

enum { TENSORS = 128 };

static const size_t width = 4;

static const char *file(struct yp_case *t, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", yp_tmp_path(t), name);
    return path;
}

/* The mock's vectors, drawn, and owned by the case. */
static struct state_vectors drawn(struct yp_case *t, struct state_values *all, size_t *count)
{
    float *parameters = yp_alloc_host(t, mock_parameters(width, false) * sizeof *parameters);
    float *statistics = yp_alloc_host(t, mock_statistics(width) * sizeof *statistics);
    const struct state_vectors vectors = {.at = {parameters, statistics}};
    mock_initialise(width, yp_seed(t), parameters, statistics);
    for (size_t i = 0; i < mock_statistics(width); i++)
        statistics[i] += (float)i;
    *count = state_values_of(refiner_mock_table, &width, &vectors, "", all);
    return vectors;
}

YP_TEST(refiner, saved_and_loaded, .tags = "stress small", .parallel = true)
{
    struct state_values all[TENSORS];
    char path[512];
    size_t count;
    const struct state_vectors saved = drawn(t, all, &count);
    const size_t sizes[] = {mock_parameters(width, false), mock_statistics(width)};
    yp_require(t, count == 4 * 15 + 2 + 2 * 15, "%zu tensors", count);
    yp_ok(t, state_save(file(t, "w", path), all, count));
    for (int wide = 0; wide < 2; wide++) {
        struct state_vectors got = {.wide = wide != 0};
        for (size_t v = 0; v < sizeof sizes / sizeof *sizes; v++)
            got.at[v] = yp_alloc_host(t, sizes[v] * sizeof(double));
        yp_ok(t, state_load(path, refiner_mock_table, &width, state_take_vectors, &got));
        for (size_t v = 0; v < sizeof sizes / sizeof *sizes; v++)
            for (size_t i = 0; i < sizes[v]; i++) {
                const float is = got.wide ? (float)((const double *)got.at[v])[i]
                                          : ((const float *)got.at[v])[i];
                yp_require(t, is == ((const float *)saved.at[v])[i], "vector %zu, element %zu", v,
                           i);
            }
    }
}

/* PyTorch's places, element by element, of a convolution and a transposed one. */
YP_TEST(refiner, order_of_axes, .tags = "stress small", .parallel = true)
{
    struct state_values all[TENSORS];
    char path[512];
    size_t count;
    drawn(t, all, &count);
    yp_ok(t, state_save(file(t, "w", path), all, count));
    struct safetensors *opened = safetensors_open(path);
    yp_got(t, opened);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *shape = all[i].tensor.shape;
        const size_t pixels = (size_t)(shape[2] * shape[3]);
        float got[4096];
        if (all[i].tensor.axes != 4 || state_elements(&all[i].tensor) > 4096)
            continue;
        yp_ok(t, safetensors_read_floats(opened, safetensors_find(opened, all[i].tensor.name), 0,
                                         state_elements(&all[i].tensor), got));
        for (size_t a = 0; a < shape[0]; a++)
            for (size_t b = 0; b < shape[1]; b++)
                for (size_t p = 0; p < pixels; p++)
                    yp_require(t,
                               got[(a * shape[1] + b) * pixels + p] ==
                                   ((const float *)all[i].values)[(a * pixels + p) * shape[1] + b],
                               "%s (%zu, %zu, pixel %zu)", all[i].tensor.name, a, b, p);
    }
    safetensors_close(opened);
}

/* -- bad input -------------------------------------------------------------------------------- */

static void check_refused(struct yp_case *t, const char *path, const char *says)
{
    float *parameters = yp_alloc_host(t, mock_parameters(width, false) * sizeof *parameters);
    float *statistics = yp_alloc_host(t, mock_statistics(width) * sizeof *statistics);
    struct state_vectors vectors = {.at = {parameters, statistics}};
    const enum yp_status status =
        state_load(path, refiner_mock_table, &width, state_take_vectors, &vectors);
    yp_expect(t, status != YP_OK && strstr(yp_last_error(), says) != NULL,
              "status %d, not '%s': %s", (int)status, says, status != YP_OK ? yp_last_error() : "");
}

YP_TEST(refiner, weights_refused, .tags = "stress small", .parallel = true)
{
    struct state_values all[TENSORS + 1];
    char path[512];
    size_t count;
    drawn(t, all, &count);
    struct state_values *second = &all[1], right = *second;
    file(t, "w", path);

    snprintf(second->tensor.name, sizeof second->tensor.name, "module.layer01.conv.bias");
    yp_ok(t, state_save(path, all, count));
    check_refused(t, path,
                  "has no tensor 'layer01.conv.bias' (4) but 'module.layer01.conv.bias', "
                  "which is none of the model's");
    *second = right;
    second->tensor.shape[0] = 3;
    yp_ok(t, state_save(path, all, count));
    check_refused(t, path, "tensor 'layer01.conv.bias' is (3): must be (4)");
    *second = right;
    yp_ok(t, state_save(path, all, count - 1));
    check_refused(t, path, "has no tensor 'layer15.norm.running_var' (1)");
    all[count] = right;
    snprintf(all[count].tensor.name, sizeof right.tensor.name, "layer16.norm.weight");
    yp_ok(t, state_save(path, all, count + 1));
    check_refused(t, path,
                  "tensor 'layer16.norm.weight' is none of the model's: must have its 92 "
                  "tensors and no others");
    snprintf(all[count].tensor.name, sizeof right.tensor.name, "layer15.norm.num_batches_tracked");
    yp_ok(t, state_save(path, all, count + 1));
    struct state_vectors vectors = drawn(t, all, &count);
    yp_ok(t, state_load(path, refiner_mock_table, &width, state_take_vectors, &vectors));

    float bad[] = {1, 2, NAN, 4};
    second->values = bad;
    yp_ok(t, state_save(path, all, count));
    check_refused(t, path, "layer01.conv.bias is nan at element 2: must be finite");
    check_refused(t, yp_tmp_path(t), yp_tmp_path(t));
}

/* A file of whole numbers in the shapes of the mock. */
YP_TEST(refiner, whole_numbers_refused, .tags = "stress small", .parallel = true)
{
    struct state_values all[TENSORS];
    struct safetensors_tensor described[TENSORS];
    char path[512];
    size_t count;
    drawn(t, all, &count);
    for (size_t i = 0; i < count; i++) {
        const struct state_tensor *tensor = &all[i].tensor;
        described[i] = (struct safetensors_tensor){.type = SAFETENSORS_I32, .dims = tensor->axes};
        memcpy(described[i].name, tensor->name, sizeof tensor->name);
        memcpy(described[i].shape, tensor->shape, sizeof tensor->shape);
    }
    struct safetensors_writer *writer = safetensors_create(file(t, "w", path), described, count);
    yp_got(t, writer);
    for (size_t i = 0; i < count; i++)
        yp_ok(t, safetensors_write(writer, i, 0, state_elements(&all[i].tensor), all[i].values));
    yp_ok(t, safetensors_finish(writer));
    check_refused(t, path, "tensor 'layer01.conv.weight' is of I32: must be F64, F32, F16 or BF16");
}

/* -- images ----------------------------------------------------------------------------------- */

static void write_npy(struct yp_case *t, const char *path, const char *type, const char *shape,
                      const void *values, size_t bytes)
{
    char head[256];
    const size_t length = ypi_npy_text(head, sizeof head, type, shape);
    FILE *out = fopen(path, "wb");
    yp_require(t, out != NULL && fwrite(head, 1, length, out) == length, "%s", path);
    yp_require(t, fwrite(values, 1, bytes, out) == bytes && fclose(out) == 0, "%s", path);
}

YP_TEST(refiner, images, .tags = "stress small", .parallel = true)
{
    enum { B = 2, C = 3, H = 2, W = 5, ALL = B * C * H * W };
    float narrow[ALL];
    double wide[ALL];
    char path[512];
    file(t, "x.npy", path);
    for (int i = 0; i < ALL; i++)
        narrow[i] = (float)i + 0.25F, wide[i] = (double)narrow[i];
    for (int doubles = 0; doubles < 2; doubles++) {
        write_npy(t, path, doubles ? "<f8" : "<f4", "2, 3, 2, 5", doubles ? (void *)wide : narrow,
                  doubles ? sizeof wide : sizeof narrow);
        struct state_tensor images = refiner_images("x", 0, C, 0, W);
        double *got = refiner_read_images(path, &images);
        yp_got(t, got);
        yp_expect(t, images.shape[0] == B && images.shape[2] == H, "the sizes are not the file's");
        for (size_t b = 0; b < B; b++)
            for (size_t p = 0; p < H * W; p++)
                for (size_t c = 0; c < C; c++)
                    yp_require(t, got[(b * H * W + p) * C + c] == wide[(b * C + c) * H * W + p],
                               "image %zu, pixel %zu, channel %zu", b, p, c);
        yp_device_free(yp_device_cpu(), got);
    }
}

YP_TEST(refiner, images_refused, .tags = "stress small", .parallel = true)
{
    const struct {
        const char *type, *shape, *says;
    } wrong[] = {
        {"<f4", "1, 3, 2, 2",
         "x.npy: is (1, 3, 2, 2): must be (batch, channels, rows, columns) in "
         "C order, (0, 4, 2, 0), where 0 is any from 1 to 16384"},
        {"<f4", "4, 2, 2", "x.npy: is (4, 2, 2): must be (batch"},
        {"<f4", "0, 4, 2, 2", "x.npy: is (0, 4, 2, 2): must be (batch"},
        {"<f4", "9223372036854775807, 4, 2, 2", "x.npy: is (9223372036854775807, 4, 2, 2)"},
        {"<i4", "1, 4, 2, 2", "x.npy: has 'i4': must be float or double, f4 or f8"},
        {"<f8", "1, 4, 2, 3", "x.npy: ends at byte"},
        {"<f4", "1, 4, 2, 2", "x.npy: the image is inf at element 5: must be finite"}};
    float values[16] = {1};
    char path[512];
    values[5] = INFINITY;
    file(t, "x.npy", path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct state_tensor images = refiner_images("x", 0, 4, 2, 0);
        write_npy(t, path, wrong[i].type, wrong[i].shape, values, sizeof values);
        yp_expect(t,
                  refiner_read_images(path, &images) == NULL &&
                      strstr(yp_last_error(), wrong[i].says) != NULL,
                  "not '%s': %s", wrong[i].says, yp_last_error());
    }
    struct state_tensor images = refiner_images("x", 0, 0, 0, 0);
    yp_expect(t,
              refiner_read_images(file(t, "none.npy", path), &images) == NULL &&
                  yp_last_status() == YP_IO,
              "a file that is not there is read");
}
