/* Blocks' sums to those of all, in double and in an order that only their number decides, by Chan's
 * formula (rx.h); and a loss's sums to its gradient. Most functions are one thread's work; what it
 * needs of others has been written by a kernel before it, or before a barrier. */
#pragma once

#include "models/rx/cuda/products.h"
#include "models/rx/cuda/quadratic.h"

#define RXC_MERGE_THREADS 256U

/* Threads of these kernels stand SEGMENTS deep: each row of COLUMNS takes its part of the blocks of
 * as many channels or entries, and the parts are put together in their order. */
#define RXC_SEGMENTS 8U
#define RXC_MERGE_COLUMNS (RXC_MERGE_THREADS / RXC_SEGMENTS)

/* Blocks of threads for a block's products. */
YPK_BOTH unsigned rxc_entry_blocks(unsigned channels)
{
    return (RXC_SQUARE * rxc_pairs(channels) + RXC_MERGE_COLUMNS - 1) / RXC_MERGE_COLUMNS;
}

/* Blocks that are read before the first of them is used: one after the other each would take as
 * long as memory takes to answer. */
#define RXC_AHEAD 16U

struct rxc_merge_shared {
    uint64_t kept[RXC_MERGE_THREADS], skipped[RXC_MERGE_THREADS];
    double sum[RXC_MERGE_THREADS];
    float low[RXC_MERGE_THREADS], high[RXC_MERGE_THREADS];
};

/* The first block of a segment, or of what would be the one after the last. */
YPK_FUNCTION unsigned rxc_segment(const struct rxc_merge *job, unsigned segment)
{
    unsigned length = (job->blocks + RXC_SEGMENTS - 1) / RXC_SEGMENTS, first = segment * length;
    return first < job->blocks ? first : job->blocks;
}

/* Pixels of a thread's blocks, a few that lie side by side. */
YPK_FUNCTION void rxc_merge_count(const struct rxc_merge *job, struct rxc_merge_shared *shared,
                                  unsigned t)
{
    unsigned each = (job->blocks + RXC_MERGE_THREADS - 1) / RXC_MERGE_THREADS;
    uint64_t kept = 0, skipped = 0;
    for (unsigned b = t * each; b < (t + 1) * each && b < job->blocks; b++) {
        kept += job->kept[b];
        skipped += job->skipped[b];
    }
    shared->kept[t] = kept;
    shared->skipped[t] = skipped;
}

/* What a block's distance counts: n m / (n + m) to M2 and m / (n + m) to the mean, with n pixels
 * before it. Every block of threads writes the same for all. */
YPK_FUNCTION void rxc_merge_weight(const struct rxc_merge *job,
                                   const struct rxc_merge_shared *shared, unsigned t)
{
    unsigned each = (job->blocks + RXC_MERGE_THREADS - 1) / RXC_MERGE_THREADS;
    uint64_t before = job->counts[0];
    YPK_UNROLL(16)
    for (unsigned i = 0; i < t; i++)
        before += shared->kept[i];
    for (unsigned b = t * each; b < (t + 1) * each && b < job->blocks; b++) {
        double n = (double)before, m = (double)job->kept[b];
        double share = m > 0 ? m / (n + m) : 0;
        job->share[b] = share;
        job->weight[b] = n * share;
        before += job->kept[b];
    }
}

/* A segment's sum of means and its ends, for a channel; with weights the sum of all its sums. */
YPK_FUNCTION void rxc_merge_segment(const struct rxc_merge *job, struct rxc_merge_shared *shared,
                                    unsigned c, unsigned t)
{
    unsigned segment = t / RXC_MERGE_COLUMNS, end = rxc_segment(job, segment + 1);
    double sum = 0;
    uint64_t kept = 0;
    float low = YPK_INFINITY, high = -YPK_INFINITY;
    YPK_UNROLL(8)
    for (unsigned b = rxc_segment(job, segment); b < end; b++) {
        size_t at = (size_t)b * job->channels + c;
        if (job->weighted) {
            sum += job->mean[at];
            continue;
        }
        sum += (double)job->kept[b] * job->mean[at];
        kept += job->kept[b];
        low = fminf(low, job->low[at]);
        high = fmaxf(high, job->high[at]);
    }
    shared->sum[t] = sum;
    shared->kept[t] = kept;
    shared->low[t] = low;
    shared->high[t] = high;
}

/* The mean of all that comes before a segment. */
YPK_FUNCTION double rxc_mean_before(const struct rxc_merge *job,
                                    const struct rxc_merge_shared *shared, unsigned c, unsigned t)
{
    uint64_t kept = job->counts[0], before = kept;
    double sum = (double)kept * job->all_mean[c];
    for (unsigned i = t % RXC_MERGE_COLUMNS; i < t; i += RXC_MERGE_COLUMNS) {
        sum += shared->sum[i];
        kept += shared->kept[i];
    }
    return kept > before ? sum / (double)kept : job->all_mean[c];
}

