/* Everything but the values of tiles is under one lock: a tile takes a fraction of a millisecond at
 * least, a visit here some hundred nanoseconds. */
#include "loader.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_TILES ((size_t)1 << 40)
#define MOST_CHANNELS ((size_t)1 << 30)
#define MOST_ROOM ((size_t)4096)
#define LINE ((size_t)64)
#define CPUS 4096
#define NO_SLOT SIZE_MAX

/* MAKING: by a worker, READY: made by one. Both are ahead, there are at most `depth` of them. HELD:
 * a consumer's, from the moment he begins to make it or finds it. */
enum state { EMPTY, MAKING, READY, HELD };

struct slot {
    enum state state;
    size_t index;
    /* Of whoever makes it, then of whoever takes it. */
    size_t pixels;
    enum yp_status status;
    char message[512];
};

struct worker {
    struct synth_loader *loader;
    pthread_t thread;
    double waits_since; /* for room; 0: does not */
};

struct synth_loader {
    struct yp_device *device;
    struct synth_loader_options o;
    size_t slot_count, depth;
    struct slot *slots;
    struct worker *worker;
    uint64_t *begun; /* a bit for each tile of this pass, 1 also for places behind the last */
    float *values;   /* slot s at s * values_stride */
    uint8_t *labels;
    size_t values_stride, labels_stride;
    int workers;

    pthread_mutex_t lock;
    pthread_cond_t room; /* for workers: something may be made */
    pthread_cond_t made; /* for others: a worker has finished a tile */
    size_t begun_count;
    size_t cursor;              /* workers go on from here */
    size_t ahead, making, held; /* slots; `held` counts takes that wait too */
    bool rewinding, closing;
    struct synth_loader_statistics seen;
};

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* -- options and memory -------------------------------------------------------------------- */

static enum yp_status check_size(const char *field, size_t value, size_t high)
{
    if (value >= 1 && value <= high)
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_loader_options.%s is %zu: must be 1 to %zu", field,
                        value, high);
}

static enum yp_status check_cpus(const struct synth_loader_options *o)
{
    if ((o->cpus == NULL) != (o->cpu_count == 0))
        return yp_set_error(YP_INVALID,
                            "synth_loader_options.cpus is %s and cpu_count is %zu: must be a list "
                            "and its length, or NULL and 0",
                            o->cpus == NULL ? "NULL" : "a list", o->cpu_count);
    for (size_t i = 0; i < o->cpu_count; i++)
        if (o->cpus[i] < 0 || o->cpus[i] >= CPUS)
            return yp_set_error(YP_INVALID, "synth_loader_options.cpus[%zu] is %d: must be 0 to %d",
                                i, o->cpus[i], CPUS - 1);
    return YP_OK;
}

static enum yp_status check_options(const struct synth_loader_options *o)
{
    if (o == NULL || o->fill == NULL)
        return yp_set_error(YP_INVALID, "%s is NULL: must not be",
                            o == NULL ? "synth_loader_options" : "synth_loader_options.fill");
    if (o->workers < 0 || o->workers > SYNTH_LOADER_WORKERS)
        return yp_set_error(YP_INVALID, "synth_loader_options.workers is %d: must be 0 to %d",
                            o->workers, SYNTH_LOADER_WORKERS);
    enum yp_status status = check_size("tiles", o->tiles, MOST_TILES);
    if (status == YP_OK)
        status = check_size("tile_pixels", o->tile_pixels, UINT32_MAX);
    if (status == YP_OK)
        status = check_size("channels", o->channels, MOST_CHANNELS);
    if (status == YP_OK && o->workers > 0)
        status = check_size("depth", o->depth, MOST_ROOM);
    if (status == YP_OK)
        status = check_size("consumers", o->consumers, MOST_ROOM);
    return status == YP_OK ? check_cpus(o) : status;
}

struct arena {
    char *base; /* NULL: only counts */
    size_t used;
    bool overflow;
};

