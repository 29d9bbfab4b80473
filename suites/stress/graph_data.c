/* Data of the graph trajectory model: plays, graphs made of them, batches. */
#include "models/graph/data.h"

#include "base/numbers/splitmix.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

/* -- plays ------------------------------------------------------------------------------------- */

/* Plays of players who walk at random, a tenth of them absent now and then. */
struct walks {
    struct graph_play play[8];
    size_t count;
};

static float *numbers(struct yp_case *t, struct ypi_seed *seed, size_t count, double low,
                      double high)
{
    float *out = yp_alloc_host(t, (count + 1) * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(low + (high - low) * ypi_seed_uniform(seed));
    return out;
}

static float *walk(struct yp_case *t, struct ypi_seed *seed, size_t frames, size_t players,
                   double high)
{
    float *out = numbers(t, seed, frames * players, 0, high);
    for (size_t i = players; i < frames * players; i++)
        out[i] = out[i - players] + (float)(ypi_seed_uniform(seed) - 0.5);
    return out;
}

static int32_t *categories(struct yp_case *t, struct ypi_seed *seed, size_t count, double below)
{
    int32_t *out = yp_alloc_host(t, (count + 1) * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (int32_t)(below * ypi_seed_uniform(seed));
    return out;
}

static struct graph_play walk_play(struct yp_case *t, size_t number, size_t frames, size_t players,
                                   double absent)
{
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 39, number);
    const size_t all = frames * players;
    uint8_t *present = yp_alloc_host(t, all + 1);
    for (size_t i = 0; i < all; i++)
        present[i] = ypi_seed_uniform(&seed) >= absent;
    return (struct graph_play){.game = 2023090700,
                               .play = (int64_t)number,
                               .frames = frames,
                               .players = players,
                               .present = present,
                               .x = walk(t, &seed, frames, players, 120),
                               .y = walk(t, &seed, frames, players, 53.3),
                               .speed = numbers(t, &seed, all, 0, 10),
                               .acceleration = numbers(t, &seed, all, -5, 5),
                               .direction = numbers(t, &seed, all, -30, 400),
                               .orientation = numbers(t, &seed, all, 0, 360),
                               .weight = numbers(t, &seed, players, 170, 330),
                               .role = categories(t, &seed, players, GRAPH_ROLES),
                               .side = categories(t, &seed, players, GRAPH_SIDES),
                               .formation = (int32_t)(number % GRAPH_FORMATIONS),
                               .alignment = (int32_t)(number % GRAPH_ALIGNMENTS),
                               .down = 1 + (float)(number % 4),
                               .to_go = 10,
                               .box = 6 + (float)(number % 3),
                               .coverage = (float)(number % 3) - 1};
}

/* Plays with absent players, without any, with one player, with none, and one that is too short. */
static struct walks walks(struct yp_case *t)
{
    return (struct walks){{walk_play(t, 0, 30, 22, 0.1), walk_play(t, 1, 27, 22, 0),
                           walk_play(t, 2, 15, 22, 0), walk_play(t, 3, 20, 1, 0.2),
                           walk_play(t, 4, 18, 0, 0), walk_play(t, 5, 40, 11, 0.01),
                           walk_play(t, 6, 17, 40, 0.5), walk_play(t, 7, 19, 3, 0.99)},
                          8};
}

static struct graph_data *open_walks(struct yp_case *t, const struct walks *walks)
{
    struct graph_data *data =
        graph_data_of_plays(yp_device_cpu(), walks->play, walks->count, &GRAPH_RULES);
    yp_require(t, data != NULL, "%s", yp_last_error());
    return data;
}

/* A batch of `count` graphs, in memory of the case. */
static const struct graph_batch *batch_of(struct yp_case *t, const struct graph_data *data,
                                          const uint32_t *graphs, size_t count,
                                          const struct graph_augmentation *augmentation)
{
    const size_t bytes = graph_data_batch_bytes(data, count);
    struct graph_batch *batch = yp_alloc_host(t, bytes);
    yp_ok(t, graph_data_read(data, graphs, count, augmentation, batch, bytes));
    yp_ok(t, graph_check_batch(batch));
    return batch;
}

/* -- edges ------------------------------------------------------------------------------------- */

struct found {
    size_t count;
    int32_t first[GRAPH_PLAYERS_MOST + 1];
    int32_t *source;
    float *edge;
};

static struct found search(struct yp_case *t, enum graph_search how, struct graph_players *players,
                           float radius)
{
    const size_t most = players->count * players->count + 1;
    struct found f = {.source = yp_alloc_host(t, most * sizeof *f.source),
                      .edge = yp_alloc_host(t, most * GRAPH_EDGE_FEATURES * sizeof *f.edge)};
    f.count = graph_edges(how, players, radius, 1000, 70, f.first, f.source, f.edge);
    return f;
}

static bool same(const struct found *a, const struct found *b, size_t nodes)
{
    return a->count == b->count &&
           memcmp(a->first, b->first, (nodes + 1) * sizeof *a->first) == 0 &&
           memcmp(a->source, b->source, a->count * sizeof *a->source) == 0 &&
           memcmp(a->edge, b->edge, a->count * GRAPH_EDGE_FEATURES * sizeof *a->edge) == 0;
}

/* On a lattice of quarters of a yard, so that some are in one place and many exactly a radius
 * apart; or anywhere, in a spot or spread over more than any grid. */
static void place(struct ypi_seed *seed, struct graph_players *p, size_t count, bool lattice,
                  double spread)
{
    p->count = count;
    for (size_t i = 0; i < count; i++) {
        p->x[i] = (float)(spread * (ypi_seed_uniform(seed) - 0.3));
        p->y[i] = (float)(spread * (ypi_seed_uniform(seed) - 0.6) / 2);
        p->x[i] = lattice ? floorf(4 * p->x[i]) / 4 : p->x[i];
        p->y[i] = lattice ? floorf(4 * p->y[i]) / 4 : p->y[i];
        p->speed[i] = (float)(10 * ypi_seed_uniform(seed));
        p->direction[i] = floorf((float)(360 * ypi_seed_uniform(seed)));
        p->orientation[i] = 0;
        p->side[i] = (int32_t)(3 * ypi_seed_uniform(seed));
    }
}

/* The edge from j to i in double, with the C library's functions: how far the features are off. */
static double off(const struct graph_players *p, float radius, size_t i, size_t j,
                  const float *edge)
{
    const double dx = (double)p->x[j] - p->x[i], dy = (double)p->y[j] - p->y[i];
    const double turn = remainder((double)p->direction[j] - p->direction[i], 360);
    const double right[GRAPH_EDGE_FEATURES] = {
        hypot(dx, dy) / radius, atan2(dy, dx), (double)p->speed[j] - p->speed[i],
        turn == 180 ? -1 : turn / 180, p->side[i] == p->side[j]};
    double most = 0;
    for (size_t f = 0; f < GRAPH_EDGE_FEATURES; f++)
        most = fmax(most, fabs(edge[f] - right[f]) / fmax(1, fabs(right[f])));
    return most;
}

/* In double the distance may lie on the other side of a bound that is nearer than rounding; on the
 * lattice there is none. */
static void check_edges(struct yp_case *t, const struct graph_players *p, float radius,
                        bool lattice, const struct found *f)
{
    double worst = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t at = (size_t)f->first[i] - 70;
        const size_t end = (size_t)f->first[i + 1] - 70;
        for (size_t j = 0; j < p->count; j++) {
            const double d = hypot((double)p->x[j] - p->x[i], (double)p->y[j] - p->y[i]);
            const bool has = at < end && f->source[at] == 1000 + (int32_t)j;
            const bool doubtful =
                !lattice && (fabs(d / radius - 1) < 1e-6 || fabs(d - 1e-5) < 1e-6);
            yp_expect(t, doubtful || has == (d > 1e-5 && d < radius),
                      "%zu and %zu are %.9g apart, the radius is %g", j, i, d, (double)radius);
            if (has)
                worst = fmax(worst, off(p, radius, i, j, f->edge + at++ * GRAPH_EDGE_FEATURES));
        }
        yp_expect(t, at == end, "node %zu has %zu edges that are none", i, end - at);
    }
    yp_expect(t, worst < 1e-6, "a feature is off by %g", worst);
}

