/* What a command of `yieldpoint` ends with: its output and its exit code. */
#pragma once

#include <cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/device.h>

enum ypi_command_exit {
    YPI_COMMAND_OK = 0,
    YPI_COMMAND_NOTHING = 1,    /* nothing matched */
    YPI_COMMAND_FILE = 3,       /* the history, or the output, cannot be read or written */
    YPI_COMMAND_USAGE = 4,      /* the command line */
    YPI_COMMAND_UNSELECTED = 5, /* no case of the history is meant, or none with a budget */
};

/* "yieldpoint: ", the last error and a line end on the standard error stream; YPI_COMMAND_FILE. */
int ypi_file_error(void);

/* Writes what is left of the standard output; YPI_COMMAND_OK, or YPI_COMMAND_FILE after telling
 * the standard error stream. */
int ypi_flush(void);

/* A file at `path` that appears whole or not at all, in the place of one of that name; "-": added
 * to the standard output, which ypi_flush() writes. For what can be made anew: its bytes are not
 * brought to the disk first, so that a loss of power within seconds may leave it empty. YP_IO with
 * yp_last_error() set. */
enum yp_status ypi_put_file(const char *path, const void *bytes, size_t size);

/* The document as text, in lines or in one: valid UTF-8 whatever bytes its names and texts hold.
 * The caller frees it with free(); NULL without memory. */
char *ypi_json_text(const cJSON *document, bool lines);

/* The document on the standard output, and ypi_flush(). */
int ypi_put_json(const cJSON *document);

/* Adds a number or a text; null for NaN, infinity and NULL. */
void ypi_json_add_real(cJSON *object, const char *name, double value);
void ypi_json_add_text(cJSON *object, const char *name, const char *text);
