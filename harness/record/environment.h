/* Where a run happened: machine, system, libraries, compiler, sources. Flat key = value pairs, so
 * that a new fact needs no new column. */
#pragma once

#include "harness/collect/collect.h"
#include "harness/collect/sources.h"

#include <stdbool.h>

#define YPI_FACTS_MAX 96

struct ypi_fact {
    const char *key; /* static: "machine.fingerprint", "cpu.model", "kernel", "git.commit", ... */
    char *value;     /* owned */
};

struct ypi_environment {
    struct ypi_fact facts[YPI_FACTS_MAX];
    int count;
    char fingerprint[33]; /* hex: of the topology and the processor, the same after a reboot */
};

/* Reads what can be read; a fact that cannot is left out. */
void ypi_environment_read(struct ypi_environment *e);

/* Adds the commit and the dirtiness of the program's own sources; none, and a note, where they
 * cannot be known. Runs a short child process (git) and has reaped it when it returns. */
void ypi_environment_add_sources(struct ypi_environment *e, const struct ypi_sources *s);

/* Adds the hash of the program's file (NULL: it is not known), how its own files are compiled (its
 * declarations say), and with which flags where it was compiled with -frecord-gcc-switches. */
void ypi_environment_add_program(struct ypi_environment *e, struct ypi_tests tests,
                                 const char *hash);

/* Adds the facts of the devices that were asked about (device/registry.h). */
void ypi_environment_add_devices(struct ypi_environment *e);

const char *ypi_environment_get(const struct ypi_environment *e, const char *key); /* or NULL */
void ypi_environment_clear(struct ypi_environment *e);

/* What is stored of a run. */
struct ypi_run {
    char id[37];    /* UUID, version 4 */
    double started; /* seconds since 1970 */
    uint64_t seed;
    const char *command; /* the command line, quoted so that a shell takes it */
    const char *program; /* path of the executable */
    bool speed_judged;
    double slowdown;                           /* factor of --slowdown, 0: none */
    bool no_fork;                              /* its cases had no processes of their own */
    uint64_t memory_limit;                     /* bytes, 0: none */
    const struct ypi_environment *environment; /* NULL: none */
    /* Arguments that a reproduction must repeat: "--memory-limit", "1G", ... */
    const char *const *reproduce_options;
    int reproduce_option_count;
};
