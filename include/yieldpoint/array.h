/*
 * Comparing an array of numbers with its expected values.
 *
 *     yp_expect_close(t, "labels", .got = labels, .want = wanted, .count = n,
 *                     .number = YP_NUMBER_UINT8);
 *     yp_expect_close(t, "scores", .got = scores, .want = oracle, .count = n,
 *                     .number = YP_NUMBER_FLOAT32, .want_number = YP_NUMBER_FLOAT64,
 *                     .relative = 1e-5);
 *     yp_expect_close(t, "y", .got = y, .want = oracle, .count = n,
 *                     .number = YP_NUMBER_BFLOAT16, .columns = width, .ulp = 2,
 *                     .nmse = 1e-5, .got_on = yp_device(t));
 *
 * An unexpected NaN or infinity always fails. The failure prints how many elements are off, the
 * first and the worst of them, by how much, and the neighbours of the first.
 */
#ifndef YIELDPOINT_ARRAY_H
#define YIELDPOINT_ARRAY_H

#include <yieldpoint/case.h>

YPI_BEGIN_C

enum yp_number {
    YP_NUMBER_FLOAT64 = 1,
    YP_NUMBER_FLOAT32,
    YP_NUMBER_FLOAT16,  /* IEEE 754 binary16 */
    YP_NUMBER_BFLOAT16, /* the upper half of a binary32 */
    YP_NUMBER_INT8,
    YP_NUMBER_UINT8,
    YP_NUMBER_INT16,
    YP_NUMBER_UINT16,
    YP_NUMBER_INT32,
    YP_NUMBER_UINT32,
    YP_NUMBER_INT64,
    YP_NUMBER_UINT64
};

/* Bounds of each element: |got - want| <= absolute + relative |want|, as in NumPy's allclose, or
 * <= ulp units in the last place of `number` at `want`. Without these three and nmse, elements must
 * be equal (0 and -0 are). */
struct yp_close {
    const char *name;
    const void *got, *want; /* `count` elements each; only read */
    size_t count;
    enum yp_number number;                  /* of got */
    enum yp_number want_number YPI_OR_ZERO; /* of want; 0: that of got */
    size_t columns YPI_OR_ZERO;             /* elements per row, to print positions; 0: one row */
    double absolute YPI_OR_ZERO, relative YPI_OR_ZERO, ulp YPI_OR_ZERO;
    double nmse YPI_OR_ZERO;              /* bound of sum (got - want)^2 / sum want^2; 0: none */
    bool equal_nan YPI_OR_ZERO;           /* NaN equals an expected NaN */
    struct yp_device *got_on YPI_OR_ZERO; /* owner of the memory; NULL: the host */
    struct yp_device *want_on YPI_OR_ZERO;
    int end_ YPI_OR_ZERO;
};

/* Returns whether the bounds hold; the case continues either way. A wrong call (no name, no number,
 * a negative or NaN bound) or a failed copy from the device ends the case. */
#define yp_expect_close(...) YPI_EXPECT_CLOSE(__VA_ARGS__, .end_ = 0)

/* -- behind the macro --------------------------------------------------------------------- */

#ifdef __cplusplus
#define YPI_CLOSE yp_close
#else
#define YPI_CLOSE (struct yp_close)
#endif
#define YPI_EXPECT_CLOSE(t_, name_, ...) \
    ypi_expect_close(t_, __FILE__, __LINE__, YPI_CLOSE{.name = name_, __VA_ARGS__})
bool ypi_expect_close(struct yp_case *t, const char *file, int line, struct yp_close check);

YPI_END_C

#endif
