/* What a measurement's time goes to, and what bounds it. */
#pragma once

#include "reports/advice/rule.h"

#include <stdbool.h>

/* Kinds of phases, by the words of their names. */
enum ypi_stage {
    YPI_STAGE_OTHER,
    YPI_STAGE_DATA,     /* load, read, parse, decode, ... */
    YPI_STAGE_TRANSFER, /* upload, download, copy */
    YPI_STAGE_COMPUTE,  /* forward, backward, loss, optimiser, ... */
    YPI_STAGE_LAUNCH,
    YPI_STAGE_WAIT, /* wait, barrier, join, reduce, lock */
    YPI_STAGES
};

struct ypi_stages {
    double seconds[YPI_STAGES]; /* an iteration */
    double all;                 /* of all phases */
    double share[YPI_STAGES];   /* of an iteration */
    enum ypi_stage most;
};
struct ypi_stages ypi_stages_of(const struct ypi_seen *s);
enum ypi_stage ypi_stage_named(const char *phase);
/* "load 3.1 ms, read 20 us (74 % of an iteration of 4.2 ms [4.1 ms, 4.3 ms])": evidence of one. */
void ypi_stage_evidence(const struct ypi_seen *s, struct ypi_finding *f, enum ypi_stage stage);

/* The ceiling that takes the most of the least time that the work can take. */
struct ypi_nearest {
    const cJSON *bound; /* NULL: none was probed */
    double part;        /* of the least time of all steps */
    bool traffic;       /* of memory or a cache */
    bool transfer;      /* between the host and a device */
    char name[64];      /* "copy from memory", "fp32 arithmetic" */
};
struct ypi_nearest ypi_nearest_of(const cJSON *m);
/* "share 0.81 [0.8, 0.82] of 21 GB/s [20 GB/s, 22 GB/s] (copy from memory)" */
void ypi_share_evidence(const struct ypi_seen *s, struct ypi_finding *f,
                        const struct ypi_nearest *n);

/* By others, a quota or the clock: what its processors did is not known then. */
bool ypi_is_disturbed(const struct ypi_seen *s);
double ypi_processors_busy(const struct ypi_seen *s);    /* NaN: not known */
double ypi_counted(const cJSON *m, const char *counter); /* an iteration; NaN: not counted */
