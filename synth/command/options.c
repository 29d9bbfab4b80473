/* The options: one table for the command line, the ini file, the help and the line that makes the
 * data again. */
#include "synth/command/internal.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct ypi_job, field)
#define SPEC(field) offsetof(struct ypi_job, spec.field)
#define SCENE_REAL(name, field, off, help) \
    { \
        name, YPI_REAL, SPEC(field), NULL, off, true, YPI_SCENE_ONLY, help \
    }
#define CUVIS_REAL(name, field, off, help) \
    { \
        name, YPI_REAL, SPEC(field), NULL, off, true, YPI_CUVIS_ONLY, help \
    }

const struct ypi_option ypi_synth_options[] = {
    {"output", YPI_TEXT, AT(output), NULL, false, true, YPI_GENERAL,
     "PATH; its ending is replaced where the format has another"},
    {"cubes", YPI_SIZE, AT(cubes), NULL, false, true, YPI_GENERAL,
     "how many: PATH_0000 and so on, or one .npy of four axes; 1"},
    {"height", YPI_SIZE, SPEC(height), NULL, false, true, YPI_GENERAL, "rows of a cube"},
    {"width", YPI_SIZE, SPEC(width), NULL, false, true, YPI_GENERAL, "columns of a cube"},
    {"channels", YPI_SIZE, SPEC(channels), NULL, false, true, YPI_GENERAL, "bands of a cube"},
    {"seed", YPI_WORD64, SPEC(seed), NULL, false, true, YPI_GENERAL, "0 to 2^64 - 1; 0"},
    {"preset", YPI_CHOICE, SPEC(preset), "scene cuvis", false, true, YPI_GENERAL,
     "scene or cuvis; scene"},
    {"format", YPI_CHOICE, AT(format), "envi npy", false, true, YPI_GENERAL, "envi or npy; envi"},
    {"interleave", YPI_CHOICE, AT(interleave), "bip bil bsq", false, true, YPI_GENERAL,
     "bip, bil or bsq; bip; npy: bip"},
    {"type", YPI_CHOICE, AT(type), "float32 uint16 int16", false, true, YPI_GENERAL,
     "float32, uint16 or int16; float32"},
    {"scale", YPI_REAL, AT(scale), NULL, false, true, YPI_GENERAL,
     "integers are the values times this; 2^bits, with preset cuvis to be said"},
    {"big-endian", YPI_FLAG, AT(big_endian), NULL, false, true, YPI_GENERAL,
     "high bytes first in the file"},
    {"threads", YPI_SIZE, AT(threads), NULL, false, false, YPI_GENERAL,
     "that make and write; all processors"},
    {"level", YPI_CHOICE, SPEC(level), "auto baseline avx2 avx512", false, false, YPI_GENERAL,
     "instruction set: auto, baseline, avx2, avx512; the values are the same"},
    {"config", YPI_TEXT, AT(config), NULL, false, false, YPI_GENERAL,
     "FILE with a section [synth] of these options; the nearest yieldpoint.ini"},
    {"preview", YPI_FLAG, AT(preview), NULL, false, false, YPI_GENERAL,
     "PATH.png: false colour and truth of the first cube"},
    {"quiet", YPI_FLAG, AT(quiet), NULL, false, false, YPI_GENERAL, "neither progress nor report"},
    {"force", YPI_FLAG, AT(force), NULL, false, false, YPI_GENERAL, "replace files that are there"},
    {"help", YPI_FLAG, AT(help), NULL, false, false, YPI_GENERAL, "this"},

    {"endmembers", YPI_SIZE, SPEC(endmembers), NULL, false, true, YPI_SCENE_ONLY,
     "materials, 2 to 7; 6"},
    {"correlation-px", YPI_SIZE, SPEC(correlation_px), NULL, false, true, YPI_SCENE_ONLY,
     "pixels over which neighbours look alike; 16"},
    SCENE_REAL("first-nm", first_nm, false, "wavelength of the first channel; 400"),
    SCENE_REAL("last-nm", last_nm, false, "wavelength of the last channel; 2500"),
    SCENE_REAL("sharpness", sharpness, false, "how pure the pixels are; 5"),
    SCENE_REAL("variability", variability, true, "of a material from place to place; 0.25"),
    SCENE_REAL("shade", shade, true, "deviation of the illumination; 0.2"),
    SCENE_REAL("grain", grain, true, "the same, in every pixel for itself; 0.1"),
    SCENE_REAL("water", water, true, "light that water vapour takes at most; 0.97"),
    SCENE_REAL("path", path, true, "light scattered on the way; 0.1"),
    SCENE_REAL("snr-db", snr_db, true, "signal over noise; 40"),
    SCENE_REAL("prnu", prnu, true, "deviation of the sensor's gain; 0.005"),
    SCENE_REAL("dsnu", dsnu, true, "deviation of the sensor's offset; 0.005"),
    SCENE_REAL("bits", bits, true, "of the sensor, 8 to 16; 16"),
    SCENE_REAL("dead-fraction", dead_fraction, true, "pixels without values (NaN); 0.0005"),
    {"blank-bands", YPI_FLAG, SPEC(blank_bands), NULL, false, true, YPI_SCENE_ONLY,
     "bands in which water takes the light are blank"},
    SCENE_REAL("target-fraction", target_fraction, true, "pixels with a target; 0.001"),
    SCENE_REAL("fill-low", fill_low, false, "least share of a pixel that a target fills; 0.05"),
    SCENE_REAL("fill-high", fill_high, false, "greatest share; 1"),

    CUVIS_REAL("anomaly-ratio", anomaly_ratio, false, "pixels asked to be anomalous; 0.05"),
    CUVIS_REAL("anomaly-strength", anomaly_strength, false, "brightness of an anomaly; 3"),
    CUVIS_REAL("noise-std", noise_std, true, "noise, in hundreds; 0.1"),
    {0},
};

