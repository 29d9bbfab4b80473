/* What calls come to: a status, a message, memory of the CPU device. */
#pragma once

#include <criterion/criterion.h>
#include <string.h>
#include <yieldpoint/device.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define OK(call) cr_assert_eq((call), YP_OK, "%s: %s", #call, yp_last_error())
/* The call fails with that status and a message that has these words. */
#define FAILS(call, status, words) \
    do { \
        cr_assert_eq((call), status); \
        cr_assert_not_null(strstr(yp_last_error(), words), "no '%s' in: %s", words, \
                           yp_last_error()); \
    } while (0)
#define REFUSED(pointer, words) \
    do { \
        cr_assert_null(pointer); \
        cr_assert_not_null(strstr(yp_last_error(), words), "no '%s' in: %s", words, \
                           yp_last_error()); \
    } while (0)

static inline struct yp_memory memory(void)
{
    struct yp_memory figures;
    yp_device_memory(yp_device_cpu(), &figures);
    return figures;
}
