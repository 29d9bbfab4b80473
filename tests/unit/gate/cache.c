#include "gate/revision/cache.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/yieldpoint-cache-XXXXXX";
static char *place, *file;
static const volatile bool never = false;

static void begin(void)
{
    cr_assert_not_null(mkdtemp(directory));
    place = ypi_format("%s/place", directory);
    file = ypi_format("%s.lock", place);
}

static void end(void)
{
    unlink(file);
    rmdir(directory);
    free(file);
    free(place);
}

TestSuite(cache, .init = begin, .fini = end, .timeout = 60);

static int take(void)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    cr_assert(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    return fd;
}

static void *wait_for_it(void *progress)
{
    static int fd;
    fd = ypi_cache_lock(place, true, progress, &never);
    fclose(progress);
    return &fd;
}

/* A process removes a build together with its lock, while a second one waits for that lock. The
 * second one may not build beside a third, which has made the lock anew. */
Test(cache, a_lock_that_was_removed_is_none)
{
    int ends[2];
    pthread_t waiting;
    char line[256];
    void *got = NULL;
    struct stat own;
    struct stat there;
    cr_assert_eq(pipe(ends), 0);
    FILE *progress = fdopen(ends[1], "w");
    setvbuf(progress, NULL, _IOLBF, 0);
    FILE *printed = fdopen(ends[0], "r");

    const int removed = take();
    cr_assert_eq(pthread_create(&waiting, NULL, wait_for_it, progress), 0);
    cr_assert_not_null(fgets(line, sizeof line, printed)); /* it has opened the file */
    cr_expect_eq(unlink(file), 0);
    const int anew = take();
    close(removed);
    struct pollfd done = {.fd = ends[0], .events = POLLIN}; /* the end of what it prints */
    cr_expect_eq(poll(&done, 1, 1000), 0, "it does not wait for the new one");
    close(anew);
    cr_assert_eq(pthread_join(waiting, &got), 0);
    const int fd = *(int *)got;
    cr_assert(fstat(fd, &own) == 0 && stat(file, &there) == 0);
    cr_expect_eq(own.st_ino, there.st_ino);
    cr_expect_lt(flock(open(file, O_RDWR | O_CLOEXEC), LOCK_SH | LOCK_NB), 0);
    close(fd);
    fclose(printed);
}
