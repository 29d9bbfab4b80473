/* Threads that take tile after tile, generate it and store it. While the operating system writes
 * stored tiles to the disk, they generate the next ones. */
#include "synth/command/internal.h"

#include "base/system/clock.h"

#include <pthread.h>
#include <stdlib.h>

#define TILE_BYTES ((size_t)4 << 20) /* of values; large enough for long writes in BIL and BSQ */

/* A cube that is being written; with .npy one slot holds all cubes. */
struct slot {
    bool open;
    size_t cube; /* with .npy: 0 */
    size_t tiles_left;
    struct ypi_cube_outputs files;
};

struct run {
    const struct ypi_outputs *outputs;
    struct ypi_preview *preview;
    size_t pixels, tile_pixels, tiles; /* of a cube */
    struct ypi_crew crew;
    struct slot *slots; /* (slot_count) */
    size_t slot_count, next_cube, next_tile;
    struct ypi_made *made;
    struct ypi_progress progress;
    atomic_uint_fast64_t values;
};

struct tile {
    size_t cube, first, pixels;
    struct slot *slot;
};

/* Buffers of a thread, in one block. */
struct buffers {
    float *values, *fill, *abundances, *plane;
    uint8_t *labels, *valid;
};

/* ---- tiles ---- */

static struct slot *open_slot(struct run *r, struct slot *slot, size_t cube)
{
    bool npy = r->outputs->job->format == SYNTH_NPY;
    enum yp_status status = ypi_cube_begin(r->outputs, cube, &slot->files);
    if (status != YP_OK) {
        ypi_crew_fail(&r->crew, status);
        return NULL;
    }
    slot->open = true;
    slot->cube = cube;
    slot->tiles_left = r->tiles * (npy ? r->outputs->job->cubes : 1);
    return slot;
}

/* The slot of the next cube, opened; NULL: the run is over. The lock is held, but released while
 * another cube has the slot. Other threads may begin and end the next cube in the meantime, so it
 * is looked up again after each wait. */
static struct slot *next_slot(struct run *r)
{
    const struct ypi_job *job = r->outputs->job;
    while (!r->crew.stop && r->next_cube < job->cubes) {
        size_t cube = job->format == SYNTH_NPY ? 0 : r->next_cube;
        struct slot *slot = &r->slots[cube % r->slot_count];
        if (!slot->open)
            return open_slot(r, slot, cube);
        if (slot->cube == cube)
            return slot;
        pthread_cond_wait(&r->crew.changed, &r->crew.lock);
    }
    return NULL;
}

static bool take_tile(struct run *r, struct tile *tile)
{
    pthread_mutex_lock(&r->crew.lock);
    if (ypi_signal_caught() != 0)
        r->crew.stop = true;
    struct slot *slot = next_slot(r);
    if (slot != NULL) {
        *tile = (struct tile){r->next_cube, r->next_tile * r->tile_pixels, r->tile_pixels, slot};
        if (tile->pixels > r->pixels - tile->first)
            tile->pixels = r->pixels - tile->first;
        if (++r->next_tile == r->tiles)
            r->next_tile = 0, r->next_cube++;
    }
    pthread_mutex_unlock(&r->crew.lock);
    return slot != NULL;
}

static enum yp_status put_bytes(struct synth_cube_writer *writer, const struct tile *tile,
                                size_t cube, const uint8_t *bytes, float *plane)
{
    for (size_t i = 0; i < tile->pixels; i++)
        plane[i] = bytes[i];
    return synth_cube_write(writer, cube, tile->first, tile->pixels, plane);
}

static enum yp_status make_tile(struct run *r, const struct tile *tile, const struct buffers *b)
{
    struct synth_cube_writer *const *planes = tile->slot->files.planes;
    size_t cube = r->outputs->job->format == SYNTH_NPY ? tile->cube : 0;
    const struct synth_truth truth = {
        b->labels, b->fill, planes[YPI_ABUNDANCES] != NULL ? b->abundances : NULL, b->valid};
    enum yp_status status = synth_scene_tile(r->outputs->scene, tile->cube, tile->first,
                                             tile->pixels, b->values, &truth);
    if (status == YP_OK)
        ypi_to_quantity(r->outputs, tile->pixels, b->values);
    if (status == YP_OK)
        status = synth_cube_write(planes[YPI_VALUES], cube, tile->first, tile->pixels, b->values);
    if (status == YP_OK)
        status = put_bytes(planes[YPI_LABELS], tile, cube, b->labels, b->plane);
    if (status == YP_OK)
        status = put_bytes(planes[YPI_VALID], tile, cube, b->valid, b->plane);
    if (status == YP_OK)
        status = synth_cube_write(planes[YPI_FILL], cube, tile->first, tile->pixels, b->fill);
    if (status == YP_OK && planes[YPI_ABUNDANCES] != NULL)
        status = synth_cube_write(planes[YPI_ABUNDANCES], cube, tile->first, tile->pixels,
                                  b->abundances);
    if (status == YP_OK && r->preview != NULL && tile->cube == 0)
        ypi_preview_put(r->preview, tile->first, tile->pixels, b->values, &truth);
    return status;
}

