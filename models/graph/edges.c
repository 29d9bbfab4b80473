/* Graphs made of plays: features of nodes, and edges. */
#include "models/graph/build.h"

#include "base/random/portable.h"
#include "base/simd/simd.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define LEAST 1e-5F /* yards: nearer than that two players are one */

/* -- formulas ---------------------------------------------------------------------------------- */

/* Choices are masks of bits: compilers make vector code of these for every instruction set, where
 * they make branches of comparisons. The bits of numbers that are not negative have their order. */
YPI_INLINE int32_t sign_mask(int32_t bits)
{
    return bits >> 31;
}

YPI_INLINE float chosen(int32_t mask, float value)
{
    return ypi_float_of(mask & ypi_bits_of(value));
}

/* Polynomials are minimax in relative error: 3.2e-9, 5.6e-11 and 1.5e-8 before rounding. */
YPI_INLINE void sine_cosine(float degrees, float *sine, float *cosine)
{
    const int32_t quarter = (int32_t)(degrees * (1.0F / 90) + 0.5F);
    const float r = degrees - 90.0F * (float)quarter, s = r * r;
    const float sin_r = (((-9.620923505e-17F * s + 1.349388352e-11F) * s - 8.860952815e-07F) * s +
                         1.745329246e-02F) *
                        r;
    const float cos_r = (((2.098563970e-19F * s - 3.925164981e-14F) * s + 3.866318893e-09F) * s -
                         1.523087086e-04F) *
                            s +
                        1.0F;
    const float first = (quarter & 1) != 0 ? cos_r : sin_r;
    const float second = (quarter & 1) != 0 ? sin_r : cos_r;
    *sine = (quarter & 2) != 0 ? -first : first;
    *cosine = ((quarter + 1) & 2) != 0 ? -second : second;
}

/* atan2(y, x) where they are not both 0. */
YPI_INLINE float angle_of(float y, float x)
{
    const float across = fabsf(x), up = fabsf(y);
    const int32_t less = ypi_bits_of(across) - ypi_bits_of(up), steep = sign_mask(less);
    const float big = ypi_float_of(ypi_bits_of(across) - (less & steep));
    const float small = ypi_float_of(ypi_bits_of(up) + (less & steep));
    const float a = small / big, s = a * a;
    float r = 2.849889758e-03F;
    r = r * s - 1.606862951e-02F;
    r = r * s + 4.269152017e-02F;
    r = r * s - 7.504294616e-02F;
    r = r * s + 1.064093406e-01F;
    r = r * s - 1.420364448e-01F;
    r = r * s + 1.999261939e-01F;
    r = r * s - 3.333307335e-01F;
    r = r * s + 9.999999848e-01F;
    r = r * a;
    r = ypi_float_of(ypi_bits_of(r) ^ (steep & INT32_MIN)) + chosen(steep, 1.57079632679F);
    const int32_t back = sign_mask(ypi_bits_of(x));
    r = ypi_float_of(ypi_bits_of(r) ^ (back & INT32_MIN)) + chosen(back, 3.14159265359F);
    return copysignf(r, y);
}

YPI_INLINE int32_t is_near(float dx, float dy, float radius)
{
    const float d = YPI_SQRT(dx * dx + dy * dy);
    return (d > LEAST) & (d < radius);
}

YPI_INLINE float share_of(float dx, float dy, float radius)
{
    return YPI_SQRT(dx * dx + dy * dy) / radius;
}

YPI_INLINE float turn_of(float from, float to)
{
    const float turn = from - to;
    const int32_t bits = ypi_bits_of(turn), size = bits & INT32_MAX, half = ypi_bits_of(180);
    const float more = chosen(~sign_mask(bits) & sign_mask(half - 1 - size), 360);
    const float less = chosen(sign_mask(bits) & sign_mask(half - size), 360);
    return (turn - more + less) / 180;
}

/* -- nodes ------------------------------------------------------------------------------------- */

