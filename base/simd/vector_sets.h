/* For one source for all sets: includes V_SOURCE, "ROOM/NAME.inc", once for each set that this
 * processor's build has, with the vectors of base/simd/vector.h. */
#define V_LANES 4
#include "base/simd/vector.h"

#include V_SOURCE

#include "base/simd/vector_end.h"

#if defined(__x86_64__)
#define V_LANES 8
#include "base/simd/vector.h"

#include V_SOURCE

#include "base/simd/vector_end.h"

#define V_LANES 16
#include "base/simd/vector.h"

#include V_SOURCE

#include "base/simd/vector_end.h"
#endif

#undef V_SOURCE
