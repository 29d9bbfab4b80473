/* The names, shapes and first values of a vision transformer's tensors. */
#include "models/refiner/vit.h"

#include "base/numbers/splitmix.h"
#include "base/random/stream.h"
#include "models/nn/start.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Axes have a letter each, as size_of() says. */
struct entry {
    const char *name, *shape;
    enum vit_part part;
    enum start { ZERO, ONE, NORMAL, UNIFORM, TABLE } start;
    const char *fan; /* of UNIFORM: the inputs of an output */
};

static const struct entry first[] = {{"input_proj.weight", "bc11", VIT_PROJECTION, UNIFORM, "c"},
                                     {"input_proj.bias", "b", VIT_PROJECTION, UNIFORM, "c"},
                                     {"patch_embed.proj.weight", "dbpp", VIT_ENCODER, NORMAL, NULL},
                                     {"patch_embed.proj.bias", "d", VIT_ENCODER, ZERO, NULL},
                                     {"cls_token", "11d", VIT_ENCODER, NORMAL, NULL},
                                     {"pos_embed", "1nd", VIT_POSITIONS, TABLE, NULL},
                                     {.name = NULL}},
                          block[] = {{"norm1.weight", "d", VIT_ENCODER, ONE, NULL},
                                     {"norm1.bias", "d", VIT_ENCODER, ZERO, NULL},
                                     {"attn.qkv.weight", "td", VIT_ENCODER, NORMAL, NULL},
                                     {"attn.qkv.bias", "t", VIT_ENCODER, ZERO, NULL},
                                     {"attn.qkv.lora_A", "rd", VIT_LORA, UNIFORM, "d"},
                                     {"attn.qkv.lora_B", "tr", VIT_LORA, ZERO, NULL},
                                     {"attn.proj.weight", "dd", VIT_ENCODER, NORMAL, NULL},
                                     {"attn.proj.bias", "d", VIT_ENCODER, ZERO, NULL},
                                     {"attn.proj.lora_A", "rd", VIT_LORA, UNIFORM, "d"},
                                     {"attn.proj.lora_B", "dr", VIT_LORA, ZERO, NULL},
                                     {"norm2.weight", "d", VIT_ENCODER, ONE, NULL},
                                     {"norm2.bias", "d", VIT_ENCODER, ZERO, NULL},
                                     {"mlp.fc1.weight", "fd", VIT_ENCODER, NORMAL, NULL},
                                     {"mlp.fc1.bias", "f", VIT_ENCODER, ZERO, NULL},
                                     {"mlp.fc1.lora_A", "rd", VIT_LORA, UNIFORM, "d"},
                                     {"mlp.fc1.lora_B", "fr", VIT_LORA, ZERO, NULL},
                                     {"mlp.fc2.weight", "df", VIT_ENCODER, NORMAL, NULL},
                                     {"mlp.fc2.bias", "d", VIT_ENCODER, ZERO, NULL},
                                     {"mlp.fc2.lora_A", "rf", VIT_LORA, UNIFORM, "f"},
                                     {"mlp.fc2.lora_B", "dr", VIT_LORA, ZERO, NULL},
                                     {.name = NULL}},
                          last[] = {{"norm.weight", "d", VIT_ENCODER, ONE, NULL},
                                    {"norm.bias", "d", VIT_ENCODER, ZERO, NULL},
                                    {.name = NULL}},
                          stem[] = {{"stem.weight", "hd11", VIT_HEAD, UNIFORM, "d"},
                                    {"stem.bias", "h", VIT_HEAD, UNIFORM, "d"},
                                    {.name = NULL}},
                          convnext[] = {{"dwconv.weight", "h177", VIT_HEAD, UNIFORM, "77"},
                                        {"dwconv.bias", "h", VIT_HEAD, UNIFORM, "77"},
                                        {"norm.weight", "h", VIT_HEAD, ONE, NULL},
                                        {"norm.bias", "h", VIT_HEAD, ZERO, NULL},
                                        {"pwconv1.weight", "wh", VIT_HEAD, UNIFORM, "h"},
                                        {"pwconv1.bias", "w", VIT_HEAD, UNIFORM, "h"},
                                        {"pwconv2.weight", "hw", VIT_HEAD, UNIFORM, "w"},
                                        {"pwconv2.bias", "h", VIT_HEAD, UNIFORM, "w"},
                                        {.name = NULL}},
                          end[] = {{"out.weight", "hh11", VIT_HEAD, UNIFORM, "h"},
                                   {"out.bias", "h", VIT_HEAD, UNIFORM, "h"},
                                   {.name = NULL}};

static size_t size_of(const struct vit_options *o, char axis)
{
    switch (axis) {
    case '1':
        return 1;
    case '7':
        return 7;
    case 'b':
        return o->bands;
    case 'c':
        return o->channels;
    case 'd':
        return o->width;
    case 'f':
        return 4 * o->width;
    case 'h':
        return o->head_width;
    case 'n':
        return (o->tile / o->patch) * (o->tile / o->patch) + 1;
    case 'p':
        return o->patch;
    case 'r':
        return o->rank;
    case 't':
        return 3 * o->width;
    default:
        return 4 * o->head_width; /* 'w' */
    }
}

