/* One pass over the tokens of a file, and what comes out of it. */
#include "models/lm/command/internal.h"

#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/system/npy.h"
#include "base/text/figures.h"
#include "base/text/output.h"
#include "models/data/safetensors.h"
#include "models/nn/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run {
    const struct ypi_lm_request *r;
    struct lm_options o;
    int32_t *tokens, *labels; /* (batch, context) */
    void *parameters, *gradient;
    struct safetensors_tensor *tensors; /* of the dump: logits, loss, gradients */
    size_t count;
    struct safetensors_writer *dump;
    double loss, seconds;
    bool not_finite; /* the error is of a weight or a result that is not */
};

enum { LOGITS, LOSS, FIRST_GRADIENT };

static size_t element(const struct run *run)
{
    return run->o.oracle ? sizeof(double) : sizeof(float);
}

/* -- tokens ------------------------------------------------------------------------------------ */

static int64_t whole(const struct ypi_npy *h, const unsigned char *bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < h->size; i++)
        value |= (uint64_t)bytes[h->big_endian ? h->size - 1 - i : i] << (8 * i);
    unsigned above = (unsigned)(64 - 8 * h->size);
    return h->kind == 'i' ? (int64_t)(value << above) >> above : (int64_t)value;
}

static enum yp_status check_shape(const char *path, const struct ypi_npy *h)
{
    if (h->kind != 'i' && h->kind != 'u')
        return yp_set_error(YP_INVALID, "%s: has values of kind '%c': tokens are whole numbers",
                            path, h->kind);
    if (h->axes != 2 || h->shape[0] < 1 || h->shape[1] < 2 || h->fortran)
        return yp_set_error(YP_INVALID,
                            "%s: has %zu axes%s: must have 2 in C order, (batch, context + 1), at "
                            "least (1, 2)",
                            path, h->axes, h->fortran ? " in Fortran order" : "");
    if (h->shape[0] > LM_TOKENS || h->shape[1] > LM_TOKENS + 1 ||
        h->shape[0] * (h->shape[1] - 1) > LM_TOKENS)
        return yp_set_error(YP_INVALID, "%s: is %" PRIu64 " x %" PRIu64 ": at most %u tokens", path,
                            h->shape[0], h->shape[1], LM_TOKENS);
    return YP_OK;
}

static enum yp_status check_length(const struct run *run)
{
    if (run->r->longest == 0 || run->o.context <= run->r->longest)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "%s: has %zu tokens a row: context_length of the configuration allows %zu "
                        "and the last one's label",
                        run->r->tokens, run->o.context + 1, run->r->longest);
}

/* A row of the file to a row of inputs and one of labels. */
static enum yp_status take_row(struct run *run, const struct ypi_npy *h, const unsigned char *bytes,
                               size_t row)
{
    size_t context = run->o.context;
    for (size_t k = 0; k <= context; k++) {
        int64_t token = whole(h, bytes + k * h->size);
        if (token < 0 || token >= (int64_t)run->o.config.vocabulary)
            return yp_set_error(YP_INVALID, "%s: token (%zu, %zu) is %" PRId64 ": must be 0 to %zu",
                                run->r->tokens, row, k, token, run->o.config.vocabulary - 1);
        if (k < context)
            run->tokens[row * context + k] = (int32_t)token;
        if (k > 0)
            run->labels[row * context + k - 1] = (int32_t)token;
    }
    return YP_OK;
}

static enum yp_status read_rows(struct run *run, int fd, const struct ypi_npy *h)
{
    size_t count = run->o.batch * run->o.context, bytes = h->shape[1] * h->size;
    unsigned char *row = yp_device_alloc(yp_device_cpu(), bytes);
    run->tokens = yp_device_alloc(yp_device_cpu(), count * sizeof *run->tokens);
    run->labels = yp_device_alloc(yp_device_cpu(), count * sizeof *run->labels);
    if (row == NULL || run->tokens == NULL || run->labels == NULL) {
        yp_device_free(yp_device_cpu(), row);
        return YP_OUT_OF_MEMORY;
    }
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < run->o.batch && status == YP_OK; i++) {
        status = ypi_read_at(fd, run->r->tokens, h->offset + i * bytes, row, bytes);
        if (status == YP_OK)
            status = take_row(run, h, row, i);
    }
    yp_device_free(yp_device_cpu(), row);
    return status;
}

