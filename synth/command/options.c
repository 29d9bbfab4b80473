/* The options: one table for the command line, the ini file, the help and the line that reproduces
 * the data. */
#include "synth/command/internal.h"

#include "base/text/text.h"

#include <stdlib.h>

#define AT(field) offsetof(struct ypi_job, field)
#define SPEC(field) offsetof(struct ypi_job, spec.field)
#define SIZE(at) .value = "N", .kind = YPI_OPTION_SIZE, .offset = (at)
#define WORD64(at) \
    .value = "N", .kind = YPI_OPTION_WORD64, .offset = (at), .allowed = "a whole number"
#define REAL(at) .value = "X", .kind = YPI_OPTION_REAL, .offset = (at)
#define REAL_OR_OFF(at) .value = "X|off", .kind = YPI_OPTION_REAL, .offset = (at), .off = SYNTH_OFF
#define CHOICE(at, words) \
    .value = "WORD", .kind = YPI_OPTION_CHOICE, .offset = (at), .choices = (words), \
    .allowed = "one of: " words
#define SWITCH(at) .kind = YPI_OPTION_SWITCH, .offset = (at)
#define PATH(at) .value = "PATH", .kind = YPI_OPTION_PATH, .offset = (at), .allowed = "a path"
/* Options that the data depend on; they are part of the line that reproduces the data. */
#define DATA .again = 1
#define SCENE .again = 1, .group = YPI_SCENE_ONLY
#define CUVIS .again = 1, .group = YPI_CUVIS_ONLY

const struct ypi_option ypi_synth_options[] = {
    {"output", PATH(AT(output)), DATA,
     .help = "PATH; its ending is replaced where the format has another"},
    {"cubes", SIZE(AT(cubes)), DATA,
     .help = "how many: PATH_0000 and so on, or one .npy of four axes; 1"},
    {"height", SIZE(SPEC(height)), DATA, .help = "rows of a cube"},
    {"width", SIZE(SPEC(width)), DATA, .help = "columns of a cube"},
    {"channels", SIZE(SPEC(channels)), DATA, .help = "bands of a cube"},
    {"seed", WORD64(SPEC(seed)), DATA, .help = "0 to 2^64 - 1; 0"},
    {"preset", CHOICE(SPEC(preset), "scene cuvis"), DATA, .help = "scene or cuvis; scene"},
    {"format", CHOICE(AT(format), "envi npy"), DATA, .help = "envi or npy; envi"},
    {"interleave", CHOICE(AT(interleave), "bip bil bsq"), DATA,
     .help = "bip, bil or bsq; bip; npy: bip"},
    {"type", CHOICE(AT(type), "float32 uint16 int16"), DATA,
     .help = "float32, uint16 or int16; float32"},
    {"scale", REAL(AT(scale)), DATA,
     .help = "integers are the values times this; 2^bits, reflectance 10000, with preset cuvis to "
             "be said"},
    {"big-endian", SWITCH(AT(big_endian)), DATA, .help = "high bytes first in the file"},
    {"threads", SIZE(AT(threads)), .help = "that make and write, 1 to 1024; all processors"},
    {"level", CHOICE(SPEC(level), "auto baseline avx2 avx512"),
     .help = "instruction set: auto, baseline, avx2, avx512; the values are the same"},
    {"config", PATH(AT(config)),
     .help = "FILE with a section [synth] of these options; the nearest yieldpoint.ini"},
    {"preview", SWITCH(AT(preview)), .help = "PATH.png: false colour and truth of the first cube"},
    {"quiet", SWITCH(AT(quiet)), .help = "neither progress nor report"},
    {"force", SWITCH(AT(force)), .help = "replace files that are there"},
    {"help", SWITCH(AT(help)), .help = "this"},
    {.letter = 'h', .kind = YPI_OPTION_FLAG, .offset = AT(help)},

    {"quantity", CHOICE(AT(quantity), "radiance reflectance"), SCENE,
     .help = "radiance, as the sensor reads it, or reflectance: that less the path, over the "
             "transmission; radiance"},
    {"endmembers", SIZE(SPEC(endmembers)), SCENE, .help = "materials, 2 to 7; 6"},
    {"correlation-px", SIZE(SPEC(correlation_px)), SCENE,
     .help = "pixels over which neighbours look alike; 16"},
    {"first-nm", REAL(SPEC(first_nm)), SCENE, .help = "wavelength of the first channel; 400"},
    {"last-nm", REAL(SPEC(last_nm)), SCENE, .help = "wavelength of the last channel; 2500"},
    {"fwhm-nm", REAL_OR_OFF(SPEC(fwhm_nm)), SCENE,
     .help = "of a channel's response, at half its height; the channels' spacing; off: points"},
    {"sharpness", REAL(SPEC(sharpness)), SCENE, .help = "how pure the pixels are; 5"},
    {"variability", REAL_OR_OFF(SPEC(variability)), SCENE,
     .help = "of a material from place to place; 0.25"},
    {"shade", REAL_OR_OFF(SPEC(shade)), SCENE, .help = "deviation of the illumination; 0.2"},
    {"grain", REAL_OR_OFF(SPEC(grain)), SCENE,
     .help = "the same, finer: the ground's texture; 0.1"},
    {"grain-px", SIZE(SPEC(grain_px)), SCENE,
     .help = "pixels over which grain looks alike, 1 to 64; 1: every pixel for itself"},
    {"water", REAL_OR_OFF(SPEC(water)), SCENE,
     .help = "light that water vapour takes at most; 0.97"},
    {"path", REAL_OR_OFF(SPEC(path)), SCENE, .help = "light scattered on the way; 0.1"},
    {"snr-db", REAL_OR_OFF(SPEC(snr_db)), SCENE, .help = "signal over noise; 40"},
    {"prnu", REAL_OR_OFF(SPEC(prnu)), SCENE, .help = "deviation of the sensor's gain; 0.005"},
    {"dsnu", REAL_OR_OFF(SPEC(dsnu)), SCENE, .help = "deviation of the sensor's offset; 0.005"},
    {"bits", REAL_OR_OFF(SPEC(bits)), SCENE, .help = "of the sensor, 8 to 16; 16"},
    {"dead-fraction", REAL_OR_OFF(SPEC(dead_fraction)), SCENE,
     .help = "pixels without values (NaN); 0.0005"},
    {"dead-elements", REAL_OR_OFF(SPEC(dead_elements)), SCENE,
     .help = "of the sensor, by column and band: they read 0; off"},
    {"psf-px", REAL_OR_OFF(SPEC(psf_px)), SCENE,
     .help = "point spread of the optics, pixels at half its height; off"},
    {"smile-nm", REAL_OR_OFF(SPEC(smile_nm)), SCENE,
     .help = "by which channels are shifted at the image's left and right; off"},
    {"keystone-px", REAL_OR_OFF(SPEC(keystone_px)), SCENE,
     .help = "by which the last channel looks to the right of the first; off"},
    {"blank-bands", SWITCH(SPEC(blank_bands)), SCENE,
     .help = "bands in which water takes the light are blank"},
    {"target-fraction", REAL_OR_OFF(SPEC(target_fraction)), SCENE,
     .help = "part of the area that targets cover; 0.001"},
    {"target-shape", CHOICE(SPEC(target_shape), "pixel disc rectangle mixed"), SCENE,
     .help = "of a target: pixel, disc, rectangle or mixed; pixel"},
    {"target-px", REAL(SPEC(target_px)), SCENE,
     .help = "diameter or longer side of a target, 1 to 64; 3"},
    {"fill-low", REAL(SPEC(fill_low)), SCENE,
     .help = "least share of a pixel that a target fills; 0.05"},
    {"fill-high", REAL(SPEC(fill_high)), SCENE, .help = "greatest share; 1"},

    {"anomaly-ratio", REAL_OR_OFF(SPEC(anomaly_ratio)), .zero_is_off = true, CUVIS,
     .help = "pixels asked to be anomalous; 0.05; 0 is off too"},
    {"anomaly-strength", REAL(SPEC(anomaly_strength)), CUVIS,
     .help = "brightness of an anomaly; 3"},
    {"noise-std", REAL_OR_OFF(SPEC(noise_std)), CUVIS, .help = "noise, in hundreds; 0.1"},
    YPI_OPTIONS_END,
};

