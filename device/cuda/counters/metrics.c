/*
 * What is counted, as metrics of the device.
 *
 * Operations: an instruction of a warp is counted once for each of its threads that executes it
 * ("smsp__sass_thread_inst_executed...pred_on"). A fused multiply-add is two operations; those of
 * fp16 work on pairs, so that they are twice as many. These are the factors of the roofline charts
 * of Nsight Compute ("Kernel Profiling Guide", Roofline Charts; its metrics
 * derived__..._ffma_pred_on_x2, ..._hadd_pred_on_x2, ..._hfma_pred_on_x4). The matrix units' count
 * is of operations already ("sm__ops_path_tensor..."), of dense and of sparse products.
 *
 * Bytes: of device memory, read and written, by everything on the device (dram__bytes_...). Between
 * the multiprocessors and the second-level cache: sectors of 32 bytes that they asked for.
 */
#include "device/cuda/counters/cupti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXECUTED "smsp__sass_thread_inst_executed_op"
#define TENSOR "sm__ops_path_tensor_src_"

static const struct term {
    enum ypi_audited of;
    int variant; /* the first of which a device knows all metrics is used */
    double factor;
    const char *metric;
} terms[] = {
    {YPI_AUDIT_FP64, 0, 1, EXECUTED "s_dadd_dmul_dfma_pred_on.sum"},
    {YPI_AUDIT_FP64, 0, 1, EXECUTED "_dfma_pred_on.sum"},
    {YPI_AUDIT_FP32, 0, 1, EXECUTED "s_fadd_fmul_ffma_pred_on.sum"},
    {YPI_AUDIT_FP32, 0, 1, EXECUTED "_ffma_pred_on.sum"},
    {YPI_AUDIT_FP16, 0, 2, EXECUTED "s_hadd_hmul_hfma_pred_on.sum"},
    {YPI_AUDIT_FP16, 0, 2, EXECUTED "_hfma_pred_on.sum"},
    {YPI_AUDIT_INTEGER, 0, 1, EXECUTED "_integer_pred_on.sum"},
    {YPI_AUDIT_TENSOR_FP64, 0, 1, TENSOR "fp64.sum"},
    {YPI_AUDIT_TENSOR_TF32, 0, 1, TENSOR "tf32_dst_fp32.sum"},
    {YPI_AUDIT_TENSOR_BF16, 0, 1, TENSOR "bf16_dst_fp32.sum"},
    {YPI_AUDIT_TENSOR_FP16, 0, 1, TENSOR "fp16.sum"}, /* sm_90 */
    {YPI_AUDIT_TENSOR_FP16, 1, 1, TENSOR "fp16_dst_fp16.sum"},
    {YPI_AUDIT_TENSOR_FP16, 1, 1, TENSOR "fp16_dst_fp32.sum"},
    {YPI_AUDIT_TENSOR_FP8, 0, 1, TENSOR "fp8.sum"},
    {YPI_AUDIT_TENSOR_INT8, 0, 1, TENSOR "int8.sum"},
    {YPI_AUDIT_READ, 0, 1, "dram__bytes_read.sum"},
    {YPI_AUDIT_WRITTEN, 0, 1, "dram__bytes_write.sum"},
    {YPI_AUDIT_CACHE, 0, 32, "lts__t_sectors_srcunit_tex.sum"},
};
enum { VARIANTS = 2 };
enum { TERMS = sizeof terms / sizeof *terms };

static enum yp_status open_host(const struct ypi_cupti *c, const char *chip,
                                const uint8_t *availability, void **out)
{
    struct ypi_cupti_host_open p = {.size = YPI_CUPTI_SIZE(ypi_cupti_host_open, host),
                                    .chip = chip,
                                    .availability = availability};
    enum yp_status status = ypi_cupti_status(c, c->host_open(&p), "its metrics of the device");
    *out = status == YP_OK ? p.host : NULL;
    return status;
}

static void close_host(const struct ypi_cupti *c, void *host)
{
    struct ypi_cupti_host_close p = {.size = YPI_CUPTI_SIZE(ypi_cupti_host_close, host),
                                     .host = host};
    if (host != NULL)
        (void)c->host_close(&p);
}

static int add(const struct ypi_cupti *c, void *host, const char **metrics, size_t count)
{
    struct ypi_cupti_add p = {.size = YPI_CUPTI_SIZE(ypi_cupti_add, count),
                              .host = host,
                              .metrics = metrics,
                              .count = count};
    return c->add(&p);
}