static enum yp_status read_tokens(struct run *run)
{
    const char *path = run->r->tokens;
    struct ypi_npy header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    enum yp_status status = ypi_npy_read(fd, path, &header);
    if (status == YP_OK)
        status = check_shape(path, &header);
    if (status == YP_OK) {
        run->o.batch = header.shape[0];
        run->o.context = header.shape[1] - 1;
        status = check_length(run);
    }
    if (status == YP_OK)
        status = read_rows(run, fd, &header);
    close(fd);
    return status;
}

/* -- weights ----------------------------------------------------------------------------------- */

static enum yp_status load(struct run *run)
{
    enum yp_status status = ypi_lm_load(run->r, run->parameters);
    run->not_finite =
        status == YP_OK && !ypi_lm_finite(run->r, run->parameters, run->r->load, "tensor");
    return run->not_finite ? YP_INVALID : status;
}

/* Those of training's start; for the oracle the same values, widened in place from the end. */
static void initialise(struct run *run)
{
    size_t n = lm_parameters(&run->o.config);
    float *narrow = run->parameters;
    double *wide = run->parameters;
    lm_initialise(&run->o.config, run->r->seed, narrow);
    for (size_t i = n; i-- > 0 && run->o.oracle;)
        wide[i] = (double)narrow[i];
}

/* -- the dump ---------------------------------------------------------------------------------- */

static struct safetensors_tensor entry(const struct run *run, const char *name, size_t dims,
                                       uint64_t a, uint64_t b, uint64_t c)
{
    struct safetensors_tensor tensor = {.type = run->o.oracle ? SAFETENSORS_F64 : SAFETENSORS_F32,
                                        .dims = dims,
                                        .shape = {a, b, c}};
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    return tensor;
}

static enum yp_status begin_dump(struct run *run)
{
    const struct lm_config *c = &run->o.config;
    struct lm_tensor tensor;
    size_t all = 0;
    while (lm_tensor(c, all, &tensor))
        all++;
    run->tensors = yp_device_alloc(yp_device_cpu(), (all + FIRST_GRADIENT) * sizeof *run->tensors);
    if (run->tensors == NULL)
        return yp_last_status();
    run->tensors[LOGITS] = entry(run, "logits", 3, run->o.batch, run->o.context, c->vocabulary);
    run->tensors[LOSS] = entry(run, "loss", 0, 0, 0, 0);
    run->count = FIRST_GRADIENT;
    for (size_t i = 0; run->gradient != NULL && lm_tensor(c, i, &tensor); i++) {
        char name[SAFETENSORS_NAME];
        snprintf(name, sizeof name, "%s.grad", tensor.name);
        run->tensors[run->count++] = tensor.rows > 0
                                         ? entry(run, name, 2, tensor.rows, tensor.columns, 0)
                                         : entry(run, name, 1, tensor.columns, 0, 0);
    }
    run->dump = safetensors_create(run->r->dump, run->tensors, run->count);
    return run->dump != NULL ? YP_OK : yp_last_status();
}

static enum yp_status dump_gradients(struct run *run)
{
    struct lm_tensor tensor;
    enum yp_status status = YP_OK;
    for (size_t i = 0;
         run->gradient != NULL && status == YP_OK && lm_tensor(&run->o.config, i, &tensor); i++)
        status = safetensors_write(run->dump, FIRST_GRADIENT + i, 0,
                                   (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns,
                                   (const char *)run->gradient + tensor.offset * element(run));
    return status;
}

/* -- passes ------------------------------------------------------------------------------------ */

/* Logits as floats or doubles; those of bf16 are widened. */
static enum yp_status write_logits(struct run *run, const void *logits)
{
    size_t count = run->o.batch * run->o.context * run->o.config.vocabulary;
    if (run->o.precision != NN_BF16 || run->o.oracle)
        return safetensors_write(run->dump, LOGITS, 0, count, logits);
    float wide[1024];
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < count && status == YP_OK; at += sizeof wide / sizeof *wide) {
        size_t left = count - at, some = sizeof wide / sizeof *wide;
        some = left < some ? left : some;
        nn_widen((const uint16_t *)logits + at, NN_BFLOAT16, some, wide);
        status = safetensors_write(run->dump, LOGITS, at, some, wide);
    }
    return status;
}

static enum yp_status dump_logits(struct run *run)
{
    struct lm_options o = run->o;
    o.logits = true;
    o.pass = NN_MODEL_FORWARD;
    struct lm *lm = lm_create(&o);
    enum yp_status status = lm != NULL ? lm_start(lm) : yp_last_status();
    if (status == YP_OK)
        status = lm_pass(lm, &(struct lm_batch){.tokens = run->tokens}, run->parameters, NULL, 1, 0,
                         NULL);
    if (status == YP_OK)
        status = write_logits(run, lm_result(lm));
    lm_destroy(lm);
    return status;
}

