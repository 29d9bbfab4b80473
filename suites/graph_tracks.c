#include "suites/graph_tracks.h"

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
