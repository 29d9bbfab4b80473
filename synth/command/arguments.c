/* Reads the command line and the ini file into a job. */
#include "synth/command/internal.h"

#include "base/options/arguments.h"
#include "base/options/ini.h"
#include "base/options/project.h"
#include "base/text/text.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the ini file ---- */

struct reading {
    struct ypi_job *job;
    bool shared; /* a yieldpoint.ini, which has sections of other programs too */
};

static char *take_entry(void *arg, const char *section, const char *name, const char *value)
{
    static const char *const own[] = {"synth"};
    const struct reading *r = arg;
    if (strcmp(section, "synth") != 0) {
        bool anothers = r->shared ? ypi_ini_section_is_anothers(section, own, 1)
                                  : ypi_has_word("yieldpoint tags", section, strlen(section));
        return anothers ? NULL : ypi_format("'%s' in [%s]: the section is [synth]", name, section);
    }
    const struct ypi_option *option = ypi_option_find(ypi_synth_options, name, strlen(name));
    if (option == NULL || strcmp(option->name, "config") == 0 || strcmp(option->name, "help") == 0)
        return ypi_format("'%s' in [synth]: known are the options of `yieldpoint synth --help`",
                          name);
    char *allowed = ypi_option_set(r->job, option, value);
    char *message =
        allowed != NULL ? ypi_format("%s is '%s': must be %s", name, value, allowed) : NULL;
    free(allowed);
    return message;
}

static int read_ini(struct ypi_job *job, const char *path, bool shared)
{
    static const int codes[] = {[YPI_INI_OK] = YPI_SYNTH_OK,
                                [YPI_INI_WRONG] = YPI_SYNTH_USAGE,
                                [YPI_INI_UNREADABLE] = YPI_SYNTH_FILE};
    struct reading r = {.job = job, .shared = shared};
    return codes[ypi_ini_read(path, take_entry, &r)];
}

/* ---- the command line ---- */

static bool read_arguments(struct ypi_job *job, int argc, char **argv)
{
    return ypi_arguments_read(
        &(struct ypi_arguments){.options = ypi_synth_options,
                                .values = job,
                                .hint = "; `yieldpoint synth --help` tells them"},
        argc, argv);
}

/* ---- checks ---- */

static int usage_error(const char *what)
{
    fprintf(stderr, "yieldpoint: %s; `yieldpoint synth --help` tells all\n", what);
    return YPI_SYNTH_USAGE;
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

/* Processors that the process may use; taskset and cpusets can make it fewer than are online. */
static size_t processors(void)
{
    cpu_set_t sets[8192 / CPU_SETSIZE];
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        return (size_t)CPU_COUNT_S(sizeof sets, sets);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
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

int ypi_job_read(struct ypi_job *job, int argc, char **argv)
{
    struct ypi_job given = {0};
    bool valid = read_arguments(&given, argc, argv);
    char *ini =
        valid && !given.help && given.config == NULL ? ypi_nearest_above("yieldpoint.ini") : NULL;
    bool help = given.help;
    char *config = given.config;
    given.config = NULL;
    ypi_job_free(&given);

    *job = (struct ypi_job){.cubes = 1, .help = help};
    int code = valid ? YPI_SYNTH_OK : YPI_SYNTH_USAGE;
    if (valid && !help && (config != NULL || ini != NULL))
        code = read_ini(job, config != NULL ? config : ini, config == NULL);
    free(config);
    free(ini);
    if (code != YPI_SYNTH_OK || help)
        return code;
    read_arguments(job, argc, argv);
    if (job->threads == 0)
        job->threads = processors();
    code = check(job);
    if (code == YPI_SYNTH_OK)
        split_output(job);
    return code;
}

void ypi_job_free(struct ypi_job *job)
{
    ypi_options_free(job, ypi_synth_options);
    free(job->base);
}
