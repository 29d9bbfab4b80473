/* What the real model's sweep and its passes over given images share. */
#pragma once

#include "models/refiner/command/pass.h"

struct vit_options ypi_refiner_real_options(const struct ypi_refiner_work *work);

/* (batch, head_width, tile, tile) as PyTorch has it. */
struct state_tensor ypi_refiner_real_output(const struct ypi_refiner_work *work);

enum yp_status ypi_refiner_real_pass(struct ypi_refiner_pass *pass);
