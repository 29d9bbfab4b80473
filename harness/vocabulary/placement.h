/* Where the ranks of a case are to be: .placement of a test (ranks.h). */
#pragma once

#include <stdbool.h>

enum ypi_unit {
    YPI_UNIT_CORE,
    YPI_UNIT_NUMA,
    YPI_UNIT_PACKAGE,
    YPI_UNIT_NODE, /* a machine of a cluster */
    YPI_UNITS
};

struct ypi_placement {
    bool spread[YPI_UNITS];   /* no two ranks have one of these in common */
    bool together[YPI_UNITS]; /* all ranks are in one of these; never of cores */
    bool spread_device;       /* no two ranks have the same device; asks nothing on the CPU */
};

/* Whether it asks for anything but devices. */
bool ypi_placement_has_units(const struct ypi_placement *placement);

/* "spread:core together:numa". What is wrong, which the caller frees; NULL: nothing. NULL as a text
 * asks for nothing. */
char *ypi_placement_read(const char *text, struct ypi_placement *out);

const char *ypi_unit_name(enum ypi_unit unit); /* "core", as it is written there */
/* "core" and "cores", "NUMA node", ...: in a sentence. */
const char *ypi_unit_words(enum ypi_unit unit, int count);
