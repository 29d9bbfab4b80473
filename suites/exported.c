#include "suites/exported.h"
#include "synth/command/command.h"

#include "base/system/npy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void exported_path(struct yp_case *t, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", yp_tmp_path_in_memory(t, (uint64_t)256 << 20), name);
}

void exported_make(struct yp_case *t, const char *name, const char *const *options)
{
    enum { OWN = 6, MOST = 24 };
    char words[MOST][600], path[512];
    char *argv[MOST + 1];
    int count = OWN;
    snprintf(words[0], sizeof words[0], "synth");
    snprintf(words[1], sizeof words[1], "--quiet");
    snprintf(words[2], sizeof words[2], "--threads=2");
    snprintf(words[3], sizeof words[3], "--config=/dev/null");
    exported_path(t, name, path);
    snprintf(words[4], sizeof words[4], "--output=%s", path);
    snprintf(words[5], sizeof words[5], "--seed=%llu", (unsigned long long)yp_seed(t));
    for (; *options != NULL && count < MOST; options++)
        snprintf(words[count++], sizeof words[0], "%s", *options);
    yp_require(t, *options == NULL, "more than %d options", MOST - OWN);
    for (int i = 0; i < count; i++)
        argv[i] = words[i];
    argv[count] = NULL;
    int code = ypi_synth_command(count, argv);
    yp_require(t, code == 0, "yieldpoint synth ended with %d", code);
}

float *exported_array(struct yp_case *t, const char *name, size_t *rows, size_t columns)
{
    char path[512];
    struct ypi_npy head;
    exported_path(t, name, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    yp_require(t, fd >= 0, "%s cannot be opened", name);
    yp_ok(t, ypi_npy_read(fd, path, &head));
    *rows = head.axes == 2 ? (size_t)head.shape[0] : 1;
    yp_require(t, head.kind == 'f' && head.size == 4 && head.shape[head.axes - 1] == columns,
               "%s does not have %zu floats a row", name, columns);
    size_t bytes = *rows * columns * sizeof(float);
    float *values = yp_alloc(t, bytes);
    bool whole = pread(fd, values, bytes, (off_t)head.offset) == (ssize_t)bytes;
    close(fd);
    yp_require(t, whole, "%s is too short", name);
    return values;
}

static float *kept(struct yp_case *t, const float *values, size_t count)
{
    if (values == NULL)
        return NULL;
    float *own = yp_alloc(t, count * sizeof *own);
    memcpy(own, values, count * sizeof *own);
    return own;
}

float *exported_cube(struct yp_case *t, const char *name, struct synth_cube_info *info)
{
    char path[512];
    exported_path(t, name, path);
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), path, SYNTH_SCALED);
    yp_require(t, file != NULL, "%s", yp_last_error());
    const struct synth_cube_info *is = synth_cube_info(file);
    *info = (struct synth_cube_info){.cubes = is->cubes,
                                     .height = is->height,
                                     .width = is->width,
                                     .channels = is->channels,
                                     .type = is->type,
                                     .wavelengths = kept(t, is->wavelengths, is->channels),
                                     .fwhm = kept(t, is->fwhm, is->channels)};
    size_t pixels = is->height * is->width;
    float *values = yp_alloc(t, pixels * is->channels * sizeof *values);
    yp_ok(t, synth_cube_read(file, 0, 0, pixels, values));
    synth_cube_close(file);
    return values;
}
