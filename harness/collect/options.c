#include "harness/collect/options.h"

#include "base/simd/openblas.h"
#include "base/text/text.h"
#include "device/kind.h"
#include "harness/collect/collect.h"
#include "harness/collect/program_options.h"
#include "harness/collect/words.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- what is no plain value ---------------------------------------------------------------- */

static bool is_device(const char *text)
{
    return ypi_has_word("auto all", text, strlen(text)) || ypi_device_is_name(text);
}

static bool is_cpus(const char *text)
{
    unsigned char named[YPI_CPUS_MAX];
    return ypi_cpus_parse(text, named, YPI_CPUS_MAX);
}

static char *more_words(void *values, const struct ypi_option *option, const char *text)
{
    (void)text;
    ((struct ypi_options *)values)->verbose += option->letter == 'v' ? 1 : -1;
    return NULL;
}

static char *exit_first(void *values, const struct ypi_option *option, const char *text)
{
    (void)option, (void)text;
    ((struct ypi_options *)values)->max_failures = 1;
    return NULL;
}

/* -rfs; capitals for what pytest has them for. */
static char *read_report(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    struct ypi_text letters = {0};
    o->report_output = false;
    for (const char *c = text; *c != '\0'; c++) {
        const char *more = *c == 'a' ? "sxXEf" : *c == 'A' ? "psxXEf" : *c == 'N' ? "" : NULL;
        const char one[] = {(char)(*c == 'F' || *c == 'S' ? *c - 'A' + 'a' : *c), '\0'};
        if (more != NULL) {
            letters.length = 0;
            ypi_text_add(&letters, "%s", more);
        } else if (*c != 'w' && *c != 'P' && strchr(YPI_REPORT_LETTERS, one[0]) == NULL) {
            free(ypi_text_take(&letters));
            return ypi_strdup("letters of fEsxXpPwaAN: failed, error, skipped, xfailed, xpassed, "
                              "passed, with output, notes, all but passed, all, none");
        } else if (*c != 'w' && *c != 'P' &&
                   (letters.length == 0 || strchr(letters.data, one[0]) == NULL)) {
            ypi_text_add(&letters, "%s", one);
        }
        o->report_output = *c == 'P' || *c == 'A' || (o->report_output && more == NULL);
    }
    free(o->report);
    o->report = ypi_text_take(&letters);
    return NULL;
}

static char *write_report(const void *values, const struct ypi_option *option)
{
    (void)option;
    return ypi_strdup(((const struct ypi_options *)values)->report);
}

/* Several times: all of them. */
static char *read_deselected(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    o->deselected = ypi_list_add(o->deselected, o->deselected_count++, ypi_strdup(text));
    return NULL;
}

static char *read_ignored(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    o->ignored = ypi_list_add(o->ignored, o->ignored_count++, ypi_strdup(text));
    return NULL;
}

static bool is_readable(const char *path)
{
    return access(path, R_OK) == 0;
}

static char *read_resumed(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    if (!is_readable(text))
        return ypi_strdup("a history that is there and may be read");
    o->resumed = ypi_list_add(o->resumed, o->resumed_count++, ypi_strdup(text));
    return NULL;
}

static char *read_shuffle(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    o->shuffled = ypi_parse_u64(text, &o->shuffle);
    return o->shuffled ? NULL : ypi_strdup("a whole number from 0 to 2^64-1");
}

/* "2/5" */
static char *read_shard(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    enum { MOST = 1000 };
    long long number = 0;
    long long count = 0;
    const char *slash = strchr(text, '/');
    char *before = ypi_format("%.*s", (int)strcspn(text, "/"), text);
    bool ok = slash != NULL && ypi_parse_i64(before, &number) && ypi_parse_i64(slash + 1, &count) &&
              number >= 1 && number <= count && count <= MOST;
    free(before);
    o->shard = ok ? (int)number : 0;
    o->shard_count = ok ? (int)count : 0;
    return ok ? NULL : ypi_strdup("which of how many, such as 2/5");
}

