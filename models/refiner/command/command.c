/* The command line of a sweep. */
#include "models/refiner/command/command.h"

#include "models/refiner/command/pass.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "device/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the words are. */
struct words {
    struct ypi_refiner_sizes tiles, batches;
    struct ypi_refiner_sizes bands;
    const char *output, *load, *input, *target, *dump, *cube;
    size_t width, overlap; /* 0, SIZE_MAX: not said */
    struct vit_options real;
    int frozen, model, mode, precision, device, warmup, iterations; /* -1: not said */
    uint64_t limit, seed;
    bool one_process, quiet, gradients, in_double, help;
};

/* A whole number, 0 too. */
static char *read_count(void *values, const struct ypi_option *option, const char *text)
{
    uint64_t count = 0;
    if (!ypi_parse_u64(text, &count) || count >= SIZE_MAX)
        return ypi_strdup("a whole number");
    *(size_t *)(void *)((char *)values + option->offset) = (size_t)count;
    return NULL;
}

/* "256,384", and more words of the same. */
static char *read_sizes(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_refiner_sizes *sizes = (void *)((char *)values + option->offset);
    for (const char *at = text; *at != '\0' || at == text;) {
        const size_t length = strcspn(at, ",");
        char *number = ypi_format("%.*s", (int)length, at);
        uint64_t size = 0;
        const bool ok = ypi_parse_u64(number, &size) && size > 0 && size <= SIZE_MAX;
        free(number);
        if (!ok || sizes->count == YPI_REFINER_SIZES)
            return ypi_format("whole numbers of 1 at least, at most %d, separated by commas",
                              (int)YPI_REFINER_SIZES);
        sizes->list[sizes->count++] = (size_t)size;
        at += length;
        if (*at == ',' && *++at == '\0')
            return ypi_strdup("whole numbers, with one behind the last comma");
    }
    return NULL;
}

#define AT(field) offsetof(struct words, field)
#define SIZES(field) \
    .value = "N,...", .kind = YPI_OPTION_OWN, .offset = AT(field), .read = read_sizes, \
    .several = true
#define CHOICE(field, words_) \
    .value = "WORD", .kind = YPI_OPTION_CHOICE, .offset = AT(field), .choices = (words_), \
    .allowed = "one of: " words_
#define COUNT(field, least) \
    .value = "N", .kind = YPI_OPTION_INT, .offset = AT(field), .min = (least), .max = 1000000

#define SIZE(field) .value = "N", .kind = YPI_OPTION_SIZE, .offset = AT(field)
#define FROM_0(field) .value = "N", .kind = YPI_OPTION_OWN, .offset = AT(field), .read = read_count
#define FLAG(field) .kind = YPI_OPTION_FLAG, .offset = AT(field)
#define FILE_(field) .value = "FILE", .kind = YPI_OPTION_WORD, .offset = AT(field)

/* In the order of --model's words. */
static const struct ypi_refiner_model *const models[] = {&ypi_refiner_mock, &ypi_refiner_real};

enum { SWEEP, MODEL, REAL, PROCESS, PASS };
static const char *const titles[] = {"What is measured:\n", "\nThe model:\n", "\nThe model real:\n",
                                     "\nHow:\n",
                                     "\nA pass over given images, in place of a sweep:\n"};

