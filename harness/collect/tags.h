/* The words that tests may have as tags. */
#pragma once

#include "harness/collect/options.h"

bool ypi_is_tag(const struct ypi_options *o, const char *word, size_t length);
/* Those of every program, then `count` of a project's own with what each is for; one that is there
 * is no second. */
void ypi_register_tags(struct ypi_options *o, char *const *names, char *const *help, int count);
