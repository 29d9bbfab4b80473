/* The graph trajectory model: its sizes, the error of its precisions, and what must not change its
 * results. graph_reference.c has its results and gradients in double. */
#include "suites/graph_plays.h"

#include "base/random/stream.h"
#include "models/nn/draw.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* -- sizes ------------------------------------------------------------------------------------ */

YP_TEST(graph, parameters, .tags = "stress small", .parallel = true)
{
    static const struct {
        const char *name;
        size_t features, all;
    } right[] = {
        {"base", 9, 352429}, {"base", 7, 352301}, {"9M", 9, 9606291}, {"12M", 9, 11739799}};
    static const size_t base[GRAPH_PARTS] = {[GRAPH_ENCODER] = 220960,
                                             [GRAPH_SCENE] = 25537,
                                             [GRAPH_DECODER] = 105867,
                                             [GRAPH_CLASSIFIER] = 65};
    struct graph_options o;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        yp_ok(t, graph_sized(right[i].name, yp_device_cpu(), &o));
        o.features = right[i].features;
        yp_expect(t, graph_elements(&o, GRAPH_PARTS) == right[i].all, "%s with %zu features: %zu",
                  right[i].name, o.features, graph_elements(&o, GRAPH_PARTS));
    }
    yp_ok(t, graph_sized("base", yp_device_cpu(), &o));
    for (int part = 0; part < GRAPH_PARTS; part++)
        yp_expect(t, graph_elements(&o, (enum graph_part)part) == base[part], "part %d has %zu",
                  part, graph_elements(&o, (enum graph_part)part));
    yp_expect(t, graph_sized("13M", yp_device_cpu(), &o) == YP_INVALID, "%s", yp_last_error());
}

YP_TEST(graph, refused, .tags = "stress small", .parallel = true)
{
    struct graph_options base, wrong[6];
    static const char *const says[] = {"hidden is 64, heads 3",
                                       "hidden is 7, heads 7: hidden must be even",
                                       "features is 10: must be 1 to 9",
                                       "dropout is 1: must be 0 to 0.99",
                                       "precision is int8",
                                       "losses.smoothing is nan: must be 0 to 1"};
    yp_ok(t, graph_sized("base", yp_device_cpu(), &base));
    for (size_t i = 0; i < 6; i++)
        wrong[i] = base;
    wrong[0].heads = 3;
    wrong[1].hidden = 7, wrong[1].heads = 7;
    wrong[2].features = 10;
    wrong[3].dropout = 1;
    wrong[4].precision = NN_INT8;
    wrong[5].losses.smoothing = NAN;
    for (size_t i = 0; i < 6; i++)
        yp_expect(t, graph_create(&wrong[i]) == NULL && strstr(yp_last_error(), says[i]) != NULL,
                  "%s", yp_last_error());
}

/* -- passes ----------------------------------------------------------------------------------- */

/* Little, with an odd number of everything; all losses. */
static struct graph_options little(struct yp_case *t)
{
    struct graph_options o;
    yp_ok(t, graph_sized("base", yp_device(t), &o));
    o.hidden = 6, o.heads = 3, o.layers = 2, o.modes = 3, o.inducing = 5, o.future = 3;
    o.losses = (struct graph_losses){.coverage = 0.5,
                                     .smoothing = 0.05,
                                     .velocity = 0.3,
                                     .acceleration = 0.1,
                                     .winner = 0.5,
                                     .likely = 0.1,
                                     .endpoint = 0.2,
                                     .collision = 0.05};
    return o;
}

struct trial {
    struct graph_options o;
    struct graph *graph;
    size_t parameters;
    void *x, *gradient; /* of the device; doubles of an oracle */
    enum yp_status status;
};

static enum nn_type type_of(enum nn_precision precision)
{
    return precision == NN_BF16 ? NN_BFLOAT16 : precision == NN_FP16 ? NN_FLOAT16 : NN_FLOAT;
}

