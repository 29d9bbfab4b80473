/* A command as a case: what its lines mean. */
#pragma once

#include "harness/vocabulary/case.h"

#include <yieldpoint/command.h>

/* Before a command is started: what holds it back is looked at from here on. */
void ypi_command_begins(void);

enum ypi_line_kind {
    YPI_LINE_NOTHING, /* not a result */
    YPI_LINE_RESULT,  /* a figure */
    YPI_LINE_SKIP,    /* the case is to be skipped */
    YPI_LINE_WRONG    /* meant as a result, and wrong */
};

/* One line of a command's output, without its newline but NUL-terminated: sends the runner the
 * result that it holds. *text is the reason of a skip, or what is wrong; the caller frees. */
enum ypi_line_kind ypi_command_line(struct yp_case *t, const char *line, size_t length,
                                    char **text);

/* Whether a line that begins so is meant as a result, be it whole or not. */
bool ypi_command_begins_result(const char *line);

/* The value that is a command's own resident peak, beside its own figures. */
#define YPI_COMMAND_PEAK "resident peak"
