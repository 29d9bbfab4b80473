/* The timed measurements of one case, base against head, by pairs of fresh processes until it is
 * sure which of the two is slower, if any. */
#pragma once

#include "gate/comparison.h"
#include "gate/pair/pair.h"

#include <stdbool.h>

struct ypi_duel_rule {
    double threshold; /* 0.03: slower by more than 3 % is worse. Below 0, above -1: the question is
                         whether the head takes less than 1 + threshold times as long, which is
                         better, and all else is the same */
    double error;     /* probability of a wrong verdict, of each measurement */
    double also;      /* not 0: goes on until the interval excludes 1 + also too */
    double sharp; /* not 0: beyond the threshold goes on until the end of the interval nearest to
                     1 is this part of the way to the ratio, in logarithms; below 1 */
    bool faster;  /* a head that is not slower, but looks faster by more than the threshold, gets as
                     many pairs again to show it */
};

struct ypi_duel;

/* `names`: of the measurements that both sides have, in the order of the case. All that is given
 * stays the caller's, and is to outlive the duel. `in_whole`: a side cannot take turns. */
struct ypi_duel *ypi_duel_open(const struct ypi_pairing *pairing, const char *const *names,
                               int count, struct ypi_duel_rule rule, bool in_whole);

/* Runs pairs until every measurement is decided or `seconds` are over; as many pairs as there were
 * count on. YPI_PAIR_FAILED: the case cannot be compared, which its verdicts report. */
enum ypi_pair_end ypi_duel_run(struct ypi_duel *d, struct ypi_seed *coin, double seconds);

/* Whether nothing is left to be found out, or can be. */
bool ypi_duel_is_over(const struct ypi_duel *d);
double ypi_duel_seconds(const struct ypi_duel *d); /* that it took so far */

/* What more pairs of a case promise, judged by those that there were. */
struct ypi_prospect {
    double seconds; /* until the next of its measurements is decided; INFINITY: none comes nearer */
    bool slower;    /* that one looks slower */
};
struct ypi_prospect ypi_duel_prospect(const struct ypi_duel *d);

/* "1.012 [0.980, 1.041]" of the measurement that is least decided; "" before the first pair. */
void ypi_duel_words(const struct ypi_duel *d, char out[64]);

/* Adds a comparison a measurement, those that are not decided as unsure. */
void ypi_duel_conclude(const struct ypi_duel *d, struct ypi_comparisons *all);
void ypi_duel_close(struct ypi_duel *d);
