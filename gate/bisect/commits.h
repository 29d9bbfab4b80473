/* The commits between a good and a bad one, as git knows them. */
#pragma once

#include "gate/bisect/search.h"

#include <yieldpoint/device.h>

struct ypi_commit {
    char *hash;   /* owned, as the others are; whole */
    char *parent; /* the first one of the list, or good, else the first of all; NULL: none */
    bool merge;
};

/* What was written about a commit. */
struct ypi_commit_words {
    char *date; /* of the author: "2026-01-31" */
    char *subject;
};

struct ypi_commits {
    struct ypi_commit *list; /* the search's numbers are its indices */
    int count;
    struct ypi_search search; /* begun */
};

/* All of good..bad: those that bad has behind it and good has not, on branches that left before
 * good too. Bad is the last. With `first_parent` those alone that a walk from bad along first
 * parents meets. YP_INVALID with yp_last_error() set: good is not behind bad. *out is to be cleared
 * in any case. */
enum yp_status ypi_commits_read(const char *root, const char *good, const char *bad,
                                bool first_parent, struct ypi_commits *out);
void ypi_commits_clear(struct ypi_commits *commits);

/* Empty texts where git tells none; to be cleared. */
struct ypi_commit_words ypi_commit_words_of(const char *root, const char *hash);
void ypi_commit_words_clear(struct ypi_commit_words *words);
