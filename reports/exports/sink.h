/* Where an export goes: a file that appears whole or not at all, or the standard output. What is
 * added is kept in memory up to a mebibyte and then written. */
#pragma once

#include "base/system/atomic_file.h"
#include "base/text/text.h"

#include <cJSON.h>

struct ypi_sink {
    struct ypi_atomic_file file; /* fd -1: the standard output */
    struct ypi_text text;        /* not yet written; add to it, then call ypi_sink_step() */
    uint64_t written;
    enum yp_status status; /* of the first that failed */
    bool one_of_many;      /* files: closing does not wait until it is on the disk */
};

/* "-": the standard output. */
enum yp_status ypi_sink_open(struct ypi_sink *sink, const char *path);

/* Writes what has come together, if it is much. The first failure stays, and nothing is written
 * after it. */
enum yp_status ypi_sink_step(struct ypi_sink *sink);

/* Writes the rest, gives the file its name, and frees; with a failure there is no file. */
enum yp_status ypi_sink_close(struct ypi_sink *sink);

/* Frees and leaves no file. A second time does nothing. */
void ypi_sink_drop(struct ypi_sink *sink);

/* A text as a string of JSON, in valid UTF-8; NULL: null. */
void ypi_sink_json_text(struct ypi_sink *sink, const char *text);
/* A finite number with as many digits as it takes to read the same again; else null. */
void ypi_sink_json_number(struct ypi_sink *sink, double value);
