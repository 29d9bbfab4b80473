/*
 * Philox and Box-Muller on vectors of V_BLOCKS blocks, one block in each 64-bit lane: the 32 by 32
 * bit multiplication reads the lower halves only, so nothing has to be shuffled between rounds. The
 * including file defines the vector type V, its floats F, masks M, the operations v_*(), and BULK,
 * the attributes and storage class of each function.
 *
 * With a = M0 c0 and b = M1 c2, a round is c0 = high(b) ^ c1 ^ k0, c1 = low(b), c2 = high(a) ^ c3 ^
 * k1, c3 = low(a), so a and b are the state. Since only one word of the counter differs between the
 * blocks of a run, one product of round 1 and the other one of round 2 are the same for all. Where
 * that word is c2 (cuRAND's order), a and b are exchanged.
 */

enum { ROUNDS = 10 };

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Constants of a run. `a` is the product that differs between blocks from the first round on: of
 * c0, or of c2 when `second`. */
struct constants {
    uint32_t a_factor, b_factor;
    uint32_t first;     /* the counter word that rises, of the first block */
    uint32_t a[ROUNDS]; /* what the upper half of a is xored with in each round */
    uint32_t b[ROUNDS]; /* of b; b[0] is not used */
};

BULK void prepare(const struct ypi_block_run *run, bool second, struct constants *k)
{
    uint32_t key_a = (uint32_t)(run->seed >> 32), key_b = (uint32_t)run->seed;
    uint32_t step_a = YPI_PHILOX_W1, step_b = YPI_PHILOX_W0;
    const uint32_t *c = run->counter;
    uint32_t own = c[3], other = c[2], other_low = c[1];
    k->a_factor = YPI_PHILOX_M0;
    k->b_factor = YPI_PHILOX_M1;
    k->first = c[0];
    if (second) {
        uint32_t key = key_a, step = step_a;
        key_a = key_b;
        key_b = key;
        step_a = step_b;
        step_b = step;
        own = c[1];
        other = c[0];
        other_low = c[3];
        k->a_factor = YPI_PHILOX_M1;
        k->b_factor = YPI_PHILOX_M0;
        k->first = c[2];
    }
    for (uint32_t r = 0; r < ROUNDS; r++) {
        k->a[r] = key_a + r * step_a;
        k->b[r] = key_b + r * step_b;
    }
    uint64_t b = (uint64_t)k->b_factor * other; /* round 1 */
    uint32_t next = (uint32_t)(b >> 32) ^ other_low ^ k->b[0];
    uint64_t a = (uint64_t)k->a_factor * next; /* round 2 */
    k->a[0] ^= own;
    k->b[1] ^= (uint32_t)b;
    k->a[1] ^= (uint32_t)(a >> 32);
    k->a[2] ^= (uint32_t)a;
}

/* The products of the last round, and of the one before. */
struct last {
    V a, b, a_before, b_before;
};

/* Each step for several vectors: one alone would wait for its own results. */
#define EACH(step) \
    do { \
        UNROLL \
        for (int i = 0; i < many; i++) \
            step; \
    } while (0)

/* Rounds 1 to 3 of the next blocks; `products` holds those of round 1 of the first ones. Afterwards
 * a_before and b_before are the products of round 3, b is of round 2. */
BULK void first_rounds(const struct constants *k, V *products, int many, struct last *l)
{
    V a_factor = v_set(k->a_factor), b_factor = v_set(k->b_factor);
    V step = v_mul(v_set(V_BLOCKS), a_factor);
    UNROLL
    for (int i = 0; i < many; i++) {
        l[i].a = *products;
        *products = v_add(*products, step);
    }
    EACH(l[i].b = v_mul(v_xor(v_high(l[i].a), v_set(k->a[0])), b_factor));
    EACH(l[i].b_before = v_mul(v_xor(l[i].a, v_set(k->a[1])), b_factor));
    EACH(l[i].a_before = v_mul(v_xor(v_high(l[i].b), v_set(k->b[1])), a_factor));
}

BULK void fourth_round(const struct constants *k, int many, struct last *l)
{
    V a_factor = v_set(k->a_factor), b_factor = v_set(k->b_factor);
    EACH(l[i].a = v_mul(v_xor3(v_high(l[i].b_before), l[i].b, v_set(k->b[2])), a_factor));
    EACH(l[i].b = v_mul(v_xor(v_high(l[i].a_before), v_set(k->a[2])), b_factor));
}

BULK void one_round(const struct constants *k, int round, int many, struct last *l)
{
    V a_factor = v_set(k->a_factor), b_factor = v_set(k->b_factor);
    V ka = v_set(k->a[round - 2]), kb = v_set(k->b[round - 2]);
    UNROLL
    for (int i = 0; i < many; i++) {
        V a = l[i].a, b = l[i].b;
        l[i].b = v_mul(v_xor3(v_high(a), l[i].a_before, ka), b_factor);
        l[i].a = v_mul(v_xor3(v_high(b), l[i].b_before, kb), a_factor);
        l[i].a_before = a;
        l[i].b_before = b;
    }
}

