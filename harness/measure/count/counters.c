#include "harness/measure/count/counters.h"

#include "base/system/file.h"
#include "base/text/figures.h"
#include "base/text/text.h"
#include "device/ceiling/ceiling.h"
#include "device/cpu/task.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS_MAX 1024

static const struct ypi_counter_event hardware[] = {
    {YP_INSTRUCTIONS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {YP_CYCLES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {YP_BRANCH_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {YP_CACHE_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
};
enum { HARDWARE = sizeof hardware / sizeof *hardware };

/* One event of one thread. */
struct slot {
    int event, file;
    bool begun;
    struct ypi_counter_reading begin;
};

struct ypi_counters {
    const struct ypi_counter_event *events;
    int event_count;
    struct slot *slots;
    int slot_count;
    double faults, switches; /* at the start */
};

/* -- opening ------------------------------------------------------------------------------- */

/* Of one thread, and of the threads and processes that it starts. Not enabled yet. */
static int open_event(const struct ypi_counter_event *event, pid_t task)
{
    struct perf_event_attr attributes = {
        .type = event->type,
        .size = sizeof attributes,
        .config = event->config,
        .disabled = 1,
        .inherit = 1,
        .exclude_kernel = 1, /* it may not be counted by everybody */
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, task, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void drop_slots(struct ypi_counters *c, int from)
{
    while (c->slot_count > from)
        close(c->slots[--c->slot_count].file);
}

/* In all threads or in none: a part of the count would be taken for the whole. */
static void add_event(struct ypi_counters *c, int event, const pid_t *tasks, int task_count)
{
    int before = c->slot_count;
    for (int i = 0; i < task_count; i++) {
        int file = open_event(&c->events[event], tasks[i]);
        if (file < 0 && errno == ESRCH)
            continue; /* it has ended since */
        if (file < 0) {
            drop_slots(c, before);
            return;
        }
        c->slots[c->slot_count++] = (struct slot){.event = event, .file = file};
    }
}

struct ypi_counters *ypi_counters_open_events(const struct ypi_counter_event *events, int count)
{
    struct ypi_counters *c = ypi_calloc(1, sizeof *c);
    pid_t tasks[TASKS_MAX];
    int task_count = ypi_tasks("", tasks, TASKS_MAX);
    c->events = events;
    c->event_count = count;
    if (task_count > TASKS_MAX)
        return c;
    c->slots = ypi_calloc((size_t)count * (size_t)task_count, sizeof *c->slots);
    for (int i = 0; i < count; i++)
        add_event(c, i, tasks, task_count);
    return c;
}

struct ypi_counters *ypi_counters_open(void)
{
    return ypi_counters_open_events(hardware, HARDWARE);
}

void ypi_counters_close(struct ypi_counters *counters)
{
    if (!counters)
        return;
    drop_slots(counters, 0);
    free(counters->slots);
    free(counters);
}

/* -- counting ------------------------------------------------------------------------------ */

static bool read_slot(const struct slot *slot, struct ypi_counter_reading *out)
{
    return read(slot->file, out, sizeof *out) == (ssize_t)sizeof *out;
}

double ypi_counter_between(struct ypi_counter_reading begin, struct ypi_counter_reading end)
{
    double value = (double)(end.value - begin.value);
    double enabled = (double)(end.enabled - begin.enabled);
    double running = (double)(end.running - begin.running);
    if (running > 0)
        return value * (enabled / running);
    return enabled > 0 ? NAN : 0; /* a thread that never ran is counted right */
}

static void switch_all(const struct ypi_counters *c, unsigned long request)
{
    for (int i = 0; i < c->slot_count; i++)
        ioctl(c->slots[i].file, request, 0);
}

static void read_kernel(double *faults, double *switches)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *faults = (double)usage.ru_minflt + (double)usage.ru_majflt;
    *switches = (double)usage.ru_nvcsw + (double)usage.ru_nivcsw;
}

/* PERF_EVENT_IOC_RESET would leave what ended threads have counted, so counts are taken off. */
void ypi_counters_start(struct ypi_counters *counters)
{
    for (int i = 0; i < counters->slot_count; i++) {
        struct slot *slot = &counters->slots[i];
        slot->begun = read_slot(slot, &slot->begin);
    }
    read_kernel(&counters->faults, &counters->switches);
    switch_all(counters, PERF_EVENT_IOC_ENABLE);
}

void ypi_counters_stop(struct ypi_counters *counters, struct ypi_count out[YP_COUNTERS])
{
    double faults;
    double switches;
    switch_all(counters, PERF_EVENT_IOC_DISABLE);
    read_kernel(&faults, &switches);
    for (int i = 0; i < YP_COUNTERS; i++)
        out[i] = (struct ypi_count){.source = YPI_NOT_COUNTED, .count = NAN};
    for (int i = 0; i < counters->slot_count; i++) {
        const struct slot *slot = &counters->slots[i];
        struct ypi_count *count = &out[counters->events[slot->event].counter];
        struct ypi_counter_reading end;
        bool ok = slot->begun && read_slot(slot, &end);
        double more = ok ? ypi_counter_between(slot->begin, end) : NAN;
        count->count = count->source == YPI_NOT_COUNTED ? more : count->count + more;
        count->source = YPI_COUNTED_HARDWARE;
    }
    for (int i = 0; i < YP_COUNTERS; i++)
        if (isnan(out[i].count))
            out[i].source = YPI_NOT_COUNTED;
    out[YP_PAGE_FAULTS] = (struct ypi_count){YPI_COUNTED_KERNEL, faults - counters->faults};
    out[YP_CONTEXT_SWITCHES] =
        (struct ypi_count){YPI_COUNTED_KERNEL, switches - counters->switches};
}

/* -- why not ------------------------------------------------------------------------------- */

static void explain_permission(char *out, size_t size)
{
    char text[32];
    (void)ypi_read_file("/proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    int level = atoi(text);
    if (level > 2)
        snprintf(out, size,
                 "/proc/sys/kernel/perf_event_paranoid is %d, at most 2 lets a process "
                 "count itself",
                 level);
    else
        snprintf(out, size, "the container or a security module forbids it");
}

void ypi_counters_reason(int error, char *out, size_t size)
{
    char why[160];
    switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        snprintf(why, sizeof why, "the processor or its virtual machine has none");
        break;
    case EACCES:
    case EPERM:
        explain_permission(why, sizeof why);
        break;
    case ENOSYS:
        snprintf(why, sizeof why, "this kernel is built without it, or a container hides it");
        break;
    case EINVAL:
        snprintf(why, sizeof why, "this kernel does not know the counter");
        break;
    case EBUSY:
        snprintf(why, sizeof why, "another program holds the counters");
        break;
    case EMFILE:
    case ENFILE:
        snprintf(why, sizeof why, "each thread takes a descriptor a counter");
        break;
    default:
        snprintf(why, sizeof why, "error %d", error);
    }
    snprintf(out, size, "perf_event_open: %s (%s)", strerror(error), why);
}

static char absent_text[256]; /* written once */

static void find_absent(void)
{
    for (int i = 0; i < HARDWARE && !*absent_text; i++) {
        int file = open_event(&hardware[i], 0);
        if (file < 0)
            ypi_counters_reason(errno, absent_text, sizeof absent_text);
        else
            close(file);
    }
}

const char *ypi_counters_absent(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_absent);
    return absent_text;
}

/* -- contradictions ------------------------------------------------------------------------ */

#define BYTES_AN_INSTRUCTION 64.0
#define CACHE_LINE 64.0
#define TRIFLE 4096.0 /* bytes that any iteration may touch beside its work */
#define SHARE_MAX 1.05

/* NaN, which is not less and not more than anything, where nothing was counted. */
static double counted(const struct ypi_measured *m, enum yp_counter counter)
{
    return m->counts[counter].source == YPI_NOT_COUNTED ? NAN : m->counts[counter].count;
}

/* Twice what one instruction of AVX-512 does. */
static double operations_an_instruction(enum yp_ceiling arithmetic)
{
    switch (arithmetic) {
    case YP_INT8:
        return 256;
    case YP_BF16:
        return 128;
    default:
        return 64;
    }
}

static bool too_many_operations(const struct ypi_measured *m, char *out, size_t size)
{
    double instructions = counted(m, YP_INSTRUCTIONS);
    double operations = m->flops;
    double least = m->flops / operations_an_instruction(m->bounds[YPI_BOUND_ARITHMETIC].ceiling);
    for (int i = YPI_BOUND_MORE; i < YPI_BOUNDS; i++) {
        const struct ypi_ceiling *b = &m->bounds[i];
        if (!ypi_is_arithmetic(b->ceiling))
            continue;
        operations += b->work;
        least += b->work / operations_an_instruction(b->ceiling);
    }
    return least > instructions &&
           snprintf(
               out, size,
               "declares %.3g operations an iteration, but only %.3g instructions were executed",
               operations, instructions) > 0;
}

/* Declared bytes an iteration. Of one step the most, since those of a level may pass through the
 * next; of steps their sum. */
static double bytes_where(const struct ypi_measured *m, bool (*is)(const struct ypi_ceiling *))
{
    double most[YPI_BOUNDS] = {0};
    double sum = 0;
    struct ypi_ceiling first = m->bounds[YPI_BOUND_TRAFFIC];
    first.work = m->bytes;
    first.footprint = m->footprint;
    if (is(&first))
        most[0] = first.work;
    for (int i = YPI_BOUND_MORE; i < YPI_BOUNDS; i++)
        if (is(&m->bounds[i]))
            most[m->bounds[i].stage] = fmax(most[m->bounds[i].stage], m->bounds[i].work);
    for (int stage = 0; stage < YPI_BOUNDS; stage++)
        sum += most[stage];
    return sum;
}

static bool is_read(const struct ypi_ceiling *b)
{
    return b->ceiling == YP_READ;
}

/* Bytes that stay in a cache say nothing of those from memory. */
static bool is_of_memory(const struct ypi_ceiling *b)
{
    return ypi_is_traffic(b->ceiling) && b->footprint <= 0;
}

/* Of bytes that are read only: to copy or fill, one instruction (rep movsb) may do for any number,
 * and memcpy uses it. */
static bool too_many_bytes(const struct ypi_measured *m, char *out, size_t size)
{
    char declared[YPI_FIGURE_MAX];
    double instructions = counted(m, YP_INSTRUCTIONS);
    double bytes = bytes_where(m, is_read);
    if (!(bytes > BYTES_AN_INSTRUCTION * instructions))
        return false;
    ypi_format_bytes(declared, bytes);
    return snprintf(out, size, "declares %s an iteration, but only %.3g instructions were executed",
                    declared, instructions) > 0;
}

static bool too_few_bytes(const struct ypi_measured *m, char *out, size_t size)
{
    char declared[YPI_FIGURE_MAX];
    char seen[YPI_FIGURE_MAX];
    double least = CACHE_LINE * counted(m, YP_CACHE_MISSES);
    double bytes = bytes_where(m, is_of_memory);
    if (!(bytes > 0 && bytes < least / 2 && least > TRIFLE))
        return false;
    ypi_format_bytes(declared, bytes);
    ypi_format_bytes(seen, least);
    return snprintf(out, size, "declares %s an iteration, the counters saw at least %s from memory",
                    declared, seen) > 0;
}

static bool above_ceiling(const struct ypi_measured *m, char *out, size_t size)
{
    if (m->bound < 0 || m->bound >= YPI_BOUNDS || m->share_count == 0 ||
        !(m->share_estimate.low > SHARE_MAX))
        return false;
    const enum yp_ceiling ceiling = m->bounds[m->bound].ceiling;
    char bound[YPI_BOUND_MAX];
    ypi_bound_text(m, false, bound, sizeof bound);
    return snprintf(out, size,
                    "reaches %.0f %% of the ceiling of %s at least, more than there is: %s",
                    100 * m->share_estimate.low, bound,
                    ypi_is_traffic(ceiling)
                        ? "the work is less than declared, or comes from a nearer cache than "
                          ".footprint says"
                    : ypi_is_exchange(ceiling)
                        ? "less is exchanged than declared, or the data is the same as before and "
                          "still in the other ranks' caches"
                        : "the work is less than declared") > 0;
}

bool ypi_counts_contradict_on(enum yp_isa isa, const struct ypi_measured *m, char *out, size_t size)
{
    bool tiles = isa == YP_ISA_AMX; /* one instruction does thousands of operations */
    return (!tiles && too_many_operations(m, out, size)) ||
           (!tiles && too_many_bytes(m, out, size)) || too_few_bytes(m, out, size) ||
           above_ceiling(m, out, size);
}

bool ypi_counts_contradict(const struct ypi_measured *m, char *out, size_t size)
{
    return ypi_counts_contradict_on(yp_isa(), m, out, size);
}
