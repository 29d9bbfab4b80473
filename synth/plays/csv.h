/* Plays as rows of CSV, in the columns of the NFL Big Data Bowl 2026: those of
 * `input_2023_w01.csv`, and of `supplementary_data.csv` those that say what a play is. */
#pragma once

#include "synth/plays/plays.h"

enum { SYNTH_PLAY_ROW = 192, SYNTH_PLAY_SUMMARY = 192 }; /* bytes of a row at most */

/* Names of the columns, with the line's end. */
extern const char synth_play_columns[], synth_play_summary_columns[];

/* A row for each player and frame that the player is present in, player after player. `out` has
 * room for players x frames rows. Returns the bytes written; no NUL follows. */
size_t synth_play_rows(const struct synth_play *play, char *out);
/* The row of the play itself; the same. */
size_t synth_play_summary(const struct synth_play *play, char *out);
