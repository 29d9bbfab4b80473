/* Sums of products over a range of pixels, by one block of threads in one pass over memory: what
 * struct rxc_gram says.
 *
 * Chunks of pixels come into shared memory while those before them are multiplied. There a thread
 * takes one channel, centres it and notes its sum and ends; then each thread multiplies 8 channels
 * by 8 in registers. Sums of float go over FLUSH pixels, those over the whole range: no sum of
 * float is longer than that, and blocks are summed in double.
 *
 * The centre is the mean of some pixels of the range, as in chunk.c: M2 = sum z z^T - m d d^T loses
 * nothing while d is small beside the range of values. Where it is not, or where the sample saw
 * nothing finite, the block goes once more around its mean. */
#pragma once

#include "models/rx/cuda/rx_cuda.h"

#define RXC_CHUNK 32U  /* pixels in shared memory at once, twice */
#define RXC_FLUSH 16U  /* chunks that registers sum */
#define RXC_SAMPLE 64U /* pixels the first centre is from, at most */

/* What is known of a channel; in shared memory, for registers are few. */
struct rxc_channel {
    double sum; /* of what was taken around the centre */
    float low, high;
    float centre, fine; /* what is subtracted, as the sum of two floats */
};

/* A thread for each pair of groups, and for each channel. */
YPK_BOTH unsigned rxc_product_threads(unsigned channels)
{
    unsigned pairs = rxc_pairs(channels), items = pairs > channels ? pairs : channels;
    return items <= 128 ? 128 : (items + 31) / 32 * 32;
}

/* Floats of one pixel in shared memory, for blocks of up to `threads`. Few different ones: kernels
 * have them as constants. The first half of each is for the groups' first four channels. */
YPK_BOTH unsigned rxc_row_of(unsigned threads)
{
    return threads <= 128 ? 120 : threads <= 384 ? 216 : 248;
}

YPK_BOTH unsigned rxc_row(unsigned channels)
{
    return rxc_row_of(rxc_product_threads(channels));
}

YPK_BOTH size_t rxc_product_shared(unsigned channels)
{
    return (2U * RXC_CHUNK * rxc_row(channels) + RXC_SQUARE * rxc_pairs(channels) +
            2U * RXC_CHUNK) *
               sizeof(float) +
           channels * sizeof(struct rxc_channel) + (RXC_CHUNK + 4U) * sizeof(unsigned);
}

struct rxc_range {
    const float *x; /* of the range's first pixel */
    size_t stride;
    const float *weights; /* likewise */
    bool weighted;
    unsigned pixels, channels, groups, pairs, threads, row;
    unsigned turn;               /* of the threads' numbers: bits that are changed in them */
    unsigned words;              /* that are copied at once */
    float *stage;                /* (2, CHUNK, row) */
    float *second;               /* (SQUARE, pairs): sums beyond those in registers */
    struct rxc_channel *channel; /* (channels) */
    float *weight;               /* (2, CHUNK) */
    unsigned *bad;               /* (CHUNK): pixels with a value that is not finite */
    /* [0], [1]: of even and odd chunks, there may be one; [2]: once more; [3]: how many so far */
    unsigned *any;
};

struct rxc_multiplier {
    float square[RXC_SQUARE];
    unsigned left, right;                               /* first channels of its groups */
    float chunk_sum, chunk_rest, chunk_low, chunk_high; /* of its channel */
};

YPK_FUNCTION unsigned rxc_least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Which groups a thread multiplies. Two rows go side by side, so that neighbouring threads read the
 * same right group, and those two apart the same left one: several threads' reads of shared memory
 * are then one. What has no neighbour, the first of every other row, comes last. */
YPK_FUNCTION void rxc_place(unsigned pair, unsigned groups, unsigned *left, unsigned *right)
{
    unsigned row = 0;
    for (; row + 1 < groups; row += 2) {
        unsigned both = 2 * (groups - 1 - row);
        if (pair < both) {
            *left = row + pair % 2;
            *right = row + 1 + pair / 2;
            return;
        }
        pair -= both;
    }
    *left = *right = 2 * pair;
}

