#include "gate/pair/link.h"

#include "base/system/clock.h"
#include "base/system/program.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { VERSION = 1, POLL_MS = 100 };

enum yp_status ypi_link_listen(struct ypi_link *link, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *link = (struct ypi_link){.listener = -1, .fd = -1};
    if (strlen(path) >= sizeof address.sun_path)
        return yp_set_error(YP_IO, "%s: is too long for a socket: %zu bytes are allowed", path,
                            sizeof address.sun_path - 1);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    link->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->listener >= 0 &&
        bind(link->listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(link->listener, 1) == 0)
        return YP_OK;
    enum yp_status status = yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    ypi_link_close(link);
    return status;
}

/* True when `fd` has something to give. */
static bool ready(int fd, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, wait_ms) > 0;
}

/* One line without its end into `line`; YPI_LINK_TOOK where there is one. */
static enum ypi_link_word take_line(struct ypi_link *link, char line[sizeof link->text])
{
    char *end = memchr(link->text, '\n', link->length);
    if (end == NULL)
        return link->length == sizeof link->text ? YPI_LINK_BROKEN : YPI_LINK_CLOSED;
    size_t length = (size_t)(end - link->text);
    memcpy(line, link->text, length);
    line[length] = '\0';
    link->length -= length + 1;
    memmove(link->text, end + 1, link->length);
    return YPI_LINK_TOOK;
}

/* More of what the case says; false at its end. */
static bool receive(struct ypi_link *link)
{
    ssize_t got = read(link->fd, link->text + link->length, sizeof link->text - link->length);
    if (got > 0)
        link->length += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

static enum ypi_link_word broken(const char *why)
{
    (void)yp_set_error(YP_IO, "%s", why);
    return YPI_LINK_BROKEN;
}

/* What a line means; YPI_LINK_CLOSED: nothing, go on. */
static enum ypi_link_word meaning(struct ypi_link *link, const char *line)
{
    static const char measurement[] = "measurement ";
    int version = 0;
    if (strncmp(line, measurement, sizeof measurement - 1) == 0) {
        snprintf(link->name, sizeof link->name, "%.*s", YPI_LINK_NAME_MAX - 1,
                 line + sizeof measurement - 1);
        return YPI_LINK_MEASUREMENT;
    }
    if (strcmp(line, "over") == 0)
        return YPI_LINK_OVER;
    if (sscanf(line, "took %lg %lg", &link->seconds, &link->iterations) == 2)
        return link->seconds > 0 && link->iterations > 0 && isfinite(link->seconds) &&
                       isfinite(link->iterations)
                   ? YPI_LINK_TOOK
                   : broken("a turn of no time, or of no end, was reported");
    if (sscanf(line, "turns %d", &version) == 1)
        return version == VERSION ? YPI_LINK_CLOSED
                                  : broken("the suite takes turns by another version of the lines");
    return broken("the suite said what is no part of taking turns");
}

static pid_t process_behind(int fd)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

static enum ypi_link_word await_connection(struct ypi_link *link, pid_t pid)
{
    if (ready(link->listener, POLL_MS))
        link->process =
            process_behind(link->fd = accept4(link->listener, NULL, NULL, SOCK_CLOEXEC));
    else if (ypi_program_is_over(pid) && !ready(link->listener, 0))
        return YPI_LINK_CLOSED;
    return YPI_LINK_TOOK;
}

enum ypi_link_word ypi_link_read(struct ypi_link *link, pid_t pid, double patience,
                                 const volatile bool *stop)
{
    char line[sizeof link->text];
    double deadline = ypi_kernel_now() + patience;
    for (;;) {
        enum ypi_link_word word = take_line(link, line);
        if (word == YPI_LINK_BROKEN)
            return broken("the suite said a line without an end");
        if (word == YPI_LINK_TOOK && (word = meaning(link, line)) != YPI_LINK_CLOSED)
            return word;
        if (memchr(link->text, '\n', link->length) != NULL)
            continue;
        if (stop != NULL && *stop)
            return broken("interrupted");
        if (ypi_kernel_now() > deadline)
            return broken("the case did not go on for too long");
        if (link->fd < 0 && await_connection(link, pid) == YPI_LINK_CLOSED)
            return YPI_LINK_CLOSED;
        if (link->fd >= 0 && ready(link->fd, POLL_MS) && !receive(link))
            return YPI_LINK_CLOSED;
    }
}

static void say(struct ypi_link *link, const char *line)
{
    if (link->fd >= 0)
        (void)!send(link->fd, line, strlen(line), MSG_NOSIGNAL);
}

void ypi_link_run(struct ypi_link *link, double iterations)
{
    char line[64];
    snprintf(line, sizeof line, "run %.0f\n", iterations);
    say(link, line);
}

void ypi_link_next(struct ypi_link *link)
{
    say(link, "next\n");
}

void ypi_link_leave(struct ypi_link *link)
{
    say(link, "leave\n");
}

void ypi_link_close(struct ypi_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    if (link->listener >= 0)
        close(link->listener);
    link->fd = link->listener = -1;
}
