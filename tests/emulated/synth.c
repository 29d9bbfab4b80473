/* The plugin of synth/cuda for the emulated device. */
#include "synth/cuda/kernels.cu"
