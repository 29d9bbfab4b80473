#include "harness/collect/options.h"

#include "base/text.h"
#include "harness/collect/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_OUTPUT_LIMIT (UINT64_C(64) << 20)
#define DEFAULT_PROCESS_LIMIT 512

enum key {
    KEY_MARK,
    KEY_KEYWORD,
    KEY_COLLECT,
    KEY_VERBOSE,
    KEY_QUIET,
    KEY_NO_CAPTURE,
    KEY_EXIT_FIRST,
    KEY_MAXFAIL,
    KEY_SEED,
    KEY_DEVICE,
    KEY_SET,
    KEY_CUBE,
    KEY_REPEAT,
    KEY_TIMEOUT,
    KEY_HISTORY,
    KEY_CSV,
    KEY_SPEED,
    KEY_NOISY,
    KEY_CONFIRM,
    KEY_INSTRUCTIONS,
    KEY_AUDIT,
    KEY_CPUS,
    KEY_BIND,
    KEY_ISA,
    KEY_FAIL_ALLOCATION,
    KEY_MEMORY_LIMIT,
    KEY_DEVICE_MEMORY_LIMIT,
    KEY_OUTPUT_LIMIT,
    KEY_PROCESS_LIMIT,
    KEY_JOBS,
    KEY_TAP,
    KEY_DURATIONS,
    KEY_MARKERS,
    KEY_VERSION,
    KEY_HELP,
};

static const struct spec {
    enum key key;
    char letter;
    const char *name, *value, *help;
} specs[] = {
    {KEY_MARK, 'm', NULL, "EXPR", "cases whose tags fulfil EXPR: \"stress and not slow\""},
    {KEY_KEYWORD, 'k', NULL, "EXPR", "cases whose id holds the words of EXPR"},
    {KEY_COLLECT, 0, "--co", NULL, "list the cases, run none (-q: ids only, -v: budgets)"},
    {KEY_COLLECT, 0, "--collect-only", NULL, NULL},
    {KEY_VERBOSE, 'v', "--verbose", NULL, "a line for every case"},
    {KEY_QUIET, 'q', "--quiet", NULL, "failures and the summary only"},
    {KEY_NO_CAPTURE, 's', NULL, NULL, "let the cases write to the terminal"},
    {KEY_EXIT_FIRST, 'x', "--exitfirst", NULL, "stop at the first failure"},
    {KEY_MAXFAIL, 0, "--maxfail", "N", "stop after N failures"},
    {KEY_SEED, 0, "--seed", "N", "seed of all data (0)"},
    {KEY_DEVICE, 0, "--device", "NAME", "auto, cpu, cuda, cuda:N or all (auto)"},
    {KEY_SET, 0, "--set", "AXIS=VALUE", "run an axis at this value instead of its own"},
    {KEY_CUBE, 0, "--cube", "FILE", "--set cube=FILE with the whole path: data of your own"},
    {KEY_REPEAT, 0, "--repeat", "N", "run every case N times"},
    {KEY_TIMEOUT, 0, "--timeout", "SECONDS", "for every case, instead of its own"},
    {KEY_HISTORY, 0, "--history", "FILE", "where results are kept (.yieldpoint/history.db)"},
    {KEY_CSV, 0, "--csv", "FILE", "append a row a measurement or value"},
    {KEY_SPEED, 0, "--speed", "judge|record|off",
     "whether speed budgets may fail a case (judge); off: time nothing"},
    {KEY_NOISY, 0, "--noisy", "fail|report", "what an undecided speed budget means (report)"},
    {KEY_CONFIRM, 0, "--confirm", "N", "fresh processes asked before a speed budget fails (3)"},
    {KEY_INSTRUCTIONS, 0, "--instructions", NULL, "count instructions by Callgrind, time nothing"},
    {KEY_AUDIT, 0, "--audit", NULL,
     "count a GPU's work by CUPTI beside what is declared, time nothing"},
    {KEY_CPUS, 0, "--cpus", "LIST", "processors to use: 0-3,8"},
    {KEY_BIND, 0, "--bind", "auto|none|cores", "whether threads stay on cores of their own (auto)"},
    {KEY_ISA, 0, "--isa", "NAME", "instructions to use at most: baseline, avx2, avx512 or amx"},
    {KEY_FAIL_ALLOCATION, 0, "--fail-allocation", "N|each",
     "refuse the Nth allocation, or each in turn"},
    {KEY_MEMORY_LIMIT, 0, "--memory-limit", "SIZE", "accounted memory a case may use: 64M, 2G"},
    {KEY_DEVICE_MEMORY_LIMIT, 0, "--device-memory-limit", "SIZE",
     "the same of an accelerator's: 4G is a card of 4 GB"},
    {KEY_OUTPUT_LIMIT, 0, "--output-limit", "SIZE", "how much a case may write (64M)"},
    {KEY_PROCESS_LIMIT, 0, "--process-limit", "N", "processes and threads a case may have (512)"},
    {KEY_JOBS, 'j', "--jobs", "N", "run cases that time nothing side by side (1)"},
    {KEY_TAP, 0, "--tap", NULL, "TAP on standard output, everything else on standard error"},
    {KEY_DURATIONS, 0, "--durations", "N", "list the N slowest cases (0: all)"},
    {KEY_MARKERS, 0, "--markers", NULL, "list the registered tags"},
    {KEY_VERSION, 0, "--version", NULL, "print the version"},
    {KEY_HELP, 'h', "--help", NULL, "print this"},
};
enum { SPECS = sizeof specs / sizeof specs[0] };

