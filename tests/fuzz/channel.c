/* The messages of a case, as the runner reads them, judges them and stores them. A line is a
 * message that is sound but for what the line says:
 *
 *     KIND [+N] [-N] [PLACE=HEX]...   more doubles, bytes less at its end, bytes replaced
 *     raw HEX                         bytes that are no message
 *     cut N                           the file ends so many bytes earlier: a crash in a write
 *
 * The kind `timed` is a measurement with processor times and samples that were set aside. PLACE is
 * an offset or, of a measurement, a field.
 */
#include "harness/message/channel.h"

#include "base/text/text.h"
#include "harness/judge/judge.h"
#include "harness/measure/series.h"
#include "harness/record/record.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1 << 16, DOUBLES_MAX = 1000, LINES_MAX = 64, STORED_MAX = 1000 };

static const char *const kinds[] = {"none",     "hello",    "stage", "failure", "skip",   "value",
                                    "measured", "gradient", "hash",  "memory",  "series", "end",
                                    "exit",     "returned", "note",  "stack",   NULL};

/* -- sound messages ------------------------------------------------------------------------ */

struct message {
    unsigned char bytes[MESSAGE_MAX];
    size_t size;
};

static void put(struct message *m, const void *bytes, size_t size)
{
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_measured(struct message *m, bool whole)
{
    static struct ypi_measured measured;
    memset(&measured, 0, sizeof measured);
    snprintf(measured.name, sizeof measured.name, "fit");
    snprintf(measured.unit, sizeof measured.unit, "pixels");
    measured.items = 1000;
    measured.batch = 8;
    measured.phase_count = 1;
    snprintf(measured.phases[0].name, YPI_NAME_MAX, "forward");
    measured.bounds[YPI_BOUND_TRAFFIC] = (struct ypi_ceiling){.ceiling = YP_READ,
                                                              .level = "L2",
                                                              .probes = 2,
                                                              .rate = 1e9,
                                                              .low = 1e9,
                                                              .high = 2e9,
                                                              .work = 1e6};
    measured.bound = YPI_BOUND_TRAFFIC;
    measured.count = 4;
    measured.share_count = 2;
    if (whole) {
        measured.cpu = &measured.rate; /* any address: whether it is NULL is what counts */
        measured.slowed_count = 3;
    }
    put(m, &measured, sizeof measured);
    for (int i = 0; i < (whole ? 13 : 6); i++)
        put(m, &(double){1 + i}, sizeof(double));
}

static void put_stack(struct message *m)
{
    struct ypi_stack stack = {.kind = YPI_STACK_LEFT, .thread = 7, .count = 1, .name = "worker"};
    stack.frames[0] = (struct ypi_frame){.offset = 4096, .module = "libm.so.6"};
    put(m, &stack, offsetof(struct ypi_stack, frames) + sizeof stack.frames[0]);
}

static void put_sound(struct message *m, int kind)
{
    const double row[YPI_SERIES_COLUMNS] = {0.1, 1e9, 60, 100, 0.5, 1e9, 0};
    m->size = 0;
    switch (kind) {
    case YPI_MESSAGE_HELLO:
        put(m, &(struct ypi_hello){.pid = 7}, sizeof(struct ypi_hello));
        break;
    case YPI_MESSAGE_STAGE:
        put(m, &(struct ypi_stage){.stage = YPI_STAGE_BODY, .at = 1}, sizeof(struct ypi_stage));
        break;
    case YPI_MESSAGE_FAILURE:
        put(m, &(struct ypi_failure_message){.line = 3, .has_file = true},
            sizeof(struct ypi_failure_message));
        put(m, "file.c\0x is 3", sizeof "file.c\0x is 3");
        break;
    case YPI_MESSAGE_SKIP:
    case YPI_MESSAGE_NOTE:
        put(m, "a reason", sizeof "a reason");
        break;
    case YPI_MESSAGE_VALUE:
        put(m, &(struct ypi_value){.name = "auc", .unit = "s", .value = 1},
            sizeof(struct ypi_value));
        break;
    case YPI_MESSAGE_MEASURED:
        put_measured(m, false);
        break;
    case YPI_MESSAGE_GRADIENT:
        put(m, &(struct ypi_gradient){.name = "loss", .error = 1, .limit = 2, .tensor = "w"},
            sizeof(struct ypi_gradient));
        break;
    case YPI_MESSAGE_HASH:
        put(m, &(uint64_t){42}, sizeof(uint64_t));
        break;
    case YPI_MESSAGE_MEMORY:
        put(m, &(struct ypi_memory){.resident_peak = 4096}, sizeof(struct ypi_memory));
        break;
    case YPI_MESSAGE_SERIES:
        put(m, row, sizeof row);
        break;
    case YPI_MESSAGE_RETURNED:
        put(m, &(enum ypi_stage_name){YPI_STAGE_BODY}, sizeof(enum ypi_stage_name));
        break;
    case YPI_MESSAGE_STACK:
        put_stack(m);
        break;
    default:
        break;
    }
}

/* -- the lines ----------------------------------------------------------------------------- */

/* The offset that the word names up to its =; SIZE_MAX: none. */
static size_t place_of(const char *word)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
        {"kind", offsetof(struct ypi_measured, kind)},
        {"unit", offsetof(struct ypi_measured, unit)},
        {"stop", offsetof(struct ypi_measured, stop)},
        {"cold", offsetof(struct ypi_measured, cold)},
        {"phases", offsetof(struct ypi_measured, phases)},
        {"phase_count", offsetof(struct ypi_measured, phase_count)},
        {"bounds", offsetof(struct ypi_measured, bounds)},
        {"stage", offsetof(struct ypi_measured, bounds[YPI_BOUND_TRAFFIC].stage)},
        {"bound", offsetof(struct ypi_measured, bound)},
        {"device", offsetof(struct ypi_measured, on_device)},
        {"counts", offsetof(struct ypi_measured, counts)},
        {"count", offsetof(struct ypi_measured, count)},
        {"cpu", offsetof(struct ypi_measured, cpu)},
        {"slowed_count", offsetof(struct ypi_measured, slowed_count)},
        {"share_count", offsetof(struct ypi_measured, share_count)},
    };
    char *rest = NULL;
    size_t length = strcspn(word, "=");
    unsigned long number = strtoul(word, &rest, 10);
    if (word[length] != '=')
        return SIZE_MAX;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strlen(fields[i].name) == length && memcmp(fields[i].name, word, length) == 0)
            return fields[i].offset;
    return rest == word + length ? number : SIZE_MAX;
}

