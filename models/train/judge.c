/* The trainer's judgement of items: the loss, and what the workload measures. */
#include "models/train/internal.h"

#include <math.h>

enum yp_status train_judge(struct train *train, struct train_items items, const float *parameters,
                           double *loss, double *metrics)
{
    if (train == NULL || items.index == NULL || parameters == NULL || loss == NULL)
        return yp_set_error(YP_INVALID, "train_judge: %s is NULL",
                            train == NULL         ? "train"
                            : items.index == NULL ? "items.index"
                            : parameters == NULL  ? "parameters"
                                                  : "loss");
    const struct train_objective *objective = &train->objective;
    double weight = 0;
    if (metrics != NULL && !ypi_train_has_metrics(objective))
        return yp_set_error(YP_UNSUPPORTED, "train_judge: the objective has no metrics");
    enum yp_status status =
        objective->evaluate != NULL
            ? objective->evaluate(objective->arg, items, parameters, loss, &weight, metrics)
            : objective->gradient(objective->arg, items, parameters, 1, loss, &weight,
                                  train->at.gradient);
    if (status == YP_OK && !(weight > 0))
        *loss = NAN;
    return status;
}
