/* What a test program's main needs of the library, shared or static. */
#ifndef YPI_PROGRAM_H
#define YPI_PROGRAM_H

#include "harness/vocabulary/linked.h"

/* All of a test program; returns its exit code. */
__attribute__((visibility("default"))) int ypi_program(int argc, char **argv);

#endif
