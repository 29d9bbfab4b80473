/*
 * Budgets: what a case promises to keep inside.
 *
 * They are part of the declaration, so they are known before a run: `--co -v` lists them, and a
 * case that crashes still has every one of them reported as not met.
 *
 * Each macro below is one entry of YP_BUDGETS(...). `name` is the name given to yp_measure(),
 * yp_value() or a gradient check in the body.
 */
#ifndef YIELDPOINT_BUDGET_H
#define YIELDPOINT_BUDGET_H

#include <yieldpoint/device.h>

#define YP_MAX_BUDGETS 32

enum yp_budget_kind {
    YP_BUDGET_NONE = 0,
    /* Speed: judged on the median's interval, recorded only under --speed=record. */
    YP_BUDGET_MIN_RATE,      /* items a second */
    YP_BUDGET_MIN_FLOPS,     /* declared floating-point operations a second */
    YP_BUDGET_MIN_BANDWIDTH, /* declared bytes a second */
    YP_BUDGET_MAX_LATENCY,   /* seconds an iteration */
    /* Exact: no noise, so one run decides. */
    YP_BUDGET_MAX_PEAK,        /* accounted bytes in use at once */
    YP_BUDGET_MAX_RESIDENT,    /* growth of the resident set, bytes */
    YP_BUDGET_MAX_LEAK,        /* accounted bytes not given back */
    YP_BUDGET_MAX_ALLOCATIONS, /* number of accounted allocations */
    YP_BUDGET_MIN_VALUE,
    YP_BUDGET_MAX_VALUE,
    YP_BUDGET_MAX_GRADIENT_ERROR, /* relative error of a gradient check */
};

struct yp_budget {
    enum yp_budget_kind kind;
    const char *name; /* of the measurement, value or check; NULL for memory */
    enum yp_memory_kind memory;
    double limit; /* in the unit named beside the kind */
};

/* clang-format off */
#ifdef __cplusplus
#define YP_BUDGETS(...) { __VA_ARGS__ }
#else /* test.h says why */
#define YP_BUDGETS(...) { __VA_ARGS__ }, .budgets_fit_ = YPI_FIT(YP_MAX_BUDGETS, struct yp_budget, __VA_ARGS__)
#define YPI_FIT(most_, type_, ...) \
    sizeof(char[sizeof((type_[]){ __VA_ARGS__ }) <= (most_) * sizeof(type_) ? 1 : -1])
#endif

#define yp_min_rate(name_, items_per_second_) \
    { .kind = YP_BUDGET_MIN_RATE, .name = name_, .limit = (items_per_second_) }
#define yp_min_flops(name_, flops_per_second_) \
    { .kind = YP_BUDGET_MIN_FLOPS, .name = name_, .limit = (flops_per_second_) }
#define yp_min_bandwidth(name_, bytes_per_second_) \
    { .kind = YP_BUDGET_MIN_BANDWIDTH, .name = name_, .limit = (bytes_per_second_) }
#define yp_max_latency(name_, seconds_) \
    { .kind = YP_BUDGET_MAX_LATENCY, .name = name_, .limit = (seconds_) }
#define yp_max_peak(memory_, bytes_) \
    { .kind = YP_BUDGET_MAX_PEAK, .memory = memory_, .limit = (double)(bytes_) }
#define yp_max_resident(bytes_) \
    { .kind = YP_BUDGET_MAX_RESIDENT, .memory = YP_HOST, .limit = (double)(bytes_) }
/* Without this budget a case may leave nothing behind: the limit is then 0 bytes. */
#define yp_max_leak(memory_, bytes_) \
    { .kind = YP_BUDGET_MAX_LEAK, .memory = memory_, .limit = (double)(bytes_) }
#define yp_max_allocations(memory_, count_) \
    { .kind = YP_BUDGET_MAX_ALLOCATIONS, .memory = memory_, .limit = (double)(count_) }
#define yp_min_value(name_, limit_) \
    { .kind = YP_BUDGET_MIN_VALUE, .name = name_, .limit = (limit_) }
#define yp_max_value(name_, limit_) \
    { .kind = YP_BUDGET_MAX_VALUE, .name = name_, .limit = (limit_) }
/* Without this budget the limit is YP_GRADIENT_LIMIT (gradient.h). */
#define yp_max_gradient_error(name_, relative_) \
    { .kind = YP_BUDGET_MAX_GRADIENT_ERROR, .name = name_, .limit = (relative_) }
/* clang-format on */

#endif
