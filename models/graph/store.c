/* Graphs that were made once, kept in memory or in a file. */
#include "models/graph/store.h"

#include "models/data/cache.h"

#include "base/text/text.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VERSION \
    UINT64_C(1) /* of records and of what they are made by: a change makes it another \
                 */
enum { VALUES = 7, REPAIRS_MOST = 8 };

struct graph_store {
    struct yp_device *device;
    struct graph_data *data;
    struct graph_caching caching;
    char *path;      /* NULL: in memory */
    char *directory; /* of files that the plays are read from when they are needed; NULL: they are
                        there */
    struct graph_reading reading;
    uint64_t key;
    size_t lists;         /* records before those of graphs */
    pthread_mutex_t lock; /* of making it again */
    _Atomic(struct data_cache *) cache;
    struct data_cache *retired[REPAIRS_MOST]; /* others may be reading them */
    int repairs;
};

/* -- records ----------------------------------------------------------------------------------- */

/* Where parts of a record lie; returns the bytes of all. */
static size_t lay_out(char *base, size_t nodes, size_t edges, const struct graph_rules *rules,
                      struct graph_record *r)
{
    char *at = base + 2 * sizeof *r->sizes;
    r->sizes = (void *)base;
    for (size_t k = 0; k < VALUES; k++, at += nodes * sizeof(float))
        r->value[k] = (void *)at;
    r->role = (void *)at;
    r->side = r->role + nodes;
    r->motion = (void *)(r->side + nodes);
    r->target = r->motion + nodes * (rules->past - 1) * GRAPH_MOTION;
    r->counts = r->target + nodes * rules->future * 2;
    r->first = (void *)(r->counts + nodes);
    r->edge = (void *)(r->first + nodes + 1);
    r->source = (void *)(r->edge + edges * GRAPH_EDGE_FEATURES);
    return (size_t)((char *)r->source - base) + edges;
}

/* The numbers of struct graph_players that a record has. */
static void values_of(struct graph_players *p, float *value[VALUES])
{
    float *const all[VALUES] = {p->x,         p->y,           p->speed, p->acceleration,
                                p->direction, p->orientation, p->weight};
    memcpy(value, all, sizeof all);
}

void graph_record_players(const struct graph_record *r, const struct graph_rules *rules,
                          struct graph_players *p, const struct graph_rows *rows)
{
    const size_t nodes = r->sizes[0];
    float *value[VALUES];
    values_of(p, value);
    p->count = nodes;
    for (size_t k = 0; k < VALUES; k++)
        memcpy(value[k], r->value[k], nodes * sizeof(float));
    memcpy(p->role, r->role, nodes * sizeof *r->role);
    memcpy(p->side, r->side, nodes * sizeof *r->side);
    memcpy(rows->motion, r->motion, nodes * (rules->past - 1) * GRAPH_MOTION * sizeof(float));
    memcpy(rows->target, r->target, nodes * rules->future * 2 * sizeof(float));
    memcpy(rows->counts, r->counts, nodes * sizeof(float));
}

size_t graph_record_edges(const struct graph_record *r, int32_t node_base, int32_t edge_base,
                          int32_t *first, int32_t *source, float *edge)
{
    const size_t nodes = r->sizes[0], edges = r->sizes[1];
    for (size_t i = 0; i <= nodes; i++)
        first[i] = r->first[i] + edge_base;
    for (size_t k = 0; k < edges; k++)
        source[k] = node_base + r->source[k];
    memcpy(edge, r->edge, edges * GRAPH_EDGE_FEATURES * sizeof *edge);
    return edges;
}

/* Sources as whole words, which are written before those of a byte. */
static size_t record_most(const struct graph_data *d)
{
    struct graph_record r;
    const size_t edges = graph_edges_most(d->players);
    return lay_out(NULL, d->players, edges, &d->rules, &r) + edges * sizeof(int32_t) + 4;
}

static size_t write_graph(const struct graph_play *play, size_t frame,
                          const struct graph_rules *rules, char *to)
{
    struct graph_players players;
    struct graph_record r;
    float *value[VALUES];
    const size_t nodes = graph_present(play, frame), most = graph_edges_most(nodes);
    lay_out(to, nodes, most, rules, &r);
    const struct graph_rows rows = {.motion = r.motion, .target = r.target, .counts = r.counts};
    graph_read_play(play, frame, rules, &players, &rows);
    values_of(&players, value);
    for (size_t k = 0; k < VALUES; k++)
        memcpy(r.value[k], value[k], nodes * sizeof(float));
    memcpy(r.role, players.role, nodes * sizeof *r.role);
    memcpy(r.side, players.side, nodes * sizeof *r.side);
    int32_t *words = (int32_t *)(void *)(r.edge + most * GRAPH_EDGE_FEATURES);
    const size_t edges =
        graph_edges(GRAPH_FASTEST, &players, rules->radius, 0, 0, r.first, words, r.edge);
    r.sizes[0] = (uint32_t)nodes;
    r.sizes[1] = (uint32_t)edges;
    const size_t bytes = lay_out(to, nodes, edges, rules, &r);
    for (size_t k = 0; k < edges; k++) /* to the front: never over one that is still to be read */
        r.source[k] = (uint8_t)words[k];
    return bytes;
}