static const struct ypi_option options[] = {
    {"tile-sizes", SIZES(tiles),
     .help = "sides of tiles in pixels, of the mock multiples of 16; 256,384"},
    {"batch-sizes", SIZES(batches), .help = "tiles of a pass; 1,2,4"},
    {"mode", CHOICE(mode, "inference train"),
     .help = "inference, or train: forward, backward and AdamW's update; inference"},
    {"device", CHOICE(device, "cpu cuda"), .help = "cuda where there is one, else cpu"},
    {"precision", CHOICE(precision, "fp32 bf16"),
     .help = "fp32, or bf16 with weights and gradients in fp32; fp32"},
    {"model", CHOICE(model, "mock real"), .group = MODEL,
     .help = "mock, a convolutional network that stands for a large one, or real, a vision\n"
             "                             transformer with a convolutional head; mock"},
    {"width", SIZE(width), .group = MODEL,
     .help = "channels of the mock's first layer, 64, or of the transformer, 1280"},
    {"seed", .value = "N", .kind = YPI_OPTION_WORD64, .offset = AT(seed), .group = MODEL,
     .allowed = "a whole number", .help = "of weights and images; 0"},
    {"depth", SIZE(real.depth), .group = REAL, .help = "blocks; 32"},
    {"heads", SIZE(real.heads), .group = REAL, .help = "of attention, in a block; 16"},
    {"patch", SIZE(real.patch), .group = REAL, .help = "side of a patch in pixels; 14"},
    {"bands", SIZE(real.bands), .group = REAL, .help = "that 4 channels become; 6"},
    {"trained", FROM_0(real.trained), .group = REAL,
     .help = "blocks at the end that are trained as a whole; 2"},
    {"freeze-all", FLAG(real.freeze_all), .group = REAL,
     .help = "they are frozen as the others are"},
    {"rank", FROM_0(real.rank), .group = REAL, .help = "of the low-rank changes; 8"},
    {"alpha", .value = "A", .kind = YPI_OPTION_REAL, .offset = AT(real.alpha), .max = 1e6,
     .group = REAL, .help = "their scale times the rank; 16"},
    {"frozen", CHOICE(frozen, "int8 float int8-rows"), .group = REAL,
     .help = "matrices of frozen blocks: int8 with a scale by output, float, or int8-rows,\n"
             "                             with activations in 8 bits where they are multiplied;\n"
             "                             int8, with --precision bf16 float"},
    {"recompute", FLAG(real.recompute), .group = REAL,
     .help = "the backward pass makes activations of a block again"},
    {"feature", SIZE(real.feature), .group = REAL,
     .help = "the head sees the output of so many blocks; all of them"},
    {"class-token", FLAG(real.class_token), .group = REAL,
     .help = "the head's grid has the class token, too"},
    {"head-width", SIZE(real.head_width), .group = REAL,
     .help = "channels of the head and of the output; 256"},
    {"head-blocks", FROM_0(real.head_blocks), .group = REAL, .help = "of the head; 4"},
    {"head-falls-back", FLAG(real.head_falls_back), .group = REAL,
     .help = "the head runs on the CPU where the device has no memory for it"},
    {"output", FILE_(output), .group = PROCESS,
     .help = "add a row of CSV for each configuration to this file"},
    {"warmup", COUNT(warmup, 0), .group = PROCESS,
     .help = "iterations that are not timed; 10, of train 5"},
    {"iterations", COUNT(iterations, 1), .group = PROCESS,
     .help = "iterations that are timed; 50, of train 20"},
    {"memory-limit", .value = "BYTES", .kind = YPI_OPTION_BYTES, .offset = AT(limit),
     .group = PROCESS, .help = "of the device's memory: 80GB, or 16G, which is 16 GiB"},
    {"one-process", .kind = YPI_OPTION_FLAG, .offset = AT(one_process), .group = PROCESS,
     .help = "all configurations in one process, whose memory is compared between them"},
    {"quiet", .kind = YPI_OPTION_FLAG, .offset = AT(quiet), .group = PROCESS,
     .help = "no progress"},
    {"input", FILE_(input), .group = PASS,
     .help = "a .npy of floats (batch, channels, tile, tile)"},
    {"cube", FILE_(cube), .group = PASS,
     .help = "or a cube, ENVI or .npy, in tiles of one size, --batch-sizes of them at once (8)"},
    {"cube-bands", SIZES(bands), .group = PASS, .help = "of it, from 1; 1,2,3,4"},
    {"overlap", FROM_0(overlap), .group = PASS,
     .help = "of its tiles, at least, in pixels; an eighth of a tile"},
    {"load", FILE_(load), .group = PASS,
     .help = "weights, .safetensors with the names and shapes of a PyTorch state dict; else those\n"
             "                             of --seed"},
    {"dump", FILE_(dump), .group = PASS,
     .help = "write the output, and with --gradients losses, gradients and running\n"
             "                             statistics to this .safetensors file"},
    {"gradients", .kind = YPI_OPTION_FLAG, .offset = AT(gradients), .group = PASS,
     .help = "a pass of training from the same weights, too"},
    {"target", FILE_(target), .group = PASS,
     .help = "a .npy of the output's shape, for --gradients; zeros"},
    {"double", .kind = YPI_OPTION_FLAG, .offset = AT(in_double), .group = PASS,
     .help = "compute in double by plain loops, which is slow"},
    {"help", .kind = YPI_OPTION_FLAG, .offset = AT(help), .group = PASS, .help = "this"},
    {.letter = 'h', .kind = YPI_OPTION_FLAG, .offset = AT(help)},
    YPI_OPTIONS_END,
};