static void change(struct message *m, const char *word)
{
    unsigned long number = strtoul(word, NULL, 10);
    size_t place = place_of(word);
    if (word[0] == '+')
        for (unsigned long i = 0; i < number && i < DOUBLES_MAX && m->size + 8 <= MESSAGE_MAX; i++)
            put(m, &(double){(double)i}, sizeof(double));
    else if (word[0] == '-')
        m->size -= 0 - number < m->size ? 0 - number : m->size;
    else if (place < m->size)
        fuzz_hex(m->bytes + place, m->size - place, strchr(word, '=') + 1);
}

static void send_line(const char *path, char *line)
{
    static struct message m;
    int kind = 0;
    char *rest = NULL;
    const char *word = strtok_r(line, " ", &rest);
    bool timed = word != NULL && strcmp(word, "timed") == 0;
    word = timed ? "measured" : word;
    while (word != NULL && kinds[kind] != NULL && strcmp(kinds[kind], word) != 0)
        kind++;
    if (word == NULL || (kinds[kind] == NULL && strcmp(word, "raw") != 0))
        return;
    put_sound(&m, kind);
    if (timed) {
        m.size = 0;
        put_measured(&m, true);
    }
    bool raw = kinds[kind] == NULL;
    for (word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        if (raw)
            m.size += fuzz_hex(m.bytes + m.size, MESSAGE_MAX - m.size, word);
        else
            change(&m, word);
    if (raw) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        FUZZ_CHECK(fd >= 0 && write(fd, m.bytes, m.size) == (ssize_t)m.size && close(fd) == 0);
        return;
    }
    FUZZ_CHECK(ypi_channel_send(path, (enum ypi_message)kind, m.bytes, m.size / 2,
                                m.bytes + m.size / 2, m.size - m.size / 2));
}

static void cut(const char *path, const char *bytes)
{
    struct stat status;
    unsigned long less = strtoul(bytes, NULL, 10);
    FUZZ_CHECK(stat(path, &status) == 0);
    off_t left = less < (unsigned long)status.st_size ? status.st_size - (off_t)less : 0;
    FUZZ_CHECK(truncate(path, left) == 0);
}

/* -- what is read is sound ------------------------------------------------------------------ */

#define CHECK_TEXT(text) FUZZ_CHECK(memchr(text, '\0', sizeof(text)) != NULL)

