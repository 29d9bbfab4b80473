/* Scenes on an accelerator, as scene.c knows them. */
#pragma once

#include "synth/scene/internal.h"

/* YP_UNSUPPORTED where this build has no code for accelerators. */
enum yp_status ypi_scene_check_device(void);

/* Copies a scene with its tables and makes it the device's. */
enum yp_status ypi_scene_to_device(struct synth_scene *scene, struct yp_device *device);

/* Arguments have been checked. */
enum yp_status ypi_scene_tile_on_device(const struct synth_scene *scene, uint64_t cube,
                                        size_t cubes, size_t first_pixel, size_t pixels,
                                        float *values, const struct synth_truth *truth);
