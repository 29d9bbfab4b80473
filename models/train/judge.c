/* The trainer's judgement of a source: the loss, and what a decision and a ranking by the logits
 * are worth. */
#include "models/train/internal.h"

#include <math.h>

struct pass {
    struct rx_train *train;
    struct rx_judgement *out;
    enum yp_status status; /* a tile may be taken by another thread, so its message is lost */
};

static void take_first(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct pass *pass = arg;
    metrics_confusion_add(&pass->out->confusion, logits, labels, pixels);
    if (pass->train->ranking != NULL && pass->status == YP_OK)
        pass->status = metrics_ranking_targets(pass->train->ranking, logits, labels, pixels);
}

static void take_background(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct pass *pass = arg;
    if (pass->status == YP_OK)
        pass->status = metrics_ranking_background(pass->train->ranking, logits, labels, pixels);
}

/* The loss alone, of whichever function there is. */
static enum yp_status judge_loss(struct rx_train *train, const struct rx_source *source,
                                 const float *parameters, struct pass *pass, double *loss)
{
    const struct rx_objective *objective = &train->objective;
    double weight = 0;
    enum yp_status status =
        objective->evaluate != NULL
            ? objective->evaluate(objective->arg, source, parameters, loss, &weight,
                                  pass != NULL ? take_first : NULL, pass)
            : objective->gradient(objective->arg, source, parameters, loss, &weight,
                                  train->gradient);
    if (status == YP_OK && !(weight > 0))
        *loss = NAN;
    return status;
}

enum yp_status rx_train_judge(struct rx_train *train, const struct rx_source *source,
                              const float *parameters, double *loss, struct rx_judgement *out)
{
    if (train == NULL || source == NULL || parameters == NULL || loss == NULL)
        return yp_set_error(YP_INVALID, "rx_train_judge: %s is NULL",
                            train == NULL        ? "train"
                            : source == NULL     ? "source"
                            : parameters == NULL ? "parameters"
                                                 : "loss");
    const struct rx_objective *objective = &train->objective;
    if (out == NULL)
        return judge_loss(train, source, parameters, NULL, loss);
    if (!ypi_rx_has_logits(objective))
        return yp_set_error(YP_UNSUPPORTED,
                            "rx_train_judge: the objective has no logits that could be judged");
    *out = (struct rx_judgement){
        .ranked = {0, 0, 0, (double)NAN, (double)NAN, (double)NAN, (double)NAN}};
    struct pass pass = {train, out, YP_OK};
    if (train->ranking != NULL)
        metrics_ranking_reset(train->ranking);
    enum yp_status status = judge_loss(train, source, parameters, &pass, loss);
    if (status != YP_OK || train->ranking == NULL)
        return status;
    if (pass.status == YP_OK) {
        status = objective->evaluate(objective->arg, source, parameters, NULL, NULL,
                                     take_background, &pass);
        if (status != YP_OK)
            return status;
    }
    if (pass.status != YP_OK)
        return yp_set_error(pass.status,
                            "rx_train_judge: the source has more targets than config.targets, "
                            "%zu, has room for, or 2^32 pixels and more",
                            train->config.targets);
    metrics_ranking_result(train->ranking, &out->ranked);
    return YP_OK;
}
