/* A cube in a file, read whole and in windows. */
#pragma once

#include <stddef.h>

/* Opens `path`; where its values, in the file `values`, are not as long as its header says, they
 * are made so, and it is opened again. What is read in windows is what is read whole. */
void fuzz_cube(const char *path, const char *values);