static size_t product_of(const struct vit_options *o, const char *axes)
{
    size_t product = 1;
    for (; axes != NULL && *axes != '\0'; axes++)
        product *= size_of(o, *axes);
    return product;
}

/* -- shapes ----------------------------------------------------------------------------------- */

struct group {
    const char *prefix;
    bool numbered; /* each of the times has its number behind the prefix */
    const struct entry *entries;
    size_t times;
};

/* Whether an entry of a group is, the `number`-th time. */
static bool is_trained(const struct vit_options *o, const struct group *group, size_t number,
                       const struct entry *entry)
{
    if (entry->part == VIT_ENCODER)
        return group->entries == block && !o->freeze_all && number + o->trained >= o->depth;
    return entry->part != VIT_POSITIONS;
}

static void describe(const struct vit_options *o, const struct group *group, size_t number,
                     const struct entry *entry, struct vit_tensor *to)
{
    static const int as_is[] = {0, 1, 2, 3}, image[] = {0, 2, 3, 1}, by_channel[] = {2, 3, 0, 1};
    const int axes = (int)strlen(entry->shape);
    const int *order = strcmp(entry->shape, "h177") == 0 ? by_channel : axes == 4 ? image : as_is;
    *to = (struct vit_tensor){.part = entry->part,
                              .axes = axes,
                              .count = product_of(o, entry->shape),
                              .trained = is_trained(o, group, number, entry),
                              .thirds = entry->shape[0] == 't' ? 3 : 1,
                              .start = entry->start,
                              .fan = product_of(o, entry->fan)};
    to->int8 = !to->trained && o->frozen != VIT_FLOAT && group->entries == block && axes == 2;
    for (int i = 0; i < axes; i++) {
        to->shape[i] = size_of(o, entry->shape[i]);
        to->order[i] = order[i];
    }
    if (group->numbered)
        snprintf(to->name, sizeof to->name, "%s%zu.%s", group->prefix, number, entry->name);
    else
        snprintf(to->name, sizeof to->name, "%s%s", group->prefix, entry->name);
}

bool vit_tensor(const struct vit_options *options, size_t i, struct vit_tensor *to)
{
    const struct group groups[] = {{"", false, first, 1},
                                   {"blocks.", true, block, options->depth},
                                   {"", false, last, 1},
                                   {"head.", false, stem, 1},
                                   {"head.blocks.", true, convnext, options->head_blocks},
                                   {"head.", false, end, 1}};
    size_t offset = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t number = 0; number < groups[g].times; number++)
            for (const struct entry *entry = groups[g].entries; entry->name != NULL; entry++) {
                if (entry->part == VIT_LORA && options->rank == 0)
                    continue;
                const bool trained = is_trained(options, &groups[g], number, entry);
                if (i-- == 0) {
                    describe(options, &groups[g], number, entry, to);
                    to->offset = trained ? offset : 0;
                    return true;
                }
                offset += trained ? product_of(options, entry->shape) : 0;
            }
    return false;
}

size_t vit_elements(const struct vit_options *options, enum vit_part part)
{
    struct vit_tensor t;
    size_t count = 0;
    for (size_t i = 0; vit_tensor(options, i, &t); i++)
        count += (part == VIT_PARTS ? t.trained : t.part == part) ? t.count : 0;
    return count;
}

/* -- values ------------------------------------------------------------------------------------ */

/* Sines, then cosines, of `at` times falling frequencies, (half). */
static void waves(double at, size_t half, double *out)
{
    for (size_t i = 0; i < half / 2; i++) {
        const double turn = at * pow(10000, -2.0 * (double)i / (double)half);
        out[i] = sin(turn);
        out[half / 2 + i] = cos(turn);
    }
}

static void positions(const struct vit_options *o, double *out)
{
    const size_t side = o->tile / o->patch, d = o->width;
    memset(out, 0, d * sizeof *out);
    for (size_t i = 0; i < side * side; i++) {
        const size_t column = i % side, row = i / side;
        waves((double)column, d / 2, out + (i + 1) * d);
        waves((double)row, d / 2, out + (i + 1) * d + d / 2);
    }
}

enum yp_status vit_draw(const struct vit_options *options, size_t i, uint64_t seed, double *values)
{
    enum { CHUNK = 1024 };
    struct vit_tensor t;
    if (!vit_tensor(options, i, &t))
        return yp_set_error(YP_INVALID, "vit_draw: there is no tensor %zu", i);
    if (t.start == TABLE)
        positions(options, values);
    const struct ypi_stream stream = {ypi_mix64(seed + YPI_GOLDEN), i};
    float some[CHUNK];
    for (size_t at = 0; at < t.count && t.start != TABLE; at += CHUNK) {
        const size_t count = t.count - at < CHUNK ? t.count - at : CHUNK;
        if (t.start == UNIFORM)
            nn_start_uniform(stream, at, count, (float)(1 / sqrt((double)t.fan)), some);
        if (t.start == NORMAL)
            ypi_random_normals(YPI_LEVEL_AUTO, stream, at, count, some);
        for (size_t k = 0; k < count; k++)
            values[at + k] = t.start == UNIFORM  ? (double)some[k]
                             : t.start == NORMAL ? 0.02 * (double)some[k]
                                                 : t.start == ONE;
    }
    return YP_OK;
}
