#include "ranks/engine.h"
#include "ranks/socket/star.h"

static void set_limit(void *state, double seconds)
{
    struct ypk_star *star = state;
    star->limit = seconds;
}

static enum yp_status collective(void *state, const struct ypk_call *call)
{
    struct ypk_star *star = state;
    return star->place.rank == 0 ? ypk_hub_collective(star, call)
                                 : ypk_spoke_collective(star, call);
}

const struct ypk_engine ypk_socket_engine = {
    .name = "socket",
    .join = ypk_star_join,
    .leave = ypk_star_leave,
    .set_limit = set_limit,
    .collective = collective,
    .exchange = ypk_star_exchange,
    .begin = ypk_star_begin,
    .progress = ypk_star_progress,
    .end = ypk_star_end,
    .drop = ypk_star_drop,
};
