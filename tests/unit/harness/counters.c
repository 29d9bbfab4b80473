/* Opening, reading and adding up events, with those of the kernel's software for the hardware's,
 * and what counts say against declarations. */
#include "harness/measure/count/counters.h"
#include "device/cpu/task.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TestSuite(counters, .timeout = 60);

#define TASK_CLOCK \
    { \
        YP_CYCLES, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK \
    }
#define FAULTS \
    { \
        YP_INSTRUCTIONS, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS \
    }
#define NOTHING \
    { \
        YP_BRANCH_MISSES, PERF_TYPE_HARDWARE, 0xffff \
    }

static const struct ypi_counter_event events[] = {FAULTS, NOTHING, TASK_CLOCK};

/* Faults stand in for instructions, as they can be made exactly; other things, a new thread under
 * AddressSanitizer most of all, fault a little. */
#define STRAY 900

static struct ypi_counters *open_or_skip(void)
{
    struct ypi_counters *c = ypi_counters_open_events(events, 3);
    struct ypi_count out[YP_COUNTERS];
    ypi_counters_start(c);
    ypi_counters_stop(c, out);
    if (out[YP_INSTRUCTIONS].source == YPI_NOT_COUNTED)
        cr_skip_test("perf_event_open is not allowed here");
    return c;
}

static void fault(size_t pages)
{
    size_t size = pages * (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    madvise(memory, size, MADV_NOHUGEPAGE);
    memset(memory, 1, size);
    munmap(memory, size);
}

static void expect_faults(const struct ypi_count out[YP_COUNTERS], double wanted)
{
    cr_expect_eq(out[YP_INSTRUCTIONS].source, YPI_COUNTED_HARDWARE);
    cr_expect(out[YP_INSTRUCTIONS].count >= wanted && out[YP_INSTRUCTIONS].count < wanted + STRAY,
              "%g, not %g", out[YP_INSTRUCTIONS].count, wanted);
}

/* -- counting ------------------------------------------------------------------------------ */

Test(counters, from_start_to_stop)
{
    struct ypi_counters *c = open_or_skip();
    struct ypi_count out[YP_COUNTERS];
    fault(2000);
    ypi_counters_start(c);
    fault(1000);
    ypi_counters_stop(c, out);
    expect_faults(out, 1000);
    cr_expect_eq(out[YP_CYCLES].source, YPI_COUNTED_HARDWARE);
    cr_expect_eq(out[YP_BRANCH_MISSES].source, YPI_NOT_COUNTED, "it cannot be opened");
    cr_expect(isnan(out[YP_BRANCH_MISSES].count));
    cr_expect_eq(out[YP_CACHE_MISSES].source, YPI_NOT_COUNTED);
    fault(2000);
    ypi_counters_start(c);
    fault(300);
    ypi_counters_stop(c, out);
    expect_faults(out, 300);
    ypi_counters_close(c);
}

Test(counters, time_of_the_processor)
{
    struct ypi_counters *c = open_or_skip();
    struct ypi_count out[YP_COUNTERS];
    struct timespec begin;
    struct timespec now;
    ypi_counters_start(c);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
           0.1);
    ypi_counters_stop(c, out);
    cr_expect_geq(out[YP_CYCLES].count, 0.09e9, "%g ns", out[YP_CYCLES].count);
    ypi_counters_close(c);
}

static sem_t go, done;

static void *fault_when_told(void *pages)
{
    sem_wait(&go);
    fault(*(const size_t *)pages);
    sem_post(&done);
    sem_wait(&go);
    return NULL;
}

static void *fault_now(void *pages)
{
    fault(*(const size_t *)pages);
    return NULL;
}

/* Threads that are there, come, and have gone; and a child process. */
Test(counters, all_threads_are_counted)
{
    size_t old_pages = 1000;
    size_t new_pages = 2000;
    pthread_t there;
    pthread_t later;
    struct ypi_count out[YP_COUNTERS];
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    cr_assert_eq(pthread_create(&there, NULL, fault_when_told, &old_pages), 0);
    struct ypi_counters *c = open_or_skip();
    ypi_counters_start(c);
    sem_post(&go);
    sem_wait(&done);
    cr_assert_eq(pthread_create(&later, NULL, fault_now, &new_pages), 0);
    pthread_join(later, NULL);
    fault(4000);
    ypi_counters_stop(c, out);
    expect_faults(out, 7000);
    ypi_counters_start(c);
    ypi_counters_stop(c, out);
    expect_faults(out, 0); /* what the ended thread has counted is off the second count */
    sem_post(&go);
    pthread_join(there, NULL);
    ypi_counters_start(c);
    ypi_counters_stop(c, out);
    expect_faults(out, 0); /* a thread that has ended is no reason not to count */
    ypi_counters_close(c);
}

