/* What a play may hold. */
#include "models/graph/play.h"

#include <inttypes.h>
#include <math.h>

#define MOST 1e6F /* what a number may be */

static enum yp_status check_sizes(const struct graph_play *p)
{
    if (p->players > GRAPH_PLAYERS_MOST || p->frames > GRAPH_FRAMES_MOST)
        return yp_set_error(YP_INVALID,
                            "game %" PRId64 " play %" PRId64
                            ": %zu players in %zu frames: must be at most %d and %d",
                            p->game, p->play, p->players, p->frames, GRAPH_PLAYERS_MOST,
                            GRAPH_FRAMES_MOST);
    return YP_OK;
}

static enum yp_status check_category(const struct graph_play *p, const char *field, int32_t value,
                                     int32_t count)
{
    if (value >= 0 && value < count)
        return YP_OK;
    return yp_set_error(YP_INVALID, "game %" PRId64 " play %" PRId64 ": %s is %d: must be 0 to %d",
                        p->game, p->play, field, value, count - 1);
}

static enum yp_status check_players(const struct graph_play *p)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < p->players && status == YP_OK; i++) {
        status = check_category(p, "a role", p->role[i], GRAPH_ROLES);
        if (status == YP_OK)
            status = check_category(p, "a side", p->side[i], GRAPH_SIDES);
        if (status == YP_OK && !(fabsf(p->weight[i]) <= MOST))
            status = yp_set_error(YP_INVALID,
                                  "game %" PRId64 " play %" PRId64
                                  ": the weight of player %zu is %g: must be within +-%g",
                                  p->game, p->play, i, (double)p->weight[i], (double)MOST);
    }
    return status;
}

static enum yp_status check_values(const struct graph_play *p, const char *field,
                                   const float *values)
{
    for (size_t i = 0; i < p->frames * p->players; i++)
        if (p->present[i] != 0 && !(fabsf(values[i]) <= MOST))
            return yp_set_error(YP_INVALID,
                                "game %" PRId64 " play %" PRId64
                                ": %s of player %zu in frame %zu is %g: must be within +-%g",
                                p->game, p->play, field, i % p->players, i / p->players,
                                (double)values[i], (double)MOST);
    return YP_OK;
}

enum yp_status graph_check_play(const struct graph_play *p)
{
    const struct {
        const char *field;
        const float *values;
    } arrays[] = {{"x", p->x},
                  {"y", p->y},
                  {"the speed", p->speed},
                  {"the acceleration", p->acceleration},
                  {"the direction", p->direction},
                  {"the orientation", p->orientation}};
    enum yp_status status = check_sizes(p);
    if (status == YP_OK)
        status = check_category(p, "the formation", p->formation, GRAPH_FORMATIONS);
    if (status == YP_OK)
        status = check_category(p, "the alignment", p->alignment, GRAPH_ALIGNMENTS);
    if (status == YP_OK &&
        !(isfinite(p->down) && isfinite(p->to_go) && isfinite(p->box) && p->coverage <= 1))
        status = yp_set_error(
            YP_INVALID,
            "game %" PRId64 " play %" PRId64
            ": down %g, yards to go %g, box %g, coverage %g: must be finite, coverage at most 1",
            p->game, p->play, (double)p->down, (double)p->to_go, (double)p->box,
            (double)p->coverage);
    if (status == YP_OK)
        status = check_players(p);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == YP_OK; i++)
        status = check_values(p, arrays[i].field, arrays[i].values);
    return status;
}
