/* Read before every file of the library: what the public headers declare is visible outside of a
 * shared one, all else is not. */
#pragma once

#pragma GCC visibility push(default)
#include <yieldpoint/plugin.h>
#include <yieldpoint/yieldpoint.h>
#pragma GCC visibility pop