/* One list of words: where it came from and which of them is being read. */
struct source {
    const char *name;
    char **words;
    int count;
    int at;
};

/* Prints the words with the offending part underlined. */
static bool complain(const struct source *s, int word, size_t offset, size_t length,
                     const char *message)
{
    fprintf(stderr, "error: %s\n  %s: ", message, s->name);
    size_t column = ypi_columns(s->name, strlen(s->name)) + 4;
    for (int i = 0; i < s->count; i++) {
        fprintf(stderr, "%s%s", i > 0 ? " " : "", s->words[i]);
        if (i < word)
            column += ypi_columns(s->words[i], strlen(s->words[i])) + 1;
    }
    fputc('\n', stderr);
    const char *marked = s->words[word] + offset;
    ypi_underline(column + ypi_columns(s->words[word], offset), ypi_columns(marked, length));
    return false;
}

static bool bad_value(const struct source *s, const char *option, const char *value,
                      const char *allowed)
{
    char *message = ypi_format("%s is '%s': allowed is %s", option, value, allowed);
    /* The word being read is the one the value stands in, alone or behind its option. */
    complain(s, s->at, (size_t)(value - s->words[s->at]), strlen(value), message);
    free(message);
    return false;
}

static bool read_choice(const struct source *s, const char *option, const char *value,
                        const char *no, const char *yes, bool *out)
{
    if (strcmp(value, no) != 0 && strcmp(value, yes) != 0) {
        char *allowed = ypi_format("%s or %s", no, yes);
        bad_value(s, option, value, allowed);
        free(allowed);
        return false;
    }
    *out = strcmp(value, yes) == 0;
    return true;
}

static bool read_count(const struct source *s, const char *option, const char *value, int least,
                       int *out)
{
    enum { MOST = 1000000 };
    long long n = 0;
    if (!ypi_parse_i64(value, &n) || n < least || n > MOST) {
        char *allowed = ypi_format("a whole number from %d to %d", least, MOST);
        bad_value(s, option, value, allowed);
        free(allowed);
        return false;
    }
    *out = (int)n;
    return true;
}

static bool read_size(const struct source *s, const char *option, const char *value, uint64_t *out)
{
    return (ypi_parse_size(value, out) && *out > 0) ||
           bad_value(s, option, value, "a size above 0 such as 64K, 512M or 2G");
}

static bool read_device(const struct source *s, struct ypi_options *o, const char *value)
{
    /* The name stands in ids, so there is one spelling of it: cuda:1, not cuda:01. */
    char name[16] = "cuda";
    uint64_t ordinal = 0;
    if (strncmp(value, "cuda:", 5) == 0 && ypi_parse_u64(value + 5, &ordinal) && ordinal < 1024)
        snprintf(name, sizeof name, "cuda:%d", (int)ordinal);
    if (strcmp(value, name) != 0 && !ypi_has_word("auto cpu all", value, strlen(value)))
        return bad_value(s, "--device", value, "auto, cpu, cuda, cuda:N or all");
    free(o->device);
    o->device = ypi_strdup(value);
    return true;
}

