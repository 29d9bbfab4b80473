/* All collective operations and messages, compared to the bit with what one process computes. For
 * any engine: `YPK_TRY` fails with what is wrong. */
#pragma once

#include "ranks/communicator.h"
#include "ranks/link.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of rank `rank` whose sum depends on the order; of two zeros the greater one does. */
static inline double element(int rank, size_t i, int salt)
{
    const uint64_t bits = ((uint64_t)rank * 7919 + i * 104729 + (uint64_t)salt * 31) % 100003;
    if (i % 97 == 5)
        return rank % 2 == 0 ? 0.0 : -0.0;
    return ((double)bits - 50000) * ldexp(1.0 / 3, (int)(bits % 40) - 20);
}

static inline void fill(void *data, size_t count, enum ypk_type type, int rank, int salt)
{
    for (size_t i = 0; i < count; i++) {
        if (type == YPK_FLOAT)
            ((float *)data)[i] = (float)element(rank, i, salt);
        else if (type == YPK_DOUBLE)
            ((double *)data)[i] = element(rank, i, salt);
        else
            ((int64_t *)data)[i] = (int64_t)(element(rank, i, salt) * 1000);
    }
}

#define COMBINED(type) \
    do { \
        type *a = to; \
        const type *b = from; \
        for (size_t i = 0; i < count; i++) \
            a[i] = op == YPK_SUM   ? a[i] + b[i] \
                   : op == YPK_MAX ? (a[i] > b[i] ? a[i] : b[i]) \
                                   : (a[i] < b[i] ? a[i] : b[i]); \
    } while (0)

static inline void plain_combine(void *to, const void *from, size_t count, enum ypk_type type,
                                 enum ypk_op op)
{
    if (type == YPK_FLOAT)
        COMBINED(float);
    else if (type == YPK_DOUBLE)
        COMBINED(double);
    else
        COMBINED(int64_t);
}

/* The combined data of all ranks, by one process in the order of ranks. The caller frees. */
static inline void *plain_reduced(size_t count, enum ypk_type type, enum ypk_op op, int size,
                                  int salt)
{
    void *sum = malloc(count * sizeof(double) + 1);
    void *next = malloc(count * sizeof(double) + 1);
    fill(sum, count, type, 0, salt);
    for (int rank = 1; rank < size; rank++) {
        fill(next, count, type, rank, salt);
        plain_combine(sum, next, count, type, op);
    }
    free(next);
    return sum;
}

#define CHECK(condition, ...) \
    do { \
        if (!(condition)) \
            return yp_set_error(YP_DEVICE_FAULT, __VA_ARGS__); \
    } while (0)
#define YPK_TRY(call) \
    do { \
        if ((call) != YP_OK) \
            return yp_last_status(); \
    } while (0)

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): a check that fails ends the process. */
static inline enum yp_status try_reductions(struct ypk_communicator *c, size_t count, bool shared)
{
    const int size = ypk_size(c);
    const int rank = ypk_rank(c);
    for (int type = YPK_FLOAT; type <= YPK_INT64; type++) {
        for (int op = YPK_SUM; op <= YPK_MIN; op++) {
            const size_t bytes = ypk_type_size((enum ypk_type)type) * count;
            const size_t each = count / (size_t)size;
            char *data = shared ? ypk_allocate(c, bytes) : malloc(bytes + 1);
            CHECK(data != NULL, "no memory: %s", yp_last_error());
            CHECK(!shared || ((uintptr_t)data % 64 == 0 && (bytes == 0 || data[bytes - 1] == 0)),
                  "memory at %p", (void *)data);
            char *part = malloc(bytes + 1);
            void *want = plain_reduced(count, (enum ypk_type)type, (enum ypk_op)op, size, type);
            fill(data, count, (enum ypk_type)type, rank, type);
            YPK_TRY(ypk_reduce_scatter(c, data, each, part, (enum ypk_type)type, (enum ypk_op)op));
            const size_t part_bytes = each * ypk_type_size((enum ypk_type)type);
            CHECK(memcmp(part, (char *)want + (size_t)rank * part_bytes, part_bytes) == 0,
                  "reduce-scatter of %zu elements, type %d, op %d", count, type, op);
            YPK_TRY(ypk_all_reduce(c, data, count, (enum ypk_type)type, (enum ypk_op)op));
            CHECK(memcmp(data, want, bytes) == 0, "all-reduce of %zu elements, type %d, op %d",
                  count, type, op);
            free(want);
            free(part);
            if (shared)
                YPK_TRY(ypk_free(c, data));
            else
                free(data);
        }
    }
    return YP_OK;
}