static void *take_part(struct arena *arena, size_t count, size_t size)
{
    void *part = arena->base != NULL ? arena->base + arena->used : NULL;
    size_t bytes = 0;
    arena->overflow = arena->overflow || __builtin_mul_overflow(count, size, &bytes) ||
                      __builtin_add_overflow(bytes, LINE - 1, &bytes) ||
                      __builtin_add_overflow(arena->used, bytes / LINE * LINE, &arena->used);
    return part;
}

static size_t padded(size_t count, size_t size)
{
    return (count * size + LINE - 1) / LINE * LINE / size;
}

/* Sets the loader's places; the limits of the options keep one tile below 2^64 bytes. */
static void lay_out(struct synth_loader *l, struct arena *arena)
{
    const struct synth_loader_options *o = &l->o;
    l->depth = o->workers > 0 ? o->depth : 0;
    l->slot_count = l->depth + o->consumers;
    l->values_stride = padded(o->tile_pixels * o->channels, sizeof(float));
    l->labels_stride = padded(o->tile_pixels, 1);
    take_part(arena, 1, sizeof *l);
    l->slots = take_part(arena, l->slot_count, sizeof *l->slots);
    l->worker = take_part(arena, (size_t)o->workers, sizeof *l->worker);
    l->begun = take_part(arena, (o->tiles + 63) / 64, sizeof *l->begun);
    l->values = take_part(arena, l->slot_count, l->values_stride * sizeof(float));
    l->labels = o->labels ? take_part(arena, l->slot_count, l->labels_stride) : NULL;
}

size_t synth_loader_bytes(const struct synth_loader_options *options)
{
    if (check_options(options) != YP_OK)
        return 0;
    struct synth_loader counted = {.o = *options};
    struct arena arena = {0};
    lay_out(&counted, &arena);
    if (!arena.overflow)
        return arena.used;
    yp_set_error(YP_INVALID,
                 "synth_loader_options.tile_pixels x channels is %zu x %zu and depth + consumers "
                 "%zu: together they must fit a size_t",
                 options->tile_pixels, options->channels, counted.slot_count);
    return 0;
}

/* -- the pass ------------------------------------------------------------------------------- */

static void begin_pass(struct synth_loader *l)
{
    size_t words = (l->o.tiles + 63) / 64;
    memset(l->begun, 0, words * sizeof *l->begun);
    if (l->o.tiles % 64 != 0)
        l->begun[words - 1] = ~UINT64_C(0) << (l->o.tiles % 64);
    for (size_t i = 0; i < l->slot_count; i++)
        l->slots[i].state = EMPTY;
    l->begun_count = 0;
    l->cursor = 0;
    l->ahead = 0;
}

static bool is_begun(const struct synth_loader *l, size_t index)
{
    return (l->begun[index / 64] >> (index % 64) & 1) != 0;
}

/* The first tile from the cursor on, and then from 0, that nobody has begun. There is one. */
static size_t next_tile(const struct synth_loader *l)
{
    size_t words = (l->o.tiles + 63) / 64;
    size_t word = l->cursor / 64;
    uint64_t open = ~l->begun[word] & ~UINT64_C(0) << (l->cursor % 64);
    while (open == 0) {
        word = (word + 1) % words;
        open = ~l->begun[word];
    }
    return word * 64 + (size_t)__builtin_ctzll(open);
}

static void stop_clock(struct worker *w)
{
    if (w->waits_since > 0)
        w->loader->seen.worker_waiting += seconds_now() - w->waits_since;
    w->waits_since = 0;
}

static size_t find_slot(const struct synth_loader *l, size_t index)
{
    for (size_t i = 0; i < l->slot_count; i++)
        if (l->slots[i].state != EMPTY && l->slots[i].index == index)
            return i;
    return NO_SLOT;
}

/* An empty slot for this tile. There always is one: ahead < depth, or held <= consumers. */
static size_t begin_tile(struct synth_loader *l, size_t index, enum state state)
{
    size_t used = 0;
    size_t at = NO_SLOT;
    for (size_t i = 0; i < l->slot_count; i++) {
        used += l->slots[i].state != EMPTY;
        if (at == NO_SLOT && l->slots[i].state == EMPTY)
            at = i;
    }
    if (used + 1 > l->seen.most_tiles)
        l->seen.most_tiles = used + 1;
    l->slots[at].state = state;
    l->slots[at].index = index;
    l->begun[index / 64] |= UINT64_C(1) << (index % 64);
    if (++l->begun_count == l->o.tiles) /* from here on they wait for the next pass, not for room */
        for (int i = 0; i < l->workers; i++)
            stop_clock(&l->worker[i]);
    return at;
}

