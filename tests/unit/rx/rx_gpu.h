/* The emulated device with the kernels of models/rx: the plugin's functions, after a look at what a
 * job points to. */
#ifndef RX_GPU_H
#define RX_GPU_H

#include "models/rx/device/detector.h"
#include "tests/emulated/device.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Each checks that the job's arrays are the device's, as far as they reach, and launches. */
extern const struct rx_cuda gpu_table;

/* The device; models/rx uses gpu_table from then on. */
struct yp_device *gpu_open(void);

/* Run i of a test goes another way through the threads, and finds other garbage. */
void vary(size_t i);

#endif
