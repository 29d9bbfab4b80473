/* The first suite of this project: call a function of yours in the place of `checksum`. */
#include <yieldpoint/yieldpoint.h>

#include <stdint.h>

/* Adler-32 (RFC 1950, section 8.2). */
static uint32_t checksum(size_t n, const unsigned char *bytes)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* checksum[small] and checksum[large]; `-m "not slow"` leaves the large one out. */
YP_TEST(first, checksum, .tags = "perf",
        .cases = YP_CASES(yp_case_of("small", .set = YP_SET(yp_set_int("kib", 64)),
                                     .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 160 * YP_KIB))),
                          yp_case_of("large", .set = YP_SET(yp_set_int("kib", 16384)),
                                     .tags = "slow",
                                     .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 20 * YP_MIB)))))
{
    size_t n = (size_t)yp_int(t, "kib") * 1024;
    unsigned char *bytes = yp_alloc(t, n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 31 + i / 251);

    /* What must be right, and a value that the gate compares between two revisions. */
    yp_expect(t, checksum(9, (const unsigned char *)"Wikipedia") == 0x11e60398, "a known checksum");
    yp_value(t, "checksum", checksum(n, bytes));

    /* What takes the time: .items and .unit are the work in the words of its users. */
    uint32_t sum = 0;
    yp_measure (t, "checksum", .items = (double)n, .unit = "B") {
        sum += checksum(n, bytes);
        yp_keep(sum);
    }
}
