/* What a run is asked to do: yieldpoint.ini, then YIELDPOINT_OPTIONS, then the command line. */
#pragma once

#include "base/options/option.h"
#include "device/cpu/binding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/isa.h>

enum ypi_exit {
    YPI_EXIT_OK = 0,
    YPI_EXIT_FAILED = 1,
    YPI_EXIT_INTERRUPTED = 2, /* or an error at collection */
    YPI_EXIT_INTERNAL = 3,
    YPI_EXIT_USAGE = 4,
    YPI_EXIT_NOTHING = 5,
};

enum ypi_speed {
    YPI_SPEED_JUDGE = 0,
    YPI_SPEED_RECORD, /* measured and stored, not judged */
    YPI_SPEED_OFF,    /* bodies run, nothing is timed */
};

/* --baseline; in the order of its choices. */
enum ypi_baseline_mode {
    YPI_BASELINE_JUDGE = 0,
    YPI_BASELINE_REPORT, /* a regression is a note */
    YPI_BASELINE_OFF,
};

/* What -r may ask for, apart from notes: failed, Error, skipped, xfailed, Xpassed, passed. */
#define YPI_REPORT_LETTERS "fEsxXp"

/* --tb: how much of a failure is printed; in the order of its choices. */
enum ypi_traceback {
    YPI_TRACEBACK_AUTO = 0, /* all of it */
    YPI_TRACEBACK_LONG,
    YPI_TRACEBACK_SHORT, /* the reasons, and how to run it again */
    YPI_TRACEBACK_LINE,  /* the first reason */
    YPI_TRACEBACK_NATIVE,
    YPI_TRACEBACK_NO,
};

/* --color; in the order of its choices. */
enum ypi_colouring { YPI_COLOUR_AUTO, YPI_COLOUR_YES, YPI_COLOUR_NO };

/* --keep-tmp: whose directories stay; in the order of its choices. */
enum ypi_keep_tmp { YPI_KEEP_TMP_NONE = 0, YPI_KEEP_TMP_FAILED, YPI_KEEP_TMP_ALL };

struct ypi_set {
    char *axis;
    char *value;
    bool not_made; /* a test is over types, and this is none of them */
    bool used;     /* some collected test has the axis */
};

/* An option that was given, by which text and where. */
struct ypi_given {
    const struct ypi_option *option;
    char *text;
    char *where;
};

/* Of a reporter (harness/report/reporter.h), as its option has it. */
enum { YPI_REPORTERS_MAX = 16 };
union ypi_asked {
    char *path; /* NULL: not asked for */
    bool flag;
};

struct ypi_options {
    char *mark;    /* -m; NULL: all */
    char *keyword; /* -k; NULL: all */
    char **ids;    /* positional: files, files::tests, whole ids */
    char **places; /* of each, where it is a path from the working directory: that from the root,
                      or from behind suites/, as ids have it; NULL: it is none */
    int id_count;
    char **deselected; /* --deselect: files, files::tests, whole ids */
    int deselected_count;
    char **ignored; /* --ignore: files and directories */
    int ignored_count;
    bool last_failed;  /* only what failed when it was run last */
    bool failed_first; /* all, but that first */
    bool stepwise;     /* from the first of that on, up to the first failure */
    bool shuffled;
    uint64_t shuffle;       /* seed of the order */
    int shard, shard_count; /* from 1; 0: all cases */
    char *only;             /* a file of ids: of the selected cases those; NULL: all */
    char *shard_by;         /* the history whose durations divide them; NULL: by their number */
    char **resumed;         /* --resume: histories; what has a result there is left out */
    int resumed_count;
    bool collect_only;
    int verbose;        /* -v less -q */
    bool no_capture;    /* -s */
    bool gdb;           /* one case, under the debugger */
    bool no_fork;       /* cases in the runner's own process */
    int max_failures;   /* -x, --maxfail; 0: no limit */
    char *report;       /* -r: letters of YPI_REPORT_LETTERS, in the order of the short summary */
    bool report_output; /* its P: with what passed cases wrote */
    bool no_fold_skipped, disable_warnings, no_header, no_summary;
    enum ypi_traceback traceback;
    enum ypi_colouring colouring;
    uint64_t seed;
    char *device; /* auto, all, or a device's name */
    struct ypi_set *sets;
    int set_count;
    int repeat;
    double timeout;                             /* overrides every case's; 0: as declared */
    char *history;                              /* path of the database */
    union ypi_asked reports[YPI_REPORTERS_MAX]; /* of each reporter, in their order */
    char *turns;   /* path of a socket: see harness/measure/turns.h; NULL: none */
    char *budgets; /* whole path of a file in place of those of tests; NULL: those */
    enum ypi_baseline_mode baseline;
    char *baseline_file; /* whole path, in place of that of [baseline]; NULL: that one */
    enum ypi_speed speed;
    int noisy_fails;    /* 0 or 1 */
    double max_seconds; /* that a measurement takes at most, whatever it asks for; 0: that */
    double slowdown;    /* factor on every timed sample, 1 or more; 1: none */
    int confirmations; /* fresh processes that a failing budget of speed or resident memory is asked
                          of */
    bool instructions; /* count them by Callgrind instead of timing */
    bool audit;        /* count a device's work by CUPTI instead of timing */
    uint64_t fail_allocation; /* the accounted allocation to refuse; 0: none */
    bool fail_each;           /* one after the other */
    enum ypi_bind bind;
    char *cpus; /* processors to use: "0-3,8"; NULL: all */
    bool isa_given;
    enum yp_isa isa;              /* the highest to use, if given */
    uint64_t memory_limit;        /* bytes of accounted memory a case; 0: none */
    uint64_t device_memory_limit; /* the same of the accelerator's memory */
    uint64_t output_limit;        /* bytes a case may write */
    enum ypi_keep_tmp keep_tmp;   /* directories of yp_tmp_path() */
    int process_limit;            /* processes and threads a case may have at once */
    char *launcher;               /* of cases of several ranks: auto, srun, or an mpirun */
    bool pack;                    /* several ranks on one node of an allocation, if they fit */
    int jobs;                     /* cases that time nothing, side by side */
    int durations;                /* slowest phases to list; -1: none, 0: all */
    double durations_min; /* seconds: shorter ones are not listed; 0: 0.005, under -vv none */

    char *config, *rootdir;  /* -c and --rootdir; NULL: searched for */
    char *file;              /* whole path of the file that was read; NULL: there is none */
    char *root;              /* whole path of the project */
    const char *root_why;    /* "the directory of the file" */
    char *history_from;      /* "yieldpoint.ini, [yieldpoint]"; NULL: no file says */
    char *history_why;       /* where no option says: ypi_project_history_why() */
    struct ypi_given *given; /* in the order in which they were read */
    int given_count;
    char **tags;     /* registered ones, the built-in first */
    char **tag_help; /* what each is for */
    int tag_count, built_in_tags;
    bool strict; /* tags that are not registered are errors: always */
    bool help, version, markers, show_config;
};