static char *read_set(void *values, const struct ypi_option *option, const char *text)
{
    (void)option;
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return ypi_strdup("AXIS=VALUE");
    char *axis = ypi_format("%.*s", (int)(equals - text), text);
    ypi_options_set_axis(values, axis, equals + 1);
    free(axis);
    return NULL;
}

static char *read_budgets(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    char *whole = text[0] != '\0' ? ypi_whole_path(text) : NULL;
    if (whole == NULL)
        return ypi_strdup("the path of a file");
    free(o->budgets);
    o->budgets = whole;
    return NULL;
}

static char *read_rootdir(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    struct stat found;
    if (stat(text, &found) != 0 || !S_ISDIR(found.st_mode))
        return ypi_strdup("a directory that is there");
    free(o->rootdir);
    o->rootdir = ypi_strdup(text);
    return NULL;
}

static char *write_path(const void *values, const struct ypi_option *option)
{
    const char *path = *(char *const *)((const char *)values + option->offset);
    return path != NULL ? ypi_strdup(path) : NULL;
}

static char *read_isa(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    o->isa_given = yp_isa_from_name(text, &o->isa);
    return o->isa_given ? NULL : ypi_strdup("baseline, avx2, avx512 or amx");
}

static char *write_isa(const void *values, const struct ypi_option *option)
{
    const struct ypi_options *o = values;
    (void)option;
    return o->isa_given ? ypi_strdup(yp_isa_name(o->isa)) : NULL;
}

static char *read_refused(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    o->fail_each = strcmp(text, "each") == 0;
    o->fail_allocation = 0;
    if (o->fail_each || (ypi_parse_u64(text, &o->fail_allocation) && o->fail_allocation > 0))
        return NULL;
    return ypi_strdup("a whole number from 1, or each");
}

static char *write_refused(const void *values, const struct ypi_option *option)
{
    const struct ypi_options *o = values;
    (void)option;
    return o->fail_each             ? ypi_strdup("each")
           : o->fail_allocation > 0 ? ypi_format("%" PRIu64, o->fail_allocation)
                                    : NULL;
}

/* "2x" or "2". */
static char *read_slowdown(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_options *o = values;
    (void)option;
    size_t length = strlen(text);
    char *number =
        ypi_format("%.*s", (int)(length - (length > 0 && text[length - 1] == 'x')), text);
    bool ok = ypi_parse_double(number, &o->slowdown) && isfinite(o->slowdown) && o->slowdown >= 1;
    free(number);
    return ok ? NULL : ypi_strdup("a finite factor from 1, such as 2x or 1.5x");
}

static char *write_slowdown(const void *values, const struct ypi_option *option)
{
    double factor = ((const struct ypi_options *)values)->slowdown;
    (void)option;
    return factor > 1 ? ypi_format("%.17gx", factor) : NULL;
}

/* -- the table ----------------------------------------------------------------------------- */

#define AT(kind_, field) \
    .group = GROUP, .kind = YPI_OPTION_##kind_, .offset = offsetof(struct ypi_options, field)
#define COUNT(field, min_) AT(INT, field), .min = (min_), .max = 1000000
#define READ(function) .group = GROUP, .kind = YPI_OPTION_OWN, .read = (function)

static const struct ypi_options defaults = {.device = (char[]){"auto"},
                                            .launcher = (char[]){"auto"},
                                            .repeat = 1,
                                            .slowdown = 1,
                                            .confirmations = 3,
                                            .output_limit = UINT64_C(64) << 20,
                                            .process_limit = 512,
                                            .jobs = 1,
                                            .durations = -1};