/* Every search finds the same edges, in the same order and with the same bits, and they are those
 * of the definition in double. */
YP_TEST(graph_data, edges, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_int("nodes", 0, 1, 2, 15, 16, 17, 22, 64, 65, 200, 256),
                        yp_axis_double("radius", 0.25, 3, 20, 25.5, 500)))
{
    const float radius = (float)yp_double(t, "radius");
    static const double spreads[] = {1e-5, 1, 120, 1e5};
    struct graph_players players;
    size_t edges = 0;
    for (size_t k = 0; k < 8; k++) {
        struct ypi_seed seed = ypi_seed_of(yp_seed(t), 1, k);
        place(&seed, &players, (size_t)yp_int(t, "nodes"), k % 2 == 0, spreads[k / 2]);
        const struct found plain = search(t, GRAPH_PLAIN, &players, radius);
        const struct found pairs = search(t, GRAPH_PAIRS, &players, radius);
        const struct found grid = search(t, GRAPH_GRID, &players, radius);
        const struct found fastest = search(t, GRAPH_FASTEST, &players, radius);
        yp_expect(t, same(&plain, &pairs, players.count), "pairs: %zu edges, %zu are right",
                  pairs.count, plain.count);
        yp_expect(t, same(&plain, &grid, players.count), "the grid: %zu edges, %zu are right",
                  grid.count, plain.count);
        yp_expect(t, same(&plain, &fastest, players.count), "fastest: %zu edges, %zu are right",
                  fastest.count, plain.count);
        check_edges(t, &players, radius, k % 2 == 0, &plain);
        edges += plain.count;
    }
    yp_value(t, "edges", (double)edges);
}

