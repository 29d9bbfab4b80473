/* The history as other parts of the program use it: what reports/, machine/ and gate/ may include
 * of the harness. Rows and documents are JSON objects with the names of fields.h, as read from the
 * file: nothing here knows the harness's own structs. */
#pragma once

#include "base/options/option.h"
#include "harness/record/rows.h"

#include <cJSON.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/budget.h>
#include <yieldpoint/device.h>

/* -- the file ------------------------------------------------------------------------------ */

/* Opens `path`, or what ypi_store_path() finds when it is NULL, and holds on to one state of it:
 * what is written meanwhile is not seen. Owned by the caller: sqlite3_close(). NULL with
 * yp_last_error() set. */
sqlite3 *ypi_store_open(const char *path);

/* Opens for writing, creating the file (not its directory) or upgrading its tables where that is
 * needed. A file that is not a history, or one of a newer version, is refused and left as it is.
 * Owned by the caller. NULL with yp_last_error() set. */
sqlite3 *ypi_store_open_to_write(const char *path);

/* `path`; NULL: the history of the project that the working directory is in, else the nearest
 * .yieldpoint/history.db above it. The caller frees. NULL with yp_last_error() set. */
char *ypi_store_path(const char *path);
/* The same; where none is there, the path at which a run would make it. */
char *ypi_store_path_anew(const char *path);

/* Whether this user can store something in it: neither a read-only disk nor the rights forbid it.
 */
bool ypi_store_may_change(const char *path);

/* From then on every command prints to stderr which history it uses, and why. */
void ypi_store_be_verbose(void);
/* The same as an entry of a table of options. */
char *ypi_store_read_verbose(void *values, const struct ypi_option *option, const char *text);
#define YPI_STORE_VERBOSE \
    { \
        "verbose", 'v', .kind = YPI_OPTION_OWN, .read = ypi_store_read_verbose \
    }

/* In SQL, of rows of `run`: whether its samples are those of the work, as they are not under
 * --slowdown, each in a process of its own, as they are not under --no-fork. Whoever judges,
 * compares or suggests from the history takes no others. */
#define YPI_NORMAL_RUN "(run.slowdown IS NULL AND run.no_fork = 0)"

/* In SQL, of rows of `result AS r` and its `run`: whether the end of the run may have made this
 * result, so that the case is to be run again. A run that was interrupted (exit code 2) may have
 * judged a case before it was confirmed; and SIGTERM or SIGKILL to all processes of a run may have
 * reached the case's before the runner's. */
#define YPI_CUT_SHORT \
    "(coalesce(r.signal, 0) IN (9, 15)" \
    " OR run.exit_code IS 2 AND r.outcome NOT IN ('passed', 'xfailed', 'xpassed'))"

/* -- documents ----------------------------------------------------------------------------- */

/* All that is stored of a result: {result, case {.., axes}, run {.., facts, options}, failures,
 * measurements {.., phases, bounds, counters, noise {..}, noise_cause, set_aside, samples,
 * cpu_samples, shares, set_aside_samples}, values, gradients, budgets, memory, series, attempts,
 * reproduce, reproduce_options}. The four arrays, and those of the series, only with `samples`.
 * Seeds and numbers of allocations are texts: they may be larger than what a JSON reader takes as a
 * number. Owned by the caller; NULL with yp_last_error() set. */
cJSON *ypi_document_of_result(sqlite3 *db, const char *result_id, bool samples);

/* The same for many results, with statements that stay ready between them. To be closed before the
 * history is; NULL may be closed, too. */
struct ypi_documents *ypi_documents_open(sqlite3 *db) __attribute__((returns_nonnull));
cJSON *ypi_documents_read(struct ypi_documents *documents, const char *result_id, bool samples);
void ypi_documents_close(struct ypi_documents *documents);

/* The member "run" of the above alone. */
cJSON *ypi_document_of_run(sqlite3 *db, const char *run_id);

/* Which results are meant: those for which all that is given holds; NULL and 0 are not given. */
struct ypi_filter {
    const char *run;            /* UUID */
    const char *id;             /* part of a case's id */
    const char *mark, *keyword; /* of -m and -k */
    const char *device;         /* "cpu", "cuda" */
    const char *outcome;
    const char *machine;  /* begin of its fingerprint, or part of its processor's or host's name */
    const char *commit;   /* begin of its hash */
    double since, before; /* when the run began: then or later; earlier */
};

/* False after telling stderr that `mark` or `keyword` is malformed. */
bool ypi_filter_is_right(const struct ypi_filter *filter);

bool ypi_filter_is_empty(const struct ypi_filter *filter);

/* An array of runs, newest first, each with the array "results", newest first, which have the
 * listed fields, "failure" and "measurement" (the first of each). `limit`: the number of results;
 * -1: all. `attempts`: the fresh processes that confirm a case or fail its allocations, too. A run
 * without any result is there unless the filter asks for something of a case or result. Owned by
 * the caller; NULL with yp_last_error() set. */