/* Lane i of 64 bits holds the block that makes the lower and upper halves of pairs of results
 * consecutive: 0, 4, 1, 5, 2, 6, 3, 7 of eight, 0, 2, 1, 3 of four. */
BULK V first_products(const struct constants *k)
{
    return v_mul(v_add(v_set(k->first), v_order()), v_set(k->a_factor));
}

BULK void store_words(const struct constants *k, const struct last *last, bool second,
                      bool nontemporal, uint32_t *out)
{
    V from_b = v_word_pair(last->b, last->b_before, v_set(k->b[ROUNDS - 1]));
    V from_a = v_word_pair(last->a, last->a_before, v_set(k->a[ROUNDS - 1]));
    V c01 = second ? from_a : from_b, c23 = second ? from_b : from_a;
    v_store(out, v_lower_pairs(c01, c23), nontemporal);
    v_store(out + 2 * V_BLOCKS, v_upper_pairs(c01, c23), nontemporal);
}

BULK void some_words(const struct constants *k, V *products, int many, bool second,
                     bool nontemporal, uint32_t *out)
{
    struct last l[MANY];
    first_rounds(k, products, many, l);
    fourth_round(k, many, l);
    UNROLL
    for (int round = 5; round <= ROUNDS; round++)
        one_round(k, round, many, l);
    EACH(store_words(k, &l[i], second, nontemporal, out + 4 * V_BLOCKS * i));
}

BULK void bulk_words(bool second, bool nontemporal, const struct ypi_block_run *run, size_t groups,
                     void *to)
{
    struct constants k;
    prepare(run, second, &k);
    V products = first_products(&k);
    uint32_t *out = to;
    size_t vectors = groups * (YPI_GROUP_BLOCKS / V_BLOCKS);
    for (; vectors >= MANY; vectors -= MANY, out += MANY * 4 * V_BLOCKS)
        some_words(&k, &products, MANY, second, nontemporal, out);
    for (; vectors > 0; vectors--, out += 4 * V_BLOCKS)
        some_words(&k, &products, 1, second, nontemporal, out);
    if (nontemporal)
        v_fence();
}

/* The words of V_BLOCKS blocks: first and third, second and fourth. */
struct pairs {
    V x, y;
};

BULK struct pairs last_pairs(const struct constants *k, const struct last *l)
{
    V key = v_join(v_set(k->b[ROUNDS - 1]), v_set(k->a[ROUNDS - 1]));
    struct pairs pairs = {v_xor3(v_join_high(l->b, l->a), v_join(l->b_before, l->a_before), key),
                          v_join(l->b, l->a)};
    return pairs;
}

/* The variables of ypi_normal_radius() and ypi_normal_pair(), by their names there. */
struct box {
    F h[BOX], e[BOX], q[BOX], r[BOX], angle[BOX], z[BOX], s[BOX], c[BOX];
};

BULK void word_floats(const struct pairs *pairs, int many, struct box *n)
{
    EACH(n->h[i] = f_from_int(pairs[i].x));
    EACH(n->h[i] = f_fma(n->h[i], f_set(0x1p-31f), f_set(0x1p-32f)));
}

BULK void log_begin(int many, struct box *n)
{
    M lower[BOX];
    EACH(lower[i] = f_is_positive(n->h[i]));
    EACH(n->e[i] = f_mul(f_exponent_where(lower[i], n->h[i]), f_set(YPI_LOG_E)));
    EACH(n->h[i] = f_mantissa_minus_two_where(lower[i], n->h[i]));
    EACH(n->q[i] = f_fma(f_set(YPI_LOG_8), n->h[i], f_set(YPI_LOG_7)));
}

BULK void log_steps(int many, float one, float other, struct box *n)
{
    EACH(n->q[i] = f_fma(n->q[i], n->h[i], f_set(one)));
    EACH(n->q[i] = f_fma(n->q[i], n->h[i], f_set(other)));
}

BULK void log_end(const struct pairs *pairs, int many, struct box *n)
{
    EACH(n->q[i] = f_fma(n->q[i], n->h[i], f_set(1.0f)));
    EACH(n->r[i] = f_sqrt(f_minus_fma(n->h[i], n->q[i], n->e[i])));
    EACH(n->angle[i] = f_from_int(v_times_4(pairs[i].y)));
    EACH(n->angle[i] = f_fma(n->angle[i], f_set(0x1p-31f), f_set(0x1p-30f)));
    EACH(n->z[i] = f_mul(n->angle[i], n->angle[i]));
}

