/* Interpolation of fields between the nodes of their lattice. */
#pragma once

#include "base/random/portable.h"

/* Weights of three nodes at t = rest / pitch of the way through a cell: the raised cosine
 * v(u) = sqrt(2)/3 (1 + cos(2 pi u / 3)) at their distances u = t + 1/2, t - 1/2 and t - 3/2, in
 * pitches. The cosines are a third of a turn apart, so the squares of the weights sum to 1 at every
 * t, and those of their derivatives to (2 pi / 3)^2 / 3: in a field of independent standard normals
 * value and gradient have the same variance everywhere.
 *
 * With s = t - 1/2: sqrt(2)/3 cos(2 pi s / 3) and 1/sqrt(6) sin(2 pi s / 3) by the polynomials that
 * agree with them at the zeros of Chebyshev's; they are off by up to 1.4e-8, and rounding by 1e-7.
 */
YPI_INLINE void mixing_window(int32_t rest, float pitch, float weights[3])
{
    float s = (float)rest / pitch - 0.5f, z = s * s;
    float c = ((0.00419845758f * z - 0.0552319251f) * z + 0.37793234f) * z - 1.03390574f;
    float sine = ((-0.0138884746f * z + 0.137032658f) * z - 0.625095904f) * z + 0.855033219f;
    float cosine = c * z + 0.471404523f, outer = 0.471404523f - 0.5f * cosine;
    sine = sine * s;
    weights[0] = outer - sine;
    weights[1] = 0.471404523f + cosine;
    weights[2] = outer + sine;
}
