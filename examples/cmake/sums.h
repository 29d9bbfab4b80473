/* The code under test. */
#pragma once
#include <stddef.h>

/* The sum of n numbers; 0 of none. */
double sum(size_t n, const double *x);