/* -- batches ----------------------------------------------------------------------------------- */

static double present(const struct graph_play *p, size_t frame, size_t player)
{
    return p->present[frame * p->players + player];
}

/* A velocity, 0 where one of its positions is absent. */
static double velocity(const struct graph_play *p, const float *values, size_t frame, size_t player)
{
    const size_t at = frame * p->players + player;
    return present(p, frame, player) * present(p, frame + 1, player) > 0
               ? (double)values[at + p->players] - values[at]
               : 0;
}

static double motion_of(const struct graph_play *p, size_t t, size_t player, size_t k, size_t which)
{
    const float *values = which % 2 == 0 ? p->x : p->y;
    const size_t frame = t - 5 + k;
    if (which < 2)
        return velocity(p, values, frame, player);
    if (k == 0 ||
        present(p, frame - 1, player) * present(p, frame, player) * present(p, frame + 1, player) ==
            0)
        return 0;
    return velocity(p, values, frame, player) - velocity(p, values, frame - 1, player);
}

/* Node i of the batch, a player of the play in frame t, by the formulas in double. */
static double node_off(const struct graph_play *p, size_t t, size_t player,
                       const struct graph_batch *b, size_t i)
{
    const size_t at = t * p->players + player;
    const double degree = acos(-1) / 180;
    const double node[GRAPH_FEATURES] = {p->x[at],
                                         p->y[at],
                                         p->speed[at],
                                         p->acceleration[at],
                                         sin(p->direction[at] * degree),
                                         cos(p->direction[at] * degree),
                                         sin(p->orientation[at] * degree),
                                         cos(p->orientation[at] * degree),
                                         (p->weight[player] - 200.0) / 50};
    double worst = 0, stays = 1;
    for (size_t f = 0; f < GRAPH_FEATURES; f++)
        worst = fmax(worst, fabs(b->node[i * GRAPH_FEATURES + f] - node[f]));
    for (size_t k = 0; k < b->history; k++)
        for (size_t w = 0; w < GRAPH_MOTION; w++)
            worst = fmax(worst, fabs(b->motion[(i * b->history + k) * GRAPH_MOTION + w] -
                                     motion_of(p, t, player, k, w)));
    for (size_t k = 1; k <= b->future; k++)
        stays *= present(p, t + k, player);
    for (size_t k = 0; k < b->future; k++) {
        const size_t next = at + (k + 1) * p->players;
        const float *target = b->target + (i * b->future + k) * 2;
        worst = fmax(worst, fabs(target[0] - stays * ((double)p->x[next] - p->x[at])));
        worst = fmax(worst, fabs(target[1] - stays * ((double)p->y[next] - p->y[at])));
    }
    return fmax(worst, fabs(b->counts[i] - stays) + (b->role[i] != p->role[player]) +
                           (b->side[i] != p->side[player]));
}

