/* Configurations one after another, each in a process of its own, or all in one. The command's own
 * process takes what they send, and computes nothing. */
#include "models/refiner/command/internal.h"

#include "base/system/clock.h"
#include "base/system/lock.h"
#include "base/system/process.h"
#include "base/text/figures.h"
#include "base/text/output.h"
#include "base/text/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEADY_BYTES \
    YP_MIB /* what one process may hold more after a configuration than the first */

struct sweep {
    const struct ypi_refiner_request *r;
    const struct ypi_refiner_plan *plans; /* (count) */
    struct ypi_refiner_result *results;   /* (count) */
    size_t count, done;
    struct ypi_refiner_file file;
    enum yp_status status; /* of the file, or of a process that cannot be started */
    bool failed;           /* a configuration did, not for want of memory */
    uint64_t first, most;  /* bytes held after the first configuration of a process, and any */
    size_t most_after;     /* that configuration */
    double started;
    bool terminal;
};

static volatile sig_atomic_t caught; /* the signal that ends the sweep */
static volatile bool stop;

static void catch_signal(int number)
{
    caught = number;
    stop = true;
}

size_t ypi_refiner_count(const struct ypi_refiner_request *r)
{
    return r->tiles.count * r->batches.count;
}

struct ypi_refiner_work ypi_refiner_work(const struct ypi_refiner_request *r, size_t i)
{
    struct ypi_refiner_work work = r->work;
    work.tile = r->tiles.list[i / r->batches.count];
    work.batch = r->batches.list[i % r->batches.count];
    return work;
}

/* -- plans ------------------------------------------------------------------------------------- */

/* How a process ended that should have sent more. */
static void format_death(char out[128], pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status))
        snprintf(out, 128, "its process was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, 128, "its process ended with %d", WEXITSTATUS(status));
}

enum yp_status ypi_refiner_plan_all(const struct ypi_refiner_request *request,
                                    struct ypi_refiner_plan *plans)
{
    struct ypi_refiner_message message = {.status = YP_OK};
    char death[128];
    int fd = -1;
    const pid_t pid = ypi_refiner_start_plans(request, &fd);
    const size_t count = ypi_refiner_count(request);
    size_t i = 0;
    if (pid < 0)
        return YP_IO;
    for (; i < count && message.status == YP_OK; i++) {
        if (read(fd, &message, sizeof message) != (ssize_t)sizeof message)
            break;
        plans[i] = message.plan;
    }
    close(fd);
    format_death(death, pid);
    if (message.status != YP_OK)
        return yp_set_error(message.status, "%s", message.result.error);
    return i == count ? YP_OK : yp_set_error(YP_IO, "a plan: %s", death);
}

/* -- progress ---------------------------------------------------------------------------------- */

static double operations(const struct sweep *s, size_t i, size_t iterations)
{
    return s->plans[i].of.flops * (double)iterations;
}

/* "; 12.3 s left", from the operations that were measured and those that are to be; "" before the
 * first. */
static void format_left(char out[YPI_FIGURE_MAX + 16], const struct sweep *s, size_t iterations)
{
    const size_t all = s->r->warmup + s->r->iterations;
    double past = s->done < s->count ? operations(s, s->done, iterations) : 0, left = -past;
    char figure[YPI_FIGURE_MAX];
    for (size_t i = 0; i < s->count; i++) {
        if (i >= s->done)
            left += operations(s, i, all);
        else if (s->results[i].error[0] == '\0')
            past += operations(s, i, all);
    }
    ypi_format_seconds(figure, past > 0 ? (ypi_now() - s->started) * left / past : 0);
    *out = '\0';
    if (past > 0 && s->done < s->count)
        snprintf(out, YPI_FIGURE_MAX + 16, "; %s left", figure);
}

/* On a terminal: one line that is written again. */
static void show(const struct sweep *s, size_t iterations)
{
    const struct ypi_refiner_work work = ypi_refiner_work(s->r, s->done);
    char left[YPI_FIGURE_MAX + 16];
    if (s->r->quiet || !s->terminal)
        return;
    format_left(left, s, iterations);
    fprintf(stderr, "\r%zu of %zu: tile %zu, batch %zu, iteration %zu of %zu%s\033[K", s->done + 1,
            s->count, work.tile, work.batch, iterations, s->r->warmup + s->r->iterations, left);
    fflush(stderr);
}

/* The last configuration that is done; a line of its own where there is no terminal. */
static void show_done(const struct sweep *s)
{
    const struct ypi_refiner_work work = ypi_refiner_work(s->r, s->done - 1);
    const struct ypi_refiner_result *result = &s->results[s->done - 1];
    char figure[YPI_FIGURE_MAX], left[YPI_FIGURE_MAX + 16];
    if (s->r->quiet || s->terminal)
        return;
    format_left(left, s, 0);
    ypi_format_seconds(figure, result->mean);
    fprintf(stderr, "refiner: %zu of %zu: tile %zu, batch %zu: %s%s\n", s->done, s->count,
            work.tile, work.batch, result->error[0] != '\0' ? result->error : figure, left);
}

/* -- results ----------------------------------------------------------------------------------- */

