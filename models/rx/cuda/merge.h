/*
 * Blocks' sums to those of all, in double and in the order of blocks, by Chan's formula (rx.h); and
 * a loss's sums to its gradient. Each function is one thread's work; what it needs of others has
 * been written by a kernel before it, or before the barrier that its kernel has.
 */
#ifndef RXC_MERGE_H
#define RXC_MERGE_H

#include "products.h"
#include "quadratic.h"

#define RXC_MERGE_THREADS 256U

#if defined __CUDACC__ || defined RXC_ON_CPU

/* Blocks that are read before the first of them is used: one after the other each would take as
 * long as memory takes to answer. */
#define RXC_AHEAD 16U

/* What a block's distance counts: n m / (n + m) to M2 and m / (n + m) to the mean, with n pixels
 * before it. */
RXC_FUNCTION void rxc_merge_weight(const struct rxc_merge *job, unsigned block)
{
    uint64_t before = job->counts[0];
    RXC_UNROLL(16)
    for (unsigned b = 0; b < block; b++)
        before += job->kept[b];
    double n = (double)before, m = (double)job->kept[block];
    double share = m > 0 ? m / (n + m) : 0;
    job->share[block] = share;
    job->weight[block] = n * share;
}

/* After the weights: a channel's mean, block by block, and how far each block's lies from that of
 * those before. A block without pixels has a share of 0. */
RXC_FUNCTION void rxc_merge_channel(const struct rxc_merge *job, unsigned c)
{
    double mean = job->all_mean[c];
    float low = job->all_low[c], high = job->all_high[c];
    for (unsigned first = 0; first < job->blocks; first += RXC_AHEAD) {
        double means[RXC_AHEAD], shares[RXC_AHEAD];
        float lows[RXC_AHEAD], highs[RXC_AHEAD];
        RXC_UNROLL(16)
        for (unsigned i = 0; i < RXC_AHEAD; i++) {
            bool there = first + i < job->blocks;
            size_t b = there ? first + i : 0, at = b * job->channels + c;
            means[i] = job->mean[at];
            shares[i] = there ? job->share[b] : 0;
            lows[i] = job->low[at];
            highs[i] = job->high[at];
        }
        RXC_UNROLL(16)
        for (unsigned i = 0; i < RXC_AHEAD; i++) {
            double apart = shares[i] > 0 ? means[i] - mean : 0;
            mean += apart * shares[i];
            low = fminf(low, lows[i]);
            high = fmaxf(high, highs[i]);
            if (first + i < job->blocks)
                job->apart[(size_t)(first + i) * job->channels + c] = apart;
        }
    }
    job->all_mean[c] = mean;
    job->all_low[c] = low;
    job->all_high[c] = high;
}

/* After the weights. */
RXC_FUNCTION void rxc_merge_counts(const struct rxc_merge *job)
{
    uint64_t kept = job->counts[0], skipped = job->counts[1];
    RXC_UNROLL(16)
    for (unsigned b = 0; b < job->blocks; b++) {
        kept += job->kept[b];
        skipped += job->skipped[b];
    }
    job->counts[0] = kept;
    job->counts[1] = skipped;
}

/* With weights: a channel's sums. */
RXC_FUNCTION void rxc_merge_moment(const struct rxc_merge *job, unsigned c)
{
    double sum = job->fresh ? 0 : job->all_mean[c];
    for (unsigned b = 0; b < job->blocks; b++)
        sum += job->mean[(size_t)b * job->channels + c];
    job->all_mean[c] = sum;
}

RXC_FUNCTION unsigned rxc_channel_of(unsigned group, unsigned member, unsigned half)
{
    return 4 * group + member + (member < 4 ? 0 : half - 4);
}

