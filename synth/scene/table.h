/* Functions in double for the tables of a scene, from sums and products only, so that tables too
 * have the same bits everywhere; rounded to float they are right to the last place. */
#pragma once

#include <stdint.h>
#include <string.h>

/* exp(x) for -700 <= x <= 0, 0 below. x = n ln 2 + r, Taylor to r^13 (|r| <= 0.347: 5e-18). */
static inline double synth_table_exp(double x)
{
    if (x < -700.0)
        return 0.0;
    int64_t n = (int64_t)(x * 1.4426950408889634 - 0.5); /* to the nearest: x <= 0 */
    double r = x - (double)n * 0x1.62e42fefp-1;          /* the high 33 bits: an exact product */
    r -= (double)n * 0x1.473de6af278edp-34;
    double sum = 1.0;
    for (int k = 13; k >= 1; k--)
        sum = 1.0 + sum * r / k;
    int64_t bits = (n + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

/* cos(2 pi t) for 0 <= t <= 2. Folded to |t| <= 1/4 by symmetry, exactly; Taylor of cos to
 * x^16 where |x| <= pi / 4, else of sin(pi / 2 - |x|). */
static inline double synth_table_cos_turns(double t)
{
    const double turn = 6.283185307179586;
    t -= (double)(int64_t)(t + 0.5); /* [-1/2, 1/2] */
    t = t < 0 ? -t : t;
    double sign = 1.0;
    if (t > 0.25) {
        t = 0.5 - t;
        sign = -1.0;
    }
    double sum = 1.0;
    if (t <= 0.125) {
        double z = turn * t * (turn * t);
        for (int k = 16; k >= 2; k -= 2)
            sum = 1.0 - sum * z / (k * (k - 1));
        return sign * sum;
    }
    double x = turn * (0.25 - t), z = x * x;
    for (int k = 17; k >= 3; k -= 2)
        sum = 1.0 - sum * z / (k * (k - 1));
    return sign * sum * x;
}

static inline double synth_table_sin_turns(double t)
{
    return synth_table_cos_turns(t + 0.75);
}
