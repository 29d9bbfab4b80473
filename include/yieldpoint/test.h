/*
 * Declaring a test: workload, scales, tags, axes and budgets in one place.
 *
 *     YP_TEST(rx, fit,
 *             .tags = "stress",
 *             .cases = YP_CASES(yp_case_of("small", .set = YP_SET(yp_set_int("cubes", 10))),
 *                               yp_case_of("large", .tags = "slow",
 *                                          .set = YP_SET(yp_set_int("cubes", 1000)))),
 *             .axes = YP_AXES(yp_axis_int("channels", 10, 50, 100)),
 *             .devices = "cpu cuda",
 *             .timeout = 120,
 *             .budgets = YP_BUDGETS(yp_min_rate("fit", 1e6)))
 *     {
 *         ... the body; `t` is the running case ...
 *     }
 *
 * The options are the fields of struct yp_test from `tags` on. C accepts them in any order; C++20
 * requires the order of the struct. A file may be C17, C++20 or CUDA C++20.
 *
 * The *cases* of a test are the product of its named cases, axis values and devices. Each runs in
 * its own process. An id is `path/from/suites/file.c::name[case-axis=value-device]`, without the
 * parts that the test does not declare, and without brackets if none is left.
 */
#ifndef YIELDPOINT_TEST_H
#define YIELDPOINT_TEST_H

#include <stdbool.h>
#include <yieldpoint/budget.h>
#include <yieldpoint/compiled.h>
#include <yieldpoint/exception.h>
#include <yieldpoint/thread_sanitizer.h>

#define YP_MAX_CASES 32
#define YP_MAX_PARAMETERS 12 /* of a named case */
#define YP_MAX_AXES 8
#define YP_MAX_AXIS_VALUES 32 /* listed in the declaration itself */

struct yp_case; /* the running case, see case.h */

enum yp_axis_kind {
    YP_AXIS_NONE = 0,
    YP_AXIS_INT,
    YP_AXIS_DOUBLE,
    YP_AXIS_STRING,
    YP_AXIS_FROM,
    /* Whole numbers between two declared ends. */
    YP_AXIS_RANGE,
    YP_AXIS_GEOMETRIC,
    YP_AXIS_THREADS,
    YP_AXIS_RANKS, /* of .ranks */
};

/* A parameter of a named case. A body reads it like an axis (yp_int, ...). `--set NAME=VALUE`
 * replaces it; only then is it in the id. */
struct yp_parameter {
    const char *name;
    enum yp_axis_kind kind;
    union {
        long long i;
        double d;
        const char *s;
    } value;
};

/* One named case. A name that is a registered tag (small, medium, large, xl, or one of
 * yieldpoint.ini) gives the case that tag as well. */
struct yp_case_decl {
    const char *name;
    const char *tags;  /* more tags, separated by blanks */
    double timeout;    /* seconds; 0: the test's */
    const char *skip;  /* reason; NULL: not skipped */
    const char *xfail; /* reason of an expected failure; NULL: none expected */
    /* YP_SET(yp_set_int("cubes", 10), ...). All named cases of a test have parameters of the same
     * names and kinds; none may be an axis too. */
    struct yp_parameter set[YP_MAX_PARAMETERS];
    /* YP_BUDGETS(...): in addition to the test's, or replacing those of the same kind and name. */
    struct yp_budget budgets[YP_MAX_CASE_BUDGETS];
    int end_;
    char set_fit_, budgets_fit_;
};

/* Adds the values of an axis at collection (yp_axis_from). Every call must add the same values,
 * because the id alone must reproduce a case. Any status except YP_OK is an error of the
 * collection, which prints yp_last_error(). */
struct yp_axis_values;
typedef enum yp_status yp_axis_function(struct yp_axis_values *values, const void *arg);

struct yp_axis {
    const char *name;
    enum yp_axis_kind kind;
    unsigned count;
    union {
        long long i[YP_MAX_AXIS_VALUES];
        double d[YP_MAX_AXIS_VALUES];
        const char *s[YP_MAX_AXIS_VALUES];
    } values; /* of a range: first, last and the step or factor */
    union {
        const long long *i;
        const double *d;
        const char *const *s;
    } list;                 /* an array of `count` values that replaces `values`, or NULL */
    yp_axis_function *from; /* of YP_AXIS_FROM */
    const void *arg;
};

enum yp_relation_kind {
    YP_RELATION_NONE = 0,
    YP_RELATION_RATIO,
    YP_RELATION_RATIO_OVER,
    YP_RELATION_VALUE_RATIO,
    YP_RELATION_GROWTH,
    YP_RELATION_SAME_HASH,
    YP_RELATION_ORDER,
    YP_RELATION_SHARE_RATIO_OVER,
    YP_RELATION_STRONG_SCALING,
    YP_RELATION_WEAK_SCALING,
};

/* relation.h describes each kind. */
struct yp_relation {
    enum yp_relation_kind kind;
    const char *of, *to; /* nodes */
    const char *name;    /* of the measurement or value */
    const char *axis, *a, *b;
};