static void check_context(struct yp_case *t, const struct graph_play *p, size_t frame,
                          const struct graph_batch *b, size_t g)
{
    yp_expect(t,
              b->frame[g] == (int32_t)floor(99.0 * (double)frame / (double)p->frames) &&
                  b->formation[g] == p->formation && b->alignment[g] == p->alignment,
              "graph %zu: categories %d, %d, %d", g, b->frame[g], b->formation[g], b->alignment[g]);
    yp_expect(t,
              b->context[3 * g] == p->down && b->context[3 * g + 1] == p->to_go &&
                  b->context[3 * g + 2] == (p->box - 7) / 2 && b->coverage[g] == p->coverage,
              "graph %zu: another context", g);
}

/* All graphs of all plays in one batch, by the formulas; groups and frames as listed. */
YP_TEST(graph_data, nodes, .tags = "stress small", .parallel = true)
{
    const struct walks plays = walks(t);
    struct graph_data *data = open_walks(t, &plays);
    const size_t count = graph_data_count(data);
    uint32_t *graphs = yp_alloc_host(t, count * sizeof *graphs);
    for (size_t i = 0; i < count; i++)
        graphs[i] = (uint32_t)i;
    const struct graph_batch *b = batch_of(t, data, graphs, count, NULL);
    size_t g = 0, node = 0;
    double worst = 0;
    for (size_t i = 0; i < plays.count; i++) {
        const struct graph_play *p = &plays.play[i];
        for (size_t frame = 5; frame + 10 < p->frames; frame++, g++) {
            yp_require(t, graph_data_groups(data)[g] == i && graph_data_frame(data, g) == frame,
                       "graph %zu is of play %u, frame %zu", g, graph_data_groups(data)[g],
                       graph_data_frame(data, g));
            check_context(t, p, frame, b, g);
            for (size_t k = 0; k < p->players; k++)
                if (present(p, frame, k) > 0)
                    worst = fmax(worst, node_off(p, frame, k, b, node++));
            yp_require(t, (size_t)b->first[g + 1] == node, "graph %zu ends at node %d of %zu", g,
                       b->first[g + 1], node);
        }
    }
    yp_expect(t, g == count && node == b->nodes, "%zu graphs of %zu", count, g);
    yp_expect(t, worst < 3e-6, "a value is off by %g", worst);
    graph_data_destroy(data);
}

static bool same_rows(const void *a, const void *b, size_t a_row, size_t b_row, size_t rows,
                      size_t bytes)
{
    return memcmp((const char *)a + a_row * bytes, (const char *)b + b_row * bytes, rows * bytes) ==
           0;
}

