/* Kinds of accelerators: whatever depends on the kind by name is in this table. */
#pragma once

#include <stdbool.h>

struct ypi_device_kind {
    const char *name;           /* "cuda": its devices are NAME (the first) and NAME:N */
    const char *label;          /* "CUDA", in messages */
    const char *plugin;         /* with its backend */
    const char *tag, *tag_help; /* of all its cases */
    /* The variable that says which of them a process sees, its key among a run's facts, and the
     * variable and value that make their numbers those of their places on the bus. */
    const char *visible, *visible_key, *order, *order_value;
    const char *nodes; /* of the kernel, one a device: a folder and what their names begin with */
    bool counts_work;  /* --audit can count on it */
};

#define YPI_DEVICE_KINDS 1
extern const struct ypi_device_kind ypi_device_kinds[YPI_DEVICE_KINDS];

/* Of a device's name, "" too; NULL: the CPU, or of no kind. */
const struct ypi_device_kind *ypi_device_kind(const char *device);
/* N of NAME:N, else 0. */
int ypi_device_ordinal(const char *device);

/* "cpu cuda", and `numbered` "cpu cuda cuda:N". The caller frees. */
char *ypi_device_names(bool numbered);
/* A name stands in ids, so there is one spelling of it: cuda:1, not cuda:01. */
bool ypi_device_is_name(const char *device);
