/* The command line: which model, which pass. */
#include "models/lm/command/command.h"

#include "models/lm/command/internal.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "models/data/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the words are; 0 and NULL: not said. */
struct words {
    const char *size, *config, *load, *tokens, *dump;
    size_t vocabulary, d_model, d_ff, layers, heads;
    size_t batch, context;
    int precision, recompute, pass, device;
    uint64_t limit, seed;
    bool in_double, json, help;
};

#define AT(field) offsetof(struct words, field)
#define SIZE(field) .value = "N", .kind = YPI_OPTION_SIZE, .offset = AT(field)
#define FILE_(field) .value = "FILE", .kind = YPI_OPTION_WORD, .offset = AT(field)
#define CHOICE(field, words_) \
    .value = "WORD", .kind = YPI_OPTION_CHOICE, .offset = AT(field), .choices = (words_), \
    .allowed = "one of: " words_

enum { MODEL, PASS, RUN };
static const char *const titles[] = {"The model:\n", "\nThe pass:\n",
                                     "\nTo make it, without plan:\n"};

static const struct ypi_option options[] = {
    {"size", .value = "NAME", .kind = YPI_OPTION_WORD, .offset = AT(size),
     .help = "small, medium, large, xl or 2.7B; small"},
    {"config", FILE_(config),
     .help = "instead of --size: a JSON object with vocab_size, d_model, d_ff, num_layers,\n"
             "                             num_heads; rope_theta (10000), rms_norm_eps (1e-5),\n"
             "                             context_length and tie_word_embeddings (false) if it "
             "has them"},
    {"vocabulary", SIZE(vocabulary),
     .help = "another one than the size or the file has; the same:"},
    {"d-model", SIZE(d_model), .help = "width of the model"},
    {"d-ff", SIZE(d_ff), .help = "width of the gated unit"},
    {"layers", SIZE(layers), .help = "how many"},
    {"heads", SIZE(heads), .help = "of attention, in a layer"},
    {"batch", SIZE(batch), .group = PASS, .help = "sequences; 4"},
    {"context", SIZE(context), .group = PASS,
     .help = "tokens of each; the configuration's context_length, or 512"},
    {"precision", CHOICE(precision, "fp32 bf16"), .group = PASS,
     .help = "fp32, or bf16 with weights and gradients in fp32; fp32"},
    {"recompute", CHOICE(recompute, "none norms blocks"), .group = PASS,
     .help =
         "what is made again, not kept: none, norms (and gates), blocks (all of a layer); none"},
    {"pass", CHOICE(pass, "forward forward_backward train_step"), .group = PASS,
     .help = "forward, forward_backward or, of a plan, train_step; the last of them"},
    {"device", CHOICE(device, "cpu cuda"), .group = PASS,
     .help = "of a plan: cpu, or cuda, which need not be there; cpu"},
    {"limit", .value = "BYTES", .kind = YPI_OPTION_BYTES, .offset = AT(limit), .group = PASS,
     .help = "of memory: 80GB, or 16G, which is 16 GiB: whether the plan fits, and what would"},
    {"json", .kind = YPI_OPTION_FLAG, .offset = AT(json), .group = PASS, .help = "print JSON"},
    {"tokens", FILE_(tokens), .group = RUN,
     .help = "a .npy of whole numbers (batch, context + 1): inputs, and the labels one further"},
    {"load", FILE_(load), .group = RUN,
     .help = "weights, .safetensors with the names of a PyTorch state dict"},
    {"seed", .value = "N", .kind = YPI_OPTION_WORD64, .offset = AT(seed), .group = RUN,
     .allowed = "a whole number", .help = "of weights to start from, without --load; 0"},
    {"dump", FILE_(dump), .group = RUN,
     .help = "write logits, loss and gradients to this .safetensors file"},
    {"double", .kind = YPI_OPTION_FLAG, .offset = AT(in_double), .group = RUN,
     .help = "compute in double by plain loops, which is slow"},
    {"help", .kind = YPI_OPTION_FLAG, .offset = AT(help), .group = RUN, .help = "this"},
    {.letter = 'h', .kind = YPI_OPTION_FLAG, .offset = AT(help)},
    YPI_OPTIONS_END,
};