const struct ypi_option *ypi_option_find(const char *name, size_t length)
{
    for (const struct ypi_option *o = ypi_synth_options; o->name != NULL; o++) {
        size_t i = 0;
        while (i < length && o->name[i] != '\0' &&
               (name[i] == o->name[i] || (name[i] == '_' && o->name[i] == '-')))
            i++;
        if (i == length && o->name[i] == '\0')
            return o;
    }
    return NULL;
}

static bool set_choice(int *value, const char *choices, const char *text)
{
    const char *word = NULL;
    size_t length = 0;
    for (int i = 0; ypi_next_word(&choices, &word, &length); i++)
        if (strlen(text) == length && strncmp(text, word, length) == 0) {
            *value = i;
            return true;
        }
    return false;
}

/* 0 would mean the default there, and what is meant by it is to have none. */
static char *set_real(double *value, const struct ypi_option *option, const char *text)
{
    if (option->may_be_off && strcmp(text, "off") == 0) {
        *value = SYNTH_OFF;
        return NULL;
    }
    double read = 0;
    if (ypi_parse_double(text, &read) && read > 0 && !isinf(read)) {
        *value = read;
        return NULL;
    }
    return ypi_format("a number above 0%s", option->may_be_off ? ", or off" : "");
}

static char *set_whole(void *at, bool is_size, const char *text)
{
    uint64_t read = 0;
    if (!ypi_parse_u64(text, &read) || (is_size && read == 0))
        return ypi_format("a whole number%s", is_size ? " of 1 at least" : "");
    if (is_size)
        *(size_t *)at = (size_t)read;
    else
        *(uint64_t *)at = read;
    return NULL;
}

static char *set_flag(bool *value, const char *text)
{
    static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false",
                                                                                "off", "0"};
    for (int i = 0; i < 4; i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *value = strcmp(text, yes[i]) == 0;
            return NULL;
        }
    return ypi_format("yes or no");
}

char *ypi_option_set(struct ypi_job *job, const struct ypi_option *option, const char *text)
{
    void *at = (char *)job + option->offset;
    char **owned = at;
    switch (option->kind) {
    case YPI_SIZE:
    case YPI_WORD64:
        return set_whole(at, option->kind == YPI_SIZE, text);
    case YPI_REAL:
        return set_real(at, option, text);
    case YPI_CHOICE:
        return set_choice(at, option->choices, text) ? NULL
                                                     : ypi_format("one of: %s", option->choices);
    case YPI_FLAG:
        return set_flag(at, text);
    case YPI_TEXT:
        break;
    }
    if (text[0] == '\0')
        return ypi_format("a path");
    free(*owned);
    *owned = ypi_strdup(text);
    return NULL;
}

