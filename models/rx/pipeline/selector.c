/* The channel selector: its weights, hard or soft, its terms of the loss, and its temperature.
 *
 * With s = softmax(logits / T) and w = k s over C channels, the terms are
 *     -entropy H,        H = -sum s ln s,
 *     -diversity var w,  var w = 1/C sum (w - k / C)^2,
 * and what they add to the gradient is, with p_c = s_c dterms/ds_c,
 *     dlogits = (p - s sum p) / T,  dT = -sum dlogits logits / T,
 *     p_c = entropy s_c (ln s_c + 1) - diversity 2 k^2 / C s_c (s_c - 1 / C). */
#include "models/rx/pipeline/internal.h"

#include <math.h>

double ypi_rx_temperature(const struct rx_pipeline_options *o, const struct ypi_rx_places *at,
                          const float *parameters)
{
    return at->temperature == YPI_RX_NOWHERE ? o->temperature : (double)parameters[at->temperature];
}

/* -- weights -------------------------------------------------------------------------------- */

/* s to `shares`. */
static void share_out(const struct rx_pipeline *p, const float *parameters, double *shares)
{
    const struct rx_pipeline_options *o = &p->options;
    double top = -INFINITY, sum = 0, t = ypi_rx_temperature(o, &p->places, parameters);
    for (size_t c = 0; c < o->channels; c++) {
        shares[c] = o->select ? (double)parameters[p->places.logits + c] / t : 0;
        top = fmax(top, shares[c]);
    }
    for (size_t c = 0; c < o->channels; c++)
        sum += shares[c] = exp(shares[c] - top);
    for (size_t c = 0; c < o->channels; c++)
        shares[c] /= sum;
}

/* Is the channel one of the k with the largest logits / T? Of equal ones, the first. Shares would
 * not do: far below the largest they are all 0. */
static bool leads(const struct rx_pipeline *p, const float *parameters, size_t c)
{
    const struct rx_pipeline_options *o = &p->options;
    const float *logits = parameters + p->places.logits;
    double sign = ypi_rx_temperature(o, &p->places, parameters) < 0 ? -1 : 1;
    double before = 0, own = sign * (double)logits[c];
    for (size_t i = 0; i < o->channels; i++) {
        double other = sign * (double)logits[i];
        before += other > own || (other == own && i < c) ? 1 : 0;
    }
    return before < o->keep;
}

void ypi_rx_weigh(struct rx_pipeline *p, bool hard)
{
    const struct rx_pipeline_options *o = &p->options;
    share_out(p, p->parameters, p->shares);
    for (size_t c = 0; c < o->channels; c++) {
        double weight = o->select ? o->keep * p->shares[c] : 1;
        bool out = hard && o->hard != RX_SOFT && !leads(p, p->parameters, c);
        p->weights[c] = out ? 0 : hard && o->hard == RX_TOP_ONES ? 1 : weight;
    }
}

size_t rx_pipeline_selected(struct rx_pipeline *p, const float *parameters, size_t *list)
{
    size_t count = 0;
    if (p == NULL || parameters == NULL || list == NULL) {
        yp_set_error(YP_INVALID, "rx_pipeline_selected: %s is NULL",
                     p == NULL            ? "pipeline"
                     : parameters == NULL ? "parameters"
                                          : "list");
        return 0;
    }
    const struct rx_pipeline_options *o = &p->options;
    if (!o->select || o->keep < 1 || o->keep > (double)o->channels || o->keep != floor(o->keep)) {
        yp_set_error(YP_INVALID,
                     "rx_pipeline_selected: keep is %g with%s a selector, allowed is a whole "
                     "number of 1 to channels, %zu, with one",
                     o->keep, o->select ? "" : "out", o->channels);
        return 0;
    }
    share_out(p, parameters, p->shares);
    for (size_t c = 0; c < o->channels; c++)
        if (!isfinite(p->shares[c])) {
            yp_set_error(YP_INVALID, "rx_pipeline_selected: the weights are not finite");
            return 0;
        }
    for (size_t c = 0; c < o->channels; c++)
        if (leads(p, parameters, c))
            list[count++] = c;
    return count;
}

/* -- terms of the loss ---------------------------------------------------------------------- */

double ypi_rx_selector_terms(const struct rx_pipeline *p)
{
    const struct rx_pipeline_options *o = &p->options;
    double even = 1 / (double)o->channels, terms = 0;
    if (!ypi_rx_has_terms(o))
        return 0;
    for (size_t c = 0; c < o->channels; c++) {
        double s = p->shares[c], away = o->keep * (s - even);
        terms += o->entropy * (s != 0 ? s * log(s) : 0) - o->diversity * even * away * away;
    }
    return terms;
}

void ypi_rx_selector_pull(const struct rx_pipeline *p, double *pull)
{
    const struct rx_pipeline_options *o = &p->options;
    double even = 1 / (double)o->channels, all = 0;
    double spread = 2 * o->diversity * o->keep * o->keep * even;
    for (size_t c = 0; c < o->channels; c++) {
        double s = p->shares[c];
        pull[c] = ypi_rx_has_terms(o)
                      ? o->entropy * (s != 0 ? s * (log(s) + 1) : 0) - spread * s * (s - even)
                      : 0;
        all += pull[c];
    }
    for (size_t c = 0; c < o->channels; c++)
        pull[c] -= p->shares[c] * all;
}

/* -- temperature ---------------------------------------------------------------------------- */

void rx_pipeline_epoch(void *pipeline, uint64_t epoch, float *parameters)
{
    const struct rx_pipeline *p = pipeline;
    const struct rx_pipeline_options *o = &p->options;
    if (o->select && o->temperature_decay > 0)
        parameters[p->places.temperature] = (float)fmax(
            o->temperature_min, o->temperature * pow(o->temperature_decay, (double)epoch));
}