static void trial_open(struct trial *s, struct yp_case *t, const struct graph_options *o)
{
    *s = (struct trial){.o = *o, .graph = graph_create(o)};
    yp_got(t, s->graph);
    s->parameters = graph_elements(o, GRAPH_PARTS);
    const size_t bytes = s->parameters * (o->oracle ? sizeof(double) : sizeof(float));
    float *start = yp_alloc_host(t, s->parameters * sizeof *start);
    double *wide = yp_alloc_host(t, s->parameters * sizeof *wide);
    graph_draw(o, yp_seed(t), start);
    /* What starts as 0 or 1 is drawn, too: what is left out shows. */
    const struct ypi_stream noise = {yp_seed(t), 0x9a3f};
    float *bell = yp_alloc_host(t, s->parameters * sizeof *bell);
    ypi_random_normals(YPI_LEVEL_AUTO, noise, 0, s->parameters, bell);
    for (size_t i = 0; i < s->parameters; i++) {
        start[i] += 0.1F * bell[i];
        if (o->plain)
            start[i] = nn_round((double)start[i], type_of(o->precision));
        wide[i] = (double)start[i];
    }
    s->x = o->device == yp_device_cpu() ? yp_alloc_host(t, bytes) : yp_alloc(t, bytes);
    s->gradient = o->device == yp_device_cpu() ? yp_alloc_host(t, bytes) : yp_alloc(t, bytes);
    yp_ok(t, yp_device_copy(o->device, s->x, o->oracle ? (void *)wide : (void *)start, bytes));
}

/* Six graphs of several plays, where some players are absent; one coverage is not known. */
static const struct graph_batch *some_graphs(struct yp_case *t, struct graph_plays *f,
                                             const struct graph_options *o, size_t players)
{
    const struct graph_rules rules = {.radius = 20, .past = o->history + 1, .future = o->future};
    graph_plays_open(f, t, (struct synth_plays){.players = players, .missing = 0.3}, 6, &rules, 6);
    uint32_t graphs[6];
    for (uint32_t i = 0, k = 0; i < 6; i++) {
        graphs[i] = k + i;
        while (k < f->source.graphs && f->source.play[k] == i)
            k++;
    }
    f->plays[2].coverage = -1;
    return graph_plays_batch(f, t, graphs, 6);
}

/* -- in float ---------------------------------------------------------------------------------- */

struct outcome {
    size_t results, parameters;
    double *result; /* mixture, logits, coverage */
    double *gradient;
    struct graph_loss loss;
};

/* Of the loss: in fp16, where gradients below 2^-14 lose bits, as in training. */
static double scale_of(const struct graph_options *o)
{
    return o->precision == NN_FP16 && !o->oracle ? 1024 : 1;
}

/* Of a pass over a batch, with a model of these options. */
static struct outcome outcome_of(struct yp_case *t, const struct graph_options *o,
                                 const struct graph_batch *batch, struct graph_use use)
{
    struct trial s;
    trial_open(&s, t, o);
    const size_t numbers = batch->nodes * o->modes * o->future * 5;
    const size_t logits = batch->nodes * o->modes;
    struct outcome out = {.results = numbers + logits + batch->graphs, .parameters = s.parameters};
    out.result = yp_alloc_host(t, out.results * sizeof *out.result);
    out.gradient = yp_alloc_host(t, s.parameters * sizeof *out.gradient);
    yp_ok(t, graph_load(s.graph, batch, use));
    const double scale = scale_of(o);
    yp_ok(t, graph_pass(s.graph, s.x, scale, use.gradient ? s.gradient : NULL, NN_MODEL_COPY));
    yp_ok(t, graph_read_loss(s.graph, &out.loss));
    yp_ok(t, graph_read(s.graph, (struct graph_result){out.result, out.result + numbers,
                                                       out.result + numbers + logits}));
    if (use.gradient && o->oracle) {
        memcpy(out.gradient, s.gradient, s.parameters * sizeof *out.gradient);
    } else if (use.gradient) {
        float *got = yp_alloc_host(t, s.parameters * sizeof *got);
        yp_ok(t, yp_device_copy(o->device, got, s.gradient, s.parameters * sizeof *got));
        for (size_t i = 0; i < s.parameters; i++)
            out.gradient[i] = (double)got[i] / scale;
    }
    graph_destroy(s.graph);
    return out;
}