/* The first records list the plays, without their arrays: so many in each that it is no larger than
 * a graph. Each begins with these numbers. */
struct list_head {
    uint64_t plays, each;
};

static size_t list_each(const struct graph_data *d)
{
    const size_t each = record_most(d) / sizeof *d->plays;
    return each > 0 ? each : 1;
}

/* How many records the list takes: one where there is no play. */
static size_t list_records(const struct list_head *head)
{
    return head->plays > 0 ? (size_t)((head->plays + head->each - 1) / head->each) : 1;
}

static size_t list_count(const struct list_head *head, size_t record)
{
    const size_t left = (size_t)head->plays - record * (size_t)head->each;
    return left < head->each ? left : (size_t)head->each;
}

static size_t write_list(const struct graph_data *d, const struct list_head *head, size_t record,
                         char *to)
{
    const size_t count = list_count(head, record), bytes = sizeof *head + count * sizeof *d->plays;
    struct graph_play *list = (void *)(to + sizeof *head);
    memset(to, 0, bytes); /* no byte between the fields is left as it was */
    memcpy(to, head, sizeof *head);
    for (size_t i = 0; i < count; i++) {
        const struct graph_play *play = &d->plays[record * head->each + i];
        list[i].game = play->game;
        list[i].play = play->play;
        list[i].frames = play->frames;
        list[i].players = play->players;
        list[i].formation = play->formation;
        list[i].alignment = play->alignment;
        list[i].down = play->down;
        list[i].to_go = play->to_go;
        list[i].box = play->box;
        list[i].coverage = play->coverage;
    }
    return bytes;
}

/* -- the key ----------------------------------------------------------------------------------- */

static uint64_t hash_rules(const struct graph_rules *rules)
{
    const uint64_t sizes[] = {VERSION, rules->past, rules->future, sizeof(struct graph_play)};
    return data_cache_hash(data_cache_hash(0, sizes, sizeof sizes), &rules->radius,
                           sizeof rules->radius);
}

static uint64_t hash_plays(const struct graph_data *d)
{
    uint64_t hash = hash_rules(&d->rules);
    for (size_t i = 0; i < d->play_count; i++) {
        const struct graph_play *p = &d->plays[i];
        const size_t all = p->frames * p->players;
        const float *const values[] = {p->x,         p->y,          p->speed, p->acceleration,
                                       p->direction, p->orientation};
        const int64_t names[] = {p->game,      p->play,     (int64_t)p->frames, (int64_t)p->players,
                                 p->formation, p->alignment};
        const float context[] = {p->down, p->to_go, p->box, p->coverage};
        hash = data_cache_hash(hash, names, sizeof names);
        hash = data_cache_hash(hash, context, sizeof context);
        hash = data_cache_hash(hash, p->present, all);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            hash = data_cache_hash(hash, values[k], all * sizeof(float));
        hash = data_cache_hash(hash, p->weight, p->players * sizeof *p->weight);
        hash = data_cache_hash(hash, p->role, p->players * sizeof *p->role);
        hash = data_cache_hash(hash, p->side, p->players * sizeof *p->side);
    }
    return hash;
}

/* -- making ------------------------------------------------------------------------------------ */

static enum yp_status make_record(void *arg, size_t record, void *to, size_t *size)
{
    const struct graph_data *d = arg;
    const struct list_head head = {d->play_count, list_each(d)};
    const size_t lists = list_records(&head), graph = record - lists;
    *size = record < lists
                ? write_list(d, &head, record, to)
                : write_graph(&d->plays[d->group[graph]], d->frame[graph], &d->rules, to);
    return YP_OK;
}

static void tell(const struct graph_store *s, const char *text)
{
    if (s->caching.tell != NULL)
        s->caching.tell(s->caching.arg, text);
}

/* From a data set that has its plays. */
static struct data_cache *build(struct graph_store *s, struct graph_data *plays,
                                const struct data_cache *damaged)
{
    const struct list_head head = {plays->play_count, list_each(plays)};
    const size_t most = record_most(plays), list = sizeof head + head.each * sizeof *plays->plays;
    const struct data_cache_options options = {.path = s->path,
                                               .key = s->key,
                                               .records = list_records(&head) + plays->count,
                                               .most = most > list ? most : list,
                                               .make = make_record,
                                               .arg = plays,
                                               .threads = s->caching.threads,
                                               .progress = s->caching.progress,
                                               .progress_arg = s->caching.arg};
    return data_cache_build(s->device, &options, damaged);
}