Test(counters, the_kernel_counts_always)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    struct ypi_counters *c = ypi_counters_open();
    struct ypi_count out[YP_COUNTERS];
    fault(5000);
    ypi_counters_start(c);
    fault(1000);
    for (int i = 0; i < 20; i++)
        nanosleep(&moment, NULL);
    ypi_counters_stop(c, out);
    cr_expect_eq(out[YP_PAGE_FAULTS].source, YPI_COUNTED_KERNEL);
    cr_expect(out[YP_PAGE_FAULTS].count >= 1000 && out[YP_PAGE_FAULTS].count < 1000 + STRAY);
    cr_expect_eq(out[YP_CONTEXT_SWITCHES].source, YPI_COUNTED_KERNEL);
    cr_expect_geq(out[YP_CONTEXT_SWITCHES].count, 10);
    ypi_counters_close(c);
    ypi_counters_close(NULL);
}

Test(counters, hardware_is_there_or_its_absence_is_explained)
{
    struct ypi_counters *c = ypi_counters_open();
    struct ypi_count out[YP_COUNTERS];
    ypi_counters_start(c);
    ypi_counters_stop(c, out);
    bool all = true;
    for (int i = YP_INSTRUCTIONS; i <= YP_CACHE_MISSES; i++)
        all &= out[i].source == YPI_COUNTED_HARDWARE;
    const char *absent = ypi_counters_absent();
    cr_expect_eq(strncmp(absent, "perf_event_open: ", 17) == 0, !all, "'%s'", absent);
    cr_expect_eq(strlen(absent) == 0, all);
    ypi_counters_close(c);
}

Test(counters, turns_are_scaled)
{
    const struct ypi_counter_reading begin = {100, 1000, 500};
    cr_expect_eq(ypi_counter_between(begin, (struct ypi_counter_reading){300, 2000, 1500}), 200);
    cr_expect_eq(ypi_counter_between(begin, (struct ypi_counter_reading){300, 2000, 750}), 800);
    cr_expect_eq(ypi_counter_between(begin, begin), 0);
    cr_expect(isnan(ypi_counter_between(begin, (struct ypi_counter_reading){100, 2000, 500})));
}

/* -- descriptors --------------------------------------------------------------------------- */

/* Counts the descriptors of events; each has to be closed by exec. */
static int event_files(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    cr_assert_not_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char target[64] = "";
        if (readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1) < 0 ||
            !strstr(target, "perf_event"))
            continue;
        count++;
        cr_expect(fcntl((int)strtol(entry->d_name, NULL, 10), F_GETFD) & FD_CLOEXEC);
    }
    closedir(directory);
    return count;
}

Test(counters, descriptors_are_closed)
{
    struct ypi_counters *c = open_or_skip();
    cr_expect_geq(event_files(), 2);
    ypi_counters_close(c);
    cr_expect_eq(event_files(), 0);
}

/* Room for the first event of all threads and for the other of the first one only: a part of a
 * count would be taken for the whole. */
Test(counters, all_threads_or_none)
{
    size_t pages = 1;
    pthread_t there;
    pid_t tasks[64];
    struct rlimit limit;
    struct ypi_count out[YP_COUNTERS];
    ypi_counters_close(open_or_skip());
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    cr_assert_eq(pthread_create(&there, NULL, fault_when_told, &pages), 0);
    int threads = ypi_tasks("", tasks, 64);
    cr_assert_geq(threads, 2);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int first = fcntl(0, F_DUPFD_CLOEXEC, 100); /* all below is taken then */
    cr_assert_eq(first, 100);
    while (dup(0) < 100)
        ;
    for (int i = 100; i <= 100 + 64; i++)
        close(i);
    limit.rlim_cur = (rlim_t)threads + 101;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct ypi_counters *c = ypi_counters_open_events(events, 3);
    limit.rlim_cur = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_expect_eq(event_files(), threads);
    ypi_counters_start(c);
    ypi_counters_stop(c, out);
    cr_expect_eq(out[YP_INSTRUCTIONS].source, YPI_COUNTED_HARDWARE);
    cr_expect_eq(out[YP_CYCLES].source, YPI_NOT_COUNTED);
    ypi_counters_close(c);
    sem_post(&go);
    sem_post(&go);
    pthread_join(there, NULL);
}