cJSON *ypi_runs_load(sqlite3 *db, const struct ypi_filter *filter, int limit, bool attempts);

/* Gives each row of SELECT `columns`, as ypi_store_rows() makes it, to `take`, oldest result first,
 * until that returns false: a row for each measurement of a result that is meant, and one for each
 * result that has none. The columns may speak of `run`, `r` (result), `c` (test_case) and `m`
 * (measurement). */
enum yp_status ypi_results_each(sqlite3 *db, const struct ypi_filter *filter, const char *columns,
                                bool attempts, bool (*take)(void *arg, const cJSON *row),
                                void *arg);

/* The other results of the same run, case and repeat, by their attempts. Owned by the caller; NULL
 * with yp_last_error() set. */
cJSON *ypi_attempts_load(sqlite3 *db, const char *result_id);
/* The same by a statement that stays ready: *ready is made when it is NULL; the caller finalizes
 * it.
 */
cJSON *ypi_attempts_read(sqlite3 *db, const char *result_id, sqlite3_stmt **ready);

struct ypi_selection {
    const char *mark, *keyword; /* of -m and -k; NULL: not given */
    const char **ids;
    int id_count;
    bool absent_too; /* an id that the history does not have is no mistake */
};

/* The cases that are meant, in the order of their ids: an array of {id, test_group, device, tags}.
 * *right is false after telling stderr what is malformed, or which id none has. Owned by the
 * caller; NULL with yp_last_error() set. */
cJSON *ypi_cases_load(sqlite3 *db, const struct ypi_selection *selection, bool *right);

/* What `word` names: "last", the newest result; a case's id, its newest result; the begin of a UUID
 * of a result or a run, from four digits on; the end of a case's id, which a file's name and all
 * after it are; or any part of one: tried in this order, and attempts are found by their UUIDs
 * only. An array of {id, kind: "result" or "run", label}: empty where it names nothing; several
 * where it could be each, `*as` "end of several ids" or the like. Owned by the caller; NULL with
 * yp_last_error() set. */
cJSON *ypi_named(sqlite3 *db, const char *word, const char **as);
/* Whether it has enough digits to name a result by its UUID, and nothing else. */
bool ypi_may_begin_uuid(const char *word);
/* Tells stderr that `rows` are none, or too many. */
void ypi_print_not_named(const char *word, const cJSON *rows, const char *as);

/* -- runs that are going on ----------------------------------------------------------------------
 */

/* What can be seen of a run's directory beside the history. Looking changes nothing in it. */
enum ypi_run_life {
    YPI_RUN_WITHOUT, /* it has none: the run is over, or it was never here */
    YPI_RUN_DEAD,    /* nobody holds it: the run was killed */
    YPI_RUN_ALIVE,
    YPI_RUN_CLOSED, /* another user's */
};
enum ypi_run_life ypi_run_life(const char *history, const char *run);

/* The cases of a run in its order: an array of {device, id}, a repeated case several times. Owned
 * by the caller; NULL: they cannot be read. */
cJSON *ypi_run_plan(const char *history, const char *run);

/* The cases that have a process now: an array of {number (in the plan, from 1), pid (0: it begins),
 * seconds (since its setup began), stage: "setup", "body", "teardown" or "", failures,
 * measurements: [{name, unit, items, flops, bytes, median, count}] (those that are over), state
 * (of the file of its messages), began (monotonic seconds)}. `before`: what this gave the last
 * time, with what the caller has added; of a case whose state is the same it is copied, and only
 * the seconds are new. NULL: nothing. Owned by the caller. */
cJSON *ypi_run_now(const char *history, const char *run, const cJSON *before);

/* -- histories put together, and made smaller -------------------------------------------------- */

struct ypi_imported {
    long long runs_new, runs_completed, runs_there; /* completed: went on, or ended, there alone */
    long long results_new, results_there;
    long long gates;    /* new */
    long long ceilings; /* new, or newer than those that were here */
};

/* Adds what the history `from` has and that at `into` has not, which is created where there is no
 * such file; all or nothing. `from` stays as it is; one of an older version is read through an
 * upgraded copy. YP_IO where it is damaged, of a newer version, no history, or that at `into`. */
enum yp_status ypi_history_import(const char *into, const char *from, struct ypi_imported *out);

/* The same of many, which together take less time than one by one. What is wrong with one keeps
 * none of the others away. */
struct ypi_import_source {
    const char *path;
    enum yp_status status;      /* this and all below are set */
    char *problem;              /* NULL with YP_OK; owned by the caller */
    struct ypi_imported counts; /* 0 where it was not taken */
};
void ypi_history_import_all(const char *into, struct ypi_import_source *sources, int count);

struct ypi_pruning {
    struct ypi_filter filter;
    int keep_last;       /* of each case on each machine this many stay; 0: not asked for */
    double older_than;   /* only runs that began before; 0: not asked for */
    bool samples;        /* drops their samples alone */
    const char *history; /* the path, where the directories of runs that are going on are */
};

