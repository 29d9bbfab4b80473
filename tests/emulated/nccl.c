/* The kernels of the plugin of ranks/nccl for the emulated device. */
#include "ranks/nccl/kernels.cu"
