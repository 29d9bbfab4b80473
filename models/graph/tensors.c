/* Names, shapes and first values of the graph model's tensors. */
#include "models/graph/model.h"

#include "base/numbers/splitmix.h"
#include "base/random/stream.h"
#include "models/nn/start.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Axes have a letter each, as size_of() says; # in a name is the number of the layer. */
struct entry {
    const char *name, *shape;
    enum graph_part part;
    enum start { ZERO, ONE, NORMAL, UNIFORM, GLOROT } start;
    const char *fan; /* of UNIFORM: inputs of an output */
};

static const struct entry
    embedding[] = {{"encoder.embedding.weight", "da", GRAPH_ENCODER, UNIFORM, "a"},
                   {"encoder.embedding.bias", "d", GRAPH_ENCODER, UNIFORM, "a"},
                   {"encoder.role_emb.weight", "Rd", GRAPH_ENCODER, NORMAL, NULL},
                   {"encoder.side_emb.weight", "Se", GRAPH_ENCODER, NORMAL, NULL},
                   {"encoder.context_encoder.weight", "dc", GRAPH_ENCODER, UNIFORM, "c"},
                   {"encoder.context_encoder.bias", "d", GRAPH_ENCODER, UNIFORM, "c"},
                   {"encoder.formation_emb.weight", "Od", GRAPH_ENCODER, NORMAL, NULL},
                   {"encoder.alignment_emb.weight", "Ad", GRAPH_ENCODER, NORMAL, NULL},
                   {"encoder.temporal_emb.weight", "Fd", GRAPH_ENCODER, NORMAL, NULL},
                   {.name = NULL}},
    history[] = {{"encoder.history_encoder.lstm.weight_ih_l0", "fm", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.lstm.weight_hh_l0", "fd", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.lstm.bias_ih_l0", "f", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.lstm.bias_hh_l0", "f", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.lstm.weight_ih_l1", "fd", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.lstm.weight_hh_l1", "fd", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.lstm.bias_ih_l1", "f", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.lstm.bias_hh_l1", "f", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.output_proj.weight", "dd", GRAPH_ENCODER, UNIFORM, "d"},
                 {"encoder.history_encoder.output_proj.bias", "d", GRAPH_ENCODER, UNIFORM, "d"},
                 {.name = NULL}},
    layer[] = {{"encoder.gat_layers.#.lin_l.weight", "qd", GRAPH_ENCODER, GLOROT, NULL},
               {"encoder.gat_layers.#.lin_l.bias", "q", GRAPH_ENCODER, UNIFORM, "d"},
               {"encoder.gat_layers.#.lin_r.weight", "qd", GRAPH_ENCODER, GLOROT, NULL},
               {"encoder.gat_layers.#.lin_r.bias", "q", GRAPH_ENCODER, UNIFORM, "d"},
               {"encoder.gat_layers.#.lin_edge.weight", "q5", GRAPH_ENCODER, GLOROT, NULL},
               {"encoder.gat_layers.#.att", "1nd", GRAPH_ENCODER, GLOROT, NULL},
               {"encoder.gat_layers.#.bias", "d", GRAPH_ENCODER, ZERO, NULL},
               {"encoder.layer_norms.#.weight", "d", GRAPH_ENCODER, ONE, NULL},
               {"encoder.layer_norms.#.bias", "d", GRAPH_ENCODER, ZERO, NULL},
               {.name = NULL}},
    social[] = {{"encoder.social_pooling.interaction_mlp.0.weight", "dw", GRAPH_ENCODER, UNIFORM,
                 "w"},
                {"encoder.social_pooling.interaction_mlp.0.bias", "d", GRAPH_ENCODER, UNIFORM, "w"},
                {"encoder.social_pooling.interaction_mlp.3.weight", "dd", GRAPH_ENCODER, UNIFORM,
                 "d"},
                {"encoder.social_pooling.interaction_mlp.3.bias", "d", GRAPH_ENCODER, UNIFORM, "d"},
                {"encoder.social_pooling.gate.weight", "dd", GRAPH_ENCODER, UNIFORM, "d"},
                {"encoder.social_pooling.gate.bias", "d", GRAPH_ENCODER, UNIFORM, "d"},
                {"encoder.final_norm.weight", "d", GRAPH_ENCODER, ONE, NULL},
                {"encoder.final_norm.bias", "d", GRAPH_ENCODER, ZERO, NULL},
                {.name = NULL}},
    scene[] = {{"scene_encoder.inducing_points", "id", GRAPH_SCENE, NORMAL, NULL},
               {"scene_encoder.cross_attention.in_proj_weight", "td", GRAPH_SCENE, GLOROT, NULL},
               {"scene_encoder.cross_attention.in_proj_bias", "t", GRAPH_SCENE, ZERO, NULL},
               {"scene_encoder.cross_attention.out_proj.weight", "dd", GRAPH_SCENE, UNIFORM, "d"},
               {"scene_encoder.cross_attention.out_proj.bias", "d", GRAPH_SCENE, ZERO, NULL},
               {"scene_encoder.pool_attention.weight", "1d", GRAPH_SCENE, UNIFORM, "d"},
               {"scene_encoder.pool_attention.bias", "1", GRAPH_SCENE, UNIFORM, "d"},
               {"scene_encoder.output_proj.0.weight", "dd", GRAPH_SCENE, UNIFORM, "d"},
               {"scene_encoder.output_proj.0.bias", "d", GRAPH_SCENE, UNIFORM, "d"},
               {"scene_encoder.output_proj.2.weight", "dd", GRAPH_SCENE, UNIFORM, "d"},
               {"scene_encoder.output_proj.2.bias", "d", GRAPH_SCENE, UNIFORM, "d"},
               {.name = NULL}},
    queries[] = {{"decoder.mode_prob_head.weight", "kd", GRAPH_DECODER, UNIFORM, "d"},
                 {"decoder.mode_prob_head.bias", "k", GRAPH_DECODER, UNIFORM, "d"},
                 {"decoder.mode_emb.weight", "kd", GRAPH_DECODER, NORMAL, NULL},
                 {"decoder.query_pos_emb", "1sd", GRAPH_DECODER, NORMAL, NULL},
                 {.name = NULL}},
    block[] = {{"decoder.transformer.layers.#.self_attn.in_proj_weight", "td", GRAPH_DECODER,
                GLOROT, NULL},
               {"decoder.transformer.layers.#.self_attn.in_proj_bias", "t", GRAPH_DECODER, ZERO,
                NULL},
               {"decoder.transformer.layers.#.self_attn.out_proj.weight", "dd", GRAPH_DECODER,
                UNIFORM, "d"},
               {"decoder.transformer.layers.#.self_attn.out_proj.bias", "d", GRAPH_DECODER, ZERO,
                NULL},
               {"decoder.transformer.layers.#.norm1.weight", "d", GRAPH_DECODER, ONE, NULL},
               {"decoder.transformer.layers.#.norm1.bias", "d", GRAPH_DECODER, ZERO, NULL},
               {"decoder.transformer.layers.#.linear1.weight", "fd", GRAPH_DECODER, UNIFORM, "d"},
               {"decoder.transformer.layers.#.linear1.bias", "f", GRAPH_DECODER, UNIFORM, "d"},
               {"decoder.transformer.layers.#.linear2.weight", "df", GRAPH_DECODER, UNIFORM, "f"},
               {"decoder.transformer.layers.#.linear2.bias", "d", GRAPH_DECODER, UNIFORM, "f"},
               {"decoder.transformer.layers.#.norm2.weight", "d", GRAPH_DECODER, ONE, NULL},
               {"decoder.transformer.layers.#.norm2.bias", "d", GRAPH_DECODER, ZERO, NULL},
               {.name = NULL}},
    heads[] = {{"decoder.gmm_head.0.weight", "dd", GRAPH_DECODER, UNIFORM, "d"},
               {"decoder.gmm_head.0.bias", "d", GRAPH_DECODER, UNIFORM, "d"},
               {"decoder.gmm_head.2.weight", "5d", GRAPH_DECODER, UNIFORM, "d"},
               {"decoder.gmm_head.2.bias", "5", GRAPH_DECODER, UNIFORM, "d"},
               {"classifier.weight", "1d", GRAPH_CLASSIFIER, UNIFORM, "d"},
               {"classifier.bias", "1", GRAPH_CLASSIFIER, UNIFORM, "d"},
               {.name = NULL}};

