/* yieldpoint: hands its words on to the command that the first one names. */
#include "base/options/arguments.h"
#include "base/text/output.h"
#include "cli/init/init.h"
#include "gate/gate.h"
#include "launch/launch.h"
#include "machine/machine.h"
#include "models/graph/command/command.h"
#include "models/lm/command/command.h"
#include "models/refiner/command/command.h"
#include "reports/reports.h"
#include "synth/command/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef YPI_VERSION
#define YPI_VERSION "unknown" /* compiled otherwise than by meson.build */
#endif

static const struct command {
    const char *name;
    const char *usage;
    const char *help;
    int (*run)(int argc, char **argv);
    bool helps_itself;
} commands[] = {
    {"init", "[--build meson | cmake | make] [--ci github | gitlab] [--folder DIR] [--only-ci]",
     "writes a first suite into an existing project: DIR/suite.c, its build file, yieldpoint.ini\n"
     "      and, with --ci, jobs that run it. Changes no existing file; prints what to run next;\n"
     "      --folder: DIR, else perf; --build: else that of the project's own build file;\n"
     "      --only-ci: writes the jobs alone",
     ypi_init_command, false},
    {"history",
     "[-n N] [--id PART] [-m EXPR] [-k EXPR] [--outcome NAME] [--device cpu | cuda]\n"
     "      [--machine PREFIX] [--commit PREFIX] [--since TIME] [--until TIME]\n"
     "      [--attempts] [--json] [-v]\n"
     "  yieldpoint history import FILE...\n"
     "  yieldpoint history prune [--keep-last N] [--older-than TIME] [--samples] [--dry-run]\n"
     "  yieldpoint history export --csv FILE | --json FILE [--columns NAME]\n"
     "  yieldpoint history export --openmetrics FILE | --tensorboard DIR [--log FILE]",
     "what ran, newest first: 20 results, or N, of those for which all that is given holds; TIME:\n"
     "      2026-11-22, 2026-11-22T17:30 of UTC, or 12h, 7d ago; --machine: its fingerprint, or a\n"
     "      part of its processor's or host's name; --attempts: with the fresh processes that\n"
     "      confirmed a case or had its allocations refused;\n"
     "      import: other histories' rows into this one, which is made where there is none;\n"
     "      prune: deletes what matches, or its samples alone; --keep-last: but the newest N of "
     "each\n"
     "      case and machine;\n"
     "      export: a row for each measurement; -: the standard output; --columns: all,\n"
     "      tile-sweep or model-sweep; --openmetrics: the newest result of each case and machine;\n"
     "      --tensorboard: event files; --log: a training run's log instead of the history; prune\n"
     "      and export take what selects results, too",
     ypi_report_history, false},
    {"watch", "[RUN] [--history FILE] [-v]",
     "a suite that is running, from another terminal: cases, rate, memory, time left, failures;\n"
     "      ends as the run ends, with its exit code, 2 if it was killed; RUN: the begin of its "
     "UUID\n"
     "      or a part of its command line, instead of the newest",
     ypi_report_watch, false},
    {"show", "[ID | PREFIX | last] [--samples] [--json | --csv] [-v]",
     "all that is stored of one result: the newest one of a case's id or of a part of it, or the\n"
     "      one whose UUID begins so; of a run, if it is a run's; else of the newest result;\n"
     "      --csv: what its accelerator did over time",
     ypi_report_show, false},
    {"report",
     "[RUN...] [-m EXPR] [-k EXPR] [ID...] [--against RUN] [--output FILE.html] [--plots DIR]\n"
     "      [--trace FILE] [--markdown FILE] [--text] [--csv FILE] [--limit SIZE] [--config FILE] "
     "[-v]",
     "what a run came to: what failed, with budgets and the line that runs it again, what changed\n"
     "      since the run before of the same machine, or --against RUN, what passed, and advice; "
     "runs\n"
     "      are named as for compare, the newest is meant else; --output: one page that needs no\n"
     "      network; --plots: SVG and PNG files; --trace: for Perfetto; --markdown: for a merge\n"
     "      request, 60,000 characters at most; --text: on a terminal, the default; -: the "
     "standard\n"
     "      output; --csv: a table of tile-sweep or model-sweep, plotted too, also without a "
     "history;\n"
     "      --config: recommended configurations as an ini file, of at most --limit 16G",
     ypi_report_command, false},
    {"budgets",
     "[-m EXPR] [-k EXPR] [ID...] [--new] [--suggest] [--error 1%] [--write FILE]\n"
     "      [--slack SLACK] [--isa NAME] [--check SLACK] [--json] [-v]\n"
     "  yieldpoint budgets --probe PROGRAM [ID...] [its options] [--slowdown 2x]",
     "each case's budgets beside what was measured: limit, typical value, spread, slack, the\n"
     "      regression that they would notice; --new: also shares and peaks without a budget;\n"
     "      --suggest: a limit that a good run misses at most at the rate of --error; --slack "
     "1.5:\n"
     "      limits of speed leave at least that; --isa NAME: of runs with that option alone, "
     "which\n"
     "      --write puts into [ID NAME]; --write: into a file of budgets; --check: fails when a "
     "limit\n"
     "      allows SLACK times more than is typical;\n"
     "      --probe: runs a suite with all that it times taking twice as long and lists the cases\n"
     "      that stay green",
     ypi_report_budgets, false},
    {"baseline",
     "[-m EXPR] [-k EXPR] [ID...] [--update] [--write FILE] [--file FILE] [--json] [-v]",
     "what kinds of machines reached for each case, which later runs are compared with;\n"
     "      --update: takes over what was measured since, into [baseline] file of yieldpoint.ini "
     "or\n"
     "      --file, else into the file beside the history; --write: into another file, which a\n"
     "      project may commit",
     ypi_report_baseline, false},
    {"gate",
     "--base REV | --baseline RUNS [--head REV] [-m EXPR] [-k EXPR] [ID...] [--threshold 3%]\n"
     "      [--error 1%] [--budget TIME] [--instructions] [--speed judge|off] [--always-time]\n"
     "      [--options WORDS] [--head-options WORDS] [--tests PATH] [--missing report|fail]\n"
     "      [--json FILE] [--markdown FILE] [-v]",
     "builds two revisions and says whether the head is worse than the base: slower by more than\n"
     "      the threshold, with more memory, other values or failures; --head WORKTREE: what is\n"
     "      not committed; --baseline RUNS: stored runs, named as for compare, and be they of\n"
     "      another machine, instead of a base; --budget 5m: the time for all cases;\n"
     "      --instructions: counts them too, by Callgrind; --speed off: nothing is timed;\n"
     "      --always-time: times also where both builds are the same; --missing fail: a case that "
     "only the base has is worse; --options: "
     "words\n"
     "      for the suites;\n"
     "      --tests: test sources from outside the revisions, {tests} in the commands that build;\n"
     "      --head-options: words for the head alone, such as --slowdown=1.05, to try the gate",
     ypi_gate_command, false},
    {"gates", "[-n N] | last | PREFIX [--json FILE] [--markdown FILE] [-v]",
     "what earlier gates found, newest first: 20, or N; one of them whole, as it was told",
     ypi_gates_command, false},
    {"bisect",
     "ID --good REV --bad REV [--threshold 3%] [--error 1%] [--budget TIME]\n"
     "      [--options WORDS] [--tests PATH] [--follow QUANTITY] [--faster] [--first-parent]\n"
     "      [--json FILE] [--markdown FILE] [-v]",
     "finds the commit that made a case slower, larger or wrong: each step runs the middle one of\n"
     "      those left beside good, by the gate's statistics, and skips what does not build or "
     "lacks\n"
     "      the case; --budget 5m: the time for all steps; --first-parent: merges as a whole;\n"
     "      --follow time, instructions, 'value of NAME', ...: that alone; --faster: the commit "
     "that\n"
     "      made it better; --tests: as for the gate",
     ypi_bisect_command, false},
    {"compare",
     "A B [-m EXPR] [-k EXPR] [ID...] [--threshold 3%] [--error 1%] [--missing report|fail]\n"
     "      [--json FILE] [--markdown FILE] [-v]",
     "stored runs beside other ones, by the gate's words and exit codes: A and B are a run's\n"
     "      UUID, 'last', 'last~1', a commit (with '-dirty' behind it: its runs with uncommitted\n"
     "      changes) or the file of a history; of two machines by shares of what bounds them",
     ypi_compare_command, false},
    {"reproduce",
     "RESULT [--rev COMMIT] [--tests PATH] [--threshold 3%] [--error 1%] [--json FILE]\n"
     "      [--markdown FILE] [-v]",
     "runs a stored result again, with its seed, axes, device and options, and shows old and new\n"
     "      side by side with all that differs in the environment; a result is named as for show;\n"
     "      --rev stored: builds the commit that it is of, --rev REV: another one; --tests: as "
     "for\n"
     "      the gate",
     ypi_reproduce_command, false},
    {"trend",
     "[-m EXPR] [-k EXPR] [ID...] [--machine PREFIX] [--error 1%] [--min-change 2%] [--json] [-v]",
     "where the stored times and memory of cases changed, between which runs and commits, and\n"
     "      whether they drift, on the machine of the newest result or the one whose fingerprint\n"
     "      begins with PREFIX; --error: false alarms in all of it; -v: what is too short, too",
     ypi_trend_command, false},
    {"launch",
     "[--slurm] [--nodes N] [--nodes-per-job N] [--shards N] [--partition P] [--gres gpu:1]\n"
     "      [--shared] [--sbatch WORDS] [--history FILE] [--keep] SUITE [its options]\n"
     "  yieldpoint launch --attach FOLDER | JOB [--keep]",
     "runs a suite on a cluster's nodes as an array of Slurm's jobs, which take equally long by\n"
     "      the history, and puts all results into the history; --nodes: so many at once,\n"
     "      else one job's; --nodes-per-job: for cases of several ranks;\n"
     "      --shards: as many jobs as nodes, or more; --shared: a node may have other jobs "
     "beside;\n"
     "      --sbatch: words for sbatch; --keep: the jobs' files stay though all went well;\n"
     "      --attach: waits for a launch whose command was killed",
     ypi_launch_command, false},
    {"machine", "[--again] [--json]",
     "what this machine is made of and what it was measured to do at most; --again: measured "
     "anew,\n"
     "      which takes about a minute",
     ypi_machine_command, false},
    {"synth", "--output PATH --height N --width N --channels N [options]",
     "makes synthetic hyperspectral cubes, ENVI or .npy, with their truth; `yieldpoint synth "
     "--help`\n"
     "      tells the options",
     ypi_synth_command, true},
    {"plays", "--output DIR --plays N [--weeks N] [options]",
     "makes synthetic plays of American football, frame by frame, as CSV in the columns of the "
     "NFL\n"
     "      Big Data Bowl; `yieldpoint plays --help` tells the options",
     ypi_plays_command, true},
#ifdef YPI_MODELS
    {"lm", "plan [options]\n  yieldpoint lm --tokens FILE.npy [options]",
     "what a Transformer language model would take of memory, by kind; or one pass over given\n"
     "      tokens, with weights in and logits and gradients out as .safetensors; `yieldpoint lm\n"
     "      --help` tells the options",
     ypi_lm_command, true},
    {"refiner",
     "[--tile-sizes N,...] [--batch-sizes N,...] [--mode inference | train] [--output FILE]\n"
     "      [options]\n"
     "  yieldpoint refiner --input FILE.npy | --cube FILE [options]\n"
     "  yieldpoint refiner plan [options]",
     "time and memory of the refiner's network by sizes of tiles and batches, as a table and as\n"
     "      rows of CSV; or one pass over given images, with weights in and results out as\n"
     "      .safetensors; `yieldpoint refiner --help` tells the options",
     ypi_refiner_command, true},
    {"graph",
     "plan [options]\n  yieldpoint graph --graphs FILE [options]\n"
     "  yieldpoint graph train --data DIR [options]",
     "what the graph trajectory model would take of memory, by kind; or one pass over given\n"
     "      graphs, with weights in and mixtures, losses and gradients out as .safetensors; or\n"
     "      its training on plays; `yieldpoint graph --help` tells the options",
     ypi_graph_command, true},
#endif
};