/* Takes over both texts. */
static bool add_set(struct ypi_options *o, char *axis, char *value)
{
    for (int i = 0; i < o->set_count; i++)
        if (strcmp(o->sets[i].axis, axis) == 0 && strcmp(o->sets[i].value, value) == 0) {
            free(axis);
            free(value);
            return true; /* once more would be the same case once more */
        }
    o->sets = ypi_realloc(o->sets, (size_t)o->set_count + 1, sizeof *o->sets);
    o->sets[o->set_count++] = (struct ypi_set){.axis = axis, .value = value};
    return true;
}

static bool read_set(const struct source *s, struct ypi_options *o, const char *value)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value || equals[1] == '\0')
        return bad_value(s, "--set", value, "AXIS=VALUE");
    return add_set(o, ypi_format("%.*s", (int)(equals - value), value), ypi_strdup(equals + 1));
}

/* With its whole path, so that the id and the line that reproduces hold from anywhere. Links stay:
 * what they lead to may have another name than the header beside them. Whether there is such a cube
 * its reader says, who knows all the names it may go by. */
static bool read_cube(const struct source *s, struct ypi_options *o, const char *value)
{
    if (value[0] == '\0')
        return bad_value(s, "--cube", value, "the path of a file");
    if (value[0] == '/')
        return add_set(o, ypi_strdup("cube"), ypi_strdup(value));
    char *here = getcwd(NULL, 0);
    if (here == NULL)
        return bad_value(s, "--cube", value, "a path from /: the working directory is gone");
    char *path = ypi_format("%s/%s", strcmp(here, "/") == 0 ? "" : here, value);
    free(here);
    return add_set(o, ypi_strdup("cube"), path);
}

static bool read_seconds(const struct source *s, const char *option, const char *value, double *out)
{
    return (ypi_parse_double(value, out) && *out > 0 && *out <= 1e7) ||
           bad_value(s, option, value, "seconds above 0 and up to 1e7");
}

static void replace(char **text, const char *value)
{
    free(*text);
    *text = ypi_strdup(value);
}

/* An empty name would be a database in memory, or no file at all. */
static bool read_path(const struct source *s, const char *option, const char *value, char **out)
{
    if (value[0] == '\0')
        return bad_value(s, option, value, "the path of a file");
    replace(out, value);
    return true;
}

static bool read_cpus(const struct source *s, struct ypi_options *o, const char *value)
{
    unsigned char named[YPI_CPUS_MAX];
    if (!ypi_cpus_parse(value, named, YPI_CPUS_MAX))
        return bad_value(s, "--cpus", value, "numbers of processors such as 0-3,8");
    replace(&o->cpus, value);
    return true;
}

static bool read_bind(const struct source *s, struct ypi_options *o, const char *value)
{
    static const char *const names[] = {"auto", "none", "cores"};
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            o->bind = (enum ypi_bind)i;
            return true;
        }
    return bad_value(s, "--bind", value, "auto, none or cores");
}

static const char *const speeds[] = {
    [YPI_SPEED_JUDGE] = "judge", [YPI_SPEED_RECORD] = "record", [YPI_SPEED_OFF] = "off"};

static bool read_speed(const struct source *s, struct ypi_options *o, const char *value)
{
    for (int i = YPI_SPEED_JUDGE; i <= YPI_SPEED_OFF; i++)
        if (strcmp(value, speeds[i]) == 0) {
            o->speed = (enum ypi_speed)i;
            return true;
        }
    return bad_value(s, "--speed", value, "judge, record or off");
}

static bool read_fail_allocation(const struct source *s, struct ypi_options *o, const char *value)
{
    o->fail_each = strcmp(value, "each") == 0;
    o->fail_allocation = 0;
    return o->fail_each || (ypi_parse_u64(value, &o->fail_allocation) && o->fail_allocation > 0) ||
           bad_value(s, "--fail-allocation", value, "a whole number from 1, or each");
}