/* -- reasons ------------------------------------------------------------------------------- */

Test(counters, reasons)
{
    static const struct {
        int error;
        const char *text;
    } cases[] = {
        {ENOENT, "perf_event_open: No such file or directory (the processor or its virtual machine "
                 "has none)"},
        {EOPNOTSUPP, "perf_event_open: Operation not supported (the processor or its virtual "
                     "machine has none)"},
        {ENOSYS, "perf_event_open: Function not implemented (this kernel is built without it, or a "
                 "container hides it)"},
        {EINVAL, "perf_event_open: Invalid argument (this kernel does not know the counter)"},
        {EMFILE, "perf_event_open: Too many open files (each thread takes a descriptor a counter)"},
    };
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ypi_counters_reason(cases[i].error, text, sizeof text);
        cr_expect_str_eq(text, cases[i].text);
    }
    ypi_counters_reason(EACCES, text, sizeof text);
    cr_expect_not_null(strstr(text, "perf_event_open: Permission denied ("));
    cr_expect(strstr(text, "perf_event_paranoid is ") || strstr(text, "security module"), "%s",
              text);
}

/* -- contradictions ------------------------------------------------------------------------ */

TestSuite(contradiction, .timeout = 60);

/* What differs from 1e6 operations on 1 MB by 1e5 instructions, from memory, at 90 % of the
 * ceiling; 0 stands for nothing. */
struct claim {
    const char *wanted;                                          /* "nothing"; "some": any */
    double flops, bytes, instructions, misses, footprint, share; /* bytes below 0: none */
    enum yp_ceiling arithmetic, traffic;
    struct ypi_ceiling more[2];
    bool amx, callgrind, by_arithmetic;
};

static void expect_claims(const struct claim *claims, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct claim *c = &claims[i];
        struct ypi_measured m = {.flops = c->flops != 0 ? c->flops : 1e6,
                                 .bytes = c->bytes < 0    ? 0
                                          : c->bytes != 0 ? c->bytes
                                                          : 1e6,
                                 .footprint = c->footprint,
                                 .bound =
                                     c->by_arithmetic ? YPI_BOUND_ARITHMETIC : YPI_BOUND_TRAFFIC,
                                 .share_count = 5};
        m.share_estimate.low = c->share != 0 ? c->share : 0.9;
        m.bounds[YPI_BOUND_ARITHMETIC].ceiling = c->arithmetic != 0 ? c->arithmetic : YP_FP32;
        m.bounds[YPI_BOUND_TRAFFIC].ceiling = c->traffic != 0 ? c->traffic : YP_READ;
        memcpy(&m.bounds[YPI_BOUND_MORE], c->more, sizeof c->more);
        m.counts[YP_INSTRUCTIONS] =
            (struct ypi_count){c->callgrind ? YPI_COUNTED_CALLGRIND : YPI_COUNTED_HARDWARE,
                               c->instructions != 0 ? c->instructions : 1e5};
        m.counts[YP_CACHE_MISSES] =
            (struct ypi_count){YPI_COUNTED_HARDWARE, c->misses != 0 ? c->misses : 1e6 / 64};
        char text[512] = "nothing";
        enum yp_isa isa = c->amx ? YP_ISA_AMX : YP_ISA_AVX512;
        bool any = ypi_counts_contradict_on(isa, &m, text, sizeof text);
        bool some = strcmp(c->wanted, "some") == 0;
        cr_expect(any == (strcmp(text, "nothing") != 0) &&
                      (some ? any : strcmp(text, c->wanted) == 0),
                  "claim %zu: %s, wanted %s", i, text, c->wanted);
    }
}
#define EXPECT_CLAIMS(claims) expect_claims(claims, sizeof(claims) / sizeof *(claims))

#define FEW(what) "declares " what " an iteration, but only 1e+05 instructions were executed"
#define SAW(what, seen) \
    "declares " what " an iteration, the counters saw at least " seen " from memory"
#define REACHES(ceilings, more) \
    "reaches 118 % of the ceiling of " ceilings " at least, more than there is: the work is less " \
    "than declared" more

