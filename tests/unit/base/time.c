/* Points in time: dates of UTC, and how long ago. */
#include "base/text/time.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(time_text, .timeout = 60);

#define NOW 1795443642.5 /* 2026-11-23T14:20:42.5Z */

Test(time_text, dates_are_days_minutes_and_seconds_of_utc)
{
    static const struct {
        const char *text;
        double first, extent;
    } right[] = {
        {"1970-01-01", 0, 86400},
        {"2026-11-23", 1795392000, 86400},
        {"2026-11-23T14:20", 1795443600, 60},
        {"2026-11-23T14:20Z", 1795443600, 60},
        {"2026-11-23 14:20", 1795443600, 60},
        {"2026-11-23T14:20:42", 1795443642, 1},
        {"2026-11-23T14:20:42Z", 1795443642, 1},
        {"2024-02-29", 1709164800, 86400},
        {"2000-02-29", 951782400, 86400},
        {"2026-12-31T23:59:59", 1798761599, 1},
    };
    cr_assert_eq(setenv("TZ", "Asia/Tokyo", 1), 0);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct ypi_span span = {-1, -1};
        cr_expect(ypi_parse_time(right[i].text, NOW, &span), "%s", right[i].text);
        cr_expect(span.first == right[i].first && span.past == right[i].first + right[i].extent,
                  "%s: %.0f to %.0f", right[i].text, span.first, span.past);
    }
}

Test(time_text, durations_are_before_now)
{
    static const struct {
        const char *text;
        double seconds;
    } right[] = {{"0s", 0},      {"90s", 90},    {"30m", 1800},   {"12h", 43200},
                 {"1.5h", 5400}, {"7d", 604800}, {"0.5d", 43200}, {"2w", 1209600}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct ypi_span span = {-1, -1};
        cr_expect(ypi_parse_time(right[i].text, NOW, &span), "%s", right[i].text);
        cr_expect(span.first == NOW - right[i].seconds && span.past == span.first, "%s: %f",
                  right[i].text, NOW - span.first);
    }
}

Test(time_text, others_are_refused)
{
    /* A duration, a date, a time, what stands behind it. */
    static const char *const wrong[] = {"",
                                        "d",
                                        "7",
                                        "-7d",
                                        " 7d",
                                        "7 d",
                                        "7x",
                                        "infd",
                                        "1e999d",
                                        "2026-11",
                                        "26-11-23",
                                        "2026-13-10",
                                        "2026-11-31",
                                        "2100-02-29",
                                        "2026-11-00",
                                        "2026-11-23T14",
                                        "2026-11-23T24:00",
                                        "2026-11-23T14:60",
                                        "2026-11-23T14:20:60",
                                        "2026-11-23T14:20:42ZZ",
                                        "2026-11-23t14:20"};
    struct ypi_span span;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(ypi_parse_time(wrong[i], NOW, &span), "'%s'", wrong[i]);
}
