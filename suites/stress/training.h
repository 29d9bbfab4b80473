/* A pipeline on the cubes of a scene and its trainer, on the case's device: on a GPU it makes the
 * scene, cube by cube, and works on it. */
#pragma once

#include "models/rx/train.h"
#include "suites/scene_tiles.h"

#define TRAINING_TILE_PIXELS 4096 /* of the CPU's; a GPU's is a cube */
#define TRAINING_THREADS 2

struct training {
    struct scene_tiles tiles;
    struct rx *rx;
    struct rx_pipeline *pipeline;
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx_objective objective;
    struct train_config config;
    struct rx_training *training;
    struct train *train; /* its trainer */
    float *parameters;   /* at the start of the gradient phase; on the host, owned by the case */
};

/* What a case chooses: a pipeline for any number of channels (channels and tile_pixels are set
 * here), and how it is trained (seed and, where there are logits, targets are set here). */
struct training_plan {
    struct rx_pipeline_options options;
    struct train_config config;
};

/* An error ends the case `t`. The structure must not move; close it with training_close(). */
void training_open(struct training *f, struct yp_case *t, const struct scale *s,
                   const struct training_plan *plan);
void training_close(struct training *f);

/* A tensor's place in parameters; a name that the pipeline has not ends the case. */
float *training_tensor(struct yp_case *t, const struct training *f, const char *name,
                       const float *parameters);

/* The statistical phase, on the cubes for training; the gradient phase may begin then. */
enum yp_status training_begin(struct training *f);

/* Expects that a run which is left after 1, 3, 4 or 7 steps and goes on in a new trainer, and one
 * on a single thread, end in the same bits as one that is not. */
void training_resumes(struct yp_case *t, const struct scale *s, const struct training_plan *plan);
