/* The preview of a cube: false colour beside the truth. */
#include "synth/command/internal.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIDE_MAX 1024
#define GAP 4 /* pixels between the two */
#define SAMPLE_MAX 65536

struct ypi_preview {
    const struct ypi_outputs *outputs;
    size_t step, height, width; /* of the picture; every step-th pixel of the cube */
    pthread_mutex_t lock;
    float *colours; /* (height, width, 3); NaN: no values */
    float *fill;    /* (height, width): largest fill of a target in the block of pixels, -1: none */
};

struct ypi_preview *ypi_preview_create(const struct ypi_outputs *o)
{
    size_t longest = o->spec->height > o->spec->width ? o->spec->height : o->spec->width;
    size_t step = (longest + SIDE_MAX - 1) / SIDE_MAX;
    size_t height = (o->spec->height + step - 1) / step, width = (o->spec->width + step - 1) / step;
    struct ypi_preview *p =
        yp_device_alloc(yp_device_cpu(), sizeof *p + height * width * 4 * sizeof(float));
    if (p == NULL)
        return NULL;
    *p = (struct ypi_preview){.outputs = o, .step = step, .height = height, .width = width};
    p->colours = (float *)(p + 1);
    p->fill = p->colours + 3 * height * width;
    for (size_t i = 0; i < height * width; i++)
        p->fill[i] = -1;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void ypi_preview_destroy(struct ypi_preview *p)
{
    if (p == NULL)
        return;
    pthread_mutex_destroy(&p->lock);
    yp_device_free(yp_device_cpu(), p);
}

/* Every target shows, even where only every n-th pixel is drawn. */
void ypi_preview_put(struct ypi_preview *p, size_t first, size_t pixels, const float *values,
                     const struct synth_truth *truth)
{
    size_t width = p->outputs->spec->width, channels = p->outputs->spec->channels;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < pixels; i++) {
        size_t row = (first + i) / width, column = (first + i) % width;
        size_t at = row / p->step * p->width + column / p->step;
        if (truth->labels[i] != 0 && truth->fill[i] > p->fill[at])
            p->fill[at] = truth->fill[i];
        if (row % p->step == 0 && column % p->step == 0)
            for (size_t colour = 0; colour < 3; colour++)
                p->colours[3 * at + colour] = values[i * channels + p->outputs->bands[colour]];
    }
    pthread_mutex_unlock(&p->lock);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The 2nd and the 98th percentile of a colour. */
static void stretch(const struct ypi_preview *p, size_t colour, float *sample, float *low,
                    float *high)
{
    size_t all = p->height * p->width, step = (all + SAMPLE_MAX - 1) / SAMPLE_MAX, count = 0;
    for (size_t i = 0; i < all; i += step)
        if (isfinite(p->colours[3 * i + colour]))
            sample[count++] = p->colours[3 * i + colour];
    qsort(sample, count, sizeof *sample, by_value);
    *low = count > 0 ? sample[(count - 1) * 2 / 100] : 0;
    *high = count > 0 ? sample[(count - 1) * 98 / 100] : 1;
    if (!(*high > *low))
        *high = *low + 1;
}

static unsigned char shade_of(float value, float low, float high)
{
    float share = (value - low) / (high - low);
    return (unsigned char)(share > 0 ? share < 1 ? lrintf(share * 255) : 255 : 0); /* NaN: 0 */
}

/* A target is red where it fills little of its pixel and yellow where it fills all of it; the rest
 * of the scene is dim grey. */
static void paint_truth(unsigned char *to, const unsigned char *colour, float fill)
{
    if (fill >= 0) {
        to[0] = (unsigned char)lrintf(160 + 95 * fill);
        to[1] = (unsigned char)lrintf(255 * fill);
        to[2] = 0;
    } else {
        memset(to, (colour[0] + colour[1] + colour[2]) / 9, 3);
    }
}

static void paint(const struct ypi_preview *p, float *sample, unsigned char *image)
{
    float low[3], high[3];
    size_t stride = 3 * (2 * p->width + GAP);
    for (size_t colour = 0; colour < 3; colour++)
        stretch(p, colour, sample, &low[colour], &high[colour]);
    memset(image, 255, stride * p->height);
    for (size_t row = 0; row < p->height; row++)
        for (size_t column = 0; column < p->width; column++) {
            size_t at = row * p->width + column;
            unsigned char *left = image + row * stride + 3 * column;
            for (size_t colour = 0; colour < 3; colour++)
                left[colour] = shade_of(p->colours[3 * at + colour], low[colour], high[colour]);
            paint_truth(left + 3 * (p->width + GAP), left, p->fill[at]);
        }
}

static enum yp_status write_png(const struct ypi_preview *p, const unsigned char *image,
                                struct ypi_atomic_file *file, bool replace)
{
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)(2 * p->width + GAP),
                     .height = (png_uint_32)p->height,
                     .format = PNG_FORMAT_RGB};
    int copy = dup(file->fd);
    FILE *stream = copy >= 0 ? fdopen(copy, "wb") : NULL;
    if (stream == NULL) {
        if (copy >= 0)
            close(copy);
        return yp_set_error(YP_IO, "%s: %s", file->path, strerror(errno));
    }
    int good = png_image_write_to_stdio(&png, stream, 0, image, 0, NULL);
    if (fclose(stream) != 0 || good == 0)
        return yp_set_error(YP_IO, "%s: cannot be written: %s", file->path,
                            good == 0 ? png.message : strerror(errno));
    enum yp_status status = ypi_atomic_sync(file);
    return status == YP_OK ? ypi_atomic_publish(file, replace) : status;
}

enum yp_status ypi_preview_write(const struct ypi_preview *p, const char *path, bool replace)
{
    struct ypi_atomic_file file = {.fd = -1};
    size_t sample = SAMPLE_MAX * sizeof(float), size = 3 * (2 * p->width + GAP) * p->height;
    char *block = yp_device_alloc(yp_device_cpu(), sample + size);
    if (block == NULL)
        return YP_OUT_OF_MEMORY;
    unsigned char *image = (unsigned char *)block + sample;
    paint(p, (float *)block, image);
    enum yp_status status = ypi_atomic_create(&file, path);
    if (status == YP_OK)
        status = write_png(p, image, &file, replace);
    ypi_atomic_abandon(&file);
    yp_device_free(yp_device_cpu(), block);
    return status;
}
