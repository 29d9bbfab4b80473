#include "suites/graph_tracks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *begin(struct yp_case *t, const char *directory, const char *name, const char *mode)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, mode);
    yp_require(t, file != NULL, "%s cannot be opened", path);
    return file;
}

void graph_tracks_write(struct yp_case *t, const char *directory, const struct synth_plays *spec,
                        int weeks, size_t plays)
{
    struct synth_play *play = yp_alloc_host(t, sizeof *play);
    char *rows = yp_alloc_host(t, (size_t)SYNTH_PLAY_ROW * SYNTH_PLAY_FRAMES *
                                      (spec->players > 0 ? spec->players : 22));
    char summary[SYNTH_PLAY_SUMMARY], name[64];
    FILE *supplementary = begin(t, directory, "supplementary_data.csv", "w");
    fputs(synth_play_summary_columns, supplementary);
    for (int week = 1; week <= weeks; week++) {
        snprintf(name, sizeof name, "input_2023_w%02d.csv", week);
        FILE *file = begin(t, directory, name, "w");
        fputs(synth_play_columns, file);
        for (size_t i = 0; i < plays; i++) {
            yp_ok(t, synth_play_make(spec, week, i, play));
            fwrite(rows, 1, synth_play_rows(play, rows), file);
            fwrite(summary, 1, synth_play_summary(play, summary), supplementary);
        }
        yp_require(t, fclose(file) == 0, "%s cannot be written", name);
    }
    yp_require(t, fclose(supplementary) == 0, "supplementary_data.csv cannot be written");
}

void graph_tracks_write_file(struct yp_case *t, const char *directory, const char *name,
                             const char *text, size_t bytes)
{
    FILE *file = begin(t, directory, name, "w");
    const size_t written = fwrite(text, 1, bytes, file);
    yp_require(t, fclose(file) == 0 && written == bytes, "%s cannot be written", name);
}

void graph_tracks_forget(struct yp_case *t, const char *directory)
{
    FILE *file = begin(t, directory, "graphs.cache", "r");
    posix_fadvise(fileno(file), 0, 0, POSIX_FADV_DONTNEED);
    fclose(file);
}

char *graph_tracks_read_file(struct yp_case *t, const char *directory, const char *name,
                             size_t *bytes)
{
    FILE *file = begin(t, directory, name, "r");
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *text = yp_alloc_host(t, *bytes + 1);
    const size_t got = fread(text, 1, *bytes, file);
    fclose(file);
    yp_require(t, got == *bytes, "%s cannot be read", name);
    text[got] = '\0';
    return text;
}

void graph_told_text(void *arg, const char *text)
{
    struct graph_told *told = arg;
    if (told->count++ == 0)
        snprintf(told->first, sizeof told->first, "%s", text);
}

void graph_told_progress(void *arg, size_t done, size_t all, double seconds_left)
{
    struct graph_told *told = arg;
    told->progress += done == all;
    told->left = seconds_left;
}

const struct graph_batch *graph_tracks_batch(struct yp_case *t, const struct graph_data *data,
                                             const struct graph_augmentation *augmentation)
{
    const size_t count = graph_data_count(data), bytes = graph_data_batch_bytes(data, count);
    uint32_t *graphs = yp_alloc_host(t, (count + 1) * sizeof *graphs);
    void *block = yp_alloc_host(t, bytes);
    for (size_t i = 0; i < count; i++)
        graphs[i] = (uint32_t)i;
    yp_ok(t, graph_data_read(data, graphs, count, augmentation, block, bytes));
    return block;
}

uint64_t graph_batch_hash(const struct graph_batch *b)
{
    const size_t g = b->graphs, n = b->nodes, e = b->edges;
    const struct {
        const void *array;
        size_t words;
    } arrays[] = {{b->id, 2 * g},
                  {b->first, g + 1},
                  {b->frame, g},
                  {b->formation, g},
                  {b->alignment, g},
                  {b->context, g * GRAPH_CONTEXT},
                  {b->coverage, g},
                  {b->node, n * GRAPH_FEATURES},
                  {b->role, n},
                  {b->side, n},
                  {b->motion, n * b->history * GRAPH_MOTION},
                  {b->target, n * b->future * 2},
                  {b->counts, n},
                  {b->incoming, n + 1},
                  {b->source, e},
                  {b->edge, e * GRAPH_EDGE_FEATURES},
                  {b->outgoing, n + 1},
                  {b->end, e}};
    uint64_t hash = 0, first = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        hash += yp_hash_f32(first, arrays[i].array, arrays[i].words);
        first += arrays[i].words + 1;
    }
    return hash;
}
