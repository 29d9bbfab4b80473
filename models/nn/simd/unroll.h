/* Loops of a known few turns over arrays that shall be registers. */
#ifndef YPI_RX_UNROLL_H
#define YPI_RX_UNROLL_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#endif
