/* Loops of a known few turns over arrays that shall be registers. */
#pragma once

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
