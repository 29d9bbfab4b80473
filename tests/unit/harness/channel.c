/* The channel: every kind of message, torn and damaged files, several writers at once. */
#include "harness/message/channel.h"

#include "base/text/text.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[96];

static void begin(void)
{
    make_directory();
    snprintf(path, sizeof path, "%s/1.channel", directory);
    cr_assert(ypi_channel_create(path));
}

static void end(void)
{
    unlink(path);
    remove_empty_directory();
}

TestSuite(channel, .init = begin, .fini = end, .timeout = 120);

/* -- messages ------------------------------------------------------------------------------ */

static bool send_plain(enum ypi_message kind, const void *bytes, size_t size)
{
    return ypi_channel_send(path, kind, bytes, size, NULL, 0);
}

static bool send_value(const char *name, double value)
{
    struct ypi_value message;
    memset(&message, 0, sizeof message);
    message.value = value;
    snprintf(message.name, sizeof message.name, "%s", name);
    return send_plain(YPI_MESSAGE_VALUE, &message, sizeof message);
}

static const struct ypi_measured fit = {.name = "fit",
                                        .unit = "pixels",
                                        .items = 3,
                                        .flops = 5,
                                        .bytes = 7,
                                        .batch = 8,
                                        .warmup = 9,
                                        .stop = YPI_STOP_TIME,
                                        .phases = {{"forward", 0.25}},
                                        .phase_count = 1,
                                        .count = 5};
static const double fits[] = {1, 1.125, 1.25, 1.375, 1.5};

static bool send_measured(size_t count)
{
    struct ypi_measured m = fit;
    m.count = count;
    double *samples = ypi_calloc(count, sizeof *samples);
    bool ok = ypi_channel_send(path, YPI_MESSAGE_MEASURED, &m, sizeof m, samples,
                               count * sizeof *samples);
    free(samples);
    return ok;
}

#define PART(type, ...) .bytes = &(const type){__VA_ARGS__}, .size = sizeof(type)
#define REST(text) .rest = (text), .rest_size = sizeof(text)

/* One of every kind, in the order of a case's life. */
static const struct {
    enum ypi_message kind;
    const void *bytes, *rest;
    size_t size, rest_size;
} life[] = {
    {YPI_MESSAGE_HELLO, PART(struct ypi_hello, .pid = 1234)},
    {YPI_MESSAGE_STAGE, PART(struct ypi_stage, YPI_STAGE_SETUP, 100)},
    {YPI_MESSAGE_STAGE, PART(struct ypi_stage, YPI_STAGE_BODY, 100.5)},
    {YPI_MESSAGE_HASH, PART(uint64_t, UINT64_C(0x0123456789abcdef))},
    {YPI_MESSAGE_VALUE, PART(struct ypi_value, .name = "auc", .unit = "m", .value = 0.75)},
    {YPI_MESSAGE_MEASURED, .bytes = &fit, .size = sizeof fit, REST(fits)},
    {YPI_MESSAGE_GRADIENT,
     PART(struct ypi_gradient, .name = "loss", .tensor = "weights", .error = 1e-3, .limit = 1e-6,
          .slope = 1, .expected = 2, .got = 3, .checked = 4)},
    {YPI_MESSAGE_FAILURE, PART(struct ypi_failure_message, .line = 42, .has_file = true),
     REST("a/b.c\0not 1 > 2")},
    {YPI_MESSAGE_FAILURE, PART(struct ypi_failure_message, .cause = YPI_CAUSE_USAGE), REST("\0")},
    {.kind = YPI_MESSAGE_SKIP, REST("no data")},
    {YPI_MESSAGE_STAGE, PART(struct ypi_stage, YPI_STAGE_TEARDOWN, 102.5)},
    {YPI_MESSAGE_STAGE, PART(struct ypi_stage, YPI_STAGE_DONE, 102.75)},
    {YPI_MESSAGE_MEMORY,
     PART(struct ypi_memory, .host = {.allocated_peak = 1000, .allocations = 7}, .leaked_bytes = 11,
          .leaked_blocks = 2, .resident_before = 1 << 20, .resident_peak = 1 << 21)},
    {.kind = YPI_MESSAGE_END},
    {.kind = YPI_MESSAGE_EXIT},
};
enum { MESSAGES = sizeof life / sizeof *life };

/* -- what was read, as text ---------------------------------------------------------------- */

