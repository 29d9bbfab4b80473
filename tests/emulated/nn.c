/* The plugin of models/nn/cuda for the emulated device. */
#include "models/nn/cuda/kernels.cu"
