/* What the refiner's models share. */
#include "models/refiner/shared.h"

#include <string.h>

enum yp_status refiner_ask_mean(struct yp_device *device, const struct nn_model *model, int losses,
                                size_t batch, size_t count, double scale)
{
    char *to = nn_model_cotangent(model, losses);
    const bool wide = nn_model_type(model, losses) == NN_DOUBLE;
    const size_t bytes = wide ? sizeof(double) : sizeof(float);
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < batch && status == YP_OK; i++) {
        const double share = i < count ? scale / (double)count : 0;
        const float narrow = (float)share;
        status = yp_device_copy(device, to + i * bytes,
                                wide ? (const void *)&share : (const void *)&narrow, bytes);
    }
    return status;
}

enum yp_status refiner_check_kind(const char *who, const char *kind)
{
    if (kind == NULL || strcmp(kind, "cpu") == 0 || strcmp(kind, "cuda") == 0)
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s.kind is '%s': must be cpu or cuda", who, kind);
}