/* Graph 0 of `one` is graph g of `many`. */
static bool same_graph(const struct graph_batch *one, const struct graph_batch *many, size_t g)
{
    const size_t node = (size_t)many->first[g], edge = (size_t)many->incoming[node];
    const size_t nodes = (size_t)many->first[g + 1] - node;
    const size_t edges = (size_t)many->incoming[node + nodes] - edge;
    bool is =
        one->nodes == nodes && one->edges == edges && one->id[0] == many->id[g] &&
        one->frame[0] == many->frame[g] && one->coverage[0] == many->coverage[g] &&
        same_rows(one->node, many->node, 0, node, nodes, GRAPH_FEATURES * sizeof(float)) &&
        same_rows(one->motion, many->motion, 0, node, nodes,
                  one->history * GRAPH_MOTION * sizeof(float)) &&
        same_rows(one->target, many->target, 0, node, nodes, one->future * 2 * sizeof(float)) &&
        same_rows(one->counts, many->counts, 0, node, nodes, sizeof(float)) &&
        same_rows(one->role, many->role, 0, node, nodes, sizeof(int32_t)) &&
        same_rows(one->edge, many->edge, 0, edge, edges, GRAPH_EDGE_FEATURES * sizeof(float));
    for (size_t i = 0; is && i <= nodes; i++)
        is = one->incoming[i] + (int32_t)edge == many->incoming[node + i] &&
             one->outgoing[i] + (int32_t)edge == many->outgoing[node + i];
    for (size_t k = 0; is && k < edges; k++)
        is = one->source[k] + (int32_t)node == many->source[edge + k] &&
             one->end[k] + (int32_t)node == many->end[edge + k];
    return is;
}

#define SHUFFLED 40

static void draw(struct yp_case *t, const struct graph_data *data, uint32_t graphs[SHUFFLED])
{
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 2, 0);
    for (size_t i = 0; i < SHUFFLED; i++)
        graphs[i] = (uint32_t)(ypi_seed_next(&seed) % graph_data_count(data));
}

/* A graph has the same bits alone and in any batch, read by any thread, changed or not. */
YP_TEST(graph_data, batches, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_int("changed", 0, 1)))
{
    const struct walks plays = walks(t);
    struct graph_data *data = open_walks(t, &plays);
    const struct graph_augmentation changes = {
        .seed = yp_seed(t), .epoch = 3, .flip = 0.5F, .noise = 0.1F};
    const struct graph_augmentation *used = yp_int(t, "changed") != 0 ? &changes : NULL;
    const struct graph_batch *alone[SHUFFLED], *many;
    uint32_t graphs[SHUFFLED];
    size_t bytes = graph_data_batch_bytes(data, 1);
    int failed = 0;
    draw(t, data, graphs);
    many = batch_of(t, data, graphs, SHUFFLED, used);
    for (size_t i = 0; i < SHUFFLED; i++)
        alone[i] = yp_alloc_host(t, bytes);
#pragma omp parallel for num_threads(2) reduction(+ : failed)
    for (size_t i = 0; i < SHUFFLED; i++) {
        const uint32_t graph = graphs[SHUFFLED - 1 - i];
        void *block = (void *)(uintptr_t)alone[SHUFFLED - 1 - i];
        failed += graph_data_read(data, &graph, 1, used, block, bytes) != YP_OK;
    }
    yp_require(t, failed == 0, "%d graphs cannot be read", failed);
    for (size_t i = 0; i < SHUFFLED; i++)
        yp_expect(t, same_graph(alone[i], many, i), "graph %u differs in a batch", graphs[i]);
    graph_data_destroy(data);
}

/* -- changes ----------------------------------------------------------------------------------- */

/* What a flip and noise may do to node i: y, velocities and targets change their sign or none, and
 * what a target says of the place to come is as far off as the flip alone says. Returns how far the
 * node was moved. */