static inline enum yp_status try_gather(struct ypk_communicator *c, size_t bytes, bool in_place)
{
    const size_t size = (size_t)ypk_size(c);
    const size_t rank = (size_t)ypk_rank(c);
    unsigned char *all = calloc(size + 1, bytes + 1);
    unsigned char *mine = in_place ? all + rank * bytes : calloc(1, bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        mine[i] = (unsigned char)(rank * 37 + i);
    YPK_TRY(ypk_all_gather(c, mine, bytes, all));
    for (size_t r = 0; r < size; r++)
        for (size_t i = 0; i < bytes; i++)
            CHECK(all[r * bytes + i] == (unsigned char)(r * 37 + i),
                  "all-gather of %zu bytes: byte %zu of rank %zu", bytes, i, r);
    if (!in_place)
        free(mine);
    free(all);
    return YP_OK;
}

static inline enum yp_status try_broadcast(struct ypk_communicator *c, size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    for (int root = 0; root < ypk_size(c); root++) {
        for (size_t i = 0; i < bytes; i++)
            data[i] = ypk_rank(c) == root ? (unsigned char)(i * 3 + (size_t)root) : 0;
        YPK_TRY(ypk_broadcast(c, data, bytes, root));
        for (size_t i = 0; i < bytes; i++)
            CHECK(data[i] == (unsigned char)(i * 3 + (size_t)root),
                  "broadcast of %zu bytes from rank %d: byte %zu", bytes, root, i);
    }
    free(data);
    return YP_OK;
}

/* Round the ring, all at once, and then one after the other. */
static inline enum yp_status try_messages(struct ypk_communicator *c, size_t bytes)
{
    const int size = ypk_size(c);
    const int rank = ypk_rank(c);
    const int right = (rank + 1) % size;
    const int left = (rank + size - 1) % size;
    unsigned char *out = malloc(bytes + 1);
    unsigned char *in = calloc(1, bytes + 1);
    if (size == 1) {
        free(out);
        free(in);
        return YP_OK;
    }
    memset(out, rank + 1, bytes + 1);
    YPK_TRY(ypk_exchange(c, out, bytes, right, in, bytes, left));
    for (size_t i = 0; i < bytes; i++)
        CHECK(in[i] == left + 1, "message of %zu bytes: byte %zu", bytes, i);
    if (rank == 0)
        YPK_TRY(ypk_send(c, out, bytes, right));
    YPK_TRY(ypk_receive(c, in, bytes, left));
    for (size_t i = 0; i < bytes; i++)
        CHECK(in[i] == 1, "message of %zu bytes round the ring: byte %zu", bytes, i);
    if (rank != 0)
        YPK_TRY(ypk_send(c, in, bytes, right));
    free(out);
    free(in);
    return YP_OK;
}

enum { UNDER_WAY = 5 }; /* exchanges with each of the others */

/* Several exchanges with all others under way, a collective operation before their end. The last
 * ones go one way: from ranks to higher ones. */
static inline enum yp_status try_begun(struct ypk_communicator *c, size_t bytes)
{
    const int size = ypk_size(c);
    const int rank = ypk_rank(c);
    const size_t others = (size_t)size - 1;
    unsigned char *out = malloc(UNDER_WAY * bytes + 1);
    unsigned char *in = calloc(UNDER_WAY * others + 1, bytes + 1);
    for (size_t i = 0; i < UNDER_WAY * bytes; i++)
        out[i] = (unsigned char)(rank * 50 + (int)(i / bytes));
    for (size_t n = 0; n < UNDER_WAY; n++)
        for (size_t k = 0; k < others; k++) {
            const int to = (rank + (int)k + 1) % size;
            const int from = (rank + size - (int)k - 1) % size;
            const bool last = n == UNDER_WAY - 1;
            YPK_TRY(ypk_begin_exchange(c, out + n * bytes, bytes, last && to < rank ? -1 : to,
                                       in + (n * others + k) * bytes, bytes,
                                       last && from > rank ? -1 : from));
        }
    YPK_TRY(ypk_progress(c));
    CHECK(size == 1 || ypk_send(c, out, 1, (rank + 1) % size) == YP_INVALID,
          "a message while exchanges are under way");
    YPK_TRY(try_gather(c, 100, false));
    for (size_t n = 0; n < UNDER_WAY * others; n++)
        YPK_TRY(ypk_end_exchange(c));
    CHECK(size == 1 || ypk_end_exchange(c) == YP_INVALID, "an end without a beginning");
    for (size_t n = 0; n < UNDER_WAY * others; n++)
        for (size_t i = 0; i < bytes; i++) {
            const int from = (rank + size - (int)(n % others) - 1) % size;
            const bool none = n / others == UNDER_WAY - 1 && from > rank;
            CHECK(in[n * bytes + i] == (none ? 0 : (unsigned char)(from * 50 + (int)(n / others))),
                  "exchange %zu of %zu bytes: byte %zu", n, bytes, i);
        }
    free(out);
    free(in);
    return YP_OK;
}

/* NOLINTEND(clang-analyzer-unix.Malloc) */

static inline enum yp_status try_all(struct ypk_communicator *c)
{
    static const size_t counts[] = {0, 1, 7, 1000, 40009, 140009};
    YPK_TRY(ypk_barrier(c));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        YPK_TRY(try_reductions(c, counts[i], false));
        YPK_TRY(try_reductions(c, counts[i], true));
        YPK_TRY(try_gather(c, counts[i], false));
        YPK_TRY(try_gather(c, counts[i], true));
        YPK_TRY(try_broadcast(c, counts[i]));
        YPK_TRY(try_messages(c, counts[i]));
        YPK_TRY(try_begun(c, counts[i]));
    }
    return ypk_barrier(c);
}

