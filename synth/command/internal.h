/* Shared by the files of `yieldpoint synth` and `yieldpoint plays`. */
#pragma once

#include "base/options/option.h"
#include "synth/cube/internal.h"
#include "synth/scene/scene.h"

#include <pthread.h>
#include <stdio.h>

enum { YPI_SYNTH_OK = 0, YPI_SYNTH_FILE = 3, YPI_SYNTH_USAGE = 4 };

/* ---- options ---- */

struct ypi_job {
    struct synth_spec spec;
    size_t cubes, threads;
    int format, interleave, type; /* enums of cube.h */
    int quantity;                 /* enum ypi_quantity */
    double scale;                 /* of integers; 0: derived from the type and the bits */
    bool big_endian, preview, quiet, force, help;
    char *output, *config; /* owned */
    char *base;            /* output without its ending; owned */
    const char *ending;    /* of raw files: that of output or ".img"; or ".npy" */
};

/* What the values of preset scene are: the sensor's reading y, or (y - path) / tau. */
enum ypi_quantity { YPI_RADIANCE = 0, YPI_REFLECTANCE };

enum { YPI_GENERAL, YPI_SCENE_ONLY, YPI_CUVIS_ONLY }; /* groups of options */

extern const struct ypi_option ypi_synth_options[]; /* of struct ypi_job */

void ypi_synth_help(void);
/* The value of an option as text; "" when the data do not depend on it. The caller frees. */
char *ypi_job_option_text(const struct ypi_job *job, const struct ypi_option *option);
/* The command line that makes the same data again. The caller frees. */
char *ypi_job_line(const struct ypi_job *job);

/* Reads the command line and the ini file. Returns an exit code; errors are printed on the standard
 * error stream. ypi_job_free() is due in any case. */
int ypi_synth_job_read(struct ypi_job *job, int argc, char **argv);
void ypi_job_free(struct ypi_job *job);

/* Reads options, among them "help" and "config": those of the section `command` of an ini file, and
 * over them those of the command line. `given` is a second structure of zeros, which is used up.
 * Returns an exit code; errors are printed on the standard error stream. */
int ypi_command_read(const char *command, const struct ypi_option *options, void *given,
                     void *values, int argc, char **argv);
/* Prints what is wrong with a command line; YPI_SYNTH_USAGE. */
int ypi_command_refuse(const char *command, const char *what);
/* Prints the last error, which may be of a field: "synth_spec.snr_db is" becomes "--snr-db is".
 * Returns the exit code. */
int ypi_report_error(enum yp_status status);

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
    float *fwhm; /* (channels), nm: of the channels' responses; NULL: they have none */
    /* Of bands.c, (channels) each, in the block of name_list. */
    float *transmission, *path;
    char (*names)[32];
    const char **name_list;
};

struct ypi_cube_outputs {
    struct synth_cube_writer *planes[YPI_PLANES]; /* NULL: the scene has no such plane */
};

enum yp_status ypi_outputs_init(struct ypi_outputs *outputs, const struct ypi_job *job,
                                const struct synth_scene *scene);
void ypi_outputs_free(struct ypi_outputs *outputs);
size_t ypi_plane_channels(const struct ypi_outputs *outputs, enum ypi_plane plane);
/* The path of a plane of a cube (.npy: of all cubes), "" where there is none. */
void ypi_plane_path(const struct ypi_outputs *outputs, size_t cube, enum ypi_plane plane,
                    char out[YPI_PATH_MAX]);
/* For integer types: the factor of the values, and the code for no data. */
void ypi_outputs_codes(const struct ypi_outputs *outputs, double *scale, double *ignore);
/* out = job->base + suffix. */
void ypi_job_path(const struct ypi_job *job, const char *suffix, char out[YPI_PATH_MAX]);
/* Counts the bytes of all files. YP_IO when one of them exists, unless the job says `force`, or
 * the disk has too little space. */
enum yp_status ypi_outputs_check(const struct ypi_outputs *outputs, uint64_t *bytes);
/* Begins the files of one cube (.npy: of all); on an error none is left. */
enum yp_status ypi_cube_begin(const struct ypi_outputs *outputs, size_t cube,
                              struct ypi_cube_outputs *out);
/* Ends it: then either all of its files exist or none. Adds the number of clipped values. */
enum yp_status ypi_cube_end(struct ypi_cube_outputs *out, uint64_t *clipped);
void ypi_cube_abandon(struct ypi_cube_outputs *out);

/* ---- bands ---- */

