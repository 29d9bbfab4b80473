/* The plugin of models/train/cuda for the emulated device. */
#include "models/train/cuda/kernels.cu"