YPI_INLINE void write_nodes(const struct graph_players *p, float *node)
{
    for (size_t b = 0; b < p->count; b += GRAPH_LANES) {
        float sine[2][GRAPH_LANES], cosine[2][GRAPH_LANES];
#pragma omp simd
        for (size_t k = 0; k < GRAPH_LANES; k++)
            sine_cosine(p->direction[b + k], &sine[0][k], &cosine[0][k]);
#pragma omp simd
        for (size_t k = 0; k < GRAPH_LANES; k++)
            sine_cosine(p->orientation[b + k], &sine[1][k], &cosine[1][k]);
        for (size_t k = 0; k < GRAPH_LANES && b + k < p->count; k++, node += GRAPH_FEATURES) {
            node[0] = p->x[b + k];
            node[1] = p->y[b + k];
            node[2] = p->speed[b + k];
            node[3] = p->acceleration[b + k];
            node[4] = sine[0][k];
            node[5] = cosine[0][k];
            node[6] = sine[1][k];
            node[7] = cosine[1][k];
            node[8] = (p->weight[b + k] - 200) / 50;
        }
    }
}

/* -- edges ------------------------------------------------------------------------------------- */

/* Where edges go, and how many there are. */
struct edges {
    int32_t node_base, edge_base;
    int32_t *first, *source;
    float *edge;
    size_t count;
};

/* The definition. */
static void search_plain(const struct graph_players *p, float radius, struct edges *e)
{
    for (size_t i = 0; i < p->count; i++) {
        e->first[i] = e->edge_base + (int32_t)e->count;
        for (size_t j = 0; j < p->count; j++) {
            const float dx = p->x[j] - p->x[i], dy = p->y[j] - p->y[i];
            float *edge = e->edge + e->count * GRAPH_EDGE_FEATURES;
            if (is_near(dx, dy, radius) == 0)
                continue;
            edge[0] = share_of(dx, dy, radius);
            edge[1] = angle_of(dy, dx);
            edge[2] = p->speed[j] - p->speed[i];
            edge[3] = turn_of(p->direction[j], p->direction[i]);
            edge[4] = p->side[j] == p->side[i] ? 1 : 0;
            e->source[e->count++] = e->node_base + (int32_t)j;
        }
    }
}

/* Pairs whose edges are to be written, in order: from a player to a player. */
struct pairs {
    size_t count;
    int32_t from[GRAPH_PLAYERS_PADDED], to[GRAPH_PLAYERS_PADDED];
};

YPI_INLINE void add_pair(struct pairs *pairs, size_t from, size_t to)
{
    pairs->from[pairs->count] = (int32_t)from;
    pairs->to[pairs->count++] = (int32_t)to;
}

/* The features of GRAPH_LANES pairs, and the first `count` of them as edges. */
YPI_INLINE void write_edges(const struct graph_players *p, float radius, const int32_t *from,
                            const int32_t *to, size_t count, struct edges *e)
{
    float feature[GRAPH_EDGE_FEATURES][GRAPH_LANES];
    float *edge = e->edge + e->count * GRAPH_EDGE_FEATURES;
#pragma omp simd
    for (size_t k = 0; k < GRAPH_LANES; k++) {
        const int32_t j = from[k], i = to[k];
        const float dx = p->x[j] - p->x[i], dy = p->y[j] - p->y[i];
        feature[0][k] = share_of(dx, dy, radius);
        feature[1][k] = angle_of(dy, dx);
        feature[2][k] = p->speed[j] - p->speed[i];
        feature[3][k] = turn_of(p->direction[j], p->direction[i]);
        feature[4][k] = (float)(p->side[j] == p->side[i]);
    }
    for (size_t k = 0; k < count; k++, edge += GRAPH_EDGE_FEATURES)
        for (size_t f = 0; f < GRAPH_EDGE_FEATURES; f++)
            edge[f] = feature[f][k];
    for (size_t k = 0; k < count; k++)
        e->source[e->count + k] = e->node_base + from[k];
    e->count += count;
}