/* ||got - right|| / ||right||. */
static double error_of(const double *got, const double *right, size_t count)
{
    double off = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        off += (got[i] - right[i]) * (got[i] - right[i]);
        norm += right[i] * right[i];
    }
    return norm > 0 ? sqrt(off / norm) : sqrt(off);
}

/* "base", with all losses. */
static struct graph_options at_size(struct yp_case *t)
{
    const struct graph_losses losses = little(t).losses;
    struct graph_options o;
    yp_ok(t, graph_sized("base", yp_device(t), &o));
    o.losses = losses;
    return o;
}

struct errors {
    double results, gradient, loss;
};

/* How far a pass with drops is from double, and how far plain loops in float are. */
static void measure_errors(struct yp_case *t, struct graph_options o, struct errors *fast,
                           struct errors *plain)
{
    const struct graph_use use = {.gradient = true, .drops = true, .seed = yp_seed(t)};
    struct graph_plays f;
    const struct graph_batch *batch = some_graphs(t, &f, &o, 0);
    struct outcome got[2], right;
    for (int i = 0; i < 2; i++) {
        got[i] = outcome_of(t, &o, batch, use);
        o.device = yp_device_cpu();
        o.plain = true;
    }
    o.plain = false;
    o.oracle = true;
    right = outcome_of(t, &o, batch, use);
    struct errors *const to[] = {fast, plain};
    for (int i = 0; i < 2; i++)
        *to[i] = (struct errors){error_of(got[i].result, right.result, right.results),
                                 error_of(got[i].gradient, right.gradient, right.parameters),
                                 error_of(&got[i].loss.total, &right.loss.total, 1)};
    graph_plays_close(&f);
}

/* No further from double than three times what plain loops in float are. */
YP_TEST(graph, precision, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_value("results to plain", 3),
                              yp_max_value("gradient to plain", 3),
                              yp_max_value("loss error", 1e-6)))
{
    struct errors fast, plain;
    struct graph_options o = little(t);
    o.hidden = 36, o.heads = 3, o.layers = 3, o.future = 10;
    measure_errors(t, o, &fast, &plain);
    yp_value(t, "results to plain", fast.results / plain.results);
    yp_value(t, "gradient to plain", fast.gradient / plain.gradient);
    yp_value(t, "loss error", fast.loss);
}

/* Of two million decisions of a relu some fall the other way in float, by plain loops or fast ones,
 * and each moves the gradient: it is held to the sum of a few. */
YP_TEST(graph, precision_at_size, .tags = "stress medium", .parallel = true, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_value("results to plain", 3),
                              yp_max_value("gradient error", 1e-3),
                              yp_max_value("loss error", 1e-6)))
{
    struct errors fast, plain;
    measure_errors(t, at_size(t), &fast, &plain);
    yp_value(t, "results to plain", fast.results / plain.results);
    yp_value(t, "gradient error", fast.gradient);
    yp_value(t, "loss error", fast.loss);
}

/* Beside plain loops in float whose parameters alone are rounded to 16 bits: fast ones round every
 * result, too. */
