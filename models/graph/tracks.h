/* Plays from files of tracking data, in the columns of the NFL Big Data Bowl 2026: a directory with
 * `supplementary_data.csv` and, in it or in its folder `train`, `input_2023_w01.csv` to `w99`.
 * Columns stand in any order, others are left out, and names may be written as gameId.
 *
 * - Plays that go to the left are turned: 120 - x, 53.3 - y, angles + 180.
 * - A play is left out when a penalty nullified it, or supplementary_data.csv does not have it.
 * - Players are those of all rows, in the order of their numbers; a row without a number is the
 *   ball's. Frames are those from the first to the last that any player has. A player without a row
 *   in a frame, or without x or y there, is absent.
 * - Speed, acceleration and angles that are missing are 0, a weight 200 pounds, a down 1, yards to
 *   go 10, defenders in the box 7. Categories that graph.h does not name are its last ones.
 *
 * A bad row has too few fields, something else than a number where one must be, a number that is
 * not finite, a direction of play that is neither left nor right, a frame above GRAPH_FRAMES_MOST,
 * the same player and frame as a row before, or a play that a file before has, too. */
#pragma once

#include "models/graph/play.h"

struct graph_reading {
    int week;           /* this one alone; 0: all there are */
    bool skip_bad_rows; /* else the first one ends the reading */
    /* Gets a message for each of the first ten bad rows of a file, with file and line, and then
     * their number. NULL: not called. */
    void (*tell)(void *arg, const char *text);
    void *arg;
};

struct graph_tracks; /* owns the plays' arrays */

/* YP_IO: no such files. YP_INVALID, with file and line: a bad row, a column that is missing. NULL
 * with yp_last_error() set then. Plays are sorted by file, game and play. */
struct graph_tracks *graph_tracks_read(struct yp_device *device, const char *directory,
                                       const struct graph_reading *reading);
void graph_tracks_free(struct graph_tracks *tracks); /* NULL is allowed */

/* Goes on with a hash of what graph_tracks_read() reads: names, bytes, and how. */
enum yp_status graph_tracks_hash(const char *directory, const struct graph_reading *reading,
                                 uint64_t *hash);

struct graph_tracks_seen {
    size_t plays, files, bytes; /* plays that are there; files of weeks, and what all files have */
    size_t rows, bad_rows;      /* of weeks */
    size_t nullified, unknown;  /* plays that were left out; unknown: without a row of their own */
};
const struct graph_play *graph_tracks_plays(const struct graph_tracks *tracks,
                                            struct graph_tracks_seen *seen);