YPK_FUNCTION void rxc_begin(const struct rxc_range *r, struct rxc_multiplier *own, unsigned t)
{
    unsigned left = 0, right = 0;
    for (unsigned i = t; i < 2 * RXC_CHUNK * r->row; i += r->threads)
        r->stage[i] = 0;
    /* A short chunk brings no weights for the zeros at its end. */
    if (t < 2 * RXC_CHUNK)
        r->weight[t] = 0;
    if (t < 3)
        r->any[t] = 0;
    if (t < r->pairs)
        rxc_place(t, r->groups, &left, &right);
    own->left = 4 * left;
    own->right = 4 * right;
    if (t < r->channels)
        r->channel[t].centre = r->channel[t].fine = 0;
}

YPK_FUNCTION void rxc_put_centre(struct rxc_channel *channel, double mean)
{
    channel->centre = (float)mean;
    channel->fine = (float)(mean - (double)channel->centre);
}

/* The centre that a thread's channel has from a sample. */
YPK_FUNCTION void rxc_guess(const struct rxc_range *r, unsigned t)
{
    unsigned step = (r->pixels + RXC_SAMPLE - 1) / RXC_SAMPLE, taken = 0;
    double sum = 0;
    if (t >= r->channels)
        return;
    YPK_UNROLL(8)
    for (unsigned i = 0; i < RXC_SAMPLE; i++) {
        unsigned p = i * step;
        float x = p < r->pixels ? r->x[p * r->stride + t] : YPK_NAN;
        if (ypk_finite(x)) {
            sum += (double)x;
            taken++;
        }
    }
    rxc_put_centre(&r->channel[t], taken > 0 ? sum / (double)taken : 0);
}

YPK_FUNCTION void rxc_restart(const struct rxc_range *r, struct rxc_multiplier *own, unsigned t)
{
    YPK_UNROLL(64)
    for (unsigned i = 0; i < RXC_SQUARE; i++)
        own->square[i] = 0;
    if (t == 0)
        r->any[3] = 0;
    if (t >= r->channels)
        return;
    r->channel[t].sum = 0;
    r->channel[t].low = YPK_INFINITY;
    r->channel[t].high = -YPK_INFINITY;
}

YPK_FUNCTION unsigned rxc_chunk_pixels(const struct rxc_range *r, unsigned chunk)
{
    return rxc_least(RXC_CHUNK, r->pixels - chunk * RXC_CHUNK);
}

YPK_FUNCTION float *rxc_stage(const struct rxc_range *r, unsigned chunk)
{
    return r->stage + chunk % 2 * RXC_CHUNK * r->row;
}

/* Where a channel stands in a pixel. */
YPK_FUNCTION unsigned rxc_spot(const struct rxc_range *r, unsigned channel)
{
    unsigned low = 4 * r->groups;
    return channel < low ? channel : channel - low + r->row / 2;
}

/* Sends for a chunk's values, so many at once; a warp takes a pixel. */
YPK_FUNCTION void rxc_send_values(const struct rxc_range *r, unsigned chunk, unsigned words,
                                  unsigned t)
{
    unsigned n = rxc_chunk_pixels(r, chunk), warps = r->threads / 32, warp = t / 32;
    for (unsigned c = t % 32 * words; c < r->channels; c += 32 * words) {
        float *to = rxc_stage(r, chunk) + warp * r->row + rxc_spot(r, c);
        const float *from = r->x + (chunk * RXC_CHUNK + warp) * r->stride + c;
        for (unsigned p = warp; p < n; p += warps) {
            ypk_copy(to, from, words);
            to += warps * r->row;
            from += warps * r->stride;
        }
    }
}

YPK_FUNCTION void rxc_send(const struct rxc_range *r, unsigned chunk, unsigned t)
{
    if (r->words == 4)
        rxc_send_values(r, chunk, 4, t);
    else
        rxc_send_values(r, chunk, 1, t);
    if (r->weighted && t < rxc_chunk_pixels(r, chunk))
        ypk_copy(r->weight + chunk % 2 * RXC_CHUNK + t, r->weights + chunk * RXC_CHUNK + t, 1);
    ypk_commit(t);
}

/* Kahan, Communications of the ACM 8 (1965), 40: `rest` is what the sum has too much. The sum of
 * weighed pixels is multiplied by a matrix that may be large. */
YPK_FUNCTION void rxc_add_exactly(float *sum, float *rest, float term)
{
    float less = term - *rest, more = *sum + less;
    *rest = (more - *sum) - less;
    *sum = more;
}

/* Centres a thread's channel of a chunk in its place. Unless `whole`, pixels that `bad` names
 * (NULL: none) become zeros and do not count, nor do those that a short chunk lacks. */