/* Whole vectors of the pairs; the rest stays. */
YPI_INLINE void write_whole(const struct graph_players *p, float radius, struct pairs *pairs,
                            struct edges *e)
{
    size_t done = 0;
    for (; pairs->count - done >= GRAPH_LANES; done += GRAPH_LANES)
        write_edges(p, radius, pairs->from + done, pairs->to + done, GRAPH_LANES, e);
    pairs->count -= done;
    for (size_t k = 0; k < pairs->count && done > 0; k++) {
        pairs->from[k] = pairs->from[done + k];
        pairs->to[k] = pairs->to[done + k];
    }
}

YPI_INLINE void write_rest(const struct graph_players *p, float radius, struct pairs *pairs,
                           struct edges *e)
{
    const size_t count = pairs->count;
    while (pairs->count < GRAPH_LANES)
        add_pair(pairs, 0, 0);
    if (count > 0)
        write_edges(p, radius, pairs->from, pairs->to, count, e);
}

/* Bit k: player k of GRAPH_LANES is near (x, y). */
YPI_INLINE uint32_t near_bits(const float *player_x, const float *player_y, float x, float y,
                              float radius)
{
    uint32_t bits = 0;
#pragma omp simd reduction(| : bits)
    for (size_t k = 0; k < GRAPH_LANES; k++)
        bits |= (uint32_t)is_near(player_x[k] - x, player_y[k] - y, radius) << k;
    return bits;
}

YPI_INLINE void search_pairs(const struct graph_players *p, float radius, struct edges *e)
{
    struct pairs pairs;
    pairs.count = 0;
    for (size_t i = 0; i < p->count; i++) {
        e->first[i] = e->edge_base + (int32_t)(e->count + pairs.count);
        for (size_t b = 0; b < p->count; b += GRAPH_LANES)
            for (uint32_t bits = near_bits(p->x + b, p->y + b, p->x[i], p->y[i], radius); bits != 0;
                 bits &= bits - 1)
                add_pair(&pairs, b + (size_t)__builtin_ctz(bits), i);
        write_whole(p, radius, &pairs, e);
    }
    write_rest(p, radius, &pairs, e);
}

/* -- the grid ---------------------------------------------------------------------------------- */

/* The grid is made for so many players, and used where it has so many cells. With fewer of either
 * all pairs take less time: of 22 players three quarters or less, of 256 within a tenth of the
 * field half. */
enum { GRID_PLAYERS = 192, GRID_CELLS = 200 };
enum { CELLS = 32, WORDS = GRAPH_PLAYERS_MOST / 64 };

struct grid {
    float left, bottom, size;
    size_t columns, rows;
    uint64_t member[CELLS + 2][CELLS + 2][WORDS]; /* players of a cell; a border of empty ones */
};

static void extent(const float *values, size_t count, float *least, float *most)
{
    *least = *most = values[0];
    for (size_t i = 1; i < count; i++) {
        *least = values[i] < *least ? values[i] : *least;
        *most = values[i] > *most ? values[i] : *most;
    }
}

YPI_INLINE size_t cell_of(float value, float least, float size)
{
    return 1 + (size_t)((value - least) / size);
}

static void make_grid(struct grid *g, const struct graph_players *p, float radius)
{
    float right, top;
    extent(p->x, p->count, &g->left, &right);
    extent(p->y, p->count, &g->bottom, &top);
    const float wide = right - g->left > top - g->bottom ? right - g->left : top - g->bottom;
    /* A little more than the radius, for rounding: neighbours are never two cells apart. */
    g->size = radius * 1.001F > wide / (CELLS - 1) ? radius * 1.001F : wide / (CELLS - 1);
    g->columns = cell_of(right, g->left, g->size);
    g->rows = cell_of(top, g->bottom, g->size);
    for (size_t r = 0; r < g->rows + 2; r++)
        memset(g->member[r], 0, (g->columns + 2) * sizeof g->member[r][0]);
    for (size_t i = 0; i < p->count; i++)
        g->member[cell_of(p->y[i], g->bottom, g->size)][cell_of(p->x[i], g->left, g->size)]
                 [i / 64] |= UINT64_C(1) << i % 64;
}

