/* Files as `yieldpoint synth` makes them for a user, and what they hold. They lie in the case's
 * directory in memory, and are named without it. */
#pragma once

#include "suites/file_tiles.h"

/* Where a file of this name is. */
void exported_path(struct yp_case *t, const char *name, char path[512]);

/* Calls the command with the case's seed, two threads, no ini file, these options, NULL last, and
 * --output=NAME. An error ends the case. */
void exported_make(struct yp_case *t, const char *name, const char *const *options);

/* All values of a .npy of floats with `columns` of them a row, which the case owns. */
float *exported_array(struct yp_case *t, const char *name, size_t *rows, size_t columns);

/* All values of an ENVI file, scaled to the unit it names, which the case owns; *info has no
 * pointers but for wavelengths and fwhm, which are the case's too, NULL where it has none. */
float *exported_cube(struct yp_case *t, const char *name, struct synth_cube_info *info);
