/* Git, asked about the user's repository whatever GIT_DIR and its like say. */
#ifndef YPI_GATE_GIT_H
#define YPI_GATE_GIT_H

#include <stdbool.h>
#include <yieldpoint/device.h>

/* What `git -C DIRECTORY GIVEN...` prints, without its last line ends: the caller frees. NULL with
 * yp_last_error() set when it fails. `more`: "NAME=value" in its environment, ended by NULL; or
 * NULL. */
char *ypi_gate_git(const char *directory, const char *const *given, const char *const *more);

/* The commit, tree and blobs of `commit` become the files of `directory`, which is to be made; the
 * repository at `root` does not hear of it. */
enum yp_status ypi_gate_checkout(const char *root, const char *commit, const char *directory,
                                 const char *log, const volatile bool *stop);

#endif
