/*
 * Functions in double precision with right vector-Jacobian products, in plain loops, for the
 * gradient checker to be tried on.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* y (R,C) = a (R,K) b (K,C) */
static void matmul(const double *a, const double *b, double *y, int R, int K, int C)
{
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[r * K + k] * b[k * C + c];
            y[r * C + c] = sum;
        }
}

static void matmul_vjp(const double *a, const double *b, const double *dy, double *da, double *db,
                       int R, int K, int C)
{
    for (int r = 0; r < R; r++)
        for (int k = 0; k < K; k++) {
            da[r * K + k] = 0;
            for (int c = 0; c < C; c++)
                da[r * K + k] += dy[r * C + c] * b[k * C + c];
        }
    for (int k = 0; k < K; k++)
        for (int c = 0; c < C; c++) {
            db[k * C + c] = 0;
            for (int r = 0; r < R; r++)
                db[k * C + c] += dy[r * C + c] * a[r * K + k];
        }
}

static void wide_f(const double *x, double *y)
{
    matmul(x, x + 15, y, 3, 5, 4);
}

static void wide_vjp(const double *x, const double *c, double *g, bool stale)
{
    (void)stale;
    matmul_vjp(x, x + 15, c, g, g + 15, 3, 5, 4);
}

static void square_f(const double *x, double *y)
{
    matmul(x, x + 16, y, 4, 4, 4);
}

static void square_vjp(const double *x, const double *c, double *g, bool stale)
{
    (void)stale;
    matmul_vjp(x, x + 16, c, g, g + 16, 4, 4, 4);
}

static void softmax_row(const double *x, double *y, int n)
{
    double top = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        top = fmax(top, x[i]);
    for (int i = 0; i < n; i++)
        sum += y[i] = exp(x[i] - top);
    for (int i = 0; i < n; i++)
        y[i] /= sum;
}

static void softmax_f(const double *x, double *y)
{
    for (int r = 0; r < 4; r++)
        softmax_row(x + 6 * r, y + 6 * r, 6);
}

static void softmax_vjp(const double *x, const double *c, double *g, bool stale)
{
    for (int r = 0; r < 4; r++, x += 6, c += 6, g += 6) {
        double p[6], dot = 0;
        softmax_row(x, p, 6);
        for (int i = 0; i < 6; i++)
            dot += stale ? 0 : c[i] * p[i];
        for (int i = 0; i < 6; i++)
            g[i] = p[i] * (c[i] - dot);
    }
}

/* Softmax does not see the shift x[24] that all its inputs share: a true gradient of 0, which is
 * rounding on both sides of the comparison. */
static void shifted_f(const double *x, double *y)
{
    double moved[24];
    for (int i = 0; i < 24; i++)
        moved[i] = x[i] + x[24];
    softmax_f(moved, y);
}

static void shifted_vjp(const double *x, const double *c, double *g, bool stale)
{
    double moved[24];
    for (int i = 0; i < 24; i++)
        moved[i] = x[i] + x[24];
    softmax_vjp(moved, c, g, stale);
    g[24] = 0;
    for (int i = 0; i < 24; i++)
        g[24] += g[i];
}

/* x[0..5]^T A x[0..5], A (6,6) behind x */
static void quadratic_f(const double *x, double *y)
{
    y[0] = 0;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            y[0] += x[i] * x[6 + 6 * i + j] * x[j];
}

/* stale: A taken for symmetric */
static void quadratic_vjp(const double *x, const double *c, double *g, bool stale)
{
    for (int i = 0; i < 6; i++) {
        g[i] = 0;
        for (int j = 0; j < 6; j++) {
            double other = stale ? x[6 + 6 * i + j] : x[6 + 6 * j + i];
            g[i] += c[0] * (x[6 + 6 * i + j] + other) * x[j];
            g[6 + 6 * i + j] = c[0] * x[i] * x[j];
        }
    }
}

static void log_sum_exp_f(const double *x, double *y)
{
    double top = x[0], sum = 0;
    for (int i = 1; i < 16; i++)
        top = fmax(top, x[i]);
    for (int i = 0; i < 16; i++)
        sum += exp(x[i] - top);
    y[0] = top + log(sum);
}

static void log_sum_exp_vjp(const double *x, const double *c, double *g, bool stale)
{
    (void)stale;
    softmax_row(x, g, 16);
    for (int i = 0; i < 16; i++)
        g[i] *= c[0];
}

static void gelu_f(const double *x, double *y)
{
    for (int i = 0; i < 16; i++)
        y[i] = x[i] * 0.5 * (1 + erf(x[i] * sqrt(0.5)));
}

static void gelu_vjp(const double *x, const double *c, double *g, bool stale)
{
    for (int i = 0; i < 16; i++)
        g[i] = c[i] * (0.5 * (1 + erf(x[i] * sqrt(0.5))) +
                       (stale ? 0 : x[i] * exp(-x[i] * x[i] / 2) * 0.39894228040143267794));
}

enum { IN = 5, HIDDEN = 8, OUT = 3, W1 = IN, B1 = W1 + HIDDEN * IN, W2 = B1 + HIDDEN };
enum { B2 = W2 + OUT * HIDDEN, MLP = B2 + OUT };

static void hidden_layer(const double *x, double *h)
{
    matmul(x + W1, x, h, HIDDEN, IN, 1);
    for (int i = 0; i < HIDDEN; i++)
        h[i] = tanh(h[i] + x[B1 + i]);
}

static void mlp_f(const double *x, double *y)
{
    double h[HIDDEN];
    hidden_layer(x, h);
    matmul(x + W2, h, y, OUT, HIDDEN, 1);
    for (int i = 0; i < OUT; i++)
        y[i] += x[B2 + i];
}

