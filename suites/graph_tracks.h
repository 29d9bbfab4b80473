/* Files of tracking data for cases, made of synthetic plays. */
#pragma once

#include "models/graph/tracks.h"
#include "synth/plays/csv.h"

#include <yieldpoint/yieldpoint.h>

/* Writes input_2023_w01.csv and those of further weeks, `plays` in each, and supplementary_data.csv
 * to the directory. */
void graph_tracks_write(struct yp_case *t, const char *directory, const struct synth_plays *spec,
                        int weeks, size_t plays);
/* A file of the directory. */
void graph_tracks_write_file(struct yp_case *t, const char *directory, const char *name,
                             const char *text, size_t bytes);
/* One that was written; the case's. Its text ends with a NUL. */
char *graph_tracks_read_file(struct yp_case *t, const char *directory, const char *name,
                             size_t *bytes);
