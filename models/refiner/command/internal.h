/* What the files of the command share. */
#pragma once

#include "models/refiner/plan.h"

#include <sys/types.h>

/* -- models ------------------------------------------------------------------------------------ */

/* What is measured: a pass of inference, or a step of training. */
struct ypi_refiner_work {
    struct yp_device *device; /* of a plan: the CPU */
    const char *kind;         /* "cpu" or "cuda" */
    enum nn_precision precision;
    bool train;
    size_t width, tile, batch;
    uint64_t seed;           /* of weights and images */
    struct vit_options real; /* of that model: what the others do not say */
};

struct ypi_refiner_plan {
    size_t parameters; /* trained or not */
    size_t bytes;      /* of them, as the model keeps them */
    struct refiner_plan of;
    size_t start; /* of the CPU, beside what is planned: while weights and images are drawn */
};

struct state_tensor;
struct ypi_refiner_pass;

/* A model to be measured. On failure yp_last_error() is set. */
struct ypi_refiner_model {
    const char *name;
    /* Whether it can be made, without its memory: YP_INVALID, YP_UNSUPPORTED. */
    enum yp_status (*plan)(const struct ypi_refiner_work *work, struct ypi_refiner_plan *out);
    void *(*open)(const struct ypi_refiner_work *work); /* with weights and images; or NULL */
    void (*close)(void *model);
    /* Inference is the forward pass alone; a step of training all three in this order. They may
     * return before the device is done. */
    enum yp_status (*forward)(void *model);
    enum yp_status (*backward)(void *model);
    enum yp_status (*update)(void *model);
    /* What is to be said of a model that was measured, below 256 bytes; NULL or false: nothing. */
    bool (*note)(void *model, char *out, size_t bytes);
    /* Over given images: their channels, the shape of the result, and the pass, which adds what
     * is to be dumped. */
    size_t channels; /* 0: those of work.real */
    struct state_tensor (*output)(const struct ypi_refiner_work *work);
    enum yp_status (*pass)(struct ypi_refiner_pass *pass);
};

extern const struct ypi_refiner_model ypi_refiner_mock, ypi_refiner_real;

/* -- the sweep --------------------------------------------------------------------------------- */

enum { YPI_REFINER_SIZES = 32 };

struct ypi_refiner_sizes {
    size_t list[YPI_REFINER_SIZES];
    size_t count;
};

struct ypi_refiner_request {
    const struct ypi_refiner_model *model;
    struct ypi_refiner_work work; /* without tile and batch */
    struct ypi_refiner_sizes tiles, batches;
    size_t warmup, iterations;
    uint64_t limit;     /* of the device's memory; 0: none */
    const char *output; /* NULL: no file */
    bool one_process, quiet;
};

/* Configuration i: all batches of a tile, then the next tile. */
size_t ypi_refiner_count(const struct ypi_refiner_request *request);
struct ypi_refiner_work ypi_refiner_work(const struct ypi_refiner_request *request, size_t i);

#define YPI_REFINER_OOM "OOM" /* the error of a configuration that ran out of memory */

struct ypi_refiner_result {
    double began;                 /* seconds since 1970 */
    double mean, sd;              /* seconds of a pass or a step */
    double forward, backward;     /* their means, of training */
    uint64_t allocated, reserved; /* bytes of the device, while it was measured */
    uint64_t peak;                /* the most that was allocated */
    uint64_t left;                /* bytes that its process holds after it */
    char error[256];              /* "": it was measured */
    char note[256];               /* what is to be said of it, or "" */
};

/* Measures a configuration in this process. `tell` is called after each iteration. */
void ypi_refiner_measure(const struct ypi_refiner_request *request,
                         const struct ypi_refiner_work *work,
                         void (*tell)(void *arg, size_t iterations), void *arg,
                         struct ypi_refiner_result *out);

/* Plans all configurations; a status of the first one that cannot be made, and an error that says
 * why. */
enum yp_status ypi_refiner_plan_all(const struct ypi_refiner_request *request,
                                    struct ypi_refiner_plan *plans);

/* Measures all configurations, which were planned; an exit code. */
int ypi_refiner_sweep(const struct ypi_refiner_request *request,
                      const struct ypi_refiner_plan *plans);

/* -- processes --------------------------------------------------------------------------------- */

#define YPI_REFINER_TELL 0.1 /* seconds between messages of progress, at least */

struct ypi_refiner_message {
    enum ypi_refiner_message_kind {
        YPI_REFINER_PLAN,
        YPI_REFINER_PROGRESS,
        YPI_REFINER_RESULT
    } kind;
    enum yp_status status; /* of a plan; its error is the result's */
    struct ypi_refiner_plan plan;
    size_t iterations;
    struct ypi_refiner_result result;
};

/* Start a process that sends messages to *output, one of a plan or a result for each of its
 * configurations in their order: all, or those from `first` on before `past`. -1 with
 * yp_last_error() set. */
pid_t ypi_refiner_start_plans(const struct ypi_refiner_request *request, int *output);
pid_t ypi_refiner_start(const struct ypi_refiner_request *request, size_t first, size_t past,
                        int *output);

/* -- the file ---------------------------------------------------------------------------------- */

struct ypi_refiner_file {
    const char *path;
    int fd;               /* -1: none */
    bool regular;         /* not a device or a pipe */
    const char *line_end; /* of the lines that are there */
};

/* Opens the file, or makes it, with its header. YP_IO: it cannot be written, or has other columns;
 * then it is as it was. */
enum yp_status ypi_refiner_file_open(struct ypi_refiner_file *file, const char *path);
/* Adds a row, or nothing. */
enum yp_status ypi_refiner_file_add(const struct ypi_refiner_file *file,
                                    const struct ypi_refiner_work *work,
                                    const struct ypi_refiner_plan *plan,
                                    const struct ypi_refiner_result *result);
void ypi_refiner_file_close(struct ypi_refiner_file *file);

/* -- the table --------------------------------------------------------------------------------- */

/* Prints the memory of all configurations, and whether it is within the limit. */
void ypi_refiner_print_plans(const struct ypi_refiner_request *request,
                             const struct ypi_refiner_plan *plans);

/* Prints the first `count` configurations. */
void ypi_refiner_print(const struct ypi_refiner_request *request,
                       const struct ypi_refiner_plan *plan,
                       const struct ypi_refiner_result *results, size_t count);
