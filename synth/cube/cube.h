/* Cubes in files: ENVI (a header and a raw file) and .npy, read in any window and written whole.
 *
 * The caller's values are float32, pixels x channels (BIP), pixels in row-major order, whatever the
 * file holds. Nothing is mapped into memory, and only the requested values are read, except that a
 * BIP file may be read in whole pixels when only some bands are wanted. Functions that take a file
 * or a writer may be called from several threads at once unless stated otherwise; they use less
 * than 320 KiB of stack.
 *
 * ENVI: https://www.nv5geospatialsoftware.com/docs/ENVIHeaderFiles.html .npy:
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

enum synth_format { SYNTH_ENVI = 0, SYNTH_NPY = 1 };

/* The order of values in a file. A .npy in C order is BIP; one in Fortran order is none of these
 * and is reported as BSQ. */
enum synth_interleave { SYNTH_BIP = 0, SYNTH_BIL = 1, SYNTH_BSQ = 2 };

/* Types of stored values, with ENVI's number of each. All are read; F32, U16, I16 and U8 are
 * written. */
enum synth_type {
    SYNTH_F32 = 0, /* 4 */
    SYNTH_U16,     /* 12 */
    SYNTH_I16,     /* 2 */
    SYNTH_U8,      /* 1; in .npy also bool */
    SYNTH_F64,     /* 5; a value beyond a float's range becomes an infinity */
    SYNTH_I32,     /* 3 */
    SYNTH_U32,     /* 13 */
    SYNTH_I64,     /* 14 */
    SYNTH_U64,     /* 15 */
    SYNTH_I8,      /* .npy only */
    SYNTH_TYPES,
};

/* The contents of a file and its metadata. Zero or NULL: not known.
 *
 * A .npy has 2 to 4 axes: (pixels, channels), which is a cube of one column; (height, width,
 * channels); (cubes, height, width, channels). It has none of the fields after `offset`. */
struct synth_cube_info {
    enum synth_format format;
    enum synth_type type;
    enum synth_interleave interleave;
    bool big_endian;
    bool scale_is_gain; /* false: the scale is the reflectance scale factor; true: the data gain
                           values are 1 / scale in every band */
    bool has_ignore;    /* whether there is a data ignore value and the type can hold it */
    size_t cubes;       /* 1 with ENVI; 0 means 1 for a writer */
    size_t height, width, channels;
    uint64_t offset; /* bytes before the first value; must be 0 for a writer */

    double scale;                  /* value = stored value / scale */
    const double *gains, *offsets; /* (channels): value = stored value * gain + offset, where bands
                                      differ or have offsets; else, and for a writer, both NULL */
    const char *units;             /* data units; for a writer without braces and line ends */
    double ignore;                 /* data ignore value: the stored value that means no data, maybe
                                      rounded; may be a NaN */
    const float *wavelengths;      /* (channels), nm; NULL where their unit is not one of length */
    const float *fwhm;             /* (channels), nm */
    const uint8_t *good_bands;     /* bbl, (channels): 0 for a bad band, else 1 */
    const char *const *band_names; /* (channels); for a writer without commas and braces */
    const char *description;       /* for a writer without braces */
    size_t default_bands[3];       /* red, green, blue, or one grey band, counted from 0 */
    size_t default_band_count;     /* 0, 1 or 3 */
    /* An ENVI Classification: its one band holds numbers of classes; for a writer uint8, with names
     * and colours of at most 256 classes. */
    size_t classes;                 /* 0: none */
    const char *const *class_names; /* (classes); for a writer without commas and braces */
    const uint8_t *class_lookup;    /* (classes, 3): red, green, blue */
};

/* ---- reading ---- */

/* Whether values are divided by the scale, or times the gains plus the offsets, where there are
 * such. */
enum synth_scaling { SYNTH_AS_STORED = 0, SYNTH_SCALED = 1 };

struct synth_cube_file;

