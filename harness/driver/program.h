/* What a test program's main needs of the library, shared or static. */
#pragma once

#include "harness/vocabulary/linked.h"

/* All of a test program; returns its exit code. */
__attribute__((visibility("default"))) int ypi_program(int argc, char **argv);
