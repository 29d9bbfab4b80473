/* Arrays of float from 16 bits, which `type` names, and back; and from 8 bits. */
#pragma once

#include "models/nn/types.h"
#include <stddef.h>

void nn_widen(const void *values, enum nn_type type, size_t count, float *out);
void nn_widen_int8(const int8_t *small, size_t count, float *out);
/* To the nearest. */
void nn_narrow(const float *value, size_t count, enum nn_type type, void *out);

/* Floats to the nearest values that 16 bits hold, as floats, by the calling thread; `out` may be
 * `value`. */
void nn_round_bf16(const float *value, size_t count, float *out);
void nn_round_fp16(const float *value, size_t count, float *out);
