#include "harness/case/child.h"

#include "base/clock.h"
#include "base/text.h"
#include "device/backend.h"
#include "device/registry.h"
#include "harness/case/orphans.h"
#include "harness/collect/collect.h"
#include "harness/judge/audit.h"
#include "harness/measure/callgrind.h"
#include "harness/measure/measurement.h"
#include "harness/measure/series.h"
#include "harness/run/process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Present in a program built with AddressSanitizer or LeakSanitizer. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

struct block {
    struct block *next;
    struct yp_device *device;
    void *memory;
};

struct ypi_child {
    const struct ypi_wire *wire;
    struct yp_device *device;
    pthread_t thread;
    jmp_buf leave;
    bool leaving_allowed;
    bool failed;
    void *data;
    struct block *blocks;  /* of yp_alloc */
    struct ypi_text names; /* used ones, each between newlines */
    struct yp_measurement *measurement;
    struct ypi_series *series; /* of the accelerator; NULL: it tells nothing */
    char *descriptors;         /* as they were before the case began */
    uint64_t resident_before, resident_peak;
    uint64_t resident_of_command; /* its peak; 0: there is no command */
    size_t own;                   /* bytes of what is resident that are the framework's */
};

/* The path of this process's channel, for the word at its very end. */
static const char *exit_channel;

void ypi_child_send(const struct yp_case *t, enum ypi_message kind, const void *first,
                    size_t first_size, const void *second, size_t second_size)
{
    const char *path = t->child->wire->channel;
    if (!ypi_channel_send(path, kind, first, first_size, second, second_size))
        fprintf(stderr, "yieldpoint: cannot write to %s\n", path);
}

void ypi_child_send_measured(const struct yp_case *t, const struct ypi_measured *m)
{
    size_t cpu = m->cpu != NULL ? m->count : 0;
    size_t room = m->count + cpu + m->share_count + m->slowed_count;
    double *all = ypi_calloc(room + 1, sizeof *all);
    if (m->count > 0)
        memcpy(all, m->samples, m->count * sizeof *all);
    if (cpu > 0)
        memcpy(all + m->count, m->cpu, cpu * sizeof *all);
    if (m->share_count > 0)
        memcpy(all + m->count + cpu, m->shares, m->share_count * sizeof *all);
    if (m->slowed_count > 0)
        memcpy(all + m->count + cpu + m->share_count, m->slowed, m->slowed_count * sizeof *all);
    ypi_child_send(t, YPI_MESSAGE_MEASURED, m, sizeof *m, all, room * sizeof *all);
    free(all);
}

void ypi_child_own_memory(struct yp_case *t, size_t bytes)
{
    struct ypi_child *child = t->child;
    uint64_t peak = ypi_self_status("VmHWM:");
    size_t own = bytes > child->own ? bytes : child->own; /* both were there, or are by now */
    peak = peak > own ? peak - own : 0;
    if (peak > child->resident_peak)
        child->resident_peak = peak;
    child->own = bytes;
    ypi_reset_resident_peak();
}

const struct ypi_wire *ypi_child_wire(const struct yp_case *t)
{
    return t->child->wire;
}

/* -- outcomes ----------------------------------------------------------------------------- */

static void send_failure(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                         const char *message)
{
    struct ypi_failure_message head;
    memset(&head, 0, sizeof head);
    head.cause = cause;
    head.line = line;
    head.has_file = file != NULL;
    struct ypi_text body = {0};
    ypi_text_bytes(&body, (const char *)&head, sizeof head);
    ypi_text_bytes(&body, file != NULL ? file : "", file != NULL ? strlen(file) + 1 : 1);
    ypi_child_send(t, YPI_MESSAGE_FAILURE, body.data, body.length, message, strlen(message) + 1);
    free(ypi_text_take(&body));
    t->child->failed = true;
}

void ypi_child_fail(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                    const char *format, ...)
{
    struct ypi_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    ypi_text_vadd(&message, format, arguments);
    va_end(arguments);
    char *text = ypi_text_take(&message);
    send_failure(t, cause, file, line, text);
    free(text);
}

void ypi_child_leave(const struct yp_case *t)
{
    if (!pthread_equal(pthread_self(), t->child->thread) || !t->child->leaving_allowed) {
        fputs("yieldpoint: a case can only be ended by the thread that runs its body\n", stderr);
        abort();
    }
    longjmp(t->child->leave, 1);
}