static double moved(struct yp_case *t, const struct graph_batch *was, const struct graph_batch *is,
                    size_t i, bool flipped, double move[2])
{
    const double sign = flipped ? -1 : 1;
    const float *a = was->node + i * GRAPH_FEATURES, *b = is->node + i * GRAPH_FEATURES;
    double worst = fabs(b[4] - a[4]) + fabs(b[5] - sign * a[5]) + fabs(b[6] - a[6]) +
                   fabs(b[7] - sign * a[7]) + fabs(b[2] - a[2]);
    move[0] = (double)b[0] - a[0];
    move[1] = (double)b[1] - (flipped ? 53.3 - a[1] : a[1]);
    for (size_t k = 0; k < was->history; k++) {
        const float *v = was->motion + (i * was->history + k) * GRAPH_MOTION;
        const float *w = is->motion + (i * was->history + k) * GRAPH_MOTION;
        worst = fmax(worst, fabs(w[0] - v[0]) + fabs(w[1] - sign * v[1]) + fabs(w[2] - v[2]) +
                                fabs(w[3] - sign * v[3]));
    }
    for (size_t k = 0; k < was->future; k++) {
        const float *v = was->target + (i * was->future + k) * 2;
        const float *w = is->target + (i * was->future + k) * 2;
        const double counts = was->counts[i];
        worst = fmax(worst, fabs(w[0] - (v[0] - counts * move[0])) +
                                fabs(w[1] - (sign * v[1] - counts * move[1])));
    }
    yp_expect(t, worst < 2e-5, "node %zu is off by %g", i, worst);
    return worst;
}

/* Edges are those of the changed positions: searched again, they are the same. */
static void check_changed_edges(struct yp_case *t, const struct graph_batch *b)
{
    struct graph_players players = {.count = b->nodes};
    for (size_t i = 0; i < b->nodes; i++) {
        const float *node = b->node + i * GRAPH_FEATURES;
        players.x[i] = node[0];
        players.y[i] = node[1];
        players.speed[i] = node[2];
        players.direction[i] = (float)(fmod(atan2(node[4], node[5]) * 180 / acos(-1) + 360, 360));
        players.side[i] = b->side[i];
    }
    const struct found f = search(t, GRAPH_PLAIN, &players, 20);
    yp_require(t, f.count == b->edges, "%zu edges, %zu are right", b->edges, f.count);
    double worst = 0;
    for (size_t k = 0; k < f.count; k++) {
        yp_expect(t, f.source[k] == 1000 + b->source[k], "edge %zu begins in %d", k, b->source[k]);
        for (size_t j = 0; j < GRAPH_EDGE_FEATURES; j++) {
            const double d =
                (double)f.edge[k * GRAPH_EDGE_FEATURES + j] - b->edge[k * GRAPH_EDGE_FEATURES + j];
            worst = fmax(worst, j == 3 ? fabs(remainder(d, 2)) : fabs(d));
        }
    }
    yp_expect(t, worst < 1e-5, "a feature of an edge is off by %g", worst);
}

/* Half of the graphs are flipped, others in each epoch; noise has the deviation that was asked
 * for. */
YP_TEST(graph_data, changes, .tags = "stress small", .parallel = true)
{
    enum { EPOCHS = 20 };
    const struct graph_play play = walk_play(t, 0, 65, 22, 0.05);
    const struct walks plays = {{play}, 1};
    struct graph_data *data = open_walks(t, &plays);
    const size_t count = graph_data_count(data);
    bool *before = yp_alloc_host(t, count * sizeof *before);
    size_t flips = 0, others = 0, nodes = 0;
    double square = 0, sum = 0, product = 0;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
        for (uint32_t g = 0; g < count; g++) {
            const struct graph_augmentation changes = {yp_seed(t), epoch, 0.5F, 0.1F};
            const struct graph_batch *was = batch_of(t, data, &g, 1, NULL);
            const struct graph_batch *is = batch_of(t, data, &g, 1, &changes);
            const bool flipped = is->node[5] * was->node[5] < 0;
            for (size_t i = 0; i < was->nodes; i++, nodes++) {
                double move[2];
                moved(t, was, is, i, flipped, move);
                square += move[0] * move[0] + move[1] * move[1];
                sum += move[0] + move[1];
                product += move[0] * move[1];
            }
            flips += flipped;
            others += epoch > 0 && flipped != before[g];
            before[g] = flipped;
            if (g % 10 == 0)
                check_changed_edges(t, is);
        }
    const double pairs = (double)nodes, all = (double)(count * EPOCHS);
    yp_expect(t, fabs((double)flips / all - 0.5) < 5 * 0.5 / sqrt(all), "%zu of %g are flipped",
              flips, all);
    yp_expect(t, fabs((double)others / (all - (double)count) - 0.5) < 5 * 0.5 / sqrt(all),
              "%zu of %g are flipped other than an epoch before", others, all - (double)count);
    yp_expect(t, fabs(sqrt(square / (2 * pairs)) / 0.1 - 1) < 5 / sqrt(4 * pairs),
              "the noise's deviation is %g", sqrt(square / (2 * pairs)));
    yp_expect(t, fabs(sum / (2 * pairs)) < 0.5 / sqrt(2 * pairs), "the noise's mean is %g",
              sum / (2 * pairs));
    yp_expect(t, fabs(product / pairs) < 0.05 / sqrt(pairs), "x and y are moved together: %g",
              product / pairs);
    graph_data_destroy(data);
}