enum yp_status ypi_bands_init(struct ypi_outputs *outputs);
void ypi_bands_free(struct ypi_outputs *outputs);
/* Whether a band's values are 0 throughout: a blank one, or one that has too little light to be
 * inverted. */
bool ypi_band_is_empty(const struct ypi_outputs *outputs, size_t band);
/* Turns readings of the sensor, (pixels, channels), into the job's quantity, in place. */
void ypi_to_quantity(const struct ypi_outputs *outputs, size_t pixels, float *values);
/* Spectrum k of the scene, (channels), as a lit pixel full of it has it without noise: of the
 * ground, or tau e + path. */
void ypi_spectrum_in_quantity(const struct ypi_outputs *outputs, size_t k, float *values);
/* Variance of the noise, (channels), in the job's quantity at the mean of the endmembers; 0 in an
 * empty band. */
void ypi_noise_by_band(const struct ypi_outputs *outputs, float *variance);
const char *ypi_quantity_text(const struct ypi_outputs *outputs);
const char *ypi_quantity_units(const struct ypi_outputs *outputs); /* NULL: none */
const char *const *ypi_plane_names(const struct ypi_outputs *outputs, enum ypi_plane plane);
/* Classes of the labels. */
void ypi_name_classes(const struct ypi_outputs *outputs, struct synth_cube_info *info);

/* ---- preview ---- */

struct ypi_preview;

/* A preview of the first cube, at most 1024 pixels high and wide, of every n-th pixel. NULL with
 * yp_last_error(). */
struct ypi_preview *ypi_preview_create(const struct ypi_outputs *outputs);
void ypi_preview_destroy(struct ypi_preview *preview);
/* Adds pixels, in any order and from any thread. */
void ypi_preview_put(struct ypi_preview *preview, size_t first_pixel, size_t pixels,
                     const float *values, const struct synth_truth *truth);
enum yp_status ypi_preview_write(const struct ypi_preview *preview, const char *path, bool replace);

/* ---- running ---- */

struct ypi_made {
    double seconds;
    uint64_t values, bytes, clipped;
    size_t cubes; /* that are complete */
};

/* Threads that work on one thing. All fields, and what the work shares, belong to who has the lock.
 */
struct ypi_crew {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t running;
    bool stop; /* after an error or a signal: the work ends soon */
    enum yp_status status;
    char error[512];
    void (*work)(void *arg);
    void *arg;
};
/* YP_INVALID: --threads is more than a process should start. */
enum yp_status ypi_crew_check(size_t threads);
/* Runs the work in so many threads and meanwhile `show` every now and then. The first error of
 * ypi_crew_fail(); YP_OK also when a signal ended it. */
enum yp_status ypi_crew_run(struct ypi_crew *crew, size_t threads, void (*work)(void *arg),
                            void (*show)(void *arg), void *arg);
/* The lock is held. Of several errors the first is kept. */
void ypi_crew_fail(struct ypi_crew *crew, enum yp_status status);
/* From then on SIGINT and SIGTERM are caught, once each, and writing beyond the limit of a file's
 * size is an error like others, up to the end. */
void ypi_signals_begin(void);
void ypi_signals_end(void);
int ypi_signal_caught(void); /* 0: none */

/* Generates and stores all cubes. YP_OK also when a signal ended it. */
enum yp_status ypi_synth_run(const struct ypi_outputs *outputs, uint64_t bytes,
                             struct ypi_preview *preview, struct ypi_made *made);

/* Progress on the standard error stream: a bar on a terminal, else a line every few seconds. */
struct ypi_progress {
    const char *command, *unit;
    bool quiet, terminal;
    double started, shown;
};
void ypi_progress_begin(struct ypi_progress *progress, const char *command, const char *unit,
                        bool quiet);
void ypi_progress_show(struct ypi_progress *progress, double share, double values, double bytes);
void ypi_progress_end(struct ypi_progress *progress);
void ypi_report_made(const struct ypi_outputs *outputs, const struct ypi_made *made);

/* The suffixes of what is stored beside the cubes, the description apart: the first `count` of
 * them. */
const char *const *ypi_sidecar_suffixes(const struct ypi_outputs *outputs, size_t *count);
/* Their bytes, without headers. */
uint64_t ypi_sidecar_bytes(const struct ypi_outputs *outputs);
/* Writes spectra, wavelengths, what the sensor did, and then the description of the run. */
enum yp_status ypi_sidecars_write(const struct ypi_outputs *outputs, const struct ypi_made *made);

/* Writes a small file atomically; without `replace` YP_IO when its name is taken. */
enum yp_status ypi_write_whole(const char *path, const void *head, size_t head_size,
                               const void *data, size_t size, bool replace);
