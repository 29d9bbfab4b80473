/* What two sides, base and head, are beside each other: of each case its times, its exact figures
 * and whether it is there at all. Filled by `gate`, `compare`, `reproduce` and `bisect`; printed by
 * summary.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum ypi_compared {
    YPI_COMPARED_SAME = 0, /* of times: not slower by more than the threshold; else equal */
    YPI_COMPARED_BETTER,   /* faster, less memory, fewer allocations, a failure mended */
    YPI_COMPARED_WORSE,    /* slower, more memory, more allocations, passed before and fails now */
    YPI_COMPARED_CHANGED, /* an exact figure that is neither better nor worse: value, hash, error */
    YPI_COMPARED_UNSURE,  /* cannot say */
    YPI_COMPARED_GONE,    /* on the base's side only */
    YPI_COMPARED_NEW,     /* on the head's side only */
    YPI_COMPARED_KINDS
};
/* "same", "faster"/"less", "slower"/"more", "changed", "cannot say", "only in base", "only in
 * head": the words depend on the quantity. */

enum ypi_quantity {
    YPI_QUANTITY_CASE = 0,     /* whether it is there */
    YPI_QUANTITY_OUTCOME,      /* passed, failed, ... */
    YPI_QUANTITY_TIME,         /* seconds an iteration of a measurement, or its share */
    YPI_QUANTITY_PEAK,         /* accounted memory, bytes */
    YPI_QUANTITY_RESIDENT,     /* peak of the resident set above what the process began with */
    YPI_QUANTITY_ALLOCATIONS,  /* granted requests for memory */
    YPI_QUANTITY_INSTRUCTIONS, /* an iteration, by Callgrind */
    YPI_QUANTITY_VALUE,        /* yp_value */
    YPI_QUANTITY_ERROR,        /* of a gradient, or of a precision */
    YPI_QUANTITY_HASH,         /* of the data */
    YPI_QUANTITIES
};

/* One quantity of one case. Texts are owned; NULL where there is none. */
struct ypi_comparison {
    char *id;   /* of the case */
    char *name; /* of the measurement or value; "host" or "device" of memory */
    enum ypi_quantity quantity;
    enum ypi_compared verdict;
    bool by_share;               /* a time that is compared as the share of its bound */
    double base, head;           /* medians in the quantity's unit; NaN: none */
    char *base_text, *head_text; /* hashes, outcomes */
    char *unit;                  /* of a value */
    double ratio, low, high; /* of times: head over base (of shares: base over head), so that above
                                1 is slower; with its interval. NaN: none */
    int pairs;               /* of processes that the ratio is from */
    double seconds;          /* that it took */
    char *note;              /* a sentence more */
};

struct ypi_side {
    char *name;   /* as the user named it */
    char *commit; /* "" where there is none */
    bool dirty;
    char *machine; /* fingerprint; "" where it is not known */
};

struct ypi_comparisons {
    struct ypi_side base, head;
    double threshold;  /* of times: 0.03 is 3 % */
    double error;      /* rate for the whole of it: 0.01 */
    double seconds;    /* that it took; 0: nothing was run */
    bool whole;        /* it came to its end */
    int missing_fails; /* bool: what is on the base's side only is worse */
    bool every;        /* exact figures that are the same are to be reported too */
    char **notes;      /* about the whole: owned, as the list is */
    int note_count;
    struct ypi_comparison *list;
    int count;
};

/* The new last element, zeroed but for NaN in all figures; valid until the next one is added. */
struct ypi_comparison *ypi_comparison_add(struct ypi_comparisons *all, const char *id,
                                          enum ypi_quantity quantity, const char *name);
/* Why a time is not compared that is less than any processor takes: in the base, the head or both.
 * The caller frees. */
char *ypi_comparison_no_time(bool base, bool head);
/* Of a time with an interval: moves the ratio into it where it lies outside, and the two times
 * apart or together until their quotient is the ratio. Each is estimated by itself, a median of
 * other figures. */
void ypi_comparison_agree(struct ypi_comparison *c);
void ypi_comparisons_note(struct ypi_comparisons *all, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ypi_comparisons_clear(struct ypi_comparisons *all);

/* "faster", ... of a verdict on a quantity. */
const char *ypi_compared_name(enum ypi_quantity quantity, enum ypi_compared verdict);
const char *ypi_quantity_name(enum ypi_quantity quantity); /* "time", "peak memory", ... */
