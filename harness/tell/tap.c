#include "base/text/text.h"
#include "harness/tell/tell.h"

#include <stdlib.h>

void ypi_tap_begin(FILE *out, const struct ypi_session *s)
{
    fprintf(out, "TAP version 13\n1..%d\n", s->total);
    ypi_tell_unusual(out, "# ", s->o);
    fflush(out);
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

void ypi_tap_case(FILE *out, int number, const struct ypi_result *r)
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

void ypi_tap_end(FILE *out, const struct ypi_totals *totals)
{
    if (totals->interrupted)
        fputs("Bail out! interrupted\n", out);
    else if (totals->stopped)
        fputs("Bail out! stopped before all cases were run\n", out);
    fflush(out);
}
