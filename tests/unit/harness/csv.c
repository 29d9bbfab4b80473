/* --csv: one header, quoting, several writers, a full disk. */
#include "base/system/file.h"
#include "base/text/text.h"
#include "harness/report/reporter.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char path[96];

static void begin(void)
{
    make_directory();
    snprintf(path, sizeof path, "%s/results.csv", directory);
}

static void end(void)
{
    unlink(path);
    remove_empty_directory();
}

TestSuite(csv, .init = begin, .fini = end, .timeout = 120);

#define HEADER \
    "started,run,id,outcome,kind,name,repeat,seed,unit,value,low,high,samples,items,share,cpu," \
    "p90," \
    "p99,met,attempt\n"

static const struct ypi_options options = {.slowdown = 1};
static const struct ypi_session session = {.o = &options, .run_id = "run-1"};
static const struct yp_test test = {.name = "t"};

static enum yp_status open_file(void)
{
    struct ypi_reporting to = {.path = path};
    return ypi_csv_reporter.on[YPI_RUN_OPENS](&to);
}

static enum yp_status append(const struct ypi_result *r)
{
    struct ypi_reporting to = {.path = path, .s = &session, .r = r};
    return ypi_csv_reporter.on[YPI_STORED](&to);
}

/* A result with a measurement, a value, both checks and memory. */
static void append_full(const char *id, const char *name, const char *unit)
{
    struct yp_case c = {
        .test = &test, .id = (char *)(uintptr_t)id, .seed = UINT64_MAX, .repeat = 2};
    struct ypi_measured m = {
        .items = 100,
        .count = 5,
        .estimate = {.median = 0.5, .low = 0.25, .high = 1, .p90 = 0.75, .p99 = NAN}};
    struct ypi_value v = {.value = 0.1, .low = 0.1, .high = 0.1};
    struct ypi_gradient g[2] = {{.error = 1e-9}, {.error = 1.5, .precision = true}};
    snprintf(m.name, sizeof m.name, "%s", name);
    snprintf(v.name, sizeof v.name, "%s", name);
    snprintf(v.unit, sizeof v.unit, "%s", unit);
    snprintf(g[0].name, sizeof g[0].name, "%s", name);
    snprintf(g[1].name, sizeof g[1].name, "%s", name);
    struct ypi_result r = {.c = &c,
                           .outcome = YPI_PASSED,
                           .started = 1.5,
                           .duration = 0.25,
                           .measured = &m,
                           .measured_count = 1,
                           .values = &v,
                           .value_count = 1,
                           .gradients = g,
                           .gradient_count = 2,
                           .has_memory = true};
    r.memory.host.allocated_peak = 4096;
    cr_assert_eq(append(&r), YP_OK, "%s", yp_last_error());
}

static enum yp_status append_bare(const char *id)
{
    struct yp_case c = {.test = &test, .id = (char *)(uintptr_t)id};
    struct ypi_result r = {.c = &c, .outcome = YPI_FAILED, .started = 2, .duration = 1};
    return append(&r);
}

/* Valid until the next call. */
static const char *read_file(void)
{
    static char text[1 << 20];
    ypi_read_file(path, text, sizeof text);
    return text;
}