/* Opens a .npy, or an ENVI cube by its raw file, its header NAME.hdr, or NAME. The first bytes
 * decide which of the two it is. A raw file NAME.ENDING has its header in NAME.ENDING.hdr or
 * NAME.hdr. Of NAME and all NAME.ENDING a header's raw file is the one that is exactly as long as
 * the header says; of several those with the usual endings (none, .img, .dat, .raw, .bsq, .bil,
 * .bip, .bin, .hyspex) count, then the one whose ending is the interleave. Where that leaves more
 * than one the raw file must be named.
 *
 * Headers are parsed leniently: keys in any case and order, with blanks or underscores; any end of
 * line; comments; lists over several lines, also with a comma at the end; unknown keys. An empty
 * value or list is as if the key were missing, but for sizes, data type and interleave. Of a key
 * that only describes the cube and is there twice the last counts; another with two values is
 * refused. Missing keys: interleave is BSQ, byte order little, header offset 0; wavelengths without
 * a unit are micrometres when all are below 100, else nanometres. Names or colours of classes whose
 * number is not that of the classes are ignored.
 *
 * The data ignore value stands for itself and for all that it may be rounded from: where it is no
 * float (with floats) or in steps above 1 (with integers), has 6 digits or more, and differs by
 * half a unit of its last digit at most. Fewer digits are enough at the end of a float's range:
 * -3.4e+38.
 *
 * Data gain and offset values are applied, value = stored value * gain + offset, unless there is a
 * reflectance scale factor, which divides, or they are no lists of one number for each band:
 * synth_cube_note() says so then. Values are floats between loading and gain.
 *
 * The file occupies one block of `device`'s memory (two while opening): at most twice the header's
 * size, the path (up to 4 KiB), 1 KiB, and for each channel 4 bytes of wavelengths, 4 of fwhm, 5 of
 * bbl, 8 of band names and 16 of gains or offsets, for each class 8 of names and 15 of colours, of
 * those that the header has. Close it with synth_cube_close(). NULL with yp_last_error() set: the
 * file, the line, what it says and what is allowed. */
struct synth_cube_file *synth_cube_open(struct yp_device *device, const char *path,
                                        enum synth_scaling scaling);

/* NULL is allowed. No other thread may still use the file. */
void synth_cube_close(struct synth_cube_file *file);

/* Owned by the file. */
const struct synth_cube_info *synth_cube_info(const struct synth_cube_file *file);

/* Why gains and offsets that the header has are not applied, a sentence; NULL: they are, or there
 * are none. */
const char *synth_cube_note(const struct synth_cube_file *file);

/* Reads pixels first_pixel .. first_pixel + pixels - 1 of cube `cube`; values: pixels x channels,
 * the caller's. Where the file has the data ignore value there is NaN. YP_INVALID when the file has
 * no such pixels, and nothing is written; YP_IO when the file cannot be read or has become shorter.
 */
enum yp_status synth_cube_read(const struct synth_cube_file *file, uint64_t cube,
                               size_t first_pixel, size_t pixels, float *values);

struct synth_window {
    size_t row, rows, column, columns, band, bands;
};

/* The same for a block of rows x columns x bands; values: (rows, columns, bands). */
enum yp_status synth_cube_read_window(const struct synth_cube_file *file, uint64_t cube,
                                      const struct synth_window *window, float *values);

/* ---- writing ---- */

struct synth_cube_writer;

/* Bytes of all files of such a cube, with headers; 0 with yp_last_error() set when `info` is not
 * allowed. */
uint64_t synth_cube_bytes(const struct synth_cube_info *info);

enum synth_existing { SYNTH_REFUSE = 0, SYNTH_REPLACE = 1 };

/* Begins a cube, or with .npy `info->cubes` of them. ENVI: `path` is the raw file's name; an ending
 * .img, .dat, .raw, .bsq, .bil, .bip, .bin, .hyspex or .hdr is replaced for the header, and the raw
 * file of .hdr gets .img. Either byte order; .npy: C order, BIP.
 *
 * The final names do not exist before synth_cube_commit(): until then the file has no name or,
 * where the file system does not support that, one that ends in ".part". NULL with yp_last_error()
 * set: an argument (YP_INVALID), a name that is taken, no directory, no right to write, or less
 * space on the file system than the cube needs, with both figures.
 *
 * Allocates one block of `device`'s memory: below 20 KiB and the header's text. */
struct synth_cube_writer *synth_cube_create(struct yp_device *device, const char *path,
                                            const struct synth_cube_info *info,
                                            enum synth_existing existing);

/* Stores pixels, in any order and from any thread, each once. Integers: value times scale (0: 1),
 * rounded to the nearest and clipped to the type's range, without the data ignore value where that
 * is an end of the range. A NaN becomes the data ignore value, or 0 where there is none. A data
 * ignore value inside the range is not avoided: a value that is stored as the same integer is read
 * back as NaN. YP_IO: the system's reason; then the cube can only be abandoned. */
enum yp_status synth_cube_write(struct synth_cube_writer *writer, uint64_t cube, size_t first_pixel,
                                size_t pixels, const float *values);

/* The number of values clipped so far. */
uint64_t synth_cube_clipped(const struct synth_cube_writer *writer);

/* Syncs the files to the disk and gives them their names, the header last. Frees the writer, also
 * on an error, which leaves no file of it. YP_INVALID when pixels are missing; YP_IO when with
 * SYNTH_REFUSE one of the names has been taken in the meantime; that file stays as it is. One
 * thread only. */
enum yp_status synth_cube_commit(struct synth_cube_writer *writer);

/* The same for several cubes: all get their names, in this order, or none does. Far faster than one
 * after the other. */
enum yp_status synth_cube_commit_all(struct synth_cube_writer *const *writers, size_t count);

/* Leaves no file; NULL is allowed. One thread only. */
void synth_cube_abandon(struct synth_cube_writer *writer);
