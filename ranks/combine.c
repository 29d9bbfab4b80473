#include "ranks/engine.h"

/* One loop each, which compilers vectorise: an array may be another one, but none begins within
 * another. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a build that fuzzes vectorises none */
#define EACH_BY_ITSELF _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_BY_ITSELF _Pragma("GCC ivdep")
#endif
#define LOOP(name, type, expression) \
    static void name(type *to, const type *a, const type *b, size_t count) \
    { \
        EACH_BY_ITSELF \
        for (size_t i = 0; i < count; i++) \
            to[i] = (expression); \
    }

LOOP(sum_float, float, a[i] + b[i])
LOOP(max_float, float, a[i] > b[i] ? a[i] : b[i])
LOOP(min_float, float, a[i] < b[i] ? a[i] : b[i])
LOOP(sum_double, double, a[i] + b[i])
LOOP(max_double, double, a[i] > b[i] ? a[i] : b[i])
LOOP(min_double, double, a[i] < b[i] ? a[i] : b[i])
LOOP(sum_int64, int64_t, (int64_t)((uint64_t)a[i] + (uint64_t)b[i]))
LOOP(max_int64, int64_t, a[i] > b[i] ? a[i] : b[i])
LOOP(min_int64, int64_t, a[i] < b[i] ? a[i] : b[i])

size_t ypk_type_size(enum ypk_type type)
{
    return type == YPK_FLOAT ? sizeof(float) : sizeof(double);
}

void ypk_combine(void *to, const void *a, const void *b, size_t count, enum ypk_type type,
                 enum ypk_op op)
{
    if (type == YPK_FLOAT)
        (op == YPK_SUM ? sum_float : op == YPK_MAX ? max_float : min_float)(to, a, b, count);
    else if (type == YPK_DOUBLE)
        (op == YPK_SUM ? sum_double : op == YPK_MAX ? max_double : min_double)(to, a, b, count);
    else
        (op == YPK_SUM ? sum_int64 : op == YPK_MAX ? max_int64 : min_int64)(to, a, b, count);
}
