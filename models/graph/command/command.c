/* The command line: which model, which graphs, which pass. */
#include "models/graph/command/command.h"

#include "models/graph/command/internal.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "models/train/options.h"

#include <stdio.h>
#include <string.h>

#define WORKS "forward forward_backward train_step"

/* As the words are; 0 and NULL: not said. */
struct words {
    const char *size, *graphs, *load, *dump, *data, *save, *log, *checkpoint, *ranks;
    size_t hidden, heads, layers, modes, blocks, inducing, features, history, future;
    size_t batch, players, edges, every;
    double lr;
    struct graph_losses losses;
    int precision, pass, device, cache;
    uint64_t limit, seed;
    bool gradients, in_double, augment, resume, skip_bad_rows, quiet, json, help;
    struct train_words training;
};

#define AT(field) offsetof(struct words, field)
#define SIZE(field) .value = "N", .kind = YPI_OPTION_SIZE, .offset = AT(field)
#define WEIGHT(field) \
    .value = "X", .kind = YPI_OPTION_REAL, .offset = AT(losses.field), .zero_is_off = true
#define FLAG(field) .kind = YPI_OPTION_FLAG, .offset = AT(field)
#define FILE_(field) .value = "FILE", .kind = YPI_OPTION_WORD, .offset = AT(field)
#define CHOICE(field, words_) \
    .value = "WORD", .kind = YPI_OPTION_CHOICE, .offset = AT(field), .choices = (words_), \
    .allowed = "one of: " words_

enum { MODEL, PASS, LOSS, PLAN, RUN, TRAINING, TRAINER };
static const char *const titles[] = {"The model:\n",
                                     "\nThe pass:\n",
                                     "\nWeights of parts of the loss, 0: without it:\n",
                                     "\nOf a plan:\n",
                                     "\nOf a pass over given graphs:\n",
                                     "\nOf training, beside --batch, --load and --seed:\n",
                                     "\nHow it trains (models/train/trainer.h):\n"};

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
    {"precision", CHOICE(precision, "fp32 bf16 fp16"), .group = PASS,
     .help = "fp32; bf16 or fp16, with weights and gradients in fp32; fp32"},
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
    {"batch", SIZE(batch), .group = PLAN, .help = "graphs, of training too; 16"},
    {"players", SIZE(players), .group = PLAN, .help = "of a graph; 22"},
    {"edges", SIZE(edges), .group = PLAN, .help = "of a graph; all, 462 between 22 players"},
    {"history", SIZE(history), .group = PLAN, .help = "steps of it, of training too; 4"},
    {"future", SIZE(future), .group = PLAN, .help = "the same; 10"},
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
    {"data", .value = "DIR", .kind = YPI_OPTION_WORD, .offset = AT(data), .group = TRAINING,
     .help = "with plays in CSV files, as of `yieldpoint plays`"},
    {"lr", .value = "X", .kind = YPI_OPTION_REAL, .offset = AT(lr), .group = TRAINING,
     .help = "the optimiser's learning rate; 0.001, of SGD 0.1"},
    {"augment", FLAG(augment), .group = TRAINING, .help = "flip half of the graphs, and add noise"},
    {"cache", CHOICE(cache, "off memory disk"), .group = TRAINING,
     .help = "where graphs are kept: off, memory, or disk, a file in the directory; off"},
    {"skip-bad-rows", FLAG(skip_bad_rows), .group = TRAINING,
     .help = "of CSV, which else end the training"},
    {"save", FILE_(save), .group = TRAINING,
     .help = "write the weights with the best validation loss to this .safetensors file"},
    {"checkpoint", FILE_(checkpoint), .group = TRAINING, .help = "written after each epoch"},
    {"checkpoint-every", SIZE(every), .group = TRAINING, .help = "steps, too"},
    {"resume", FLAG(resume), .group = TRAINING, .help = "go on from the checkpoint"},
    {"log", FILE_(log), .group = TRAINING, .help = "CSV with a row for each step and epoch"},
    {"ranks", .value = "DIR", .kind = YPI_OPTION_WORD, .offset = AT(ranks), .group = TRAINING,
     .help = "train together with the other processes that mpirun or srun has started: an\n"
             "                             empty directory that all of them see"},
    {"quiet", FLAG(quiet), .group = TRAINING, .help = "print nothing but errors"},
    {"help", FLAG(help), .group = TRAINING, .help = "this"},
    TRAIN_OPTION_ROWS(AT(training), TRAINER),
    {.letter = 'h', .kind = YPI_OPTION_FLAG, .offset = AT(help)},
    YPI_OPTIONS_END,
};