/* What a verdict says, what stands behind an interval, and which attempt it was. */
Test(csv, rows_of_a_judged_attempt)
{
    static const struct yp_budget budgets[] = {
        yp_min_share("fit", 0.5), yp_max_percentile("fit", 99, 1), yp_max_peak(YP_HOST, 10),
        yp_max_leak(YP_DEVICE, 1), yp_max_count("fit", YP_CACHE_MISSES, 2)};
    static double some[] = {1, 2};
    struct yp_case c = {.test = &test, .id = (char *)(uintptr_t) "a.c::t"};
    struct ypi_measured m = {.name = "fit",
                             .count = 2,
                             .cpu = some,
                             .share_count = 2,
                             .bounds = {{YP_FP32, "", 2, 3, 2e9, 1e9, 3e9, 2000, 0, 0},
                                        {YP_READ, "L2", 2, 0, 5, 6, 7, 4000, 9, 0},
                                        {YP_FILL, "L2", 2, 1, 5, 5, 5, 4000, 9, 1}},
                             .estimate = {.median = 1, .low = 1, .high = 1, .p90 = 2, .p99 = 3},
                             .cpu_estimate = {.median = 1.5},
                             .share_estimate = {.median = 0.625}};
    struct ypi_value v = {.name = "ratio", .value = 2, .low = 1.5, .high = 2.5};
    struct ypi_verdict verdicts[] = {
        {&budgets[0], YPI_NOT_MET, 0.25, 0.125, 0.375, -0.5, 3, 3, NULL},
        {&budgets[1], YPI_UNMEASURED, NAN, NAN, NAN, NAN, 0, 0, NULL},
        {&budgets[2], YPI_MET, 5, 5, 5, 0.5, 0, 0, NULL},
        {&budgets[3], YPI_RECORDED, 0, 0, 0, NAN, 0, 0, NULL},
        {&budgets[4], YPI_ABSENT, -NAN, NAN, NAN, NAN, 0, 0, NULL}};
    struct ypi_result r = {.c = &c,
                           .attempt = 2,
                           .outcome = YPI_FAILED,
                           .measured = &m,
                           .measured_count = 1,
                           .values = &v,
                           .value_count = 1,
                           .verdicts = verdicts,
                           .verdict_count = 5};
    cr_assert_eq(append(&r), YP_OK);
    const char *text = read_file();
#define BEGIN "0.000,run-1,a.c::t,failed,"
    cr_expect_str_eq(text, HEADER BEGIN
                     "duration,case,0,0,s,0,,,,,,,,,,2\n" BEGIN
                     "measurement,fit,0,0,s,1,1,1,2,0,0.625,1.5,2,3,,2\n" BEGIN
                     "ceiling,fit fp32,0,0,operations/s,2e+09,1e+09,3e+09,3,2000,,,,,,2\n" BEGIN
                     "ceiling,fit step 2 L2 fill,0,0,B/s,5,5,5,1,4000,,,,,,2\n" BEGIN
                     "value,ratio,0,0,,2,1.5,2.5,,,,,,,,2\n" BEGIN
                     "verdict,min share fit,0,0,,0.25,0.125,0.375,,,,,,,not met,2\n" BEGIN
                     "verdict,max percentile fit p99,0,0,,,,,,,,,,,unmeasured,2\n" BEGIN
                     "verdict,max peak host,0,0,,5,,,,,,,,,met,2\n" BEGIN
                     "verdict,max leak device,0,0,,0,,,,,,,,,recorded,2\n" BEGIN
                     "verdict,max count fit cache misses,0,0,,,,,,,,,,,absent,2\n");
}

/* Rows of another shape would make it unreadable. */
Test(csv, an_older_file_is_refused)
{
    static const char *const headers[] = {
        "what,ever\n", "x",
        "started,run,id,outcome,kind,name,repeat,seed,unit,value,low,high,samples,items\n",
        "STARTED,run,id,outcome,kind,name,repeat,seed,unit,value,low,high\n"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        write_text(path, headers[i]);
        cr_expect_eq(append_bare("a.c::t"), YP_IO, "%s", headers[i]);
        cr_expect_not_null(strstr(yp_last_error(), path), "%s", yp_last_error());
        cr_expect_not_null(strstr(yp_last_error(), "of another version; name another file"), "%s",
                           yp_last_error());
        cr_expect_eq(open_file(), YP_IO);
        const char *text = read_file();
        cr_expect_str_eq(text, headers[i], "it is left as it was");
    }
}

Test(csv, is_looked_at_before_a_run)
{
    cr_expect_eq(open_file(), YP_OK);
    append_bare("a.c::t");
    cr_expect_eq(open_file(), YP_OK);
    const char *text = read_file();
    cr_expect_str_eq(text, HEADER "2.000,run-1,a.c::t,failed,duration,case,0,0,s,1,,,,,,,,,,0\n");
}

/* An editor may have saved it so: the next row begins a line of its own. */
Test(csv, a_last_line_without_its_end_is_ended)
{
#define ROW(id) "2.000,run-1," id ",failed,duration,case,0,0,s,1,,,,,,,,,,0"
    static const char *const files[] = {HEADER, HEADER ROW("a.c::t") "\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_text(path, files[i]);
        cr_assert_eq(truncate(path, (off_t)strlen(files[i]) - 1), 0);
        cr_expect_eq(open_file(), YP_OK, "%s", yp_last_error());
        cr_expect_eq(append_bare("a.c::u"), YP_OK, "%s", yp_last_error());
        const char *text = read_file();
        char *wanted = ypi_format("%s%s", files[i], ROW("a.c::u") "\n");
        cr_expect_str_eq(text, wanted);
        free(wanted);
    }
}

