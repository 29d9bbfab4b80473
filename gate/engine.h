/* Two built revisions beside each other: the cases that both have, their exact figures, their
 * times. */
#pragma once

#include "gate/comparison.h"
#include "gate/pair/duel.h"
#include "gate/revision.h"
#include "gate/suite.h"

enum ypi_engine_scope {
    YPI_ENGINE_ALL = 0,
    YPI_ENGINE_TIME,  /* of one measurement: exact figures that differ are not looked at again */
    YPI_ENGINE_EXACT, /* no times */
};

/* What is to be compared, and how sure it is to be. Not owned; to outlive the engine. */
struct ypi_engine_task {
    const struct ypi_revision *base, *head; /* built */
    struct ypi_choice cases;
    enum ypi_engine_scope scope;
    const char *measurement;   /* that one; NULL but for YPI_ENGINE_TIME */
    const char *options;       /* words for the suites of both; NULL: none */
    const char *head_options;  /* for the head's alone */
    struct ypi_duel_rule rule; /* its error is that of all measurements together */
    double budget;             /* seconds for all cases; infinite: as long as it takes */
    bool instructions;         /* are counted, by Callgrind, and compared too */
    bool always_time; /* else, where both builds are the same and the head has no options of its
                         own, commands alone are timed in YPI_ENGINE_ALL */
    const volatile bool *stop; /* polled */
};

struct ypi_engine;

/* Makes a directory for it to work in; *found is added to. NULL with yp_last_error() set. */
struct ypi_engine *ypi_engine_open(const struct ypi_engine_task *task,
                                   struct ypi_comparisons *found);

/* Asks the suites for their cases; what only one side has is reported. Errors are those of
 * ypi_suite_list(). */
enum yp_status ypi_engine_list(struct ypi_engine *e);
/* Of the cases that both have: how many, and their ids, in the suites' order. */
int ypi_engine_case_count(const struct ypi_engine *e);
const char *ypi_engine_case(const struct ypi_engine *e, int at);

/* Of those cases, how many run a command, whose files need not be in a build; at most once. */
enum yp_status ypi_engine_commands(struct ypi_engine *e, int *count);

/* Compares the cases that were listed, while no other suite is timed on this machine. Once it has
 * come to the times, being stopped is no error: found->whole is false then. YP_UNSUPPORTED: stopped
 * before; else the errors of ypi_suite_run() and ypi_exact_read(). */
enum yp_status ypi_engine_run(struct ypi_engine *e);

void ypi_engine_close(struct ypi_engine *e);