YPK_FUNCTION void rxc_centre_channel(const struct rxc_range *r, struct rxc_multiplier *own,
                                     unsigned chunk, bool whole, const unsigned *bad, unsigned t)
{
    unsigned n = rxc_chunk_pixels(r, chunk);
    float *at = rxc_stage(r, chunk) + rxc_spot(r, t);
    const float *weight = r->weight + chunk % 2 * RXC_CHUNK;
    float centre = r->channel[t].centre, fine = r->channel[t].fine;
    float sum = 0, rest = 0, low = YPK_INFINITY, high = -YPK_INFINITY;
    YPK_UNROLL(8)
    for (unsigned p = 0; p < RXC_CHUNK; p++) {
        bool counts = whole || (p < n && (bad == NULL || bad[p] == 0));
        float x = at[p * r->row], z = (x - centre) - fine;
        if (counts) {
            if (r->weighted)
                rxc_add_exactly(&sum, &rest, weight[p] * z);
            else
                sum += z;
            low = fminf(low, x);
            high = fmaxf(high, x);
        }
        at[p * r->row] = counts ? z : 0;
    }
    own->chunk_sum = sum;
    own->chunk_rest = rest;
    own->chunk_low = low;
    own->chunk_high = high;
    if (bad == NULL && !ypk_finite(sum))
        ypk_set_flag(&r->any[chunk % 2]);
}

YPK_FUNCTION void rxc_centre(const struct rxc_range *r, struct rxc_multiplier *own, unsigned chunk,
                             const unsigned *bad, unsigned t)
{
    if (t == 0)
        r->any[(chunk + 1) % 2] = 0;
    if (t >= r->channels)
        return;
    if (bad == NULL && rxc_chunk_pixels(r, chunk) == RXC_CHUNK)
        rxc_centre_channel(r, own, chunk, true, NULL, t);
    else
        rxc_centre_channel(r, own, chunk, false, bad, t);
}

/* What a chunk's values came to, once it is sure that they count. */
YPK_FUNCTION void rxc_note(const struct rxc_range *r, const struct rxc_multiplier *own,
                           unsigned chunk, bool some_bad, unsigned t)
{
    for (unsigned p = 0; t == 0 && some_bad && p < rxc_chunk_pixels(r, chunk); p++)
        r->any[3] += r->bad[p];
    if (t >= r->channels)
        return;
    struct rxc_channel *channel = &r->channel[t];
    channel->sum += (double)own->chunk_sum - (double)own->chunk_rest;
    channel->low = fminf(channel->low, own->chunk_low);
    channel->high = fmaxf(channel->high, own->chunk_high);
}

/* The chunk as it came, once more: to be searched. */
YPK_FUNCTION void rxc_reload(const struct rxc_range *r, unsigned chunk, unsigned t)
{
    unsigned n = rxc_chunk_pixels(r, chunk);
    float *to = rxc_stage(r, chunk);
    const float *from = r->x + chunk * RXC_CHUNK * r->stride;
    for (unsigned p = t / 32; p < n; p += r->threads / 32)
        for (unsigned c = t % 32; c < r->channels; c += 32)
            to[p * r->row + rxc_spot(r, c)] = from[p * r->stride + c];
    if (t < RXC_CHUNK)
        r->bad[t] = 0;
}

YPK_FUNCTION void rxc_search(const struct rxc_range *r, unsigned chunk, unsigned t)
{
    unsigned n = rxc_chunk_pixels(r, chunk);
    const float *at = rxc_stage(r, chunk);
    for (unsigned p = t / 32; p < n; p += r->threads / 32)
        for (unsigned c = t % 32; c < r->channels; c += 32)
            if (!ypk_finite(at[p * r->row + rxc_spot(r, c)]))
                ypk_set_flag(&r->bad[p]);
}

