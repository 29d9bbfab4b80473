/* Vectors of the device. */
#include "models/refiner/command/vectors.h"

#include "base/random/stream.h"

#include <string.h>

enum { PART = 4096 };

/* Zeros, or the values `from`. */
static enum yp_status make(const struct ypi_refiner_training *t, const float *from, float **out)
{
    static const float zeros[PART];
    *out = yp_device_alloc(t->device, t->parameters * sizeof **out);
    if (*out == NULL)
        return yp_last_status();
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < t->parameters && status == YP_OK; at += PART) {
        const size_t some = t->parameters - at < PART ? t->parameters - at : PART;
        status = yp_device_copy(t->device, *out + at, from != NULL ? from + at : zeros,
                                some * sizeof **out);
    }
    return status;
}

enum yp_status ypi_refiner_training_open(struct ypi_refiner_training *t, struct yp_device *device,
                                         size_t parameters, const float *start, bool train)
{
    *t = (struct ypi_refiner_training){
        .device = device, .parameters = parameters, .how = train_adamw_defaults()};
    float **const zero[] = {&t->gradient, &t->m, &t->v};
    enum yp_status status = make(t, start, &t->x);
    for (size_t i = 0; i < sizeof zero / sizeof *zero && train && status == YP_OK; i++)
        status = make(t, NULL, zero[i]);
    if (status == YP_OK && train && yp_device_memory_kind(device) == YP_DEVICE) {
        t->scratch = yp_device_alloc(device, TRAIN_STEP_SCRATCH * sizeof *t->scratch);
        status = t->scratch != NULL ? (enum yp_status)YP_OK : yp_last_status();
    }
    return status;
}

void ypi_refiner_training_close(struct ypi_refiner_training *t)
{
    void *const all[] = {t->x, t->gradient, t->m, t->v, t->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        yp_device_free(t->device, all[i]);
}

enum yp_status ypi_refiner_training_update(struct ypi_refiner_training *t)
{
    t->step++;
    if (t->scratch != NULL)
        return train_adamw_step_on(t->device, &t->how, t->step, t->parameters, 0, t->scratch,
                                   t->gradient, t->m, t->v, t->x);
    train_adamw_step(&t->how, t->step, t->parameters, t->gradient, t->m, t->v, t->x);
    return YP_OK;
}

double *ypi_refiner_bell(uint64_t seed, uint64_t stream, size_t count)
{
    double *values = yp_device_alloc(yp_device_cpu(), count * sizeof *values);
    float some[PART];
    for (size_t at = 0; at < count && values != NULL; at += PART) {
        const size_t n = count - at < PART ? count - at : PART;
        ypi_random_normals(YPI_LEVEL_AUTO, (struct ypi_stream){seed, stream}, at, n, some);
        for (size_t i = 0; i < n; i++)
            values[at + i] = (double)some[i];
    }
    return values;
}
