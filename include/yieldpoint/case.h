/*
 * The running case, for its body: parameters, memory, checks and results.
 *
 * Only the thread that runs the body may call these functions; any thread of the case may call
 * yp_expect. From another thread, the functions that end the body (yp_require, yp_fail, yp_skip,
 * yp_ok) report their failure and abort the process.
 */
#ifndef YIELDPOINT_CASE_H
#define YIELDPOINT_CASE_H

#include <yieldpoint/device.h>
#include <yieldpoint/test.h>

YPI_BEGIN_C

/* -- parameters --------------------------------------------------------------------------- */

const char *yp_id(const struct yp_case *t);
const char *yp_case_name(const struct yp_case *t); /* of .cases; "" without them */
const char *yp_device_of(const struct yp_case *t); /* "cpu", "cuda:0"; also at collection */
uint64_t yp_seed(const struct yp_case *t);         /* of the run, equal for every case */

/* The value of an axis. An unknown axis, or one of another kind, fails the case with a message that
 * lists the axes of the test. */
long long yp_int(const struct yp_case *t, const char *axis);
double yp_double(const struct yp_case *t, const char *axis);
const char *yp_string(const struct yp_case *t, const char *axis);

/* The device this case runs on. Never NULL: a case whose device is absent does not run. */
#ifdef __cplusplus /* where a struct's name is that of its constructor too */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
struct yp_device *yp_device(const struct yp_case *t);
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* -- memory ------------------------------------------------------------------------------- */

/* `bytes` of the case's device (yp_device_alloc); the framework frees them after teardown. Never
 * NULL: if the memory is refused, the case fails as out of memory and the call does not return. */
void *yp_alloc(struct yp_case *t, size_t bytes);
/* The same for memory of the host, on any device. */
void *yp_alloc_host(struct yp_case *t, size_t bytes);

/* A pointer that setup, body and teardown share; owned by the caller. NULL until set. */
void yp_set_data(struct yp_case *t, void *data);
void *yp_data(const struct yp_case *t);

/* -- outcomes ----------------------------------------------------------------------------- */

/* Ends setup or the body at once; after the body, teardown still runs. In C++ destructors run too
 * (exception.h), as for all functions that end a body. A process that the body forks must leave by
 * _exit() or exec. If it returns or calls one of these functions, it fails the case. */
void yp_skip(struct yp_case *t, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

#define yp_fail(t, ...) ypi_fail(t, __FILE__, __LINE__, __VA_ARGS__)

/* Checks a condition. If it is false, both fail the case; yp_expect continues, yp_require ends the
 * body. Both take a printf format, which should show the compared values. */
#define yp_expect(t, condition, ...) \
    ((condition) ? (void)0 : ypi_expect(t, __FILE__, __LINE__, #condition, __VA_ARGS__))
#define yp_require(t, condition, ...) \
    ((condition) ? (void)0 : ypi_require(t, __FILE__, __LINE__, #condition, __VA_ARGS__))

/* Checks that a call returns YP_OK. Otherwise prints yp_last_error(), fails the case and ends the
 * body; YP_OUT_OF_MEMORY fails it as out of memory. */
#define yp_ok(t, call) ypi_ok(t, __FILE__, __LINE__, #call, (call))

/* The same for a call that returns a pointer, which must not be NULL; yp_last_status() has the
 * status. */
#define yp_got(t, pointer) ypi_got(t, __FILE__, __LINE__, #pointer, (pointer))

/* -- results ------------------------------------------------------------------------------ */

/* Stores a named figure in the record; yp_min_value and yp_max_value judge it. NaN is stored and
 * meets neither; +infinity meets yp_min_value, -infinity yp_max_value. Each name may be used once
 * per case. */
void yp_value(struct yp_case *t, const char *name, double value);
void yp_value_unit(struct yp_case *t, const char *name, double value, const char *unit);

/* Stores the identity of the case's data in the record: the same declaration, seed and scale must
 * give the same hash on every device and thread count. Use a sum of yp_hash_f32(), or any 64 bits
 * that are a function of the data alone. */
void yp_data_hash(struct yp_case *t, uint64_t hash);

/* The sum over i of a mix of (first + i, bits of values[i]), modulo 2^64. Hashes of disjoint ranges
 * add up to the hash of the whole in any order, so threads may hash tiles. */
uint64_t yp_hash_f32(uint64_t first, const float *values, size_t count);
/* The same for any data: the sum over i of a mix of (first + i, word i), plus a multiple of
 * `bytes`. A word is eight bytes of `data`, the first of them the lowest, and zeros behind the
 * last. Threads may hash tiles too: `first` counts words, and every tile but the last has whole
 * ones. */
uint64_t yp_hash_bytes(uint64_t first, const void *data, size_t bytes);

/* -- behind the macros -------------------------------------------------------------------- */

void ypi_fail(struct yp_case *t, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
void ypi_expect(struct yp_case *t, const char *file, int line, const char *condition,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
void ypi_require(struct yp_case *t, const char *file, int line, const char *condition,
                 const char *format, ...) __attribute__((noreturn, format(printf, 5, 6)));
void ypi_ok(struct yp_case *t, const char *file, int line, const char *call, enum yp_status status);
void ypi_got(struct yp_case *t, const char *file, int line, const char *call, const void *pointer);

YPI_END_C

#endif
