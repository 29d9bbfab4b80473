#include "harness/measure/count/callgrind.h"

#include "base/simd/openblas.h"
#include "base/system/self.h"
#include "base/text/text.h"
#include "harness/message/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yieldpoint/isa.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_ZERO_STATS ((void)0)
#define CALLGRIND_START_INSTRUMENTATION ((void)0)
#define CALLGRIND_STOP_INSTRUMENTATION ((void)0)
#define CALLGRIND_TOGGLE_COLLECT ((void)0)
#define CALLGRIND_DUMP_STATS ((void)0)
#endif

/* In the environment of the program that is executed anew: the path of its channel. */
#define DIRECT "YIELDPOINT_DIRECT"

/* -- from the case's process to its successor ---------------------------------------------- */

static char *beside(const char *channel, const char *ending)
{
    return ypi_format("%s.%s", channel, ending);
}

static void prefer(const char *name, const char *value)
{
    setenv(name, value, 0);
}

/* What makes counts repeat, and what Valgrind can execute: it knows no AVX-512. */
static void set_environment(const struct ypi_job *job)
{
    char worker[32];
    enum yp_isa isa = YP_ISAS;
    const char *given = getenv("YIELDPOINT_ISA");
    if (given == NULL || !yp_isa_from_name(given, &isa) || isa > YP_ISA_AVX2)
        setenv("YIELDPOINT_ISA", yp_isa_name(YP_ISA_AVX2), 1);
    if (getenv(YPI_OPENBLAS_MARK) != NULL)
        unsetenv("OPENBLAS_CORETYPE"); /* nobody's wish, and perhaps AVX-512 */
    prefer("OPENBLAS_CORETYPE", ypi_openblas_core(YP_ISA_AVX2));
    prefer("OMP_NUM_THREADS", "1");
    prefer("OMP_WAIT_POLICY", "passive");
    /* The successor is an ordinary program again, though still this case's process. */
    unsetenv(YPI_MARK_OF_CRITERION);
    snprintf(worker, sizeof worker, "%d", (int)getpid());
    setenv(YPI_MARK, worker, 1);
    setenv(DIRECT, job->channel, 1);
}

/* What Valgrind itself has to say belongs to the case's output. */
static void take_output(const struct ypi_job *job)
{
    int fd = job->output != NULL ? open(job->output, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

/* Valgrind gives a meaning to % in names of files. */
static char *out_file_option(const char *channel)
{
    char *path = beside(channel, "callgrind");
    struct ypi_text option = {0};
    ypi_text_add(&option, "--callgrind-out-file=");
    for (const char *c = path; *c != '\0'; c++)
        ypi_text_add(&option, *c == '%' ? "%%%%" : "%c", *c);
    free(path);
    return ypi_text_take(&option);
}

void ypi_callgrind_execute(const struct yp_case *t, const struct ypi_job *job)
{
    char program[YPI_SELF_FILE]; /* this process's own file is soon Valgrind's */
    char *file = beside(job->channel, "job");
    char *out = out_file_option(job->channel);
    ypi_self_file(job->runner, program);
    if (ypi_job_write(job, file) == YP_OK) {
        const char *const words[] = {"valgrind",
                                     "--tool=callgrind",
                                     "--command-line-only=yes",
                                     "--quiet",
                                     "--vgdb=no",
                                     "--trace-children=no",
                                     "--child-silent-after-fork=yes",
                                     "--instr-atstart=no",
                                     out,
                                     program,
                                     t->id,
                                     NULL};
        fflush(NULL);
        set_environment(job);
        take_output(job);
        execvp("valgrind", (char *const *)(uintptr_t)words);
        yp_set_error(YP_UNSUPPORTED, "valgrind: %s", strerror(errno));
        unlink(file);
    }
    free(out);
    free(file);
}

/* Of this process, when it was executed anew. */
static char *channel;

bool ypi_callgrind_executed(const struct ypi_job **job)
{
    const char *path = getenv(DIRECT);
    *job = NULL;
    if (path == NULL)
        return false;
    channel = ypi_strdup(path);
    unsetenv(DIRECT); /* what the case starts is no case */
    char *file = beside(channel, "job");
    *job = ypi_job_read(file);
    if (*job == NULL) {
        char *why = ypi_strdup(yp_last_error());
        yp_set_error(YP_IO, "%s: %s", DIRECT, why);
        free(why);
    }
    unlink(file);
    free(file);
    return true;
}

/* -- counting ------------------------------------------------------------------------------ */

bool ypi_callgrind_running(void)
{
    return channel != NULL && RUNNING_ON_VALGRIND > 0;
}

/* The line "totals: N" of a dump, of all threads together. */
static double read_total(const char *path)
{
    FILE *file = fopen(path, "re");
    double total = NAN;
    char *line = NULL;
    size_t capacity = 0;
    static const char key[] = "totals: ";
    while (file != NULL && getline(&line, &capacity, file) > 0)
        if (strncmp(line, key, sizeof key - 1) == 0)
            total = strtod(line + sizeof key - 1, NULL);
    free(line);
    if (file != NULL)
        fclose(file);
    return total;
}

void ypi_callgrind_start(void)
{
    CALLGRIND_ZERO_STATS;
    CALLGRIND_START_INSTRUMENTATION;
}

void ypi_callgrind_toggle(void)
{
    CALLGRIND_TOGGLE_COLLECT;
}

double ypi_callgrind_stop(void)
{
    static int dumps; /* Callgrind numbers them */
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS;
    if (channel == NULL)
        return NAN;
    char *path = ypi_format("%s.callgrind.%d", channel, ++dumps);
    double total = read_total(path);
    unlink(path);
    free(path);
    return total;
}
