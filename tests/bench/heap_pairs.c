/*
 * What counting of the heap costs: processor time of a pair of malloc and free, by threads and by
 * bytes. Built twice, with yieldpoint-heap (heap-pairs) and without (heap-pairs-plain).
 *
 * usage: heap-pairs [ROUNDS]
 *
 * Each thread holds 64 blocks and replaces one after the other, so that free() has to find its
 * block among others, and does some work behind each pair or none. Counting is switched on and off
 * in turns; the medians of the rounds are printed.
 */
#include "base/heap/heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HELD = 64, PAIRS = 400000, ROUNDS_MOST = 99, THREADS_MOST = 4 };

static const int threads_of[] = {1, 2, 4};
static const size_t bytes_of[] = {32, 4096};
static const int steps_of[] = {0, 100}; /* of work, some 4 cycles each */

static pthread_barrier_t start;

struct worker {
    pthread_t thread;
    size_t bytes;
    int steps;
    double seconds; /* of processor time */
};

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void replace(const struct worker *w, int pairs)
{
    void *held[HELD] = {NULL};
    for (int i = 0; i < pairs; i++) {
        void *volatile *at = (void *volatile *)&held[i % HELD];
        free(*at);
        *at = malloc(w->bytes);
        uint64_t x = (uint64_t)i;
        for (int k = 0; k < w->steps; k++)
            x = x * x + 1;
        __asm__ volatile("" : : "r"(x));
    }
    for (int i = 0; i < HELD; i++)
        free(held[i]);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    replace(w, PAIRS / 10); /* the allocator has its memory */
    pthread_barrier_wait(&start);
    const double from = processor_time();
    replace(w, PAIRS);
    w->seconds = processor_time() - from;
    return NULL;
}

/* Nanoseconds of processor time a pair. One thread is the process's own, which takes no lock. */
static double measure(int threads, size_t bytes, int steps, bool counted)
{
    struct worker workers[THREADS_MOST];
    double seconds = 0;
    if (&ypi_heap != NULL) {
        ypi_heap.begin(NULL, 0, NULL);
        ypi_heap.set(counted ? YPI_HEAP_ON : YPI_HEAP_OFF);
    }
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        workers[i] = (struct worker){.bytes = bytes, .steps = steps};
    for (int i = 1; i < threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            exit(EXIT_FAILURE);
    work(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    if (&ypi_heap != NULL)
        ypi_heap.set(YPI_HEAP_OFF);
    for (int i = 0; i < threads; i++)
        seconds += workers[i].seconds;
    return 1e9 * seconds / threads / PAIRS;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_both(int threads, size_t bytes, int steps, int rounds)
{
    double of[2][ROUNDS_MOST];
    for (int i = 0; i < 2 * rounds; i++)
        of[(i + i / 2) % 2][i / 2] = measure(threads, bytes, steps, (i + i / 2) % 2 == 1);
    for (int k = 0; k < 2; k++)
        qsort(of[k], (size_t)rounds, sizeof of[k][0], compare);
    printf("%7d  %5zu  %5d  %8.1f", threads, bytes, steps, of[0][rounds / 2]);
    if (&ypi_heap != NULL)
        printf("  %7.1f  %6.1f", of[1][rounds / 2], of[1][rounds / 2] - of[0][rounds / 2]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const int wanted = argc > 1 ? atoi(argv[1]) : 11;
    const int rounds = wanted < 1 ? 1 : wanted > ROUNDS_MOST ? ROUNDS_MOST : wanted;
    printf("ns of processor time a pair of malloc and free, median of %d rounds\n", rounds);
    printf("threads  bytes  steps  %s\n",
           &ypi_heap != NULL ? "off       counted  more" : "no library");
    for (size_t i = 0; i < sizeof steps_of / sizeof *steps_of; i++)
        for (size_t j = 0; j < sizeof threads_of / sizeof *threads_of; j++)
            for (size_t k = 0; k < sizeof bytes_of / sizeof *bytes_of; k++)
                measure_both(threads_of[j], bytes_of[k], steps_of[i], rounds);
}
