/* A model beside PyTorch: what models/WORKLOAD/reference/make.py wrote into files, of which the
 * suite has small ones. Results go the way of a user's: weights and data are loaded, what a pass
 * makes is saved, and files are compared. */
#pragma once

#include "models/data/state.h"

#include <yieldpoint/yieldpoint.h>

enum { REFERENCE_RESULTS = 1024 };

/* Plain loops in double, in float, and what is held to them. */
enum reference_way { REFERENCE_DOUBLE, REFERENCE_PLAIN, REFERENCE_FAST, REFERENCE_WAYS };

struct reference {
    const char *model;   /* a folder of the suite's: "refiner/vit"; --reference FOLDER has "vit" */
    const char *variant; /* a file: what is expected */
    bool all;            /* every result is expected; else the file leaves some out */
    double plain;        /* what a tensor of plain loops in float may be off by, of the suite's */
    /* Makes results in r->way. */
    void (*run)(struct yp_case *t, struct reference *r);
    /* Whether "NAME.bias.grad" is 0 but for rounding, which is as large as that of
     * "NAME.weight.grad"; NULL: none is. */
    bool (*is_rounding)(const struct reference *r, const char *name);

    struct safetensors *expected;
    enum reference_way way;
    struct state_values results[REFERENCE_RESULTS]; /* of a model, that way */
    size_t count;
};

/* Runs all ways. Values: "error" of the worst tensor in double, "plain error" of plain loops in
 * float, and for each group of tensors, "output", "losses", "gradient" and "statistics", "GROUP
 * error" of the fast way in float and "GROUP to plain", that as a multiple of the plain one. */
void reference_check(struct yp_case *t, struct reference *r);

#define REFERENCE_BUDGETS(what_) \
    yp_required(yp_max_value("error", 1e-10), what_), yp_max_value("output to plain", 2)

/* The path of a file of that name. */
const char *reference_path(const struct reference *r, const char *name, char path[512]);
/* A number of the file; 0 where it does not say it. */
double reference_number(struct yp_case *t, const struct reference *r, const char *name);

/* Where a way runs, and bytes of its numbers. */
struct yp_device *reference_device(struct yp_case *t, const struct reference *r);
size_t reference_element(const struct reference *r);
/* `count` numbers of the way's device, on the host. */
void *reference_fetch(struct yp_case *t, const struct reference *r, const void *from, size_t count);

/* Values in the order of memory, which stay the caller's. */
void reference_add(struct reference *r, struct state_tensor tensor, const void *values, bool wide);
