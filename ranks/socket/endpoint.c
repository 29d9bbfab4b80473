#include "ranks/socket/endpoint.h"

#include "base/system/clock.h"
#include "base/system/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_SECONDS 1.0 /* an address that does not answer is given up */
enum { BACKLOG = 1024 };

static void host_of(char out[96])
{
    char boot[64];
    char name[32];
    ypi_read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = '\0';
    const ssize_t length = readlink("/proc/self/ns/net", name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    snprintf(out, 96, "%.48s %s", boot, name);
}

static socklen_t unix_address(struct sockaddr_un *out, const char *name)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    const size_t length = strnlen(name, sizeof out->sun_path - 1);
    memcpy(out->sun_path + 1, name, length); /* the first byte is 0: no file */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static enum yp_status listen_unix(struct ypk_door *door, struct ypk_endpoint *endpoint)
{
    struct sockaddr_un address;
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return yp_set_error(YP_IO, "ranks: no random numbers: %s", strerror(errno));
    snprintf(endpoint->unix_name, sizeof endpoint->unix_name, "yieldpoint-%016llx%016llx",
             (unsigned long long)random[0], (unsigned long long)random[1]);
    const socklen_t length = unix_address(&address, endpoint->unix_name);
    door->unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->unix_fd < 0 || bind(door->unix_fd, (const struct sockaddr *)&address, length) != 0 ||
        listen(door->unix_fd, BACKLOG) != 0)
        return yp_set_error(YP_IO, "ranks: a UNIX socket: %s", strerror(errno));
    return YP_OK;
}

/* The addresses of this machine: those of loopback last, and none that is of one link alone. */
static void own_addresses(struct ypk_endpoint *endpoint, bool v6)
{
    struct ifaddrs *all = NULL;
    int count = 0;
    if (getifaddrs(&all) != 0)
        return;
    for (int loopback = 0; loopback < 2; loopback++) {
        for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) {
            if (each->ifa_addr == NULL || (each->ifa_flags & IFF_UP) == 0 ||
                ((each->ifa_flags & IFF_LOOPBACK) != 0) != loopback || count == YPK_ADDRESSES)
                continue;
            const void *address = NULL;
            if (each->ifa_addr->sa_family == AF_INET)
                address = &((const struct sockaddr_in *)(const void *)each->ifa_addr)->sin_addr;
            else if (each->ifa_addr->sa_family == AF_INET6 && v6)
                address = &((const struct sockaddr_in6 *)(const void *)each->ifa_addr)->sin6_addr;
            if (address == NULL ||
                (each->ifa_addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(address)))
                continue;
            if (inet_ntop(each->ifa_addr->sa_family, address, endpoint->address[count],
                          sizeof endpoint->address[count]) != NULL)
                count++;
        }
    }
    freeifaddrs(all);
}

/* One port for both families; a machine without IPv6 has only IPv4. */
static enum yp_status listen_tcp(struct ypk_door *door, struct ypk_endpoint *endpoint)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET};
    const int no = 0;
    bool v6 = true;
    door->tcp_fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->tcp_fd < 0 ||
        setsockopt(door->tcp_fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0 ||
        bind(door->tcp_fd, (const struct sockaddr *)&six, sizeof six) != 0) {
        v6 = false;
        if (door->tcp_fd >= 0)
            close(door->tcp_fd);
        door->tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (door->tcp_fd < 0 ||
            bind(door->tcp_fd, (const struct sockaddr *)&four, sizeof four) != 0)
            return yp_set_error(YP_IO, "ranks: a port of TCP: %s", strerror(errno));
    }
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } bound = {.six = {.sin6_family = AF_UNSPEC}};
    socklen_t length = sizeof bound;
    if (listen(door->tcp_fd, BACKLOG) != 0 || getsockname(door->tcp_fd, &bound.any, &length) != 0)
        return yp_set_error(YP_IO, "ranks: a port of TCP: %s", strerror(errno));
    endpoint->port = ntohs(v6 ? bound.six.sin6_port : bound.four.sin_port);
    own_addresses(endpoint, v6);
    return YP_OK;
}

enum yp_status ypk_door_open(struct ypk_door *door, struct ypk_endpoint *endpoint, bool tcp)
{
    *door = (struct ypk_door){.unix_fd = -1, .tcp_fd = -1};
    *endpoint = (struct ypk_endpoint){.port = 0};
    host_of(endpoint->host);
    enum yp_status status = listen_unix(door, endpoint);
    if (status == YP_OK && tcp)
        status = listen_tcp(door, endpoint);
    if (status != YP_OK)
        ypk_door_close(door);
    return status;
}

void ypk_door_close(struct ypk_door *door)
{
    for (int i = 0; i < door->guest_count; i++)
        close(door->guests[i].fd);
    door->guest_count = 0;
    if (door->unix_fd >= 0)
        close(door->unix_fd);
    if (door->tcp_fd >= 0)
        close(door->tcp_fd);
    door->unix_fd = door->tcp_fd = -1;
}