static bool apply(const struct source *s, struct ypi_options *o, const struct spec *spec,
                  const char *option, const char *value)
{
    switch (spec->key) {
    case KEY_MARK:
        replace(&o->mark, value);
        return true;
    case KEY_KEYWORD:
        replace(&o->keyword, value);
        return true;
    case KEY_COLLECT:
        o->collect_only = true;
        return true;
    case KEY_VERBOSE:
        o->verbose++;
        return true;
    case KEY_QUIET:
        o->verbose--;
        return true;
    case KEY_NO_CAPTURE:
        o->no_capture = true;
        return true;
    case KEY_EXIT_FIRST:
        o->max_failures = 1;
        return true;
    case KEY_MAXFAIL:
        return read_count(s, option, value, 1, &o->max_failures);
    case KEY_SEED:
        return ypi_parse_u64(value, &o->seed) ||
               bad_value(s, option, value, "a whole number from 0 to 2^64-1");
    case KEY_DEVICE:
        return read_device(s, o, value);
    case KEY_SET:
        return read_set(s, o, value);
    case KEY_CUBE:
        return read_cube(s, o, value);
    case KEY_REPEAT:
        return read_count(s, option, value, 1, &o->repeat);
    case KEY_TIMEOUT:
        return read_seconds(s, option, value, &o->timeout);
    case KEY_HISTORY:
        return read_path(s, option, value, &o->history);
    case KEY_CSV:
        return read_path(s, option, value, &o->csv);
    case KEY_SPEED:
        return read_speed(s, o, value);
    case KEY_NOISY:
        return read_choice(s, option, value, "report", "fail", &o->noisy_fails);
    case KEY_CONFIRM:
        return read_count(s, option, value, 0, &o->confirmations);
    case KEY_INSTRUCTIONS:
        o->instructions = true;
        return true;
    case KEY_AUDIT:
        o->audit = true;
        return true;
    case KEY_CPUS:
        return read_cpus(s, o, value);
    case KEY_BIND:
        return read_bind(s, o, value);
    case KEY_ISA:
        o->isa_given = yp_isa_from_name(value, &o->isa);
        return o->isa_given || bad_value(s, option, value, "baseline, avx2, avx512 or amx");
    case KEY_FAIL_ALLOCATION:
        return read_fail_allocation(s, o, value);
    case KEY_MEMORY_LIMIT:
        return read_size(s, option, value, &o->memory_limit);
    case KEY_DEVICE_MEMORY_LIMIT:
        return read_size(s, option, value, &o->device_memory_limit);
    case KEY_OUTPUT_LIMIT:
        return read_size(s, option, value, &o->output_limit);
    case KEY_PROCESS_LIMIT:
        return read_count(s, option, value, 8, &o->process_limit);
    case KEY_JOBS:
        return read_count(s, option, value, 1, &o->jobs);
    case KEY_TAP:
        o->tap = true;
        return true;
    case KEY_DURATIONS:
        return read_count(s, option, value, 0, &o->durations);
    case KEY_MARKERS:
        o->markers = true;
        return true;
    case KEY_VERSION:
        o->version = true;
        return true;
    case KEY_HELP:
        o->help = true;
        return true;
    }
    return false;
}

static bool unknown(const struct source *s, const char *word, size_t length)
{
    const char *names[SPECS];
    int count = 0;
    for (int i = 0; i < SPECS; i++)
        if (specs[i].name != NULL)
            names[count++] = specs[i].name;
    char *given = ypi_format("%.*s", (int)length, word);
    const char *near = ypi_nearest(given, names, count);
    char *message = ypi_format("unknown option '%s'%s%s%s; --help lists them all", given,
                               near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                               near != NULL ? "'?" : "");
    complain(s, s->at, 0, length, message);
    free(message);
    free(given);
    return false;
}

/* The value of an option: the rest of its word, or the next word. */
static bool take_value(struct source *s, const char *option, const char *rest, const char **value)
{
    if (rest != NULL) {
        *value = rest;
        return true;
    }
    if (s->at + 1 < s->count) {
        *value = s->words[++s->at];
        return true;
    }
    char *message = ypi_format("%s needs a value", option);
    complain(s, s->at, 0, strlen(s->words[s->at]), message);
    free(message);
    return false;
}

static bool read_long(struct source *s, struct ypi_options *o)
{
    const char *word = s->words[s->at];
    size_t length = strcspn(word, "=");
    for (int i = 0; i < SPECS; i++) {
        const struct spec *spec = &specs[i];
        if (spec->name == NULL || strlen(spec->name) != length ||
            memcmp(spec->name, word, length) != 0)
            continue;
        const char *rest = word[length] == '=' ? word + length + 1 : NULL;
        if (spec->value == NULL && rest != NULL) {
            char *message = ypi_format("%s takes no value", spec->name);
            complain(s, s->at, length, strlen(word) - length, message);
            free(message);
            return false;
        }
        const char *value = "";
        return (spec->value == NULL || take_value(s, spec->name, rest, &value)) &&
               apply(s, o, spec, spec->name, value);
    }
    return unknown(s, word, length);
}

