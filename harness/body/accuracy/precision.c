/* A result in low precision against its oracle; nothing here knows a running case. */
#include <yieldpoint/gradient.h>

#include <float.h>
#include <math.h>

#include "base/numbers/sum.h"
#include "harness/body/accuracy/tensors.h"

static enum yp_status check_precision_fields(const struct yp_precision *check)
{
    if (check->name == NULL && check->n_tensors == 0)
        return yp_set_error(YP_INVALID, "precision: name is NULL");
    const char *name = check->name != NULL ? check->name : "";
    const char *missing = check->oracle == NULL  ? "oracle is NULL"
                          : check->plain == NULL ? "plain is NULL"
                          : check->got == NULL   ? "got is NULL"
                          : check->count == 0    ? "count is 0"
                                                 : NULL;
    if (missing != NULL)
        return yp_set_error(YP_INVALID, "precision \"%s\": %s", name, missing);
    if (!(check->multiple >= 0 && isfinite(check->multiple)))
        return yp_set_error(YP_INVALID, "precision \"%s\": multiple is %g, it must be 0 or more",
                            name, check->multiple);
    for (size_t i = 0; i < check->count; i++) {
        if (!isfinite(check->oracle[i]) || !isfinite(check->plain[i]))
            return yp_set_error(YP_INVALID, "precision \"%s\": %s[%zu] is not finite", name,
                                isfinite(check->plain[i]) ? "oracle" : "plain", i);
    }
    return ypi_check_tensors("precision", name, check->tensors, check->n_tensors, "count",
                             check->count);
}

static double distance(const float *values, const double *oracle, size_t count, size_t *worst)
{
    struct ypi_norm norm = {0};
    double largest = -1;
    for (size_t i = 0; i < count; i++) {
        double deviation = fabs((double)values[i] - oracle[i]);
        ypi_norm_add(&norm, deviation);
        if (deviation > largest || (isnan(deviation) && !isnan(largest))) {
            largest = deviation;
            *worst = i;
        }
    }
    return ypi_norm_value(&norm);
}

static struct ypi_precision_result compare(const struct yp_precision *check,
                                           const struct yp_tensor *tensor)
{
    const double *oracle = check->oracle + tensor->offset;
    struct ypi_precision_result out = {.tensor = tensor->name};
    struct ypi_norm norm = {0};
    for (size_t i = 0; i < tensor->count; i++)
        ypi_norm_add(&norm, oracle[i]);
    double length = ypi_norm_value(&norm);
    size_t ignored;
    double error = distance(check->got + tensor->offset, oracle, tensor->count, &out.worst);
    double plain_error = distance(check->plain + tensor->offset, oracle, tensor->count, &ignored);
    out.worst += tensor->offset;
    out.error = length > 0 ? error / length : error;
    out.plain_error = length > 0 ? fmax(plain_error / length, 0x1p-24) : fmax(plain_error, FLT_MIN);
    out.ratio = out.error / out.plain_error;
    return out;
}

enum yp_status ypi_precision_error(const struct yp_precision *check,
                                   struct ypi_precision_result *out)
{
    if (check == NULL || out == NULL)
        return yp_set_error(YP_INVALID, "%s is NULL", check == NULL ? "check" : "out");
    enum yp_status status = check_precision_fields(check);
    if (status != YP_OK)
        return status;
    *out = compare(check, check->n_tensors > 0 ? check->tensors
                                               : &(struct yp_tensor){NULL, 0, check->count});
    for (size_t k = 1; k < check->n_tensors && !isnan(out->ratio); k++) {
        struct ypi_precision_result one = compare(check, &check->tensors[k]);
        if (!(one.ratio <= out->ratio))
            *out = one;
    }
    return YP_OK;
}
