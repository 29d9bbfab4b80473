/* What is read from the kernel's files, on kernels of several kinds, and what is said of it. */
#include "harness/measure/noise.h"
#include "base/system/cgroup_path.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "device/cpu/binding.h"
#include "harness/record/row.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TestSuite(noise_files, .init = make_directory, .fini = remove_directory, .timeout = 60);

/* A file of the made-up kernel. */
static void put(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", directory, path);
    cr_assert_eq(ypi_make_parents(name), YP_OK);
    write_text(name, text);
}

/* Of the processors whose places in `map` hold a 1. */
static struct ypi_noise_mark mark_of(const char *map)
{
    unsigned char cpus[YPI_CPUS_MAX] = {0};
    struct ypi_noise_mark mark;
    for (int i = 0; map[i]; i++)
        cpus[i] = map[i] == '1';
    ypi_noise_mark_from(directory, cpus, &mark);
    return mark;
}

static void expect_near(double got, double wanted, const char *what)
{
    cr_expect(fabs(got - wanted) <= 1e-9 * fabs(wanted), "%s: %.12g, not %.12g", what, got, wanted);
}

/* -- what a kernel shows ------------------------------------------------------------------- */

/* 100 ticks a second. */
static const char stat_of_today[] = "cpu  1111 2222 3333 4444 5555 666 777 888 0 0\n"
                                    "cpu0 100000 0 0 0 0 0 0 0 0 0\n"
                                    "cpu1 1000 200 30 9999 9999 4 5 60 7 8\n"
                                    "cpu2 100000 0 0 0 0 0 0 0 0 0\n"
                                    "cpu3 2000 0 100 8888 7777 6 0 40 0 0\n"
                                    "intr 12345 0 9 0 0\n"
                                    "cpu1 5 5 5 5 5 5 5 5 5 5\n";

Test(noise_files, busy_and_stolen_are_those_of_the_processors_that_may_be_used)
{
    cr_assert_eq(sysconf(_SC_CLK_TCK), 100);
    put("/proc/stat", stat_of_today);
    struct ypi_noise_mark mark = mark_of("0101");
    expect_near(mark.busy, 12.39 + 21.06, "busy");
    expect_near(mark.stolen, 1.00, "stolen");
    cr_expect_eq(mark.processors, 2);
    expect_near(mark_of("0001").busy, 21.06, "busy of one");
    cr_expect(isnan(mark_of("00001").busy), "a processor that is not there");
}

Test(noise_files, an_old_kernel_has_no_steal)
{
    put("/proc/stat", "cpu  1 2 3 4 5 6 7\ncpu0 100 200 300 4000 5000 6 7\n");
    struct ypi_noise_mark mark = mark_of("1");
    expect_near(mark.busy, 6.13, "busy");
    cr_expect(isnan(mark.stolen));
}

/* More than one buffer: every line has to be seen once and whole. */
Test(noise_files, many_processors)
{
    static char text[1 << 16];
    char map[301] = {0};
    int length = snprintf(text, sizeof text, "cpu  1 1 1 1 1 1 1 1 0 0\n");
    for (int cpu = 0; cpu < 300; cpu++) {
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "cpu%d 123456%d 0 0 98765432 0 0 0 %d 0 0\n", cpu, cpu % 10, cpu);
        map[cpu] = '1';
    }
    put("/proc/stat", text);
    struct ypi_noise_mark mark = mark_of(map);
    expect_near(mark.busy, 3.0 * 1234560 + 30 * 45 / 100.0, "busy");
    expect_near(mark.stolen, 299 * 300 / 200.0, "stolen");
    cr_expect_eq(mark.processors, 300);
}

Test(noise_files, a_kernel_that_shows_nothing)
{
    struct ypi_noise_mark mark = mark_of("11");
    cr_expect(isnan(mark.busy) && isnan(mark.stolen) && isnan(mark.throttled));
    cr_expect(isnan(mark.migrations) && isnan(mark.frequency) && isnan(mark.frequency_least));
    cr_expect(isnan(mark.hot));
    cr_expect_gt(mark.at, 0);
    cr_expect_gt(mark.own, 0);
    struct ypi_noise noise = ypi_noise_between(&mark, &mark);
    cr_expect(isnan(noise.others) && isnan(noise.stolen) && isnan(noise.throttled));
    cr_expect(isnan(noise.frequency) && isnan(noise.frequency_least));
    cr_expect_eq(noise.own, 0);
}

/* -- control groups ------------------------------------------------------------------------ */

