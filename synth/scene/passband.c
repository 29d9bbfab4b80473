/* Quadrature under the Gaussian response of a channel. Within the axis the trapezoidal rule, which
 * for Gaussians converges faster than any power of its step: its error is exp(-2 pi^2 s^2 / h^2),
 * s the width of the narrowest product of response and features. Where the response passes an end
 * of the axis the light has a kink, and Gauss-Legendre panels on both sides of it take over. */
#include "synth/scene/passband.h"
#include "synth/scene/table.h"

/* Standard deviation of a Gaussian of full width at half maximum 1: 1 / sqrt(8 ln 2). */
#define DEVIATION 0.42466090014400953
/* In deviations; 2e-9 of the light comes from further away. */
#define REACH 6.0
/* Steps and panels, in s. */
#define STEP 1.1
#define PANEL 2.0

double ypi_passband_place(const struct synth_spec *spec, size_t channel)
{
    return spec->channels > 1 ? (double)channel / (double)(spec->channels - 1) : 0.0;
}

double ypi_passband_centre(const struct synth_spec *spec, size_t channel)
{
    return spec->first_nm + (spec->last_nm - spec->first_nm) * ypi_passband_place(spec, channel);
}

enum yp_status ypi_passband_resolve(struct synth_spec *spec)
{
    double axis = spec->last_nm - spec->first_nm;
    if (spec->fwhm_nm == 0.0)
        spec->fwhm_nm = spec->channels > 1 ? axis / (double)(spec->channels - 1) : 0.0;
    else if (spec->fwhm_nm == SYNTH_OFF)
        spec->fwhm_nm = 0.0;
    else if (!(spec->fwhm_nm >= 1e-9 && spec->fwhm_nm <= axis)) /* so for a NaN */
        return yp_set_error(YP_INVALID,
                            "synth_spec.fwhm_nm is %g: must be 1e-09 to last_nm - first_nm, here "
                            "%g, or 0 for the channels' spacing, or SYNTH_OFF (-1) for none",
                            spec->fwhm_nm, axis);
    return YP_OK;
}

/* Deviation of what is narrowest in spectrum and air, nm: a target's feature, a water band. */
static double narrowest(const struct synth_spec *spec)
{
    double target = 0.005 * (spec->last_nm - spec->first_nm);
    return target < 20 ? target : 20;
}

static double weight_of(double distance, double deviation)
{
    double d = distance / deviation;
    return synth_table_exp(-0.5 * d * d);
}

/* Part low to high of the response, offsets from its middle, in panels. It sees no more than
 * `limits`, offsets from the channel's centre: beyond the axis its end. */
static void see_part(double low, double high, double panel, double deviation, double shift,
                     const double limits[2], ypi_passband_see *see, void *arg)
{
    static const double at[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                0.9602898564975363};
    static const double weight[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                    0.1012285362903763};
    size_t panels = (size_t)((high - low) / panel) + 1;
    double half = (high - low) / (double)panels / 2;
    for (size_t i = 0; i < panels && half > 0; i++)
        for (int k = 0; k < 8; k++) {
            double x = low + half * ((double)(2 * i + 1) + (k % 2 ? -1 : 1) * at[k / 2]);
            double offset = x + shift;
            offset = offset < limits[0] ? limits[0] : offset > limits[1] ? limits[1] : offset;
            see(arg, offset, half * weight[k / 2] * weight_of(x, deviation));
        }
}

void ypi_passband_sample(const struct synth_spec *spec, size_t channel, double shift_nm,
                         ypi_passband_see *see, void *arg)
{
    double deviation = DEVIATION * spec->fwhm_nm, reach = REACH * deviation;
    double centre = ypi_passband_centre(spec, channel), narrow = narrowest(spec);
    const double limits[2] = {spec->first_nm - centre, spec->last_nm - centre};
    double low = limits[0] - shift_nm, high = limits[1] - shift_nm; /* the axis, from the middle */
    if (spec->fwhm_nm == 0.0) {
        see(arg, low > 0 ? limits[0] : high < 0 ? limits[1] : shift_nm, 1.0);
        return;
    }
    double fine = deviation * narrow / (deviation + narrow);
    if (low <= -reach && high >= reach) {
        int steps = (int)(reach / (STEP * fine)) + 1;
        for (int i = -steps; i <= steps; i++) {
            double x = reach * i / steps;
            see(arg, x + shift_nm, weight_of(x, deviation));
        }
        return;
    }
    low = low < -reach ? -reach : low > reach ? reach : low;
    high = high < -reach ? -reach : high > reach ? reach : high;
    see_part(-reach, low, PANEL * fine, deviation, shift_nm, limits, see, arg);
    see_part(low, high, PANEL * fine, deviation, shift_nm, limits, see, arg);
    see_part(high, reach, PANEL * fine, deviation, shift_nm, limits, see, arg);
}