static float *values_of(const struct synth_loader *l, size_t slot)
{
    return l->values + slot * l->values_stride;
}

static uint8_t *labels_of(const struct synth_loader *l, size_t slot)
{
    return l->labels != NULL ? l->labels + slot * l->labels_stride : NULL;
}

/* Without the lock: the slot is this thread's. yp_last_error() is a thread's own, so the message
 * waits in the slot. Returns the seconds it took. */
static double make(struct synth_loader *l, size_t at)
{
    struct slot *s = &l->slots[at];
    double begin = seconds_now();
    s->pixels = 0;
    s->status = l->o.fill(l->o.arg, s->index, values_of(l, at), labels_of(l, at), &s->pixels);
    if (s->status == YP_OK && s->pixels > l->o.tile_pixels)
        s->status = yp_set_error(YP_INVALID,
                                 "synth_loader: fill gave tile %zu %zu pixels: must be 0 to %zu",
                                 s->index, s->pixels, l->o.tile_pixels);
    if (s->status != YP_OK)
        snprintf(s->message, sizeof s->message, "%s", yp_last_error());
    return seconds_now() - begin;
}

/* -- workers -------------------------------------------------------------------------------- */

static bool may_make(const struct synth_loader *l)
{
    return l->ahead < l->depth && l->begun_count < l->o.tiles && !l->rewinding;
}