static inline bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Small and large operations over a link, and that its end gives all back. */
static inline enum yp_status try_links(struct ypk_communicator *c, bool memory)
{
    static const size_t sizes[] = {1, 8, 4096, 100000, (size_t)3 << 20};
    double last = 0;
    for (int what = YPK_PROBE_ALL_REDUCE; what < YPK_PROBE_COUNT; what++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const char *name = ypk_probe_name((enum ypk_probed)what);
            struct ypk_link *link;
            double seconds = 0;
            double all[16];
            YPK_TRY(ypk_link_open(&link, c, (enum ypk_probed)what, sizes[i]));
            CHECK(ypk_link_is_memory(link) == memory, "%s of %zu bytes: by memory: %d", name,
                  sizes[i], !memory);
            for (int run = 0; run < 2; run++) {
                YPK_TRY(ypk_link_run(link, 1e-3, &seconds));
                YPK_TRY(ypk_all_gather(c, &seconds, sizeof seconds, all));
                CHECK(all[0] == seconds && seconds > 0 && seconds < 10,
                      "%s of %zu bytes: %g s, on rank 0 %g s", name, sizes[i], seconds, all[0]);
            }
            ypk_link_close(link);
            last = seconds;
        }
    /* 3 MiB take longer than any processor copies them. */
    CHECK(last > 3e-6, "3 MiB in %g s", last);
    struct ypk_link *none;
    CHECK(ypk_link_open(&none, c, YPK_PROBE_BARRIER, 8) == YP_INVALID && none == NULL, "a barrier");
    CHECK(ypk_link_open(&none, NULL, YPK_PROBE_EXCHANGE, 8) == YP_INVALID, "one rank");
    return ypk_barrier(c);
}

/* The figures of all operations, by the formulas of nccl-tests. */
static inline enum yp_status try_probes(struct ypk_communicator *c)
{
    const double n = ypk_size(c);
    const double bytes = 48000;
    const struct {
        double algorithm, bus; /* times 1 / seconds */
    } want[YPK_PROBE_COUNT] = {{NAN, NAN},
                               {bytes, bytes * 2 * (n - 1) / n},
                               {bytes, bytes * (n - 1) / n},
                               {bytes, bytes * (n - 1) / n},
                               {bytes, bytes}};
    for (int what = 0; what < YPK_PROBE_COUNT; what++) {
        struct ypk_figure figure;
        struct ypk_figure all[16];
        YPK_TRY(ypk_probe(c, (enum ypk_probed)what, (size_t)bytes, 0.01, &figure));
        YPK_TRY(ypk_all_gather(c, &figure, sizeof figure, all));
        const char *name = ypk_probe_name((enum ypk_probed)what);
        CHECK(memcmp(&all[0].seconds, &figure.seconds, sizeof figure.seconds) == 0,
              "%s: another figure than on rank 0", name);
        CHECK(figure.samples >= 3 && figure.least > 0 && figure.least <= figure.seconds &&
                  figure.seconds <= figure.most && figure.most < 10,
              "%s: %g s [%g, %g] of %d samples", name, figure.seconds, figure.least, figure.most,
              figure.samples);
        CHECK(what == YPK_PROBE_BARRIER
                  ? isnan(figure.algorithm) && isnan(figure.bus)
                  : near(figure.algorithm * figure.seconds, want[what].algorithm) &&
                        near(figure.bus * figure.seconds, want[what].bus),
              "%s: %g and %g bytes/s of %g s", name, figure.algorithm, figure.bus, figure.seconds);
    }
    struct ypk_figure none;
    CHECK(ypk_probe(c, YPK_PROBE_ALL_GATHER, 4 * (size_t)n - 1, 0.01, &none) == YP_INVALID,
          "less than a float for each rank");
    return ypk_barrier(c);
}
