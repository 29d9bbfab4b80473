/* Asks for the heap in a program without yieldpoint-heap, and for budgets of a heap that no test
 * declares. */
#include <yieldpoint/yieldpoint.h>

YP_TEST(heap, unlinked, .heap = true)
{
}

YP_TEST(heap, undeclared, .budgets = YP_BUDGETS(yp_max_peak(YP_HEAP, 10)))
{
}

YP_COMMAND(heap, command, .command = "true", .heap = true);