Test(noise_files, quotas_of_all_groups_above_hold_back)
{
    put("/proc/self/cgroup", "0::/user.slice/a.scope\n");
    put("/sys/fs/cgroup/cpu.stat", "usage_usec 99\nuser_usec 77\n");
    put("/sys/fs/cgroup/user.slice/cpu.stat",
        "usage_usec 5\nnr_throttled 1\nthrottled_usec 500000\n");
    put("/sys/fs/cgroup/user.slice/a.scope/cpu.stat",
        "usage_usec 3\nnr_periods 2\nnr_throttled 2\nthrottled_usec 1500000\nnr_bursts 0\n");
    put("/sys/fs/cgroup/user.slice/b.scope/cpu.stat", "throttled_usec 7000000\n");
    expect_near(mark_of("1").throttled, 2.0, "throttled");
}

Test(noise_files, a_container_of_version_1_sees_the_hosts_path)
{
    put("/proc/self/cgroup",
        "12:cpuset:/wrong\n11:cpuacct:/wrong\n4:memory,cpu:/docker/abc\n0::/wrong\n");
    put("/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 9\nnr_throttled 5\nthrottled_time 2500000000\n");
    put("/sys/fs/cgroup/cpu/wrong/cpu.stat", "throttled_time 7000000000\n");
    expect_near(mark_of("1").throttled, 2.5, "throttled");
}

Test(noise_files, a_group_without_quota_is_not_known_to_be_throttled)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.stat", "usage_usec 99\nuser_usec 77\n");
    cr_expect(isnan(mark_of("1").throttled));
}

Test(noise_files, the_group_of_each_hierarchy)
{
    char group[128];
    put("/proc/self/cgroup", "3:cpuset:/\n2:cpuacct,cpu:/a/b:c\n1:name=systemd:/s\n0::/u\n");
    cr_expect(ypi_cgroup_path(directory, "cpu", group, sizeof group));
    cr_expect_str_eq(group, "/a/b:c");
    cr_expect(ypi_cgroup_path(directory, "cpuacct", group, sizeof group));
    cr_expect_str_eq(group, "/a/b:c");
    cr_expect(ypi_cgroup_path(directory, "cpuset", group, sizeof group));
    cr_expect_str_eq(group, "");
    cr_expect(ypi_cgroup_path(directory, "", group, sizeof group));
    cr_expect_str_eq(group, "/u");
    cr_expect_not(ypi_cgroup_path(directory, "pids", group, sizeof group));
    cr_expect_not(ypi_cgroup_path("/nonexistent", "cpu", group, sizeof group));
    put("/proc/self/cgroup", "2:cpu:/only/one\n");
    cr_expect_not(ypi_cgroup_path(directory, "", group, sizeof group));
    strcpy(group, "/a/b");
    cr_expect(ypi_cgroup_above(group));
    cr_expect_str_eq(group, "/a");
    cr_expect(ypi_cgroup_above(group));
    cr_expect_str_eq(group, "");
    cr_expect_not(ypi_cgroup_above(group));
}

/* -- threads and processors ---------------------------------------------------------------- */

static void put_task(int task, const char *migrations)
{
    char path[64];
    char text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/sched", task);
    snprintf(text, sizeof text,
             "head (1, #threads: 1)\n-----\nse.exec_start      :   1.5\n"
             "se.nr_migrations                             : %20s\nnr_switches : 77\n",
             migrations);
    put(path, text);
}

Test(noise_files, migrations_of_all_threads)
{
    put_task(11, "3");
    put_task(12, "40");
    put("/proc/self/task/13/comm", "a thread that ended");
    expect_near(mark_of("1").migrations, 43, "migrations");
}

Test(noise_files, migrations_of_very_many_threads_are_not_read)
{
    for (int i = 0; i < 64; i++)
        put_task(100 + i, "1");
    expect_near(mark_of("1").migrations, 64, "migrations");
    put_task(164, "1");
    cr_expect(isnan(mark_of("1").migrations));
}

static void put_processor(int cpu, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
    put(path, text);
}

Test(noise_files, frequency_and_heat)
{
    put("/proc/cpuinfo", "processor\t: 1\ncpu MHz\t\t: 1.0\n");
    put_processor(0, "cpufreq/scaling_cur_freq", "800000\n");
    put_processor(1, "cpufreq/scaling_cur_freq", "3000000\n");
    put_processor(2, "cpufreq/scaling_cur_freq", "<unknown>\n");
    put_processor(3, "cpufreq/scaling_cur_freq", "2000000\n");
    put_processor(4, "cpufreq/scaling_cur_freq", "4000000\n");
    put_processor(0, "thermal_throttle/core_throttle_count", "1000\n");
    put_processor(1, "thermal_throttle/core_throttle_count", "5\n");
    put_processor(3, "thermal_throttle/core_throttle_count", "7\n");
    struct ypi_noise_mark mark = mark_of("01111");
    expect_near(mark.frequency, 3e9, "frequency");
    expect_near(mark.frequency_least, 2e9, "least");
    expect_near(mark.hot, 12, "hot");
    cr_expect_eq(mark.processors, 4);
}

