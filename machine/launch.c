/* How long the system takes to start processes and threads. */
#include "machine/machine.h"

#include "base/system/clock.h"

#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static bool launch_process(char *const *argv)
{
    int status = 0;
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        if (argv != NULL)
            execvp(argv[0], argv);
        _exit(argv != NULL);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static double launch(int count, char *const *argv)
{
    double begin = ypi_now();
    for (int i = 0; i < count; i++)
        if (!launch_process(argv))
            return NAN;
    return (ypi_now() - begin) / count;
}

double ypi_launch_processes(int count)
{
    return launch(count, NULL);
}

double ypi_launch_programs(int count)
{
    char name[] = "true";
    char *const argv[] = {name, NULL};
    return launch(count, argv);
}

static void *end_at_once(void *argument)
{
    return argument;
}

double ypi_launch_threads(int count)
{
    double begin = ypi_now();
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_at_once, NULL) != 0)
            return NAN;
        pthread_join(thread, NULL);
    }
    return (ypi_now() - begin) / count;
}
