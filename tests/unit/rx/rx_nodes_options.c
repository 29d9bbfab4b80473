/* Pipelines: options that are refused, and channels that are selected. */
#include "tests/unit/rx/rx_nodes.h"

#define SELECTOR .channels = 4, .tile_pixels = 9, .select = true

Test(rx_nodes, options_that_make_no_sense_are_refused_by_name)
{
    const struct {
        struct rx_pipeline_options options;
        const char *words;
    } wrong[] = {
        {{.channels = 0, .tile_pixels = 9}, "channels is 0"},
        {{.channels = 4, .tile_pixels = 0}, "tile_pixels is 0"},
        {{.channels = 4, .tile_pixels = 9, .eps = -1}, "eps is -1"},
        {{.channels = 4, .tile_pixels = 9, .keep = NAN}, "keep is nan"},
        {{.channels = 4, .tile_pixels = 9, .shrink = 2}, "shrink is 2"},
        {{.channels = 4, .tile_pixels = 9, .components = 5}, "components is 5"},
        {{.channels = 4, .tile_pixels = 9, .components = 2, .detector = RX_LAD}, "RX_GLOBAL only"},
        {{.channels = 4, .tile_pixels = 9, .orthogonality = 1}, "no components"},
        {{.channels = 4, .tile_pixels = 9, .hidden = 5}, "hidden is 5"},
        {{.channels = 4, .tile_pixels = 9, .detector = RX_IMAGE}, "eps is 0"},
        {{.channels = 4, .tile_pixels = 9, .detector = RX_LAD, .mask_dead = true},
         "RX_GLOBAL only"},
        {{.channels = 4, .tile_pixels = 9, .detector = (enum rx_detector)9}, "detector is 9"},
        {{.channels = 4, .tile_pixels = 9, .inverse = (enum rx_inverse)9}, "inverse is 9"},
        {{.channels = 4, .tile_pixels = 9, .tiles = (enum rx_tiles)9}, "tiles is 9"},
        {{.channels = 4, .tile_pixels = 9, .whiten = true}, "no components"},
        {{.channels = 4, .tile_pixels = 9, .residual = true}, "0 components of 4 channels"},
        {{.channels = 4, .tile_pixels = 9, .components = 4, .residual = true},
         "allowed are 1 to 3"},
        {{.channels = 4, .tile_pixels = 9, .max_error = 0.1, .detector = RX_LAD},
         "max_error is 0.1"},
        {{.channels = 4, .tile_pixels = 9, .max_error = 0.1, .inverse = RX_PINV_F32},
         "max_error is 0.1"},
        {{.channels = 4, .tile_pixels = 9, .by_sample = true}, "normalise is not"},
        {{.channels = 4, .tile_pixels = 9, .positive_weight = -1}, "positive_weight is -1"},
        {{.channels = 4, .tile_pixels = 9, .positive_weight = 2, .detector = RX_AUTOENCODER},
         "no targets"},
#ifdef RX_NODES_ON_GPU
        {{.channels = 4, .tile_pixels = 9, .normalise = true, .by_sample = true},
         "MinMax over all data alone"},
        {{.channels = 4, .tile_pixels = 9, .components = 2, .residual = true}, "a GPU scores"},
        {{.channels = 4, .tile_pixels = 9, .precision = RX_OPERANDS_BF16},
         "precision is bf16, a GPU's products are float's alone"},
#endif
        {{.channels = 4, .tile_pixels = 9, .precision = (enum rx_operands)3}, "precision is 3"},
        {{.channels = 4, .tile_pixels = 9, .precision = RX_OPERANDS_FP16, .inverse = RX_PINV_F32},
         "precision is fp16 and inverse RX_PINV_F32"},
        {{.channels = 4,
          .tile_pixels = 9,
          .precision = RX_OPERANDS_FP16,
          .max_error = 1,
          .detector = RX_LAD},
         "max_error is 1"},
        {{.channels = 4, .tile_pixels = 9, .uniform = true}, "select is false"},
        {{.channels = 4, .tile_pixels = 9, .entropy = 1}, "select is false"},
        {{SELECTOR, .hard = (enum rx_hard)9}, "hard is 9"},
        {{SELECTOR, .hard = RX_TOP_ONES, .keep = 1.5}, "keep is 1.5"},
        {{SELECTOR, .hard = RX_TOP_WEIGHTS, .keep = 5}, "channels, 4"},
        {{SELECTOR, .temperature_decay = 1.5}, "temperature_decay is 1.5"},
        {{SELECTOR, .temperature_decay = 0.9, .train_temperature = true}, "trained or decays"},
        {{SELECTOR, .temperature_min = 0.5}, "no temperature_decay"},
        {{SELECTOR, .temperature_decay = 0.9, .temperature_min = 2}, "up to temperature, 1"},
        {{SELECTOR, .entropy = NAN}, "entropy is nan"},
        {{SELECTOR, .diversity = -INFINITY}, "diversity is -inf"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REFUSED(rx_pipeline_create(device_of_pipelines(), &wrong[i].options), wrong[i].words);
        cr_expect_eq(PIPELINE_BYTES(&wrong[i].options), 0);
    }
    REFUSED(rx_pipeline_create(device_of_pipelines(), NULL), "options is NULL");
    REFUSED(rx_pipeline_create(NULL, &shapes[0].options), "device is NULL");
}

/* Ties go to the first; a negative temperature turns the order round. */
Test(rx_nodes, the_largest_weights_are_selected)
{
    struct rx_pipeline_options o = {.channels = 6,
                                    .tile_pixels = 9,
                                    .select = true,
                                    .keep = 3,
                                    .train_temperature = true,
                                    .detector = RX_AUTOENCODER,
                                    .tiles = TILES};
    struct rx_pipeline *p = pipeline_for(&o);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    const float logits[6] = {-1, 2, 0.5F, 2, 0.5F, -3};
    size_t list[6];
    memcpy(parameters, logits, sizeof logits);
    parameters[p->places.temperature] = 0.25F;
    cr_assert_eq(rx_pipeline_selected(p, parameters, list), 3);
    cr_expect(list[0] == 1 && list[1] == 2 && list[2] == 3, "%zu %zu %zu", list[0], list[1],
              list[2]);
    parameters[p->places.temperature] = -0.25F;
    cr_assert_eq(rx_pipeline_selected(p, parameters, list), 3);
    cr_expect(list[0] == 0 && list[1] == 2 && list[2] == 5, "%zu %zu %zu", list[0], list[1],
              list[2]);
    /* Shares of all but two are 0 here. */
    const float apart[6] = {-9, 0, -30, -1, -8, -20};
    memcpy(parameters, apart, sizeof apart);
    parameters[p->places.temperature] = 0.01F;
    cr_assert_eq(rx_pipeline_selected(p, parameters, list), 3);
    cr_expect(list[0] == 1 && list[1] == 3 && list[2] == 4, "%zu %zu %zu", list[0], list[1],
              list[2]);
    /* No more than k are written, whatever the weights are. */
    for (int i = 0; i < 3; i++) {
        list[3] = 99;
        parameters[2] = i == 0 ? NAN : i == 1 ? INFINITY : 0;
        parameters[p->places.temperature] = i == 2 ? 0 : 1;
        cr_expect_eq(rx_pipeline_selected(p, parameters, list), 0);
        cr_expect(strstr(yp_last_error(), "not finite") != NULL, "%s", yp_last_error());
        cr_expect_eq(list[3], 99);
    }
    cr_expect_eq(rx_pipeline_selected(p, NULL, list), 0);
    cr_expect(strstr(yp_last_error(), "parameters is NULL") != NULL, "%s", yp_last_error());
    rx_pipeline_destroy(p);
    o.keep = 2.5;
    p = pipeline_for(&o);
    cr_expect_eq(rx_pipeline_selected(p, parameters, list), 0);
    cr_expect(strstr(yp_last_error(), "keep is 2.5") != NULL, "%s", yp_last_error());
    rx_pipeline_destroy(p);
    free(parameters);
}

/* T of each epoch, in the tensor that the trainer leaves alone. */
Test(rx_nodes, temperature_falls_to_its_least)
{
    struct rx_pipeline_options o = {.channels = 4,
                                    .tile_pixels = 9,
                                    .select = true,
                                    .temperature = 3,
                                    .temperature_decay = 0.5,
                                    .eps = 1,
                                    .tiles = TILES};
    struct rx_pipeline *p = pipeline_for(&o);
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx_objective objective = rx_pipeline_objective(p, tensors);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    for (size_t i = 0; i < objective.n_tensors; i++)
        cr_expect_eq(train_set_has(&objective.frozen, i),
                     strcmp(tensors[i].name, "temperature") == 0, "%s", tensors[i].name);
    cr_assert_not_null(objective.epoch);
    for (uint64_t epoch = 0; epoch < 9; epoch++) {
        objective.epoch(objective.arg, epoch, parameters);
        cr_expect_eq(parameters[p->places.temperature], (float)fmax(0.1, 3 / (double)(1 << epoch)),
                     "epoch %" PRIu64, epoch);
    }
    rx_pipeline_destroy(p);
    free(parameters);
}