/* Its longest line does not fit the buffer; none of its parts may be taken for another line. */
Test(noise_files, frequency_of_a_machine_without_cpufreq)
{
    static char text[1 << 15];
    static char flags[9000];
    memset(flags, 'x', sizeof flags - 1);
    snprintf(text, sizeof text,
             "processor\t: 0\nmodel name\t: A\ncpu MHz\t\t: 9000.000\nflags\t\t: %s\n\n"
             "processor\t: 1\nmodel name\t: A\ncpu MHz\t\t: 2596.122\nflags\t\t: %s\n\n"
             "processor\t: 2\ncpu MHz\t\t: 1000.5",
             flags, flags);
    put("/proc/cpuinfo", text);
    struct ypi_noise_mark mark = mark_of("011");
    expect_near(mark.frequency, 1e6 * (2596.122 + 1000.5) / 2, "frequency");
    expect_near(mark.frequency_least, 1000.5e6, "least");
    put("/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: unknown\n");
    cr_expect(isnan(mark_of("1").frequency));
}

Test(noise_files, heat_of_the_first_32_processors)
{
    char map[41] = {0};
    memset(map, '1', 40);
    map[0] = '0';
    for (int cpu = 0; cpu < 40; cpu++)
        put_processor(cpu, "thermal_throttle/core_throttle_count", "1\n");
    struct ypi_noise_mark mark = mark_of(map);
    expect_near(mark.hot, 32, "hot");
    cr_expect_eq(mark.processors, 39);
}

/* -- this machine -------------------------------------------------------------------------- */

TestSuite(noise, .timeout = 60);

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double seconds)
{
    double end = seconds_of(CLOCK_PROCESS_CPUTIME_ID) + seconds;
    while (seconds_of(CLOCK_PROCESS_CPUTIME_ID) < end)
        ;
}

Test(noise, own_time_faults_and_waits_are_seen)
{
    struct ypi_noise_mark begin;
    struct ypi_noise_mark end;
    const size_t size = (size_t)1 << 22;
    const struct timespec moment = {.tv_nsec = 1000000};
    ypi_noise_mark(&begin);
    work(0.1);
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(pages, MAP_FAILED);
    cr_assert_eq(madvise(pages, size, MADV_NOHUGEPAGE), 0);
    memset(pages, 1, size);
    for (int i = 0; i < 20; i++)
        nanosleep(&moment, NULL);
    ypi_noise_mark(&end);
    struct ypi_noise noise = ypi_noise_between(&begin, &end);
    cr_expect_geq(noise.own, 0.1);
    cr_expect_geq(noise.wall, 0.09);
    cr_expect_geq(noise.minor_faults, (double)size / (double)sysconf(_SC_PAGESIZE));
    cr_expect_geq(noise.waits, 10); /* a sleep that is preempted at once is none */
    cr_expect_eq(noise.processors, ypi_processors());
    cr_expect_geq(noise.others, 0);
}

Test(noise, work_of_other_processes_is_theirs)
{
    struct ypi_noise_mark begin;
    struct ypi_noise_mark end;
    ypi_noise_mark(&begin);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        work(0.4);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    ypi_noise_mark(&end);
    struct ypi_noise noise = ypi_noise_between(&begin, &end);
    cr_expect_geq(noise.others + noise.stolen, 0.3, "%g + %g s", noise.others, noise.stolen);
    cr_expect_lt(noise.own, 0.3);
}

static int open_files(void)
{
    int count = 0;
    DIR *descriptors = opendir("/proc/self/fd");
    cr_assert_not_null(descriptors);
    while (readdir(descriptors))
        count++;
    closedir(descriptors);
    return count;
}

Test(noise, keeps_no_file_open)
{
    struct ypi_noise_mark mark;
    int before = open_files();
    ypi_noise_mark(&mark);
    cr_expect_eq(open_files(), before);
}

/* -- between two marks --------------------------------------------------------------------- */

