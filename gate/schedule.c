#include "gate/schedule.h"

#include "base/system/clock.h"

#include <math.h>

/* Of one turn: less would not be a pair of most cases; more keeps others waiting that may be
 * decided sooner. */
#define TURN_LEAST 1.0
#define TURN_MOST 15.0

static bool is_open(const struct ypi_schedule *s, int i)
{
    return !ypi_duel_is_over(s->duels[i]) && ypi_duel_seconds(s->duels[i]) < s->case_seconds;
}

static int open_from(const struct ypi_schedule *s, int from)
{
    int count = 0;
    for (int i = from; i < s->count; i++)
        count += is_open(s, i);
    return count;
}

static int decided(const struct ypi_schedule *s)
{
    int count = 0;
    for (int i = 0; i < s->count; i++)
        count += ypi_duel_is_over(s->duels[i]);
    return count;
}

bool ypi_schedule_run(const struct ypi_schedule *s, struct ypi_seed *coin)
{
    double end = ypi_now() + s->seconds;
    while (open_from(s, 0) > 0)
        for (int i = 0; i < s->count; i++) {
            double left = end - ypi_now();
            if (left <= 0)
                return true;
            if (!is_open(s, i))
                continue;
            double share = fmax(TURN_LEAST, fmin(TURN_MOST, left / open_from(s, i)));
            share = fmin(share, s->case_seconds - ypi_duel_seconds(s->duels[i]));
            if (ypi_duel_run(s->duels[i], coin, fmin(share, left)) == YPI_PAIR_STOPPED)
                return false;
            s->tell(s->arg, i, decided(s), end - ypi_now());
        }
    return true;
}
