/* The angles that rope.c turns by. */
#pragma once

#include <stddef.h>

/* Cosines and sines, (t, p) each, of at * theta^(-i / p) for position `at` and pair i. */
void nn_rope_angles(size_t t, size_t p, double theta, double *cosine, double *sine);
