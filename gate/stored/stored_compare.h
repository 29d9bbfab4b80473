/* Stored runs beside other ones. */
#pragma once

#include "gate/stored/stored.h"

/* Compares the chosen cases of both sides' runs into `found`, whose threshold, error and sides'
 * names are set before. Of machines that only one side has, no run counts; where they have none
 * together, times are compared by shares. An id of `choice` that no side has is no mistake; *right
 * is false after telling stderr what is one. YP_IO where a history cannot be read. */
enum yp_status ypi_stored_compare(struct ypi_stored *base, struct ypi_stored *head,
                                  const struct ypi_selection *choice, bool *right,
                                  struct ypi_comparisons *found);
