/* What a command as a case prints: lines, among them results in JSON, which then come to the
 * runner. */
#include "harness/case/command.h"

#include "harness/body/state.h"
#include "harness/message/channel.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int take_line(struct yp_case *c, const char *line, size_t length)
{
    char *text = NULL;
    (void)ypi_command_begins_result(line);
    enum ypi_line_kind kind = ypi_command_line(c, line, length, &text);
    FUZZ_CHECK((text != NULL) == (kind == YPI_LINE_SKIP || kind == YPI_LINE_WRONG));
    FUZZ_CHECK(text == NULL || text[0] != '\0');
    free(text);
    return kind == YPI_LINE_RESULT;
}

static int take_lines(struct yp_case *c, char *text, size_t size)
{
    int results = 0;
    for (char *line = text; line < text + size;) {
        char *end = memchr(line, '\n', (size_t)(text + size - line));
        end = end != NULL ? end : text + size;
        *end = '\0';
        results += take_line(c, line, (size_t)(end - line));
        line = end + 1;
    }
    return results;
}

/* A result in a line is one in the runner, with a name that fits. */
static void check(const struct ypi_result *r, int results)
{
    int hash = r->has_hash;
    FUZZ_CHECK(r->measured_count + r->value_count + r->failure_count + hash <= results);
    FUZZ_CHECK(r->measured_count + r->value_count + r->failure_count + hash > 0 || results == 0);
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        FUZZ_CHECK(m->count > 0 && m->name[0] != '\0' && memchr(m->name, '\0', YPI_NAME_MAX));
        for (size_t k = 0; k < m->count; k++)
            FUZZ_CHECK(m->samples[k] > 0);
    }
    for (int i = 0; i < r->value_count; i++)
        FUZZ_CHECK(r->values[i].name[0] != '\0' && memchr(r->values[i].name, '\0', YPI_NAME_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const struct yp_test test = {.group = "group", .name = "name", .file = "file.c"};
    char *path = strdup(fuzz_path("command.channel"));
    struct ypi_job job = {.channel = path, .slowdown = 1};
    struct ypi_child child = {.job = &job, .pid = getpid(), .thread = pthread_self()};
    struct yp_case c = {.test = &test, .id = "file.c::name", .tags = "", .child = &child};
    struct ypi_result result = {.c = &c};
    FUZZ_CHECK(path != NULL && ypi_channel_create(path));
    char *text = fuzz_rest(&input);
    int results = take_lines(&c, text, size);
    ypi_channel_read(path, &result);
    check(&result, results);
    ypi_result_clear(&result);
    free(ypi_text_take(&child.names));
    free(text);
    free(path);
    return 0;
}