/* How far each block's mean lies from that of those before; returns the mean after the segment. A
 * block without pixels has a share of 0. */
YPK_FUNCTION double rxc_merge_difference(const struct rxc_merge *job, double mean, unsigned c,
                                         unsigned segment)
{
    unsigned end = rxc_segment(job, segment + 1);
    for (unsigned first = rxc_segment(job, segment); first < end; first += RXC_AHEAD) {
        double means[RXC_AHEAD], shares[RXC_AHEAD];
        YPK_UNROLL(16)
        for (unsigned i = 0; i < RXC_AHEAD; i++) {
            bool there = first + i < end;
            size_t b = there ? first + i : 0;
            means[i] = job->mean[b * job->channels + c];
            shares[i] = there ? job->share[b] : 0;
        }
        YPK_UNROLL(16)
        for (unsigned i = 0; i < RXC_AHEAD; i++) {
            double difference = shares[i] > 0 ? means[i] - mean : 0;
            mean += difference * shares[i];
            if (first + i < end)
                job->difference[(size_t)(first + i) * job->channels + c] = difference;
        }
    }
    return mean;
}

/* A channel's ends, and its mean or, with weights, its sum: by the thread of the last segment,
 * when nobody reads those before any more. */
YPK_FUNCTION void rxc_merge_channel(const struct rxc_merge *job,
                                    const struct rxc_merge_shared *shared, double mean, unsigned c,
                                    unsigned lane)
{
    double sum = job->fresh ? 0 : job->all_mean[c];
    float low = job->weighted ? 0 : job->all_low[c], high = job->weighted ? 0 : job->all_high[c];
    for (unsigned i = lane; i < RXC_MERGE_THREADS; i += RXC_MERGE_COLUMNS) {
        sum += shared->sum[i];
        low = fminf(low, shared->low[i]);
        high = fmaxf(high, shared->high[i]);
    }
    job->all_mean[c] = job->weighted ? sum : mean;
    if (job->weighted)
        return;
    job->all_low[c] = low;
    job->all_high[c] = high;
}

/* The work of one block of MERGE_THREADS: COLUMNS channels. `means` is a place a thread
 * (YPK_PRIVATE). The counts stay as they were: other blocks read them. */
YPK_FUNCTION void rxc_merge_channels(const struct rxc_merge *job, unsigned block,
                                     struct rxc_merge_shared *shared, double *means)
{
    unsigned first = block * RXC_MERGE_COLUMNS;
    if (!job->weighted) {
        YPK_EACH (t, RXC_MERGE_THREADS)
            rxc_merge_count(job, shared, t);
        ypk_block_barrier();
        YPK_EACH (t, RXC_MERGE_THREADS)
            rxc_merge_weight(job, shared, t);
        ypk_block_barrier();
    }
    YPK_EACH (t, RXC_MERGE_THREADS)
        if (first + t % RXC_MERGE_COLUMNS < job->channels)
            rxc_merge_segment(job, shared, first + t % RXC_MERGE_COLUMNS, t);
    ypk_block_barrier();
    YPK_EACH (t, RXC_MERGE_THREADS) {
        unsigned c = first + t % RXC_MERGE_COLUMNS;
        if (c < job->channels && !job->weighted)
            means[YPK_OWN(t)] = rxc_merge_difference(job, rxc_mean_before(job, shared, c, t), c,
                                                     t / RXC_MERGE_COLUMNS);
    }
    ypk_block_barrier();
    YPK_EACH (t, RXC_MERGE_THREADS) {
        unsigned c = first + t % RXC_MERGE_COLUMNS;
        if (c < job->channels && t / RXC_MERGE_COLUMNS == RXC_SEGMENTS - 1)
            rxc_merge_channel(job, shared, job->weighted ? 0 : means[YPK_OWN(t)], c,
                              t % RXC_MERGE_COLUMNS);
    }
}

/* One block, once the weights are there: pixels that count, and others. */
YPK_FUNCTION void rxc_merge_counts(const struct rxc_merge *job, struct rxc_merge_shared *shared)
{
    YPK_EACH (t, RXC_MERGE_THREADS)
        rxc_merge_count(job, shared, t);
    for (unsigned width = RXC_MERGE_THREADS / 2; width > 0; width /= 2) {
        ypk_block_barrier();
        YPK_EACH (t, width) {
            shared->kept[t] += shared->kept[t + width];
            shared->skipped[t] += shared->skipped[t + width];
        }
    }
    YPK_EACH (t, 1U) {
        job->counts[0] += shared->kept[t];
        job->counts[1] += shared->skipped[t];
    }
}

