/* What the parts of `yieldpoint synth` share. */
#ifndef YIELDPOINT_SYNTH_COMMAND_INTERNAL_H
#define YIELDPOINT_SYNTH_COMMAND_INTERNAL_H

#include "base/option.h"
#include "synth/cube/internal.h"
#include "synth/scene/scene.h"

#include <stdio.h>

enum { YPI_SYNTH_OK = 0, YPI_SYNTH_FILE = 3, YPI_SYNTH_USAGE = 4 };

/* ---- what to do ---- */

struct ypi_job {
    struct synth_spec spec;
    size_t cubes, threads;
    int format, interleave, type; /* enums of cube_file.h */
    double scale;                 /* 0: by the type and the bits */
    bool big_endian, preview, quiet, force, help;
    char *output, *config; /* owned */
    char *base;            /* output without its ending; owned */
    const char *ending;    /* of raw files: ".img" or what output had; ".npy" */
};

enum { YPI_GENERAL, YPI_SCENE_ONLY, YPI_CUVIS_ONLY }; /* groups of options */

extern const struct ypi_option ypi_synth_options[]; /* of struct ypi_job */

void ypi_synth_help(void);
/* The value of an option that the data depend on, "" where it need not be said. Owned by the
 * caller. */
char *ypi_job_option_text(const struct ypi_job *job, const struct ypi_option *option);
/* The command that makes the same data again. Owned by the caller. */
char *ypi_job_line(const struct ypi_job *job);

/* The whole command line and the ini file. An exit code; told on the standard error stream. */
int ypi_job_read(struct ypi_job *job, int argc, char **argv);
void ypi_job_free(struct ypi_job *job);

/* ---- files ---- */

enum ypi_plane {
    YPI_LABELS,
    YPI_FILL,
    YPI_ABUNDANCES,
    YPI_VALID,
    YPI_VALUES, /* committed last */
    YPI_PLANES,
};

struct ypi_outputs {
    const struct ypi_job *job;
    const struct synth_scene *scene;
    const struct synth_spec *spec; /* resolved */
    size_t bands[3];               /* red, green, blue */
    bool bands_by_wavelength;
    float *fwhm; /* (channels), nm: as far apart as the channels are; NULL: no wavelengths */
};

struct ypi_cube_outputs {
    struct synth_cube_writer *planes[YPI_PLANES]; /* NULL: this scene has none */
};

enum yp_status ypi_outputs_init(struct ypi_outputs *outputs, const struct ypi_job *job,
                                const struct synth_scene *scene);
void ypi_outputs_free(struct ypi_outputs *outputs);
size_t ypi_plane_channels(const struct ypi_outputs *outputs, enum ypi_plane plane);
/* The name of a file of a cube (npy: of all), "" where there is none. */
void ypi_plane_path(const struct ypi_outputs *outputs, size_t cube, enum ypi_plane plane,
                    char out[YPI_PATH_MAX]);
/* Of integers: what values are multiplied by, and what stands for no data. */
void ypi_outputs_codes(const struct ypi_outputs *outputs, double *scale, double *ignore);
/* Base + suffix. */
void ypi_job_path(const struct ypi_job *job, const char *suffix, char out[YPI_PATH_MAX]);
/* All that will be written; refuses what is there already, and a disk that is too small. */
enum yp_status ypi_outputs_check(const struct ypi_outputs *outputs, uint64_t *bytes);
/* Begins one cube (npy: all); on an error there is none. */
enum yp_status ypi_cube_begin(const struct ypi_outputs *outputs, size_t cube,
                              struct ypi_cube_outputs *out);
/* Ends it: all of its files are there then, or none of them. Adds the clipped values. */
enum yp_status ypi_cube_end(struct ypi_cube_outputs *out, uint64_t *clipped);
void ypi_cube_abandon(struct ypi_cube_outputs *out);

/* ---- the picture ---- */

struct ypi_preview;

/* Of one cube; at most 1024 pixels high and wide, from every n-th. NULL with yp_last_error(). */
struct ypi_preview *ypi_preview_create(const struct ypi_outputs *outputs);
void ypi_preview_destroy(struct ypi_preview *preview);
/* Pixels in any order and from any thread. */
void ypi_preview_put(struct ypi_preview *preview, size_t first_pixel, size_t pixels,
                     const float *values, const struct synth_truth *truth);
enum yp_status ypi_preview_write(const struct ypi_preview *preview, const char *path, bool replace);

/* ---- running ---- */

struct ypi_made {
    double seconds;
    uint64_t values, bytes, clipped;
    size_t cubes; /* that are whole */
};

/* Makes and stores all cubes. YP_OK also when a signal ended it: *signal is its number then. */
enum yp_status ypi_synth_run(const struct ypi_outputs *outputs, uint64_t bytes,
                             struct ypi_preview *preview, struct ypi_made *made, int *signal);

/* Progress on the standard error stream: a bar on a terminal, else a line at times. */
struct ypi_progress {
    bool quiet, terminal;
    double began, told;
};
double ypi_synth_clock(void);
void ypi_progress_begin(struct ypi_progress *progress, bool quiet);
void ypi_progress_tell(struct ypi_progress *progress, double share, double values, double bytes);
void ypi_progress_end(struct ypi_progress *progress);
void ypi_tell_made(const struct ypi_outputs *outputs, const struct ypi_made *made);

/* Spectra, wavelengths and the description of the whole, which comes last. */
enum yp_status ypi_sidecars_write(const struct ypi_outputs *outputs, const struct ypi_made *made);

/* A small file that is there whole or not at all; without `replace` YP_IO when its name is taken.
 */
enum yp_status ypi_write_whole(const char *path, const void *head, size_t head_size,
                               const void *data, size_t size, bool replace);

#endif
