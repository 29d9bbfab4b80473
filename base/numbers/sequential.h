/* Tests that may be looked at after every observation, and stopped whenever they are sure.
 *
 * The evidence against "the observations lie symmetrically about a centre of at most c" is a
 * capital that starts with 1 and bets on each observation: a fair game as long as that holds, for
 * then the capital is multiplied by exp(y) / cosh(y), y = bet (x - c) clipped, which is 1 on
 * average whatever |x - c| is (de la Peña, "A general class of exponential inequalities for
 * martingales and ratios", Annals of Probability 27, 1999). A game that is fair, or worse, reaches
 * 1 / error with a probability of at most `error`, at any time (Ville's inequality), so nothing is
 * paid for looking. No distribution is assumed but the symmetry, which holds exactly where a coin
 * decides which of two equal sides is which. Several bets share the capital, for how far the centre
 * is off, and how much the observations scatter, is not known before. A clipped one loses little to
 * an outlier. */
#pragma once

#include <stddef.h>

/* ln of the capital that bets on a centre above `centre` (`side` 1) or below it (-1) of logarithms
 * of ratios. Falls as `centre` moves to that side. */
double ypi_evidence(const double *x, size_t count, double centre, int side);

/* The centres that neither bet refutes at `error` / 2 each: between them lies the true one with
 * probability 1 - error, whenever one stops. Infinite where there is too little to tell. */
struct ypi_span {
    double low, high;
};
struct ypi_span ypi_sequential_span(const double *x, size_t count, double error);
