/*
 * Checking memory: that as much is accounted as was predicted, and how a body takes a refused
 * allocation.
 *
 *     yp_expect_memory (t, "a detector", .host = detector_bytes(channels))
 *         detector = detector_create(yp_device(t), channels);
 *     yp_expect_no_requests (t, "a fit")
 *         status = detector_fit(detector, tiles);
 *
 * Bytes are those of yp_device_alloc() and its like, on the CPU and on the case's device. `break`
 * leaves a block without the check.
 */
#ifndef YIELDPOINT_MEMORY_H
#define YIELDPOINT_MEMORY_H

#include <yieldpoint/case.h>

#ifdef __cplusplus
extern "C" {
#endif

struct yp_memory_options {
    uint64_t host YPI_OR_ZERO; /* bytes that are in use at the end and were not at the beginning */
    uint64_t device YPI_OR_ZERO;   /* of the case's device; 0 where that is the CPU */
    bool host_at_most YPI_OR_ZERO; /* `host` is a bound; else it is exact, as `device` always is */
    int end_ YPI_OR_ZERO;
};

/* Allocates what it needs and frees it. Returns YP_OK, or another status with yp_last_error() set.
 * It does not end the case. */
typedef enum yp_status yp_attempt(struct yp_case *t, void *arg);

/* Runs `body` with its first request to `device` refused, then with its second, until a run is
 * refused none; at most 10,000 runs. Fails the case, and goes on, unless
 * - a run that is refused nothing is YP_OK, the first as well as the one behind each refusal (a
 * body that keeps the results of the first can say there that others came out);
 * - a run that is refused a request is YP_OUT_OF_MEMORY, with a message that says "out of memory";
 * - after each run as much memory of the host and of the case's device is in use as before it.
 * Returns how many requests were refused. */
#define yp_refuse_each(t, device, body, arg) \
    ypi_refuse_each(t, __FILE__, __LINE__, #body, device, body, arg)

/* -- behind the macros -------------------------------------------------------------------- */

/* What is in use, and the requests granted so far. */
struct ypi_memory_mark {
    const char *file;
    int line;
    const char *what;
    uint64_t predicted_host, predicted_device;
    bool host_at_most, no_requests;
    uint64_t host, device, requests;
    bool open;
};

#ifdef __cplusplus
#define YPI_MEMORY_OPTIONS yp_memory_options
#else
#define YPI_MEMORY_OPTIONS (struct yp_memory_options)
#endif

/* clang-format off */
#define yp_expect_memory(...) YPI_EXPECT_MEMORY(__VA_ARGS__, .end_ = 0)
#define YPI_EXPECT_MEMORY(t_, what_, ...)                                                       \
    for (struct ypi_memory_mark ypi_k_ =                                                        \
             ypi_memory_begin(t_, __FILE__, __LINE__, what_, YPI_MEMORY_OPTIONS{__VA_ARGS__});  \
         ypi_k_.open; ypi_memory_end(t_, &ypi_k_))
/* The block requests no memory. */
#define yp_expect_no_requests(t_, what_)                                                        \
    for (struct ypi_memory_mark ypi_k_ = ypi_requests_begin(t_, __FILE__, __LINE__, what_);     \
         ypi_k_.open; ypi_memory_end(t_, &ypi_k_))
/* clang-format on */

struct ypi_memory_mark ypi_memory_begin(struct yp_case *t, const char *file, int line,
                                        const char *what, struct yp_memory_options predicted);
struct ypi_memory_mark ypi_requests_begin(struct yp_case *t, const char *file, int line,
                                          const char *what);
void ypi_memory_end(struct yp_case *t, struct ypi_memory_mark *mark);
int ypi_refuse_each(struct yp_case *t, const char *file, int line, const char *name,
                    struct yp_device *device, yp_attempt *body, void *arg);

#ifdef __cplusplus
}
#endif

#endif
