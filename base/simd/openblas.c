#include "base/simd/openblas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const char *ypi_openblas_core(enum yp_isa isa)
{
    static const char *const cores[YP_ISAS] = {[YP_ISA_BASELINE] = "Nehalem",
                                               [YP_ISA_AVX2] = "Haswell",
                                               [YP_ISA_AVX512] = "SkylakeX",
                                               [YP_ISA_AMX] = "SkylakeX"};
    return cores[isa];
}

const char *ypi_openblas_better(void *library)
{
    char *(*name_of_core)(void) = NULL;
    void *address = dlsym(library, "openblas_get_corename");
    memcpy(&name_of_core, &address, sizeof address); /* ISO C has no cast from data to functions */
    if (name_of_core == NULL || getenv("OPENBLAS_CORETYPE") != NULL || yp_isa() < YP_ISA_AVX2)
        return NULL;
    return strcmp(name_of_core(), "Prescott") == 0 ? ypi_openblas_core(yp_isa()) : NULL;
}
