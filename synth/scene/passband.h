/* Which wavelengths a channel of a mixing scene sees, and how well. */
#pragma once

#include "synth/scene/scene.h"

/* The place of a channel on the wavelength axis, 0 to 1. */
double ypi_passband_place(const struct synth_spec *spec, size_t channel);
/* The centre of a channel, nm. */
double ypi_passband_centre(const struct synth_spec *spec, size_t channel);

/* Fills in the default of fwhm_nm, of a spec that is resolved but for it. YP_INVALID when the width
 * is not allowed. */
enum yp_status ypi_passband_resolve(struct synth_spec *spec);

/* A wavelength, `offset` nm from the channel's centre, and its weight; those of a channel are not
 * normalised. */
typedef void ypi_passband_see(void *arg, double offset, double weight);

/* Calls `see` with the wavelengths at which the light of a channel is to be sampled, so that the
 * weighted mean over them is that under a Gaussian of the spec's fwhm_nm about its centre +
 * shift_nm. Beyond the ends of the axis the light is that at the end. fwhm_nm 0: one point. */
void ypi_passband_sample(const struct synth_spec *spec, size_t channel, double shift_nm,
                         ypi_passband_see *see, void *arg);