/* Word w of the players in the cell of (x, y) and in the eight around it. */
YPI_INLINE uint64_t around(const struct grid *g, float x, float y, size_t w)
{
    const size_t row = cell_of(y, g->bottom, g->size), column = cell_of(x, g->left, g->size);
    uint64_t members = 0;
    for (size_t r = row - 1; r <= row + 1; r++)
        for (size_t c = column - 1; c <= column + 1; c++)
            members |= g->member[r][c][w];
    return members;
}

YPI_INLINE void search_grid(const struct graph_players *p, float radius, const struct grid *grid,
                            struct edges *e)
{
    struct pairs pairs;
    pairs.count = 0;
    for (size_t i = 0; i < p->count; i++) {
        e->first[i] = e->edge_base + (int32_t)(e->count + pairs.count);
        for (size_t w = 0; 64 * w < p->count; w++)
            for (uint64_t left = around(grid, p->x[i], p->y[i], w); left != 0; left &= left - 1) {
                const size_t j = 64 * w + (size_t)__builtin_ctzll(left);
                if (is_near(p->x[j] - p->x[i], p->y[j] - p->y[i], radius) != 0)
                    add_pair(&pairs, j, i);
            }
        write_whole(p, radius, &pairs, e);
    }
    write_rest(p, radius, &pairs, e);
}

/* -- by instruction set ------------------------------------------------------------------------ */

YPI_SIMD_VERSIONS(void, nodes, (const struct graph_players *p, float *node), write_nodes(p, node))
YPI_SIMD_VERSIONS(void, all, (const struct graph_players *p, float radius, struct edges *e),
                  search_pairs(p, radius, e))
YPI_SIMD_VERSIONS(void, cells,
                  (const struct graph_players *p, float radius, const struct grid *grid,
                   struct edges *e),
                  search_grid(p, radius, grid, e))

struct kernels {
    void (*nodes)(const struct graph_players *p, float *node);
    void (*pairs)(const struct graph_players *p, float radius, struct edges *e);
    void (*cells)(const struct graph_players *p, float radius, const struct grid *grid,
                  struct edges *e);
};

static const struct kernels of_baseline = {nodes_baseline, all_baseline, cells_baseline};
#if defined(__x86_64__)
static const struct kernels of_avx2 = {nodes_avx2, all_avx2, cells_avx2};
static const struct kernels of_avx512 = {nodes_avx512, all_avx512, cells_avx512};
#endif
static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(of)};

static const struct kernels *kernels(void)
{
    return ypi_simd_best(versions, sizeof versions / sizeof *versions);
}

/* -- calls ------------------------------------------------------------------------------------- */

/* One at least, who is near nobody. */
static void pad(struct graph_players *p)
{
    for (size_t i = p->count; i < p->count / GRAPH_LANES * GRAPH_LANES + GRAPH_LANES; i++) {
        p->x[i] = p->y[i] = NAN;
        p->speed[i] = p->direction[i] = p->orientation[i] = 0;
        p->side[i] = 0;
    }
}

void graph_write_nodes(struct graph_players *players, const struct graph_rows *rows)
{
    pad(players);
    kernels()->nodes(players, rows->node);
    memcpy(rows->role, players->role, players->count * sizeof *rows->role);
    memcpy(rows->side, players->side, players->count * sizeof *rows->side);
}

size_t graph_edges(enum graph_search search, struct graph_players *players, float radius,
                   int32_t node_base, int32_t edge_base, int32_t *first, int32_t *source,
                   float *edge)
{
    struct edges e = {node_base, edge_base, first, source, edge, 0};
    struct grid grid;
    grid.columns = grid.rows = 0;
    pad(players);
    if (players->count > 0 &&
        (search == GRAPH_GRID || (search == GRAPH_FASTEST && players->count >= GRID_PLAYERS)))
        make_grid(&grid, players, radius);
    if (search == GRAPH_PLAIN)
        search_plain(players, radius, &e);
    else if (search == GRAPH_GRID || grid.columns * grid.rows >= GRID_CELLS)
        kernels()->cells(players, radius, &grid, &e);
    else
        kernels()->pairs(players, radius, &e);
    first[players->count] = edge_base + (int32_t)e.count;
    return e.count;
}
