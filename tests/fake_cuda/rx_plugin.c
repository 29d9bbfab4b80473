/* The kernels of models/rx for a device that is made up: their own code, run by the CPU as it is
 * launched. */
#define RX_ON_CPU_PLUGIN
#include "tests/unit/rx/rx_on_cpu.h"

#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

YP_PLUGIN(RXC_PLUGIN, cpu_table, host)