/* In the order of the help. `again`: those that change a case's data or verdicts. */
static const struct ypi_option common[] = {
#define GROUP YPI_GROUP_SELECTION
    {NULL, 'm', "EXPR", "cases whose tags fulfil EXPR: \"stress and not slow\"", AT(TEXT, mark)},
    {NULL, 'k', "EXPR", "cases whose id holds the words of EXPR", AT(TEXT, keyword)},
    {"deselect", 0, "ID", "leave out a file, a test or a case (several times)",
     READ(read_deselected)},
    {"ignore", 0, "PATH", "leave out a file or a directory (several times)", READ(read_ignored)},
    {"lf", 0, NULL, "only the cases that failed when they were run last", AT(FLAG, last_failed)},
    {"last-failed", 0, NULL, NULL, AT(FLAG, last_failed)},
    {"ff", 0, NULL, "those first, then the others", AT(FLAG, failed_first)},
    {"failed-first", 0, NULL, NULL, AT(FLAG, failed_first)},
    {"sw", 0, NULL, "stop at the first failure, and go on from there the next time",
     AT(FLAG, stepwise)},
    {"stepwise", 0, NULL, NULL, AT(FLAG, stepwise)},
    {"shard", 0, "I/N", "one of N parts of the cases, for N machines", READ(read_shard)},
    {"shard-by", 0, "HISTORY", "parts that take equally long by a history, which all N have",
     AT(PATH, shard_by)},
    {"only", 0, "FILE", "of the selected cases those whose ids stand there, one a line",
     AT(PATH, only), .check = is_readable, .allowed = "a file that is there and may be read"},
    {"resume", 0, "HISTORY", "leave out the cases that have a result there (several times)",
     READ(read_resumed)},
    {"shuffle", 0, "SEED", "in another order, the same for the same SEED", READ(read_shuffle)},
    {"co", 0, NULL, "list the cases, run none (-q: ids only, -v: budgets)", AT(FLAG, collect_only)},
    {"collect-only", 0, NULL, NULL, AT(FLAG, collect_only)},
    {"collectonly", 0, NULL, NULL, AT(FLAG, collect_only)},
#undef GROUP
#define GROUP YPI_GROUP_RUN
    {"exitfirst", 'x', NULL, "stop at the first failure", READ(exit_first)},
    {"maxfail", 0, "N", "stop after N failures (0: never)", COUNT(max_failures, 0)},
    {"seed", 0, "N", "seed of all data (0)", AT(WORD64, seed)},
    {"device", 0, "NAME", NULL, AT(TEXT, device), .check = is_device, .again = 2},
    {"set", 0, "AXIS=VALUE", "run an axis at this value instead of its own", READ(read_set)},
    {"repeat", 0, "N", "run every case N times", COUNT(repeat, 1)},
    {"timeout", 0, "SECONDS", "for every case, instead of its own", AT(REAL, timeout), .max = 1e7,
     .allowed = "seconds above 0 and up to 1e7", .again = 5},
    {"jobs", 'j', "N", "run cases that time nothing side by side (1)", COUNT(jobs, 1)},
    {"numprocesses", 'n', "N", NULL, COUNT(jobs, 1)},
    {"cpus", 0, "LIST", "processors to use: 0-3,8", AT(TEXT, cpus), .check = is_cpus,
     .allowed = "numbers of processors such as 0-3,8", .again = 8},
    {"bind", 0, "auto|none|cores", "whether threads stay on cores of their own (auto)",
     AT(CHOICE, bind), .choices = "auto none cores", .again = 9},
    {"launcher", 0, "PROGRAM", "what starts several ranks: mpirun, srun or a path (auto)",
     AT(TEXT, launcher), .again = 20},
    {"pack", 0, NULL, "cases of several ranks side by side, a node of the allocation each",
     AT(FLAG, pack), .again = 21},
    {"isa", 0, "NAME", "instructions to use at most: baseline, avx2, avx512 or amx", READ(read_isa),
     .write = write_isa, .again = 10},
    {"keep-tmp", 0, "none|failed|all", "which processes' temporary directories to keep (none)",
     AT(CHOICE, keep_tmp), .choices = "none failed all"},
    {"no-fork", 0, NULL, "run the cases in this process, without isolation or time-out",
     AT(FLAG, no_fork), .again = 16},
    {"gdb", 0, NULL, "run the one case that is selected under gdb, not timed", AT(FLAG, gdb)},
#undef GROUP
#define GROUP YPI_GROUP_SPEED
    {"speed", 0, "judge|record|off",
     "whether speed budgets may fail a case (judge); off: time nothing", AT(CHOICE, speed),
     .choices = "judge record off", .again = 14},
    {"budgets", 0, "FILE", "in place of the files that tests refer to (yp_budget_file)",
     READ(read_budgets), .offset = offsetof(struct ypi_options, budgets), .write = write_path,
     .again = 16},
    {"baseline", 0, "MODE",
     "what is worse than this kind of machine's baseline: judge, report or off (judge)",
     AT(CHOICE, baseline), .choices = "judge report off", .again = 17},
    {"baseline-file", 0, "FILE", "in place of [baseline] file of yieldpoint.ini",
     AT(PATH, baseline_file), .again = 18},
    {"noisy", 0, "fail|report", "what an undecided speed budget means (report)",
     AT(CHOICE, noisy_fails), .choices = "report fail"},
    {"confirm", 0, "N", "fresh processes asked before a budget fails (3)", COUNT(confirmations, 0)},
    {"max-seconds", 0, "SECONDS", "time no measurement for longer, for a quick run",
     AT(REAL, max_seconds), .max = 1e7, .allowed = "seconds above 0 and up to 1e7", .again = 19},
    {"slowdown", 0, "FACTOR",
     "make every timed sample take FACTOR times as long: do budgets notice?", READ(read_slowdown),
     .write = write_slowdown, .again = 15},
    {"turns", 0, "SOCKET", "time batches when told to through a socket, as `yieldpoint gate` does",
     AT(PATH, turns)},
    {"instructions", 0, NULL, "count instructions by Callgrind, time nothing",
     AT(FLAG, instructions), .again = 11},
    {"audit", 0, NULL, "count a GPU's work by CUPTI beside what is declared, time nothing",
     AT(FLAG, audit), .again = 12},
#undef GROUP
#define GROUP YPI_GROUP_LIMITS
    {"memory-limit", 0, "SIZE", "accounted memory a case may use: 64M, 2G", AT(BYTES, memory_limit),
     .again = 3},
    {"device-memory-limit", 0, "SIZE", "the same of an accelerator's: 80GB, or 4G, which is 4 GiB",
     AT(BYTES, device_memory_limit), .again = 4},
    {"output-limit", 0, "SIZE", "how much a case may write (64M)", AT(BYTES, output_limit),
     .again = 6},
    {"process-limit", 0, "N", "processes and threads a case may have (512)",
     COUNT(process_limit, 8), .again = 7},
    {"fail-allocation", 0, "N|each", "refuse the Nth allocation, or each in turn",
     READ(read_refused), .write = write_refused, .again = 13},
#undef GROUP
#define GROUP YPI_GROUP_OUTPUT
    {"verbose", 'v', NULL, "a line for every case", READ(more_words)},
    {"quiet", 'q', NULL, "no header and no names of files (-qq: no line of counts)",
     READ(more_words)},
    {NULL, 's', NULL, "let the cases write to the terminal", AT(FLAG, no_capture)},
    {NULL, 'r', "CHARS", "what the short summary lists: letters of fEsxXpPaAN, as in pytest (fE)",
     READ(read_report), .write = write_report},
    {"tb", 0, "STYLE", "how much of a failure is printed: auto, long, short, line or no",
     AT(CHOICE, traceback), .choices = "auto long short line native no"},
    {"durations", 0, "N", "list the N slowest setups, calls and teardowns (0: all)",
     COUNT(durations, 0)},
    {"durations-min", 0, "SECONDS", "of those that took as long at least (0.005)",
     AT(REAL, durations_min)},
    {"color", 0, "auto|yes|no", "colours (auto: on a terminal)", AT(CHOICE, colouring),
     .choices = "auto yes no"},
    {"no-header", 0, NULL, "do not tell the machine, the seed and the history",
     AT(FLAG, no_header)},
    {"no-summary", 0, NULL, "tell no failures, only the line of counts", AT(FLAG, no_summary)},
    {"no-fold-skipped", 0, NULL, "a line a skipped case under -rs", AT(FLAG, no_fold_skipped)},
    {"disable-warnings", 0, NULL, "leave notes out of the short summary",
     AT(FLAG, disable_warnings)},
#undef GROUP
#define GROUP YPI_GROUP_FILES
    {"history", 0, "FILE", "where results are kept (.yieldpoint/history.db)", AT(PATH, history)},
/* Behind it: those of the reporters. */
#undef GROUP
#define GROUP YPI_GROUP_OTHER
    {"config-file", 'c', "FILE", "this one instead of the yieldpoint.ini that is found",
     AT(PATH, config)},
    {"rootdir", 0, "DIR", "the project's directory, instead of the one that is found",
     READ(read_rootdir), .offset = offsetof(struct ypi_options, rootdir), .write = write_path},
    {"show-config", 0, NULL, "print every option's value and where it comes from",
     AT(FLAG, show_config)},
    {"markers", 0, NULL, "list the registered tags", AT(FLAG, markers)},
    {"strict-markers", 0, NULL, "accepted, as what is always so: unknown tags are errors",
     AT(FLAG, strict)},
    {"strict-config", 0, NULL, NULL, AT(FLAG, strict)},
    {"strict", 0, NULL, NULL, AT(FLAG, strict)},
    {"version", 'V', NULL, "print the version", AT(FLAG, version)},
    {"help", 'h', NULL, "print this", AT(FLAG, help)},
#undef GROUP
    YPI_OPTIONS_END,
};