static size_t size_of(const struct graph_options *o, char axis)
{
    switch (axis) {
    case 'A':
        return GRAPH_ALIGNMENTS;
    case 'F':
        return GRAPH_FRAMES;
    case 'O':
        return GRAPH_FORMATIONS;
    case 'R':
        return GRAPH_ROLES;
    case 'S':
        return GRAPH_SIDES;
    case 'a':
        return o->features;
    case 'c':
        return GRAPH_CONTEXT;
    case 'd':
        return o->hidden;
    case 'e':
        return o->hidden / 2;
    case 'f':
        return 4 * o->hidden;
    case 'i':
        return o->inducing;
    case 'k':
        return o->modes;
    case 'm':
        return GRAPH_MOTION;
    case 'n':
        return o->heads;
    case 'q':
        return o->heads * o->hidden;
    case 's':
        return o->future;
    case 't':
        return 3 * o->hidden;
    case 'w':
        return 2 * o->hidden;
    default:
        return (size_t)(axis - '0');
    }
}

static size_t product_of(const struct graph_options *o, const char *axes)
{
    size_t product = 1;
    for (; *axes != '\0'; axes++)
        product *= size_of(o, *axes);
    return product;
}

/* -- shapes ----------------------------------------------------------------------------------- */

static void name_tensor(const char *name, size_t number, size_t space, char *to)
{
    const char *mark = strchr(name, '#');
    if (mark == NULL)
        snprintf(to, space, "%s", name);
    else
        snprintf(to, space, "%.*s%zu%s", (int)(mark - name), name, number, mark + 1);
}

