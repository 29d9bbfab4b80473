#include "harness/case/command.h"

#include "base/simd/openblas.h"
#include "base/system/process.h"
#include "base/text/text.h"
#include "harness/body/child.h"
#include "harness/message/worker.h"
#include "harness/vocabulary/command_declaration.h"
#include "harness/vocabulary/substitute.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_LINE = 16 << 20,  /* bytes of a result; a longer line is output */
    LOOK_MS = 100,        /* how often to look whether a silent command is still there */
    SKIP_STATUS = 77,     /* Automake's, which many programs keep to */
    NOT_EXECUTABLE = 126, /* the shell's */
    NOT_FOUND = 127,
    BY_SIGNAL = 128
};

/* -- its environment -------------------------------------------------------------------- */

struct variables {
    char **entries; /* "NAME=value", NULL-terminated; owned */
    size_t count;
};

/* Takes `entry`, in the place of one of the same name. */
static void set_variable(struct variables *v, char *entry)
{
    size_t name = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < v->count; i++)
        if (strncmp(v->entries[i], entry, name) == 0) {
            free(v->entries[i]);
            v->entries[i] = entry;
            return;
        }
    v->entries = ypi_realloc(v->entries, v->count + 2, sizeof *v->entries);
    v->entries[v->count++] = entry;
    v->entries[v->count] = NULL;
}

static void free_variables(struct variables *v)
{
    for (size_t i = 0; i < v->count; i++)
        free(v->entries[i]);
    free(v->entries);
}

