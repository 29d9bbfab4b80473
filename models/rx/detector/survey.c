/* Channels by themselves: what each has, and a source with fewer of them. */
#include "models/rx/pipeline/internal.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* -- survey ---------------------------------------------------------------------------------- */

struct survey {
    size_t channels;
    struct rx_channel *all;  /* (C): variance is a sum of squares until the end */
    struct rx_channel *lane; /* (threads, C) */
};

static void clear(struct rx_channel *channels, size_t count)
{
    for (size_t c = 0; c < count; c++)
        channels[c] = (struct rx_channel){0, INFINITY, -INFINITY, 0, 0};
}

/* Two passes over the tile: means, then squares around them. */
static void look(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct survey *survey = arg;
    struct rx_channel *lane = survey->lane + (size_t)item.slot * survey->channels;
    size_t stride = ypi_rx_stride(tile);
    clear(lane, survey->channels);
    for (size_t p = 0; p < tile->pixels; p++)
        for (size_t c = 0; c < survey->channels; c++) {
            float x = tile->values[p * stride + c];
            if (!isfinite(x))
                continue;
            lane[c].finite++;
            lane[c].mean += (double)x;
            lane[c].min = fminf(lane[c].min, x);
            lane[c].max = fmaxf(lane[c].max, x);
        }
    for (size_t c = 0; c < survey->channels; c++)
        lane[c].mean /= lane[c].finite > 0 ? (double)lane[c].finite : 1;
    for (size_t p = 0; p < tile->pixels; p++)
        for (size_t c = 0; c < survey->channels; c++) {
            float x = tile->values[p * stride + c];
            double difference = isfinite(x) ? (double)x - lane[c].mean : 0;
            lane[c].variance += difference * difference;
        }
}

static void merge(void *arg, int slot)
{
    struct survey *survey = arg;
    for (size_t c = 0; c < survey->channels; c++) {
        const struct rx_channel *from = survey->lane + (size_t)slot * survey->channels + c;
        struct rx_channel *to = &survey->all[c];
        if (from->finite == 0)
            continue;
        double n = (double)from->finite, before = (double)to->finite,
               difference = from->mean - to->mean;
        to->variance += from->variance + difference * difference * (n * before / (n + before));
        to->mean += difference * (n / (n + before));
        to->min = fminf(to->min, from->min);
        to->max = fmaxf(to->max, from->max);
        to->finite += from->finite;
    }
}

static size_t survey_bytes(const struct rx_source *source, int threads)
{
    struct ypi_arena arena = {0};
    ypi_arena_take(&arena, (size_t)threads * source->tile_pixels, source->channels * sizeof(float));
    ypi_arena_take(&arena, (size_t)threads * source->channels, sizeof(struct rx_channel));
    return arena.used;
}

enum yp_status rx_survey(struct yp_device *device, const struct rx_source *source, int threads,
                         struct rx_channel *channels)
{
    if (source == NULL || channels == NULL)
        return yp_set_error(YP_INVALID, "rx_survey: %s is NULL",
                            source == NULL ? "source" : "channels");
    enum yp_status status = ypi_check_host("rx_survey", device);
    if (status == YP_OK)
        status = ypi_rx_check("rx_survey", source->channels, source->tile_pixels, &threads);
    if (status != YP_OK)
        return status;
    struct ypi_arena arena = {.base = yp_device_alloc(device, survey_bytes(source, threads))};
    if (arena.base == NULL)
        return YP_OUT_OF_MEMORY;
    size_t c = source->channels, teams = (size_t)threads;
    float *values = ypi_arena_take(&arena, teams * source->tile_pixels, c * sizeof *values);
    struct survey survey = {.channels = c, .all = channels};
    survey.lane = ypi_arena_take(&arena, teams * c, sizeof *survey.lane);
    clear(channels, c);
    status = ypi_rx_run(&(struct ypi_rx_pass){.what = "rx_survey",
                                              .channels = c,
                                              .tile_pixels = source->tile_pixels,
                                              .threads = threads,
                                              .values = values,
                                              .work = look,
                                              .merge = merge,
                                              .arg = &survey},
                        source);
    for (size_t i = 0; i < c; i++)
        channels[i].variance =
            channels[i].finite > 1 ? channels[i].variance / (double)(channels[i].finite - 1) : 0;
    yp_device_free(device, arena.base);
    return status;
}

static bool usable(const struct rx_channel *channel)
{
    return channel->finite > 0 && channel->min < channel->max;
}

