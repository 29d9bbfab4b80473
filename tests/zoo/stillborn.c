/* A constructor that hangs, but only in the process of a case. */
#include <stdlib.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

__attribute__((constructor)) static void hang(void)
{
    while (getenv("BXFI_MAP") != NULL && getenv("YIELDPOINT_TEST_HANG") != NULL)
        pause();
}

YP_TEST(stillborn, first)
{
}

YP_TEST(stillborn, second)
{
}
