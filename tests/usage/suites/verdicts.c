/* Verdicts on speed and memory whose causes are planted, for verdicts.py. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

static void nap(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds,
                             .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

/* What the script says of this process: PROCESSES counts them, a byte each. */
static char role(void)
{
    const char *script = getenv("SCRIPT");
    const char *path = getenv("PROCESSES");
    if (script == NULL || path == NULL)
        return 'f';
    FILE *file = fopen(path, "a");
    long before = ftell(file);
    fputc('.', file);
    fclose(file);
    return before < (long)strlen(script) ? script[before] : 'f';
}

/* Fast, slow, or both in turns, against 30 us; or a crash, or nothing at all. What is fast does
 * not even sleep, for on a busy machine it would be woken late; what is slow is so by more than a
 * thousandfold, which no busy machine excuses, nor a hypervisor that takes half of it. */
YP_TEST(speed, scripted, .budgets = YP_BUDGETS(yp_max_latency("nap", 30e-6)))
{
    char is = role();
    if (is == 'c')
        abort();
    if (is == 'k')
        yp_skip(t, "nothing to nap on");
    int i = 0;
    yp_measure (t, "nap", .warmup = -1, .samples = 10) {
        if (is == 's' || (is == 'b' && i++ % 2 == 0))
            nap(45e-3);
        yp_keep(t);
    }
}

static double clock_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void busy(double seconds)
{
    double until = clock_now() + seconds;
    while (clock_now() < until)
        continue;
}

/* A budget with a slack of 1.5, for --slowdown. */
YP_TEST(speed, slack, .budgets = YP_BUDGETS(yp_max_latency("work", 0.3e-3)))
{
    yp_measure (t, "work", .samples = 40)
        busy(0.2e-3);
}

/* 20 ms of processor time against a limit of 30 ms: too slow only where something holds it back. */
YP_TEST(speed, held_back, .budgets = YP_BUDGETS(yp_max_latency("work", 30e-3)))
{
    yp_measure (t, "work", .warmup = -1, .samples = 3) {
        struct timespec at;
        double from = 0, now = 0;
        for (int i = 0; now - from < 20e-3; i++) {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
            now = (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
            from = i == 0 ? now : from;
        }
    }
}

/* A shell that counts for some 20 ms, and reports a time above the limit. */
YP_COMMAND(speed, held_back_command,
           .command = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; "
                      "echo '{{\"measure\": \"work\", \"seconds\": [0.2, 0.2, 0.2, 0.2, 0.2]}'",
           .budgets = YP_BUDGETS(yp_max_latency("work", 0.1)));

YP_TEST(memory, sound)
{
    void *a = yp_alloc(t, 100);
    void *b = yp_device_alloc(yp_device(t), 200);
    if (b == NULL)
        yp_fail(t, "no second block: %s", yp_last_error());
    void *c = yp_device_alloc(yp_device(t), 300);
    yp_value(t, "found another way", c == NULL);
    memset(a, 1, 100);
    yp_device_free(yp_device(t), b);
    yp_device_free(yp_device(t), c);
}

YP_TEST(memory, crashes)
{
    char *a = yp_alloc(t, 100);
    char *b = yp_device_alloc(yp_device(t), 4096);
    a[0] = 1;
    b[0] = 2; /* without looking */
    yp_keep(b);
    yp_device_free(yp_device(t), b);
}

YP_TEST(memory, leaks)
{
    void *a = yp_device_alloc(yp_device(t), 64);
    yp_require(t, a != NULL, "no first block");
    void *b = yp_device_alloc(yp_device(t), 64);
    yp_require(t, b != NULL, "no second block"); /* and leaves the first */
    yp_device_free(yp_device(t), b);
    yp_device_free(yp_device(t), a);
}

YP_TEST(memory, soak, .budgets = YP_BUDGETS(yp_max_growth("step", 0)),
        .axes = YP_AXES(yp_axis_int("leak", 0, 1)))
{
    static char *kept[1000];
    size_t count = 0;
    size_t bytes = (size_t)64 << 10;
    yp_measure (t, "step", .warmup = 10, .samples = 200) {
        char *block = malloc(bytes);
        memset(block, 1, bytes);
        yp_keep(block);
        if (yp_int(t, "leak") == 0)
            free(block);
        else
            kept[count++] = block;
        yp_keep(kept);
    }
}

/* Nothing of a body's own, whatever the framework needs to time it and to probe ceilings. */
YP_TEST(memory, empty, .axes = YP_AXES(yp_axis_int("share", 0, 1)),
        .budgets = YP_BUDGETS(yp_max_resident(0), yp_max_resident_tree(0),
                              yp_max_growth("nothing", 0), yp_min_share("probed", 1e-12)))
{
    double x = 1;
    yp_measure (t, "nothing")
        yp_keep(x);
    yp_measure (t, yp_int(t, "share") == 1 ? "probed" : "bare", .flops = 1, .max_seconds = 0.5)
        yp_keep(x);
    if (yp_int(t, "share") == 0)
        yp_measure (t, "probed", .flops = 1, .cold = true, .samples = 5)
            yp_keep(x);
}

/* As much of shared memory, which is the body's own, or of a file, here the program's. */
YP_TEST(memory, mapped, .budgets = YP_BUDGETS(yp_max_resident(64 * YP_KIB)),
        .axes = YP_AXES(yp_axis_string("of", "file", "memory")))
{
    const size_t bytes = (size_t)1 << 20;
    bool file = strcmp(yp_string(t, "of"), "file") == 0;
    int fd = file ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
    const volatile char *at = mmap(NULL, bytes, PROT_READ | (file ? 0 : PROT_WRITE),
                                   MAP_SHARED | (file ? 0 : MAP_ANONYMOUS), fd, 0);
    yp_require(t, at != MAP_FAILED, "no memory");
    int sum = 0;
    for (size_t i = 0; i < bytes; i += 4096)
        sum += at[i];
    yp_keep(sum);
}

/* Two processes of 16 MiB: of their own or the body's, side by side or one behind the other. */
enum { TREE_BYTES = 16 << 20 };

static pid_t start_one(char *block, bool writes)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int sum = 0;
    for (size_t i = 0; i < TREE_BYTES; i += 4096)
        sum += writes ? block[i]++ : block[i];
    yp_keep(sum);
    nap(0.4); /* of many looks */
    _exit(0);
}