const struct ypi_option *ypi_options_table(int *errors)
{
    static struct ypi_option *all;
    static int wrong;
    if (all == NULL) {
        struct ypi_option with[sizeof common / sizeof *common + 2 * YPI_REPORTERS_MAX] = {0};
        struct ypi_option *end = with;
        for (const struct ypi_option *o = common; !ypi_option_is_end(o); o++) {
            if (o->group == YPI_GROUP_OTHER && o[-1].group == YPI_GROUP_FILES)
                end = ypi_reporter_options(end, YPI_GROUP_FILES);
            *end++ = *o;
        }
        all = ypi_with_program_options(with, &wrong);
        char *names = ypi_device_names(true);
        char *words = ypi_format("auto %s all", names);
        struct ypi_option *device = all;
        while (device->name == NULL || strcmp(device->name, "device") != 0)
            device++;
        device->allowed = ypi_join_words(words, "or");
        device->help = ypi_format("%s (auto)", device->allowed);
        free(words);
        free(names);
    }
    *errors = wrong;
    return all;
}

/* -- reading ------------------------------------------------------------------------------- */

void ypi_confine_isa(const struct ypi_options *o)
{
    if (o->isa_given)
        setenv("YIELDPOINT_ISA", yp_isa_name(o->isa), 1);
    const char *core = ypi_openblas_better(RTLD_DEFAULT);
    if (o->isa_given && o->isa < YP_ISA_AMX) {
        setenv("OPENBLAS_CORETYPE", ypi_openblas_core(o->isa), 1);
        unsetenv(YPI_OPENBLAS_MARK);
    } else if (core != NULL) {
        setenv("OPENBLAS_CORETYPE", core, 1);
        setenv(YPI_OPENBLAS_MARK, core, 1);
    }
}