char *ypi_job_option_text(const struct ypi_job *job, const struct ypi_option *option)
{
    bool scene = job->spec.preset == SYNTH_SCENE;
    if (option->again == 0 ||
        (option->group != YPI_GENERAL && (option->group == YPI_SCENE_ONLY) != scene))
        return ypi_strdup("");
    return ypi_option_text(job, option);
}

/* The line states every option, flags with their value, and excludes any yieldpoint.ini of the
 * place where it will run. */
char *ypi_job_line(const struct ypi_job *job)
{
    struct ypi_text line = {0};
    ypi_text_add(&line, "yieldpoint synth");
    for (const struct ypi_option *o = ypi_synth_options; !ypi_option_is_end(o); o++) {
        char *text = ypi_job_option_text(job, o);
        if (text[0] != '\0') {
            ypi_text_add(&line, " --%s=", o->name);
            ypi_text_quoted(&line, text, false);
        }
        free(text);
    }
    ypi_text_add(&line, " --config=/dev/null");
    return ypi_text_take(&line);
}

void ypi_synth_help(void)
{
    static const char *const titles[] = {
        "", "\nPreset scene (X: a number, where it says so or off):\n", "\nPreset cuvis:\n"};
    puts("usage: yieldpoint synth --output PATH --height N --width N --channels N [options]\n\n"
         "Makes synthetic hyperspectral cubes and stores them with their truth: labels, fill,\n"
         "abundances, valid pixels, spectra, wavelengths, transmission, path, noise, gains and\n"
         "offsets, and PATH.json, which tells how to make them again. After each option what it "
         "is, and its default.\n");
    ypi_options_print(ypi_synth_options, titles);
    puts("\nExit codes: 0 all right, 3 a file cannot be read or written, 4 wrong command line or "
         "ini\n"
         "file, 130 or 143 interrupted by SIGINT or SIGTERM.");
}
