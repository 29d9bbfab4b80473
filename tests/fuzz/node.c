/* Ids of cases: a node as it stands on the command line, then the file, the test, a case's name, an
 * axis and its value, a line each. */
#include "harness/vocabulary/node.h"

#include "base/text/text.h"
#include "harness/collect/internal.h"
#include "harness/collect/select.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* As ids were written before. */
static char *with_codes(const char *id)
{
    struct ypi_text text = {0};
    for (; *id != '\0'; id++)
        ypi_text_add(&text, *id == '-' ? "%%2d" : *id == ':' ? "%%3a" : "%c", *id);
    return ypi_text_take(&text);
}

static void check_node(const char *node, const char *id)
{
    bool names = ypi_node_names(node, id), is = ypi_node_is(node, id);
    FUZZ_CHECK(!is || ypi_node_begins(node, id));
    /* A directory may be named with a / behind it. */
    size_t length = strlen(node);
    bool slash = length > 0 && node[length - 1] == '/' && strchr(node, ':') == NULL;
    FUZZ_CHECK(!names || ypi_node_begins(node, id) || slash);
    /* It ends where a part of the id does. */
    size_t named = length - slash;
    FUZZ_CHECK(!names || strchr(node, '%') != NULL ||
               (strncmp(node, id, named) == 0 && (id[named] == '\0' || strchr("[/:", id[named]))));
}

static void check_id(const struct yp_case *c)
{
    char *code = with_codes(c->id);
    check_node(code, c->id);
    FUZZ_CHECK(ypi_node_is(c->id, c->id) && ypi_node_is(code, c->id));
    FUZZ_CHECK(ypi_test_path(c->test->file) != NULL);
    free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { NODE, FILE_NAME, TEST, NAME, AXIS, VALUE, LINES };
    struct fuzz_input input = {data, size};
    char *line[LINES];
    for (int i = 0; i < LINES; i++)
        line[i] = fuzz_line(&input);
    const struct yp_test test = {
        .group = "group", .name = line[TEST], .file = line[FILE_NAME], .tags = line[NAME]};
    const struct yp_case_decl decl = {.name = line[NAME]};
    struct yp_case c = {.test = &test,
                        .decl = line[NAME][0] != '\0' ? &decl : NULL,
                        .settings = {{.axis = line[AXIS], .kind = YP_AXIS_STRING, .s = line[VALUE]},
                                     {.axis = "n", .kind = YP_AXIS_INT, .i = -3},
                                     {.axis = "x", .kind = YP_AXIS_DOUBLE, .d = 1e-9}},
                        .setting_count = 3,
                        .device = "cpu"};
    const struct ypi_options o = {0};
    c.id = ypi_make_id(&c);
    c.tags = ypi_make_tags(&c, &o);
    check_id(&c);
    check_node(line[NODE], c.id);
    check_node(line[NODE], line[NODE]);
    (void)ypi_is_meant(line[NODE], &c);
    struct ypi_options chosen = {.ids = line, .id_count = 1, .keyword = "n and x"};
    (void)ypi_is_selected(&c, &chosen);
    free(c.id);
    free(c.tags);
    for (int i = 0; i < LINES; i++)
        free(line[i]);
    return 0;
}
