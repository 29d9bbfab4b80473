/* Files of tracking data for cases, made of synthetic plays. */
#pragma once

#include "models/graph/data.h"
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

/* Drops what the page cache has of the directory's file of graphs, which no data set may have open.
 */
void graph_tracks_forget(struct yp_case *t, const char *directory);

/* What a data set did beside its work: how often it told of something, and the first text. */
struct graph_told {
    size_t count, progress;
    double left; /* seconds, that it said last */
    char first[512];
};
void graph_told_text(void *arg, const char *text);
void graph_told_progress(void *arg, size_t done, size_t all, double seconds_left);

/* All graphs of a data set, in one batch of the case's memory. */
const struct graph_batch *graph_tracks_batch(struct yp_case *t, const struct graph_data *data,
                                             const struct graph_augmentation *augmentation);
/* A number that all arrays of a batch make. */
uint64_t graph_batch_hash(const struct graph_batch *batch);
