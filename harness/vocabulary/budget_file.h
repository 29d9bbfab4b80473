/*
 * Files of budgets (yp_budget_file): what may differ from case to case, kept beside the sources and
 * rewritten by a tool.
 *
 *     # a comment, as from ; on
 *     [perf/synth.c::words[threads=1-mib=512]]
 *     min share make = 0.52
 *     max peak host = 16384
 *     [perf/synth.c::words[threads=1-mib=512] avx2]
 *     min share make = 0.4
 *
 * A section is a case; its name goes up to the last `]` of the line. With the name of an
 * instruction set (yp_isa_name) behind the id it holds where a process may use that one at most, or
 * the highest, amx, where it may use AMX; of several that hold the lowest counts. A key is the kind
 * of the budget, what it is of (a measurement, value or check, or host, device or heap), and of a
 * count its counter. Bytes, seconds and shares are plain numbers. In names, % = : ; # are written
 * %25 %3d %3a %3b %23, a blank at an end %20. Only what is the same on every machine may stand
 * there: no rates and no times.
 */
#pragma once

#include <stdbool.h>
#include <yieldpoint/budget.h>

struct ypi_budget_line {
    struct yp_budget budget; /* its name is owned */
    int line;
};

struct ypi_budget_section {
    char *id; /* of the case, with an instruction set where one is named; owned */
    int line;
    struct ypi_budget_line *budgets; /* owned, in the order of the file */
    int count;
    bool used; /* a collected case has asked for it */
};

struct ypi_budget_file {
    char *path;                          /* as it was opened; owned */
    struct ypi_budget_section *sections; /* owned, in the order of the file */
    int count;
    bool wrong; /* some of it could not be read, and was reported */
};

/* Reads a whole file and prints what is wrong to stderr, each with its place and what is allowed.
 * Of a wrong one, what could be read is there. To be given back by ypi_budget_file_free(). */
struct ypi_budget_file *ypi_budget_file_read(const char *path);
void ypi_budget_file_free(struct ypi_budget_file *file);

/* The section of that title, an id or an id and an instruction set; NULL: there is none. */
struct ypi_budget_section *ypi_budget_file_find(struct ypi_budget_file *file, const char *id);

/* The key of a budget, "min share make"; NULL when one of its kind may not stand in a file. The
 * caller frees. */
char *ypi_budget_key(const struct yp_budget *budget);

/* A name as it stands in a key, and the name of such a text of `length` bytes. The caller frees. */
char *ypi_key_of_name(const char *name);
char *ypi_key_name(const char *text, size_t length) __attribute__((returns_nonnull));

/* What a key stands for, its name owned by the caller; the limit is left as it is. NULL, or what is
 * wrong with the key and what is allowed, which the caller frees. */
char *ypi_budget_of_key(struct yp_budget *out, const char *key);
