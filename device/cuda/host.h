/* The program that loaded the plugin, as its parts call it. */
#pragma once

#include <yieldpoint/plugin.h>

extern const struct yp_plugin_host *ypi_cuda_host;