/* The thread that finishes a cube's last tile commits the cube to the disk. */
static void finish_tile(struct run *r, const struct tile *tile, enum yp_status status)
{
    struct slot *slot = tile->slot;
    atomic_fetch_add(&r->values, tile->pixels * r->outputs->spec->channels);
    pthread_mutex_lock(&r->crew.lock);
    if (status != YP_OK)
        ypi_crew_fail(&r->crew, status);
    if (--slot->tiles_left == 0 && !r->crew.stop) {
        uint64_t clipped = 0;
        pthread_mutex_unlock(&r->crew.lock);
        status = ypi_cube_end(&slot->files, &clipped);
        pthread_mutex_lock(&r->crew.lock);
        slot->open = false;
        r->made->clipped += clipped;
        if (status != YP_OK)
            ypi_crew_fail(&r->crew, status);
        else
            r->made->cubes += r->outputs->job->format == SYNTH_NPY ? r->outputs->job->cubes : 1;
        pthread_cond_broadcast(&r->crew.changed);
    }
    pthread_mutex_unlock(&r->crew.lock);
}

static void *allocate(const struct run *r, struct buffers *b)
{
    const struct synth_spec *spec = r->outputs->spec;
    size_t kept = spec->preset == SYNTH_CUVIS ? 0 : spec->endmembers, pixels = r->tile_pixels;
    float *block = yp_device_alloc(
        yp_device_cpu(), pixels * (spec->channels + kept + 2) * sizeof(float) + 2 * pixels);
    if (block == NULL)
        return NULL;
    b->values = block;
    b->abundances = b->values + pixels * spec->channels;
    b->fill = b->abundances + pixels * kept;
    b->plane = b->fill + pixels;
    b->labels = (uint8_t *)(b->plane + pixels);
    b->valid = b->labels + pixels;
    return block;
}

static void work(void *argument)
{
    struct run *r = argument;
    struct buffers b;
    struct tile tile;
    void *block = allocate(r, &b);
    if (block == NULL) {
        pthread_mutex_lock(&r->crew.lock);
        ypi_crew_fail(&r->crew, YP_OUT_OF_MEMORY);
        pthread_mutex_unlock(&r->crew.lock);
    }
    while (block != NULL && take_tile(r, &tile))
        finish_tile(r, &tile, make_tile(r, &tile, &b));
    if (block != NULL)
        yp_device_free(yp_device_cpu(), block);
}

/* ---- the run ---- */

static void show(void *argument)
{
    struct run *r = argument;
    const struct ypi_outputs *o = r->outputs;
    double all = (double)o->job->cubes * (double)r->pixels * (double)o->spec->channels;
    double values = (double)atomic_load(&r->values);
    ypi_progress_show(&r->progress, values / all, values, values / all * (double)r->made->bytes);
}

/* Tiles are whole rows where these fit. */
static void cut_tiles(struct run *r)
{
    const struct synth_spec *spec = r->outputs->spec;
    r->pixels = spec->height * spec->width;
    size_t pixels = TILE_BYTES / sizeof(float) / spec->channels;
    if (pixels > spec->width)
        pixels -= pixels % spec->width;
    r->tile_pixels = pixels == 0 ? 1 : pixels > r->pixels ? r->pixels : pixels;
    r->tiles = (r->pixels + r->tile_pixels - 1) / r->tile_pixels;
}

enum yp_status ypi_synth_run(const struct ypi_outputs *outputs, uint64_t bytes,
                             struct ypi_preview *preview, struct ypi_made *made)
{
    const struct ypi_job *job = outputs->job;
    struct run r = {.outputs = outputs,
                    .preview = preview,
                    .made = made,
                    .slot_count = job->format == SYNTH_NPY ? 1 : job->threads};
    cut_tiles(&r);
    *made = (struct ypi_made){.bytes = bytes};
    double began = ypi_now();
    r.slots = calloc(r.slot_count, sizeof *r.slots);
    enum yp_status status =
        r.slots == NULL ? yp_set_error(YP_OUT_OF_MEMORY, "--threads is %zu: no memory for so many",
                                       job->threads)
                        : YP_OK;
    ypi_progress_begin(&r.progress, "synth", "values", job->quiet);
    if (status == YP_OK)
        status = ypi_crew_run(&r.crew, job->threads, work, show, &r);
    ypi_progress_end(&r.progress);
    for (size_t i = 0; r.slots != NULL && i < r.slot_count; i++)
        if (r.slots[i].open)
            ypi_cube_abandon(&r.slots[i].files);
    made->seconds = ypi_now() - began;
    made->values = atomic_load(&r.values);
    free(r.slots);
    return status;
}