static void drop(struct ypk_door *door, int at)
{
    memmove(&door->guests[at], &door->guests[at + 1],
            (size_t)(door->guest_count - at - 1) * sizeof door->guests[0]);
    door->guest_count--;
}

static void take_guests(struct ypk_door *door, int listener)
{
    const int capacity = sizeof door->guests / sizeof door->guests[0];
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (door->guest_count == capacity) { /* who says nothing for so long is none of ours */
            close(door->guests[0].fd);
            drop(door, 0);
            door->refused++;
        }
        door->guests[door->guest_count++] = (struct ypk_guest){.fd = fd};
    }
}

/* Not by memcmp(), whose time tells how much of a guess is right. */
static bool same_token(const uint8_t *a, const uint8_t *b)
{
    unsigned different = 0;
    for (int i = 0; i < YPK_TOKEN; i++)
        different |= (unsigned)(a[i] ^ b[i]);
    return different == 0;
}

static void no_delay(int fd)
{
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* a UNIX socket has none */
}

/* The descriptor of a guest that has said all, and rightly; -1: none has. */
static int admit(struct ypk_door *door, const uint8_t token[YPK_TOKEN], struct ypk_hello *hello)
{
    for (int i = 0; i < door->guest_count; i++) {
        struct ypk_guest *guest = &door->guests[i];
        size_t moved;
        const enum ypk_wire state = ypk_wire_read(guest->fd, (char *)&guest->hello + guest->have,
                                                  sizeof guest->hello - guest->have, &moved);
        guest->have += moved;
        if (state != YPK_WIRE_CLOSED && guest->have < sizeof guest->hello)
            continue;
        const int fd = guest->fd;
        const bool ours = guest->have == sizeof guest->hello &&
                          guest->hello.magic == YPK_FRAME_MAGIC &&
                          same_token(guest->hello.token, token);
        *hello = guest->hello;
        drop(door, i--);
        if (ours) {
            no_delay(fd);
            return fd;
        }
        close(fd);
        door->refused++;
    }
    return -1;
}

int ypk_door_wait(struct ypk_door *door, const uint8_t token[YPK_TOKEN], double end,
                  struct ypk_hello *hello)
{
    for (;;) {
        struct pollfd fds[2 + sizeof door->guests / sizeof door->guests[0]];
        size_t count = 0;
        const int fd = admit(door, token, hello);
        if (fd >= 0)
            return fd;
        if (ypi_kernel_now() >= end)
            return -1;
        fds[count++] = (struct pollfd){.fd = door->unix_fd, .events = POLLIN};
        fds[count++] = (struct pollfd){.fd = door->tcp_fd, .events = POLLIN};
        for (int i = 0; i < door->guest_count; i++)
            fds[count++] = (struct pollfd){.fd = door->guests[i].fd, .events = POLLIN};
        ypk_wire_poll(fds, count, end);
        take_guests(door, door->unix_fd);
        if (door->tcp_fd >= 0)
            take_guests(door, door->tcp_fd);
    }
}

static int connect_to(const struct sockaddr *address, socklen_t length, double end)
{
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int error = connect(fd, address, length) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        socklen_t size = sizeof error;
        if (ypk_wire_poll(&p, 1, end) == 0)
            error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            error = errno;
    }
    if (error == 0) {
        no_delay(fd);
        return fd;
    }
    close(fd);
    errno = error;
    return -1;
}

static int connect_tcp(const char *address, int port, double end)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, address, &four.sin_addr) == 1)
        return connect_to((const struct sockaddr *)&four, sizeof four, end);
    if (inet_pton(AF_INET6, address, &six.sin6_addr) == 1)
        return connect_to((const struct sockaddr *)&six, sizeof six, end);
    errno = EINVAL;
    return -1;
}

int ypk_connect(const struct ypk_endpoint *to, bool near, double end, int *next)
{
    char host[sizeof to->host];
    host_of(host);
    if (near && strcmp(host, to->host) == 0) {
        struct sockaddr_un address;
        const socklen_t length = unix_address(&address, to->unix_name);
        return connect_to((const struct sockaddr *)&address, length, end);
    }
    errno = EHOSTUNREACH;
    for (int tried = 0; tried < YPK_ADDRESSES; tried++) {
        const int at = *next % YPK_ADDRESSES;
        *next = at + 1;
        if (to->port == 0 || to->address[at][0] == '\0')
            continue;
        const double last = ypi_kernel_now() + CONNECT_SECONDS;
        const int fd = connect_tcp(to->address[at], to->port, last < end ? last : end);
        if (fd >= 0 || ypi_kernel_now() >= end)
            return fd;
    }
    return -1;
}
