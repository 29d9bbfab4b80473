/* Stored runs, as a word of the command line names them. */
#pragma once

#include "gate/comparison.h"
#include "harness/history/history.h"

/* In SQL, of rows of `run`: the options that are part of the work, behind which stands what cases
 * were selected by. NULL: none. */
#define YPI_WORK_OPTIONS \
    "(SELECT group_concat(argument, ' ') FROM run_option AS o WHERE o.run_id = run.id AND" \
    " argument NOT LIKE '--speed=%' AND position < coalesce((SELECT min(position) FROM run_option" \
    " WHERE run_id = run.id AND argument IN ('-m', '-k')), 1000000))"

/* Texts are owned. */
struct ypi_stored_run {
    char *id;      /* UUID */
    char *machine; /* fingerprint; "" where it is not known */
    char *options; /* those that are part of the work, such as "--isa=avx2" */
};

/* Runs whose samples are those of the work (YPI_NORMAL_RUN), and the history that they are in. */
struct ypi_stored {
    sqlite3 *db;                 /* NULL: the caller has it */
    struct ypi_stored_run *runs; /* newest first */
    int run_count;
    char *commit; /* the one that all of them have; "" where they differ or have none */
    bool dirty;   /* that commit with changes */
};

/* The runs that `word` means: a file (all of its runs); "last" or "last~N", counted back from the
 * newest; else the beginning of a run's UUID, or of a commit's hash, from four digits on; else a
 * revision that git knows. A commit means its runs without uncommitted changes, and those with them
 * where "-dirty" stands behind it. `history`: where all but a file are looked for; NULL: the
 * nearest. YP_INVALID with yp_last_error() set where the word means none or more than one thing;
 * YP_IO where a history cannot be read. *out is to be cleared in any case. */
enum yp_status ypi_stored_find(const char *word, const char *history, struct ypi_stored *out);
/* The same in a history that is open, and stays the caller's; a word for a file is none. With
 * `every` also runs whose samples are not those of the work. */
enum yp_status ypi_stored_find_in(sqlite3 *db, const char *word, bool every,
                                  struct ypi_stored *out);
/* The run of that whole UUID, whatever it is; none where it is not there. */
enum yp_status ypi_stored_of_run(const char *run, const char *history, struct ypi_stored *out);
void ypi_stored_clear(struct ypi_stored *stored);

/* Drops the runs of machines that only one of them has. False, and nothing is dropped, where they
 * have none together. */
bool ypi_stored_keep_common(struct ypi_stored *a, struct ypi_stored *b);

/* The UUIDs as a JSON array, for json_each() in a query. The caller frees. */
char *ypi_stored_ids(const struct ypi_stored *stored);
