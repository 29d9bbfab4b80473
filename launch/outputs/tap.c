/* TAP 13 of a launch, once it is over. */
#include "base/text/text.h"
#include "launch/outputs/outputs.h"

#include <stdlib.h>

/* `#` begins a directive, a line end ends the line. */
static void put_plain(FILE *out, const char *text)
{
    char *valid = ypi_utf8(text);
    for (const char *c = valid; *c != '\0' && *c != '\n'; c++) {
        const unsigned char byte = (unsigned char)*c;
        fputc(byte == '#' ? '%' : (byte < ' ' && byte != '\t') || byte == 127 ? ' ' : byte, out);
    }
    free(valid);
}

static void put_comment(FILE *out, const char *before, const char *text)
{
    if (*text == '\0')
        return;
    fprintf(out, "# %s", before);
    put_plain(out, text);
    fputc('\n', out);
}

static void put_case(FILE *out, const struct ypi_launch_results *r, int number)
{
    const struct ypi_launched_case *c = &r->found->list[number - 1];
    const bool skipped = ypi_launch_is(c, "skipped");
    const bool xfailed = ypi_launch_is(c, "xfailed");
    cJSON *document = ypi_launch_document(r, c);
    const cJSON *failure;
    fprintf(out, "%sok %d - ", ypi_launch_failed(c) || xfailed ? "not " : "", number);
    put_plain(out, c->id);
    if (c->repeat > 0)
        fprintf(out, " (repeat %d)", c->repeat + 1);
    if (skipped || xfailed || ypi_launch_is(c, "xpassed")) {
        fputs(skipped ? " # SKIP " : " # TODO ", out);
        put_plain(out, c->reason);
    }
    fputc('\n', out);
    if (ypi_launch_is(c, "noisy"))
        put_comment(out, "", "noisy: a budget could not be decided");
    put_comment(out, "note: ", ypi_text_of(cJSON_GetObjectItem(document, "result"), "note"));
    cJSON_ArrayForEach(failure, cJSON_GetObjectItem(document, "failures"))
        put_comment(out, "", ypi_text_of(failure, "message"));
    cJSON_Delete(document);
}

struct missing {
    FILE *out; /* NULL: counts alone */
    int number;
};

static void take_missing(void *arg, const char *id, int shard)
{
    struct missing *m = arg;
    m->number++;
    if (m->out == NULL)
        return;
    fprintf(m->out, "not ok %d - ", m->number);
    put_plain(m->out, id);
    fprintf(m->out, "\n# not run: shard %d did not come to its end\n", shard + 1);
}

void ypi_launch_put_tap(FILE *out, const struct ypi_launch_results *r)
{
    struct missing m = {.number = r->found->count};
    ypi_launch_each_missing(r, take_missing, &m);
    fprintf(out, "TAP version 13\n1..%d\n", m.number);
    for (int i = 1; i <= r->found->count; i++)
        put_case(out, r, i);
    m = (struct missing){out, r->found->count};
    ypi_launch_each_missing(r, take_missing, &m);
    if (*r->l->stop)
        fputs("Bail out! interrupted\n", out);
    fflush(out);
}