static void mlp_vjp(const double *x, const double *c, double *g, bool stale)
{
    double h[HIDDEN], dh[HIDDEN];
    hidden_layer(x, h);
    matmul_vjp(x + W2, h, c, g + W2, dh, OUT, HIDDEN, 1);
    for (int i = 0; i < OUT; i++)
        g[B2 + i] = c[i];
    for (int i = 0; i < HIDDEN; i++)
        g[B1 + i] = dh[i] *= stale ? 1 : 1 - h[i] * h[i];
    matmul_vjp(x + W1, x, dh, g + W1, g, HIDDEN, IN, 1);
}

enum { SIGNAL = 20, TAPS = 5, CHANNELS = 2, PLACES = SIGNAL - TAPS + 1 };

static void conv1d_f(const double *x, double *y)
{
    for (int k = 0; k < CHANNELS; k++)
        for (int i = 0; i < PLACES; i++) {
            double sum = 0;
            for (int j = 0; j < TAPS; j++)
                sum += x[i + j] * x[SIGNAL + k * TAPS + j];
            y[k * PLACES + i] = sum;
        }
}

static void conv1d_vjp(const double *x, const double *c, double *g, bool stale)
{
    (void)stale;
    memset(g, 0, (SIGNAL + CHANNELS * TAPS) * sizeof *g);
    for (int k = 0; k < CHANNELS; k++)
        for (int i = 0; i < PLACES; i++)
            for (int j = 0; j < TAPS; j++) {
                g[i + j] += c[k * PLACES + i] * x[SIGNAL + k * TAPS + j];
                g[SIGNAL + k * TAPS + j] += c[k * PLACES + i] * x[i + j];
            }
}

/* Sixteen orders of magnitude between two tensors and the outputs they move. */
static void scaled_f(const double *x, double *y)
{
    for (int i = 0; i < 8; i++) {
        y[i] = 1e8 * exp(0.5 * x[i]);
        y[8 + i] = 1e-8 * sin(x[8 + i]);
    }
}

static void scaled_vjp(const double *x, const double *c, double *g, bool stale)
{
    (void)stale;
    for (int i = 0; i < 8; i++) {
        g[i] = c[i] * 1e8 * 0.5 * exp(0.5 * x[i]);
        g[8 + i] = c[8 + i] * 1e-8 * cos(x[8 + i]);
    }
}

/* The same in the inputs: the tensors live at 1e-8 and at 1e8. */
static void tiny_and_huge_f(const double *x, double *y)
{
    for (int i = 0; i < 8; i++)
        y[i] = exp(1e8 * x[i]) + log1p(1e-16 * x[8 + i] * x[8 + i]);
}

static void tiny_and_huge_vjp(const double *x, const double *c, double *g, bool stale)
{
    (void)stale;
    for (int i = 0; i < 8; i++) {
        g[i] = c[i] * 1e8 * exp(1e8 * x[i]);
        g[8 + i] = c[i] * 2e-16 * x[8 + i] / (1 + 1e-16 * x[8 + i] * x[8 + i]);
    }
}

struct part {
    const char *name;
    int rows, cols;
    double size; /* of its elements */
    bool zero;   /* its true gradient is 0, and what a vjp returns is rounding */
};

struct subject {
    const char *name;
    size_t outputs;
    void (*f)(const double *x, double *y);
    void (*vjp)(const double *x, const double *c, double *g, bool stale);
    bool has_stale; /* a product with an intermediate forgotten */
    struct part parts[6];
};

static const struct subject subjects[] = {
    {"matmul 3x5x4", 12, wide_f, wide_vjp, false, {{"A", 3, 5, 1, false}, {"B", 5, 4, 1, false}}},
    {"matmul 4x4x4",
     16,
     square_f,
     square_vjp,
     false,
     {{"A", 4, 4, 1, false}, {"B", 4, 4, 1, false}}},
    {"softmax", 24, softmax_f, softmax_vjp, true, {{"x", 4, 6, 1, false}}},
    {"softmax shifted",
     24,
     shifted_f,
     shifted_vjp,
     false,
     {{"x", 4, 6, 1, false}, {"shift", 1, 1, 1, true}}},
    {"quadratic",
     1,
     quadratic_f,
     quadratic_vjp,
     true,
     {{"x", 1, 6, 1, false}, {"A", 6, 6, 1, false}}},
    {"log-sum-exp", 1, log_sum_exp_f, log_sum_exp_vjp, false, {{"x", 4, 4, 1, false}}},
    {"gelu", 16, gelu_f, gelu_vjp, true, {{"x", 4, 4, 1, false}}},
    {"mlp",
     OUT,
     mlp_f,
     mlp_vjp,
     true,
     {{"x", 1, IN, 1, false},
      {"W1", HIDDEN, IN, 1, false},
      {"b1", 1, HIDDEN, 1, false},
      {"W2", OUT, HIDDEN, 1, false},
      {"b2", 1, OUT, 1, false}}},
    {"conv1d",
     CHANNELS *PLACES,
     conv1d_f,
     conv1d_vjp,
     false,
     {{"signal", 1, SIGNAL, 1, false}, {"kernel", CHANNELS, TAPS, 1, false}}},
    {"scaled",
     16,
     scaled_f,
     scaled_vjp,
     false,
     {{"large", 1, 8, 1, false}, {"small", 1, 8, 1, false}}},
    {"tiny and huge",
     8,
     tiny_and_huge_f,
     tiny_and_huge_vjp,
     false,
     {{"tiny", 1, 8, 1e-8, false}, {"huge", 1, 8, 1e8, false}}},
};
#define SUBJECTS (sizeof subjects / sizeof *subjects)
