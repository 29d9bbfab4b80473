/* No test at all. */
#include <yieldpoint/yieldpoint.h>

const char *const usage_empty = "a program may have no test yet";