Test(noise, differences_have_names_and_are_not_below_zero)
{
    const struct ypi_noise_mark begin = {.at = 100,
                                         .own = 10,
                                         .busy = 1000,
                                         .stolen = 5,
                                         .throttled = 1,
                                         .minor_faults = 10,
                                         .major_faults = 1,
                                         .waits = 7,
                                         .preemptions = 3,
                                         .migrations = 50,
                                         .frequency = 3e9,
                                         .frequency_least = 2.9e9,
                                         .hot = 4,
                                         .processors = 6};
    struct ypi_noise_mark end = begin;
    end.at = 102, end.own = 11.5, end.busy = 1002.5, end.stolen = 5.25, end.throttled = 1.5;
    end.minor_faults = 15, end.major_faults = 4, end.waits = 17, end.preemptions = 33;
    end.migrations = 40, end.frequency = 2.5e9, end.frequency_least = 2e9, end.hot = 8;
    struct ypi_noise noise = ypi_noise_between(&begin, &end);
    static const struct {
        const char *name;
        double wanted;
    } fields[] = {{"wall", 2},         {"own", 1.5},       {"others", 1},
                  {"stolen", 0.25},    {"throttled", 0.5}, {"minor_faults", 5},
                  {"major_faults", 3}, {"waits", 10},      {"preemptions", 30},
                  {"migrations", 0},   {"frequency", 3e9}, {"frequency_least", 2e9},
                  {"hot", 4},          {"processors", 6}};
    const size_t count = sizeof fields / sizeof *fields;
    const struct ypi_measured m = {.noise = noise};
    for (size_t i = 0; i < count; i++) {
        cr_expect_str_eq(ypi_noise_fields[i].name, fields[i].name);
        expect_near(ypi_field_real(&ypi_noise_fields[i], &m), fields[i].wanted, fields[i].name);
    }
    for (size_t i = 0; i < ypi_noise_field_count; i++) /* behind them stand an accelerator's */
        cr_expect_eq(ypi_field_known(&ypi_noise_fields[i], &m), i <= count, "%s",
                     ypi_noise_fields[i].name);
    cr_expect_str_eq(ypi_noise_fields[count].name, "began"); /* by the wall clock */
    cr_expect_float_eq(ypi_field_real(&ypi_noise_fields[count], &m),
                       ypi_wall_clock() - (ypi_now() - begin.at), 1);
    cr_expect(isnan(ypi_field_real(&ypi_noise_fields[0], &(struct ypi_measured){0})));
    end.busy = begin.busy + 1; /* rounded down by the kernel */
    cr_expect_eq(ypi_noise_between(&begin, &end).others, 0);
    end.frequency_least = 3.5e9;
    expect_near(ypi_noise_between(&begin, &end).frequency_least, 2.9e9, "the least of both");
}

/* -- causes -------------------------------------------------------------------------------- */

TestSuite(noise_cause, .timeout = 60);

/* 10 s of two threads on four processors, all of it their own. */
static struct ypi_noise quiet(void)
{
    return (struct ypi_noise){
        .wall = 10, .own = 20, .frequency = 3e9, .frequency_least = 3e9, .processors = 4};
}

static const char *cause_of(struct ypi_noise noise, int threads)
{
    static char text[256];
    return ypi_noise_cause(&noise, threads, text, sizeof text) ? text : "none";
}

Test(noise_cause, quiet_has_none)
{
    struct ypi_noise noise = quiet();
    cr_expect_str_eq(cause_of(noise, 2), "none");
    cr_expect_str_eq(cause_of((struct ypi_noise){0}, 2), "none");
    noise.others = noise.stolen = noise.throttled = noise.migrations = noise.hot = NAN;
    noise.frequency = noise.frequency_least = NAN;
    cr_expect_str_eq(cause_of(noise, 2), "none", "what is not known is no cause");
    noise.wall = NAN;
    cr_expect_str_eq(cause_of(noise, 2), "none");
}

/* What differs from a quiet measurement; 0 stands for nothing. */
struct cause {
    int threads;
    const char *wanted; /* "some": any */
    double wall, own, others, stolen, throttled, major_faults, preemptions, migrations,
        frequency_least, hot;
};

static void expect_causes(const struct cause *causes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct cause *c = &causes[i];
        struct ypi_noise noise = {.wall = c->wall != 0 ? c->wall : 10,
                                  .own = c->own != 0 ? c->own : 20,
                                  .others = c->others,
                                  .stolen = c->stolen,
                                  .throttled = c->throttled,
                                  .major_faults = c->major_faults,
                                  .preemptions = c->preemptions,
                                  .migrations = c->migrations,
                                  .frequency = 3e9,
                                  .frequency_least =
                                      c->frequency_least != 0 ? c->frequency_least : 3e9,
                                  .hot = c->hot,
                                  .processors = 4};
        const char *got = cause_of(noise, c->threads);
        bool some = strcmp(c->wanted, "some") == 0;
        cr_expect(some ? strcmp(got, "none") != 0 : strcmp(got, c->wanted) == 0,
                  "cause %zu: %s, wanted %s", i, got, c->wanted);
    }
}
#define EXPECT_CAUSES(causes) expect_causes(causes, sizeof(causes) / sizeof *(causes))