YPK_FUNCTION unsigned rxc_channel_of(unsigned group, unsigned member, unsigned half)
{
    return 4 * group + member + (member < 4 ? 0 : half - 4);
}

/* Where number `entry` of the products of a block, (SQUARE, pairs), goes; NULL: it is another's
 * mirror image or beyond the channels. */
YPK_FUNCTION double *rxc_entry_of(const struct rxc_merge *job, unsigned entry, unsigned *i,
                                  unsigned *j)
{
    unsigned channels = job->channels, pairs = rxc_pairs(channels), left, right;
    unsigned square = entry / pairs, half = 4 * rxc_groups(channels);
    if (square >= RXC_SQUARE)
        return NULL;
    rxc_place(entry % pairs, rxc_groups(channels), &left, &right);
    *i = rxc_channel_of(left, square / RXC_GROUP, half);
    *j = rxc_channel_of(right, square % RXC_GROUP, half);
    if (*i >= channels || *j >= channels || (left == right && *i > *j))
        return NULL;
    return job->m2 + (size_t)(*i < *j ? *i : *j) * channels + (*i < *j ? *j : *i);
}

/* Of the blocks of a segment. */
YPK_FUNCTION double rxc_entry_sum(const struct rxc_merge *job, unsigned entry, unsigned i,
                                  unsigned j, unsigned segment)
{
    size_t block = (size_t)RXC_SQUARE * rxc_pairs(job->channels);
    const float *products = job->products + entry;
    unsigned end = rxc_segment(job, segment + 1);
    double sum = 0;
    YPK_UNROLL(8)
    for (unsigned b = rxc_segment(job, segment); b < end; b++) {
        sum += (double)products[b * block];
        if (!job->weighted) {
            size_t at = (size_t)b * job->channels;
            sum -= (double)job->kept[b] * job->shift[at + i] * job->shift[at + j];
            sum += job->weight[b] * job->difference[at + i] * job->difference[at + j];
        }
    }
    return sum;
}

/* The work of one block of MERGE_THREADS: COLUMNS entries. */
YPK_FUNCTION void rxc_merge_entries(const struct rxc_merge *job, unsigned block,
                                    struct rxc_merge_shared *shared)
{
    unsigned first = block * RXC_MERGE_COLUMNS;
    YPK_EACH (t, RXC_MERGE_THREADS) {
        unsigned i, j, entry = first + t % RXC_MERGE_COLUMNS;
        if (rxc_entry_of(job, entry, &i, &j) != NULL)
            shared->sum[t] = rxc_entry_sum(job, entry, i, j, t / RXC_MERGE_COLUMNS);
    }
    ypk_block_barrier();
    YPK_EACH (t, RXC_MERGE_COLUMNS) {
        unsigned i, j;
        double *to = rxc_entry_of(job, first + t, &i, &j);
        double sum = to == NULL || (job->weighted && job->fresh) ? 0 : *to;
        for (unsigned from = t; from < RXC_MERGE_THREADS; from += RXC_MERGE_COLUMNS)
            sum += shared->sum[from];
        if (to != NULL)
            *to = sum;
    }
}

/* -- loss ----------------------------------------------------------------------------------- */

#define RXC_LOSS_THREADS 256U

/* One block: adds the blocks' sums to those of all. `shared` has RXC_LOSS_THREADS doubles. */
YPK_FUNCTION void rxc_add_loss(const struct rxc_loss *job, double *shared)
{
    for (unsigned which = 0; which < 4; which++) {
        YPK_EACH (t, RXC_LOSS_THREADS) {
            double sum = 0;
            for (unsigned b = t; b < job->blocks; b += RXC_LOSS_THREADS)
                sum += which < 3 ? job->sums[3 * (size_t)b + which] : (double)job->kept[b];
            shared[t] = sum;
        }
        for (unsigned width = RXC_LOSS_THREADS / 2; width > 0; width /= 2) {
            ypk_block_barrier();
            YPK_EACH (t, width)
                shared[t] += shared[t + width];
        }
        YPK_EACH (t, 1U)
            job->all[which] = shared[t] + (job->fresh ? 0 : job->all[which]);
        ypk_block_barrier();
    }
}

/* Number `at` of the parameters: write_gradient() of loss.c. */
YPK_FUNCTION void rxc_write_gradient(const struct rxc_loss *job, size_t at)
{
    size_t channels = job->channels, end = channels + channels * channels;
    const float *a = job->parameters + channels;
    double n = job->all[3], value;
    if (at < channels) {
        double sum = 0;
        YPK_UNROLL(8)
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
