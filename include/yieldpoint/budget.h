/*
 * Budgets: the limits that a case promises to keep.
 *
 * Budgets are part of the declaration, so they are known before a run: `--co -v` lists them. A case
 * that crashes has all of them listed as unmeasured.
 *
 * Each macro below is one entry of YP_BUDGETS(...). `name` is the name given to yp_measure(),
 * yp_value() or a gradient check in the body.
 *
 * A budget belongs to a case. The test's budgets apply to all of its cases. Three later sources
 * replace a budget of the same kind, name, memory, counter and quantile, in this order: a named
 * case (yp_case_of), the test's .budgets_of, a file (yp_budget_file).
 */
#ifndef YIELDPOINT_BUDGET_H
#define YIELDPOINT_BUDGET_H

#include <yieldpoint/device.h>

#define YP_MAX_BUDGETS 32     /* of a test, and in all of a case */
#define YP_MAX_CASE_BUDGETS 8 /* of a named case alone */

enum yp_budget_kind {
    YP_BUDGET_NONE = 0,
    /* Speed: judged by an interval. Fresh processes confirm a failure. Only recorded under
     * --speed=record. */
    YP_BUDGET_MIN_SHARE,      /* of the ceiling that bounds the declared work; 0.5: half */
    YP_BUDGET_MIN_RATE,       /* items a second */
    YP_BUDGET_MIN_FLOPS,      /* declared operations a second */
    YP_BUDGET_MIN_BANDWIDTH,  /* declared bytes a second */
    YP_BUDGET_MAX_LATENCY,    /* seconds an iteration */
    YP_BUDGET_MAX_PERCENTILE, /* seconds that `quantile` of the samples may take at most */
    YP_BUDGET_MAX_CPU_TIME,   /* seconds an iteration, of all threads together */
    YP_BUDGET_MAX_REGRESSION, /* how much worse than the baseline of this kind of machine; 0.25: a
                                 quarter */
    /* Exact: one run decides. */
    YP_BUDGET_MAX_PEAK,          /* bytes in use at once: accounted, or of the heap */
    YP_BUDGET_MAX_RESIDENT,      /* growth of own resident memory, bytes; confirmed like speed */
    YP_BUDGET_MAX_RESIDENT_TREE, /* the same of the process and its descendants together */
    YP_BUDGET_MAX_LEAK,          /* bytes not freed */
    YP_BUDGET_MAX_ALLOCATIONS,   /* number of allocations */
    YP_BUDGET_MAX_GROWTH,        /* of own resident memory over the samples, bytes an iteration */
    YP_BUDGET_MAX_COUNT,         /* of `counter`, an iteration */
    YP_BUDGET_MIN_VALUE,
    YP_BUDGET_MAX_VALUE,
    YP_BUDGET_MAX_GRADIENT_ERROR, /* relative error of a gradient check */
    YP_BUDGET_ORDER,              /* enum yp_order, of a relation yp_order; judged like speed */
    YP_BUDGET_FOR_DEVICE,         /* no budget: device of the following budgets */
    YP_BUDGET_REQUIRED,           /* no budget: source of the required budget before it */
    YP_BUDGET_FILE,               /* no budget: a file with budgets by case */
};

/* How times grow with N; logarithms have base 2. */
enum yp_order {
    YP_CONSTANT = 0, /* O(1) */
    YP_LOG_N,
    YP_N,
    YP_N_LOG_N,
    YP_N_SQUARED,
    YP_N_CUBED,
};

/* Counters over a measurement. Hardware counters need the kernel's support (perf_event_open);
 * --instructions counts instructions by Callgrind as well. Counters of a GPU need --audit, which
 * reads them by CUPTI. A budget on an unavailable counter skips the case with the reason; it never
 * passes. */
enum yp_counter {
    YP_INSTRUCTIONS = 0,
    YP_CYCLES,
    YP_BRANCH_MISSES,
    YP_CACHE_MISSES, /* of the last level */
    YP_PAGE_FAULTS,
    YP_CONTEXT_SWITCHES,
    YP_GPU_FP64, /* operations: a fused multiply-add counts as two */
    YP_GPU_FP32,
    YP_GPU_FP16,
    YP_GPU_INTEGER,     /* instructions of threads */
    YP_GPU_TENSOR_FP64, /* operations of the matrix units */
    YP_GPU_TENSOR_TF32,
    YP_GPU_TENSOR_BF16,
    YP_GPU_TENSOR_FP16,
    YP_GPU_TENSOR_FP8,
    YP_GPU_TENSOR_INT8,
    YP_GPU_READ, /* bytes, of the device's memory */
    YP_GPU_WRITTEN,
    YP_GPU_CACHE, /* bytes, between multiprocessors and second-level cache */
    YP_COUNTERS
};

