/* The text of an ENVI header, parsed into the known keys. */
#pragma once

#include "synth/cube/cube.h"

enum ypi_envi_key {
    YPI_SAMPLES,
    YPI_LINES,
    YPI_BANDS,
    YPI_HEADER_OFFSET,
    YPI_DATA_TYPE,
    YPI_INTERLEAVE,
    YPI_BYTE_ORDER,
    YPI_COMPRESSION,
    YPI_MAJOR_FRAME,
    YPI_MINOR_FRAME,
    YPI_WAVELENGTH,
    YPI_WAVELENGTH_UNITS,
    YPI_FWHM,
    YPI_BBL,
    YPI_BAND_NAMES,
    YPI_DESCRIPTION,
    YPI_IGNORE,
    YPI_SCALE,
    YPI_DEFAULT_BANDS,
    YPI_GAINS,
    YPI_OFFSETS,
    YPI_UNITS,
    YPI_CLASSES,
    YPI_CLASS_NAMES,
    YPI_CLASS_LOOKUP,
    YPI_ENVI_KEYS,
};

struct ypi_envi_text {
    const char *path;
    struct {
        const char *value; /* NUL-terminated, without braces; NULL: key missing or empty */
        int line;          /* of its beginning, from 1 */
    } keys[YPI_ENVI_KEYS];
};

/* Parses `text` in place: *out points into it. YP_IO with file and line when it is no header, or
 * when a key that changes what is read is there twice, with two values. */
enum yp_status ypi_envi_parse(struct ypi_envi_text *out, const char *path, char *text,
                              size_t length);

/* YP_IO: "PATH:LINE: KEY is 'VALUE': must be ALLOWED". */
enum yp_status ypi_envi_value_error(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                    const char *allowed);

/* A whole number, at least `least`; an error when the key is missing. */
enum yp_status ypi_envi_integer(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                uint64_t least, uint64_t *value);
enum yp_status ypi_envi_number(const struct ypi_envi_text *text, enum ypi_envi_key key,
                               double *value);

/* Exactly `count` numbers, times `factor`, or names, which are NUL-terminated in the text. A comma
 * at the end is allowed, and so are blanks instead of commas between numbers. */
enum yp_status ypi_envi_numbers(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                size_t count, double factor, float *values);
enum yp_status ypi_envi_doubles(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                size_t count, double *values);
enum yp_status ypi_envi_names(const struct ypi_envi_text *text, enum ypi_envi_key key, size_t count,
                              const char **names);
/* The number of entries; 0 when one of them is not a number. */
size_t ypi_envi_count(const char *value);

/* Sets what the header says of the stored numbers, in file->info, note and the no data of loading;
 * gains and offsets: (channels), the file's, or NULL where the header has neither. */
enum yp_status ypi_envi_meaning(const struct ypi_envi_text *text, struct synth_cube_file *file,
                                double *gains, double *offsets);
