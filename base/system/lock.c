#include "base/system/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define USUAL_FILE "/tmp/yieldpoint.lock"

int ypi_machine_lock(FILE *tell, const volatile bool *stop)
{
    static const struct timespec pause = {.tv_nsec = 50000000};
    const char *given = getenv("YIELDPOINT_LOCK");
    const char *path = given != NULL && given[0] != '\0' ? given : USUAL_FILE;
    /* Without O_CREAT first: a sticky directory refuses it for another user's file. */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        fprintf(tell, "warning: %s: %s: other runs may disturb the timing\n", path,
                strerror(errno));
        return -1;
    }
    bool reported = false;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            fprintf(tell, "warning: %s: cannot be locked (%s): other runs may disturb the timing\n",
                    path, strerror(errno));
            close(fd);
            return -1;
        }
        if (!reported)
            fprintf(tell, "waiting for another timed run on this machine (%s)\n", path);
        reported = true;
        if (*stop) {
            close(fd);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return fd;
}