/* A host that refused a metric refuses all others: each is asked of a host of its own. */
static enum yp_status ask(const struct ypi_cupti *c, const char *chip, const uint8_t *availability,
                          const char *metric, bool *known)
{
    void *host = NULL;
    enum yp_status status = open_host(c, chip, availability, &host);
    if (status != YP_OK)
        return status;
    struct ypi_cupti_properties p = {
        .size = YPI_CUPTI_SIZE(ypi_cupti_properties, type), .host = host, .metric = metric};
    *known = c->properties(&p) == YPI_CUPTI_OK && add(c, host, &metric, 1) == YPI_CUPTI_OK;
    close_host(c, host);
    return YP_OK;
}

/* Of a variant that a device knows only a part of, the sum would be too low. */
static bool whole(const bool known[TERMS], int of, int variant)
{
    int all = 0;
    int there = 0;
    for (int i = 0; i < TERMS; i++) {
        bool part = (int)terms[i].of == of && terms[i].variant == variant;
        all += part;
        there += part && known[i];
    }
    return all > 0 && there == all;
}

static void choose(struct ypi_metrics *m, const bool known[TERMS])
{
    for (int of = 0; of < YPI_AUDITED; of++) {
        int variant = 0;
        while (variant < VARIANTS && !whole(known, of, variant))
            variant++;
        m->has[of] = variant < VARIANTS;
        for (int i = 0; i < TERMS; i++)
            if ((int)terms[i].of == of && terms[i].variant == variant) {
                m->terms[m->count] = i;
                m->names[m->count++] = terms[i].metric;
            }
    }
}

static enum yp_status configure(struct ypi_metrics *m)
{
    const struct ypi_cupti *c = m->cupti;
    struct ypi_cupti_config_size s = {.size = YPI_CUPTI_SIZE(ypi_cupti_config_size, bytes),
                                      .host = m->host};
    enum yp_status status =
        ypi_cupti_status(c, add(c, m->host, m->names, m->count), "adding the metrics");
    if (status == YP_OK)
        status = ypi_cupti_status(c, c->config_size(&s), "the size of a configuration");
    if (status != YP_OK)
        return status;
    m->config_size = s.bytes;
    m->config = calloc(1, s.bytes);
    if (m->config == NULL)
        return ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: CUPTI's configuration");
    struct ypi_cupti_config g = {.size = YPI_CUPTI_SIZE(ypi_cupti_config, image),
                                 .host = m->host,
                                 .bytes = m->config_size,
                                 .image = m->config};
    struct ypi_cupti_passes p = {.size = YPI_CUPTI_SIZE(ypi_cupti_passes, passes),
                                 .bytes = m->config_size,
                                 .image = m->config};
    status = ypi_cupti_status(c, c->config(&g), "a configuration");
    if (status == YP_OK)
        status = ypi_cupti_status(c, c->passes(&p), "the number of passes");
    m->passes = p.passes;
    return status;
}

enum yp_status ypi_metrics_open(struct ypi_metrics *m, const struct ypi_cupti *c, const char *chip,
                                const uint8_t *availability)
{
    _Static_assert(TERMS <= sizeof m->names / sizeof *m->names, "too few names");
    bool known[TERMS] = {false};
    enum yp_status status = YP_OK;
    *m = (struct ypi_metrics){.cupti = c};
    for (int i = 0; i < TERMS && status == YP_OK; i++)
        status = ask(c, chip, availability, terms[i].metric, &known[i]);
    if (status != YP_OK)
        return status;
    choose(m, known);
    if (m->count == 0)
        return ypi_cuda_host->set_error(
            YP_UNSUPPORTED, "CUPTI knows no metric of the device (%s) that is asked for", chip);
    status = open_host(c, chip, availability, &m->host);
    return status == YP_OK ? configure(m) : status;
}

enum yp_status ypi_metrics_read(const struct ypi_metrics *m, const uint8_t *counted, size_t bytes,
                                double out[YPI_AUDITED])
{
    double values[TERMS] = {0};
    struct ypi_cupti_values p = {.size = YPI_CUPTI_SIZE(ypi_cupti_values, values),
                                 .host = m->host,
                                 .counted = counted,
                                 .counted_size = bytes,
                                 .metrics = (const char **)(uintptr_t)m->names,
                                 .count = m->count,
                                 .values = values};
    enum yp_status status = ypi_cupti_status(m->cupti, m->cupti->values(&p), "reading the counts");
    for (int i = 0; i < YPI_AUDITED; i++)
        out[i] = m->has[i] ? 0 : NAN;
    for (size_t i = 0; i < m->count; i++)
        out[terms[m->terms[i]].of] += terms[m->terms[i]].factor * values[i];
    return status;
}

void ypi_metrics_close(struct ypi_metrics *m)
{
    if (m->cupti != NULL)
        close_host(m->cupti, m->host);
    free(m->config);
    *m = (struct ypi_metrics){0};
}
