/*
 * Directories of cases (include/yieldpoint/tmp_path.h), from both ends. The case's process makes
 * one. Before that it makes a link to it beside its channel: a later run that removes the files of
 * a process or of a run then knows of the directory, wherever it lies.
 */
#pragma once

#include "harness/vocabulary/options.h"
#include "harness/vocabulary/result.h"

#include <yieldpoint/device.h>

enum ypi_tmp_place { YPI_TMP_DISK = 0, YPI_TMP_MEMORY, YPI_TMP_PLACES };

/* Makes the directory below `parent` of the process whose channel that is; to *path, which the
 * caller frees, its whole path. The same again for the same place, as for a process that the first
 * one has forked. YP_IO with yp_last_error() set. */
enum yp_status ypi_tmp_path_make(const char *channel, int attempt, enum ypi_tmp_place place,
                                 const char *parent, char **path);

/* Removes those of a process, or says in a note of the result where they are kept. Those of a
 * fixture stay for its users, and go with the run's directory. */
void ypi_tmp_path_end(const char *channel, int attempt, enum ypi_keep_tmp keep,
                      struct ypi_result *r);

/* Removes what this entry of a run's directory leads to, if it is such a link, not the link. */
void ypi_tmp_path_remove(const char *directory, const char *entry);
