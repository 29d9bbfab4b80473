#include "gate/pair/schedule.h"

#include "base/system/clock.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

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

int ypi_schedule_next(const struct ypi_prospect *prospects, const double *spent, int count,
                      double left)
{
    int best = -1;
    bool best_suspect = false;
    for (int i = 0; i < count; i++) {
        double seconds = prospects[i].seconds;
        bool suspect = prospects[i].slower && seconds <= left;
        bool better = best < 0 || suspect > best_suspect;
        if (!better && suspect == best_suspect)
            better = seconds < prospects[best].seconds ||
                     (seconds == prospects[best].seconds && spent[i] < spent[best]);
        if (seconds >= 0 && better) {
            best = i;
            best_suspect = suspect;
        }
    }
    return best;
}

/* False: it was stopped. */
static bool run(const struct ypi_schedule *s, int i, struct ypi_seed *coin, double seconds,
                double end)
{
    seconds = fmin(seconds, s->case_seconds - ypi_duel_seconds(s->duels[i]));
    seconds = fmin(seconds, end - ypi_now());
    bool go_on = ypi_duel_run(s->duels[i], coin, seconds) != YPI_PAIR_STOPPED;
    if (go_on)
        s->progress(s->arg, i, decided(s), end - ypi_now());
    return go_on;
}

static int next_of(const struct ypi_schedule *s, double left)
{
    struct ypi_prospect *prospects = ypi_calloc((size_t)s->count + 1, sizeof *prospects);
    double *spent = ypi_calloc((size_t)s->count + 1, sizeof *spent);
    for (int i = 0; i < s->count; i++) {
        prospects[i] =
            is_open(s, i) ? ypi_duel_prospect(s->duels[i]) : (struct ypi_prospect){.seconds = -1};
        spent[i] = ypi_duel_seconds(s->duels[i]);
    }
    int next = ypi_schedule_next(prospects, spent, s->count, left);
    free(spent);
    free(prospects);
    return next;
}

bool ypi_schedule_run(const struct ypi_schedule *s, struct ypi_seed *coin)
{
    double begun = ypi_now();
    double middle = begun + s->seconds / 2;
    double end = begun + s->seconds;
    for (int i = 0; i < s->count && ypi_now() < end; i++) {
        if (!is_open(s, i))
            continue;
        double share = fmax(TURN_LEAST, fmin(TURN_MOST, (middle - ypi_now()) / open_from(s, i)));
        if (!run(s, i, coin, share, end))
            return false;
    }
    for (int i; ypi_now() < end && (i = next_of(s, end - ypi_now())) >= 0;)
        if (!run(s, i, coin, TURN_LEAST, end))
            return false;
    return true;
}