struct yp_test {
    /* set by YP_TEST */
    const char *group;
    const char *name;
    const char *file;
    int line;
    const char *compiled; /* how the file was compiled (compiled.h) */
    void (*body)(struct yp_case *t);
    /* Calls a setup, body or teardown so that it can be left (exception.h); NULL: a plain call. */
    void (*enter)(void (*function)(struct yp_case *), struct yp_case *t);
    bool fixture;         /* of YP_FIXTURE (fixture.h) */
    struct yp_axis types; /* of YP_TEST_TYPES (types.h): the first axis */
    /* the options */
    const char *tags; /* separated by blanks, all registered */
    struct yp_case_decl cases[YP_MAX_CASES];
    struct yp_axis axes[YP_MAX_AXES];
    /* false leaves the combination out. Called at collection; it may read only the case's name,
     * axes and device. */
    bool (*filter)(const struct yp_case *t);
    const char *devices; /* "cpu", "cpu cuda"; NULL: the CPU, and no device in the id */
    const char *ranks;   /* "1 2 4": numbers of processes (ranks.h); NULL: one, not in the id */
    /* "spread:core together:numa": where the ranks are to be (ranks.h); NULL: anywhere. */
    const char *placement;
    double timeout; /* seconds for setup, body and teardown together; 0: 60 */
    void (*setup)(struct yp_case *t);
    void (*teardown)(struct yp_case *t); /* also runs after a failed body, but not after a failed or
                                            skipping setup or a crash */
    bool each_rank;       /* of YP_FIXTURE: each rank of a case makes its own (fixture.h) */
    const char *fixtures; /* "cube mask[{case}]": its fixtures (fixture.h) */
    const char *skip;     /* reason */
    const char *xfail;    /* reason */
    bool xfail_strict;    /* passing despite .xfail is a failure */
    bool parallel;        /* times nothing, so --jobs may run it beside others */
    /* Counts malloc, calloc, realloc, aligned_alloc, free, new, delete and the like of setup, body
     * and teardown, in all threads, for the budgets of YP_HEAP. The program is linked to the
     * library yieldpoint-heap. What the framework takes for itself and yp_alloc are not of the
     * heap, nor is a measured block without .heap of its own (measure.h). Under a sanitizer nothing
     * is counted, and a note says so. */
    bool heap;
    struct yp_budget budgets[YP_MAX_BUDGETS];
    /* Adds or replaces budgets of this case (yp_budget_add). Called at collection, once per case;
     * it may read what .filter may. */
    void (*budgets_of)(const struct yp_case *c, struct yp_budgets *out);
    struct yp_relation relation; /* of YP_RELATION */
    const char *command;         /* of YP_COMMAND: a line for the shell */
    const char *input;           /* the command's standard input; NULL: empty */
    const char *environment;     /* "NAME=value NAME='other value'", added to the environment */
    int end_;
    char cases_fit_, axes_fit_, budgets_fit_;
};

#ifdef __cplusplus
namespace yieldpoint_internal
{
template <class T, unsigned long count> constexpr unsigned elements(const T (&)[count])
{
    return count;
}
} // namespace yieldpoint_internal

extern "C" {
#endif

/* Adds a value; strings are copied. YP_INVALID if the kind differs from the first value's, or for
 * NULL: the axis then fails whatever its function returns, so the function need not check. */
enum yp_status yp_axis_add_int(struct yp_axis_values *values, long long value);
enum yp_status yp_axis_add_double(struct yp_axis_values *values, double value);
enum yp_status yp_axis_add_string(struct yp_axis_values *values, const char *value);

#ifdef __cplusplus
}
#endif

/* clang-format off */
/* Too many entries are an error in C++ but only a warning in C, which drops them. In C, an array of
 * negative size turns the warning into an error. */
#ifdef __cplusplus
#define YP_CASES(...) { __VA_ARGS__ }
#define YP_AXES(...) { __VA_ARGS__ }
#define YP_SET(...) { __VA_ARGS__ }
#else
#define YP_CASES(...) { __VA_ARGS__ }, .cases_fit_ = YPI_FIT(YP_MAX_CASES, struct yp_case_decl, __VA_ARGS__)
#define YP_AXES(...) { __VA_ARGS__ }, .axes_fit_ = YPI_FIT(YP_MAX_AXES, struct yp_axis, __VA_ARGS__)
#define YP_SET(...) { __VA_ARGS__ }, .set_fit_ = YPI_FIT(YP_MAX_PARAMETERS, struct yp_parameter, __VA_ARGS__)
#endif

#define yp_case_of(...) YPI_CASE_OF(__VA_ARGS__, .end_ = 0)
#define YPI_CASE_OF(name_, ...) { .name = name_, __VA_ARGS__ }

#define yp_set_int(name_, value_) { .name = name_, .kind = YP_AXIS_INT, .value = { .i = value_ } }
#define yp_set_double(name_, value_) { .name = name_, .kind = YP_AXIS_DOUBLE, .value = { .d = value_ } }
#define yp_set_string(name_, value_) { .name = name_, .kind = YP_AXIS_STRING, .value = { .s = value_ } }