static int help(void)
{
    puts(
        "yieldpoint refiner [options]               time and memory by sizes of tiles and batches\n"
        "yieldpoint refiner --input FILE [options]  one pass over given images\n"
        "yieldpoint refiner --cube FILE [options]   a cube in tiles that overlap\n"
        "yieldpoint refiner plan [options]          memory of what a sweep would measure\n");
    ypi_options_print(options, titles);
    puts(
        "\nExit codes: 0 measured, or out of memory; 1 one process kept memory, or a result of a\n"
        "pass is not finite; 3 a file, or a configuration failed; 4 wrong command line, or shapes\n"
        "of files; 130 or 143 interrupted by SIGINT or SIGTERM.");
    return ypi_flush();
}

/* An error of an option's field as one of the command line: "mock_options.tile is" becomes
 * "--tile-sizes is". */
static int usage(void)
{
    static const char *const names[][2] = {{"tile ", "tile-sizes "},
                                           {"batch ", "batch-sizes "},
                                           {"width ", "width "},
                                           {"depth ", "depth "},
                                           {"heads ", "heads "},
                                           {"head_width ", "head-width "},
                                           {"feature ", "feature "},
                                           {"frozen", "frozen"},
                                           {"patch ", "patch "},
                                           {"bands ", "bands "},
                                           {"rank ", "rank "},
                                           {"trained ", "trained "},
                                           {"head_blocks ", "head-blocks "}};
    const char *text = yp_last_error(), *dot = strstr(text, "_options.");
    const char *field = dot != NULL ? dot + strlen("_options.") : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(field, names[i][0], strlen(names[i][0])) == 0) {
            fprintf(stderr, "yieldpoint: --%s%s\n", names[i][1], field + strlen(names[i][0]));
            return YPI_COMMAND_USAGE;
        }
    fprintf(stderr, "yieldpoint: %s; `yieldpoint refiner --help` tells all\n", text);
    return YPI_COMMAND_USAGE;
}

/* -- the command ------------------------------------------------------------------------------- */

static void take_defaults(struct words *w)
{
    static const struct ypi_refiner_sizes tiles = {{256, 384}, 2}, batches = {{1, 2, 4}, 3};
    if (w->tiles.count == 0)
        w->tiles = tiles;
    if (w->batches.count == 0)
        w->batches = batches;
    if (w->warmup < 0)
        w->warmup = w->mode == 0 ? 10 : 5;
    if (w->iterations < 0)
        w->iterations = w->mode == 0 ? 50 : 20;
}

