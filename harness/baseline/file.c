/*
 * Files of baselines, which a project may commit:
 *
 *     [perf/synth.c::words[threads=1-mib=512]]
 *     share make = 0.313 | deviation 0.023 | 6 processes, 2 runs | 3f0a12c4e5 | 2026-11-28 |
 * MACHINE time fill = 0.0012, slower 0.0016 | deviation 0.01 | ... exact peak host = 16384 | seed 0
 * | 6 processes, 2 runs | 3f0a12c4e5 | 2026-11-28 | MACHINE
 *
 * MACHINE is its kind. Names are escaped as in files of budgets. Sorted, a line a figure and kind.
 */
#include "harness/baseline/baseline.h"

#include "base/options/ini.h"
#include "base/system/atomic_file.h"
#include "base/text/text.h"
#include "harness/vocabulary/budget_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {
    [YPI_BASELINE_SHARE] = "share", [YPI_BASELINE_TIME] = "time", [YPI_BASELINE_EXACT] = "exact"};

/* -- a list -------------------------------------------------------------------------------- */

/* A share and a time of one measurement are one figure: which of them is compared may change. */
static int compare(const struct ypi_baseline_entry *a, const struct ypi_baseline_entry *b)
{
    int order = strcmp(a->id, b->id);
    if (order == 0)
        order = (a->b.of == YPI_BASELINE_EXACT) - (b->b.of == YPI_BASELINE_EXACT);
    if (order == 0)
        order = strcmp(a->b.name, b->b.name);
    if (order == 0 && a->b.of == YPI_BASELINE_EXACT)
        order = (a->b.seed > b->b.seed) - (a->b.seed < b->b.seed);
    return order != 0 ? order : strcmp(a->machine, b->machine);
}

/* Where it is, or belongs. */
static int place(const struct ypi_baseline_file *file, const struct ypi_baseline_entry *like,
                 bool *there)
{
    int low = 0, high = file->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (compare(&file->list[middle], like) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *there = low < file->count && compare(&file->list[low], like) == 0;
    return low;
}

const struct ypi_baseline_entry *ypi_baseline_find(const struct ypi_baseline_file *file,
                                                   const struct ypi_baseline_entry *like)
{
    bool there = false;
    const int at = place(file, like, &there);
    return there ? &file->list[at] : NULL;
}

static bool same_figure(const struct ypi_baseline *a, const struct ypi_baseline *b)
{
    if (a->of == YPI_BASELINE_EXACT)
        return a->exact != NULL && b->exact != NULL && strcmp(a->exact, b->exact) == 0;
    return a->of == b->of && a->typical == b->typical &&
           (a->slower == b->slower || (isnan(a->slower) && isnan(b->slower)));
}

void ypi_baseline_entry_clear(struct ypi_baseline_entry *entry)
{
    free(entry->id);
    free(entry->machine);
    ypi_baseline_clear(&entry->b);
}

bool ypi_baseline_put(struct ypi_baseline_file *file, struct ypi_baseline_entry entry)
{
    bool there = false;
    const int at = place(file, &entry, &there);
    if (there && file->list != NULL) {
        const bool changed = !same_figure(&file->list[at].b, &entry.b);
        ypi_baseline_entry_clear(&file->list[at]);
        file->list[at] = entry;
        return changed;
    }
    file->list = ypi_realloc(file->list, (size_t)file->count + 1, sizeof *file->list);
    memmove(file->list + at + 1, file->list + at,
            (size_t)(file->count++ - at) * sizeof *file->list);
    file->list[at] = entry;
    return true;
}

void ypi_baseline_file_clear(struct ypi_baseline_file *file)
{
    for (int i = 0; i < file->count; i++)
        ypi_baseline_entry_clear(&file->list[i]);
    free(file->list);
    *file = (struct ypi_baseline_file){0};
}

char *ypi_baseline_path(const char *history)
{
    const size_t length = strlen(history);
    const bool usual = length > 3 && strcmp(history + length - 3, ".db") == 0;
    return ypi_format("%.*s.baseline.ini", (int)(usual ? length - 3 : length), history);
}

/* -- reading ------------------------------------------------------------------------------- */

/* The next part of a value between its |, without blanks around it; NULL: there is none. The caller
 * frees. */
static char *next_part(const char **value)
{
    if (*value == NULL)
        return NULL;
    const char *at = *value + strspn(*value, " \t");
    size_t length = strcspn(at, "|");
    *value = at[length] == '|' ? at + length + 1 : NULL;
    while (length > 0 && strchr(" \t", at[length - 1]) != NULL)
        length--;
    return ypi_format("%.*s", (int)length, at);
}

static bool read_figure(struct ypi_baseline *b, char *text)
{
    static const char between[] = ", slower ";
    char *slower = strstr(text, between);
    b->slower = NAN;
    if (b->of == YPI_BASELINE_EXACT) {
        b->exact = ypi_strdup(text);
        return *text != '\0';
    }
    if (slower != NULL)
        *slower = '\0';
    return ypi_parse_double(text, &b->typical) && b->typical > 0 && isfinite(b->typical) &&
           (slower == NULL || (ypi_parse_double(slower + sizeof between - 1, &b->slower) &&
                               b->slower > 0 && isfinite(b->slower)));
}

static bool read_second(struct ypi_baseline *b, const char *text)
{
    if (b->of == YPI_BASELINE_EXACT)
        return strncmp(text, "seed ", 5) == 0 && ypi_parse_u64(text + 5, &b->seed);
    return strncmp(text, "deviation ", 10) == 0 && ypi_parse_double(text + 10, &b->deviation) &&
           b->deviation >= 0 && isfinite(b->deviation);
}

static bool read_counts(struct ypi_baseline *b, const char *text)
{
    int end = 0;
    return sscanf(text, "%9d processes, %9d runs%n", &b->processes, &b->runs, &end) == 2 &&
           end > 0 && text[end] == '\0' && b->processes > 0 && b->runs > 0;
}

static bool read_commit(struct ypi_baseline *b, const char *text)
{
    if (strcmp(text, "-") == 0)
        return true;
    snprintf(b->commit, sizeof b->commit, "%s", text);
    return *text != '\0' && strlen(text) < sizeof b->commit &&
           text[strspn(text, "0123456789abcdef")] == '\0';
}

static bool read_date(struct ypi_baseline *b, const char *text)
{
    snprintf(b->date, sizeof b->date, "%s", text);
    return strlen(text) == sizeof b->date - 1 && text[strspn(text, "0123456789-")] == '\0';
}

static bool read_value(struct ypi_baseline_entry *entry, const char *value)
{
    enum { PARTS = 6 };
    char *parts[PARTS];
    for (int i = 0; i < PARTS; i++)
        parts[i] = next_part(&value);
    bool right = value == NULL;
    for (int i = 0; i < PARTS; i++)
        right = right && parts[i] != NULL;
    right = right && read_figure(&entry->b, parts[0]) && read_second(&entry->b, parts[1]) &&
            read_counts(&entry->b, parts[2]) && read_commit(&entry->b, parts[3]) &&
            read_date(&entry->b, parts[4]) && *parts[5] != '\0';
    if (right)
        entry->machine = ypi_strdup(parts[5]);
    for (int i = 0; i < PARTS; i++)
        free(parts[i]);
    return right;
}

static bool read_key(struct ypi_baseline *b, const char *key)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i]);
        if (strncmp(key, words[i], length) != 0 || key[length] != ' ' || key[length + 1] == '\0')
            continue;
        b->of = (enum ypi_baseline_of)i;
        b->name = ypi_key_name(key + length + 1, strlen(key + length + 1));
        return true;
    }
    return false;
}