static enum yp_status key_of_files(const struct graph_store *s, const char *directory,
                                   const struct graph_rules *rules, uint64_t *key)
{
    *key = hash_rules(rules);
    return graph_tracks_hash(directory, &s->reading, key);
}

/* A data set of the files' plays. */
static struct graph_data *read_plays(struct graph_store *s, const char *directory,
                                     const struct graph_rules *rules)
{
    size_t count;
    struct graph_tracks_seen seen;
    struct graph_tracks *tracks = graph_tracks_read(s->device, directory, &s->reading);
    if (tracks == NULL)
        return NULL;
    const struct graph_play *plays = graph_tracks_plays(tracks, &seen);
    count = seen.plays;
    struct graph_data *d = graph_data_of_plays(s->device, plays, count, rules);
    if (d != NULL)
        d->tracks = tracks;
    else
        graph_tracks_free(tracks);
    return d;
}

static struct data_cache *build_again(struct graph_store *s, const struct data_cache *damaged)
{
    if (s->directory == NULL)
        return build(s, s->data, damaged);
    uint64_t key;
    if (key_of_files(s, s->directory, &s->data->rules, &key) != YP_OK)
        return NULL;
    if (key != s->key) {
        yp_set_error(YP_INVALID, "%s: its files have changed since they were read", s->directory);
        return NULL;
    }
    struct graph_data *plays = read_plays(s, s->directory, &s->data->rules);
    struct data_cache *cache = plays != NULL ? build(s, plays, damaged) : NULL;
    graph_data_destroy(plays);
    return cache;
}

/* After yp_set_error() said what is wrong with the cache. */
static enum yp_status repair(struct graph_store *s, struct data_cache *damaged)
{
    enum yp_status status = YP_OK;
    char *text = ypi_format("%s: it is made again", yp_last_error());
    pthread_mutex_lock(&s->lock);
    if (atomic_load(&s->cache) == damaged) {
        tell(s, text);
        struct data_cache *cache = s->repairs < REPAIRS_MOST ? build_again(s, damaged) : NULL;
        if (cache != NULL) {
            s->retired[s->repairs++] = damaged;
            atomic_store(&s->cache, cache);
        } else {
            status = s->repairs < REPAIRS_MOST
                         ? yp_last_status()
                         : yp_set_error(YP_IO, "%s, and was so %d times before", text, s->repairs);
        }
    }
    pthread_mutex_unlock(&s->lock);
    free(text);
    return status;
}

enum yp_status graph_store_find(const struct graph_data *d, size_t graph, struct graph_record *out)
{
    struct graph_store *s = d->store;
    const void *bytes = NULL;
    size_t size;
    enum yp_status status;
    for (;;) {
        struct data_cache *cache = atomic_load(&s->cache);
        status = data_cache_read(cache, s->lists + graph, &bytes, &size);
        if (status == YP_OK)
            break;
        status = repair(s, cache);
        if (status != YP_OK)
            return status;
    }
    const uint32_t *sizes = bytes;
    lay_out((char *)(uintptr_t)bytes, sizes[0], sizes[1], &d->rules, out);
    return YP_OK;
}

/* -- opening ----------------------------------------------------------------------------------- */

void graph_store_close(struct graph_store *s)
{
    if (s == NULL)
        return;
    data_cache_close(atomic_load(&s->cache));
    for (int i = 0; i < s->repairs; i++)
        data_cache_close(s->retired[i]);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s->directory);
    yp_device_free(s->device, s);
}

static struct graph_store *create(struct yp_device *device, const struct graph_caching *caching)
{
    if (caching->threads < 1) {
        yp_set_error(YP_INVALID, "graph_caching.threads is %d: must be 1 or more",
                     caching->threads);
        return NULL;
    }
    struct graph_store *s = yp_device_alloc(device, sizeof *s);
    if (s == NULL)
        return NULL;
    memset(s, 0, sizeof *s);
    s->device = device;
    s->caching = *caching;
    pthread_mutex_init(&s->lock, NULL);
    atomic_init(&s->cache, NULL);
    return s;
}

/* Whether a cache that could not be opened is to be made. Reports the reason, unless the file is
 * simply missing. */
static bool is_to_be_made(const struct graph_store *s)
{
    if (yp_last_status() == YP_INVALID) {
        char *text = ypi_format("%s: it is made again", yp_last_error());
        tell(s, text);
        free(text);
    }
    return yp_last_status() == YP_INVALID || yp_last_status() == YP_IO;
}

