#include "harness/body/accuracy/tensors.h"

enum yp_status ypi_check_tensors(const char *check, const char *name,
                                 const struct yp_tensor *tensors, size_t count,
                                 const char *limit_name, size_t limit)
{
    if (count > 0 && tensors == NULL)
        return yp_set_error(YP_INVALID, "%s \"%s\": tensors is NULL, n_tensors is %zu", check, name,
                            count);
    for (size_t k = 0; k < count; k++) {
        const struct yp_tensor *tensor = &tensors[k];
        if (tensor->name == NULL)
            return yp_set_error(YP_INVALID, "%s \"%s\": tensors[%zu].name is NULL", check, name, k);
        if (tensor->count == 0)
            return yp_set_error(YP_INVALID, "%s \"%s\": tensors[%zu] (\"%s\").count is 0", check,
                                name, k, tensor->name);
        if (tensor->offset > limit || tensor->count > limit - tensor->offset)
            return yp_set_error(
                YP_INVALID, "%s \"%s\": tensors[%zu] (\"%s\") is [%zu, +%zu), but %s is %zu", check,
                name, k, tensor->name, tensor->offset, tensor->count, limit_name, limit);
        for (size_t other = 0; other < k; other++) {
            const struct yp_tensor *before = &tensors[other];
            if (tensor->offset < before->offset + before->count &&
                before->offset < tensor->offset + tensor->count)
                return yp_set_error(
                    YP_INVALID, "%s \"%s\": tensors[%zu] (\"%s\") overlaps tensors[%zu] (\"%s\")",
                    check, name, k, tensor->name, other, before->name);
        }
    }
    return YP_OK;
}