static void describe(const struct graph_options *o, const struct entry *entry, size_t number,
                     struct graph_tensor *to)
{
    to->part = entry->part;
    to->axes = (int)strlen(entry->shape);
    to->count = product_of(o, entry->shape);
    to->halves = strchr(entry->shape, 'w') != NULL ? 2 : 1;
    to->start = entry->start;
    for (int i = 0; i < to->axes; i++)
        to->shape[i] = size_of(o, entry->shape[i]);
    name_tensor(entry->name, number, sizeof to->name, to->name);
}

/* The entry of tensor i, the number of its layer and its place in the vector; NULL behind the last
 * one. */
static const struct entry *find(const struct graph_options *o, size_t i, size_t *number,
                                size_t *offset)
{
    const struct {
        const struct entry *entries;
        size_t times;
    } groups[] = {{embedding, 1}, {history, 1}, {layer, o->layers}, {social, 1},
                  {scene, 1},     {queries, 1}, {block, o->blocks}, {heads, 1}};
    *offset = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (*number = 0; *number < groups[g].times; ++*number)
            for (const struct entry *entry = groups[g].entries; entry->name != NULL; entry++) {
                if (i-- == 0)
                    return entry;
                *offset += product_of(o, entry->shape);
            }
    return NULL;
}

bool graph_tensor(const struct graph_options *options, size_t i, struct graph_tensor *out)
{
    size_t number, offset;
    const struct entry *entry = find(options, i, &number, &offset);
    if (entry == NULL)
        return false;
    *out = (struct graph_tensor){.offset = offset};
    describe(options, entry, number, out);
    return true;
}

size_t graph_elements(const struct graph_options *options, enum graph_part part)
{
    struct graph_tensor t;
    size_t count = 0;
    for (size_t i = 0; graph_tensor(options, i, &t); i++)
        count += part == GRAPH_PARTS || t.part == part ? t.count : 0;
    return count;
}

/* -- values ----------------------------------------------------------------------------------- */

static void draw(const struct graph_options *o, const struct entry *entry, size_t count,
                 struct ypi_stream stream, float *to)
{
    const char *last = entry->shape + strlen(entry->shape) - 1;
    switch (entry->start) {
    case UNIFORM:
        nn_start_uniform(stream, 0, count, (float)(1 / sqrt((double)product_of(o, entry->fan))),
                         to);
        break;
    case GLOROT:
        nn_start_uniform(stream, 0, count,
                         (float)sqrt(6.0 / (double)(size_of(o, last[-1]) + size_of(o, last[0]))),
                         to);
        break;
    case NORMAL:
        ypi_random_normals(YPI_LEVEL_AUTO, stream, 0, count, to);
        break;
    default:
        for (size_t k = 0; k < count; k++)
            to[k] = entry->start == ONE;
    }
}

void graph_draw(const struct graph_options *options, uint64_t seed, float *parameters)
{
    size_t number, offset;
    const struct entry *entry;
    for (size_t i = 0; (entry = find(options, i, &number, &offset)) != NULL; i++)
        draw(options, entry, product_of(options, entry->shape),
             (struct ypi_stream){ypi_mix64(seed + YPI_GOLDEN), i}, parameters + offset);
}