static int help(void)
{
    puts("yieldpoint graph plan [options]           what the graph trajectory model would take\n"
         "yieldpoint graph --graphs FILE [options]  one pass over given graphs\n"
         "yieldpoint graph train --data DIR [options]  train on plays\n");
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

enum form { A_PASS = 1, A_PLAN = 2, A_TRAINING = 4 };

/* An option that was said and that the form does not have; NULL: there is none. `text` is for a
 * name that is made. */
static const char *misplaced(const struct words *w, enum form form, char text[TRAIN_OPTION_NAME])
{
    const struct {
        bool said;
        int of; /* forms */
        const char *name;
    } all[] = {{w->batch > 0, A_PLAN | A_TRAINING, "batch"},
               {w->players > 0, A_PLAN, "players"},
               {w->edges > 0, A_PLAN, "edges"},
               {w->history > 0, A_PLAN | A_TRAINING, "history"},
               {w->future > 0, A_PLAN | A_TRAINING, "future"},
               {w->device > 0, A_PLAN, "device"},
               {w->limit > 0, A_PLAN, "limit"},
               {w->pass != GRAPH_TRAIN_STEP, A_PLAN, "pass"},
               {w->json, A_PLAN | A_PASS, "json"},
               {w->graphs != NULL, A_PASS, "graphs"},
               {w->load != NULL, A_PASS | A_TRAINING, "load"},
               {w->dump != NULL, A_PASS, "dump"},
               {w->gradients, A_PASS, "gradients"},
               {w->in_double, A_PASS, "double"},
               {w->data != NULL, A_TRAINING, "data"},
               {w->every > 0, A_TRAINING, "checkpoint-every"},
               {w->lr > 0, A_TRAINING, "lr"},
               {w->augment, A_TRAINING, "augment"},
               {w->cache > 0, A_TRAINING, "cache"},
               {w->skip_bad_rows, A_TRAINING, "skip-bad-rows"},
               {w->save != NULL, A_TRAINING, "save"},
               {w->checkpoint != NULL, A_TRAINING, "checkpoint"},
               {w->resume, A_TRAINING, "resume"},
               {w->log != NULL, A_TRAINING, "log"},
               {w->ranks != NULL, A_TRAINING, "ranks"},
               {w->quiet, A_TRAINING, "quiet"},
               {w->seed > 0, A_PASS | A_TRAINING, "seed"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].said && (all[i].of & (int)form) == 0)
            return all[i].name;
    for (size_t i = 0; i < TRAIN_OPTIONS && form != A_TRAINING; i++)
        if (w->training.given[i])
            return train_option_word(&train_options[i], text);
    return NULL;
}

/* Whether all is said that the form needs, and nothing else; sets the error. */
static bool check_words(const struct words *w, enum form form)
{
    char text[TRAIN_OPTION_NAME];
    const char *other = misplaced(w, form, text);
    if (other != NULL)
        yp_set_error(YP_INVALID, "--%s is no option of %s", other,
                     form == A_PLAN   ? "yieldpoint graph plan"
                     : form == A_PASS ? "a pass over given graphs"
                                      : "yieldpoint graph train");
    else if (form == A_PASS && w->graphs == NULL)
        yp_set_error(YP_INVALID, "--graphs is missing");
    else if (form == A_TRAINING && w->data == NULL)
        yp_set_error(YP_INVALID, "--data is missing");
    else if (w->resume && w->checkpoint == NULL)
        yp_set_error(YP_INVALID, "--resume needs --checkpoint");
    else if (w->resume && w->load != NULL)
        yp_set_error(YP_INVALID, "--resume goes on with the weights of the checkpoint: --load has "
                                 "no effect");
    else if (w->every > 0 && w->checkpoint == NULL)
        yp_set_error(YP_INVALID, "--checkpoint-every needs --checkpoint");
    else
        return train_words_check(&w->training) == YP_OK;
    return false;
}

const char *ypi_graph_work_name(enum graph_work work)
{
    static const char *const names[GRAPH_WORKS] = {"forward", "forward_backward", "train_step"};
    return names[work];
}

/* The sizes of a plan's batch. */
static enum yp_status take_sizes(const struct words *w, struct ypi_graph_request *r)
{
    const size_t graphs = r->sizes.graphs, players = w->players > 0 ? w->players : 22;
    const size_t most = INT32_MAX, pairs = players <= most ? players * (players - 1) : 0;
    if (graphs > most || players > most)
        return yp_set_error(YP_INVALID, "--%s is %zu: must be below 2^31",
                            graphs > most ? "batch" : "players", graphs > most ? graphs : players);
    if (w->edges > pairs)
        return yp_set_error(YP_INVALID,
                            "--edges is %zu: must be %zu at most, which is all between %zu players",
                            w->edges, pairs, players);
    const size_t edges = w->edges > 0 ? w->edges : pairs;
    r->sizes = (struct graph_batch){.graphs = graphs,
                                    .nodes = graphs * players,
                                    .edges = edges <= most ? graphs * edges : edges,
                                    .history = r->options.history,
                                    .future = r->options.future};
    return YP_OK;
}

static struct train_config training_of(const struct words *w)
{
    struct train_config config = w->training.config;
    config.seed = w->seed;
    config.batch = w->batch > 0 ? w->batch : 16;
    config.checkpoint = w->checkpoint;
    config.checkpoint_every = w->every;
    config.adamw.lr = w->lr > 0 ? w->lr : config.adamw.lr;
    config.sgd.lr = w->lr > 0 ? w->lr : config.sgd.lr;
    return config;
}

int ypi_graph_command(int argc, char **argv)
{
    const bool plan = argc > 1 && strcmp(argv[1], "plan") == 0;
    const bool train = argc > 1 && strcmp(argv[1], "train") == 0;
    const enum form form = plan ? A_PLAN : train ? A_TRAINING : A_PASS;
    struct graph_options usual;
    graph_sized("base", yp_device_cpu(), &usual);
    struct words w = {
        .pass = GRAPH_TRAIN_STEP, .losses = usual.losses, .training = {.config = train_defaults()}};
    const struct ypi_arguments arguments = {.options = options,
                                            .values = &w,
                                            .hint = "; `yieldpoint graph --help` tells them",
                                            .names = plan || train};
    if (!ypi_arguments_read(&arguments, argc, argv))
        return YPI_COMMAND_USAGE;
    if (w.help)
        return help();
    if (w.precision == NN_FP16)
        train_words_scale(&w.training);
    if (!check_words(&w, form))
        return usage();
    struct ypi_graph_request request = {.work = (enum graph_work)w.pass,
                                        .sizes = {.graphs = w.batch > 0 ? w.batch : 16},
                                        .limit = w.limit,
                                        .seed = w.seed,
                                        .graphs = w.graphs,
                                        .load = w.load,
                                        .dump = w.dump,
                                        .json = w.json,
                                        .data = w.data,
                                        .save = w.save,
                                        .log = w.log,
                                        .checkpoint = w.checkpoint,
                                        .ranks = w.ranks,
                                        .training = training_of(&w),
                                        .cache = (enum graph_cache)w.cache,
                                        .augment = w.augment,
                                        .resume = w.resume,
                                        .skip_bad_rows = w.skip_bad_rows,
                                        .quiet = w.quiet};
    if (form == A_PASS)
        request.work = w.gradients ? GRAPH_FORWARD_BACKWARD : GRAPH_FORWARD;
    if (take_model(&w, &request.options) != YP_OK)
        return usage();
    if (form == A_PLAN)
        return take_sizes(&w, &request) == YP_OK ? ypi_graph_print_plan(&request) : usage();
    request.sizes.history = request.options.history;
    request.sizes.future = request.options.future;
    return form == A_TRAINING ? ypi_graph_train(&request) : ypi_graph_pass(&request);
}