struct ypi_pruned {
    long long results, runs, cases; /* results: that lost their samples, when only those go */
    long long gates;
};

/* Deletes results that match, the runs and cases that have none left, or samples; and gates, where
 * nothing but their age is asked for. Of a run that is going on nothing is touched. A part at a
 * time, so that a suite may store results meanwhile; what was deleted when it is killed stays
 * deleted, and nothing refers to it. With `dry_run`, for which reading is enough, only counts. */
enum yp_status ypi_history_prune(sqlite3 *db, const struct ypi_pruning *what, bool dry_run,
                                 struct ypi_pruned *out);

/* Gives the room of what was deleted back to the file system. *busy: another process has the file
 * open, and it was left as it is. */
enum yp_status ypi_history_shrink(sqlite3 *db, bool *busy);

/* -- gates ------------------------------------------------------------------------------------- */

/* All or nothing. */
enum yp_status ypi_gate_store(sqlite3 *db, struct ypi_gate_record *gate,
                              const struct ypi_comparison_record *list, int count);
/* Those whose UUIDs begin with `prefix`, newest first, `limit` at most: an array of rows, each with
 * `worse`, the number of comparisons that its exit code is from. Owned by the caller; NULL with
 * yp_last_error() set. */
cJSON *ypi_gates_load(sqlite3 *db, const char *prefix, int limit);
/* The comparisons of one in its order, the same way. */
cJSON *ypi_gate_comparisons(sqlite3 *db, const char *id);

/* -- ceilings -------------------------------------------------------------------------------- */

/* Puts them in the place of all that is stored of this machine. */
enum yp_status ypi_ceilings_store(sqlite3 *db, const char *machine, const struct ypi_figure *list,
                                  size_t count);
/* All that is stored of it, an array of rows; owned by the caller. NULL with yp_last_error() set.
 */
cJSON *ypi_ceilings_load(sqlite3 *db, const char *machine);
struct ypi_figure ypi_ceiling_of(const cJSON *row);
cJSON *ypi_ceiling_document(const struct ypi_figure *figure); /* owned by the caller */

/* -- what stored names and figures mean ------------------------------------------------------ */

const char *ypi_store_outcome(int i); /* "passed", ...; NULL: there are no more */

/* An element of a document's "budgets" as it was declared, with the texts of the document. */
struct yp_budget ypi_store_budget(const cJSON *budget);
/* Of an element of a document's "budgets": the budget as a sentence, and a figure in its unit.
 * `unit`: that of the measurement or value that it names. */
void ypi_store_budget_text(char out[256], const cJSON *budget, const char *unit);
void ypi_store_budget_figure(char out[128], const cJSON *budget, double value, const char *unit);
bool ypi_store_budget_measured(const cJSON *budget); /* whether there is a figure */

/* What the kind of such an element says of its figures. */
struct ypi_figure_kind {
    bool at_least, speed, any_sign;
    bool exact;    /* bytes and counts */
    bool ordinal;  /* places in a list */
    bool relative; /* parts of a baseline */
};
struct ypi_figure_kind ypi_store_budget_kind(const cJSON *budget);
/* ",min share,min rate,...,": the kinds of speed, for a query. The caller frees. */
char *ypi_store_speed_kinds(void);

/* Its key in a file of budgets; NULL: what it holds on one machine only may not stand there. The
 * caller frees. */
char *ypi_store_budget_key(const cJSON *budget);

/* NVML's reasons for a lower clock in words, "its power cap, heat"; "" where there is none of them.
 * Returns whether one of them alone is a slowdown, which the power cap is not. */
bool ypi_store_slowed(double reasons, char by[128]);

/* -- files of budgets ------------------------------------------------------------------------ */

enum ypi_limit_done {
    YPI_LIMIT_SAME,    /* it stood there already */
    YPI_LIMIT_CHANGED, /* a number in the place of another */
    YPI_LIMIT_ADDED,
    YPI_LIMIT_ABSENT, /* the file does not have it, and nothing was to be added */
    YPI_LIMIT_UNFIT,  /* none of its kind may stand in a file */
};

struct ypi_limit {
    const char *title;   /* of the section: the case's id, or that and an instruction set */
    const cJSON *budget; /* an element of a document's "budgets" */
    double limit;        /* finite */
    bool optional;       /* written where the file has it already, and not added */
    enum ypi_limit_done done;
};

/* Puts limits into the file at `path` and tells of each what was done. Comments and order stay, and
 * so does what it has of other cases; a new section stands at its place by id where those that are
 * there are in order, else at the end. With `add`, or where there is no such file, it takes what it
 * lacks. The file is replaced at once or stays as it is; nothing is written without a change. YP_IO
 * where it cannot be; YP_INVALID after telling stderr what is wrong in the file. */
enum yp_status ypi_limits_write(const char *path, struct ypi_limit *list, int count, bool add);
