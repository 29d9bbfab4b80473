/* What the mock's sweep and its passes over given images share. */
#pragma once

#include "models/refiner/command/pass.h"
#include "models/refiner/mock.h"

struct mock_options ypi_refiner_mock_options(const struct ypi_refiner_work *work);

/* (batch, 4, tile / 4, tile / 4) as PyTorch has it. */
struct state_tensor ypi_refiner_mock_output(const struct ypi_refiner_work *work);

enum yp_status ypi_refiner_mock_pass(struct ypi_refiner_pass *pass);
