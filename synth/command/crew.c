/* Threads that work on one thing while the caller shows how far they are and looks for signals. */
#include "synth/command/internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_SECONDS 0.1

/* ---- signals ---- */

static volatile sig_atomic_t caught; /* the signal that ends the run */
static struct sigaction before;      /* of SIGXFSZ */

static void catch_signal(int number)
{
    caught = number;
}

void ypi_signals_begin(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction act = {.sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&act.sa_mask);
    act.sa_handler = catch_signal;
    caught = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &act, NULL);
    /* A file beyond its size limit is then an error of write(), like a full disk. */
    act.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &act, &before);
}

void ypi_signals_end(void)
{
    sigaction(SIGXFSZ, &before, NULL);
}

int ypi_signal_caught(void)
{
    return caught;
}

/* ---- threads ---- */

enum { THREADS_MOST = 1024 };

enum yp_status ypi_crew_check(size_t threads)
{
    return threads <= THREADS_MOST ? YP_OK
                                   : yp_set_error(YP_INVALID, "--threads is %zu: must be 1 to %d",
                                                  threads, THREADS_MOST);
}

void ypi_crew_fail(struct ypi_crew *crew, enum yp_status status)
{
    if (!crew->stop) {
        crew->status = status;
        snprintf(crew->error, sizeof crew->error, "%s", yp_last_error());
    }
    crew->stop = true;
    pthread_cond_broadcast(&crew->changed);
}

static void *start(void *argument)
{
    struct ypi_crew *crew = argument;
    crew->work(crew->arg);
    pthread_mutex_lock(&crew->lock);
    crew->running--;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Until the last thread has ended. The lock is held. */
static void watch(struct ypi_crew *crew, void (*show)(void *arg))
{
    while (crew->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)(POLL_SECONDS * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&crew->changed, &crew->lock, &until);
        if (caught != 0 && !crew->stop) {
            crew->stop = true;
            pthread_cond_broadcast(&crew->changed);
        }
        show(crew->arg);
    }
}

enum yp_status ypi_crew_run(struct ypi_crew *crew, size_t threads, void (*work)(void *arg),
                            void (*show)(void *arg), void *arg)
{
    size_t count = 0;
    pthread_t *all = calloc(threads, sizeof *all);
    if (all == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "--threads is %zu: no memory for so many", threads);
    *crew = (struct ypi_crew){.work = work, .arg = arg};
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    pthread_mutex_lock(&crew->lock);
    for (; count < threads && !crew->stop; count++) {
        errno = pthread_create(&all[count], NULL, start, crew);
        if (errno != 0) {
            yp_set_error(YP_OUT_OF_MEMORY, "thread %zu of %zu cannot be started: %s", count + 1,
                         threads, strerror(errno));
            ypi_crew_fail(crew, YP_OUT_OF_MEMORY);
            break;
        }
        crew->running++;
    }
    watch(crew, show);
    pthread_mutex_unlock(&crew->lock);
    for (size_t i = 0; i < count; i++)
        pthread_join(all[i], NULL);
    free(all);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    if (crew->status != YP_OK && crew->error[0] != '\0')
        yp_set_error(crew->status, "%s", crew->error);
    return crew->status;
}