#define yp_axis_int(name_, ...) \
    { .name = name_, .kind = YP_AXIS_INT, .count = YPI_COUNT(long long, __VA_ARGS__), .values = { .i = YPI_LIST(__VA_ARGS__) } }
#define yp_axis_double(name_, ...) \
    { .name = name_, .kind = YP_AXIS_DOUBLE, .count = YPI_COUNT(double, __VA_ARGS__), .values = { .d = YPI_LIST(__VA_ARGS__) } }
#define yp_axis_string(name_, ...) \
    { .name = name_, .kind = YP_AXIS_STRING, .count = YPI_COUNT(const char *, __VA_ARGS__), .values = { .s = YPI_LIST(__VA_ARGS__) } }

/* Any number of values, from an array that lives as long as the program:
 *     static const long long primes[] = {2, 3, 5, ...};
 *     yp_axis_int_of("p", primes) */
#define yp_axis_int_of(name_, array_) \
    { .name = name_, .kind = YP_AXIS_INT, .count = YPI_ELEMENTS(array_), .list = { .i = array_ } }
#define yp_axis_double_of(name_, array_) \
    { .name = name_, .kind = YP_AXIS_DOUBLE, .count = YPI_ELEMENTS(array_), .list = { .d = array_ } }
#define yp_axis_string_of(name_, array_) \
    { .name = name_, .kind = YP_AXIS_STRING, .count = YPI_ELEMENTS(array_), .list = { .s = array_ } }

/* first_, first_ + step_, ... up to last_, or down to it for a negative step: whole numbers, at
 * most a million. */
#define yp_axis_range(name_, first_, last_, step_) \
    { .name = name_, .kind = YP_AXIS_RANGE, .count = 3, .values = { .i = { first_, last_, step_ } } }
/* first_, first_ factor_, ... and last_, always included; first_ from 1, factor_ from 2. */
#define yp_axis_geometric(name_, first_, last_, factor_) \
    { .name = name_, .kind = YP_AXIS_GEOMETRIC, .count = 3, .values = { .i = { first_, last_, factor_ } } }
/* Numbers of threads: first_, doubled up to last_, and last_. last_ 0 is the number of processors
 * that the run may use (its affinity, limited by --cpus); if first_ is larger, that number is the
 * only value. The ids then differ between machines: `--set threads=16` asks for a number that this
 * machine does not list. */
#define yp_axis_threads(name_, first_, last_) \
    { .name = name_, .kind = YP_AXIS_THREADS, .count = 3, .values = { .i = { first_, last_, 2 } } }

/* Any number of values of one kind, added by function_(values, arg_). */
#define yp_axis_from(name_, function_, arg_) \
    { .name = name_, .kind = YP_AXIS_FROM, .from = function_, .arg = arg_ }

/* At least one value: without one, the token before it does not compile alone. A pointer is not an
 * array and is refused, because it has no number of elements. */
#ifdef __cplusplus
#define YPI_ELEMENTS(array_) yieldpoint_internal::elements(array_)
#define YPI_LIST(...) { +__VA_ARGS__ }
#define YPI_COUNT(type_, ...) YPI_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, \
    20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define YPI_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, \
    a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n, ...) n
#else
#define YPI_ELEMENTS(array_) \
    (unsigned)(sizeof(array_) / sizeof *(array_) * \
               sizeof(char[__builtin_types_compatible_p(__typeof__(array_), __typeof__(&*(array_))) ? -1 : 1]))
#define YPI_LIST(...) { [0] = __VA_ARGS__ }
#define YPI_COUNT(type_, ...) \
    (unsigned)(sizeof((type_[])YPI_LIST(__VA_ARGS__)) / sizeof(type_) * YPI_FIT(YP_MAX_AXIS_VALUES, type_, __VA_ARGS__))
#endif

#if defined(__has_attribute)
#if __has_attribute(retain) && !defined(__CUDACC__)
#define YPI_KEEP used, retain
#endif
#endif
#ifndef YPI_KEEP
#define YPI_KEEP used
#endif

#define YP_TEST(...) YPI_TEST(__VA_ARGS__, .end_ = 0)
#define YPI_TEST(group_, name_, ...)                                                            \
    static void ypi_body_##group_##_##name_(struct yp_case *t);                                 \
    YPI_DECLARE(group_, name_, ypi_body_##group_##_##name_, __VA_ARGS__);                       \
    static void ypi_body_##group_##_##name_(struct yp_case *t __attribute__((unused)))
/* The declaration alone, without a body. */
#define YPI_DECLARE(group_, name_, body_, ...)                                                  \
    _Pragma("GCC diagnostic push")                                                              \
    _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                          \
    static const struct yp_test ypi_test_##group_##_##name_ = {                                 \
        .group = #group_, .name = #name_, .file = __FILE__, .line = __LINE__,                   \
        .compiled = YPI_COMPILED, .body = body_, .enter = YPI_ENTER, __VA_ARGS__ };             \
    _Pragma("GCC diagnostic pop")                                                               \
    __attribute__((YPI_KEEP, section("yp_tests")))                                              \
    static const struct yp_test *const ypi_pointer_##group_##_##name_ =                         \
        &ypi_test_##group_##_##name_
/* clang-format on */

#endif