/* -qv, -m EXPR, -mEXPR. */
static bool read_letters(struct source *s, struct ypi_options *o)
{
    const char *word = s->words[s->at];
    for (size_t i = 1; word[i] != '\0'; i++) {
        const struct spec *spec = NULL;
        for (int k = 0; k < SPECS && spec == NULL; k++)
            spec = specs[k].letter == word[i] ? &specs[k] : NULL;
        if (spec == NULL) {
            char *message = ypi_format("unknown option '-%c'; --help lists them all", word[i]);
            complain(s, s->at, i, 1, message);
            free(message);
            return false;
        }
        char option[] = {'-', word[i], '\0'};
        if (spec->value == NULL) {
            if (!apply(s, o, spec, option, ""))
                return false;
            continue;
        }
        const char *value = "";
        return take_value(s, option, word[i + 1] != '\0' ? word + i + 1 : NULL, &value) &&
               apply(s, o, spec, option, value);
    }
    return true;
}

static bool read_source(struct source *s, struct ypi_options *o)
{
    bool options_end = false;
    for (; s->at < s->count; s->at++) {
        const char *word = s->words[s->at];
        bool ok = true;
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
        } else if (!options_end && strncmp(word, "--", 2) == 0) {
            ok = read_long(s, o);
        } else if (!options_end && word[0] == '-' && word[1] != '\0') {
            ok = read_letters(s, o);
        } else {
            o->ids = ypi_realloc(o->ids, (size_t)o->id_count + 1, sizeof *o->ids);
            o->ids[o->id_count++] = ypi_strdup(word);
        }
        if (!ok)
            return false;
    }
    return true;
}

/* Splits at blanks and line ends; "..." and '...' keep them. */
static bool read_text(const char *name, const char *text, struct ypi_options *o)
{
    static const char blank[] = " \t\r\n";
    struct source s = {.name = name};
    bool ok = true;
    const char *at = text;
    while (ok) {
        at += strspn(at, blank);
        if (*at == '\0')
            break;
        struct ypi_text word = {0};
        char quote = '\0';
        for (; *at != '\0' && (quote != '\0' || strchr(blank, *at) == NULL); at++) {
            if (quote == '\0' && (*at == '"' || *at == '\''))
                quote = *at;
            else if (*at == quote)
                quote = '\0';
            else
                ypi_text_bytes(&word, at, 1);
        }
        s.words = ypi_realloc(s.words, (size_t)s.count + 1, sizeof *s.words);
        s.words[s.count++] = ypi_text_take(&word);
        if (quote != '\0')
            ok =
                complain(&s, s.count - 1, 0, strlen(s.words[s.count - 1]), "a quote is not closed");
    }
    ok = ok && read_source(&s, o);
    for (int i = 0; i < s.count; i++)
        free(s.words[i]);
    free(s.words);
    return ok;
}

enum ypi_exit ypi_options_read(struct ypi_options *o, int argc, char **argv)
{
    *o = (struct ypi_options){.device = ypi_strdup("auto"),
                              .repeat = 1,
                              .confirmations = 3,
                              .output_limit = DEFAULT_OUTPUT_LIMIT,
                              .process_limit = DEFAULT_PROCESS_LIMIT,
                              .jobs = 1,
                              .durations = -1};
    char *ini_options = NULL;
    bool ok = ypi_config_read(o, &ini_options);
    if (ok && ini_options != NULL)
        ok = read_text("yieldpoint.ini, options", ini_options, o);
    free(ini_options);

    const char *environment = getenv("YIELDPOINT_OPTIONS");
    if (ok && environment != NULL)
        ok = read_text("YIELDPOINT_OPTIONS", environment, o);

    struct source line = {.name = program_invocation_short_name, .words = argv + 1};
    line.count = argc > 0 ? argc - 1 : 0;
    ok = ok && read_source(&line, o);

    if (ok && o->audit && o->instructions) {
        fputs("error: --audit and --instructions: a run counts by CUPTI or by Callgrind\n", stderr);
        ok = false;
    }
    return ok ? YPI_EXIT_OK : YPI_EXIT_USAGE;
}