/* -- what is refused --------------------------------------------------------------------------- */

static void expect_refused(struct yp_case *t, const struct graph_play *play,
                           const struct graph_rules *rules, const char *says)
{
    struct graph_data *data = graph_data_of_plays(yp_device_cpu(), play, 1, rules);
    yp_expect(t, data == NULL && strstr(yp_last_error(), says) != NULL, "'%s' does not say '%s'",
              data != NULL ? "" : yp_last_error(), says);
    graph_data_destroy(data);
}

YP_TEST(graph_data, refused, .tags = "stress small", .parallel = true)
{
    const struct graph_play play = walk_play(t, 77, 20, 4, 0);
    struct graph_play wrong = play;
    struct graph_rules rules = GRAPH_RULES;
    float *x = yp_alloc_host(t, 80 * sizeof *x);
    wrong.x = memcpy(x, play.x, 80 * sizeof *x);
    x[4 * 7 + 2] = NAN;
    expect_refused(t, &wrong, &rules, "game 2023090700 play 77: x of player 2 in frame 7 is nan");
    ((uint8_t *)(uintptr_t)wrong.present)[4 * 7 + 2] = 0; /* then nobody reads it */
    struct graph_data *data = graph_data_of_plays(yp_device_cpu(), &wrong, 1, &rules);
    const uint32_t graphs[] = {2, 5};
    yp_require(t, data != NULL, "%s", yp_last_error());
    batch_of(t, data, graphs, 1, NULL);
    const struct graph_batch *none = batch_of(t, data, NULL, 0, NULL);
    yp_expect(t, none->nodes == 0 && none->edges == 0 && none->first[0] == 0, "%zu nodes",
              none->nodes);
    char block[1024] __attribute__((aligned(64)));
    yp_expect(t,
              graph_data_read(data, graphs + 1, 1, NULL, block, sizeof block) == YP_INVALID &&
                  strstr(yp_last_error(), "graph 5: must be below 5") != NULL,
              "%s", yp_last_error());
    yp_expect(t,
              graph_data_read(data, graphs, 1, NULL, block, sizeof block) == YP_INVALID &&
                  strstr(yp_last_error(), "the block has 1024") != NULL,
              "%s", yp_last_error());
    graph_data_destroy(data);
    wrong = play;
    wrong.formation = 8;
    expect_refused(t, &wrong, &rules, "the formation is 8: must be 0 to 7");
    wrong = play;
    wrong.players = 257;
    expect_refused(t, &wrong, &rules, "257 players in 20 frames: must be at most 256");
    rules.radius = NAN;
    expect_refused(t, &play, &rules, "radius is nan: must be finite and above 0");
    rules = (struct graph_rules){.radius = 1, .past = 1, .future = 10};
    expect_refused(t, &play, &rules, "past is 1 and future 10: must be 2 to 64");
}
