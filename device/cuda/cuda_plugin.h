/* The CUDA device's plugin: what it gives the program, and what its parts share. */
#pragma once

#include <stdbool.h>
#include <yieldpoint/device.h>

YPI_BEGIN_C

#define YPI_CUDA_PLUGIN "cuda"

/* Receives facts about the device: "gpu.name" and its like. */
typedef void ypi_cuda_fact(void *arg, const char *key, const char *value);

struct ypi_cuda_plugin {
    unsigned backend_abi; /* YPI_BACKEND_ABI */
    /* Whether device 0 may be used, without a context on it. YP_UNSUPPORTED with the reason when
     * there is none; YP_DEVICE_FAULT when it is there and does not work. */
    enum yp_status (*look)(ypi_cuda_fact *report, void *arg);
    /* Makes a context on device 0, once a process. YP_OUT_OF_MEMORY when the device is full,
     * YP_UNSUPPORTED when another process has it to itself. */
    enum yp_status (*open)(struct yp_device **out);
};

YPI_END_C