/* "condition: message", or the message alone. */
static void fail_with(const struct yp_case *t, const char *file, int line, const char *condition,
                      const char *format, va_list arguments)
{
    struct ypi_text message = {0};
    if (condition != NULL)
        ypi_text_add(&message, "%s: ", condition);
    ypi_text_vadd(&message, format, arguments);
    char *text = ypi_text_take(&message);
    send_failure(t, YPI_CAUSE_EXPECTATION, file, line, text);
    free(text);
}

void ypi_fail(struct yp_case *t, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, file, line, NULL, format, arguments);
    va_end(arguments);
    ypi_child_leave(t);
}

void ypi_expect(struct yp_case *t, const char *file, int line, const char *condition,
                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, file, line, condition, format, arguments);
    va_end(arguments);
}

void ypi_require(struct yp_case *t, const char *file, int line, const char *condition,
                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, file, line, condition, format, arguments);
    va_end(arguments);
    ypi_child_leave(t);
}

/* What a body may not do while it becomes a graph. */
static bool is_captured(struct yp_case *t)
{
    return ypi_accelerated_captures(*ypi_child_measurement(t));
}

void ypi_ok(struct yp_case *t, const char *file, int line, const char *call, enum yp_status status)
{
    if (status == YP_OK)
        return;
    enum ypi_cause cause = status == YP_OUT_OF_MEMORY  ? YPI_CAUSE_OUT_OF_MEMORY
                           : status == YP_DEVICE_FAULT ? YPI_CAUSE_DEVICE
                           : is_captured(t)            ? YPI_CAUSE_USAGE
                                                       : YPI_CAUSE_EXPECTATION;
    ypi_child_fail(t, cause, file, line, "%s: %s", call, yp_last_error());
    ypi_child_leave(t);
}

/* Whoever returns NULL and says nothing has failed all the same. */
void ypi_got(struct yp_case *t, const char *file, int line, const char *call, const void *pointer)
{
    enum yp_status status = yp_last_status();
    if (pointer == NULL)
        ypi_ok(t, file, line, call, status == YP_OK ? YP_INVALID : status);
}

void yp_skip(struct yp_case *t, const char *format, ...)
{
    struct ypi_text reason = {0};
    va_list arguments;
    va_start(arguments, format);
    ypi_text_vadd(&reason, format, arguments);
    va_end(arguments);
    char *text = ypi_text_take(&reason);
    ypi_child_send(t, YPI_MESSAGE_SKIP, text, strlen(text) + 1, NULL, 0);
    free(text);
    ypi_child_leave(t);
}

/* -- names and parameters ----------------------------------------------------------------- */

char *ypi_child_name_problem(struct yp_case *t, const char *what, const char *name)
{
    struct ypi_text *names = &t->child->names;
    if (name == NULL || name[0] == '\0' || strlen(name) >= YPI_NAME_MAX ||
        strchr(name, '\n') != NULL)
        return ypi_format("the name of a %s is '%s': allowed are 1 to %d characters in one line",
                          what, name != NULL ? name : "(null)", YPI_NAME_MAX - 1);
    char *entry = ypi_format("\n%s %s\n", what, name);
    bool used = names->data != NULL && strstr(names->data, entry) != NULL;
    if (!used)
        ypi_text_add(names, "%s", entry);
    free(entry);
    return used ? ypi_format("the %s '%s' is there already: a name is used once a case", what, name)
                : NULL;
}

void ypi_child_name(struct yp_case *t, const char *what, const char *name)
{
    char *problem = ypi_child_name_problem(t, what, name);
    if (problem == NULL)
        return;
    ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "%s", problem);
    free(problem);
    ypi_child_leave(t);
}

void ypi_child_set_resident(struct yp_case *t, uint64_t peak)
{
    t->child->resident_of_command = peak;
}

struct yp_measurement **ypi_child_measurement(struct yp_case *t)
{
    return &t->child->measurement;
}

static void no_such_axis(const struct yp_case *t, const char *axis, const char *kind)
{
    struct ypi_text known = {0};
    const char *names[YP_MAX_AXES];
    for (int i = 0; i < t->setting_count; i++) {
        static const char *const kinds[] = {"", "int", "double", "string"};
        names[i] = t->settings[i].axis;
        ypi_text_add(&known, "%s%s (%s)", i > 0 ? ", " : "", names[i], kinds[t->settings[i].kind]);
    }
    const char *near = ypi_nearest(axis, names, t->setting_count);
    char *list = ypi_text_take(&known);
    char *message =
        ypi_format("no axis '%s' of kind %s; this test has: %s%s%s%s", axis, kind,
                   list[0] != '\0' ? list : "none", near != NULL ? "; did you mean '" : "",
                   near != NULL ? near : "", near != NULL ? "'?" : "");
    free(list);
    if (t->child != NULL) {
        send_failure(t, YPI_CAUSE_USAGE, t->test->file, t->test->line, message);
        free(message);
        ypi_child_leave(t);
    }
    /* Asked by a filter, before any case runs. */
    ypi_collect_error(t->test, message);
    free(message);
}

