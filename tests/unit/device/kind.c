/* Names of devices: kinds, ordinals, the one spelling of each. */
#include "device/kind.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(kind, of_a_name)
{
    const char *const none[] = {"", "cpu", "cud", "cudas", "gpu"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_null(ypi_device_kind(none[i]), "%s", none[i]);
    cr_assert_not_null(ypi_device_kind("cuda:3"));
    cr_expect_str_eq(ypi_device_kind("cuda")->tag, "gpu");
    cr_expect(ypi_device_ordinal("cuda") == 0 && ypi_device_ordinal("cuda:3") == 3);
}

Test(kind, has_one_spelling)
{
    const char *const good[] = {"cpu", "cuda", "cuda:0", "cuda:1023"};
    const char *const bad[] = {
        "", "auto", "cpu:0", "cuda:", "cuda:01", "cuda:1024", "cuda:-1", "cudas"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(ypi_device_is_name(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(ypi_device_is_name(bad[i]), "%s", bad[i]);
}

Test(kind, all_names)
{
    char *names = ypi_device_names(false), *numbered = ypi_device_names(true);
    cr_expect_str_eq(names, "cpu cuda");
    cr_expect_str_eq(numbered, "cpu cuda cuda:N");
    free(names);
    free(numbered);
}