/* The device that was asked for, or that is there. */
static enum yp_status take_device(const struct words *w, struct ypi_refiner_work *work)
{
    const char *absent = w->device != 0 ? ypi_device_absent("cuda") : NULL;
    const bool cuda = w->device == 1 || (w->device < 0 && absent == NULL);
    work->kind = cuda ? "cuda" : "cpu";
    return cuda && absent != NULL ? yp_set_error(YP_UNSUPPORTED, "--device is cuda: %s", absent)
                                  : YP_OK;
}

static int sweep(const struct ypi_refiner_request *request, bool plan)
{
    struct ypi_refiner_plan *plans = ypi_calloc(ypi_refiner_count(request), sizeof *plans);
    const enum yp_status status = ypi_refiner_plan_all(request, plans);
    if (status == YP_OK && plan)
        ypi_refiner_print_plans(request, plans);
    const int code = status == YP_OK && plan ? ypi_flush()
                     : status == YP_OK       ? ypi_refiner_sweep(request, plans)
                     : status == YP_IO       ? ypi_file_error()
                                             : usage();
    free(plans);
    return code;
}

/* Options of a pass and of a sweep are not for each other. */
static enum yp_status check_words(const struct words *w, const struct vit_options *standard,
                                  bool plan)
{
    if (w->model == 0 && (w->frozen >= 0 || memcmp(&w->real, standard, sizeof *standard) != 0))
        return yp_set_error(YP_INVALID, "--model is mock: options of the model real are not its");
    if (plan && (w->input != NULL || w->output != NULL || w->warmup >= 0 || w->iterations >= 0 ||
                 w->one_process))
        return yp_set_error(YP_INVALID, "plan: measures nothing, and has no input, output, "
                                        "iterations and processes");
    if (w->output != NULL && (*w->output == '\0' || strcmp(w->output, "-") == 0))
        return yp_set_error(YP_INVALID, "--output is '%s': must be the path of a file", w->output);
    if (w->cube == NULL && (w->bands.count > 0 || w->overlap != SIZE_MAX))
        return yp_set_error(YP_INVALID, "--cube is missing: --cube-bands and --overlap are of it");
    if (w->cube != NULL &&
        (plan || w->input != NULL || w->output != NULL || w->target != NULL || w->gradients ||
         w->in_double || w->mode > 0 || w->warmup >= 0 || w->iterations >= 0 || w->limit > 0 ||
         w->one_process || w->tiles.count > 1 || w->batches.count > 1 || w->device == 1))
        return yp_set_error(YP_INVALID, "--cube is said: it is inference on the CPU, with "
                                        "one size of tiles and one of batches, and no sweep");
    if (w->cube != NULL)
        return YP_OK;
    if (w->input == NULL &&
        (w->load != NULL || w->dump != NULL || w->target != NULL || w->gradients || w->in_double))
        return yp_set_error(YP_INVALID, "--input is missing: --load, --dump, --target, --gradients "
                                        "and --double are of a pass over given images");
    if (w->input != NULL &&
        (w->tiles.count > 0 || w->batches.count > 0 || w->output != NULL || w->warmup >= 0 ||
         w->iterations >= 0 || w->limit > 0 || w->mode > 0 || w->one_process))
        return yp_set_error(YP_INVALID, "--input is said: a pass over given images has no sizes, "
                                        "mode, iterations, limit, processes and rows of a sweep");
    if (w->in_double && w->precision == 1)
        return yp_set_error(YP_INVALID, "--double is said with --precision bf16");
    if (w->target != NULL && !w->gradients)
        return yp_set_error(YP_INVALID, "--target is said without --gradients");
    if (w->input != NULL && w->device == 1)
        return yp_set_error(YP_INVALID, "--device is cuda: a pass over given images is the CPU's");
    return YP_OK;
}

static enum yp_status check_dump(const struct words *w)
{
    const struct state_file inputs[] = {
        {"input", w->input}, {"cube", w->cube}, {"target", w->target}, {"load", w->load}};
    return state_check_output((struct state_file){"dump", w->dump}, inputs,
                              sizeof inputs / sizeof *inputs);
}