static const struct ypi_setting *setting(const struct yp_case *t, const char *axis,
                                         enum yp_axis_kind kind, const char *kind_name)
{
    for (int i = 0; i < t->setting_count; i++)
        if (strcmp(t->settings[i].axis, axis) == 0 && t->settings[i].kind == kind)
            return &t->settings[i];
    static const struct ypi_setting nothing = {.s = ""};
    no_such_axis(t, axis, kind_name);
    return &nothing;
}

long long yp_int(const struct yp_case *t, const char *axis)
{
    return setting(t, axis, YP_AXIS_INT, "int")->i;
}

double yp_double(const struct yp_case *t, const char *axis)
{
    return setting(t, axis, YP_AXIS_DOUBLE, "double")->d;
}

const char *yp_string(const struct yp_case *t, const char *axis)
{
    return setting(t, axis, YP_AXIS_STRING, "string")->s;
}

const char *yp_id(const struct yp_case *t)
{
    return t->id;
}

const char *yp_case_name(const struct yp_case *t)
{
    return t->decl != NULL ? t->decl->name : "";
}

const char *yp_device_of(const struct yp_case *t)
{
    return t->device[0] != '\0' ? t->device : "cpu";
}

uint64_t yp_seed(const struct yp_case *t)
{
    return t->seed;
}

struct yp_device *yp_device(const struct yp_case *t)
{
    return t->child->device;
}

void yp_set_data(struct yp_case *t, void *data)
{
    t->child->data = data;
}

void *yp_data(const struct yp_case *t)
{
    return t->child->data;
}

/* -- results ------------------------------------------------------------------------------ */

void yp_value_unit(struct yp_case *t, const char *name, double value, const char *unit)
{
    ypi_child_name(t, "value", name);
    struct ypi_value message;
    memset(&message, 0, sizeof message);
    message.value = message.low = message.high = value;
    snprintf(message.name, sizeof message.name, "%s", name);
    snprintf(message.unit, sizeof message.unit, "%s", unit);
    ypi_child_send(t, YPI_MESSAGE_VALUE, &message, sizeof message, NULL, 0);
}

void yp_value(struct yp_case *t, const char *name, double value)
{
    yp_value_unit(t, name, value, "");
}

void yp_data_hash(struct yp_case *t, uint64_t hash)
{
    ypi_child_send(t, YPI_MESSAGE_HASH, &hash, sizeof hash, NULL, 0);
}

static void *take(struct yp_case *t, struct yp_device *device, size_t bytes)
{
    void *memory = yp_device_alloc(device, bytes);
    struct block *block = memory != NULL ? malloc(sizeof *block) : NULL;
    if (block == NULL) {
        bool fault = memory == NULL && yp_last_status() == YP_DEVICE_FAULT;
        yp_device_free(device, memory);
        ypi_child_fail(t, fault ? YPI_CAUSE_DEVICE : YPI_CAUSE_OUT_OF_MEMORY, NULL, 0, "%s",
                       yp_last_error());
        ypi_child_leave(t);
    }
    *block = (struct block){.next = t->child->blocks, .device = device, .memory = memory};
    t->child->blocks = block;
    return memory;
}

void *yp_alloc(struct yp_case *t, size_t bytes)
{
    return take(t, t->child->device, bytes);
}

void *yp_alloc_host(struct yp_case *t, size_t bytes)
{
    return take(t, yp_device_cpu(), bytes);
}

/* -- the life of a case ------------------------------------------------------------------- */

static void enter(const struct yp_case *t, enum ypi_stage_name name)
{
    struct ypi_stage stage;
    memset(&stage, 0, sizeof stage);
    stage.stage = name;
    stage.at = ypi_now();
    ypi_child_send(t, YPI_MESSAGE_STAGE, &stage, sizeof stage, NULL, 0);
}