static int help(void)
{
    puts("yieldpoint lm plan [options]           what a Transformer language model would take\n"
         "yieldpoint lm --tokens FILE [options]  one pass over given tokens\n");
    ypi_options_print(options, titles);
    return ypi_flush();
}

/* -- the model --------------------------------------------------------------------------------- */

static int usage(void)
{
    fprintf(stderr, "yieldpoint: %s; `yieldpoint lm --help` tells all\n", yp_last_error());
    return YPI_COMMAND_USAGE;
}

static int take_model(const struct words *w, struct ypi_lm_request *request)
{
    struct ypi_lm_config file = {.context = 0};
    struct lm_config *config = &request->options.config;
    if (w->config != NULL && w->size != NULL) {
        yp_set_error(YP_INVALID, "--size and --config are both said");
        return usage();
    }
    if (w->config != NULL && ypi_lm_read_config(w->config, &file) != YP_OK)
        return ypi_file_error();
    *config = file.model;
    if (w->config == NULL && !lm_config_named(w->size != NULL ? w->size : "small", config))
        return usage();
    config->vocabulary = w->vocabulary > 0 ? w->vocabulary : config->vocabulary;
    config->d_model = w->d_model > 0 ? w->d_model : config->d_model;
    config->d_ff = w->d_ff > 0 ? w->d_ff : config->d_ff;
    config->layers = w->layers > 0 ? w->layers : config->layers;
    config->heads = w->heads > 0 ? w->heads : config->heads;
    request->longest = file.context;
    request->options.context = w->context > 0 ? w->context : file.context > 0 ? file.context : 512;
    if (file.context == 0 || w->context <= file.context)
        return YPI_COMMAND_OK;
    yp_set_error(YP_INVALID, "--context is %zu: context_length of %s allows %zu", w->context,
                 w->config, file.context);
    return usage();
}

/* -- the command ------------------------------------------------------------------------------- */

static enum yp_status check_dump(const struct words *w)
{
    const struct state_file inputs[] = {
        {"tokens", w->tokens}, {"load", w->load}, {"config", w->config}};
    return state_check_output((struct state_file){"dump", w->dump}, inputs,
                              sizeof inputs / sizeof *inputs);
}

int ypi_lm_command(int argc, char **argv)
{
    bool plan = argc > 1 && strcmp(argv[1], "plan") == 0;
    struct words w = {.batch = 4, .pass = LM_TRAIN_STEP};
    if (!plan)
        w.pass = LM_FORWARD_BACKWARD;
    const struct ypi_arguments arguments = {.options = options,
                                            .values = &w,
                                            .hint = "; `yieldpoint lm --help` tells them",
                                            .names = plan};
    if (!ypi_arguments_read(&arguments, argc, argv))
        return YPI_COMMAND_USAGE;
    if (w.help)
        return help();
    struct ypi_lm_request request = {.options = {.device = yp_device_cpu(),
                                                 .kind = w.device == 0 ? "cpu" : "cuda",
                                                 .batch = w.batch,
                                                 .precision = (enum nn_precision)w.precision,
                                                 .recompute = (enum lm_recompute)w.recompute,
                                                 .oracle = w.in_double},
                                     .work = (enum lm_work)w.pass,
                                     .limit = w.limit,
                                     .seed = w.seed,
                                     .load = w.load,
                                     .tokens = w.tokens,
                                     .dump = w.dump,
                                     .in_double = w.in_double,
                                     .json = w.json};
    int code = check_dump(&w) == YP_OK ? take_model(&w, &request) : usage();
    if (code != YPI_COMMAND_OK)
        return code;
    if (!plan && w.tokens == NULL) {
        yp_set_error(YP_INVALID, "--tokens is missing");
        return usage();
    }
    if (!plan && w.pass == LM_TRAIN_STEP) {
        yp_set_error(YP_INVALID, "--pass is train_step, which changes weights: a pass over given "
                                 "tokens is forward or forward_backward");
        return usage();
    }
    if (!plan && w.device != 0) {
        yp_set_error(YP_INVALID, "--device is cuda: a pass over given tokens is the CPU's");
        return usage();
    }
    return plan ? ypi_lm_print_plan(&request) : ypi_lm_pass(&request);
}
