/* Threads that take tile after tile, generate it and store it. While the operating system writes
 * stored tiles to the disk, they generate the next ones. */
#include "synth/command/internal.h"

#include "base/system/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TILE_BYTES ((size_t)4 << 20) /* of values; large enough for long writes in BIL and BSQ */
#define POLL_SECONDS 0.1

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
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot *slots; /* (slot_count) */
    size_t slot_count, next_cube, next_tile, running;
    bool stop;
    enum yp_status status;
    char error[512];
    struct ypi_made *made;
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

static volatile sig_atomic_t caught; /* the signal that ends the run */

static void catch_signal(int number)
{
    caught = number;
}

/* ---- tiles ---- */

/* The lock is held. Of several errors the first is reported. */
static void fail(struct run *r, enum yp_status status)
{
    if (!r->stop) {
        r->status = status;
        snprintf(r->error, sizeof r->error, "%s", yp_last_error());
    }
    r->stop = true;
    pthread_cond_broadcast(&r->changed);
}

static struct slot *open_slot(struct run *r, struct slot *slot, size_t cube)
{
    bool npy = r->outputs->job->format == SYNTH_NPY;
    enum yp_status status = ypi_cube_begin(r->outputs, cube, &slot->files);
    if (status != YP_OK) {
        fail(r, status);
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
    while (!r->stop && r->next_cube < job->cubes) {
        size_t cube = job->format == SYNTH_NPY ? 0 : r->next_cube;
        struct slot *slot = &r->slots[cube % r->slot_count];
        if (!slot->open)
            return open_slot(r, slot, cube);
        if (slot->cube == cube)
            return slot;
        pthread_cond_wait(&r->changed, &r->lock);
    }
    return NULL;
}

static bool take_tile(struct run *r, struct tile *tile)
{
    pthread_mutex_lock(&r->lock);
    if (caught != 0)
        r->stop = true;
    struct slot *slot = next_slot(r);
    if (slot != NULL) {
        *tile = (struct tile){r->next_cube, r->next_tile * r->tile_pixels, r->tile_pixels, slot};
        if (tile->pixels > r->pixels - tile->first)
            tile->pixels = r->pixels - tile->first;
        if (++r->next_tile == r->tiles)
            r->next_tile = 0, r->next_cube++;
    }
    pthread_mutex_unlock(&r->lock);
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
    pthread_mutex_lock(&r->lock);
    if (status != YP_OK)
        fail(r, status);
    if (--slot->tiles_left == 0 && !r->stop) {
        uint64_t clipped = 0;
        pthread_mutex_unlock(&r->lock);
        status = ypi_cube_end(&slot->files, &clipped);
        pthread_mutex_lock(&r->lock);
        slot->open = false;
        r->made->clipped += clipped;
        if (status != YP_OK)
            fail(r, status);
        else
            r->made->cubes += r->outputs->job->format == SYNTH_NPY ? r->outputs->job->cubes : 1;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
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

static void *work(void *argument)
{
    struct run *r = argument;
    struct buffers b;
    struct tile tile;
    void *block = allocate(r, &b);
    if (block == NULL) {
        pthread_mutex_lock(&r->lock);
        fail(r, YP_OUT_OF_MEMORY);
        pthread_mutex_unlock(&r->lock);
    }
    while (block != NULL && take_tile(r, &tile))
        finish_tile(r, &tile, make_tile(r, &tile, &b));
    if (block != NULL)
        yp_device_free(yp_device_cpu(), block);
    pthread_mutex_lock(&r->lock);
    r->running--;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- the run ---- */

/* Shows progress and looks for signals until the last thread has ended. The lock is held. */
static void watch(struct run *r, uint64_t bytes)
{
    struct ypi_progress progress;
    double all =
        (double)r->outputs->job->cubes * (double)r->pixels * (double)r->outputs->spec->channels;
    ypi_progress_begin(&progress, r->outputs->job->quiet);
    while (r->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)(POLL_SECONDS * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&r->changed, &r->lock, &until);
        if (caught != 0 && !r->stop) {
            r->stop = true;
            pthread_cond_broadcast(&r->changed);
        }
        double values = (double)atomic_load(&r->values);
        ypi_progress_show(&progress, values / all, values, values / all * (double)bytes);
    }
    ypi_progress_end(&progress);
}

static void start_and_watch(struct run *r, pthread_t *threads, uint64_t bytes)
{
    size_t count = 0;
    pthread_mutex_lock(&r->lock);
    for (; count < r->outputs->job->threads && !r->stop; count++) {
        errno = pthread_create(&threads[count], NULL, work, r);
        if (errno != 0) {
            yp_set_error(YP_OUT_OF_MEMORY, "thread %zu of %zu cannot be started: %s", count + 1,
                         r->outputs->job->threads, strerror(errno));
            fail(r, YP_OUT_OF_MEMORY);
            break;
        }
        r->running++;
    }
    watch(r, bytes);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
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

static void set_signals(struct sigaction before[3])
{
    static const int numbers[3] = {SIGINT, SIGTERM, SIGXFSZ};
    struct sigaction act = {.sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&act.sa_mask);
    caught = 0;
    for (int i = 0; i < 3; i++) {
        /* A file beyond its size limit is then an error of write(), like a full disk. */
        act.sa_handler = numbers[i] == SIGXFSZ ? SIG_IGN : catch_signal;
        sigaction(numbers[i], &act, &before[i]);
    }
}

enum yp_status ypi_synth_run(const struct ypi_outputs *outputs, uint64_t bytes,
                             struct ypi_preview *preview, struct ypi_made *made, int *signal_number)
{
    struct sigaction before[3];
    const struct ypi_job *job = outputs->job;
    struct run r = {.outputs = outputs,
                    .preview = preview,
                    .made = made,
                    .slot_count = job->format == SYNTH_NPY ? 1 : job->threads};
    cut_tiles(&r);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    *made = (struct ypi_made){.bytes = bytes};
    double began = ypi_now();
    r.slots = calloc(r.slot_count, sizeof *r.slots);
    pthread_t *threads = calloc(job->threads, sizeof *threads);
    if (r.slots == NULL || threads == NULL)
        r.status =
            yp_set_error(YP_OUT_OF_MEMORY, "--threads is %zu: no memory for so many", job->threads);
    set_signals(before);
    if (r.status == YP_OK)
        start_and_watch(&r, threads, bytes);
    *signal_number = caught;
    sigaction(SIGXFSZ, &before[2], NULL);
    for (size_t i = 0; r.slots != NULL && i < r.slot_count; i++)
        if (r.slots[i].open)
            ypi_cube_abandon(&r.slots[i].files);
    made->seconds = ypi_now() - began;
    made->values = atomic_load(&r.values);
    if (r.status != YP_OK && r.error[0] != '\0')
        yp_set_error(r.status, "%s", r.error);
    free(r.slots);
    free(threads);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    return r.status;
}