static bool is_of(const char *entry, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static struct variables variables_of(const struct yp_case *t)
{
    struct variables v = {0};
    const bool chosen = getenv(YPI_OPENBLAS_MARK) != NULL;
    /* A program that links Criterion itself would take its mark for an order to run a test; one
     * with another OpenBLAS than this process's has to choose its kernels itself. */
    for (char **entry = environ; *entry != NULL; entry++)
        if (!is_of(*entry, YPI_MARK_OF_CRITERION) &&
            !(chosen && (is_of(*entry, "OPENBLAS_CORETYPE") || is_of(*entry, YPI_OPENBLAS_MARK))))
            set_variable(&v, ypi_strdup(*entry));
    set_variable(&v, ypi_format(YPI_MARK "=%d", (int)getpid()));
    set_variable(&v, ypi_format("YIELDPOINT_SEED=%" PRIu64, t->seed));
    set_variable(&v, ypi_format("YIELDPOINT_CASE=%s", yp_case_name(t)));
    set_variable(&v, ypi_format("YIELDPOINT_ID=%s", t->id));
    const struct ypi_job *job = ypi_child_job(t);
    set_variable(&v, ypi_format("YIELDPOINT_SPEED=%s", job->untimed        ? "off"
                                                       : job->speed_judged ? "judge"
                                                                           : "record"));
    if (t->test->environment != NULL) {
        char *text = ypi_substitute(t, t->test->environment, ypi_shell_quote);
        const char *cursor = text;
        char *problem = NULL;
        char *assignment = NULL;
        while ((assignment = ypi_command_assignment(&cursor, &problem)) != NULL)
            set_variable(&v, assignment);
        free(problem);
        free(text);
    }
    return v;
}

/* -- running it --------------------------------------------------------------------------- */

struct command {
    struct yp_case *t;
    pid_t pid;
    int output; /* what it writes, to be read here */
    struct ypi_text line;
    unsigned long number; /* of the line, from 1 */
    bool passing;         /* the line is known to be output */
    enum ypi_line_kind last;
    char *text; /* of the line that ends the case; owned */
};

/* A file, not a pipe: nobody has to feed it, and a command that does not read it is no trouble. */
static int input_of(const struct yp_test *test)
{
    if (test->input == NULL)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    size_t left = strlen(test->input);
    const char *at = test->input;
    ssize_t done = 0;
    while (fd >= 0 && left > 0 && ((done = write(fd, at, left)) > 0 || errno == EINTR)) {
        left -= done > 0 ? (size_t)done : 0;
        at += done > 0 ? done : 0;
    }
    if (fd >= 0 && (left > 0 || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* In the new process: only what is safe after a fork. */
static void become(const char *line, char **variables, int root, int input, int output)
    __attribute__((noreturn));

static void become(const char *line, char **variables, int root, int input, int output)
{
    const char *const words[] = {"sh", "-c", line, NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || fchdir(root) != 0)
        _exit(NOT_EXECUTABLE);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    execve("/bin/sh", (char *const *)(uintptr_t)words, variables);
    static const char failed[] = "yieldpoint: /bin/sh cannot be executed for this command\n";
    ssize_t written = write(STDERR_FILENO, failed, sizeof failed - 1);
    _exit(written > 0 ? NOT_EXECUTABLE : NOT_FOUND);
}

/* False with yp_last_error() set. */
static bool start(struct command *r)
{
    const char *directory = ypi_child_job(r->t)->root;
    int root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int input = input_of(r->t->test);
    int ends[2] = {-1, -1};
    if (root < 0)
        yp_set_error(YP_IO, "%s: %s", directory, strerror(errno));
    else if (input < 0 || pipe2(ends, O_CLOEXEC) != 0)
        yp_set_error(YP_IO, "%s", strerror(errno));
    r->pid = -1;
    r->output = ends[0];
    if (ends[0] >= 0) {
        char *line = ypi_substitute(r->t, r->t->test->command, ypi_shell_quote);
        struct variables variables = variables_of(r->t);
        fflush(NULL);
        ypi_command_begins();
        r->pid = fork();
        if (r->pid == 0)
            become(line, variables.entries, root, input, ends[1]);
        if (r->pid < 0)
            yp_set_error(YP_IO, "fork: %s", strerror(errno));
        free_variables(&variables);
        free(line);
        close(ends[1]);
    }
    if (root >= 0)
        close(root);
    if (input >= 0)
        close(input);
    return r->pid > 0;
}

/* -- what it writes ----------------------------------------------------------------------- */

static void pass_on(struct command *r)
{
    if (r->line.length > 0)
        fwrite(r->line.data, r->line.length, 1, stdout);
    r->line.length = 0;
}

static void end_line(struct command *r, bool newline)
{
    if (!r->passing && r->line.length > 0) {
        r->last = ypi_command_line(r->t, r->line.data, r->line.length, &r->text);
        r->passing = r->last == YPI_LINE_NOTHING;
    }
    if (r->passing || r->line.length == 0) {
        pass_on(r);
        if (newline)
            fputc('\n', stdout);
    }
    r->line.length = 0;
    r->passing = false;
    r->number += r->last != YPI_LINE_WRONG;
}

/* A part of a line. It is kept only while it may still become a result. */
static void add_part(struct command *r, const char *bytes, size_t count)
{
    ypi_text_bytes(&r->line, bytes, count);
    size_t blanks = r->line.length > 0 ? strspn(r->line.data, " \t") : 0;
    bool open = blanks == r->line.length || r->line.data[blanks] == '{';
    if (!r->passing && r->line.length > MAX_LINE && ypi_command_begins_result(r->line.data)) {
        r->last = YPI_LINE_WRONG;
        r->text = ypi_format("longer than %d bytes", MAX_LINE);
        r->line.length = 0;
        return;
    }
    r->passing = r->passing || !open || r->line.length > MAX_LINE;
    if (r->passing)
        pass_on(r);
}

static bool ended(const struct command *r)
{
    return r->last == YPI_LINE_SKIP || r->last == YPI_LINE_WRONG;
}

static void take_bytes(struct command *r, const char *bytes, size_t count)
{
    while (count > 0 && !ended(r)) {
        const char *newline = memchr(bytes, '\n', count);
        size_t part = newline != NULL ? (size_t)(newline - bytes) : count;
        add_part(r, bytes, part);
        if (newline != NULL && !ended(r))
            end_line(r, true);
        part += newline != NULL;
        bytes += part;
        count -= part;
    }
}

/* Reads until the output ends or the command does: what it leaves running may hold on to the pipe.
 * True when it was waited for. */
static bool read_output(struct command *r, int *status, struct rusage *usage)
{
    enum { CAPACITY = 1 << 16 };
    char *bytes = ypi_calloc(CAPACITY, 1);
    bool gone = false;
    for (;;) {
        struct pollfd ready = {.fd = r->output, .events = POLLIN};
        int events = poll(&ready, 1, gone ? 0 : LOOK_MS);
        if (events < 0 && errno == EINTR)
            continue;
        if (events <= 0 && gone)
            break;
        if (events <= 0) {
            gone = wait4(r->pid, status, WNOHANG, usage) == r->pid;
            continue;
        }
        ssize_t got = read(r->output, bytes, CAPACITY);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        take_bytes(r, bytes, (size_t)got);
        if (ended(r))
            break;
    }
    if (!ended(r) && (r->line.length > 0 || r->passing))
        end_line(r, false);
    fflush(stdout);
    free(bytes);
    return gone;
}

/* -- its end ------------------------------------------------------------------------------ */

static void skip(const struct yp_case *t, const char *reason)
{
    ypi_child_send(t, YPI_MESSAGE_SKIP, reason, strlen(reason) + 1, NULL, 0);
}

static void take_exit(const struct yp_case *t, int code)
{
    if (code == SKIP_STATUS) {
        skip(t, "exited with status 77");
        return;
    }
    const char *name = code > BY_SIGNAL ? sigabbrev_np(code - BY_SIGNAL) : NULL;
    char *meaning = NULL;
    if (code == NOT_FOUND)
        meaning = ypi_strdup(": not found; the shell names it in the output");
    else if (code == NOT_EXECUTABLE)
        meaning = ypi_strdup(": found, but it cannot be executed");
    else if (name != NULL)
        meaning = ypi_format(", which stands for SIG%s of what the shell ran", name);
    ypi_child_fail(t, YPI_CAUSE_EXIT, NULL, 0, "the command exited with status %d%s", code,
                   meaning != NULL ? meaning : "");
    free(meaning);
}

static void take_signal(const struct yp_case *t, int number, bool for_memory)
{
    const char *name = sigabbrev_np(number);
    if (number == SIGKILL && for_memory)
        ypi_child_fail(t, YPI_CAUSE_OOM_KILL, NULL, 0,
                       "the command was killed by the kernel for want of memory");
    else
        ypi_child_fail(t, YPI_CAUSE_SIGNAL, NULL, 0, "the command was killed by SIG%s (%s)",
                       name != NULL ? name : "RT", strsignal(number));
}

static void run(struct yp_case *t)
{
    struct command r = {.t = t, .number = 1};
    uint64_t oom_kills = ypi_oom_kills();
    if (!start(&r)) {
        if (r.output >= 0)
            close(r.output);
        ypi_child_fail(t, YPI_CAUSE_EXIT, NULL, 0, "the command could not be started: %s",
                       yp_last_error());
        return;
    }
    int status = 0;
    struct rusage usage = {0};
    bool gone = read_output(&r, &status, &usage);
    /* The whole tree, until it is gone: what is only about to die would count as left behind. */
    if (ended(&r))
        ypi_kill_tree(getpid(), false);
    while (!gone && wait4(r.pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    close(r.output);
    free(ypi_text_take(&r.line));

    double peak = 1024.0 * (double)usage.ru_maxrss;
    ypi_child_set_resident(t, (uint64_t)peak);
    ypi_child_send_value(t, YPI_COMMAND_PEAK, peak, "B");
    if (r.last == YPI_LINE_WRONG)
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "line %lu of the command's output: %s",
                       r.number, r.text);
    else if (r.last == YPI_LINE_SKIP)
        skip(t, r.text);
    else if (WIFSIGNALED(status))
        take_signal(t, WTERMSIG(status), ypi_oom_kills() > oom_kills);
    else if (WEXITSTATUS(status) != 0)
        take_exit(t, WEXITSTATUS(status));
    free(r.text);
}

void ypi_command_body(struct yp_case *t)
{
    char *problem = ypi_command_problem(t->test);
    if (problem == NULL)
        problem = ypi_child_name_problem(t, "value", YPI_COMMAND_PEAK);
    if (problem == NULL)
        run(t);
    else
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "%s", problem);
    free(problem);
}