static void wait_for_room(struct worker *w)
{
    struct synth_loader *l = w->loader;
    if (l->begun_count < l->o.tiles && !l->rewinding)
        w->waits_since = seconds_now();
    pthread_cond_wait(&l->room, &l->lock);
    stop_clock(w);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct synth_loader *l = w->loader;
    pthread_mutex_lock(&l->lock);
    while (!l->closing) {
        if (!may_make(l)) {
            wait_for_room(w);
            continue;
        }
        size_t at = begin_tile(l, next_tile(l), MAKING);
        l->ahead++;
        l->making++;
        pthread_mutex_unlock(&l->lock);
        double seconds = make(l, at);
        pthread_mutex_lock(&l->lock);
        l->making--;
        l->seen.made++;
        l->seen.worker_making += seconds;
        l->slots[at].state = READY;
        pthread_cond_broadcast(&l->made);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

struct cpus {
    cpu_set_t sets[CPUS / CPU_SETSIZE];
};

/* The processors that any thread of the process may use, ascending: the calling thread may be bound
 * to one. Returns how many there are. */
static size_t allowed_cpus(int out[CPUS])
{
    struct cpus all = {0};
    struct cpus one = {0};
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry = NULL;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
        if (task > 0 && sched_getaffinity(task, sizeof one, one.sets) == 0)
            CPU_OR_S(sizeof all, all.sets, all.sets, one.sets);
    }
    if (tasks != NULL)
        closedir(tasks);
    size_t count = 0;
    for (int cpu = 0; cpu < CPUS; cpu++)
        if (CPU_ISSET_S((size_t)cpu, sizeof all, all.sets))
            out[count++] = cpu;
    return count;
}

/* As pthread_create, on `cpu`; -1: wherever the system puts it. */
static int start(struct worker *w, int cpu)
{
    pthread_attr_t attributes;
    int failure = pthread_attr_init(&attributes);
    if (failure != 0)
        return failure;
    struct cpus one = {0};
    if (cpu >= 0) {
        CPU_SET_S((size_t)cpu, sizeof one, one.sets);
        failure = pthread_attr_setaffinity_np(&attributes, sizeof one, one.sets);
    }
    if (failure == 0)
        failure = pthread_create(&w->thread, &attributes, work, w);
    pthread_attr_destroy(&attributes);
    return failure;
}

/* As many as the system gives. YP_INVALID when it is a processor of the list that fails. */
static enum yp_status start_workers(struct synth_loader *l)
{
    int allowed[CPUS];
    const int *cpus = l->o.cpus;
    size_t count = l->o.cpu_count;
    if (cpus == NULL && l->o.workers > 1 && (count = allowed_cpus(allowed)) > 1)
        cpus = allowed;
    for (int i = 0; i < l->o.workers; i++) {
        struct worker *w = &l->worker[i];
        *w = (struct worker){.loader = l};
        int cpu = cpus != NULL ? cpus[(size_t)i % count] : -1;
        int failure = start(w, cpu);
        if (failure == EINVAL && l->o.cpus != NULL)
            return yp_set_error(YP_INVALID,
                                "synth_loader_options.cpus[%zu] is %d: must be a processor that "
                                "this process may use",
                                (size_t)i % count, cpu);
        if (failure == EINVAL && cpu >= 0) /* taken from the process since it was asked for */
            failure = start(w, cpu = -1);
        if (failure != 0)
            break;
        pthread_mutex_lock(&l->lock); /* those before it look */
        l->workers++;
        l->seen.bound += cpu >= 0;
        pthread_mutex_unlock(&l->lock);
    }
    return YP_OK;
}

/* -- the interface -------------------------------------------------------------------------- */

struct synth_loader *synth_loader_create(struct yp_device *device,
                                         const struct synth_loader_options *options)
{
    if (device == NULL) {
        yp_set_error(YP_INVALID, "synth_loader_create: device is NULL: must be a device");
        return NULL;
    }
    if (yp_device_memory_kind(device) != YP_HOST) {
        yp_set_error(YP_UNSUPPORTED,
                     "synth_loader_create: device is %s: must be one with host memory",
                     yp_device_name(device));
        return NULL;
    }
    size_t bytes = synth_loader_bytes(options);
    struct synth_loader *l = bytes > 0 ? yp_device_alloc(device, bytes) : NULL;
    if (l == NULL)
        return NULL;
    *l = (struct synth_loader){.device = device,
                               .o = *options,
                               .lock = PTHREAD_MUTEX_INITIALIZER,
                               .room = PTHREAD_COND_INITIALIZER,
                               .made = PTHREAD_COND_INITIALIZER};
    struct arena arena = {.base = (char *)l};
    lay_out(l, &arena);
    begin_pass(l);
    if (start_workers(l) == YP_OK) {
        l->o.cpus = NULL; /* the caller's, read for the last time */
        return l;
    }
    synth_loader_destroy(l);
    return NULL;
}

void synth_loader_destroy(struct synth_loader *loader)
{
    if (loader == NULL)
        return;
    pthread_mutex_lock(&loader->lock);
    loader->closing = true;
    pthread_cond_broadcast(&loader->room);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->workers; i++)
        pthread_join(loader->worker[i].thread, NULL);
    pthread_cond_destroy(&loader->room);
    pthread_cond_destroy(&loader->made);
    pthread_mutex_destroy(&loader->lock);
    yp_device_free(loader->device, loader);
}

/* Waits while a worker makes the tile. NO_SLOT: somebody has taken it. */
static size_t wait_for_tile(struct synth_loader *l, size_t index)
{
    double begin = seconds_now();
    bool waited = false;
    size_t at = find_slot(l, index);
    /* Looked for again each time: another may take the same one, and the slot go on. */
    while (at != NO_SLOT && l->slots[at].state == MAKING) {
        waited = true;
        pthread_cond_wait(&l->made, &l->lock);
        at = find_slot(l, index);
    }
    if (at == NO_SLOT || l->slots[at].state != READY)
        return NO_SLOT;
    l->slots[at].state = HELD;
    l->ahead--;
    l->seen.waited += waited;
    l->seen.ready += !waited;
    if (waited)
        l->seen.consumer_waiting += seconds_now() - begin;
    return at;
}

static size_t make_oneself(struct synth_loader *l, size_t index)
{
    size_t at = begin_tile(l, index, HELD);
    pthread_mutex_unlock(&l->lock);
    double seconds = make(l, at);
    pthread_mutex_lock(&l->lock);
    l->seen.helped++;
    l->seen.consumer_making += seconds;
    return at;
}