#define STOLEN(percent) "the hypervisor took " percent " % of the processor time asked for"
#define QUOTA(time) "the control group's quota held it back for " time " in 10 s"
#define OTHERS(percent) "other processes used " percent " % of the processors"
#define MOVED(times, rate) "its threads moved between processors " times " times, " rate " a second"

Test(noise_cause, each_above_its_threshold)
{
    static const struct cause causes[] = {
        /* stolen: 2 % of what was asked for, 20 s */
        {2, "none", .stolen = 0.40},
        {2, STOLEN("2"), .stolen = 0.42},
        {2, STOLEN("50"), .stolen = 20},
        {2, STOLEN("50"), .stolen = 20, .others = NAN},
        /* two ticks, on each of four processors, may be rounding */
        {2, "none", .wall = 0.05, .own = 0.1, .stolen = 0.02},
        {2, "some", .wall = 0.05, .own = 0.1, .stolen = 0.03},
        {4, "none", .wall = 0.05, .own = 0.1, .others = 0.08},
        {4, "some", .wall = 0.05, .own = 0.1, .others = 0.09},
        /* a quota: 1 % of what the work could use, 10 s a thread and 40 s at most */
        {2, "none", .throttled = 0.2},
        {2, QUOTA("300 ms"), .throttled = 0.3},
        {3, "none", .throttled = 0.3},
        {40, "some", .throttled = 0.401},
        /* others: a tenth of what was left, 20 s or 30 s; 1 % where nothing was left */
        {2, "none", .others = 1.99},
        {2, OTHERS("5"), .others = 2.1},
        {1, "none", .others = 2.1},
        {4, "none", .others = 0.39},
        {4, OTHERS("48"), .others = 19.2},
        {9, OTHERS("48"), .others = 19.2},
        /* the frequency: below nine tenths on busy processors; idle ones are slow */
        {2, "none", .frequency_least = 2e9},
        {4, "the frequency fell from 3 to 2 GHz", .own = 31, .frequency_least = 2e9},
        {4, "none", .own = 31, .frequency_least = 2.71e9},
        {4, "none", .own = 31, .frequency_least = NAN},
        /* preemptions: by others, where there are others */
        {2, "none", .preemptions = 510},
        {2, "it was preempted 510 times, 51 a second", .preemptions = 510, .others = 1.5},
        {2, "none", .preemptions = 500, .others = 1.5},
        /* migrations: 20 a second and thread */
        {2, "none", .migrations = 400},
        {1, MOVED("400", "40"), .migrations = 400},
        {2, MOVED("410", "41"), .migrations = 410},
        {2, "none", .major_faults = 10},
        {2, "the processors' count of throttling for heat went up by 1", .major_faults = 10,
         .hot = 1},
        {2, "11 of its pages had to be read from disk", .major_faults = 11, .hot = 1},
    };
    EXPECT_CAUSES(causes);
}

/* What cost most is named, whatever else there was. */
Test(noise_cause, the_heaviest_is_named)
{
#define BUSY .own = 31, .stolen = 3, .preemptions = 1e6
    static const struct cause causes[] = {
        {4, STOLEN("8"), BUSY, .throttled = 2.9, .others = 2.8, .frequency_least = 2.8e9},
        {4, QUOTA("3.1 s"), BUSY, .throttled = 3.1, .others = 2.8, .frequency_least = 2.8e9},
        {4, OTHERS("8"), BUSY, .throttled = 3.1, .others = 3.2, .frequency_least = 2.8e9},
        /* a sixth of 40 s */
        {4, "the frequency fell from 3 to 2.5 GHz", BUSY, .throttled = 3.1, .others = 3.2,
         .frequency_least = 2.5e9},
        /* the others found the fourth processor free */
        {3, QUOTA("3.1 s"), BUSY, .throttled = 3.1, .others = 3.2},
    };
    EXPECT_CAUSES(causes);
}

Test(noise_cause, cut_where_there_is_no_room)
{
    struct ypi_noise noise = quiet();
    char text[8];
    noise.hot = 3;
    cr_expect(ypi_noise_cause(&noise, 2, text, sizeof text));
    cr_expect_str_eq(text, "the pro");
}