BULK void sine_begin(int many, struct box *n)
{
    EACH(n->s[i] = f_fma(f_set(YPI_SIN_3), n->z[i], f_set(YPI_SIN_2)));
    EACH(n->c[i] = f_fma(f_set(YPI_COS_3), n->z[i], f_set(YPI_COS_2)));
    EACH(n->s[i] = f_fma(n->s[i], n->z[i], f_set(YPI_SIN_1)));
    EACH(n->c[i] = f_fma(n->c[i], n->z[i], f_set(YPI_COS_1)));
}

BULK void sine_end(int many, struct box *n)
{
    EACH(n->s[i] = f_fma(n->s[i], n->z[i], f_set(YPI_SIN_0)));
    EACH(n->c[i] = f_fma(n->c[i], n->z[i], f_set(1.0f)));
    EACH(n->s[i] = f_mul(n->s[i], n->angle[i]));
}

BULK void store_pairs(V y, F r, F s, F c, bool nontemporal, float *out)
{
    V turned = v_add32(y, v_set(0x20000000));
    M swap = v_has_bit_30(turned);
    r = f_xor_sign(r, turned);
    F first = f_mul(r, f_choose(swap, c, s));
    F second = f_mul(r, f_choose_minus(swap, s, c));
    v_store(out, v_lower_singles(first, second), nontemporal);
    v_store(out + 2 * V_BLOCKS, v_upper_singles(first, second), nontemporal);
}

/* Stores the normals of `pairs` when they are `ready`, and replaces them by the next words when
 * there is `more`. The rounds of the next words and the polynomials of the current ones are
 * interleaved, since each alone would wait for its own results. */
BULK void some_normals(const struct constants *k, V *products, int many, bool ready, bool more,
                       bool nontemporal, struct pairs *pairs, float *out)
{
    struct last l[BOX];
    struct box n;
    if (ready)
        word_floats(pairs, many, &n);
    if (more)
        first_rounds(k, products, many, l);
    if (ready)
        log_begin(many, &n);
    if (more) {
        fourth_round(k, many, l);
        one_round(k, 5, many, l);
    }
    if (ready)
        log_steps(many, YPI_LOG_6, YPI_LOG_5, &n);
    if (more)
        one_round(k, 6, many, l);
    if (ready)
        log_steps(many, YPI_LOG_4, YPI_LOG_3, &n);
    if (more)
        one_round(k, 7, many, l);
    if (ready)
        log_steps(many, YPI_LOG_2, YPI_LOG_1, &n);
    if (more)
        one_round(k, 8, many, l);
    if (ready)
        log_end(pairs, many, &n);
    if (more)
        one_round(k, 9, many, l);
    if (ready)
        sine_begin(many, &n);
    if (more)
        one_round(k, 10, many, l);
    if (ready) {
        sine_end(many, &n);
        EACH(store_pairs(pairs[i].y, n.r[i], n.s[i], n.c[i], nontemporal, out + 4 * V_BLOCKS * i));
    }
    if (more)
        EACH(pairs[i] = last_pairs(k, &l[i]));
}

BULK void bulk_normals(bool nontemporal, const struct ypi_block_run *run, size_t groups, void *to)
{
    struct constants k;
    prepare(run, false, &k);
    V products = first_products(&k);
    float *out = to;
    size_t vectors = groups * (YPI_GROUP_BLOCKS / V_BLOCKS);
    struct pairs pairs[BOX];
    if (vectors >= BOX) {
        some_normals(&k, &products, BOX, false, true, nontemporal, pairs, out);
        for (; vectors >= 2 * BOX; vectors -= BOX, out += BOX * 4 * V_BLOCKS)
            some_normals(&k, &products, BOX, true, true, nontemporal, pairs, out);
        some_normals(&k, &products, BOX, true, false, nontemporal, pairs, out);
        vectors -= BOX;
        out += BOX * 4 * V_BLOCKS;
    }
    for (; vectors > 0; vectors--, out += 4 * V_BLOCKS) {
        some_normals(&k, &products, 1, false, true, nontemporal, pairs, out);
        some_normals(&k, &products, 1, true, false, nontemporal, pairs, out);
    }
    if (nontemporal)
        v_fence();
}

#define BULK_FUNCTION(name, call) \
    BULK_TARGET static void name(const struct ypi_block_run *run, size_t groups, void *out) \
    { \
        call; \
    }
BULK_FUNCTION(words, bulk_words(false, false, run, groups, out))
BULK_FUNCTION(normals, bulk_normals(false, run, groups, out))
BULK_FUNCTION(curand, bulk_words(true, false, run, groups, out))
BULK_FUNCTION(words_nontemporal, bulk_words(false, true, run, groups, out))
BULK_FUNCTION(normals_nontemporal, bulk_normals(true, run, groups, out))
BULK_FUNCTION(curand_nontemporal, bulk_words(true, true, run, groups, out))

const struct ypi_bulks BULKS = {
    words, normals, curand, words_nontemporal, normals_nontemporal, curand_nontemporal};
