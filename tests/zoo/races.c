/* Built with ThreadSanitizer: a race fails its case. */
#include <pthread.h>
#include <stdio.h>
#include <yieldpoint/yieldpoint.h>

static int count;

static void *add(void *arg)
{
    for (int i = 0; i < 1000; i++)
        count++;
    return arg;
}

static void run_threads(int threads)
{
    pthread_t started[2];
    for (int i = 0; i < threads; i++)
        pthread_create(&started[i], NULL, add, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
}

YP_TEST(races, one_thread)
{
    run_threads(1);
    yp_value(t, "count", count);
}

YP_TEST(races, two_threads)
{
    run_threads(2);
    yp_value(t, "count", count);
}