Test(csv, fields_are_quoted)
{
    static const struct {
        const char *text, *field;
    } table[] = {{"plain", "plain"},
                 {"a,b", "\"a,b\""},
                 {"say \"x\"", "\"say \"\"x\"\"\""},
                 {"\"", "\"\"\"\""},
                 {"two\nlines", "\"two\nlines\""},
                 {"only\rcr", "\"only\rcr\""},
                 {" a ", " a "},
                 {"a;b", "a;b"},
                 {"\"\",\"\"", "\"\"\"\"\",\"\"\"\"\""},
                 {"gr\xc3\xbcn", "gr\xc3\xbcn"},
                 {"'", "'"},
                 {"\ttab", "\ttab"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        append_full(table[i].text, table[i].text, table[i].text);
        const char *text = read_file();
        const char *field = table[i].field;
        char *row = ypi_format("run-1,%s,passed,value,%s,2,18446744073709551615,%s,"
                               "0.10000000000000001,,,,,,,,,,0\n",
                               field, field, field);
        cr_expect_not_null(strstr(text, row), "%s in %s", row, text);
        free(row);
        cr_assert_eq(unlink(path), 0);
    }
}

/* -- several at once ----------------------------------------------------------------------- */

Test(csv, several_processes_append)
{
    enum { WRITERS = 4, EACH = 100 };
    for (int writer = 0; writer < WRITERS; writer++) {
        pid_t pid = fork();
        cr_assert(pid >= 0);
        if (pid == 0) {
            char id[32];
            for (int i = 0; i < EACH; i++) {
                snprintf(id, sizeof id, "%d-%d", writer, i);
                append_full(id, "fit", "mm");
            }
            _exit(0);
        }
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        int status = 1;
        cr_assert(wait(&status) > 0 && status == 0);
    }
    const char *text = read_file();
    cr_expect_eq(strncmp(text, HEADER, strlen(HEADER)), 0);
    int rows = 0;
    int next[WRITERS] = {0};
    for (const char *line = text + strlen(HEADER); *line != '\0';
         line += strcspn(line, "\n") + 1, rows++) {
        int writer = -1;
        int number = -1;
        cr_assert_eq(sscanf(line, "1.500,run-1,%d-%d,passed,", &writer, &number), 2, "%.80s", line);
        cr_assert(writer >= 0 && writer < WRITERS);
        cr_expect_eq(number, next[writer]++ / 6, "a result's rows stay together and in order");
    }
    cr_expect_eq(rows, WRITERS * EACH * 6);
}

/* Between looking whether a header is there and writing it, no other may. */
Test(csv, waits_for_the_other_writer)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    cr_assert(fd >= 0 && flock(fd, LOCK_EX) == 0);
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0)
        _exit(append_bare("a.c::t") != YP_OK);
    struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    struct stat status;
    cr_expect(fstat(fd, &status) == 0 && status.st_size == 0, "nothing is written yet");
    cr_expect_eq(flock(fd, LOCK_UN), 0);
    close(fd);
    int code = 1;
    cr_expect(waitpid(pid, &code, 0) == pid && code == 0);
    const char *text = read_file();
    cr_expect_eq(strncmp(text, HEADER "2.000,", strlen(HEADER) + 6), 0, "%s", text);
}

/* -- what goes wrong ----------------------------------------------------------------------- */

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Half a row would run into the next one. */
Test(csv, a_full_disk_leaves_whole_rows)
{
    append_bare("a.c::t");
    char *before = ypi_strdup(read_file());
    size_t length = strlen(before);
    limit_file_size(length + 20);
    cr_expect_eq(append_bare("a.c::u"), YP_IO);
    cr_expect_not_null(strstr(yp_last_error(), path), "%s", yp_last_error());
    limit_file_size(RLIM_INFINITY);
    cr_expect_str_eq(read_file(), before);
    cr_expect_eq(append_bare("a.c::v"), YP_OK);
    const char *later = read_file();
    cr_expect_eq(strncmp(later, before, length), 0);
    cr_expect_str_eq(later + length,
                     "2.000,run-1,a.c::v,failed,duration,case,0,0,s,1,,,,,,,,,,0\n");
    free(before);
}
