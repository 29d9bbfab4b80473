/* An open file of named tensors, whatever its format is. */
#pragma once

#include "models/data/safetensors.h"

struct safetensors {
    int fd;
    uint64_t data; /* what offsets count from */
    size_t count;
    char *path;
    struct safetensors_tensor tensors[]; /* (count) */
};

/* One with room for `most` tensors, without any, whose file is not open yet; NULL with
 * yp_last_error() set. */
struct safetensors *safetensors_describe(const char *path, size_t most);

/* YP_IO: a name is there twice. Sorts by name. */
enum yp_status safetensors_check_names(struct safetensors *file);
