/*
 * Counting by CUPTI: its library, which is loaded when it is asked for, and the metrics that are
 * asked of it. Nothing here needs a context, so that a test can ask for the metrics of a chip that
 * is not there.
 *
 * The library is loaded by name and declared here, since CUDA's toolkit need not have its headers
 * and those of the host side are C++: functions, structures and numbers are those of "CUPTI API
 * Reference" (NVIDIA, 13.0), Range Profiling API and Profiler Host API. tests/fake_cuda/cupti.cpp
 * holds them against the toolkit's own headers.
 */
#pragma once

#include "device/backend.h"

#include "device/cuda/host.h"

/* Every structure begins with its size, without what pads its end, and a pointer that is NULL. */
#define YPI_CUPTI_SIZE(type_, last_) \
    (offsetof(struct type_, last_) + sizeof(((struct type_ *)0)->last_))

struct ypi_cupti_initialize {
    size_t size;
    void *none;
};
struct ypi_cupti_chip {
    size_t size;
    void *none;
    size_t device;
    const char *name; /* out */
};
/* Each of the levels: 0 unknown, 1 unsupported, 2 disabled, 3 supported. */
struct ypi_cupti_supported {
    size_t size;
    void *none;
    int device;
    int all, architecture, sli, vgpu, confidential, mining, wsl; /* out */
    int api;                                                     /* 0: ranges */
};
struct ypi_cupti_availability {
    size_t size;
    void *none;
    void *context;
    size_t image_size; /* in and out */
    uint8_t *image;    /* NULL: the size is asked for */
};
struct ypi_cupti_host_open {
    size_t size;
    void *none;
    int type; /* 0: ranges */
    const char *chip;
    const uint8_t *availability; /* NULL: that of the chip as it is known */
    void *host;                  /* out */
};
struct ypi_cupti_host_close {
    size_t size;
    void *none;
    void *host;
};
struct ypi_cupti_properties {
    size_t size;
    void *none;
    void *host;
    const char *metric;
    const char *description, *unit, *dimension; /* out */
    int type;                                   /* out */
};
struct ypi_cupti_add {
    size_t size;
    void *none;
    void *host;
    const char **metrics;
    size_t count;
};
struct ypi_cupti_config_size {
    size_t size;
    void *none;
    void *host;
    size_t bytes; /* out */
};
struct ypi_cupti_config {
    size_t size;
    void *none;
    void *host;
    size_t bytes;
    uint8_t *image;
};
struct ypi_cupti_passes {
    size_t size;
    void *none;
    size_t bytes;
    uint8_t *image;
    size_t passes; /* out */
};
struct ypi_cupti_values {
    size_t size;
    void *none;
    void *host;
    const uint8_t *counted;
    size_t counted_size;
    size_t range;
    const char **metrics;
    size_t count;
    double *values; /* out: `count` of them */
};
struct ypi_cupti_enable {
    size_t size;
    void *none;
    void *context;
    void *profiler; /* out */
};
/* Disable and start have no more than it, push one field more. */
struct ypi_cupti_profiler {
    size_t size;
    void *none;
    void *profiler;
};
struct ypi_cupti_push {
    size_t size;
    void *none;
    void *profiler;
    const char *name;
};
struct ypi_cupti_stop {
    size_t size;
    void *none;
    void *profiler;
    size_t pass, nesting; /* out */
    uint8_t all_passes;   /* out */
};
struct ypi_cupti_set {
    size_t size;
    void *none;
    void *profiler;
    size_t config_size;
    const uint8_t *config;
    size_t counted_size;
    uint8_t *counted;
    int range;  /* 2: the user's */
    int replay; /* 3: the user's */
    size_t ranges_max;
    uint16_t nesting_levels, nesting_min;
    size_t pass;
    uint16_t nesting_target;
};
struct ypi_cupti_decode {
    size_t size;
    void *none;
    void *profiler;
    size_t dropped; /* out */
};
struct ypi_cupti_counted_size {
    size_t size;
    void *none;
    void *profiler;
    const char **metrics;
    size_t count;
    size_t ranges_max;
    uint32_t nodes_max;
    size_t bytes; /* out */
};
struct ypi_cupti_counted_init {
    size_t size;
    void *none;
    void *profiler;
    size_t bytes;
    uint8_t *counted;
};
struct ypi_cupti_counted_info {
    size_t size;
    void *none;
    const uint8_t *counted;
    size_t bytes;
    size_t ranges; /* out */
};
enum {
    YPI_CUPTI_OK = 0,
    YPI_CUPTI_OUT_OF_MEMORY = 8,
    YPI_CUPTI_NOT_INITIALIZED = 15,
    YPI_CUPTI_DISABLED = 23,
    YPI_CUPTI_BUSY = 26,
    YPI_CUPTI_NOT_SUPPORTED = 27,
    YPI_CUPTI_VIRTUALIZED = 33,
    YPI_CUPTI_PRIVILEGES = 35,
    YPI_CUPTI_OTHERS = 39, /* another tool is attached */
    YPI_CUPTI_VIRTUALIZED_PRIVILEGES = 40,
    YPI_CUPTI_CONFIDENTIAL = 41,
    YPI_CUPTI_MIG = 43,
    YPI_CUPTI_CHIP = 46, /* newer than the library */
    YPI_CUPTI_USER_RANGE = 2,
    YPI_CUPTI_USER_REPLAY = 3,
    YPI_CUPTI_SUPPORTED = 3,
};