static char *choice_text(const char *choices, int index)
{
    const char *word = NULL;
    size_t length = 0;
    for (int i = 0; i <= index; i++)
        ypi_next_word(&choices, &word, &length);
    return ypi_format("%.*s", (int)length, word);
}

char *ypi_option_text(const struct ypi_job *job, const struct ypi_option *option)
{
    const void *at = (const char *)job + option->offset;
    bool scene = job->spec.preset == SYNTH_SCENE;
    char number[32];
    if (option->group != YPI_GENERAL && (option->group == YPI_SCENE_ONLY) != scene)
        return ypi_strdup("");
    switch (option->kind) {
    case YPI_SIZE:
        return *(const size_t *)at > 0 ? ypi_format("%zu", *(const size_t *)at) : ypi_strdup("");
    case YPI_WORD64:
        return ypi_format("%llu", (unsigned long long)*(const uint64_t *)at);
    case YPI_REAL:
        if (*(const double *)at == SYNTH_OFF || (*(const double *)at == 0 && option->may_be_off))
            return ypi_strdup("off");
        if (*(const double *)at == 0)
            return ypi_strdup("");
        ypi_print_double(number, *(const double *)at);
        return ypi_strdup(number);
    case YPI_CHOICE:
        return choice_text(option->choices, *(const int *)at);
    case YPI_FLAG:
        return ypi_strdup(*(const bool *)at ? "yes" : "no");
    case YPI_TEXT:
        return ypi_strdup(*(char *const *)at != NULL ? *(char *const *)at : "");
    }
    return ypi_strdup("");
}

/* As a shell takes it: plain, or between quotes. */
static void add_quoted(struct ypi_text *line, const char *text)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:=@%";
    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        ypi_text_add(line, "%s", text);
        return;
    }
    ypi_text_add(line, "'");
    for (; *text != '\0'; text++)
        if (*text == '\'')
            ypi_text_add(line, "'\\''");
        else
            ypi_text_bytes(line, text, 1);
    ypi_text_add(line, "'");
}

/* All is said, flags with their value; and no yieldpoint.ini that happens to be about has a say in
 * what is not. */
char *ypi_job_line(const struct ypi_job *job)
{
    struct ypi_text line = {0};
    ypi_text_add(&line, "yieldpoint synth");
    for (const struct ypi_option *o = ypi_synth_options; o->name != NULL; o++) {
        char *text = o->remakes ? ypi_option_text(job, o) : ypi_strdup("");
        if (text[0] != '\0') {
            ypi_text_add(&line, " --%s=", o->name);
            add_quoted(&line, text);
        }
        free(text);
    }
    ypi_text_add(&line, " --config=/dev/null");
    return ypi_text_take(&line);
}

static const char *placeholder(const struct ypi_option *o)
{
    static const char *const words[] = {
        [YPI_SIZE] = "N",      [YPI_WORD64] = "N", [YPI_REAL] = "X",
        [YPI_CHOICE] = "WORD", [YPI_FLAG] = "",    [YPI_TEXT] = "PATH"};
    return words[o->kind];
}

void ypi_synth_help(void)
{
    static const char *const titles[] = {
        "", "\nPreset scene (X: a number, where it says so or off):\n", "\nPreset cuvis:\n"};
    int group = -1;
    puts("usage: yieldpoint synth --output PATH --height N --width N --channels N [options]\n\n"
         "Makes synthetic hyperspectral cubes and stores them with their truth: labels, fill,\n"
         "abundances, valid pixels, spectra, wavelengths, and PATH.json, which tells how to make\n"
         "them again. After each option what it is, and its default.\n");
    for (const struct ypi_option *o = ypi_synth_options; o->name != NULL; o++) {
        char head[64];
        if ((int)o->group != group)
            fputs(titles[group = (int)o->group], stdout);
        snprintf(head, sizeof head, "--%s %s%s", o->name, placeholder(o),
                 o->may_be_off ? "|off" : "");
        printf("  %-26s %s\n", head, o->help);
    }
    puts("\nExit codes: 0 all right, 3 a file cannot be read or written, 4 wrong command line or "
         "ini\n"
         "file, 130 or 143 interrupted by SIGINT or SIGTERM.");
}