static bool isa_is_confined(const struct ypi_options *o)
{
    const char *isa = getenv("YIELDPOINT_ISA");
    return isa != NULL && strcmp(isa, yp_isa_name(o->isa)) == 0;
}

/* The option that keeps a run from timing anything; NULL: none. */
static const char *times_nothing(const struct ypi_options *o)
{
    return o->gdb                      ? "--gdb"
           : o->speed == YPI_SPEED_OFF ? "--speed=off"
           : o->instructions           ? "--instructions"
           : o->audit                  ? "--audit"
           : o->fail_each              ? "--fail-allocation=each"
                                       : NULL;
}

static bool fit_together(const struct ypi_options *o)
{
    const char *untimed = times_nothing(o);
    const bool here = o->gdb || o->no_fork;
    if (o->shard_by != NULL && o->shard_count == 0)
        fputs("error: --shard-by without --shard: which of how many parts, such as --shard=2/5?\n",
              stderr);
    else if (o->audit && o->instructions)
        fputs("error: --audit and --instructions: a run counts by CUPTI or by Callgrind\n", stderr);
    else if (o->slowdown > 1 && untimed != NULL)
        fprintf(stderr, "error: --slowdown and %s: nothing is timed that could be slowed down\n",
                untimed);
    else if (o->turns != NULL && untimed != NULL)
        fprintf(stderr, "error: --turns and %s: nothing is timed that could take turns\n", untimed);
    else if (o->turns != NULL && here)
        fputs("error: --turns and --no-fork: the gate waits for a process of the case\n", stderr);
    else if (here && o->instructions)
        fputs("error: --no-fork and --instructions: Valgrind needs a process of its own\n", stderr);
    else if (here && o->audit)
        fputs("error: --no-fork and --audit: CUPTI needs a process of its own\n", stderr);
    else if (o->no_fork && o->isa_given && !isa_is_confined(o))
        fprintf(stderr,
                "error: --no-fork and --isa=%s: libraries have chosen their instructions by then; "
                "set YIELDPOINT_ISA=%s as well\n",
                yp_isa_name(o->isa), yp_isa_name(o->isa));
    else
        return true;
    return false;
}

