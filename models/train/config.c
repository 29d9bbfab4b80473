/* What a trainer is made of, and which of it is allowed. */
#include "models/train/internal.h"

#include <math.h>

struct rx_train_config rx_train_defaults(void)
{
    struct rx_plateau plateau = rx_plateau_defaults();
    plateau.patience = 2;
    return (struct rx_train_config){.validation = 0.2,
                                    .epochs = 10,
                                    .batch = 1,
                                    .accumulate = 1,
                                    .adamw = rx_adamw_defaults(),
                                    .clip = 1,
                                    .plateau = plateau,
                                    .max_skipped = 10,
                                    .keep_best = true};
}

/* A number and the range it may have; an end that is open does not belong to it. */
struct range {
    const char *name;
    double value, low, high;
    bool open_low, open_high;
};

static enum yp_status check_ranges(const char *what, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct range *r = &ranges[i];
        bool inside = (r->open_low ? r->value > r->low : r->value >= r->low) &&
                      (r->open_high ? r->value < r->high : r->value <= r->high);
        if (!inside)
            return yp_set_error(YP_INVALID, "%s: %s is %g, allowed is %c%g, %g%c", what, r->name,
                                r->value, r->open_low ? '(' : '[', r->low, r->high,
                                r->open_high ? ')' : ']');
    }
    return YP_OK;
}

static enum yp_status check_config(const char *what, const struct rx_train_config *c)
{
    const double most = INFINITY;
    const struct range ranges[] = {
        {"validation", c->validation, 0, 1, false, true},
        {"batch", (double)c->batch, 1, UINT32_MAX, false, false},
        {"accumulate", (double)c->accumulate, 1, UINT32_MAX, false, false},
        {"adamw.lr", c->adamw.lr, 0, most, true, true},
        {"adamw.beta1", c->adamw.beta1, 0, 1, false, true},
        {"adamw.beta2", c->adamw.beta2, 0, 1, false, true},
        {"adamw.eps", c->adamw.eps, 0, most, false, true},
        {"adamw.weight_decay", c->adamw.weight_decay, 0, most, false, true},
        {"clip", c->clip, 0, most, false, true},
        {"plateau.factor", c->plateau.factor, 0, 1, true, false},
        {"plateau.threshold", c->plateau.threshold, 0, most, false, true},
        {"plateau.min_lr", c->plateau.min_lr, 0, most, false, true},
        {"plateau.eps", c->plateau.eps, 0, most, false, true},
        {"min_delta", c->min_delta, 0, most, false, true},
        {"targets", (double)c->targets, 0, UINT32_MAX, false, false}};
    return check_ranges(what, ranges, sizeof ranges / sizeof *ranges);
}

static enum yp_status check_tensors(const char *what, const struct rx_objective *objective)
{
    size_t end = 0;
    if (objective->n_tensors > RX_TRAIN_TENSORS)
        return yp_set_error(YP_INVALID, "%s: n_tensors is %zu, allowed are 0 to %d", what,
                            objective->n_tensors, RX_TRAIN_TENSORS);
    if (objective->n_tensors > 0 && objective->tensors == NULL)
        return yp_set_error(YP_INVALID, "%s: objective->tensors is NULL, n_tensors is %zu", what,
                            objective->n_tensors);
    for (size_t t = 0; t < objective->n_tensors; t++) {
        const struct yp_tensor *tensor = &objective->tensors[t];
        if (tensor->name == NULL || tensor->offset != end ||
            tensor->count > objective->parameters - end)
            return yp_set_error(YP_INVALID,
                                "%s: tensor %zu, %s, has %zu parameters from %zu on; it must have "
                                "a name, begin at %zu and end at %zu or before",
                                what, t, tensor->name != NULL ? tensor->name : "NULL",
                                tensor->count, tensor->offset, end, objective->parameters);
        end += tensor->count;
    }
    if (objective->n_tensors > 0 && end != objective->parameters)
        return yp_set_error(YP_INVALID, "%s: the tensors end at %zu, there are %zu parameters",
                            what, end, objective->parameters);
    return YP_OK;
}

static enum yp_status check_masks(const char *what, const struct rx_objective *objective,
                                  const struct rx_train_config *config)
{
    size_t tensors = objective->n_tensors > 0 ? objective->n_tensors : 1;
    uint64_t beyond = tensors < 64 ? ~UINT64_C(0) << tensors : 0;
    if ((config->no_decay & beyond) != 0 || (config->frozen & beyond) != 0)
        return yp_set_error(YP_INVALID, "%s: %s has a bit for a tensor beyond the %zu there are",
                            what, (config->no_decay & beyond) != 0 ? "no_decay" : "frozen",
                            tensors);
    if (config->targets > 0 && (objective->evaluate == NULL || objective->no_logits))
        return yp_set_error(YP_INVALID,
                            "%s: targets is %zu, but the objective has no logits; allowed is 0",
                            what, config->targets);
    return YP_OK;
}

static enum yp_status check_source(const char *what, const struct rx_source *source,
                                   size_t tiles_per_cube)
{
    if (source->yield == NULL)
        return yp_set_error(YP_INVALID, "%s: source->yield is NULL", what);
    if (tiles_per_cube == 0 || source->tiles == 0 || source->tiles % tiles_per_cube != 0)
        return yp_set_error(YP_INVALID,
                            "%s: tiles_per_cube is %zu, allowed is a divisor of source->tiles, %zu",
                            what, tiles_per_cube, source->tiles);
    if (source->tiles / tiles_per_cube > UINT32_MAX)
        return yp_set_error(YP_INVALID, "%s: the source has %zu cubes, allowed are 1 to %u", what,
                            source->tiles / tiles_per_cube, UINT32_MAX);
    return YP_OK;
}

enum yp_status ypi_rx_train_check(const char *what, const struct rx_objective *objective,
                                  const struct rx_source *source, size_t tiles_per_cube,
                                  const struct rx_train_config *config)
{
    if (objective == NULL || source == NULL || config == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            objective == NULL ? "objective"
                            : source == NULL  ? "source"
                                              : "config");
    if (objective->gradient == NULL)
        return yp_set_error(YP_INVALID, "%s: objective->gradient is NULL", what);
    /* Keeps all sizes below 2^60. */
    if (objective->parameters == 0 || objective->parameters > (size_t)1 << 48)
        return yp_set_error(YP_INVALID, "%s: objective->parameters is %zu, allowed are 1 to 2^48",
                            what, objective->parameters);
    enum yp_status status = check_source(what, source, tiles_per_cube);
    if (status == YP_OK)
        status = check_tensors(what, objective);
    if (status == YP_OK)
        status = check_config(what, config);
    if (status == YP_OK)
        status = check_masks(what, objective, config);
    return status;
}