YP_TEST(graph, rounded, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("precision", "bf16", "fp16")),
        .budgets = YP_BUDGETS(yp_max_value("results to rounded", 2),
                              yp_max_value("gradient to rounded", 2),
                              yp_max_value("loss to rounded", 2)))
{
    struct errors fast, rounded;
    struct graph_options o = little(t);
    o.hidden = 36, o.heads = 3, o.layers = 3, o.future = 10;
    yp_expect(t, nn_precision_from_name(yp_string(t, "precision"), &o.precision), "no precision");
    measure_errors(t, o, &fast, &rounded);
    yp_value(t, "results to rounded", fast.results / rounded.results);
    yp_value(t, "gradient to rounded", fast.gradient / rounded.gradient);
    yp_value(t, "gradient error", fast.gradient);
    /* One number may be right by luck: it is held to that of the results. */
    yp_value(t, "loss to rounded", fast.loss / fmax(rounded.loss, rounded.results));
}

/* -- what changes nothing ---------------------------------------------------------------------- */

static double worst(const double *a, const double *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(a[i] - b[i]) / (1 + fabs(b[i])));
    return most;
}

static struct graph_options exact(struct yp_case *t)
{
    struct graph_options o = little(t);
    o.device = yp_device_cpu();
    o.oracle = true;
    o.dropout = o.drop_path = 0.25;
    return o;
}

/* Graphs in another order, each with the masks that it has in any batch. */
YP_TEST(graph, order_of_graphs, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("difference", 1e-12)))
{
    enum { GRAPHS = 4 };
    static const uint32_t there[GRAPHS] = {3, 40, 8, 25}, back[GRAPHS] = {25, 8, 40, 3};
    const struct graph_options o = exact(t);
    const struct graph_use use = {.gradient = true, .drops = true, .seed = yp_seed(t)};
    struct graph_plays f;
    some_graphs(t, &f, &o, 9);
    const struct graph_batch *batch = graph_plays_batch(&f, t, there, GRAPHS);
    int32_t first[GRAPHS + 1];
    memcpy(first, batch->first, sizeof first);
    const size_t nodes = batch->nodes, row = o.modes * o.future * 5;
    const struct outcome a = outcome_of(t, &o, batch, use);
    batch = graph_plays_batch(&f, t, back, GRAPHS);
    const struct outcome b = outcome_of(t, &o, batch, use);
    double most = worst(a.gradient, b.gradient, a.parameters);
    yp_require(t, batch->nodes == nodes, "%zu nodes", batch->nodes);
    for (size_t i = 0; i < GRAPHS; i++)
        most = fmax(most, worst(a.result + (size_t)first[i] * row,
                                b.result + (size_t)batch->first[GRAPHS - 1 - i] * row,
                                (size_t)(first[i + 1] - first[i]) * row));
    yp_value(t, "difference", most);
    graph_plays_close(&f);
}

/* Players in another order. */
YP_TEST(graph, order_of_players, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("difference", 1e-12)))
{
    enum { GRAPH = 7 };
    const uint32_t graph = GRAPH;
    const struct graph_options o = exact(t);
    const struct graph_use use = {.gradient = true};
    struct graph_plays f, g;
    some_graphs(t, &f, &o, 9);
    some_graphs(t, &g, &o, 9);
    struct graph_play *p = &g.plays[g.source.play[GRAPH]];
    const size_t n = p->players, row = o.modes * o.future * 5;
    float *const fields[] = {(float *)(uintptr_t)p->x,         (float *)(uintptr_t)p->y,
                             (float *)(uintptr_t)p->speed,     (float *)(uintptr_t)p->acceleration,
                             (float *)(uintptr_t)p->direction, (float *)(uintptr_t)p->orientation};
    /* The last player comes first. */
    for (size_t at = 0; at < p->frames; at++) {
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
            float *values = fields[k] + at * n, last = values[n - 1];
            memmove(values + 1, values, (n - 1) * sizeof last);
            values[0] = last;
        }
        uint8_t *present = (uint8_t *)(uintptr_t)p->present + at * n;
        memset(present, 1, n);
        memset((uint8_t *)(uintptr_t)f.plays[f.source.play[GRAPH]].present + at * n, 1, n);
    }
    float *weight = (float *)(uintptr_t)p->weight, heavy = weight[n - 1];
    memmove(weight + 1, weight, (n - 1) * sizeof heavy);
    weight[0] = heavy;
    for (int k = 0; k < 2; k++) {
        int32_t *of = (int32_t *)(uintptr_t)(k == 0 ? p->role : p->side), last = of[n - 1];
        memmove(of + 1, of, (n - 1) * sizeof last);
        of[0] = last;
    }
    const struct outcome a = outcome_of(t, &o, graph_plays_batch(&f, t, &graph, 1), use);
    const struct outcome b = outcome_of(t, &o, graph_plays_batch(&g, t, &graph, 1), use);
    double most = worst(a.gradient, b.gradient, a.parameters);
    most = fmax(most, worst(a.result, b.result + row, (n - 1) * row));
    most = fmax(most, worst(a.result + (n - 1) * row, b.result, row));
    yp_value(t, "difference", most);
    graph_plays_close(&f);
    graph_plays_close(&g);
}

