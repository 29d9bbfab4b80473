/* Fixtures of a run: which cases need which, and so which run and in what order. */
#pragma once

#include "harness/collect/collect.h"

/* Moves the fixtures that the first `*selected` cases need to the front, each behind those that it
 * needs itself, and counts them as selected and meant. */
void ypi_bring_fixtures(struct ypi_collection *c, int *selected);