/* "rx.c::fit" in suites/stress is "stress/rx.c::fit", as in pytest. NULL: no such file. */
static char *place_of(const char *id, const char *root)
{
    int length = (int)strcspn(id, ":");
    char *path = ypi_format("%.*s", length, id);
    char *whole = realpath(path, NULL);
    char *place = NULL;
    free(path);
    if (whole == NULL)
        return NULL;
    size_t begin = strlen(root);
    const char *in_suites = ypi_test_path(whole);
    if (in_suites != whole)
        place = ypi_format("%s%s", in_suites, id + length);
    else if (strncmp(whole, root, begin) == 0 && whole[begin] == '/')
        place = ypi_format("%s%s", whole + begin + 1, id + length);
    free(whole);
    return place;
}

static void find_places(struct ypi_options *o)
{
    char *root = realpath(o->root, NULL);
    o->places = ypi_calloc((size_t)o->id_count + 1, sizeof *o->places);
    for (int i = 0; i < o->id_count && root != NULL; i++)
        o->places[i] = place_of(o->ids[i], root);
    free(root);
}

/* -k "" and -m "" select everything, as in pytest. */
static void drop_empty(char **expression)
{
    if (*expression != NULL && (*expression)[strspn(*expression, " \t")] == '\0') {
        free(*expression);
        *expression = NULL;
    }
}

/* There is nobody to confirm a verdict on speed, and one process has one output. */
static void apply_no_fork(struct ypi_options *o)
{
    if (!o->no_fork)
        return;
    o->no_capture = true;
    if (o->speed == YPI_SPEED_JUDGE)
        o->speed = YPI_SPEED_RECORD;
}

void ypi_options_begin(struct ypi_options *o)
{
    *o = defaults;
    o->device = ypi_strdup(defaults.device);
    o->launcher = ypi_strdup(defaults.launcher);
    o->report = ypi_strdup("fE");
    ypi_program_options_forget();
}

bool ypi_options_complete(struct ypi_options *o)
{
    find_places(o);
    drop_empty(&o->mark);
    drop_empty(&o->keyword);
    if (o->stepwise)
        o->max_failures = 1;
    bool ok = fit_together(o);
    apply_no_fork(o);
    return ok;
}

