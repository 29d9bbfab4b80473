#include "harness/conduct/share.h"

#include "base/text/text.h"
#include "device/cpu/binding.h"

#include <stdlib.h>
#include <string.h>

/* Below YPI_UNIT_CORE. */
#define PROCESSOR (-1)

/* The number of the unit that the processor is in. What hwloc does not tell is one of its own: some
 * virtual machines show processors and no cores. */
static int unit_of(const struct ypi_place *place, int unit)
{
    const int number = unit == YPI_UNIT_CORE      ? place->core
                       : unit == YPI_UNIT_NUMA    ? place->node
                       : unit == YPI_UNIT_PACKAGE ? place->package
                                                  : -1;
    return number >= 0 || unit > YPI_UNIT_CORE ? number : -2 - place->cpu;
}

/* The processors that are dealt out. */
struct deck {
    struct ypi_place *of;
    int count;
};

/* How many units there are, from the first processor to the `end`th. Those of a unit stand beside
 * each other. */
static int units(const struct deck *deck, int unit, int end)
{
    int count = 0;
    for (int i = 0; i < end; i++)
        count += i == 0 || unit_of(&deck->of[i], unit) != unit_of(&deck->of[i - 1], unit);
    return count;
}

static struct deck deck_of(const struct ypi_places *places, const unsigned char *allowed, int unit,
                           int number)
{
    struct deck deck = {.of = ypi_calloc((size_t)places->count + 1, sizeof *deck.of)};
    for (int i = 0; i < places->count; i++) {
        const struct ypi_place *place = &places->list[i];
        if (place->cpu < YPI_CPUS_MAX && allowed[place->cpu] &&
            (unit == PROCESSOR || unit_of(place, unit) == number))
            deck.of[deck.count++] = *place;
    }
    return deck;
}

/* What the ranks are in together, within a node; PROCESSOR: nothing. */
static int common_unit(const struct ypi_placement *wanted)
{
    return wanted->together[YPI_UNIT_NUMA]      ? YPI_UNIT_NUMA
           : wanted->together[YPI_UNIT_PACKAGE] ? YPI_UNIT_PACKAGE
                                                : PROCESSOR;
}

/* What each has for itself, within a node; PROCESSOR: nothing is asked for. */
static int own_unit(const struct ypi_placement *wanted)
{
    return wanted->spread[YPI_UNIT_PACKAGE] ? YPI_UNIT_PACKAGE
           : wanted->spread[YPI_UNIT_NUMA]  ? YPI_UNIT_NUMA
           : wanted->spread[YPI_UNIT_CORE]  ? YPI_UNIT_CORE
                                            : PROCESSOR;
}

/* All that are allowed, or those of the one common unit that has the most of what is dealt out. */
static struct deck choose(const struct ypi_places *places, const unsigned char *allowed, int common,
                          int own)
{
    struct deck best = {0};
    if (common == PROCESSOR)
        return deck_of(places, allowed, PROCESSOR, 0);
    for (int i = 0; i < places->count; i++) {
        struct deck deck = deck_of(places, allowed, common, unit_of(&places->list[i], common));
        if (best.of != NULL && units(&deck, own, deck.count) <= units(&best, own, best.count)) {
            free(deck.of);
            continue;
        }
        free(best.of);
        best = deck;
    }
    return best;
}

static char *too_few(int common, int own, int there, int count)
{
    char *within = common != PROCESSOR
                       ? ypi_format(" in one %s", ypi_unit_words((enum ypi_unit)common, 1))
                       : ypi_strdup("");
    char *text =
        ypi_format("%d ranks are to have a %s each%s, and there %s %d %s", count,
                   ypi_unit_words((enum ypi_unit)own, 1), within, there == 1 ? "is" : "are", there,
                   ypi_unit_words((enum ypi_unit)own, there));
    free(within);
    return text;
}

bool ypi_share(const struct ypi_places *places, const unsigned char *allowed,
               const struct ypi_placement *wanted, int number, int count, unsigned char *out,
               char **cannot)
{
    const int common = common_unit(wanted);
    int own = own_unit(wanted);
    struct deck deck = choose(places, allowed, common, own != PROCESSOR ? own : YPI_UNIT_CORE);
    int there = units(&deck, own != PROCESSOR ? own : YPI_UNIT_CORE, deck.count);
    *cannot = own != PROCESSOR && there < count ? too_few(common, own, there, count) : NULL;
    if (own == PROCESSOR && there >= count)
        own = YPI_UNIT_CORE;
    else if (own == PROCESSOR)
        there = deck.count;
    const bool dealt = *cannot == NULL && count > 0 && there >= count;
    /* Where they are too few and are to stay together, all have all of these. */
    const int first = dealt ? there * number / count : 0;
    const int end = dealt ? there * (number + 1) / count : there;
    memset(out, 0, YPI_CPUS_MAX);
    for (int i = 0; i < deck.count; i++) {
        const int unit = units(&deck, own, i + 1) - 1;
        if (unit >= first && unit < end)
            out[deck.of[i].cpu] = 1;
    }
    const bool any = deck.count > 0;
    free(deck.of);
    return *cannot == NULL && any && (dealt || common != PROCESSOR);
}