static void check_measured(const struct ypi_measured *m)
{
    CHECK_TEXT(m->name);
    CHECK_TEXT(m->unit);
    FUZZ_CHECK((int)m->kind >= 0 && m->kind <= YPI_MEASURED_RUN);
    FUZZ_CHECK((int)m->stop >= 0 && m->stop < YPI_STOPS);
    FUZZ_CHECK(m->phase_count >= 0 && m->phase_count <= YPI_PHASES_MAX);
    FUZZ_CHECK(m->bound >= -1 && m->bound < YPI_BOUNDS);
    for (int i = 0; i < m->phase_count; i++)
        CHECK_TEXT(m->phases[i].name);
    for (int i = 0; i < YPI_BOUNDS; i++) {
        CHECK_TEXT(m->bounds[i].level);
        FUZZ_CHECK(m->bounds[i].stage >= 0 && m->bounds[i].stage < YPI_BOUNDS);
    }
    FUZZ_CHECK((m->samples != NULL) == (m->count > 0));
}

static void check(const struct ypi_result *r, const struct ypi_report *report)
{
    FUZZ_CHECK((int)report->stage >= 0 && report->stage <= YPI_STAGE_DONE);
    for (int i = 0; i < r->failure_count; i++)
        FUZZ_CHECK((int)r->failures[i].cause >= 0 && r->failures[i].cause < YPI_CAUSES);
    for (int i = 0; i < r->measured_count; i++)
        check_measured(&r->measured[i]);
    for (int i = 0; i < r->value_count; i++) {
        CHECK_TEXT(r->values[i].name);
        CHECK_TEXT(r->values[i].unit);
    }
    for (int i = 0; i < r->gradient_count; i++) {
        CHECK_TEXT(r->gradients[i].name);
        CHECK_TEXT(r->gradients[i].tensor);
    }
    for (int i = 0; i < r->stack_count; i++) {
        CHECK_TEXT(r->stacks[i].name);
        FUZZ_CHECK(r->stacks[i].count >= 0 && r->stacks[i].count <= YPI_FRAMES_MAX);
        for (int k = 0; k < r->stacks[i].count; k++)
            CHECK_TEXT(r->stacks[i].frames[k].module);
    }
}

/* -- judged and stored ----------------------------------------------------------------------- */

static struct ypi_run run = {.started = 1, .command = "a", .program = "a"};

/* A new file now and then, so that it stays small. */
static struct ypi_history *history(void)
{
    static struct ypi_history *h;
    static int stored;
    if (h == NULL || ++stored % STORED_MAX == 0) {
        const char *path = fuzz_path("history.db");
        ypi_history_close(h);
        unlink(path);
        ypi_uuid(run.id);
        h = ypi_history_open(path);
        FUZZ_CHECK(h != NULL && ypi_history_begin(h, &run) == YP_OK);
    }
    return h;
}

static void judge_and_store(struct ypi_result *r)
{
    static int repeat;
    const struct ypi_judging how = {.speed_judged = true};
    const struct yp_budget budgets[] = {yp_min_share("fit", 0.5),
                                        yp_max_latency("fit", 1),
                                        yp_max_percentile("fit", 90, 1),
                                        yp_max_peak(YP_HOST, 1),
                                        yp_min_value("auc", 0.5),
                                        yp_max_gradient_error("loss", 1),
                                        yp_max_count("fit", YP_INSTRUCTIONS, 1),
                                        {.kind = YP_BUDGET_NONE}};
    struct yp_case c = *r->c;
    c.budgets = budgets;
    c.repeat = repeat++;
    r->c = &c;
    r->tail = ypi_strdup("");
    ypi_judge(r, &how);
    struct ypi_history *h = history();
    FUZZ_CHECK(ypi_history_add(h, run.id, r) == YP_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct yp_test test = {.group = "group", .name = "name", .file = "file.c"};
    struct fuzz_input input = {data, size};
    struct yp_case c = {.test = &test, .id = "file.c::name", .tags = "", .timeout = 1};
    struct ypi_result r = {.c = &c, .ended = true};
    const char *path = fuzz_path("case.channel");
    FUZZ_CHECK(ypi_channel_create(path));
    for (int lines = 0; input.left > 0 && lines < LINES_MAX; lines++) {
        char *line = fuzz_line(&input);
        if (strncmp(line, "cut ", 4) == 0)
            cut(path, line + 4);
        else
            send_line(path, line);
        free(line);
    }
    struct ypi_report report = ypi_channel_read(path, &r);
    check(&r, &report);
    judge_and_store(&r);
    ypi_result_clear(&r);
    return 0;
}
