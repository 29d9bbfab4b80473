/* Other programs: started, awaited, ended. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct ypi_program {
    const char *const *words;     /* argv, ended by NULL; the first is looked for in PATH */
    const char *directory;        /* to start in; NULL: the working directory */
    const char *const *variables; /* "NAME=value" is set, "NAME" is taken away; ended by NULL; or
                                     NULL */
    const char *input; /* a file that standard input reads; NULL: there is nothing to read */
    const char *log;   /* a file that standard output and error go to, behind what it has;
                          NULL: both go to the standard error stream */
};

/* What became of a program. */
enum ypi_program_end {
    YPI_PROGRAM_EXITED,      /* with .code */
    YPI_PROGRAM_KILLED,      /* by signal .code */
    YPI_PROGRAM_STOPPED,     /* ended, for `*stop` was set */
    YPI_PROGRAM_LATE,        /* ended, for its time was over */
    YPI_PROGRAM_NOT_STARTED, /* yp_last_error() is set */
};
struct ypi_program_status {
    enum ypi_program_end end;
    int code;
};

/* Starts it, with no signal blocked, SIGINT and SIGTERM as they are by default, and a group of its
 * own that a Ctrl-C does not reach: the caller ends it. It gets SIGTERM when this process dies.
 * Returns its process, to be awaited by ypi_program_wait(); -1 with yp_last_error() set. */
pid_t ypi_program_start(const struct ypi_program *program);

/* The same with its standard output into a pipe, whose other end is *output, to be closed by the
 * caller; standard error goes where .log says. */
pid_t ypi_program_open(const struct ypi_program *program, int *output);

/* Waits until it ends; at most `seconds` (0: any time), and polls `*stop` (NULL: nothing does).
 * What is late or to be stopped gets SIGTERM, and once it is over its group too; after 5 s SIGKILL,
 * with its group and all that it had started by then. */
struct ypi_program_status ypi_program_wait(pid_t pid, double seconds, const volatile bool *stop);

/* Starts it and waits. With `text` not NULL its standard output is read: the caller frees *text,
 * which is NUL-terminated; *text is NULL when it did not start. */
struct ypi_program_status ypi_program_run(const struct ypi_program *program, double seconds,
                                          const volatile bool *stop, char **text);

/* Whether a process that was started is over; it is still to be awaited. */
bool ypi_program_is_over(pid_t pid);

/* "ended with 2", "was ended by signal 11", ... */
void ypi_program_ending(char out[64], struct ypi_program_status status);
