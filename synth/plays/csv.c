#include "synth/plays/csv.h"

#include "base/numbers/splitmix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char synth_play_columns[] =
    "game_id,play_id,player_to_predict,nfl_id,frame_id,play_direction,absolute_yardline_number,"
    "player_name,player_height,player_weight,player_birth_date,player_position,player_side,"
    "player_role,x,y,s,a,dir,o,num_frames_output,ball_land_x,ball_land_y\n";
const char synth_play_summary_columns[] =
    "game_id,season,week,play_id,quarter,down,yards_to_go,possession_team,defensive_team,"
    "play_nullified_by_penalty,offense_formation,receiver_alignment,defenders_in_the_box,"
    "team_coverage_man_zone\n";

static const char *const positions[SYNTH_PLAY_POSITIONS] = {
    [SYNTH_PLAY_QB] = "QB", [SYNTH_PLAY_WR] = "WR", [SYNTH_PLAY_RB] = "RB", [SYNTH_PLAY_T] = "T",
    [SYNTH_PLAY_DE] = "DE", [SYNTH_PLAY_CB] = "CB", [SYNTH_PLAY_FS] = "FS", [SYNTH_PLAY_LB] = "LB"};
static const char *const sides[] = {
    [SYNTH_PLAY_DEFENSE] = "Defense", [SYNTH_PLAY_OFFENSE] = "Offense"};
static const char *const roles[] = {[SYNTH_PLAY_COVERAGE] = "Defensive Coverage",
                                    [SYNTH_PLAY_ROUTE] = "Other Route Runner",
                                    [SYNTH_PLAY_PASSER] = "Passer",
                                    [SYNTH_PLAY_TARGET] = "Targeted Receiver"};
static const char *const blocks[] = {
    [SYNTH_PLAY_DEFENSE] = "Pass Rush", [SYNTH_PLAY_OFFENSE] = "Pass Block"};

/* ---- numbers ---- */

/* Writes a whole number below 1000. */
static char *put_small(char *out, unsigned value)
{
    if (value >= 100)
        *out++ = (char)('0' + value / 100);
    if (value >= 10)
        *out++ = (char)('0' + value / 10 % 10);
    *out++ = (char)('0' + value % 10);
    return out;
}

/* Writes "12.34,". */
static char *put_hundredths(char *out, float value)
{
    int scaled = (int)(value * 100 + (value < 0 ? -0.5F : 0.5F));
    unsigned of = scaled < 0 ? 0U - (unsigned)scaled : (unsigned)scaled;
    if (scaled < 0)
        *out++ = '-';
    out = put_small(out, of / 100);
    out[0] = '.';
    out[1] = (char)('0' + of / 10 % 10);
    out[2] = (char)('0' + of % 10);
    out[3] = ',';
    return out + 4;
}

/* ---- rows ---- */

/* What all rows of a player have before the frame, between it and the values, and behind them. */
struct texts {
    char before[64], between[128], behind[64];
    size_t before_length, between_length, behind_length;
};

/* A player's height and date of birth follow from weight and number. */
static struct texts texts_of(const struct synth_play *play, size_t i)
{
    struct texts t;
    uint8_t role = play->role[i], side = play->side[i];
    uint64_t word = ypi_mix64((uint64_t)play->id[i]);
    unsigned inches = 60 + play->weight[i] / 20U + (unsigned)(word % 4);
    bool predicted = role == SYNTH_PLAY_TARGET || role == SYNTH_PLAY_COVERAGE;
    t.before_length =
        (size_t)snprintf(t.before, sizeof t.before, "%" PRId64 ",%" PRId64 ",%s,%d,", play->game,
                         play->play, predicted ? "True" : "False", (int)play->id[i]);
    t.between_length = (size_t)snprintf(
        t.between, sizeof t.between, ",%s,%d,Player %d,%u-%u,%d,%d-%02d-%02d,%s,%s,%s,",
        play->left ? "left" : "right", play->line, (int)play->id[i], inches / 12, inches % 12,
        play->weight[i], 1988 + (int)(word >> 8 & 7) + (int)(word >> 16 & 3),
        1 + (int)((word >> 24) % 12), 1 + (int)((word >> 32) % 28), positions[play->position[i]],
        sides[side], role == SYNTH_PLAY_BLOCK ? blocks[side] : roles[role]);
    t.behind_length = (size_t)snprintf(t.behind, sizeof t.behind, "%zu,%.2f,%.2f\n",
                                       play->frames - play->throw_frame, (double)play->ball_x,
                                       (double)play->ball_y);
    return t;
}

static char *put(char *out, const char *text, size_t length)
{
    memcpy(out, text, length);
    return out + length;
}

size_t synth_play_rows(const struct synth_play *play, char *out)
{
    char *to = out;
    for (size_t i = 0; i < play->players; i++) {
        const struct texts t = texts_of(play, i);
        for (size_t frame = 0; frame < play->frames; frame++) {
            size_t at = frame * play->players + i;
            if (!play->present[at])
                continue;
            to = put(to, t.before, t.before_length);
            to = put_small(to, (unsigned)frame + 1);
            to = put(to, t.between, t.between_length);
            to = put_hundredths(to, play->x[at]);
            to = put_hundredths(to, play->y[at]);
            to = put_hundredths(to, play->speed[at]);
            to = put_hundredths(to, play->acceleration[at]);
            to = put_hundredths(to, play->direction[at]);
            to = put_hundredths(to, play->orientation[at]);
            to = put(to, t.behind, t.behind_length);
        }
    }
    return (size_t)(to - out);
}

size_t synth_play_summary(const struct synth_play *play, char *out)
{
    static const char *const coverages[] = {"MAN_COVERAGE", "ZONE_COVERAGE"};
    bool known = play->alignment < SYNTH_PLAY_ALIGNMENTS;
    bool home = play->play / 23 % 2 == 0;
    return (size_t)snprintf(
        out, SYNTH_PLAY_SUMMARY, "%" PRId64 ",2023,%d,%" PRId64 ",%d,%d,%d,%s,%s,N,%s,%s,%d,%s\n",
        play->game, play->week, play->play, 1 + (int)(play->play / 400 % 4), play->down,
        play->to_go, home ? "HOM" : "VIS", home ? "VIS" : "HOM",
        synth_play_formations[play->formation],
        known ? synth_play_alignments[play->alignment] : "NA", play->box,
        play->coverage == SYNTH_PLAY_UNKNOWN ? "NA" : coverages[play->coverage]);
}