/* The products of a chunk, to the registers. */
YPK_FUNCTION void rxc_multiply(const struct rxc_range *r, struct rxc_multiplier *own,
                               unsigned chunk)
{
    const float *a = rxc_stage(r, chunk) + own->left, *b = rxc_stage(r, chunk) + own->right;
    const float *weight = r->weight + chunk % 2 * RXC_CHUNK;
    unsigned half = r->row / 2;
    YPK_UNROLL(8)
    for (unsigned p = 0; p < RXC_CHUNK; p++) {
        float left[RXC_GROUP], right[RXC_GROUP];
        ypk_load_four(a + p * r->row, left);
        ypk_load_four(a + p * r->row + half, left + 4);
        ypk_load_four(b + p * r->row, right);
        ypk_load_four(b + p * r->row + half, right + 4);
        if (r->weighted) {
            YPK_UNROLL(8)
            for (unsigned i = 0; i < RXC_GROUP; i++)
                left[i] *= weight[p];
        }
        YPK_UNROLL(8)
        for (unsigned i = 0; i < RXC_GROUP; i++)
            YPK_UNROLL(8)
        for (unsigned j = 0; j < RXC_GROUP; j++)
            own->square[i * RXC_GROUP + j] =
                fmaf(left[i], right[j], own->square[i * RXC_GROUP + j]);
    }
}

/* The registers' sums to those in shared memory; `first`: there are none yet. */
YPK_FUNCTION void rxc_flush(const struct rxc_range *r, struct rxc_multiplier *own, bool first,
                            unsigned t)
{
    YPK_UNROLL(64)
    for (unsigned i = 0; i < RXC_SQUARE; i++) {
        float *to = r->second + i * r->pairs + t;
        *to = first ? own->square[i] : *to + own->square[i];
        own->square[i] = 0;
    }
}

/* How far a channel's mean lies from its centre; 0 without pixels. */
YPK_FUNCTION double rxc_shift(const struct rxc_range *r, unsigned c)
{
    unsigned kept = r->pixels - r->any[3];
    return kept > 0 ? r->channel[c].sum / (double)kept : 0;
}

YPK_FUNCTION double rxc_block_mean(const struct rxc_range *r, unsigned c)
{
    return (double)r->channel[c].centre + (double)r->channel[c].fine + rxc_shift(r, c);
}

/* Whether a channel's mean lies near its centre: well_guessed() of chunk.c. */
YPK_FUNCTION void rxc_judge_centre(const struct rxc_range *r, unsigned t)
{
    if (t >= r->channels || r->pixels == r->any[3])
        return;
    if (!(8 * fabs(rxc_shift(r, t)) <= (double)r->channel[t].high - (double)r->channel[t].low))
        ypk_set_flag(&r->any[2]);
}

YPK_FUNCTION void rxc_move_centre(const struct rxc_range *r, unsigned t)
{
    if (t < 2)
        r->any[t] = 0;
    if (t < r->channels)
        rxc_put_centre(&r->channel[t], rxc_block_mean(r, t));
}

YPK_FUNCTION void rxc_write_range(const struct rxc_range *r, const struct rxc_gram *job,
                                  unsigned block, unsigned t)
{
    size_t place = (size_t)block * r->channels + t;
    float *products = job->products + (size_t)block * RXC_SQUARE * r->pairs;
    for (unsigned i = 0; t < r->pairs && i < RXC_SQUARE; i++)
        products[i * r->pairs + t] = r->second[i * r->pairs + t];
    if (t == 0) {
        job->kept[block] = r->pixels - r->any[3];
        job->skipped[block] = r->any[3];
    }
    if (t >= r->channels)
        return;
    if (r->weighted) {
        job->mean[place] = r->channel[t].sum;
        return;
    }
    job->shift[place] = rxc_shift(r, t);
    job->mean[place] = rxc_block_mean(r, t);
    job->low[place] = r->channel[t].low;
    job->high[place] = r->channel[t].high;
}

/* One chunk, from its arrival on. */
YPK_FUNCTION void rxc_chunk(const struct rxc_range *r, struct rxc_multiplier *own, unsigned chunk,
                            unsigned chunks)
{
    YPK_EACH_XOR (t, r->threads, r->turn)
        ypk_wait(t, 0);
    ypk_block_barrier();
    YPK_EACH_XOR (t, r->threads, r->turn) {
        if (chunk + 1 < chunks)
            rxc_send(r, chunk + 1, t);
        rxc_centre(r, &own[YPK_OWN(t)], chunk, NULL, t);
    }
    ypk_block_barrier();
    bool some_bad = r->any[chunk % 2] != 0;
    if (some_bad) {
        YPK_EACH_XOR (t, r->threads, r->turn)
            rxc_reload(r, chunk, t);
        ypk_block_barrier();
        YPK_EACH_XOR (t, r->threads, r->turn)
            rxc_search(r, chunk, t);
        ypk_block_barrier();
        YPK_EACH_XOR (t, r->threads, r->turn)
            rxc_centre(r, &own[YPK_OWN(t)], chunk, r->bad, t);
        ypk_block_barrier();
    }
    bool flush = chunk % RXC_FLUSH == RXC_FLUSH - 1 || chunk + 1 == chunks;
    YPK_EACH_XOR (t, r->threads, r->turn) {
        rxc_note(r, &own[YPK_OWN(t)], chunk, some_bad, t);
        if (t < r->pairs) {
            rxc_multiply(r, &own[YPK_OWN(t)], chunk);
            if (flush)
                rxc_flush(r, &own[YPK_OWN(t)], chunk < RXC_FLUSH, t);
        }
    }
}