/* Number `entry` of the products of a block, (SQUARE, pairs). */
RXC_FUNCTION void rxc_merge_entry(const struct rxc_merge *job, unsigned entry)
{
    unsigned channels = job->channels, pairs = rxc_pairs(channels), left, right;
    unsigned square = entry / pairs, half = 4 * rxc_groups(channels);
    rxc_place(entry % pairs, rxc_groups(channels), &left, &right);
    unsigned i = rxc_channel_of(left, square / RXC_GROUP, half);
    unsigned j = rxc_channel_of(right, square % RXC_GROUP, half);
    if (i >= channels || j >= channels || (left == right && i > j))
        return;
    double *to = job->m2 + (size_t)(i < j ? i : j) * channels + (i < j ? j : i);
    double sum = job->weighted && job->fresh ? 0 : *to;
    const float *products = job->products + entry;
    size_t block = (size_t)RXC_SQUARE * pairs;
    RXC_UNROLL(8)
    for (unsigned b = 0; b < job->blocks; b++) {
        sum += (double)products[b * block];
        if (!job->weighted) {
            size_t at = (size_t)b * channels;
            sum -= (double)job->kept[b] * job->away[at + i] * job->away[at + j];
            sum += job->weight[b] * job->apart[at + i] * job->apart[at + j];
        }
    }
    *to = sum;
}

/* -- loss ----------------------------------------------------------------------------------- */

#define RXC_LOSS_THREADS 256U

/* One block: adds the blocks' sums to those of all. `shared` has RXC_LOSS_THREADS doubles. */
RXC_FUNCTION void rxc_add_loss(const struct rxc_loss *job, double *shared)
{
    for (unsigned which = 0; which < 4; which++) {
        RXC_EACH (t, RXC_LOSS_THREADS) {
            double sum = 0;
            for (unsigned b = t; b < job->blocks; b += RXC_LOSS_THREADS)
                sum += which < 3 ? job->sums[3 * (size_t)b + which] : (double)job->kept[b];
            shared[t] = sum;
        }
        for (unsigned width = RXC_LOSS_THREADS / 2; width > 0; width /= 2) {
            rxc_barrier();
            RXC_EACH (t, width)
                shared[t] += shared[t + width];
        }
        RXC_EACH (t, 1U)
            job->all[which] = shared[t] + (job->fresh ? 0 : job->all[which]);
        rxc_barrier();
    }
}

/* Number `at` of the parameters: write_gradient() of loss.c. */
RXC_FUNCTION void rxc_write_gradient(const struct rxc_loss *job, size_t at)
{
    size_t channels = job->channels, end = channels + channels * channels;
    const float *a = job->parameters + channels;
    double n = job->all[3], value;
    if (at < channels) {
        double sum = 0;
        for (size_t j = 0; j < channels; j++)
            sum += ((double)a[at * channels + j] + (double)a[j * channels + at]) * job->moment[j];
        value = -sum;
    } else if (at < end) {
        size_t i = (at - channels) / channels, j = (at - channels) % channels;
        value = job->gram[i < j ? i * channels + j : j * channels + i];
    } else if (at == end) {
        value = job->all[2];
    } else {
        value = -(double)job->parameters[end] * job->all[1];
    }
    job->gradient[at] = (float)(value / n);
}

/* -- optimiser ------------------------------------------------------------------------------ */

/* One of RXC_NORM_PARTS sums of squares. */
RXC_FUNCTION double rxc_norm_part(size_t count, const float *values, unsigned part)
{
    double sum = 0;
    for (size_t i = part; i < count; i += RXC_NORM_PARTS)
        sum += (double)values[i] * (double)values[i];
    return sum;
}

RXC_FUNCTION double rxc_clip(const double *parts, double most)
{
    double sum = 0;
    for (unsigned i = 0; i < RXC_NORM_PARTS; i++)
        sum += parts[i];
    double factor = most > 0 ? most / (sqrt(sum) + 1e-6) : 1;
    return factor < 1 ? factor : 1;
}

/* As rx_adamw_step(), to the bit. */
RXC_FUNCTION void rxc_adamw_element(const struct rxc_adamw *f, size_t i)
{
    float g = f->gradient[i];
    if (f->factor != NULL)
        g = (float)(*f->factor * (double)g);
    float m = rxc_add(f->m[i], rxc_mul(f->gain1, rxc_sub(g, f->m[i])));
    float v = rxc_add(rxc_mul(f->beta2, f->v[i]), rxc_mul(rxc_mul(f->gain2, g), g));
    float scale = rxc_add(rxc_div(rxc_root(v), f->correction), f->eps);
    f->m[i] = m;
    f->v[i] = v;
    f->parameters[i] =
        rxc_sub(rxc_mul(f->keep, f->parameters[i]), rxc_mul(f->step, rxc_div(m, scale)));
}

#endif
#endif
