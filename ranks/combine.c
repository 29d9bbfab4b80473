#include "ranks/engine.h"

/* One loop each, which compilers vectorise. */
#define LOOP(name, type, expression) \
    static void name(type *restrict a, const type *restrict b, size_t count) \
    { \
        for (size_t i = 0; i < count; i++) \
            a[i] = (expression); \
    }
#define LOOPS(type, suffix) \
    LOOP(sum_##suffix, type, a[i] + b[i]) \
    LOOP(max_##suffix, type, a[i] > b[i] ? a[i] : b[i]) \
    LOOP(min_##suffix, type, a[i] < b[i] ? a[i] : b[i])

LOOPS(float, float)
LOOPS(double, double)
LOOP(max_int64, int64_t, a[i] > b[i] ? a[i] : b[i])
LOOP(min_int64, int64_t, a[i] < b[i] ? a[i] : b[i])
LOOP(sum_int64, int64_t, (int64_t)((uint64_t)a[i] + (uint64_t)b[i]))

size_t ypk_type_size(enum ypk_type type)
{
    return type == YPK_FLOAT ? sizeof(float) : sizeof(double);
}

void ypk_combine(void *restrict to, const void *restrict from, size_t count, enum ypk_type type,
                 enum ypk_op op)
{
    if (type == YPK_FLOAT)
        (op == YPK_SUM ? sum_float : op == YPK_MAX ? max_float : min_float)(to, from, count);
    else if (type == YPK_DOUBLE)
        (op == YPK_SUM ? sum_double : op == YPK_MAX ? max_double : min_double)(to, from, count);
    else
        (op == YPK_SUM ? sum_int64 : op == YPK_MAX ? max_int64 : min_int64)(to, from, count);
}
