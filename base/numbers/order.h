/* How times grow: by which power of N, or in which order, O(1), O(log N), O(N), O(N log N), O(N^2)
 * or O(N^3). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define YPI_ORDERS 6 /* in the order of their growth */

/* Times of a case scatter by this much about their curve at least: what a model that has one term
 * only leaves out (a call's overhead, a cache that is left) is no less. */
#define YPI_ORDER_SCATTER 0.02

/* `count` points: logarithms of N, above 0, and of the times, with how far the interval of each
 * time reaches below and above it. */
struct ypi_growth_points {
    const double *x, *y, *down, *up;
    size_t count;
};

/* The exponent b of time = c N^b with its interval: the slope of ypi_line() through the points,
 * wider where the points' own intervals leave more open. All NaN where ypi_line() has none. */
struct ypi_exponent {
    double value, low, high;
};
struct ypi_exponent ypi_exponent_fit(const struct ypi_growth_points *points);

struct ypi_order {
    double coefficient, low, high; /* seconds, of f(N), with log to base 2; at 99 % */
    double rms;                    /* of time / (coefficient f(N)), as logarithms */
    bool refuted;
};

struct ypi_orders {
    struct ypi_order of[YPI_ORDERS];
    int best;        /* the least rms of those that are not refuted; of all, if all are */
    int first, last; /* that are not refuted; -1: all are */
};

/* Fits each order f by log(time) = log(c) + log(f(N)), least squares, so that all points count
 * alike whatever they take. An order f is refuted where for any other one g the exponent b in time
 * = c f(N) (g(N) / f(N))^b is not 0: 0 lies outside the interval of b, by Student's t with count -
 * 2 degrees of freedom at 99.7 % (three directions of doubt together: 99 %), and outside the one
 * that the points' own intervals leave. (Hypotheses that are no part of each other, tested in a
 * model that holds both as powers: A. C. Atkinson, "A method for discriminating between models", J.
 * R. Statist. Soc. B 32, 1970, after D. R. Cox, same place, 24, 1962.) False with fewer than 3
 * points or when a number is not finite. */
bool ypi_orders_fit(const struct ypi_growth_points *points, struct ypi_orders *out);

/* Half the width of the interval of b, for times that scatter by `scatter`: order `f` can be told
 * from `g` where that is less than a half. Infinite with fewer than 3 points. */
double ypi_order_reach(const double *x, size_t count, int f, int g, double scatter);

/* "O(N log N)" */
const char *ypi_order_name(int order);
