/* A process whose stacks are read from outside, or this one: its memory and what is loaded. */
#pragma once

#include "harness/vocabulary/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that is mapped as code. */
struct ypi_module {
    uint64_t begin, end;       /* addresses */
    uint64_t base;             /* what the file's own addresses are to be added to */
    uint64_t unwind_table;     /* address of its .eh_frame_hdr; 0: none */
    char name[YPI_MODULE_MAX]; /* path; "": the program itself */
};

struct ypi_target {
    pid_t pid;
    struct ypi_module *modules; /* owned, in order of their addresses */
    int module_count;
};

/* False where /proc does not say what is loaded, or the memory cannot be read. */
bool ypi_target_open(struct ypi_target *target, pid_t pid);
void ypi_target_close(struct ypi_target *target);

/* Whether it runs the program that this process runs: under another, such as Valgrind, neither the
 * registers nor the addresses are the case's. */
bool ypi_target_same_program(pid_t pid);

/* NULL: no module is there. */
const struct ypi_module *ypi_target_module(const struct ypi_target *target, uint64_t address);

/* Up to `size` bytes; returns how many could be read. */
size_t ypi_target_read(const struct ypi_target *target, uint64_t address, void *out, size_t size);
/* Exactly `size` bytes. */
bool ypi_target_get(const struct ypi_target *target, uint64_t address, void *out, size_t size);
