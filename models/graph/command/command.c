/* The command line: which model, which graphs, which pass. */
#include "models/graph/command/command.h"

#include "models/graph/command/internal.h"

#include "base/options/arguments.h"
#include "base/text/output.h"

#include <stdio.h>
#include <string.h>

#define WORKS "forward forward_backward train_step"

/* As the words are; 0 and NULL: not said. */
struct words {
    const char *size, *graphs, *load, *dump;
    size_t hidden, heads, layers, modes, blocks, inducing, features, history, future;
    size_t batch, players, edges;
    struct graph_losses losses;
    int precision, pass, device;
    uint64_t limit, seed;
    bool gradients, in_double, json, help;
};

#define AT(field) offsetof(struct words, field)
#define SIZE(field) .value = "N", .kind = YPI_OPTION_SIZE, .offset = AT(field)
#define WEIGHT(field) \
    .value = "X", .kind = YPI_OPTION_REAL, .offset = AT(losses.field), .zero_is_off = true
#define FILE_(field) .value = "FILE", .kind = YPI_OPTION_WORD, .offset = AT(field)
#define CHOICE(field, words_) \
    .value = "WORD", .kind = YPI_OPTION_CHOICE, .offset = AT(field), .choices = (words_), \
    .allowed = "one of: " words_

enum { MODEL, PASS, LOSS, PLAN, RUN };
static const char *const titles[] = {"The model:\n", "\nThe pass:\n",
                                     "\nWeights of parts of the loss, 0: without it:\n",
                                     "\nOf a plan:\n", "\nTo make it, without plan:\n"};

static const struct ypi_option options[] = {
    {"size", .value = "NAME", .kind = YPI_OPTION_WORD, .offset = AT(size),
     .help = "base, 9M or 12M; base"},
    {"hidden", SIZE(hidden), .help = "another one than the size has; the same:"},
    {"heads", SIZE(heads), .help = "of attention"},
    {"layers", SIZE(layers), .help = "of GATv2"},
    {"modes", SIZE(modes), .help = "trajectories of a player"},
    {"blocks", SIZE(blocks), .help = "of the decoder"},
    {"inducing", SIZE(inducing), .help = "points of the scene"},
    {"features", SIZE(features), .help = "of a node that are read, 1 to 9"},
    {"precision", CHOICE(precision, "fp32 bf16"), .group = PASS,
     .help = "fp32, or bf16 with weights and gradients in fp32; fp32"},
    {"json", .kind = YPI_OPTION_FLAG, .offset = AT(json), .group = PASS, .help = "print JSON"},
    {"coverage", WEIGHT(coverage), .group = LOSS, .help = "cross entropy of coverages; 0.5"},
    {"smoothing", WEIGHT(smoothing), .group = LOSS, .help = "of their labels; 0.05"},
    {"velocity", WEIGHT(velocity), .group = LOSS,
     .help = "mean path's steps beside the target's; 0"},
    {"acceleration", WEIGHT(acceleration), .group = LOSS, .help = "differences of steps; 0"},
    {"winner", WEIGHT(winner), .group = LOSS, .help = "distance of the best mode's path; 0"},
    {"likely", WEIGHT(likely), .group = LOSS, .help = "within winner: that mode's probability; 0"},
    {"endpoint", WEIGHT(endpoint), .group = LOSS, .help = "distance at the last step; 0"},
    {"collision", WEIGHT(collision), .group = LOSS, .help = "nodes nearer than a yard; 0"},
    {"pass", CHOICE(pass, WORKS), .group = PLAN,
     .help = "forward, forward_backward or train_step; the last of them"},
    {"batch", SIZE(batch), .group = PLAN, .help = "graphs; 16"},
    {"players", SIZE(players), .group = PLAN, .help = "of a graph; 22"},
    {"edges", SIZE(edges), .group = PLAN, .help = "of a graph; all, 462 between 22 players"},
    {"history", SIZE(history), .group = PLAN, .help = "steps of it; 4"},
    {"future", SIZE(future), .group = PLAN, .help = "steps of it; 10"},
    {"device", CHOICE(device, "cpu cuda"), .group = PLAN,
     .help = "cpu, or cuda, which need not be there; cpu"},
    {"limit", .value = "BYTES", .kind = YPI_OPTION_BYTES, .offset = AT(limit), .group = PLAN,
     .help = "of memory: 4GB, or 4G, which is 4 GiB: whether the plan fits"},
    {"graphs", FILE_(graphs), .group = RUN, .help = "graphs, .safetensors or .npz (docs/graph.md)"},
    {"load", FILE_(load), .group = RUN,
     .help = "weights, .safetensors with the names of a PyTorch state dict"},
    {"seed", .value = "N", .kind = YPI_OPTION_WORD64, .offset = AT(seed), .group = RUN,
     .allowed = "a whole number", .help = "of weights to start from, without --load; 0"},
    {"gradients", .kind = YPI_OPTION_FLAG, .offset = AT(gradients), .group = RUN,
     .help = "the gradient of the loss, too"},
    {"dump", FILE_(dump), .group = RUN, .help = "write what comes out to this .safetensors file"},
    {"double", .kind = YPI_OPTION_FLAG, .offset = AT(in_double), .group = RUN,
     .help = "compute in double by plain loops, which is slow"},
    {"help", .kind = YPI_OPTION_FLAG, .offset = AT(help), .group = RUN, .help = "this"},
    {.letter = 'h', .kind = YPI_OPTION_FLAG, .offset = AT(help)},
    YPI_OPTIONS_END,
};

