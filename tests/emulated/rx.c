/* The plugin of models/rx/cuda for the emulated device. */
#include "models/rx/cuda/kernels.cu"