/* Runs one function of the test; false when it left early. */
static bool guarded(struct yp_case *t, void (*function)(struct yp_case *t))
{
    bool whole = false;
    t->child->leaving_allowed = true;
    if (setjmp(t->child->leave) == 0) {
        function(t);
        whole = true;
    }
    t->child->leaving_allowed = false;
    return whole;
}

static void run_stages(struct yp_case *t)
{
    const struct yp_test *test = t->test;
    enter(t, YPI_STAGE_SETUP);
    bool ready = test->setup == NULL || (guarded(t, test->setup) && !t->child->failed);
    if (ready) {
        enter(t, YPI_STAGE_BODY);
        guarded(t, test->body);
    }
    enter(t, YPI_STAGE_TEARDOWN);
    if (test->teardown != NULL)
        guarded(t, test->teardown);
    enter(t, YPI_STAGE_DONE);
}

static void free_blocks(struct ypi_child *child)
{
    while (child->blocks != NULL) {
        struct block *block = child->blocks;
        child->blocks = block->next;
        yp_device_free(block->device, block->memory);
        free(block);
    }
}

static void tell_memory(struct yp_case *t)
{
    ypi_child_own_memory(t, 0);
    struct ypi_memory memory;
    memset(&memory, 0, sizeof memory);
    yp_device_memory(yp_device_cpu(), &memory.host);
    memory.has_device = t->child->device != yp_device_cpu();
    if (memory.has_device)
        yp_device_memory(t->child->device, &memory.device);
    memory.leaked_bytes = memory.host.allocated;
    memory.leaked_blocks = memory.host.allocations - memory.host.frees;
    memory.resident_before = t->child->resident_before;
    memory.resident_peak = t->child->resident_peak;
    if (t->child->resident_of_command > 0) {
        memory.resident_before = 0;
        memory.resident_peak = t->child->resident_of_command;
    }
    ypi_child_send(t, YPI_MESSAGE_MEMORY, &memory, sizeof memory, NULL, 0);
}

/* What the runner was started with must not show: a shell's background jobs ignore SIGINT. */
static void reset_signals(void)
{
    for (int number = 1; number < SIGRTMIN; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            signal(number, SIG_DFL);
    }
}

/* Why the case cannot run: what it needs is not here, or does not work. */
static void tell_refusal(struct yp_case *t, enum yp_status status)
{
    const char *reason = yp_last_error();
    if (status == YP_UNSUPPORTED)
        ypi_child_send(t, YPI_MESSAGE_SKIP, reason, strlen(reason) + 1, NULL, 0);
    else
        ypi_child_fail(t, status == YP_OUT_OF_MEMORY ? YPI_CAUSE_OUT_OF_MEMORY : YPI_CAUSE_DEVICE,
                       NULL, 0, "%s", reason);
}

/* False when the case cannot run for want of its device, which is told. A command opens it itself:
 * a context of ours beside it would take memory, and all of an exclusive device. */
static bool open_device(struct yp_case *t)
{
    t->child->device = yp_device_cpu();
    enum yp_status status = t->test->command != NULL
                                ? ypi_device_confine(t->device)
                                : ypi_device_open(t->device, &t->child->device);
    if (status == YP_OK && ypi_child_wire(t)->bind != YPI_BIND_NONE)
        ypi_device_bind_near("");
    if (status != YP_OK)
        tell_refusal(t, status);
    return status == YP_OK;
}

static bool open_audit(struct yp_case *t)
{
    enum yp_status status = ypi_audit_open(t->child->device);
    if (status != YP_OK)
        tell_refusal(t, status);
    return status == YP_OK;
}

/* Work that nobody waited for may have failed: the case has then not shown what it says. */
static void close_device(struct yp_case *t)
{
    struct yp_device *device = t->child->device;
    size_t count = 0;
    double *rows = ypi_series_close(t->child->series, &count);
    if (count > 0)
        ypi_child_send(t, YPI_MESSAGE_SERIES, rows, count * YPI_SERIES_COLUMNS * sizeof *rows, NULL,
                       0);
    free(rows);
    if (device->backend->close(device) != YP_OK)
        ypi_child_fail(t, YPI_CAUSE_DEVICE, NULL, 0, "the device failed: %s", yp_last_error());
}