/* With the lock, which it may leave for a while. */
static enum yp_status take_tile(struct synth_loader *l, size_t index, struct synth_tile *tile)
{
    if (l->held == l->o.consumers)
        return yp_set_error(YP_INVALID,
                            "synth_loader_take: tile %zu while %zu are held: must be at most "
                            "synth_loader_options.consumers, %zu",
                            index, l->held, l->o.consumers);
    l->held++;
    l->cursor = (index + 1) % l->o.tiles;
    bool begun = is_begun(l, index);
    size_t at = begun ? wait_for_tile(l, index) : make_oneself(l, index);
    if (at == NO_SLOT) {
        l->held--;
        return yp_set_error(YP_INVALID,
                            "synth_loader_take: tile %zu was taken in this pass already: must be "
                            "taken once",
                            index);
    }
    if (begun)
        pthread_cond_signal(&l->room);
    struct slot *s = &l->slots[at];
    if (s->status == YP_OK) {
        *tile = (struct synth_tile){index, s->pixels, values_of(l, at), labels_of(l, at)};
        return YP_OK;
    }
    l->held--;
    s->state = EMPTY;
    return yp_set_error(s->status, "%s", s->message);
}

enum yp_status synth_loader_take(struct synth_loader *loader, size_t index, struct synth_tile *tile)
{
    if (loader == NULL || tile == NULL)
        return yp_set_error(YP_INVALID, "synth_loader_take: %s is NULL: must not be",
                            loader == NULL ? "loader" : "tile");
    *tile = (struct synth_tile){0};
    if (index >= loader->o.tiles)
        return yp_set_error(YP_INVALID, "synth_loader_take: index is %zu: must be 0 to %zu", index,
                            loader->o.tiles - 1);
    pthread_mutex_lock(&loader->lock);
    enum yp_status status = take_tile(loader, index, tile);
    pthread_mutex_unlock(&loader->lock);
    return status;
}

enum yp_status synth_loader_give_back(struct synth_loader *loader, struct synth_tile *tile)
{
    if (loader == NULL || tile == NULL)
        return yp_set_error(YP_INVALID, "synth_loader_give_back: %s is NULL: must not be",
                            loader == NULL ? "loader" : "tile");
    pthread_mutex_lock(&loader->lock);
    size_t at = tile->values != NULL ? find_slot(loader, tile->index) : NO_SLOT;
    bool held =
        at != NO_SLOT && loader->slots[at].state == HELD && tile->values == values_of(loader, at);
    if (held) {
        loader->slots[at].state = EMPTY;
        loader->held--;
    }
    pthread_mutex_unlock(&loader->lock);
    if (!held)
        return yp_set_error(YP_INVALID,
                            "synth_loader_give_back: tile %zu at %p: must be one that was taken "
                            "and not given back",
                            tile->index, (void *)tile->values);
    *tile = (struct synth_tile){0};
    return YP_OK;
}

enum yp_status synth_loader_rewind(struct synth_loader *loader)
{
    if (loader == NULL)
        return yp_set_error(YP_INVALID, "synth_loader_rewind: loader is NULL: must not be");
    pthread_mutex_lock(&loader->lock);
    size_t held = loader->held;
    if (held == 0) {
        loader->rewinding = true;
        while (loader->making > 0)
            pthread_cond_wait(&loader->made, &loader->lock);
        begin_pass(loader);
        loader->rewinding = false;
        pthread_cond_broadcast(&loader->room);
    }
    pthread_mutex_unlock(&loader->lock);
    if (held > 0)
        return yp_set_error(
            YP_INVALID, "synth_loader_rewind: %zu tiles are held: must be 0, all given back", held);
    return YP_OK;
}

int synth_loader_workers(const struct synth_loader *loader)
{
    return loader->workers;
}

void synth_loader_statistics(struct synth_loader *loader, struct synth_loader_statistics *out)
{
    pthread_mutex_lock(&loader->lock);
    *out = loader->seen;
    for (int i = 0; i < loader->workers; i++)
        if (loader->worker[i].waits_since > 0)
            out->worker_waiting += seconds_now() - loader->worker[i].waits_since;
    pthread_mutex_unlock(&loader->lock);
}
