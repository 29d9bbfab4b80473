/* Options that are declared wrongly. */
#include <yieldpoint/yieldpoint.h>

YP_OPTION(fail_allocation, .value = "N", .help = "one that there is");
YP_OPTION(nothing, .help = "an axis without a value", .axis = "n");

YP_TEST(bad, passes, .parallel = true)
{
}
