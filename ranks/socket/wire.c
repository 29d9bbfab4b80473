#include "ranks/socket/wire.h"

#include "base/system/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's own poll: a program may have one in its place (base/system/clock.h). */
int ypk_wire_poll(struct pollfd *fds, size_t count, double end)
{
    double seconds = end - ypi_kernel_now();
    if (!(seconds > 0))
        seconds = 0;
    if (seconds > 1e6)
        seconds = 1e6;
    struct timespec wait = {.tv_sec = (time_t)seconds};
    wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
    const long ready = syscall(SYS_ppoll, fds, count, &wait, NULL, 0);
    return ready < 0 ? 0 : (int)ready;
}

static enum ypk_wire outcome(ssize_t moved, size_t *out)
{
    *out = moved > 0 ? (size_t)moved : 0;
    if (moved > 0)
        return YPK_WIRE_DONE;
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return YPK_WIRE_LATER;
    return YPK_WIRE_CLOSED;
}

enum ypk_wire ypk_wire_read(int fd, void *to, size_t size, size_t *moved)
{
    return outcome(recv(fd, to, size, MSG_DONTWAIT), moved);
}

enum ypk_wire ypk_wire_write(int fd, const void *from, size_t size, size_t *moved)
{
    return outcome(send(fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL), moved);
}

enum ypk_wire ypk_wire_header(int fd, struct ypk_reader *reader)
{
    while (reader->have < sizeof reader->frame) {
        size_t moved;
        const enum ypk_wire state = ypk_wire_read(fd, (char *)&reader->frame + reader->have,
                                                  sizeof reader->frame - reader->have, &moved);
        if (state != YPK_WIRE_DONE)
            return state;
        reader->have += moved;
    }
    return reader->frame.magic == YPK_FRAME_MAGIC ? YPK_WIRE_DONE : YPK_WIRE_CLOSED;
}

static enum ypk_wire all(int fd, char *at, const char *from, size_t size, double end)
{
    while (size > 0) {
        size_t moved;
        const enum ypk_wire state = at != NULL ? ypk_wire_read(fd, at, size, &moved)
                                               : ypk_wire_write(fd, from, size, &moved);
        if (state == YPK_WIRE_CLOSED)
            return state;
        size -= moved;
        at = at != NULL ? at + moved : NULL;
        from = from != NULL ? from + moved : NULL;
        if (state == YPK_WIRE_LATER) {
            struct pollfd p = {.fd = fd, .events = at != NULL ? POLLIN : POLLOUT};
            if (ypk_wire_poll(&p, 1, end) == 0 && ypi_kernel_now() >= end)
                return YPK_WIRE_LATER;
        }
    }
    return YPK_WIRE_DONE;
}

enum ypk_wire ypk_wire_read_all(int fd, void *to, size_t size, double end)
{
    return all(fd, to, NULL, size, end);
}

enum ypk_wire ypk_wire_write_all(int fd, const void *from, size_t size, double end)
{
    return all(fd, NULL, from, size, end);
}