YP_TEST(memory, tree, .axes = YP_AXES(yp_axis_string("of", "both", "one", "shared", "none")),
        .budgets = YP_BUDGETS(yp_max_resident(18 * YP_MIB), yp_max_resident_tree(40 * YP_MIB)))
{
    const char *of = yp_string(t, "of");
    char *block = malloc(TREE_BYTES);
    memset(block, 1, TREE_BYTES);
    const bool writes = strcmp(of, "shared") != 0;
    for (int i = 0; i < 2 && strcmp(of, "none") != 0; i++) {
        yp_require(t, start_one(block, writes) > 0, "no process");
        if (strcmp(of, "one") == 0)
            wait(NULL);
    }
    while (wait(NULL) > 0) {
    }
    free(block);
}

YP_TEST(counts, faults, .budgets = YP_BUDGETS(yp_max_count("touch", YP_PAGE_FAULTS, 40)),
        .axes = YP_AXES(yp_axis_int("pages", 10, 100)))
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (size_t)yp_int(t, "pages");
    yp_measure (t, "touch", .samples = 20) {
        /* Too large for the allocator to keep: it comes from the kernel each time. */
        char *block = malloc((size_t)1 << 26);
        for (size_t i = 0; i < pages; i++)
            block[i * page * 2] = 1;
        yp_keep(block);
        free(block);
    }
}

YP_TEST(counts, instructions, .budgets = YP_BUDGETS(yp_max_count("none", YP_INSTRUCTIONS, 1e12)))
{
    yp_measure (t, "none", .samples = 3) {
        yp_keep(t);
    }
}

YP_TEST(latency, served, .budgets = YP_BUDGETS(yp_max_percentile("answer", 90, 0.5)))
{
    const char *rate = getenv("RATE");
    yp_serve (t, "answer", .rate = rate != NULL ? strtod(rate, NULL) : 500, .requests = 200) {
        nap(1e-4);
    }
}

YP_RELATION(memory, leaking_is_slower,
            .relation = yp_ratio("verdicts.c::soak[leak=0]", "verdicts.c::soak[leak=1]", "step"));

YP_TEST(place, processors)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    yp_value(t, "processors", CPU_COUNT(&set));
    yp_value(t, "isa", yp_isa());
    yp_measure (t, "work", .samples = 3) {
        nap(1e-3);
    }
    sched_getaffinity(0, sizeof set, &set);
    yp_value(t, "processors of the thread", CPU_COUNT(&set));
}

YP_TEST(work, removed)
{
    yp_measure (t, "nothing", .max_seconds = 0.1) {
    }
}

YP_TEST(work, removed_and_budgeted,
        .budgets = YP_BUDGETS(yp_min_share("nothing", 0.5), yp_max_latency("nothing", 1)))
{
    yp_measure (t, "nothing", .flops = 1000, .arithmetic = YP_FP32, .max_seconds = 0.1) {
    }
}

/* Work of which only a part is done. */
YP_TEST(work, undone, .budgets = YP_BUDGETS(yp_min_share("fill", 0.5)))
{
    static char block[1 << 16];
    yp_measure (t, "fill", .bytes = 1e3 * sizeof block, .traffic = YP_FILL,
                .footprint = sizeof block, .threads = 1, .max_seconds = 0.1) {
        memset(block, 1, sizeof block);
        yp_keep(block);
    }
}

/* A second of sleep is far from any ceiling. */
YP_TEST(work, far_away)
{
    yp_measure (t, "nap", .samples = 1, .warmup = -1,
                .bounds = YP_WORK(yp_work(YP_INT32, 1e5), yp_then(), yp_work(YP_FP32, 1e5)))
        nap(0.05);
}

/* The same, with a budget that asks for the share. */
YP_TEST(work, far_but_asked, .budgets = YP_BUDGETS(yp_min_share("nap", 1e-9)))
{
    yp_measure (t, "nap", .samples = 1, .warmup = -1,
                .bounds = YP_WORK(yp_work(YP_INT32, 1e5), yp_then(), yp_work(YP_FP32, 1e5)))
        nap(0.05);
}

YP_TEST(work, shared, .budgets = YP_BUDGETS(yp_min_share("fill", 1e-6)))
{
    static char block[1 << 16];
    yp_measure (t, "fill", .bytes = sizeof block, .traffic = YP_FILL, .footprint = sizeof block,
                .threads = 1) {
        memset(block, 1, sizeof block);
        yp_keep(block);
    }
}
