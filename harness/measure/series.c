#include "harness/measure/series.h"

#include "base/heap/heap.h"
#include "base/system/clock.h"
#include "base/system/thread.h"
#include "base/text/text.h"
#include "device/backend.h"
#include "harness/vocabulary/result.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 4096, PERIOD_NS = 100000000 };
#define STACK_BYTES ((size_t)256 << 10)

struct ypi_series {
    struct yp_device *device;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over; /* under the lock */
    double began;
    double (*rows)[YPI_SERIES_COLUMNS];
    size_t count;
    int every; /* periods between rows */
};

static bool add_row(struct ypi_series *s)
{
    struct ypi_condition now;
    if (!s->device->backend->condition(s->device, &now))
        return false;
    const double row[YPI_SERIES_COLUMNS] = {
        [YPI_SERIES_AT] = now.at - s->began,
        [YPI_SERIES_CLOCK] = now.clock,
        [YPI_SERIES_TEMPERATURE] = now.temperature,
        [YPI_SERIES_POWER] = now.power,
        [YPI_SERIES_UTILISATION] = now.utilisation,
        [YPI_SERIES_USED] = now.used,
        [YPI_SERIES_THROTTLED] = (double)now.throttled,
    };
    memcpy(s->rows[s->count++], row, sizeof row);
    return true;
}

/* Every second row goes, and they come half as often from now on. */
static void thin(struct ypi_series *s)
{
    for (size_t i = 0; i < ROWS / 2; i++)
        memcpy(s->rows[i], s->rows[2 * i], sizeof s->rows[i]);
    s->count = ROWS / 2;
    s->every *= 2;
}

/* False when it is over. */
static bool rest(struct ypi_series *s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long long ns = until.tv_nsec + (long long)s->every * PERIOD_NS;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&s->lock);
    while (!s->over && pthread_cond_timedwait(&s->wake, &s->lock, &until) != ETIMEDOUT) {
    }
    bool over = s->over;
    pthread_mutex_unlock(&s->lock);
    return !over;
}

static void *watch(void *argument)
{
    YPI_HEAP_OWN;
    struct ypi_series *s = argument;
    do {
        if (s->count == ROWS)
            thin(s);
    } while (add_row(s) && rest(s));
    return NULL;
}

static void forget(struct ypi_series *s)
{
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->rows);
    free(s);
}

struct ypi_series *ypi_series_open(struct yp_device *device)
{
    struct ypi_condition now;
    pthread_condattr_t clock;
    if (device->backend->condition == NULL || !device->backend->condition(device, &now))
        return NULL;
    struct ypi_series *s = ypi_calloc(1, sizeof *s);
    s->rows = ypi_calloc(ROWS, sizeof *s->rows);
    s->device = device;
    s->began = ypi_now();
    s->every = 1;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, &clock);
    pthread_condattr_destroy(&clock);
    if (ypi_thread_begin(&s->thread, watch, s, STACK_BYTES))
        return s;
    forget(s);
    return NULL;
}

double *ypi_series_close(struct ypi_series *s, size_t *count)
{
    *count = 0;
    if (s == NULL)
        return NULL;
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    double *rows = ypi_calloc(s->count + 1, sizeof *s->rows);
    memcpy(rows, s->rows, s->count * sizeof *s->rows);
    *count = s->count;
    forget(s);
    return rows;
}
