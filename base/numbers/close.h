/* Two arrays of numbers, element by element and as a whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/array.h>

/* Bytes of one; 0: it is none of enum yp_number. */
size_t ypi_number_size(enum yp_number number);
/* Element `i`; whole numbers of 64 bits are rounded to the nearest double. */
double ypi_number_at(enum yp_number number, const void *array, size_t i);
/* The unit in the last place of numbers of this kind at `value`; 1 of whole numbers. */
double ypi_number_unit(enum yp_number number, double value);

/* One element that is off. */
struct ypi_off {
    size_t index;
    double got, want, by; /* by: |got - want|, NaN where that is none */
};

/* What was found so far. Begins with the bounds and the kinds, and zeros. */
struct ypi_closeness {
    struct yp_close bounds; /* its arrays and names are not looked at */
    size_t count, off, not_finite;
    struct ypi_off first, worst; /* of those that are off; a NaN is the worst */
    double square, square_want;  /* sums */
};

/* Compares the next `count` elements. */
void ypi_close_add(struct ypi_closeness *c, const void *got, const void *want, size_t count);

/* sum (got - want)^2 / sum want^2; 0 where both are 0, NaN where an element is. */
double ypi_close_nmse(const struct ypi_closeness *c);

/* Whether all bounds hold. */
bool ypi_close_holds(const struct ypi_closeness *c);
