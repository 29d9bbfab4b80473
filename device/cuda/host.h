/* The program that loaded the plugin, as its parts call it. */
#ifndef YPI_CUDA_HOST_H
#define YPI_CUDA_HOST_H

#include <yieldpoint/plugin.h>

extern const struct yp_plugin_host *ypi_cuda_host;

#endif
