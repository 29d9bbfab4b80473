/*
 * The metrics that --audit asks for, held against CUPTI itself: its host side knows every chip
 * without a device or a driver. Skipped where the library is not there.
 */
#include "device/cuda/counters/cupti.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct yp_plugin_host host = {
    .abi = YP_PLUGIN_ABI, .set_error = yp_set_error, .last_error = yp_last_error};
const struct yp_plugin_host *ypi_cuda_host = &host;

TestSuite(cupti, .timeout = 60);

static const struct ypi_cupti *load(void)
{
    const struct ypi_cupti *c = ypi_cupti_load();
    if (c == NULL)
        cr_skip_test("%s", yp_last_error());
    return c;
}

static bool asks_for(const struct ypi_metrics *m, const char *metric)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->names[i], metric) == 0)
            return true;
    return false;
}

/* Everything but what the chip has no units for. */
static void expect_chip(const char *chip, bool fp8, const char *halves, size_t passes_max)
{
    const struct ypi_cupti *c = load();
    struct ypi_metrics m;
    enum yp_status status = ypi_metrics_open(&m, c, chip, NULL);
    cr_assert_eq(status, YP_OK, "%s: %s", chip, yp_last_error());
    for (int i = 0; i < YPI_AUDITED; i++)
        cr_expect_eq(m.has[i], fp8 || i != YPI_AUDIT_TENSOR_FP8, "%s: %d", chip, i);
    cr_expect(asks_for(&m, halves), "%s has %s", chip, halves);
    cr_expect(m.config_size > 0 && m.passes >= 1 && m.passes <= passes_max, "%s: %zu passes", chip,
              m.passes);
    ypi_metrics_close(&m);
    ypi_metrics_close(&m); /* and again: nothing is left */
}

Test(cupti, knows_the_metrics_of_each_chip)
{
    expect_chip("GA100", false, "sm__ops_path_tensor_src_fp16_dst_fp32.sum", 24);
    expect_chip("AD102", true, "sm__ops_path_tensor_src_fp16_dst_fp32.sum", 24);
    expect_chip("GH100", true, "sm__ops_path_tensor_src_fp16.sum", 24);
}

/* A metric that is wrong takes all others with it: they are asked for one by one. */
Test(cupti, one_way_of_counting_halves)
{
    struct ypi_metrics m;
    cr_assert_eq(ypi_metrics_open(&m, load(), "GH100", NULL), YP_OK, "%s", yp_last_error());
    cr_expect_not(asks_for(&m, "sm__ops_path_tensor_src_fp16_dst_fp16.sum"));
    ypi_metrics_close(&m);
}

Test(cupti, an_unknown_chip_is_told)
{
    struct ypi_metrics m;
    const struct ypi_cupti *c = load();
    cr_expect_neq(ypi_metrics_open(&m, c, "XX999", NULL), YP_OK);
    cr_expect(strstr(yp_last_error(), "CUPTI: ") != NULL, "%s", yp_last_error());
    ypi_metrics_close(&m);
}

Test(cupti, results_have_reasons)
{
    const struct ypi_cupti *c = load();
    cr_expect_eq(ypi_cupti_status(c, YPI_CUPTI_OK, "x"), YP_OK);
    cr_expect_eq(ypi_cupti_status(c, YPI_CUPTI_PRIVILEGES, "the counters"), YP_UNSUPPORTED);
    cr_expect(strstr(yp_last_error(), "CUPTI: the counters: the driver keeps") != NULL &&
                  strstr(yp_last_error(), "(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, 35)") != NULL,
              "%s", yp_last_error());
    cr_expect_eq(ypi_cupti_status(c, YPI_CUPTI_OUT_OF_MEMORY, "x"), YP_OUT_OF_MEMORY);
    cr_expect_eq(ypi_cupti_status(c, 999, "x"), YP_DEVICE_FAULT);
}