/* What a process holds after a configuration, beside the first one of it that was measured. */
static void watch_memory(struct sweep *s, const struct ypi_refiner_result *result)
{
    if (s->first == 0) {
        s->first = result->error[0] == '\0' ? result->left : 0;
    } else if (result->left > s->first && result->left - s->first > s->most) {
        s->most = result->left - s->first;
        s->most_after = s->done;
    }
}

static void take(struct sweep *s, const struct ypi_refiner_result *result)
{
    const struct ypi_refiner_work work = ypi_refiner_work(s->r, s->done);
    s->status = ypi_refiner_file_add(&s->file, &work, &s->plans[s->done], result);
    if (s->status != YP_OK)
        return;
    s->failed |= result->error[0] != '\0' && strcmp(result->error, YPI_REFINER_OOM) != 0;
    watch_memory(s, result);
    s->results[s->done++] = *result;
    show_done(s);
}

/* Takes messages until the process is over, or the sweep. */
static void follow(struct sweep *s, int fd)
{
    struct ypi_refiner_message message;
    show(s, 0);
    while (!stop && s->status == YP_OK) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, (int)(1e3 * YPI_REFINER_TELL)) <= 0)
            continue;
        const ssize_t got = read(fd, &message, sizeof message);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof message)
            return;
        if (message.kind == YPI_REFINER_RESULT)
            take(s, &message.result);
        if (s->done < s->count)
            show(s, message.iterations);
    }
}

/* Measures the next configurations in a new process. One that ends before its time has failed for
 * want of memory where the kernel says so; the others go on in another process. */
static void run_process(struct sweep *s)
{
    const size_t past = s->r->one_process ? s->count : s->done + 1;
    const uint64_t kills = ypi_oom_kills();
    struct ypi_refiner_result lost = {.began = ypi_wall_clock()};
    char death[128];
    int fd = -1;
    const pid_t pid = ypi_refiner_start(s->r, s->done, past, &fd);
    if (pid < 0) {
        s->status = YP_IO;
        return;
    }
    s->first = 0;
    follow(s, fd);
    if (stop || s->status != YP_OK)
        kill(pid, SIGKILL);
    close(fd);
    format_death(death, pid);
    if (stop || s->status != YP_OK || s->done == past)
        return;
    snprintf(lost.error, sizeof lost.error, "%s",
             ypi_oom_kills() > kills ? YPI_REFINER_OOM : death);
    take(s, &lost);
}

/* -- the sweep --------------------------------------------------------------------------------- */

static void set_signals(void)
{
    /* The second time a signal ends the command at once. A file beyond its size limit is an error
     * of write(). */
    struct sigaction act = {.sa_handler = catch_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    act.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &act, NULL);
}

static int print_steady(const struct sweep *s)
{
    char first[YPI_FIGURE_MAX], most[YPI_FIGURE_MAX], allowed[YPI_FIGURE_MAX];
    ypi_format_bytes(first, (double)s->first);
    ypi_format_bytes(most, (double)s->most);
    ypi_format_bytes(allowed, (double)STEADY_BYTES);
    printf("the process held %s after the first configuration, and at most %s more after another "
           "one\n",
           first, most);
    if (s->most <= STEADY_BYTES)
        return YPI_COMMAND_OK;
    const struct ypi_refiner_work work = ypi_refiner_work(s->r, s->most_after);
    fprintf(stderr,
            "yieldpoint: after tile %zu, batch %zu the process holds %s more than after its first "
            "configuration: must be at most %s\n",
            work.tile, work.batch, most, allowed);
    return YPI_COMMAND_NOTHING;
}

static int report(const struct sweep *s)
{
    int code = YPI_COMMAND_OK;
    if (!s->r->quiet && s->terminal)
        fputs("\r\033[K", stderr);
    if (s->done > 0)
        ypi_refiner_print(s->r, s->plans, s->results, s->done);
    if (s->r->one_process && s->done > 1)
        code = print_steady(s);
    const int flushed = ypi_flush();
    const bool interrupted = caught != 0 && s->done < s->count;
    if (interrupted)
        fprintf(stderr, "yieldpoint: interrupted: %zu of %zu configurations are measured%s%s\n",
                s->done, s->count, s->file.fd >= 0 ? " and in " : "",
                s->file.fd >= 0 ? s->file.path : "");
    if (interrupted)
        return 128 + caught;
    if (s->status != YP_OK)
        return ypi_file_error();
    return flushed != YPI_COMMAND_OK ? flushed : s->failed ? YPI_COMMAND_FILE : code;
}

int ypi_refiner_sweep(const struct ypi_refiner_request *request,
                      const struct ypi_refiner_plan *plans)
{
    struct sweep s = {.r = request,
                      .plans = plans,
                      .count = ypi_refiner_count(request),
                      .file = {.fd = -1},
                      .terminal = isatty(STDERR_FILENO) == 1};
    if (request->output != NULL && ypi_refiner_file_open(&s.file, request->output) != YP_OK) {
        ypi_refiner_file_close(&s.file);
        return ypi_file_error();
    }
    set_signals();
    const int lock = ypi_machine_lock(stderr, &stop);
    s.results = ypi_calloc(s.count, sizeof *s.results);
    s.started = ypi_now();
    while (s.done < s.count && !stop && s.status == YP_OK)
        run_process(&s);
    const int code = report(&s);
    if (lock >= 0)
        close(lock);
    free(s.results);
    ypi_refiner_file_close(&s.file);
    return code;
}
