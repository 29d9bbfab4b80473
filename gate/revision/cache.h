/* Where builds lie: a directory each below .yieldpoint/gate, named by commit and build. */
#pragma once

#include "gate/revision.h"

/* Makes the cache's directory, which git does not see. */
enum yp_status ypi_cache_make(const struct ypi_recipe *recipe);

/* The place of a build: as long a name for all. The caller frees. */
char *ypi_cache_place(const struct ypi_recipe *recipe, const char *commit);

/* The name of a repository for a snapshot, of this process alone. The caller frees. */
char *ypi_cache_snapshot(const struct ypi_recipe *recipe);

/* The place of test sources from outside whose digest is `name`. The caller frees. */
char *ypi_cache_tests(const struct ypi_recipe *recipe, const char *name);

/* Locks a place, alone or shared with others that use it; waits for another build there, and says
 * so on `progress`. A descriptor to close, -1 with yp_last_error() set. */
int ypi_cache_lock(const char *place, bool alone, FILE *progress, const volatile bool *stop);

/* A place is made when its mark is there, which is written last. */
bool ypi_cache_is_made(const char *place);
enum yp_status ypi_cache_mark(const char *place, const struct ypi_recipe *recipe,
                              const char *commit, const char *code);
/* The code that it was marked with; "" where it is not known. */
void ypi_cache_code(const char *place, char out[33]);
enum yp_status ypi_cache_mark_tests(const char *place, const char *from);

/* Removes the builds, and the copies of test sources, that were used longest ago, but for `keep` of
 * each and what is in use; and snapshots that killed
 * processes left behind. */
void ypi_cache_prune(const struct ypi_recipe *recipe);