static int help(void)
{
    puts("yieldpoint graph plan [options]           what the graph trajectory model would take\n"
         "yieldpoint graph --graphs FILE [options]  one pass over given graphs\n");
    ypi_options_print(options, titles);
    return ypi_flush();
}

static int usage(void)
{
    fprintf(stderr, "yieldpoint: %s; `yieldpoint graph --help` tells all\n", yp_last_error());
    return YPI_COMMAND_USAGE;
}

static enum yp_status take_model(const struct words *w, struct graph_options *o)
{
    const enum yp_status status =
        graph_sized(w->size != NULL ? w->size : "base", yp_device_cpu(), o);
    const struct {
        size_t said, *to;
    } sizes[] = {
        {w->hidden, &o->hidden},     {w->heads, &o->heads},     {w->layers, &o->layers},
        {w->modes, &o->modes},       {w->blocks, &o->blocks},   {w->inducing, &o->inducing},
        {w->features, &o->features}, {w->history, &o->history}, {w->future, &o->future}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].said > 0)
            *sizes[i].to = sizes[i].said;
    o->kind = w->device == 0 ? "cpu" : "cuda";
    o->precision = (enum nn_precision)w->precision;
    o->oracle = w->in_double;
    o->losses = w->losses;
    return status;
}

/* What the other form of the command has alone; NULL: nothing of it is said. */
static const char *misplaced(const struct words *w, bool plan)
{
    const struct {
        bool said, of_plan;
        const char *name;
    } all[] = {{w->batch > 0, true, "batch"},      {w->players > 0, true, "players"},
               {w->edges > 0, true, "edges"},      {w->history > 0, true, "history"},
               {w->future > 0, true, "future"},    {w->device > 0, true, "device"},
               {w->limit > 0, true, "limit"},      {w->graphs != NULL, false, "graphs"},
               {w->load != NULL, false, "load"},   {w->dump != NULL, false, "dump"},
               {w->gradients, false, "gradients"}, {w->pass != GRAPH_TRAIN_STEP, true, "pass"},
               {w->in_double, false, "double"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].said && all[i].of_plan != plan)
            return all[i].name;
    return NULL;
}

const char *ypi_graph_work_name(enum graph_work work)
{
    static const char *const names[GRAPH_WORKS] = {"forward", "forward_backward", "train_step"};
    return names[work];
}

int ypi_graph_command(int argc, char **argv)
{
    const bool plan = argc > 1 && strcmp(argv[1], "plan") == 0;
    struct graph_options usual;
    graph_sized("base", yp_device_cpu(), &usual);
    struct words w = {.pass = GRAPH_TRAIN_STEP, .losses = usual.losses};
    const struct ypi_arguments arguments = {
        .options = options, .values = &w, .hint = "; `yieldpoint graph --help` tells them"};
    if (!ypi_arguments_read(&arguments, argc - plan, argv + plan))
        return YPI_COMMAND_USAGE;
    if (w.help)
        return help();
    const char *other = misplaced(&w, plan);
    if (other != NULL) {
        yp_set_error(YP_INVALID, "--%s is an option of %s", other,
                     plan ? "a pass over given graphs, without plan" : "yieldpoint graph plan");
        return usage();
    }
    if (!plan && w.graphs == NULL) {
        yp_set_error(YP_INVALID, "--graphs is missing");
        return usage();
    }
    struct ypi_graph_request request = {.work = (enum graph_work)w.pass,
                                        .limit = w.limit,
                                        .seed = w.seed,
                                        .graphs = w.graphs,
                                        .load = w.load,
                                        .dump = w.dump,
                                        .json = w.json};
    if (!plan)
        request.work = w.gradients ? GRAPH_FORWARD_BACKWARD : GRAPH_FORWARD;
    if (take_model(&w, &request.options) != YP_OK)
        return usage();
    if (!plan)
        return ypi_graph_pass(&request);
    const size_t graphs = w.batch > 0 ? w.batch : 16, players = w.players > 0 ? w.players : 22;
    request.sizes =
        (struct graph_batch){.graphs = graphs,
                             .nodes = graphs * players,
                             .edges = graphs * (w.edges > 0 ? w.edges : players * (players - 1)),
                             .history = request.options.history,
                             .future = request.options.future};
    return ypi_graph_print_plan(&request);
}
