/* What a build does. */
#pragma once

#include "gate/revision.h"
#include "gate/revision/digest.h"

/* The digest of what the revision was built to at `place`, the directory of its source and build;
 * "" where something of it cannot be read. */
void ypi_code_of(const struct ypi_revision *revision, const char *place, char out[YPI_DIGEST_MAX]);