static int pass(const struct words *w, const struct ypi_refiner_work *work)
{
    if (check_dump(w) != YP_OK)
        return usage();
    struct ypi_refiner_pass given = {.work = *work,
                                     .load = w->load,
                                     .input = w->input,
                                     .target = w->target,
                                     .dump = w->dump,
                                     .gradients = w->gradients,
                                     .wide = w->in_double};
    given.work.kind = "cpu";
    if (w->cube == NULL)
        return ypi_refiner_pass(&given, models[w->model]);
    static const struct ypi_refiner_sizes first = {{1, 2, 3, 4}, 4};
    const size_t patch = w->model == 1 ? work->real.patch : 1; /* 256, or a multiple of it below */
    given.work.tile = w->tiles.count > 0 ? w->tiles.list[0]
                      : patch < 256      ? 256 - 256 % patch
                                         : patch;
    given.work.batch = w->batches.count > 0 ? w->batches.list[0] : 8;
    const struct ypi_refiner_cube cube = {.path = w->cube,
                                          .bands = w->bands.count > 0 ? w->bands : first,
                                          .overlap = w->overlap != SIZE_MAX ? w->overlap
                                                                            : given.work.tile / 8,
                                          .at_once = given.work.batch};
    return ypi_refiner_cube(&given, models[w->model], &cube);
}

/* The real model's options, but for what a work says. */
static struct vit_options real_of(const struct words *w)
{
    static const enum vit_frozen ways[] = {VIT_INT8_WEIGHTS, VIT_FLOAT, VIT_INT8_ROWS};
    struct vit_options o = w->real;
    o.width = w->width > 0 ? w->width : o.width;
    if (o.trained == vit_full(o.device).trained && o.depth < o.trained)
        o.trained = o.depth;
    o.frozen = w->frozen >= 0 ? ways[w->frozen] : w->precision == 1 ? VIT_FLOAT : VIT_INT8_WEIGHTS;
    return o;
}

int ypi_refiner_command(int argc, char **argv)
{
    const bool plan = argc > 1 && strcmp(argv[1], "plan") == 0;
    const struct vit_options standard = vit_full(yp_device_cpu());
    struct words w = {
        .overlap = SIZE_MAX, .frozen = -1, .device = -1, .warmup = -1, .iterations = -1};
    const struct ypi_arguments arguments = {.options = options,
                                            .values = &w,
                                            .hint = "; `yieldpoint refiner --help` tells them",
                                            .names = plan};
    memcpy(&w.real, &standard, sizeof standard); /* with what lies between its fields */
    if (!ypi_arguments_read(&arguments, argc, argv))
        return YPI_COMMAND_USAGE;
    if (w.help)
        return help();
    if (check_words(&w, &standard, plan) != YP_OK)
        return usage();
    const struct ypi_refiner_work work = {.device = yp_device_cpu(),
                                          .precision = (enum nn_precision)w.precision,
                                          .train = w.mode == 1,
                                          .width = w.width > 0 ? w.width : MOCK_WIDTH,
                                          .seed = w.seed,
                                          .real = real_of(&w)};
    if (w.input != NULL || w.cube != NULL)
        return pass(&w, &work);
    take_defaults(&w);
    struct ypi_refiner_request request = {.model = models[w.model],
                                          .work = work,
                                          .tiles = w.tiles,
                                          .batches = w.batches,
                                          .warmup = (size_t)w.warmup,
                                          .iterations = (size_t)w.iterations,
                                          .limit = w.limit,
                                          .output = w.output,
                                          .one_process = w.one_process,
                                          .quiet = w.quiet};
    if (plan)
        request.work.kind = w.device == 1 ? "cuda" : "cpu"; /* it need not be there */
    else if (take_device(&w, &request.work) != YP_OK)
        return usage();
    return sweep(&request, plan);
}
