/* The trainer's settings by name: one table for the ini files of workloads and for the options of
 * commands. An entry of section [cosine] and name `warmup` is --cosine-warmup there; those of
 * [train] have no section in front. */
#pragma once

#include "base/options/option.h"
#include "models/train/trainer.h"

enum train_option_kind {
    TRAIN_OPTION_REAL,
    TRAIN_OPTION_SINGLE, /* float */
    TRAIN_OPTION_SIZE,
    TRAIN_OPTION_WHOLE64,
    TRAIN_OPTION_WHOLE32,
    TRAIN_OPTION_FLAG,  /* bool: the first of its words, or the second */
    TRAIN_OPTION_CHOICE /* unsigned: the place among its words */
};

/* A workload has such entries for settings of its own, too. */
struct train_option {
    const char *section, *name;
    enum train_option_kind kind;
    size_t at;                /* of the value, in the structure */
    double low, high;         /* of numbers */
    bool open;                /* low is not allowed itself */
    const char *const *words; /* of flags and choices; ends with NULL */
};

enum { TRAIN_OPTIONS = 37 };
extern const struct train_option train_options[TRAIN_OPTIONS]; /* in struct train_config */

/* Reads `value` to `to`. NULL, or what is allowed: the caller frees. */
char *train_option_set(const struct train_option *option, const char *value, void *to);

/* Bytes of its value. */
size_t train_option_bytes(const struct train_option *option);

/* "optimiser" or "schedule" where the option is of one that the configuration has not chosen, so
 * that it would have no effect; "scaling-initial" of the loss scale's without one; else NULL. */
const char *train_option_needs(const struct train_option *option,
                               const struct train_config *config);

/* -- on a command line ------------------------------------------------------------------------ */

/* What a command was told. */
struct train_words {
    struct train_config config;
    bool given[TRAIN_OPTIONS];
};

/* "cosine-warmup". */
enum { TRAIN_OPTION_NAME = 32 };
const char *train_option_word(const struct train_option *option, char text[TRAIN_OPTION_NAME]);

/* For options of kind YPI_OPTION_OWN whose offset is that of a struct train_words. */
char *train_option_read(void *values, const struct ypi_option *option, const char *text);

/* The scale of the loss that fp16 needs begins as PyTorch's, unless it is given. */
void train_words_scale(struct train_words *words);

/* YP_INVALID: an option is given that has no effect, see train_option_needs(). */
enum yp_status train_words_check(const struct train_words *words);

#define TRAIN_OPTION(name_, value_, help_, offset_, group_) \
    { \
        name_, .value = value_, .kind = YPI_OPTION_OWN, .offset = (offset_), .group = (group_), \
               .read = train_option_read, .help = help_ \
    }
/* Rows of a command's table: all but those whose names a command has for other passes as well, or
 * in another form: seed, batch, checkpoint_every and the optimisers' rates. */
#define TRAIN_OPTION_ROWS(offset_, group_) \
    TRAIN_OPTION("epochs", "N", "at most; 10", offset_, group_), \
        TRAIN_OPTION("accumulate", "N", "batches of a step; 1", offset_, group_), \
        TRAIN_OPTION("validation", "X", "part that is judged, below 1; 0.2", offset_, group_), \
        TRAIN_OPTION("clip", "X", "norm of the gradient at most, 0: any; 1", offset_, group_), \
        TRAIN_OPTION("average", "X", \
                     "factor of an average of the weights, which is judged and saved in\n" \
                     "                             their place, below 1; 0, none", \
                     offset_, group_), \
        TRAIN_OPTION("patience", "N", "epochs without a better loss, 0: all; 0", offset_, group_), \
        TRAIN_OPTION("max-skipped", "N", "steps in a row that are not finite, 0: any number; 10", \
                     offset_, group_), \
        TRAIN_OPTION("keep-best", "true|false", "save the best weights, or the last; true", \
                     offset_, group_), \
        TRAIN_OPTION("optimiser", "WORD", "adamw or sgd; adamw", offset_, group_), \
        TRAIN_OPTION("adamw-beta1", "X", "0.9", offset_, group_), \
        TRAIN_OPTION("adamw-beta2", "X", "0.999", offset_, group_), \
        TRAIN_OPTION("adamw-eps", "X", "1e-8", offset_, group_), \
        TRAIN_OPTION("adamw-weight-decay", "X", "0.01", offset_, group_), \
        TRAIN_OPTION("sgd-momentum", "X", "0.9", offset_, group_), \
        TRAIN_OPTION("sgd-dampening", "X", "0", offset_, group_), \
        TRAIN_OPTION("sgd-weight-decay", "X", "0", offset_, group_), \
        TRAIN_OPTION("sgd-nesterov", "true|false", "false", offset_, group_), \
        TRAIN_OPTION("schedule", "WORD", "of the rate: plateau, constant or cosine; plateau", \
                     offset_, group_), \
        TRAIN_OPTION("plateau-factor", "X", "of the rate when the loss gets no better; 0.1", \
                     offset_, group_), \
        TRAIN_OPTION("plateau-patience", "N", "epochs before that; 2", offset_, group_), \
        TRAIN_OPTION("plateau-threshold", "X", "what counts as better; 0.0001", offset_, group_), \
        TRAIN_OPTION("plateau-absolute", "true|false", "not of the loss; false", offset_, group_), \
        TRAIN_OPTION("plateau-cooldown", "N", "epochs after that; 0", offset_, group_), \
        TRAIN_OPTION("plateau-min-lr", "X", "0", offset_, group_), \
        TRAIN_OPTION("plateau-eps", "X", "least change of the rate; 1e-8", offset_, group_), \
        TRAIN_OPTION("cosine-warmup", "N", "steps up to the rate; 0", offset_, group_), \
        TRAIN_OPTION("cosine-steps", "N", "down to the least rate, 0: all; 0", offset_, group_), \
        TRAIN_OPTION("cosine-min-lr", "X", "0", offset_, group_), \
        TRAIN_OPTION("scaling-initial", "X", "scale of the loss, 0: none; 0, with fp16 65536", \
                     offset_, group_), \
        TRAIN_OPTION("scaling-growth", "X", "2", offset_, group_), \
        TRAIN_OPTION("scaling-backoff", "X", "0.5", offset_, group_), \
        TRAIN_OPTION("scaling-interval", "N", "steps between growths; 2000", offset_, group_)
