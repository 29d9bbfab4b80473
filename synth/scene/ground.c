/* What a spec says of the ground beyond its spectra: targets of several pixels. */
#include "synth/scene/internal.h"

#include <math.h>

#define MAX_PX 64

/* Half the longest extent of a target, in any direction. */
static double reach_of(const struct synth_spec *spec)
{
    double half = spec->target_px / 2, narrow = half / (double)SYNTH_ASPECT;
    return spec->target_shape == SYNTH_DISC ? half : sqrt(half * half + narrow * narrow);
}

/* Mean area of a target. */
static double area_of(const struct synth_spec *spec)
{
    double square = spec->target_px * spec->target_px;
    double disc = 0.78539816339744831 * square, rectangle = square / (double)SYNTH_ASPECT;
    return spec->target_shape == SYNTH_DISC        ? disc
           : spec->target_shape == SYNTH_RECTANGLE ? rectangle
                                                   : (disc + rectangle) / 2;
}

static size_t play_of(const struct synth_spec *spec)
{
    return (size_t)ceil(2 * reach_of(spec));
}

static size_t cell_of(const struct synth_spec *spec)
{
    return 2 * play_of(spec) + 1;
}

/* The probability that a cell has a target. */
static double chance_of(const struct synth_spec *spec)
{
    double side = (double)cell_of(spec);
    return spec->target_fraction * side * side / area_of(spec);
}

enum yp_status ypi_shapes_resolve(struct synth_spec *spec)
{
    if (spec->target_shape < SYNTH_PIXEL || spec->target_shape > SYNTH_MIXED)
        return yp_set_error(YP_INVALID,
                            "synth_spec.target_shape is %d: must be SYNTH_PIXEL (%d) to "
                            "SYNTH_MIXED (%d)",
                            (int)spec->target_shape, SYNTH_PIXEL, SYNTH_MIXED);
    bool pixel = spec->target_shape == SYNTH_PIXEL;
    if (spec->target_px == 0)
        spec->target_px = pixel ? 1 : 3;
    if (!(spec->target_px >= 1 && spec->target_px <= MAX_PX))
        return yp_set_error(YP_INVALID, "synth_spec.target_px is %g: must be 1 to %d",
                            spec->target_px, MAX_PX);
    if (pixel && spec->target_px != 1)
        return yp_set_error(YP_INVALID,
                            "synth_spec.target_px is %g: must be 1 where targets are single pixels",
                            spec->target_px);
    if (!pixel && chance_of(spec) > 1)
        return yp_set_error(YP_INVALID,
                            "synth_spec.target_fraction is %g: must be at most %.3g, which is what "
                            "targets of %g pixels can cover",
                            spec->target_fraction, spec->target_fraction / chance_of(spec),
                            spec->target_px);
    return YP_OK;
}

void ypi_shapes_prepare(struct synth_scene *scene)
{
    const struct synth_spec *spec = &scene->spec;
    if (spec->target_shape == SYNTH_PIXEL)
        return;
    scene->shapes = (struct synth_shapes){.shape = (uint16_t)spec->target_shape,
                                          .cell = (uint16_t)cell_of(spec),
                                          .play = (uint16_t)play_of(spec),
                                          .chance = (uint64_t)(chance_of(spec) * 0x1p32 + 0.5),
                                          .reach = (float)reach_of(spec),
                                          .half = (float)(spec->target_px / 2)};
}
