/* Tells what a cube file holds and writes its values as float32, pixels x channels:
 * cube-dump FILE [scaled] */
#include "synth/cube/cube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    enum synth_scaling scaling =
        argc > 2 && strcmp(argv[2], "scaled") == 0 ? SYNTH_SCALED : SYNTH_AS_STORED;
    struct synth_cube_file *file =
        argc > 1 ? synth_cube_open(yp_device_cpu(), argv[1], scaling) : NULL;
    if (file == NULL) {
        fprintf(stderr, "%s\n", argc > 1 ? yp_last_error() : "usage: cube-dump FILE [scaled]");
        return 1;
    }
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t pixels = info->height * info->width;
    float *values = malloc(pixels * info->channels * sizeof *values);
    printf("%zu %zu %zu %zu\n", info->cubes, info->height, info->width, info->channels);
    for (size_t cube = 0; cube < info->cubes && values != NULL; cube++) {
        if (synth_cube_read(file, cube, 0, pixels, values) != YP_OK) {
            fprintf(stderr, "%s\n", yp_last_error());
            return 1;
        }
        fwrite(values, sizeof *values, pixels * info->channels, stdout);
    }
    free(values);
    synth_cube_close(file);
    return fflush(stdout) == 0 ? 0 : 1;
}
