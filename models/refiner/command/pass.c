/* One pass over the images of a file, and what comes out of it. */
#include "models/refiner/command/pass.h"

#include "base/text/figures.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "models/nn/convert.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- memory ------------------------------------------------------------------------------------ */

void *ypi_refiner_take(struct ypi_refiner_pass *p, size_t bytes)
{
    void *block = p->taken < YPI_REFINER_BLOCKS ? yp_device_alloc(yp_device_cpu(), bytes) : NULL;
    if (block != NULL)
        p->blocks[p->taken++] = block;
    return block;
}

void ypi_refiner_give_back(struct ypi_refiner_pass *p)
{
    while (p->taken > 0)
        yp_device_free(yp_device_cpu(), p->blocks[--p->taken]);
}

static size_t element(const struct ypi_refiner_pass *p)
{
    return p->wide ? sizeof(double) : sizeof(float);
}

void *ypi_refiner_numbers(struct ypi_refiner_pass *p, size_t count)
{
    return ypi_refiner_take(p, count * element(p));
}

void ypi_refiner_put(const struct ypi_refiner_pass *p, const double *values, size_t count, void *to)
{
    if (p->wide)
        memcpy(to, values, count * sizeof *values);
    for (size_t i = 0; i < count && !p->wide; i++) {
        const float narrow = (float)values[i];
        if (p->work.precision == NN_BF16)
            nn_narrow(&narrow, 1, NN_BFLOAT16, (uint16_t *)to + i);
        else
            ((float *)to)[i] = narrow;
    }
}

void ypi_refiner_get(const struct ypi_refiner_pass *p, const void *values, size_t count, void *to)
{
    if (!p->wide && p->work.precision == NN_BF16)
        nn_widen(values, NN_BFLOAT16, count, to);
    else
        memcpy(to, values, count * element(p));
}

/* -- results ----------------------------------------------------------------------------------- */

static enum yp_status make_room(struct ypi_refiner_pass *p, size_t more)
{
    struct state_values *room = ypi_refiner_take(p, (p->count + more) * sizeof *room);
    if (room == NULL)
        return yp_last_status();
    if (p->count > 0)
        memcpy(room, p->results, p->count * sizeof *room);
    p->results = room;
    return YP_OK;
}

enum yp_status ypi_refiner_add(struct ypi_refiner_pass *p, struct state_tensor tensor,
                               const void *values)
{
    const enum yp_status status = make_room(p, 1);
    if (status == YP_OK)
        p->results[p->count++] = (struct state_values){tensor, values, p->wide};
    return status;
}

enum yp_status ypi_refiner_add_vectors(struct ypi_refiner_pass *p, state_table *table,
                                       const void *model, const struct state_vectors *vectors,
                                       const char *suffix)
{
    const enum yp_status status =
        make_room(p, state_values_of(table, model, vectors, suffix, NULL));
    if (status == YP_OK)
        p->count += state_values_of(table, model, vectors, suffix, p->results + p->count);
    return status;
}

enum yp_status ypi_refiner_add_losses(struct ypi_refiner_pass *p, const void *losses)
{
    const size_t count = p->work.batch;
    const struct state_tensor tensor = {.name = "losses", .axes = 1, .shape = {count}};
    void *kept = ypi_refiner_numbers(p, count);
    if (kept == NULL)
        return yp_last_status();
    memcpy(kept, losses, count * element(p));
    for (size_t i = 0; i < count; i++)
        p->loss += (p->wide ? ((const double *)losses)[i] : (double)((const float *)losses)[i]) /
                   (double)count;
    return ypi_refiner_add(p, tensor, kept);
}

/* Weights may be finite and what is made of them beyond float. */
static bool all_finite(const struct ypi_refiner_pass *p)
{
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < state_elements(&p->results[i].tensor); k++) {
            const double value = p->wide ? ((const double *)p->results[i].values)[k]
                                         : (double)((const float *)p->results[i].values)[k];
            if (isfinite(value))
                continue;
            yp_set_error(YP_INVALID, "%s: %s is %g at element %zu, of finite weights and images",
                         p->load != NULL ? p->load : "weights to start from",
                         p->results[i].tensor.name, value, k);
            return false;
        }
    return true;
}

