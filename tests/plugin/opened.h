/* The table of opened.c. */
#pragma once

#include <yieldpoint/device.h>

struct opened {
    const int *opened, *closed; /* how often */
    /* 4 values through page-locked memory and the device's, by a stream of the plugin's own. */
    enum yp_status (*carry)(const float from[4], float to[4]);
};
