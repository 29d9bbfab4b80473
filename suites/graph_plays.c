#include "suites/graph_plays.h"

#include <string.h>

/* As a play that goes to the right has it. */
static float turned(float angle)
{
    return angle < 180 ? angle + 180 : angle - 180;
}

static struct graph_play copy_play(struct yp_case *t, const struct synth_play *from)
{
    const size_t n = from->players, cells = n * from->frames;
    const float *fields[] = {from->x,         from->y,          from->speed, from->acceleration,
                             from->direction, from->orientation};
    enum { X, Y, SPEED, ACCELERATION, DIRECTION, ORIENTATION, FIELDS };
    float *to[FIELDS], *weight = yp_alloc_host(t, n * sizeof *weight);
    uint8_t *present = yp_alloc_host(t, cells);
    int32_t *role = yp_alloc_host(t, n * sizeof *role), *side = yp_alloc_host(t, n * sizeof *side);
    for (int i = 0; i < FIELDS; i++) {
        to[i] = yp_alloc_host(t, cells * sizeof *to[i]);
        memcpy(to[i], fields[i], cells * sizeof *to[i]);
    }
    memcpy(present, from->present, cells);
    for (size_t i = 0; i < cells && from->left; i++) {
        to[X][i] = (float)SYNTH_PLAY_LENGTH - to[X][i];
        to[Y][i] = (float)SYNTH_PLAY_WIDTH - to[Y][i];
        to[DIRECTION][i] = turned(to[DIRECTION][i]);
        to[ORIENTATION][i] = turned(to[ORIENTATION][i]);
    }
    for (size_t i = 0; i < n; i++) {
        weight[i] = from->weight[i];
        role[i] = from->role[i];
        side[i] = from->side[i];
    }
    return (struct graph_play){.game = from->game,
                               .play = from->play,
                               .frames = from->frames,
                               .players = n,
                               .present = present,
                               .x = to[X],
                               .y = to[Y],
                               .speed = to[SPEED],
                               .acceleration = to[ACCELERATION],
                               .direction = to[DIRECTION],
                               .orientation = to[ORIENTATION],
                               .weight = weight,
                               .role = role,
                               .side = side,
                               .formation = from->formation,
                               .alignment = from->alignment,
                               .down = (float)from->down,
                               .to_go = (float)from->to_go,
                               .box = (float)from->box,
                               .coverage = (float)from->coverage};
}

static enum yp_status read_graphs(void *arg, const uint32_t *index, size_t count, int64_t epoch,
                                  struct graph_batch *out)
{
    struct graph_plays *f = arg;
    struct graph_augmentation augmentation = f->augmentation;
    const bool changes = epoch >= 0 && (augmentation.flip > 0 || augmentation.noise > 0);
    augmentation.epoch = epoch >= 0 ? (uint64_t)epoch : 0;
    enum yp_status status = graph_data_read(f->data, index, count, changes ? &augmentation : NULL,
                                            f->block, f->block_bytes);
    *out = *(struct graph_batch *)f->block;
    return status;
}

void graph_plays_open(struct graph_plays *f, struct yp_case *t, struct synth_plays spec,
                      size_t count, const struct graph_rules *rules, size_t batch)
{
    struct synth_play *play = yp_alloc_host(t, sizeof *play);
    spec.seed = yp_seed(t);
    *f = (struct graph_plays){.count = count,
                              .plays = yp_alloc_host(t, count * sizeof *f->plays),
                              .augmentation = {.seed = yp_seed(t)}};
    for (size_t i = 0; i < count; i++) {
        yp_ok(t, synth_play_make(&spec, 1, i, play));
        f->plays[i] = copy_play(t, play);
    }
    f->data = graph_data_of_plays(yp_device_cpu(), f->plays, count, rules);
    yp_got(t, f->data);
    f->block_bytes = graph_data_batch_bytes(f->data, batch);
    f->block = yp_alloc_host(t, f->block_bytes);
    f->source = (struct graph_source){.graphs = graph_data_count(f->data),
                                      .play = graph_data_groups(f->data),
                                      .read = read_graphs,
                                      .arg = f};
}

void graph_plays_close(struct graph_plays *f)
{
    graph_data_destroy(f->data);
}

const struct graph_batch *graph_plays_batch(struct graph_plays *f, struct yp_case *t,
                                            const uint32_t *graphs, size_t count)
{
    yp_ok(t, graph_data_read(f->data, graphs, count, NULL, f->block, f->block_bytes));
    return f->block;
}