static void describe_measured(struct ypi_text *text, const struct ypi_measured *m)
{
    ypi_text_add(text, "measured %s %s %g %g %g %d %d %s", m->name, m->unit, m->items, m->flops,
                 m->bytes, (int)m->batch, (int)m->warmup, ypi_stop_name(m->stop));
    for (int i = 0; i < m->phase_count; i++)
        ypi_text_add(text, " %s=%g", m->phases[i].name, m->phases[i].seconds);
    for (size_t i = 0; i < m->count; i++)
        ypi_text_add(text, " %g", m->samples[i]);
    ypi_text_add(text, "\n");
}

static char *describe(const struct ypi_result *r, const struct ypi_report *report)
{
    struct ypi_text text = {0};
    ypi_text_add(&text, "pid %d staged %d stage %d skipped %d ended %d exited %d\n",
                 (int)report->pid, report->staged, (int)report->stage, report->skipped,
                 report->ended, report->exited);
    ypi_text_add(&text, "times %g %g %g reason %s\n", r->setup, r->body, r->teardown,
                 r->reason != NULL ? r->reason : "none");
    if (r->has_hash)
        ypi_text_add(&text, "hash %llx\n", (unsigned long long)r->hash);
    for (int i = 0; i < r->value_count; i++)
        ypi_text_add(&text, "value %s %g %s\n", r->values[i].name, r->values[i].value,
                     r->values[i].unit);
    for (int i = 0; i < r->measured_count; i++)
        describe_measured(&text, &r->measured[i]);
    for (int i = 0; i < r->gradient_count; i++) {
        const struct ypi_gradient *g = &r->gradients[i];
        ypi_text_add(&text, "gradient %s %s %g %g %g %g %g %d %d\n", g->name, g->tensor, g->error,
                     g->limit, g->slope, g->expected, g->got, g->checked, g->precision);
    }
    for (int i = 0; i < r->failure_count; i++)
        ypi_text_add(&text, "failure %s %s:%d %s\n", ypi_cause_name(r->failures[i].cause),
                     r->failures[i].file != NULL ? r->failures[i].file : "none",
                     r->failures[i].line, r->failures[i].message);
    if (r->has_memory)
        ypi_text_add(&text, "memory %d %d %d %d %d %d\n", (int)r->memory.host.allocated_peak,
                     (int)r->memory.host.allocations, (int)r->memory.leaked_bytes,
                     (int)r->memory.leaked_blocks, (int)r->memory.resident_before,
                     (int)r->memory.resident_peak);
    return ypi_text_take(&text);
}

static char *read_back(void)
{
    struct ypi_result r = {0};
    struct ypi_report report = ypi_channel_read(path, &r);
    char *text = describe(&r, &report);
    ypi_result_clear(&r);
    return text;
}

/* What is read after the first `i` messages, and where the i-th begins. */
static char *after[MESSAGES + 1];
static size_t begins[MESSAGES + 1];
static char *whole;

static size_t file_size(void)
{
    struct stat status;
    return stat(path, &status) == 0 ? (size_t)status.st_size : 0;
}

static void send_all(void)
{
    for (int i = 0; i <= MESSAGES; i++) {
        after[i] = read_back();
        begins[i] = file_size();
        if (i < MESSAGES)
            cr_assert(ypi_channel_send(path, life[i].kind, life[i].bytes, life[i].size,
                                       life[i].rest, life[i].rest_size));
    }
    whole = ypi_calloc(begins[MESSAGES], 1);
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL && fread(whole, 1, begins[MESSAGES], file) == begins[MESSAGES]);
    fclose(file);
}