#define COMMANDS (sizeof commands / sizeof *commands)

static void tell(const struct command *c)
{
    printf("  yieldpoint %s %s\n      %s\n", c->name, c->usage, c->help);
}

static const char *const shared_options =
    "  --history FILE  the history to read; else .yieldpoint/history.db of the project that the\n"
    "                  working directory is in, else the nearest above it: -v tells which and\n"
    "                  why; machine: the one to keep it in, else a suite's\n";

static int help(void)
{
    puts("yieldpoint: reads the history of stress and performance suites, and makes their data\n");
    for (size_t i = 0; i < COMMANDS; i++)
        tell(&commands[i]);
    printf("\n%s", shared_options);
    puts(
        "  --version       the version\n"
        "  --help          this; after a command: of that command alone\n"
        "\n"
        "Exit codes of gate: 0 nothing worse, 1 something is worse or changed, 2 interrupted, 3 a\n"
        "build or something else failed, 4 wrong command line, 5 no case is selected, 6 cannot "
        "say\n"
        "for some case. Of bisect: 0 it is found, 1 nothing is worse, 2 to 5 the same, 6 one of a "
        "set\n"
        "of commits, or cannot say. Of launch: those of a suite, 3 also where cases were not run.\n"
        "Of the others: 0 all right, 1 nothing matched or a budget is "
        "loose, 3 the "
        "history or the\n"
        "output cannot be read or written, 4 wrong command line, 5 no case is selected, 130 or "
        "143\n"
        "synth, plays or refiner was interrupted by SIGINT or SIGTERM.");
    return fflush(stdout) == 0 ? YPI_COMMAND_OK : YPI_COMMAND_FILE;
}