struct yp_budget {
    enum yp_budget_kind kind YPI_OR_ZERO;
    const char *name YPI_OR_ZERO; /* of the measurement, value or check; NULL for memory */
    enum yp_memory_kind memory YPI_OR_ZERO;
    enum yp_counter counter YPI_OR_ZERO;
    double quantile YPI_OR_ZERO;      /* of YP_BUDGET_MAX_PERCENTILE: 0.99 for p99 */
    double limit YPI_OR_ZERO;         /* in the unit stated at the kind */
    const char *required YPI_OR_ZERO; /* source of a required limit (yp_required), or NULL */
};

/* The list that a test's .budgets_of fills. */
struct yp_budgets;

/* clang-format off */
#ifdef __cplusplus
#define YP_BUDGETS(...) { __VA_ARGS__ }
#else /* test.h says why */
#define YP_BUDGETS(...) { __VA_ARGS__ }, .budgets_fit_ = YPI_FIT(YP_MAX_BUDGETS, struct yp_budget, __VA_ARGS__) \
    * sizeof((struct yp_budget[]){ __VA_ARGS__ }) / sizeof(struct yp_budget)
#define YPI_FIT(max_, type_, ...) \
    sizeof(char[sizeof((type_[]){ __VA_ARGS__ }) <= (max_) * sizeof(type_) ? 1 : -1])
#endif

/* The share of the roofline: the longest of the times that .flops, .bytes and each of .bounds take
 * at their ceilings (for work in steps, the sum over the steps), divided by the measured time. The
 * ceilings are probed beside the samples, on as many threads as the work may use. Bytes need a
 * .footprint, or .cold. A share above 1 is possible, and shown: the work is less than declared, or
 * its bytes come from a nearer cache than .footprint says. */
#define yp_min_share(name_, share_) \
    { .kind = YP_BUDGET_MIN_SHARE, .name = name_, .limit = (double)(share_) }
#define yp_min_rate(name_, items_per_second_) \
    { .kind = YP_BUDGET_MIN_RATE, .name = name_, .limit = (double)(items_per_second_) }
#define yp_min_flops(name_, flops_per_second_) \
    { .kind = YP_BUDGET_MIN_FLOPS, .name = name_, .limit = (double)(flops_per_second_) }
#define yp_min_bandwidth(name_, bytes_per_second_) \
    { .kind = YP_BUDGET_MIN_BANDWIDTH, .name = name_, .limit = (double)(bytes_per_second_) }
#define yp_max_latency(name_, seconds_) \
    { .kind = YP_BUDGET_MAX_LATENCY, .name = name_, .limit = (double)(seconds_) }
/* percent_: 99 for p99. Judged by the binomial distribution of the number of samples beyond the
 * limit: even with none beyond, it needs 459 samples at p99 and 4,603 at p99.9. */
#define yp_max_percentile(name_, percent_, seconds_) \
    { .kind = YP_BUDGET_MAX_PERCENTILE, .name = name_, .quantile = (percent_) / 100.0, .limit = (double)(seconds_) }
#define yp_max_cpu_time(name_, seconds_) \
    { .kind = YP_BUDGET_MAX_CPU_TIME, .name = name_, .limit = (double)(seconds_) }
/* How much worse than its baseline a measurement may become, in place of the usual 25 %
 * (docs/budgets.md). Judged where this kind of machine has a baseline of the case. */
#define yp_max_regression(name_, part_) \
    { .kind = YP_BUDGET_MAX_REGRESSION, .name = name_, .limit = (double)(part_) }
/* Memory is YP_HOST, YP_DEVICE, or YP_HEAP in a test with .heap: what was requested of malloc and
 * the like (docs/budgets.md). */
#define yp_max_peak(memory_, bytes_) \
    { .kind = YP_BUDGET_MAX_PEAK, .memory = memory_, .limit = (double)(bytes_) }
