/* One pair: a fresh process of the base and one of the head run the same case, alive at once, and
 * take turns batch by batch; or, where a case cannot wait in between, one after the other. */
#pragma once

#include "base/numbers/splitmix.h"

#include <stdbool.h>
#include <yieldpoint/device.h>

/* A side of the comparison: a suite as one revision builds it. Not owned. */
struct ypi_contestant {
    const char *program;        /* absolute path */
    const char *directory;      /* that it starts in: the revision's sources */
    const char *const *options; /* words more, ended by NULL; or NULL */
};

/* What is asked of all pairs of a case. */
struct ypi_pairing {
    struct ypi_contestant base, head;
    const char *id;            /* of the case */
    bool one_thread;           /* its measurements have one: both sides share a processor */
    const char *work;          /* a directory: sockets, logs and histories of no interest later */
    const volatile bool *stop; /* polled */
};

/* One measurement of the case. */
struct ypi_paired {
    const char *name;
    bool wanted;       /* else it is passed over */
    bool there;        /* both sides measured it */
    double base, head; /* seconds an iteration */
    bool no_time[2];   /* base, head: is less than any processor takes */
    double log_ratio;  /* of head over base, of turns that follow each other */
    int rounds;
};

enum ypi_pair_end {
    YPI_PAIR_DONE,
    YPI_PAIR_FAILED, /* a side ended early or hung; yp_last_error() says which and how */
    YPI_PAIR_STOPPED,
};

/* Fills `there` and what follows of the measurements, whose names stand in the order of the case. A
 * measurement that cannot wait in between stays without. Which side comes first is `coin`'s. */
enum ypi_pair_end ypi_pair_in_turns(const struct ypi_pairing *p, struct ypi_seed *coin,
                                    struct ypi_paired *list, int count);

/* The same by whole runs of one side after the other, with the suite's own rule of stopping. */
enum ypi_pair_end ypi_pair_in_whole(const struct ypi_pairing *p, struct ypi_seed *coin,
                                    struct ypi_paired *list, int count);