static void clear_list(char **list, int count)
{
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void ypi_options_clear(struct ypi_options *o)
{
    free(o->mark);
    free(o->keyword);
    clear_list(o->ids, o->id_count);
    free(o->device);
    for (int i = 0; i < o->set_count; i++) {
        free(o->sets[i].axis);
        free(o->sets[i].value);
    }
    free(o->sets);
    free(o->history);
    free(o->csv);
    free(o->cpus);
    free(o->root);
    clear_list(o->tags, o->tag_count);
    clear_list(o->tag_help, o->tag_count);
}

void ypi_options_help(const char *program)
{
    printf("usage: %s [options] [file | file::test | id ...]\n\n", program);
    for (int i = 0; i < SPECS; i++) {
        if (specs[i].help == NULL)
            continue;
        char left[64];
        char letter[] = {'-', specs[i].letter, '\0'};
        snprintf(left, sizeof left, "%s%s%s%s%s", specs[i].letter != 0 ? letter : "",
                 specs[i].letter != 0 && specs[i].name != NULL ? ", " : "",
                 specs[i].name != NULL ? specs[i].name : "", specs[i].value != NULL ? " " : "",
                 specs[i].value != NULL ? specs[i].value : "");
        printf("  %-26s %s\n", left, specs[i].help);
    }
    puts("\nOptions may also stand in YIELDPOINT_OPTIONS and, as `options = ...` under\n"
         "[yieldpoint], in yieldpoint.ini.\n"
         "exit codes: 0 passed, 1 failed, 2 interrupted or error at collection, 3 internal error,\n"
         "            4 usage error, 5 nothing selected");
}

bool ypi_is_tag(const struct ypi_options *o, const char *word, size_t length)
{
    for (int i = 0; i < o->tag_count; i++)
        if (strlen(o->tags[i]) == length && memcmp(o->tags[i], word, length) == 0)
            return true;
    return false;
}

char **ypi_options_reproduce(const struct ypi_options *o, int *count)
{
    static const char *const binds[] = {"auto", "none", "cores"};
    char **words = ypi_calloc((size_t)o->set_count + 16, sizeof *words);
    *count = 0;
    for (int i = 0; i < o->set_count; i++)
        words[(*count)++] = ypi_format("--set=%s=%s", o->sets[i].axis, o->sets[i].value);
    if (strcmp(o->device, "auto") != 0)
        words[(*count)++] = ypi_format("--device=%s", o->device);
    if (o->memory_limit > 0)
        words[(*count)++] = ypi_format("--memory-limit=%llu", (unsigned long long)o->memory_limit);
    if (o->device_memory_limit > 0)
        words[(*count)++] =
            ypi_format("--device-memory-limit=%llu", (unsigned long long)o->device_memory_limit);
    if (o->timeout > 0) {
        char seconds[32];
        ypi_print_double(seconds, o->timeout);
        words[(*count)++] = ypi_format("--timeout=%s", seconds);
    }
    if (o->output_limit != DEFAULT_OUTPUT_LIMIT)
        words[(*count)++] = ypi_format("--output-limit=%llu", (unsigned long long)o->output_limit);
    if (o->process_limit != DEFAULT_PROCESS_LIMIT)
        words[(*count)++] = ypi_format("--process-limit=%d", o->process_limit);
    if (o->cpus != NULL)
        words[(*count)++] = ypi_format("--cpus=%s", o->cpus);
    if (o->bind != YPI_BIND_AUTO)
        words[(*count)++] = ypi_format("--bind=%s", binds[o->bind]);
    if (o->isa_given)
        words[(*count)++] = ypi_format("--isa=%s", yp_isa_name(o->isa));
    if (o->instructions)
        words[(*count)++] = ypi_strdup("--instructions");
    if (o->audit)
        words[(*count)++] = ypi_strdup("--audit");
    if (o->fail_each)
        words[(*count)++] = ypi_strdup("--fail-allocation=each");
    else if (o->fail_allocation > 0)
        words[(*count)++] =
            ypi_format("--fail-allocation=%llu", (unsigned long long)o->fail_allocation);
    if (o->speed != YPI_SPEED_JUDGE)
        words[(*count)++] = ypi_format("--speed=%s", speeds[o->speed]);
    return words;
}