void ypi_options_clear(struct ypi_options *o)
{
    int errors = 0;
    ypi_options_free(o, ypi_options_table(&errors));
    ypi_list_free(o->ids, o->id_count);
    if (o->places != NULL)
        ypi_list_free(o->places, o->id_count);
    for (int i = 0; i < o->set_count; i++) {
        free(o->sets[i].axis);
        free(o->sets[i].value);
    }
    free(o->sets);
    for (int i = 0; i < o->given_count; i++) {
        free(o->given[i].text);
        free(o->given[i].where);
    }
    free(o->given);
    free(o->root);
    free(o->rootdir);
    free(o->file);
    free(o->history_from);
    free(o->history_why);
    free(o->budgets);
    free(o->report);
    ypi_list_free(o->deselected, o->deselected_count);
    ypi_list_free(o->ignored, o->ignored_count);
    ypi_list_free(o->resumed, o->resumed_count);
    ypi_list_free(o->tags, o->tag_count);
    ypi_list_free(o->tag_help, o->tag_count);
}

/* -- telling ------------------------------------------------------------------------------- */

void ypi_options_help(const char *program)
{
    static const char *const titles[] = {[YPI_GROUP_SELECTION] = "which cases:\n",
                                         [YPI_GROUP_RUN] = "\nhow they run:\n",
                                         [YPI_GROUP_SPEED] = "\nwhat is measured and judged:\n",
                                         [YPI_GROUP_LIMITS] = "\nwhat a case may use:\n",
                                         [YPI_GROUP_OUTPUT] = "\noutput:\n",
                                         [YPI_GROUP_FILES] = "\nfiles:\n",
                                         [YPI_GROUP_OTHER] = "\nother:\n",
                                         [YPI_GROUP_PROGRAM] = "\nof this program:\n"};
    int errors = 0;
    printf("usage: %s [options] [file | file::test | id ...]\n\n", program);
    ypi_options_print(ypi_options_table(&errors), titles);
    puts("\nOptions may also stand in YIELDPOINT_OPTIONS and, as `options = ...` under\n"
         "[yieldpoint], in yieldpoint.ini. YIELDPOINT_LOCK names the file by which timed runs\n"
         "wait for each other, instead of /tmp/yieldpoint.lock.\n"
         "exit codes: 0 passed, 1 failed, 2 interrupted or error at collection, 3 internal error,\n"
         "            4 usage error, 5 nothing selected");
}

bool ypi_option_is_usual(const struct ypi_options *o, const struct ypi_option *option)
{
    char *value = ypi_option_text(o, option);
    char *usual =
        option->kind != YPI_OPTION_OWN ? ypi_option_text(&defaults, option) : ypi_strdup(value);
    bool same = strcmp(value, usual) == 0;
    free(usual);
    free(value);
    return same;
}

/* The word that gives an option the value it has; NULL: that is the default's. */
static char *word_of(const struct ypi_options *o, const struct ypi_option *option)
{
    char *value = ypi_option_text(o, option);
    char *usual =
        option->kind == YPI_OPTION_OWN ? ypi_strdup("") : ypi_option_text(&defaults, option);
    char *word = strcmp(value, usual) == 0        ? NULL
                 : ypi_option_takes_value(option) ? ypi_format("--%s=%s", option->name, value)
                                                  : ypi_format("--%s", option->name);
    free(usual);
    free(value);
    return word;
}

static char **add_selection(char **words, int *count, const char *option, const char *expression)
{
    if (expression == NULL)
        return words;
    words = ypi_list_add(words, (*count)++, ypi_strdup(option));
    return ypi_list_add(words, (*count)++, ypi_strdup(expression));
}

char **ypi_options_reproduce(const struct ypi_options *o, bool relation, int *count)
{
    int errors = 0;
    const struct ypi_option *all = ypi_options_table(&errors);
    char **words = NULL;
    *count = 0;
    for (int i = 0; i < o->set_count; i++)
        words = ypi_list_add(words, (*count)++,
                             ypi_format("--set=%s=%s", o->sets[i].axis, o->sets[i].value));
    for (int place = 1; place <= YPI_PROGRAM_AGAIN; place++)
        for (const struct ypi_option *option = all; !ypi_option_is_end(option); option++) {
            char *word = option->again == place ? word_of(o, option) : NULL;
            if (word != NULL)
                words = ypi_list_add(words, (*count)++, word);
        }
    if (relation) {
        words = add_selection(words, count, "-m", o->mark);
        words = add_selection(words, count, "-k", o->keyword);
    }
    return words;
}
