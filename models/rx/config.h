/* A pipeline and its training from one ini file. A section is a node, which is there when its
 * section is, or a part of the trainer; what is left out has the default of struct
 * rx_pipeline_options and train_defaults().
 *
 *     [minmax]    by_sample
 *     [selector]  keep, temperature, train_temperature, start = variance | uniform,
 *                 hard = soft | weights | ones, temperature_decay, temperature_min,
 *                 entropy, diversity
 *     [pca]       components (needed), orthogonality, whiten, residual
 *     [detector]  kind = global | image | lad | autoencoder, eps, shrink, mask_dead,
 *                 max_error, inverse = cholesky | pinv, hidden, seed
 *     [logit]     scale
 *     [loss]      positive_weight
 *     [train]     seed, validation, epochs, batch, accumulate, optimiser = adamw | sgd,
 *                 precision = fp32 | bf16 | fp16 (of the pipeline's products), clip, average,
 *                 schedule = plateau | constant | cosine, patience, max_skipped, keep_best,
 *                 checkpoint_every
 *     [adamw], [sgd], [plateau], [cosine], [scaling]  the members of the trainer's structures
 *
 * With fp16 the scale of the loss begins at 65536, with other precisions there is none, unless
 * initial of [scaling] says so. What the chosen detector, optimiser or schedule does not take is
 * refused. Yes and no are true and false. A line that begins with # or ; is a comment; behind a
 * value a comment begins with a blank and ;, and # is a part of the value. */
#pragma once

#include "models/rx/train.h"

struct rx_config {
    /* channels, tile_pixels, threads and tiles are 0: those of the data and the machine. */
    struct rx_pipeline_options options;
    struct train_config training; /* without checkpoint and watcher */
    char *text;                   /* the file as it was read, ended by a NUL */
    size_t length;                /* of it, up to 64 KiB */
};

/* Reads the file. YP_IO: it cannot be read. YP_INVALID: a section or a name that is not known, or
 * comes twice, a value that is not allowed, or one of an optimiser or a schedule that is not
 * chosen; yp_last_error() has the place of the first, the name, and what is allowed, and stderr has
 * all that is wrong with single lines. What combinations of other options, and numbers of channels,
 * allow is checked where pipeline and trainer are made. On success the caller calls
 * rx_config_clear(), else there is nothing to give back. */
enum yp_status rx_config_read(const char *path, struct rx_config *config);
void rx_config_clear(struct rx_config *config);

/* Writes the text to another file, beside a checkpoint, so that results say what they are of.
 * Replaces the file at once, as train_save() does. */
enum yp_status rx_config_save(const struct rx_config *config, const char *path);

/* The pipeline's options as one number, for struct rx_objective's identity: a checkpoint of a
 * pipeline with others is then refused. Comments, order and max_error do not count; the trainer
 * compares its own settings, and names them. */
uint64_t rx_config_identity(const struct rx_config *config);