/* Beside a graph stand one without nodes and one of a single node: its results are those it has
 * alone, and theirs are finite. */
YP_TEST(graph, empty_and_single, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_value("difference", 1e-6)))
{
    const uint32_t graph = 7;
    struct graph_options o = little(t);
    const struct graph_use use = {.gradient = true};
    struct graph_plays f;
    some_graphs(t, &f, &o, 9);
    const struct graph_batch one = *graph_plays_batch(&f, t, &graph, 1);
    const struct outcome alone = outcome_of(t, &o, &one, use);
    const size_t n = one.nodes, row = o.modes * o.future * 5;
    int32_t first[] = {0, 0, (int32_t)n, (int32_t)n + 1}, zero[3] = {0};
    int32_t *grown[4];
    const int32_t *const ints[4] = {one.incoming, one.outgoing, one.role, one.side};
    for (int k = 0; k < 4; k++) {
        grown[k] = yp_alloc_host(t, (n + 2) * sizeof **grown);
        memcpy(grown[k], ints[k], (n + (k < 2)) * sizeof **grown);
        grown[k][n + (k < 2)] = k < 2 ? (int32_t)one.edges : 0;
    }
    float *reals[4];
    const float *const of[4] = {one.node, one.motion, one.target, one.counts};
    const size_t width[4] = {GRAPH_FEATURES, one.history * GRAPH_MOTION, one.future * 2, 1};
    for (int k = 0; k < 4; k++) {
        reals[k] = yp_alloc_host(t, (n + 1) * width[k] * sizeof **reals);
        memcpy(reals[k], of[k], n * width[k] * sizeof **reals);
        memcpy(reals[k] + n * width[k], of[k], width[k] * sizeof **reals);
    }
    reals[3][n] = 0; /* does not count */
    uint64_t id[] = {1000, one.id[0], 1001};
    int32_t frame[] = {0, one.frame[0], 0}, formation[] = {0, one.formation[0], 0},
            alignment[] = {0, one.alignment[0], 0};
    float context[3 * GRAPH_CONTEXT] = {0}, coverage[] = {-1, one.coverage[0], -1};
    memcpy(context + GRAPH_CONTEXT, one.context, sizeof *context * GRAPH_CONTEXT);
    const struct graph_batch three = {.graphs = 3,
                                      .nodes = n + 1,
                                      .edges = one.edges,
                                      .history = one.history,
                                      .future = one.future,
                                      .id = id,
                                      .first = first,
                                      .frame = frame,
                                      .formation = formation,
                                      .alignment = alignment,
                                      .context = context,
                                      .coverage = coverage,
                                      .node = reals[0],
                                      .role = grown[2],
                                      .side = grown[3],
                                      .motion = reals[1],
                                      .target = reals[2],
                                      .counts = reals[3],
                                      .incoming = grown[0],
                                      .source = one.source,
                                      .edge = one.edge,
                                      .outgoing = grown[1],
                                      .end = one.end};
    o.losses.collision = 0; /* it is a mean over graphs */
    const struct outcome beside = outcome_of(t, &o, &three, use);
    const struct outcome again = outcome_of(t, &o, &one, use);
    double most = worst(beside.result, alone.result, n * row);
    most = fmax(most, error_of(beside.gradient, again.gradient, again.parameters));
    for (size_t i = 0; i < beside.results; i++)
        yp_expect(t, isfinite(beside.result[i]), "result %zu is %g", i, beside.result[i]);
    yp_value(t, "difference", most);
    /* And nothing at all. */
    struct graph_batch none = three;
    none.graphs = 2;
    none.nodes = none.edges = 0;
    none.first = none.incoming = none.outgoing = zero;
    const struct outcome nothing = outcome_of(t, &o, &none, use);
    yp_expect(
        t, nothing.loss.nodes == 0 && isfinite(nothing.loss.total) && isfinite(nothing.result[0]),
        "loss %g of %g nodes, coverage %g", nothing.loss.total, nothing.loss.nodes,
        nothing.result[0]);
    for (size_t i = 0; i < nothing.parameters; i++)
        yp_require(t, isfinite(nothing.gradient[i]), "gradient %zu is %g", i, nothing.gradient[i]);
    graph_plays_close(&f);
}

