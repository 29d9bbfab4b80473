/*
 * The running case, as a body sees it: its parameters, its memory, what it expects and reports.
 *
 * All of it belongs to the thread that runs the body, but yp_expect, which any thread of the case
 * may call. What ends the body (yp_require, yp_fail, yp_skip, yp_ok) cannot do so from another
 * thread: the failure is reported, and the process is aborted.
 */
#ifndef YIELDPOINT_CASE_H
#define YIELDPOINT_CASE_H

#include <yieldpoint/device.h>
#include <yieldpoint/test.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- parameters --------------------------------------------------------------------------- */

const char *yp_id(const struct yp_case *t);
const char *yp_case_name(const struct yp_case *t); /* of .cases; "" when the test has none */
const char *yp_device_of(const struct yp_case *t); /* "cpu", "cuda:0": at collection too */
uint64_t yp_seed(const struct yp_case *t);         /* the run's: the same for every case */

/* The value of an axis. A name the test does not have, or an axis of another kind, fails the
 * case with a message that lists the axes there are. */
long long yp_int(const struct yp_case *t, const char *axis);
double yp_double(const struct yp_case *t, const char *axis);
const char *yp_string(const struct yp_case *t, const char *axis);

/* The device this case runs on. Never NULL: a case whose device is absent does not run. */
#ifdef __cplusplus /* where a struct's name is that of its constructor too */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
struct yp_device *yp_device(const struct yp_case *t);

/* The devices of this case: device 0 is yp_device(), and a case has no other one yet. Another index
 * fails the case with a message that says how many there are. */
int yp_device_count(const struct yp_case *t);
struct yp_device *yp_device_at(const struct yp_case *t, int index);
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* -- memory ------------------------------------------------------------------------------- */

/* `bytes` of the case's device (yp_device_alloc), freed by the framework after teardown. Never
 * NULL: when the memory is refused the case fails as out of memory, and this does not return. */
void *yp_alloc(struct yp_case *t, size_t bytes);
/* The same of the host's memory, whatever the case's device is. */
void *yp_alloc_host(struct yp_case *t, size_t bytes);

/* A pointer of the caller's that setup, body and teardown share. NULL until set. */
void yp_set_data(struct yp_case *t, void *data);
void *yp_data(const struct yp_case *t);

/* -- outcomes ----------------------------------------------------------------------------- */

/* Ends setup or the body at once; after the body teardown still runs. In C++ destructors run on the
 * way (exception.h); so it is with all that ends a body. A process that the body forks
 * has to leave by _exit() or exec: one that returns, or ends the body this way, fails the case. */
void yp_skip(struct yp_case *t, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

#define yp_fail(t, ...) ypi_fail(t, __FILE__, __LINE__, __VA_ARGS__)

/* A condition that must hold. yp_expect goes on when it does not, yp_require ends the body.
 * Both take a message in the manner of printf, which should show the values compared. */
#define yp_expect(t, condition, ...) \
    ((condition) ? (void)0 : ypi_expect(t, __FILE__, __LINE__, #condition, __VA_ARGS__))
#define yp_require(t, condition, ...) \
    ((condition) ? (void)0 : ypi_require(t, __FILE__, __LINE__, #condition, __VA_ARGS__))

/* A call that returns enum yp_status must return YP_OK; shows yp_last_error() and ends the body.
 * YP_OUT_OF_MEMORY ends it as out of memory. */
#define yp_ok(t, call) ypi_ok(t, __FILE__, __LINE__, #call, (call))

/* The same for a pointer that a call returned, which must not be NULL: ends the body as
 * yp_last_status() says. */
#define yp_got(t, pointer) ypi_got(t, __FILE__, __LINE__, #pointer, (pointer))

/* -- results ------------------------------------------------------------------------------ */

/* A named figure, stored with the record and judged by yp_min_value / yp_max_value. NaN is stored
 * and meets neither; +infinity meets yp_min_value, -infinity yp_max_value. A name may be used once
 * a case. */
void yp_value(struct yp_case *t, const char *name, double value);
void yp_value_unit(struct yp_case *t, const char *name, double value, const char *unit);

/* The identity of the data a case worked on, stored with the record: the same declaration,
 * seed and scale must give the same hash on every device and thread count. Make it of
 * yp_hash_f32() sums, or of any 64 bits that are a function of the data alone. */
void yp_data_hash(struct yp_case *t, uint64_t hash);

/* Sum over i of a mix of (first + i, bits of values[i]), modulo 2^64. Sums of disjoint ranges
 * add up, in any order: hashing tiles by threads and adding gives the hash of the whole. */
uint64_t yp_hash_f32(uint64_t first, const float *values, size_t count);

/* -- behind the macros -------------------------------------------------------------------- */

void ypi_fail(struct yp_case *t, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
void ypi_expect(struct yp_case *t, const char *file, int line, const char *condition,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
void ypi_require(struct yp_case *t, const char *file, int line, const char *condition,
                 const char *format, ...) __attribute__((noreturn, format(printf, 5, 6)));
void ypi_ok(struct yp_case *t, const char *file, int line, const char *call, enum yp_status status);
void ypi_got(struct yp_case *t, const char *file, int line, const char *call, const void *pointer);

#ifdef __cplusplus
}
#endif

#endif
