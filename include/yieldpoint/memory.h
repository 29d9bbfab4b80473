/*
 * Checking memory: comparing accounted bytes with a prediction, and testing refused allocations.
 *
 *     yp_expect_memory (t, "a detector", .host = detector_bytes(channels))
 *         detector = detector_create(yp_device(t), channels);
 *     yp_expect_no_requests (t, "a fit")
 *         status = detector_fit(detector, tiles);
 *
 * Bytes are those of yp_device_alloc() and related calls, on the CPU and on the case's device.
 * `break` leaves a block without the check.
 */
#ifndef YIELDPOINT_MEMORY_H
#define YIELDPOINT_MEMORY_H

#include <yieldpoint/case.h>

YPI_BEGIN_C

struct yp_memory_options {
    uint64_t host YPI_OR_ZERO;     /* growth of the bytes in use from the beginning to the end */
    uint64_t device YPI_OR_ZERO;   /* the same on the case's device; 0 for the CPU */
    bool host_at_most YPI_OR_ZERO; /* `host` is an upper bound; else exact, like `device` */
    int end_ YPI_OR_ZERO;
};

/* Allocates and frees its memory. Returns YP_OK, or another status with yp_last_error() set. Must
 * not end the case. */
typedef enum yp_status yp_attempt(struct yp_case *t, void *arg);

/* Runs `body` with its first request to `device` refused, then with its second, and so on, until a
 * run has no refused request; at most 10,000 runs. Fails the case, and continues, unless
 * - a run without a refusal returns YP_OK: the first run, and one run after each refusal (a body
 *   that keeps its first results can compare them there);
 * - a run with a refusal returns YP_OUT_OF_MEMORY, with a message that contains "out of memory";
 * - each run leaves the memory in use, of the host and of the case's device, as it was.
 * Returns the number of refused requests. */
#define yp_refuse_each(t, device, body, arg) \
    ypi_refuse_each(t, __FILE__, __LINE__, #body, device, body, arg)

/* -- behind the macros -------------------------------------------------------------------- */

/* Bytes in use and requests granted so far. */
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

YPI_END_C

#endif