static char *take(void *arg, const char *section, const char *name, const char *value)
{
    struct ypi_baseline_file *file = arg;
    struct ypi_baseline_entry entry = {.id = ypi_strdup(section)};
    char *problem = NULL;
    bool right = false;
    if (*section == '\0')
        problem = ypi_strdup("stands in no section: a section is a case's id");
    else if (!read_key(&entry.b, name))
        problem =
            ypi_format("'%s' is no figure: allowed are share, time and exact with a name", name);
    else if (!read_value(&entry, value))
        problem = ypi_strdup(
            entry.b.of == YPI_BASELINE_EXACT
                ? "is no baseline, which is FIGURE | seed N | N processes, N runs | COMMIT | DATE "
                  "| MACHINE"
                : "is no baseline, which is FIGURE[, slower FIGURE] | deviation D | N processes, N "
                  "runs | COMMIT | DATE | MACHINE");
    else if (ypi_baseline_find(file, &entry) != NULL)
        problem = ypi_strdup("is there twice for this kind of machine");
    else
        right = true;
    if (right)
        ypi_baseline_put(file, entry);
    else
        ypi_baseline_entry_clear(&entry);
    return problem;
}

bool ypi_baseline_read(const char *path, struct ypi_baseline_file *out)
{
    *out = (struct ypi_baseline_file){0};
    return access(path, F_OK) != 0 || ypi_ini_read(path, take, out) == YPI_INI_OK;
}

/* -- writing ------------------------------------------------------------------------------- */

static void add_entry(struct ypi_text *text, const struct ypi_baseline *b, const char *machine)
{
    char number[32];
    char *name = ypi_key_of_name(b->name);
    ypi_text_add(text, "%s %s = ", words[b->of], name);
    free(name);
    if (b->of == YPI_BASELINE_EXACT) {
        ypi_text_add(text, "%s | seed %llu", b->exact, (unsigned long long)b->seed);
    } else {
        ypi_print_double(number, b->typical);
        ypi_text_add(text, "%s", number);
        ypi_print_double(number, b->slower);
        if (isfinite(b->slower))
            ypi_text_add(text, ", slower %s", number);
        ypi_print_double(number, b->deviation);
        ypi_text_add(text, " | deviation %s", number);
    }
    ypi_text_add(text, " | %d processes, %d runs | %s | %s | %s\n", b->processes, b->runs,
                 *b->commit ? b->commit : "-", b->date, machine);
}

enum yp_status ypi_baseline_write(const char *path, const struct ypi_baseline_file *file)
{
    struct ypi_atomic_file out;
    struct ypi_text text = {0};
    ypi_text_add(&text, "; What kinds of machines reached for each case. Written by Yieldpoint.\n");
    for (int i = 0; i < file->count; i++) {
        const struct ypi_baseline_entry *e = &file->list[i];
        if (i == 0 || strcmp(file->list[i - 1].id, e->id) != 0)
            ypi_text_add(&text, "\n[%s]\n", e->id);
        add_entry(&text, &e->b, e->machine);
    }
    enum yp_status status = ypi_atomic_create(&out, path);
    if (status == YP_OK)
        status = ypi_write_at(out.fd, path, 0, text.data, text.length);
    if (status == YP_OK)
        status = ypi_atomic_sync(&out);
    if (status == YP_OK)
        status = ypi_atomic_publish(&out, true);
    if (status != YP_OK)
        ypi_atomic_abandon(&out);
    free(ypi_text_take(&text));
    return status;
}