/* The growth of anonymous and shared memory of the case's process since before setup, without pages
 * of files and without the framework's own memory. */
#define yp_max_resident(bytes_) \
    { .kind = YP_BUDGET_MAX_RESIDENT, .memory = YP_HOST, .limit = (double)(bytes_) }
/* The same of the case's process and all its descendants together: what the body starts counts too,
 * of a command all its processes. A page that several of them share counts once. The sum is looked
 * at every 5 ms, so that a process that lives shorter may be missed (docs/measurement.md). */
#define yp_max_resident_tree(bytes_) \
    { .kind = YP_BUDGET_MAX_RESIDENT_TREE, .memory = YP_HOST, .limit = (double)(bytes_) }
/* The default limit is 0 bytes; the heap has none. */
#define yp_max_leak(memory_, bytes_) \
    { .kind = YP_BUDGET_MAX_LEAK, .memory = memory_, .limit = (double)(bytes_) }
#define yp_max_allocations(memory_, count_) \
    { .kind = YP_BUDGET_MAX_ALLOCATIONS, .memory = memory_, .limit = (double)(count_) }
/* The slope of resident memory over the samples of a measurement: the leak of a soak case. */
#define yp_max_growth(name_, bytes_per_iteration_) \
    { .kind = YP_BUDGET_MAX_GROWTH, .name = name_, .limit = (double)(bytes_per_iteration_) }
#define yp_max_count(name_, counter_, per_iteration_) \
    { .kind = YP_BUDGET_MAX_COUNT, .name = name_, .counter = (counter_), .limit = (double)(per_iteration_) }
#define yp_min_value(name_, limit_) \
    { .kind = YP_BUDGET_MIN_VALUE, .name = name_, .limit = (double)(limit_) }
#define yp_max_value(name_, limit_) \
    { .kind = YP_BUDGET_MAX_VALUE, .name = name_, .limit = (double)(limit_) }
/* Of a relation yp_order (relation.h): not met when this order is refuted, met when all others are,
 * undecided when another one stands too. */
#define yp_grows_as(order_) \
    { .kind = YP_BUDGET_ORDER, .name = "order", .limit = (double)(order_) }
/* The budgets after this entry, up to the next one of its kind, apply only to cases on that device
 * ("cpu", "cuda"). Budgets before the first such entry apply to all cases. */
#define yp_for_device(device_) \
    { .kind = YP_BUDGET_FOR_DEVICE, .name = device_ }
/* A limit taken from outside the project, for example from a reference system or a standard;
 * reason_ names the source. It is shown as required and never as too loose. It uses two entries of
 * the maxima above. */
#define yp_required(budget_, reason_) \
    budget_, { .kind = YP_BUDGET_REQUIRED, .name = reason_ }
/* An ini file with a section for each case that has budgets there (docs/budgets.md has the format).
 * The path is relative to the source's directory; if that does not exist, to suites/ in the
 * program's directory or above. At most one in a test, in .budgets. A section whose case none of
 * the file's tests has is an error. */
#define yp_budget_file(path_) \
    { .kind = YP_BUDGET_FILE, .name = path_ }
/* The default limit is YP_GRADIENT_LIMIT (gradient.h). */
#define yp_max_gradient_error(name_, relative_) \
    { .kind = YP_BUDGET_MAX_GRADIENT_ERROR, .name = name_, .limit = (double)(relative_) }

/* In a test's .budgets_of: adds budgets to the case. The limit NAN removes a budget of the test or
 * of the named case.
 *     yp_budget_add(out, yp_min_share("fit", yp_int(c, "channels") < 50 ? 0.4 : 0.6)); */
#define yp_budget_add(out_, ...)                                                                \
    do {                                                                                        \
        const struct yp_budget ypi_added_[] = { __VA_ARGS__ };                                  \
        ypi_budgets_add(out_, ypi_added_, (int)(sizeof ypi_added_ / sizeof *ypi_added_));       \
    } while (0)
/* clang-format on */

YPI_BEGIN_C

/* Implements yp_budget_add: adds `count` budgets and copies their strings. */
void ypi_budgets_add(struct yp_budgets *out, const struct yp_budget *list, int count);

YPI_END_C

#endif
