/* Figures and texts for a person's eyes. */
#pragma once

#include "base/text/figures.h"

#include <cJSON.h>

#define YPI_LINE_WIDTH 100

/* +12.3 %; n/a for NaN. */
void ypi_format_share(char out[YPI_FIGURE_MAX], double share);

/* Figures as texts that stay until sixteen more were made: a value, or a member of an object. */
const char *ypi_seconds(double seconds);
const char *ypi_seconds_of(const cJSON *object, const char *name);
const char *ypi_bytes_of(const cJSON *object, const char *name);
const char *ypi_rate(double rate, const char *unit);

/* The best that is known of a measurement: items, operations or bytes a second, else seconds. */
void ypi_format_measurement(char out[YPI_FIGURE_MAX], const cJSON *measurement, double seconds);
/* ", 0.61 of fp32": which part of what bounds it here; "" where that is not known, or below
 * YPI_LEAST_SHARE. */
void ypi_format_part(char out[YPI_FIGURE_MAX], const cJSON *measurement);

/* "" or "s". */
const char *ypi_plural(long long count);

/* To the standard output. A control character becomes '?', so that what a case wrote does not
 * take hold of the terminal. */

/* The first line, at most `width` columns of it (0: all). Returns the columns written. */
int ypi_put_line(const char *text, int width);
/* All lines, `indent` blanks before each. */
void ypi_put_lines(const char *text, int indent);
/* The same, but on a terminal a long line is broken, and the caller writes the first blanks. */
void ypi_put_text(const char *text, int indent);

int ypi_line_columns(const char *text); /* of the first line */

/* An outcome or a verdict, padded to `width`, coloured on a terminal unless NO_COLOR is set. */
void ypi_put_outcome(const char *outcome, int width);
