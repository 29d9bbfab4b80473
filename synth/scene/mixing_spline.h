/* Interpolation of fields between the nodes of their lattice. */
#ifndef YIELDPOINT_SYNTH_MIXING_SPLINE_H
#define YIELDPOINT_SYNTH_MIXING_SPLINE_H

#include "base/random/portable.h"

/* Weights of three nodes: the quadratic B-spline at rest / pitch of the way through a cell, divided
 * by the root of the sum of squares, so that a field of independent standard normals has variance 1
 * everywhere. */
YPI_INLINE void mixing_spline(int32_t rest, float pitch, float weights[3])
{
    float t = (float)rest / pitch, u = 1.0f - t;
    float first = 0.5f * u * u, last = 0.5f * t * t, middle = 1.0f - first - last;
    float squares = YPI_FMA(first, first, YPI_FMA(middle, middle, last * last));
    float norm = 1.0f / YPI_SQRT(squares);
    weights[0] = first * norm;
    weights[1] = middle * norm;
    weights[2] = last * norm;
}

#endif
