/*
 * OpenBLAS chooses its kernels once, when it is loaded: those that OPENBLAS_CORETYPE names, else by
 * the processor's model number. Until version 0.3.24 it takes a model of Intel's that it does not
 * know (Emerald Rapids, say) for a Prescott of 2004, whose products are a fifth as fast
 * (OpenMathLib/OpenBLAS, issue 4267).
 */
#pragma once

#include <yieldpoint/isa.h>

/* Its name of the kernels for an instruction set, as OPENBLAS_CORETYPE takes it. */
const char *ypi_openblas_core(enum yp_isa isa);

/* The kernels for yp_isa(), where an OpenBLAS that chose by itself took those of a Prescott though
 * there is AVX2. NULL: it took better ones, OPENBLAS_CORETYPE is set, or there is no OpenBLAS in
 * `library`: a handle of dlopen(), or RTLD_DEFAULT for one that the program is linked to. */
const char *ypi_openblas_better(void *library);

/* The environment variable beside OPENBLAS_CORETYPE that says that the choice was made here, not by
 * the user. */
#define YPI_OPENBLAS_MARK "YIELDPOINT_OPENBLAS"