/* Weights may be finite and what is made of them beyond float. */
static enum yp_status check_results(struct run *run)
{
    const char *of = run->r->load != NULL ? run->r->load : "weights to start from";
    bool lost = !isfinite(run->loss);
    if (lost)
        yp_set_error(YP_INVALID, "%s: the loss is %g, of finite weights", of, run->loss);
    run->not_finite = lost || (run->gradient != NULL &&
                               !ypi_lm_finite(run->r, run->gradient, of, "the gradient of"));
    return run->not_finite ? YP_INVALID : YP_OK;
}

static enum yp_status pass(struct run *run)
{
    const struct lm_batch batch = {run->tokens, run->labels, 0};
    run->o.pass = run->r->work == LM_FORWARD ? NN_MODEL_FORWARD : NN_MODEL_GRADIENT;
    struct lm *lm = lm_create(&run->o);
    enum yp_status status = lm != NULL ? lm_start(lm) : yp_last_status();
    double begun = ypi_now();
    if (status == YP_OK)
        status = lm_pass(lm, &batch, run->parameters, run->gradient, 1, NN_MODEL_COPY, &run->loss);
    run->seconds = ypi_now() - begun;
    lm_destroy(lm);
    return status == YP_OK ? check_results(run) : status;
}

static enum yp_status dump(struct run *run)
{
    float loss = (float)run->loss;
    enum yp_status status = dump_logits(run);
    if (status == YP_OK)
        status = safetensors_write(run->dump, LOSS, 0, 1,
                                   run->o.oracle ? (const void *)&run->loss : &loss);
    if (status == YP_OK)
        status = dump_gradients(run);
    if (status != YP_OK)
        return status;
    struct safetensors_writer *writer = run->dump;
    run->dump = NULL;
    return safetensors_finish(writer);
}

static enum yp_status make(struct run *run)
{
    enum yp_status status = read_tokens(run);
    size_t bytes = lm_parameters(&run->o.config) * element(run);
    if (status == YP_OK)
        status = lm_check_options(&run->o);
    if (status != YP_OK)
        return status;
    run->parameters = yp_device_alloc(yp_device_cpu(), bytes);
    if (run->r->work != LM_FORWARD)
        run->gradient = yp_device_alloc(yp_device_cpu(), bytes);
    if (run->parameters == NULL || (run->r->work != LM_FORWARD && run->gradient == NULL))
        return yp_last_status();
    if (run->r->load != NULL)
        status = load(run);
    else
        initialise(run);
    if (status == YP_OK && run->r->dump != NULL)
        status = begin_dump(run);
    if (status == YP_OK)
        status = pass(run);
    return status == YP_OK && run->r->dump != NULL ? dump(run) : status;
}

static int print(const struct run *run)
{
    double tokens = (double)(run->o.batch * run->o.context);
    char seconds[YPI_FIGURE_MAX], rate[YPI_FIGURE_MAX];
    if (run->r->json) {
        cJSON *object = cJSON_CreateObject();
        ypi_json_add_real(object, "loss", run->loss);
        cJSON_AddNumberToObject(object, "tokens", tokens);
        cJSON_AddNumberToObject(object, "seconds", run->seconds);
        int code = ypi_put_json(object);
        cJSON_Delete(object);
        return code;
    }
    ypi_format_seconds(seconds, run->seconds);
    ypi_format_rate(rate, tokens / run->seconds, "token");
    printf("loss %.9g over %zu x %zu tokens; %s in %s, %s, the first pass\n", run->loss,
           run->o.batch, run->o.context, lm_work_name(run->r->work), seconds, rate);
    return ypi_flush();
}

int ypi_lm_pass(const struct ypi_lm_request *request)
{
    struct run run = {.r = request, .o = request->options};
    enum yp_status status = make(&run);
    int code = status == YP_OK ? print(&run) : ypi_file_error();
    if (status == YP_INVALID)
        code = run.not_finite ? YPI_COMMAND_NOTHING : YPI_COMMAND_USAGE;
    safetensors_abandon(run.dump);
    void *const owned[] = {run.tokens, run.labels, run.parameters, run.gradient, run.tensors};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        yp_device_free(yp_device_cpu(), owned[i]);
    return code;
}