/* Its functions; all are there. */
struct ypi_cupti {
    int (*name)(int result, const char **out);
    int (*initialize)(struct ypi_cupti_initialize *);
    int (*chip)(struct ypi_cupti_chip *);
    int (*supported)(struct ypi_cupti_supported *);
    int (*availability)(struct ypi_cupti_availability *);
    int (*host_open)(struct ypi_cupti_host_open *);
    int (*host_close)(struct ypi_cupti_host_close *);
    int (*properties)(struct ypi_cupti_properties *);
    int (*add)(struct ypi_cupti_add *);
    int (*config_size)(struct ypi_cupti_config_size *);
    int (*config)(struct ypi_cupti_config *);
    int (*passes)(struct ypi_cupti_passes *);
    int (*values)(struct ypi_cupti_values *);
    int (*enable)(struct ypi_cupti_enable *);
    int (*disable)(struct ypi_cupti_profiler *);
    int (*set)(struct ypi_cupti_set *);
    int (*start)(struct ypi_cupti_profiler *);
    int (*stop)(struct ypi_cupti_stop *);
    int (*push)(struct ypi_cupti_push *);
    int (*pop)(struct ypi_cupti_profiler *);
    int (*decode)(struct ypi_cupti_decode *);
    int (*counted_size)(struct ypi_cupti_counted_size *);
    int (*counted_init)(struct ypi_cupti_counted_init *);
    int (*counted_info)(struct ypi_cupti_counted_info *);
};

/* The file that YIELDPOINT_CUPTI names, else looked for as the loader does, then in the toolkit of
 * CUDA_HOME, of CUDA_PATH and in /usr/local. NULL with the host's message set (YP_UNSUPPORTED).
 * Once loaded it stays. */
const struct ypi_cupti *ypi_cupti_load(void);

/* What a result comes to, with the host's message set: `what` names the call. That it is not
 * allowed or cannot be here is YP_UNSUPPORTED, with what can be done about it. */
enum yp_status ypi_cupti_status(const struct ypi_cupti *c, int result, const char *what);

/* -- metrics.c ------------------------------------------------------------------------------ */

/* What of ypi_audited a chip's metrics can count, and the configuration for it. */
struct ypi_metrics {
    const struct ypi_cupti *cupti;
    void *host;
    const char *names[32]; /* that the chip knows */
    int terms[32];         /* of the table, for each */
    size_t count;
    uint8_t *config;
    size_t config_size, passes;
    bool has[YPI_AUDITED];
};

/* `availability` may be NULL. The structure is the caller's, to be closed also after a failure. */
enum yp_status ypi_metrics_open(struct ypi_metrics *m, const struct ypi_cupti *c, const char *chip,
                                const uint8_t *availability);
/* From what was counted in its one range; NaN: the chip has no such metric. */
enum yp_status ypi_metrics_read(const struct ypi_metrics *m, const uint8_t *counted, size_t bytes,
                                double out[YPI_AUDITED]);
void ypi_metrics_close(struct ypi_metrics *m);