static bool begin(struct yp_case *t)
{
    reset_signals();
    const struct ypi_wire *wire = t->child->wire;
    /* Whatever the case forks, however it detaches, stays a descendant of this process. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* Criterion leaves a pipe there that never ends: a case that reads would hang. */
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
    if (wire->output != NULL) {
        int fd = open(wire->output, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        close(fd);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool ready = open_device(t);
    yp_device_set_limit(yp_device_cpu(), wire->memory_limit);
    if (t->child->device != yp_device_cpu())
        yp_device_set_limit(t->child->device, wire->device_memory_limit);
    t->child->descriptors = ypi_descriptors();
    ypi_reset_resident_peak();
    t->child->resident_before = ypi_self_status("VmRSS:");
    ypi_fail_any_allocation(wire->fail_allocation);
    if (t->child->device != yp_device_cpu())
        t->child->series = ypi_series_open(t->child->device);
    /* Here, so that descriptors which the profiler opens and closes are its own affair. */
    return ready && (!wire->audit || open_audit(t));
}

static void end(struct yp_case *t)
{
    struct ypi_child *child = t->child;
    fflush(NULL);
    close_device(t);
    free_blocks(child);
    tell_memory(t);
    ypi_orphans_check(t);
    char *lost = ypi_descriptors_lost(child->descriptors);
    free(child->descriptors);
    free(ypi_text_take(&child->names));
    if (lost != NULL)
        ypi_child_fail(t, YPI_CAUSE_DESCRIPTORS, NULL, 0,
                       "closed descriptors that were not its own: %s", lost);
    if (lost == NULL && __lsan_do_recoverable_leak_check != NULL &&
        __lsan_do_recoverable_leak_check() != 0)
        ypi_child_fail(t, YPI_CAUSE_LEAK, NULL, 0,
                       "LeakSanitizer found leaked memory; its report is in the output below");
    free(lost);
    ypi_child_send(t, YPI_MESSAGE_END, NULL, 0, NULL, 0);
}

static struct yp_case from_wire(const struct ypi_wire *wire)
{
    const struct yp_test *test = ypi_all_tests().begin[wire->test];
    struct yp_case c = {.test = test,
                        .decl = wire->decl >= 0 ? &test->cases[wire->decl] : NULL,
                        .setting_count = wire->setting_count,
                        .id = wire->id,
                        .tags = wire->tags,
                        .seed = wire->seed,
                        .repeat = wire->repeat};
    memcpy(c.settings, wire->settings, sizeof c.settings);
    for (int i = 0; i < c.setting_count; i++)
        c.settings[i].axis = test->axes[i].name;
    memcpy(c.device, wire->device, sizeof c.device);
    return c;
}

/* Criterion packs its objects without regard to alignment. */
static const struct ypi_wire *read_wire(void)
{
    struct criterion_test_extra_data extra;
    memcpy(&extra, (const void *)criterion_current_test->data, sizeof extra);
    return extra.data;
}

void ypi_child_direct(const struct ypi_wire *wire)
{
    struct yp_case t = from_wire(wire);
    struct ypi_child child = {.wire = wire, .thread = pthread_self()};
    t.child = &child;
    exit_channel = wire->channel;
    bool here = !wire->instructions || ypi_callgrind_running();
    if (!here)
        ypi_callgrind_execute(&t, wire);
    bool ready = begin(&t);
    if (here && ready)
        run_stages(&t);
    else if (!here) /* it came back */
        ypi_child_fail(&t, YPI_CAUSE_EXIT, NULL, 0, "%s", yp_last_error());
    end(&t);
    /* Not by returning: Criterion would wait for an answer on a connection that the body may have
     * closed, and would call the case over before its exit handlers have run. */
    exit(EXIT_SUCCESS);
}

static void run_case(void)
{
    ypi_child_direct(read_wire());
}

/* Runs after the program's own exit handlers and destructors: its absence tells that one of them
 * crashed or left early. */
__attribute__((destructor(101))) static void tell_exit(void)
{
    if (exit_channel != NULL)
        ypi_channel_send(exit_channel, YPI_MESSAGE_EXIT, NULL, 0, NULL, 0);
}

void ypi_child_main(void)
{
    /* Before Criterion tells the runner of the case: it tells of cases that it passes over too, and
     * only one that has a process has said so here. */
    const struct ypi_wire *wire = read_wire();
    struct ypi_hello hello = {.pid = getpid()};
    bool told = ypi_channel_send(wire->channel, YPI_MESSAGE_HELLO, &hello, sizeof hello, NULL, 0);
    if (!told)
        fprintf(stderr, "error: %s: %s\n", wire->channel, strerror(errno));
    criterion_internal_test_setup();
    if (!told)
        _exit(EXIT_FAILURE);
    criterion_internal_test_main(run_case);
}
