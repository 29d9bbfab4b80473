/* Baselines: learned from the history, kept in files, given to the cases of a run. docs/budgets.md
 * says what they mean. */
#pragma once

#include "harness/record/environment.h"
#include "harness/vocabulary/baseline.h"
#include "harness/vocabulary/options.h"

#include <sqlite3.h>
#include <stdio.h>

/* -- kinds of machines --------------------------------------------------------------------- */

/* A fact of a run's environment by its key; NULL: it has none. */
typedef const char *ypi_fact_of(const void *arg, const char *key);

/* "GenuineIntel 6-207, amx, 2 processors": of what runs at one speed. `options`: the run's, a line
 * each; those that decide which processors are used belong to it. `accelerated`: of cases on an
 * accelerator, whose name stands behind. NULL: the facts do not say. The caller frees. */
char *ypi_machine_kind(ypi_fact_of *fact, const void *arg, const char *options, bool accelerated);
/* "amx, 2 processors": of what computes the same figures. */
char *ypi_machine_kind_exact(ypi_fact_of *fact, const void *arg, bool accelerated);

/* -- files --------------------------------------------------------------------------------- */

struct ypi_baseline_entry {
    char *id;      /* of the case; owned */
    char *machine; /* its kind; owned */
    struct ypi_baseline b;
};

struct ypi_baseline_file {
    struct ypi_baseline_entry *list; /* owned; sorted by id, figure and machine */
    int count;
};

/* Reads a file; one that is not there is empty. False after telling stderr each line that is wrong
 * and what is allowed. */
bool ypi_baseline_read(const char *path, struct ypi_baseline_file *out);
/* Replaces the file at once, or leaves it as it is: YP_IO. */
enum yp_status ypi_baseline_write(const char *path, const struct ypi_baseline_file *file);
/* Takes over what the entry owns; in the place of one of the same case, machine and figure. Returns
 * whether it changed anything but processes, runs and date. */
bool ypi_baseline_put(struct ypi_baseline_file *file, struct ypi_baseline_entry entry);
/* The same figure of the same case on the same kind of machine; NULL: none. */
const struct ypi_baseline_entry *ypi_baseline_find(const struct ypi_baseline_file *file,
                                                   const struct ypi_baseline_entry *like);
void ypi_baseline_file_clear(struct ypi_baseline_file *file);
void ypi_baseline_entry_clear(struct ypi_baseline_entry *entry);

/* Where those of a history are kept that no [baseline] file is named for: ".yieldpoint/history.db"
 * has ".yieldpoint/history.baseline.ini". The caller frees. */
char *ypi_baseline_path(const char *history);

/* -- [baseline] of yieldpoint.ini ---------------------------------------------------------- */

struct ypi_baseline_settings {
    char *file; /* whole path; NULL: none is named */
    double threshold;
    struct ypi_tag_threshold {
        char *expression; /* of -m; owned */
        double threshold;
    } * by_tag; /* owned; a later one wins */
    int by_tag_count;
    bool exact_fails, rolling;
};

/* `path`: of yieldpoint.ini, NULL: there is none; `root`: the project's; `o`: whose tags a
 * threshold may name, NULL: any. False after telling stderr what is wrong. */
bool ypi_baseline_settings_read(struct ypi_baseline_settings *out, const char *path,
                                const char *root, const struct ypi_options *o);
void ypi_baseline_settings_clear(struct ypi_baseline_settings *s);

/* -- learning ------------------------------------------------------------------------------ */

/* One process's figure, with what tells states apart. */
struct ypi_learned_figure {
    double figure;
    int run; /* the same number: the same run */
};

/* Fills typical, slower, deviation, processes and runs of `out`, whose `of` says whether more is
 * better. False: these are not YPI_BASELINE_PROCESSES from YPI_BASELINE_RUNS. */
bool ypi_baseline_estimate(struct ypi_baseline *out, const struct ypi_learned_figure *list,
                           int count);

/* Why processes were not learned from, and how many. */
struct ypi_refused {
    struct {
        const char *why; /* static */
        int processes;
    } list[24];
    int count;
};

struct ypi_learner;
/* Of a history that is open for reading. `any_code`: figures of several commits make one baseline
 * together; otherwise those of one do, of the newest that has enough. */
struct ypi_learner *ypi_learner_open(sqlite3 *db, bool any_code);
void ypi_learner_close(struct ypi_learner *l);

/* Whether the case's newest process timed something that none of `known` is of. */
bool ypi_learner_sees_new(struct ypi_learner *l, const char *id, const struct ypi_baselines *known);

/* Adds to `out` what the history says of a case, on each kind of machine that it ran on; of
 * `machine` alone where it is not NULL (of the case's kind), and then, in so_far, how many
 * processes there are of what is not enough. `refused` may be NULL. YP_IO with yp_last_error() set.
 */
enum yp_status ypi_learn(struct ypi_learner *l, const char *id, bool accelerated,
                         const char *machine, struct ypi_baseline_file *out, int *so_far,
                         struct ypi_refused *refused);

/* -- before a run -------------------------------------------------------------------------- */

struct ypi_attached {
    struct ypi_baselines *of; /* owned: one a case */
    int count;
    bool exact_fails;
};

/* Gives each case its baselines and the budgets that follow from them: those of the files, and what
 * the history has enough of by now, which goes into the file beside the history. False after
 * telling stderr which file is wrong. `out` is to be cleared after the cases' last use. */
bool ypi_baselines_attach(struct ypi_attached *out, const struct ypi_options *o,
                          const struct ypi_environment *e, struct yp_case *const *cases, int count);
void ypi_attached_clear(struct ypi_attached *attached);