enum yp_status graph_data_keep(struct graph_data *d, const struct graph_caching *caching)
{
    if (caching->where == GRAPH_CACHE_OFF)
        return YP_OK;
    if (caching->where == GRAPH_CACHE_DISK && caching->path == NULL)
        return yp_set_error(YP_INVALID, "graph_caching.path is NULL: must be a file's");
    struct graph_store *s = create(d->device, caching);
    if (s == NULL)
        return yp_last_status();
    s->data = d;
    s->key = hash_plays(d);
    s->lists = list_records(&(struct list_head){d->play_count, list_each(d)});
    struct data_cache *cache = NULL;
    if (caching->where == GRAPH_CACHE_DISK) {
        s->path = ypi_strdup(caching->path);
        cache = data_cache_open(d->device, s->path, s->key);
    }
    if (cache == NULL && (s->path == NULL || is_to_be_made(s)))
        cache = build(s, d, NULL);
    atomic_store(&s->cache, cache);
    if (cache != NULL) {
        d->store = s;
        return YP_OK;
    }
    const enum yp_status status = yp_last_status();
    graph_store_close(s);
    return status;
}

/* The plays that the cache lists, (head->plays) of the device's memory; NULL with yp_last_error()
 * set. */
static struct graph_play *read_list(const struct graph_store *s, struct data_cache *cache,
                                    struct list_head *head)
{
    const void *bytes = NULL;
    size_t size = 0;
    if (data_cache_read(cache, 0, &bytes, &size) != YP_OK)
        return NULL;
    memcpy(head, bytes, sizeof *head);
    struct graph_play *listed = yp_device_alloc(s->device, (head->plays + 1) * sizeof *listed);
    for (size_t i = 0; i < list_records(head) && listed != NULL; i++) {
        if (data_cache_read(cache, i, &bytes, &size) == YP_OK) {
            memcpy(listed + i * head->each, (const char *)bytes + sizeof *head,
                   list_count(head, i) * sizeof *listed);
        } else {
            yp_device_free(s->device, listed);
            listed = NULL;
        }
    }
    return listed;
}

/* The data set of the plays that the cache lists. */
static struct graph_data *data_of_cache(struct graph_store *s, const struct graph_rules *rules,
                                        struct data_cache *cache)
{
    struct list_head head;
    struct graph_play *listed = read_list(s, cache, &head);
    if (listed == NULL)
        return NULL;
    struct graph_data *d = graph_data_list(s->device, listed, (size_t)head.plays, rules);
    if (d == NULL) {
        yp_device_free(s->device, listed);
        return NULL;
    }
    s->lists = list_records(&head);
    d->listed = listed;
    return d;
}

static struct graph_data *open_on_disk(struct graph_store *s, const char *directory,
                                       const struct graph_rules *rules)
{
    if (key_of_files(s, directory, rules, &s->key) != YP_OK)
        return NULL;
    struct data_cache *cache = data_cache_open(s->device, s->path, s->key);
    struct graph_data *d = cache != NULL ? data_of_cache(s, rules, cache) : NULL;
    if (d == NULL && is_to_be_made(s)) {
        struct data_cache *damaged = cache;
        struct graph_data *plays = read_plays(s, directory, rules);
        cache = plays != NULL ? build(s, plays, damaged) : NULL;
        graph_data_destroy(plays);
        data_cache_close(damaged);
        d = cache != NULL ? data_of_cache(s, rules, cache) : NULL;
    }
    atomic_store(&s->cache, cache); /* closed with the store */
    return d;
}

struct graph_data *graph_data_open(struct yp_device *device, const char *directory,
                                   const struct graph_reading *reading,
                                   const struct graph_rules *rules,
                                   const struct graph_caching *caching)
{
    if (graph_check_rules(rules) != YP_OK)
        return NULL;
    struct graph_store *s = create(device, caching);
    if (s == NULL)
        return NULL;
    s->reading = *reading;
    struct graph_data *d = NULL;
    if (caching->where == GRAPH_CACHE_DISK) {
        s->path = caching->path != NULL ? ypi_strdup(caching->path)
                                        : ypi_format("%s/graphs.cache", directory);
        s->directory = ypi_strdup(directory);
        d = open_on_disk(s, directory, rules);
        if (d != NULL) {
            s->data = d;
            d->store = s;
            return d;
        }
    } else {
        d = read_plays(s, directory, rules);
    }
    graph_store_close(s);
    if (d != NULL && graph_data_keep(d, caching) == YP_OK)
        return d;
    graph_data_destroy(d);
    return NULL;
}