static void write_file(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* One byte in its place: a file written anew for each bit takes most of the test's time. */
static void write_byte(int fd, size_t at, int byte)
{
    const unsigned char one = (unsigned char)byte;
    cr_assert_eq(pwrite(fd, &one, 1, (off_t)at), 1);
}

/* The message that byte `at` belongs to. */
static int message_of(size_t at)
{
    int i = 0;
    while (begins[i + 1] <= at)
        i++;
    return i;
}

/* -- tests --------------------------------------------------------------------------------- */

Test(channel, every_kind_comes_back)
{
    send_all();
    cr_expect_str_eq(after[0], "pid 0 staged 0 stage 3 skipped 0 ended 0 exited 0\n"
                               "times 0 0 0 reason none\n");
    cr_expect_str_eq(after[3], "pid 1234 staged 1 stage 1 skipped 0 ended 0 exited 0\n"
                               "times 0.5 0 0 reason none\n");
    cr_expect_str_eq(after[MESSAGES],
                     "pid 1234 staged 1 stage 3 skipped 1 ended 1 exited 1\n"
                     "times 0.5 2 0.25 reason no data\n"
                     "hash 123456789abcdef\n"
                     "value auc 0.75 m\n"
                     "measured fit pixels 3 5 7 8 9 time forward=0.25 1 1.125 1.25 1.375 1.5\n"
                     "gradient loss weights 0.001 1e-06 1 2 3 4 0\n"
                     "failure expectation a/b.c:42 not 1 > 2\n"
                     "failure usage none:0 \n"
                     "memory 1000 7 11 2 1048576 2097152\n");
    for (int i = 0; i < MESSAGES; i++)
        cr_expect_str_neq(after[i], after[i + 1], "message %d is not heard", i);
}

Test(channel, of_no_file_nothing_is_read)
{
    struct ypi_result r = {0};
    struct ypi_report report = ypi_channel_read("/nowhere/at/all", &r);
    cr_expect(report.pid == 0 && !report.staged && report.stage == YPI_STAGE_DONE && !report.ended);
    report = ypi_channel_read(directory, &r);
    cr_expect(report.pid == 0 && !report.ended, "a directory is no channel");
    cr_expect_not(ypi_channel_send("/nowhere/at/all", YPI_MESSAGE_END, NULL, 0, NULL, 0));
}

Test(channel, is_torn_at_every_byte)
{
    send_all();
    for (size_t size = begins[MESSAGES] + 1; size-- > 0;) {
        cr_assert_eq(truncate(path, (off_t)size), 0);
        int complete = size == begins[MESSAGES] ? MESSAGES : message_of(size);
        char *got = read_back();
        cr_assert_str_eq(got, after[complete], "%zu bytes: %s", size, got);
        free(got);
    }
}

/* Whatever bit is wrong, wherever it is: the message is not heard, nor what follows it. */
Test(channel, no_flipped_bit_is_believed)
{
    send_all();
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    for (size_t at = 0; at < begins[MESSAGES]; at++) {
        for (int bit = 0; bit < 8; bit++) {
            write_byte(fd, at, whole[at] ^ 1 << bit);
            char *got = read_back();
            cr_assert_str_eq(got, after[message_of(at)], "byte %zu, bit %d: %s", at, bit, got);
            free(got);
        }
        write_byte(fd, at, whole[at]);
    }
    close(fd);
    char *got = read_back();
    cr_expect_str_eq(got, after[MESSAGES], "as it was, all of it is believed");
    free(got);
}

Test(channel, zeros_and_noise_are_not_believed)
{
    send_all();
    /* A file system may leave zeros at the end after a power cut. */
    char *longer = ypi_calloc(begins[MESSAGES] + 4096, 1);
    memcpy(longer, whole, begins[MESSAGES]);
    write_file(longer, begins[MESSAGES] + 4096);
    char *got = read_back();
    cr_expect_str_eq(got, after[MESSAGES]);
    free(got);
    memset(longer, 0xff, 4096);
    write_file(longer, 4096);
    got = read_back();
    cr_expect_str_eq(got, after[0]);
    free(got);
    free(longer);
}

Test(channel, a_count_that_lies_is_not_believed)
{
    struct ypi_measured m;
    memset(&m, 0, sizeof m);
    m.count = 1000;
    double sample = 1;
    cr_assert(ypi_channel_send(path, YPI_MESSAGE_MEASURED, &m, sizeof m, &sample, sizeof sample));
    cr_assert(send_value("after", 1));
    struct ypi_result r = {0};
    ypi_channel_read(path, &r);
    cr_expect_eq(r.measured_count, 0);
    cr_expect(r.failure_count == 1 && r.failures[0].cause == YPI_CAUSE_OVERRUN);
    cr_expect_eq(r.value_count, 1);
    ypi_result_clear(&r);
}

Test(channel, messages_of_a_wrong_size_are_left_out)
{
    char bytes[512];
    memset(bytes, 1, sizeof bytes);
    for (int kind = YPI_MESSAGE_HELLO; kind <= YPI_MESSAGE_MEMORY; kind++)
        cr_assert(send_plain((enum ypi_message)kind, bytes, 3));
    /* Texts without an end. */
    cr_assert(send_plain(YPI_MESSAGE_SKIP, "abc", 3));
    memset(bytes, 'x', sizeof bytes);
    cr_assert(send_plain(YPI_MESSAGE_FAILURE, bytes, sizeof bytes));
    bytes[sizeof bytes - 1] = '\0';
    cr_assert(send_plain(YPI_MESSAGE_FAILURE, bytes, sizeof bytes), "a file, but no message");
    bytes[sizeof bytes - 1] = 'x';
    bytes[sizeof bytes - 4] = '\0';
    cr_assert(send_plain(YPI_MESSAGE_FAILURE, bytes, sizeof bytes), "a message without an end");
    cr_assert(send_plain((enum ypi_message)99, bytes, sizeof bytes));
    cr_assert(send_value("after", 1));
    struct ypi_result r = {0};
    struct ypi_report report = ypi_channel_read(path, &r);
    cr_expect(report.pid == 0 && !report.staged && !report.skipped && r.reason == NULL);
    cr_expect(r.gradient_count == 0 && r.measured_count == 0);
    cr_expect(r.failure_count == 1 && r.failures[0].cause == YPI_CAUSE_OVERRUN);
    cr_expect(!r.has_hash && !r.has_memory);
    cr_expect_eq(r.value_count, 1, "what follows is heard");
    ypi_result_clear(&r);
}

/* -- several at once ----------------------------------------------------------------------- */

enum { WRITERS = 6, EACH = 200 };

static void write_much(int writer)
{
    for (int i = 0; i < EACH; i++) {
        char name[YPI_NAME_MAX];
        snprintf(name, sizeof name, "w%d-%d", writer, i);
        /* Long and short ones, so that a torn one would be seen. */
        if (!send_value(name, writer * 1000 + i) || !send_measured((size_t)(i * 7 % 500)))
            _exit(1);
    }
    _exit(0);
}

/* As a body sends it that wrote over the framework's memory. */
Test(channel, what_cannot_be_is_told_once)
{
    struct ypi_stage stage = {.stage = (enum ypi_stage_name)9, .at = 1};
    struct ypi_value value = {.value = 1};
    struct ypi_failure_message failure = {.cause = (enum ypi_cause)YPI_CAUSES};
    struct ypi_measured measured;
    memset(&measured, 0, sizeof measured);
    memset(value.name, 'a', sizeof value.name);
    measured.phase_count = YPI_PHASES_MAX + 1;
    cr_assert(send_plain(YPI_MESSAGE_STAGE, &stage, sizeof stage));
    cr_assert(send_plain(YPI_MESSAGE_VALUE, &value, sizeof value));
    cr_assert(send_plain(YPI_MESSAGE_MEASURED, &measured, sizeof measured));
    cr_assert(ypi_channel_send(path, YPI_MESSAGE_FAILURE, &failure, sizeof failure, "\0why", 5));
    cr_assert(send_plain(YPI_MESSAGE_HASH, life[3].bytes, life[3].size));
    char *text = read_back();
    cr_expect_str_eq(text,
                     "pid 0 staged 0 stage 3 skipped 0 ended 0 exited 0\n"
                     "times 0 0 0 reason none\n"
                     "hash 123456789abcdef\n"
                     "failure memory overrun none:0 the case sent what cannot be: something wrote "
                     "over its memory\n");
    free(text);
}

Test(channel, several_processes_append)
{
    for (int writer = 0; writer < WRITERS; writer++) {
        pid_t pid = fork();
        cr_assert(pid >= 0);
        if (pid == 0)
            write_much(writer);
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        int status = 1;
        cr_assert(wait(&status) > 0 && status == 0);
    }
    struct ypi_result r = {0};
    ypi_channel_read(path, &r);
    cr_expect_eq(r.value_count, WRITERS * EACH);
    cr_expect_eq(r.measured_count, WRITERS * EACH);
    int next[WRITERS] = {0};
    for (int i = 0; i < r.value_count; i++) {
        int writer = (int)r.values[i].value / 1000;
        cr_assert(writer < WRITERS);
        cr_expect_eq((int)r.values[i].value % 1000, next[writer]++, "each one's are in order");
    }
    ypi_result_clear(&r);
}
