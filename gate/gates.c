/* yieldpoint gates: what earlier gates found. */
#include "gate/gate.h"

#include "base/options/arguments.h"
#include "base/text/figures.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "gate/kept.h"
#include "gate/options.h"
#include "gate/report.h"
#include "harness/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *word; /* NULL: all are listed */
    int count;
    struct ypi_report report;
};

static int show(const struct request *r)
{
    struct ypi_comparisons found;
    enum yp_status status = ypi_kept_load(r->report.history, r->word, &found);
    int code = status == YP_OK ? ypi_report_put(&r->report, &found) : ypi_gate_error(status, NULL);
    ypi_comparisons_clear(&found);
    return code;
}

/* "main (0123456789)". */
static void put_side(struct ypi_text *out, const cJSON *row, const char *side)
{
    char *commit = ypi_format("%s_commit", side);
    char *dirty = ypi_format("%s_dirty", side);
    const char *hash = ypi_text_of(row, commit);
    ypi_text_add(out, "%s", ypi_text_of(row, side));
    if (*hash != '\0')
        ypi_text_add(out, " (%.10s%s)", hash,
                     cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, dirty)) ? ", not committed"
                                                                                : "");
    free(commit);
    free(dirty);
}

static void put_gate(const cJSON *row)
{
    char when[32];
    struct ypi_text text = {0};
    ypi_format_time(when, ypi_real(row, "started"));
    ypi_text_add(&text, "%.8s  %s  exit %.0f, %.0f worse  ", ypi_text_of(row, "id"), when,
                 ypi_real(row, "exit_code"), ypi_real(row, "worse"));
    put_side(&text, row, "base");
    ypi_text_add(&text, " -> ");
    put_side(&text, row, "head");
    ypi_summary_line(stdout, &text);
}

static int list(const struct request *r)
{
    sqlite3 *db = ypi_store_open(r->report.history);
    cJSON *gates = db != NULL ? ypi_gates_load(db, "", r->count) : NULL;
    int code = gates != NULL ? YPI_GATE_FINE : ypi_gate_error(YP_IO, NULL);
    const cJSON *row;
    cJSON_ArrayForEach(row, gates) put_gate(row);
    if (gates != NULL && gates->child == NULL)
        fputs("yieldpoint: no gate is stored\n", stderr);
    cJSON_Delete(gates);
    sqlite3_close(db);
    return code == YPI_GATE_FINE && ypi_flush() != YPI_COMMAND_OK ? YPI_GATE_INTERNAL : code;
}

int ypi_gates_command(int argc, char **argv)
{
    struct request r = {.count = 20};
    static const struct ypi_option options[] = {
        {.letter = 'n', YPI_OPTION_AT(INT, struct request, count), .min = 1, .max = 1000000},
        {"history", YPI_OPTION_AT(WORD, struct request, report.history)},
        YPI_OPTIONS_OUT(struct request, report),
        YPI_OPTION_VERBOSE(struct request, report),
        YPI_OPTIONS_END,
    };
    if (!ypi_arguments_read(
            &(struct ypi_arguments){.options = options, .values = &r, .word = &r.word}, argc, argv))
        return YPI_GATE_USAGE;
    if (r.report.verbose)
        ypi_store_be_verbose();
    return r.word != NULL ? show(&r) : list(&r);
}
