/* Git, asked about the user's repository whatever GIT_DIR and its like say. */
#pragma once

#include "base/text/text.h"

#include <stdbool.h>
#include <yieldpoint/device.h>

/* What `git -C DIRECTORY GIVEN...` prints, without its last line ends: the caller frees. NULL with
 * yp_last_error() set, to what git says, when it fails. `more`: "NAME=value" in its environment,
 * ended by NULL; or NULL. */
char *ypi_gate_git(const char *directory, const char *const *given, const char *const *more);

/* The same byte for byte, for what is printed with -z: ypi_text_take(). YP_INVALID with the error
 * set; so it is where a directory cannot be read, if `more` has LC_ALL=C. */
enum yp_status ypi_gate_git_list(const char *directory, const char *const *given,
                                 const char *const *more, struct ypi_text *out);

/* The next text of such a list, whose place in it is *at; NULL at its end. */
const char *ypi_gate_git_next(const struct ypi_text *list, size_t *at);

/* Runs it with what it says in `log`, and `input` (NULL: nothing) as its standard input. */
bool ypi_gate_git_run(const char *directory, const char *const *given, const char *const *more,
                      const char *input, const char *log, const volatile bool *stop);

/* The commit that a revision is (gitrevisions(7)); the caller frees. NULL where there is none. */
char *ypi_gate_commit(const char *root, const char *name);

/* Makes an empty repository, with a .git, in the directory, which may be there. It reads the
 * objects of the one at `root`, knows the border of a shallow one, and takes its settings: filters,
 * remotes, the server that a partial clone asks for what it lacks. That one is not written to. */
bool ypi_gate_borrow(const char *root, const char *directory, const char *log,
                     const volatile bool *stop);

/* The files of `commit` and of its submodules, in `directory`, which is to be made; where there is
 * a `snapshot` (see below), it is moved there. A submodule comes from the user's repository where
 * that has the commit, so that one that was never pushed is found, else from where .gitmodules
 * says. A file that cannot be had is an error. */
enum yp_status ypi_gate_checkout(const char *root, const char *commit, const char *snapshot,
                                 const char *directory, const char *log, const volatile bool *stop);

/* The working tree as a commit in a new repository, `snapshot`, on top of HEAD: all that git
 * follows or does not ignore, byte for byte as it lies there, and the same of the submodules and
 * the repositories in it, as plain files. Nothing is written to those. The same files are the same
 * commit. NULL with yp_last_error() set. */
char *ypi_gate_snapshot(const char *root, const char *snapshot);