/* 200 players, each with edges to nearly all others. */
YP_TEST(graph, crowded, .tags = "stress medium", .parallel = true, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_value("result error", 1e-6),
                              yp_max_value("gradient error", 2e-6)))
{
    const struct graph_rules rules = {.radius = 60, .past = 5, .future = 3};
    const uint32_t graphs[] = {1, 9};
    struct graph_options o = little(t);
    const struct graph_use use = {.gradient = true};
    struct graph_plays f;
    graph_plays_open(&f, t, (struct synth_plays){.players = 200}, 2, &rules, 2);
    const struct graph_batch *batch = graph_plays_batch(&f, t, graphs, 2);
    yp_value(t, "edges", (double)batch->edges);
    const struct outcome fast = outcome_of(t, &o, batch, use);
    o.device = yp_device_cpu();
    o.oracle = true;
    const struct outcome right = outcome_of(t, &o, batch, use);
    yp_value(t, "result error", error_of(fast.result, right.result, right.results));
    yp_value(t, "gradient error", error_of(fast.gradient, right.gradient, right.parameters));
    graph_plays_close(&f);
}

/* One thread and two, which divide sums of products in other places: each may be as far from double
 * as plain loops in float, and so they may be twice as far from each other. */
YP_TEST(graph, threads, .tags = "stress small",
        .budgets = YP_BUDGETS(yp_max_value("results to plain", 2),
                              yp_max_value("gradient to plain", 2)))
{
    const struct graph_use use = {.gradient = true, .drops = true, .seed = yp_seed(t)};
    const int threads = omp_get_max_threads();
    const uint32_t graph = 7;
    struct graph_options o = at_size(t);
    struct graph_plays f;
    some_graphs(t, &f, &o, 0);
    const struct graph_batch *batch = graph_plays_batch(&f, t, &graph, 1);
    omp_set_num_threads(1);
    const struct outcome one = outcome_of(t, &o, batch, use);
    omp_set_num_threads(2);
    const struct outcome two = outcome_of(t, &o, batch, use);
    omp_set_num_threads(threads);
    o.plain = true;
    const struct outcome plain = outcome_of(t, &o, batch, use);
    o.plain = false;
    o.oracle = true;
    const struct outcome right = outcome_of(t, &o, batch, use);
    yp_value(t, "results to plain",
             error_of(two.result, one.result, one.results) /
                 error_of(plain.result, right.result, right.results));
    yp_value(t, "gradient to plain",
             error_of(two.gradient, one.gradient, one.parameters) /
                 error_of(plain.gradient, right.gradient, right.parameters));
    graph_plays_close(&f);
}
