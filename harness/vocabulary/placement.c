#include "harness/vocabulary/placement.h"

#include "base/text/text.h"

#include <string.h>

#define ALLOWED \
    "allowed are spread:core, spread:numa, spread:package, spread:node, spread:device, " \
    "together:numa, together:package and together:node"

static const char *const names[YPI_UNITS] = {"core", "numa", "package", "node"};

const char *ypi_unit_name(enum ypi_unit unit)
{
    return names[unit];
}

const char *ypi_unit_words(enum ypi_unit unit, int count)
{
    static const char *const one[YPI_UNITS] = {"core", "NUMA node", "package", "node"};
    static const char *const several[YPI_UNITS] = {"cores", "NUMA nodes", "packages", "nodes"};
    return count == 1 ? one[unit] : several[unit];
}

static bool is_term(const char *word, size_t length, const char *how, const char *unit)
{
    const size_t first = strlen(how);
    return length == first + 1 + strlen(unit) && memcmp(word, how, first) == 0 &&
           word[first] == ':' && memcmp(word + first + 1, unit, strlen(unit)) == 0;
}

static bool read_term(const char *word, size_t length, struct ypi_placement *out)
{
    for (int unit = 0; unit < YPI_UNITS; unit++) {
        if (is_term(word, length, "spread", names[unit]))
            return out->spread[unit] = true;
        if (unit > YPI_UNIT_CORE && is_term(word, length, "together", names[unit]))
            return out->together[unit] = true;
    }
    return is_term(word, length, "spread", "device") && (out->spread_device = true);
}

bool ypi_placement_has_units(const struct ypi_placement *placement)
{
    for (int unit = 0; unit < YPI_UNITS; unit++)
        if (placement->spread[unit] || placement->together[unit])
            return true;
    return false;
}

char *ypi_placement_read(const char *text, struct ypi_placement *out)
{
    const char *word = NULL;
    size_t length = 0;
    int count = 0;
    *out = (struct ypi_placement){0};
    for (; text != NULL && ypi_next_word(&text, &word, &length); count++)
        if (!read_term(word, length, out))
            return ypi_format(".placement has '%.*s': " ALLOWED, (int)length, word);
    /* Ranks that are all in one package are in no two nodes. */
    for (int apart = 0; apart < YPI_UNITS; apart++)
        for (int in = 0; in <= apart; in++)
            if (out->spread[apart] && out->together[in])
                return ypi_format(".placement has spread:%s and together:%s, which no ranks meet",
                                  names[apart], names[in]);
    return NULL;
}