/* Goes once through the range around the threads' centres. */
YPK_FUNCTION void rxc_go_through(const struct rxc_range *r, struct rxc_multiplier *own)
{
    unsigned chunks = (r->pixels + RXC_CHUNK - 1) / RXC_CHUNK;
    YPK_EACH_XOR (t, r->threads, r->turn) {
        rxc_restart(r, &own[YPK_OWN(t)], t);
        rxc_send(r, 0, t);
    }
    for (unsigned chunk = 0; chunk < chunks; chunk++)
        rxc_chunk(r, own, chunk, chunks);
    ypk_block_barrier();
}

YPK_FUNCTION void rxc_lay_out_range(struct rxc_range *r, const struct rxc_gram *job, unsigned block,
                                    unsigned layer, unsigned threads, unsigned row, bool weighted,
                                    float *shared)
{
    size_t first = (size_t)block * job->range;
    r->x = job->x + first * job->stride;
    r->stride = job->stride;
    r->weighted = weighted;
    r->weights = weighted ? job->weights + first : NULL;
    r->pixels = job->pixels - first < job->range ? (unsigned)(job->pixels - first) : job->range;
    r->channels = job->channels;
    r->row = row;
    r->groups = rxc_groups(job->channels);
    r->pairs = rxc_pairs(job->channels);
    r->threads = threads;
    r->turn = threads == 128 ? layer % 4 * 32 : 0;
    r->words =
        (uintptr_t)job->x % 16 == 0 && job->stride % 4 == 0 && job->channels % 4 == 0 ? 4 : 1;
    r->stage = shared;
    /* What a row alone tells first: constants of the kernel. */
    r->weight = r->stage + 2 * RXC_CHUNK * r->row;
    r->bad = (unsigned *)(void *)(r->weight + 2 * RXC_CHUNK);
    r->any = r->bad + RXC_CHUNK;
    r->second = (float *)(void *)(r->any + 4);
    r->channel = (struct rxc_channel *)(void *)(r->second + RXC_SQUARE * r->pairs);
}

/* The work of one block; `row` is rxc_row() of the channels, and `shared` has rxc_product_shared()
 * bytes. `layer`: about how many blocks of the same multiprocessor came before this one. A warp's
 * place in its block says which quarter of the multiprocessor runs it, and of four warps the last
 * one may have nothing to multiply: each layer leaves another quarter alone. */
YPK_FUNCTION void rxc_products(const struct rxc_gram *job, unsigned block, unsigned layer,
                               unsigned threads, unsigned row, bool weighted, float *shared,
                               struct rxc_multiplier *own)
{
    struct rxc_range r;
    rxc_lay_out_range(&r, job, block, layer, threads, row, weighted, shared);
    YPK_EACH_XOR (t, threads, r.turn) {
        rxc_begin(&r, &own[YPK_OWN(t)], t);
        if (!weighted)
            rxc_guess(&r, t);
        else if (t < r.channels)
            r.channel[t].centre = job->centre[t];
    }
    ypk_block_barrier();
    for (bool again = false;; again = true) {
        rxc_go_through(&r, own);
        if (weighted || again)
            break;
        YPK_EACH_XOR (t, threads, r.turn)
            rxc_judge_centre(&r, t);
        ypk_block_barrier();
        if (r.any[2] == 0)
            break;
        YPK_EACH_XOR (t, threads, r.turn)
            rxc_move_centre(&r, t);
        ypk_block_barrier();
    }
    YPK_EACH_XOR (t, threads, r.turn)
        rxc_write_range(&r, job, block, t);
}
