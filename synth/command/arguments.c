/* Reads the options of `yieldpoint synth` into a job. */
#include "synth/command/internal.h"

#include "base/text/text.h"
#include "device/cpu/binding.h"

#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

static int usage_error(const char *what)
{
    return ypi_command_refuse("synth", what);
}

static int check(struct ypi_job *job)
{
    const struct synth_spec *spec = &job->spec;
    if (job->output == NULL)
        return usage_error("--output is missing");
    if (spec->height == 0 || spec->width == 0 || spec->channels == 0)
        return usage_error(spec->height == 0  ? "--height is missing"
                           : spec->width == 0 ? "--width is missing"
                                              : "--channels is missing");
    if (job->format == SYNTH_NPY && job->interleave != SYNTH_BIP)
        return usage_error("--interleave is not bip: a .npy has (height, width, channels)");
    if (job->type == SYNTH_F32 && job->scale != 0)
        return usage_error("--scale is for integers, and --type is float32");
    if (job->type != SYNTH_F32 && job->scale == 0 && spec->preset == SYNTH_CUVIS)
        return usage_error("--scale is missing: the values of preset cuvis have no fixed range");
    if (job->quantity == YPI_REFLECTANCE && spec->preset == SYNTH_CUVIS)
        return usage_error("--quantity is reflectance: preset cuvis has no air to look through");
    if (job->type == SYNTH_I16 && job->scale == 0 && job->quantity == YPI_RADIANCE &&
        (spec->bits == 0 || spec->bits == 16))
        return usage_error(
            "--type int16 holds 15 bits, and --bits is 16: must be 15 or less, or --scale "
            "said");
    return YPI_SYNTH_OK;
}

/* Splits --output into its stem and the ending of raw files. */
static void split_output(struct ypi_job *job)
{
    size_t length = strlen(job->output), stem = length;
    if (job->format == SYNTH_NPY) {
        stem -= length > 4 && strcmp(job->output + length - 4, ".npy") == 0 ? 4 : 0;
        job->ending = ".npy";
    } else {
        stem = ypi_envi_stem(job->output);
        bool own = stem < length && strcmp(job->output + stem, ".hdr") != 0;
        job->ending = own ? job->output + stem : ".img";
    }
    job->base = ypi_format("%.*s", (int)stem, job->output);
}

int ypi_synth_job_read(struct ypi_job *job, int argc, char **argv)
{
    struct ypi_job given = {0};
    *job = (struct ypi_job){.cubes = 1};
    int code = ypi_command_read("synth", ypi_synth_options, &given, job, argc, argv);
    if (code != YPI_SYNTH_OK || job->help)
        return code;
    if (job->threads == 0)
        job->threads = (size_t)ypi_processors();
    code = ypi_crew_check(job->threads) == YP_OK ? check(job) : ypi_report_error(YP_INVALID);
    if (code == YPI_SYNTH_OK)
        split_output(job);
    return code;
}

void ypi_job_free(struct ypi_job *job)
{
    ypi_options_free(job, ypi_synth_options);
    free(job->base);
}