enum yp_status ypi_refiner_blame(const char *path, enum yp_status status)
{
    char *why = ypi_strdup(yp_last_error());
    yp_set_error(status, "%s: %s", path, why);
    free(why);
    return status;
}

/* -- images ------------------------------------------------------------------------------------ */

/* What is larger than floats are would be infinite, which an activation may hide. */
static enum yp_status check_range(const struct ypi_refiner_pass *p, const char *path,
                                  const double *values, size_t count)
{
    for (size_t i = 0; i < count && !p->wide; i++)
        if (fabs(values[i]) > (double)FLT_MAX)
            return yp_set_error(YP_INVALID, "%s: has %g: in float must be at most %g", path,
                                values[i], (double)FLT_MAX);
    return YP_OK;
}

static enum yp_status read_input(struct ypi_refiner_pass *p, const struct ypi_refiner_model *model)
{
    const size_t channels = model->channels > 0 ? model->channels : p->work.real.channels;
    struct state_tensor images = refiner_images("input", 0, channels, 0, 0);
    p->image = refiner_read_images(p->input, &images);
    if (p->image == NULL)
        return yp_last_status();
    p->work.batch = images.shape[0];
    p->work.tile = images.shape[2];
    if (images.shape[2] != images.shape[3])
        return yp_set_error(YP_INVALID, "%s: has %zu rows and %zu columns: tiles are square",
                            p->input, (size_t)images.shape[2], (size_t)images.shape[3]);
    struct ypi_refiner_plan plan;
    enum yp_status status = check_range(p, p->input, p->image, state_elements(&images));
    if (status != YP_OK)
        return status;
    status = model->plan(&p->work, &plan);
    return status == YP_OK ? status : ypi_refiner_blame(p->input, status);
}

/* A target that was not given is 0 everywhere. */
static enum yp_status read_target(struct ypi_refiner_pass *p, const struct ypi_refiner_model *model)
{
    struct state_tensor images = model->output(&p->work);
    const size_t bytes = state_elements(&images) * sizeof *p->aim;
    if (!p->gradients)
        return YP_OK;
    p->aim = p->target != NULL ? refiner_read_images(p->target, &images)
                               : yp_device_alloc(yp_device_cpu(), bytes);
    if (p->aim != NULL && p->target == NULL)
        memset(p->aim, 0, bytes);
    return p->aim != NULL ? check_range(p, p->target, p->aim, state_elements(&images))
                          : yp_last_status();
}

/* -- the pass ---------------------------------------------------------------------------------- */

static int print(const struct ypi_refiner_pass *p)
{
    char seconds[YPI_FIGURE_MAX];
    ypi_format_seconds(seconds, p->forward);
    printf("inference of %zu tile%s of %zu x %zu in %s, the first pass\n", p->work.batch,
           p->work.batch == 1 ? "" : "s", p->work.tile, p->work.tile, seconds);
    ypi_format_seconds(seconds, p->step);
    if (p->gradients)
        printf("mean squared error %.9g in training; with its gradient in %s, the first pass\n",
               p->loss, seconds);
    return ypi_flush();
}

int ypi_refiner_pass(struct ypi_refiner_pass *p, const struct ypi_refiner_model *model)
{
    bool finite = true;
    enum yp_status status = read_input(p, model);
    if (status == YP_OK)
        status = read_target(p, model);
    if (status == YP_OK)
        status = model->pass(p);
    if (status == YP_OK)
        finite = all_finite(p);
    if (status == YP_OK && finite && p->dump != NULL)
        status = state_save(p->dump, p->results, p->count);
    const int code = status == YP_OK && finite ? print(p) : ypi_file_error();
    ypi_refiner_give_back(p);
    yp_device_free(yp_device_cpu(), p->image);
    yp_device_free(yp_device_cpu(), p->aim);
    if (!finite)
        return YPI_COMMAND_NOTHING;
    return status == YP_INVALID || status == YP_UNSUPPORTED ? YPI_COMMAND_USAGE : code;
}