/* Usable channels that come before this one by variance, then by index. */
static size_t rank(const struct rx_channel *channels, size_t count, size_t channel)
{
    size_t before = 0;
    for (size_t c = 0; c < count; c++)
        before += usable(&channels[c]) &&
                  (channels[c].variance > channels[channel].variance ||
                   (channels[c].variance == channels[channel].variance && c < channel));
    return before;
}

size_t rx_usable(const struct rx_channel *channels, size_t count, size_t limit, size_t *list)
{
    size_t n = 0;
    for (size_t c = 0; c < count; c++)
        if (usable(&channels[c]) && (limit == 0 || rank(channels, count, c) < limit))
            list[n++] = c;
    return n;
}

/* -- fewer channels --------------------------------------------------------------------------- */

struct rx_subset {
    struct yp_device *device;
    const struct rx_source *from;
    struct rx_source source;
    size_t *list;  /* (source.channels) */
    float *values; /* (threads, tile_pixels, from->channels) */
    int threads;
};

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    const struct rx_subset *subset = arg;
    const struct rx_source *from = subset->from;
    int thread = omp_get_thread_num();
    if (thread >= subset->threads)
        return yp_set_error(YP_INVALID, "rx_subset: asked by thread %d, it was made for %d", thread,
                            subset->threads);
    const struct ypi_rx_pass pass = {.what = "rx_subset",
                                     .channels = from->channels,
                                     .tile_pixels = from->tile_pixels,
                                     .values = subset->values,
                                     .labels = labels};
    struct rx_tile whole;
    enum yp_status status =
        ypi_rx_ask(&pass, from, (struct ypi_work_item){thread, 0, index}, &whole);
    if (status != YP_OK)
        return status;
    size_t count = subset->source.channels, stride = ypi_rx_stride(&whole);
    for (size_t p = 0; p < whole.pixels; p++)
        for (size_t i = 0; i < count; i++)
            values[p * count + i] = whole.values[p * stride + subset->list[i]];
    tile->values = values;
    tile->pixels = whole.pixels;
    tile->labels = whole.labels;
    tile->stride = 0;
    return YP_OK;
}

static enum yp_status check_subset(const char *what, const struct rx_source *source, size_t count,
                                   int *threads)
{
    if (source == NULL || source->yield == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            source == NULL ? "source" : "source->yield");
    if (count == 0 || count > RX_MAX_CHANNELS)
        return yp_set_error(YP_INVALID, "%s: count is %zu, allowed are 1 to %d", what, count,
                            RX_MAX_CHANNELS);
    return ypi_rx_check(what, source->channels, source->tile_pixels, threads);
}

static void lay_out(struct rx_subset *subset, struct ypi_arena *arena,
                    const struct rx_source *source, size_t count, int threads)
{
    subset->list = ypi_arena_take(arena, count, sizeof *subset->list);
    subset->values = ypi_arena_take(arena, (size_t)threads * source->tile_pixels,
                                    source->channels * sizeof *subset->values);
}

static size_t subset_bytes(const struct rx_source *source, size_t count, int threads)
{
    struct ypi_arena arena = {0};
    struct rx_subset subset;
    ypi_arena_take(&arena, 1, sizeof subset);
    lay_out(&subset, &arena, source, count, threads);
    return arena.used;
}

struct rx_subset *rx_subset_create(struct yp_device *device, const struct rx_source *source,
                                   const size_t *list, size_t count, int threads)
{
    const char *what = "rx_subset_create";
    if (ypi_check_host(what, device) != YP_OK ||
        check_subset(what, source, count, &threads) != YP_OK)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (list == NULL || list[i] >= source->channels) {
            yp_set_error(YP_INVALID, "%s: list[%zu] is %zu, the source has %zu channels", what, i,
                         list != NULL ? list[i] : SIZE_MAX, source->channels);
            return NULL;
        }
    struct ypi_arena arena = {.base =
                                  yp_device_alloc(device, subset_bytes(source, count, threads))};
    if (arena.base == NULL)
        return NULL;
    struct rx_subset *subset = ypi_arena_take(&arena, 1, sizeof *subset);
    *subset = (struct rx_subset){.device = device, .from = source, .threads = threads};
    lay_out(subset, &arena, source, count, threads);
    memcpy(subset->list, list, count * sizeof *list);
    subset->source = *source;
    subset->source.channels = count;
    subset->source.yield = yield;
    subset->source.arg = subset;
    return subset;
}

void rx_subset_destroy(struct rx_subset *subset)
{
    if (subset != NULL)
        yp_device_free(subset->device, subset);
}

const struct rx_source *rx_subset_source(const struct rx_subset *subset)
{
    return &subset->source;
}
