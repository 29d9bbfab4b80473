/* TAP 13, numbered, streamed: a line as soon as its case is stored. */
#include "base/text/text.h"
#include "harness/report/reporter.h"

#include <stdlib.h>

static enum yp_status begin(struct ypi_reporting *to)
{
    fprintf(to->out, "TAP version 13\n1..%d\n", to->s->total);
    ypi_print_unusual(to->out, "# ", to->s->o);
    fflush(to->out);
    return YP_OK;
}

/* TAP is UTF-8. `#` begins a directive and a line end ends the line; some readers take other
 * control characters for one, too. */
static void put_plain(FILE *out, const char *text)
{
    char *valid = ypi_utf8(text);
    for (const char *c = valid; *c != '\0' && *c != '\n'; c++) {
        const unsigned char byte = (unsigned char)*c;
        fputc(byte == '#' ? '%' : (byte < ' ' && byte != '\t') || byte == 127 ? ' ' : byte, out);
    }
    free(valid);
}

static void put_comment(FILE *out, const char *text)
{
    fputs("# ", out);
    put_plain(out, text);
    fputc('\n', out);
}

static void put_result(FILE *out, int number, const struct ypi_result *r)
{
    bool failed = ypi_is_failure(r->outcome) || r->outcome == YPI_XFAILED;
    fprintf(out, "%sok %d - ", failed ? "not " : "", number);
    put_plain(out, r->c->id);
    if (r->c->repeat > 0)
        fprintf(out, " (repeat %d)", r->c->repeat + 1);
    if (r->outcome == YPI_SKIPPED || r->outcome == YPI_XFAILED || r->outcome == YPI_XPASSED) {
        fputs(r->outcome == YPI_SKIPPED ? " # SKIP " : " # TODO ", out);
        put_plain(out, r->reason != NULL ? r->reason : "");
    }
    fputc('\n', out);
    char headline[YPI_HEADLINE_MAX];
    ypi_headline(headline, r);
    if (headline[0] != '\0')
        put_comment(out, headline);
    if (r->outcome == YPI_NOISY)
        put_comment(out, "noisy: a budget could not be decided");
    if (r->note != NULL) {
        char *note = ypi_format("note: %s", r->note);
        put_comment(out, note);
        free(note);
    }
    for (int i = 0; i < r->failure_count; i++)
        put_comment(out, r->failures[i].message);
    fflush(out);
}

/* With all there is to know of a failure on standard error. */
static enum yp_status report(struct ypi_reporting *to)
{
    const struct ypi_result *r = to->r;
    put_result(to->out, to->number, r);
    if (ypi_is_failure(r->outcome)) {
        fprintf(stderr, "%s %s\n", r->outcome == YPI_ERROR ? "ERROR" : "FAILED", r->c->id);
        ypi_print_failure(stderr, to->s, r);
        fflush(stderr);
    }
    return YP_OK;
}

static enum yp_status end(struct ypi_reporting *to)
{
    if (to->totals->interrupted)
        fputs("Bail out! interrupted\n", to->out);
    else if (to->totals->stopped)
        fputs("Bail out! stopped before all cases were run\n", to->out);
    fflush(to->out);
    return YP_OK;
}

const struct ypi_reporter ypi_tap_reporter = {
    .options = {{"tap", .help = "TAP on standard output, everything else on standard error"}},
    .protocol = true,
    .on = {[YPI_RUN_BEGINS] = begin, [YPI_RESULT] = report, [YPI_RUN_ENDS] = end}};
