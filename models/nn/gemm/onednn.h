/* Matrix products by oneDNN, which is loaded when it is first asked for. */
#pragma once

#include "models/nn/gemm/gemm.h"

/* Whether oneDNN is there and has code of its own for this product on so many threads (where it
 * would go by its reference loops, it has none). Then bytes of workspace. */
bool ypi_onednn_takes(const struct nn_gemm *gemm, int threads, size_t *bytes);

enum yp_status ypi_onednn_gemm(const struct nn_gemm *gemm, void *work);

void ypi_onednn_forget(void); /* nn_gemm_forget() */
