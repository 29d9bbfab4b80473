/* The global RX detector of a cube in double, for the tests of scenes. */
#ifndef YIELDPOINT_TESTS_RX_KIT_H
#define YIELDPOINT_TESTS_RX_KIT_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Lower Cholesky factor of the n x n matrix a, in place. */
static inline bool factor(double *a, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < j; k++)
            for (size_t i = j; i < n; i++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
        if (!(a[j * n + j] > 0))
            return false;
        double root = sqrt(a[j * n + j]);
        for (size_t i = j; i < n; i++)
            a[i * n + j] /= root;
    }
    return true;
}

struct score {
    double score;
    int label;
};

static inline int by_score(const void *a, const void *b)
{
    double x = ((const struct score *)a)->score, y = ((const struct score *)b)->score;
    return (x > y) - (x < y);
}

/* Mann-Whitney; scores that tie count half. */
static inline double roc_auc(struct score *scores, size_t n)
{
    qsort(scores, n, sizeof *scores, by_score);
    double negatives = 0, positives = 0, wins = 0;
    for (size_t i = 0, j; i < n; i = j) {
        double p = 0, q = 0;
        for (j = i; j < n && scores[j].score == scores[i].score; j++)
            *(scores[j].label ? &p : &q) += 1;
        wins += p * (negatives + q / 2);
        positives += p;
        negatives += q;
    }
    return wins / (positives * negatives);
}

struct rx {
    double auc;
    double targets; /* the targets' share of the pixels */
    double highest; /* score of a target */
    double mean;    /* score of the background */
};

/* Mean and lower Cholesky factor of the covariance, two passes in double. */
static inline void rx_fit(const float *values, size_t pixels, size_t channels, double *mean,
                          double *sigma)
{
    double n = (double)pixels;
    for (size_t i = 0; i < pixels * channels; i++)
        mean[i % channels] += (double)values[i] / n;
    for (size_t i = 0; i < pixels * channels; i += channels)
        for (size_t c = 0; c < channels; c++)
            for (size_t d = 0; d <= c; d++)
                sigma[c * channels + d] +=
                    ((double)values[i + c] - mean[c]) * ((double)values[i + d] - mean[d]) / (n - 1);
    cr_assert(factor(sigma, channels), "the covariance is not positive definite");
}

static inline struct rx rx_run(const float *values, const uint8_t *labels, size_t n,
                               size_t channels)
{
    struct rx rx = {0};
    double *mean = calloc(channels, sizeof *mean), *x = malloc(channels * sizeof *x);
    double *sigma = calloc(channels * channels, sizeof *sigma);
    struct score *scores = malloc(n * sizeof *scores);
    rx_fit(values, n, channels, mean, sigma);
    for (size_t i = 0; i < n; i++) {
        double score = 0;
        for (size_t c = 0; c < channels; c++) {
            x[c] = (double)values[i * channels + c] - mean[c];
            for (size_t d = 0; d < c; d++)
                x[c] -= sigma[c * channels + d] * x[d];
            x[c] /= sigma[c * channels + c];
            score += x[c] * x[c];
        }
        scores[i] = (struct score){score, labels[i]};
        rx.targets += labels[i] / (double)n;
        rx.highest = labels[i] && score > rx.highest ? score : rx.highest;
        rx.mean += labels[i] ? 0 : score / (double)n;
    }
    rx.mean /= 1 - rx.targets;
    rx.auc = roc_auc(scores, n);
    free(mean);
    free(x);
    free(sigma);
    free(scores);
    return rx;
}

#endif
