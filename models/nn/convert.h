/* Arrays of float from bf16 and back, and from 8 bits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void nn_widen(const uint16_t *bf16, size_t count, float *out);
void nn_widen_int8(const int8_t *small, size_t count, float *out);
void nn_narrow(const float *value, size_t count, uint16_t *out); /* to the nearest */

/* Floats to the nearest values that 16 bits hold, as floats, by the calling thread; `out` may be
 * `value`. */
void nn_round_bf16(const float *value, size_t count, float *out);
void nn_round_fp16(const float *value, size_t count, float *out);