Test(contradiction, more_work_than_instructions_can_do)
{
    static const struct claim claims[] = {
        {"nothing", .flops = 1e6},
        {"nothing", .flops = 6.4e6},
        {FEW("6.5e+06 operations"), .flops = 6.5e6},
        {"nothing", .flops = 6.5e6, .amx = true}, /* a tile does thousands at once */
        {"some", .flops = 6.5e6, .callgrind = true},
        {"nothing", .flops = 6.5e6, .arithmetic = YP_BF16},
        {"some", .flops = 12.9e6, .arithmetic = YP_BF16},
        {"nothing", .flops = 12.9e6, .arithmetic = YP_INT8},
        {"some", .flops = 25.7e6, .arithmetic = YP_INT8},
        /* each unit has instructions of its own */
        {"nothing", .flops = 3.2e6, .more = {{.ceiling = YP_INT32, .work = 3.1e6, .stage = 1}}},
        {FEW("6.5e+06 operations"), .flops = 3.2e6,
         .more = {{.ceiling = YP_INT32, .work = 3.3e6, .stage = 1}}},
        {"nothing", .flops = 3.2e6, .more = {{.ceiling = YP_INT8, .work = 3.3e6, .stage = 1}}},
        {"nothing", .bytes = 6.3e6},
        {FEW("6.2 MiB"), .bytes = 6.5e6},
        {"nothing", .bytes = 6.5e6, .amx = true},
        {"nothing", .bytes = 6.5e6, .traffic = YP_COPY}, /* one instruction copies any number */
    };
    EXPECT_CLAIMS(claims);
}

/* What passes through a cache and comes from memory is one read; what a later step reads is
 * another. */
Test(contradiction, bytes_of_levels_are_one_read_and_of_steps_several)
{
#define READS(stage_) \
    .bytes = -1, .more = { \
        {.ceiling = YP_READ, .work = 6e6, .footprint = -1}, \
        {.ceiling = YP_READ, .work = 6.1e6, .footprint = 4096, .stage = stage_} \
    }
    static const struct claim claims[] = {
        {"nothing", READS(0)},
        {FEW("11.5 MiB"), READS(1)},
        {SAW("5.7 MiB", "12.0 MiB"), READS(1), .instructions = 1e6, .misses = 6e6 * 2.1 / 64},
    };
    EXPECT_CLAIMS(claims);
}

Test(contradiction, fewer_bytes_than_came_from_memory)
{
    static const struct claim claims[] = {
        {"nothing", .misses = 31000},
        {SAW("976.6 KiB", "2.0 MiB"), .misses = 32768},
        {"some", .misses = 32768, .amx = true},
        {"nothing", .misses = 32768, .footprint = 1 << 20}, /* it is of a cache that is spoken */
        {"nothing", .misses = 32768, .bytes = -1},
        {"nothing", .misses = 64, .bytes = 8}, /* a page is what any iteration may touch */
        {"some", .misses = 65, .bytes = 8},
    };
    EXPECT_CLAIMS(claims);
}

Test(contradiction, more_than_the_ceiling)
{
    static const struct claim claims[] = {
        {"nothing", .share = 1.05},
        {REACHES("read", ", or comes from a nearer cache than .footprint says"), .share = 1.18},
        {REACHES("fp32", ""), .share = 1.18, .by_arithmetic = true},
        {REACHES("fp32 + int32", ""), .share = 1.18, .by_arithmetic = true,
         .more = {{.ceiling = YP_INT32, .work = 1, .stage = 1, .probes = 1, .rate = 1}}},
    };
    EXPECT_CLAIMS(claims);
}

Test(contradiction, nothing_is_held_against_what_is_unknown)
{
    struct ypi_measured m = {.flops = 1e30, .bytes = 1e30, .bound = YPI_BOUND_ARITHMETIC};
    char text[256];
    m.bounds[YPI_BOUND_ARITHMETIC].ceiling = YP_FP32;
    m.bounds[YPI_BOUND_TRAFFIC].ceiling = YP_READ;
    m.share_estimate.low = 9; /* of no share */
    cr_expect_not(ypi_counts_contradict(&m, text, sizeof text), "%s", text);
    m = (struct ypi_measured){.bound = -1};
    cr_expect_not(ypi_counts_contradict(&m, text, sizeof text), "%s", text);
}
