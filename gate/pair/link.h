/* The other end of a case that measures in turns: harness/measure/turns.h has the lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <yieldpoint/device.h>

enum { YPI_LINK_NAME_MAX = 64 };

/* What a case said last. */
enum ypi_link_word {
    YPI_LINK_MEASUREMENT, /* .name is warm, and waits */
    YPI_LINK_TOOK,        /* .seconds for .iterations, and waits */
    YPI_LINK_OVER,        /* the body wants no more of the measurement */
    YPI_LINK_CLOSED,      /* the case is at its end, or never spoke */
    YPI_LINK_BROKEN,      /* interrupted, too slow, or no word of the protocol; yp_last_error() */
};

struct ypi_link {
    int listener, fd; /* -1: none */
    pid_t process;    /* of the case; 0: it has not connected */
    char text[256];   /* what was received and not read yet */
    size_t length;
    char name[YPI_LINK_NAME_MAX];
    double seconds, iterations;
};

/* Listens at `path`, of a socket that is not there yet. */
enum yp_status ypi_link_listen(struct ypi_link *link, const char *path);

/* The next word. Until the case has connected, it is closed when process `pid` is over. After
 * `patience` seconds it is broken. */
enum ypi_link_word ypi_link_read(struct ypi_link *link, pid_t pid, double patience,
                                 const volatile bool *stop);

/* Nothing where the case is gone: the next word tells. */
void ypi_link_run(struct ypi_link *link, double iterations);
void ypi_link_next(struct ypi_link *link);
void ypi_link_leave(struct ypi_link *link);

void ypi_link_close(struct ypi_link *link); /* a second time does nothing */