static int help_of(const struct command *c)
{
    tell(c);
    printf("\n%s\n`yieldpoint --help` has all commands, and what their exit codes mean.\n",
           shared_options);
    return fflush(stdout) == 0 ? YPI_COMMAND_OK : YPI_COMMAND_FILE;
}

/* The command of that name, or NULL. */
static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static bool asks(const char *word, const char *long_name, const char *short_name)
{
    return strcmp(word, long_name) == 0 || strcmp(word, short_name) == 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("yieldpoint: which command? `yieldpoint --help` lists them\n", stderr);
        return YPI_COMMAND_USAGE;
    }
    if (asks(argv[1], "--version", "-V")) {
        puts("yieldpoint " YPI_VERSION);
        return fflush(stdout) == 0 ? YPI_COMMAND_OK : YPI_COMMAND_FILE;
    }
    const struct command *command = find(argv[1]);
    if (command != NULL && command->helps_itself)
        return command->run(argc - 1, argv + 1);
    /* After a command too, but not where "--" has ended the options. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (asks(argv[i], "--help", "-h"))
            return command != NULL ? help_of(command) : help();
    if (command != NULL)
        return command->run(argc - 1, argv + 1);
    ypi_usage_error(argc - 1, argv + 1, 0, "%s: there is no such command", argv[1]);
    return YPI_COMMAND_USAGE;
}
