/* yieldpoint compare: what stored runs are beside other ones. */
#include "gate/gate.h"

#include "base/options/arguments.h"
#include "base/text/text.h"
#include "gate/options.h"
#include "gate/report.h"
#include "gate/stored/stored_compare.h"

#include <stdio.h>
#include <stdlib.h>

struct request {
    const char **words; /* base and head, then ids */
    int word_count;
    const char *mark, *keyword;
    double threshold, error;
    int missing_fails;
    struct ypi_report report;
};

static int compare(const struct request *r, struct ypi_stored sides[2])
{
    struct ypi_comparisons found = {
        .threshold = r->threshold, .error = r->error, .missing_fails = r->missing_fails};
    const struct ypi_selection choice = {.mark = r->mark,
                                         .keyword = r->keyword,
                                         .ids = r->words + 2,
                                         .id_count = r->word_count - 2,
                                         .absent_too = true};
    bool right = false;
    found.base.name = ypi_strdup(r->words[0]);
    found.head.name = ypi_strdup(r->words[1]);
    enum yp_status status = ypi_stored_compare(&sides[0], &sides[1], &choice, &right, &found);
    int code = YPI_GATE_USAGE;
    if (status != YP_OK) {
        code = ypi_gate_error(status, NULL);
    } else if (right && found.count == 0) {
        fputs("yieldpoint: no case of these runs is selected\n", stderr);
        code = YPI_GATE_UNSELECTED;
    } else if (right) {
        code = ypi_report_put(&r->report, &found);
        code = code != YPI_GATE_FINE ? code : ypi_summary_exit(&found);
    }
    ypi_comparisons_clear(&found);
    return code;
}

static int run(const struct request *r)
{
    struct ypi_stored sides[2] = {{0}};
    enum yp_status status = YP_OK;
    for (int i = 0; i < 2 && status == YP_OK; i++)
        status = ypi_stored_find(r->words[i], r->report.history, &sides[i]);
    int code = status == YP_OK ? compare(r, sides) : ypi_gate_error(status, NULL);
    for (int i = 0; i < 2; i++)
        ypi_stored_clear(&sides[i]);
    return code;
}

#define WORD(member) YPI_OPTION_AT(WORD, struct request, member)

static bool read_request(struct request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {.letter = 'm', WORD(mark)},
        {.letter = 'k', WORD(keyword)},
        {"threshold", YPI_OPTION_OF(ypi_read_threshold, struct request, threshold)},
        {"error", YPI_OPTION_OF(ypi_read_error, struct request, error)},
        YPI_OPTION_MISSING(struct request, missing_fails),
        {"history", WORD(report.history)},
        YPI_OPTIONS_OUT(struct request, report),
        YPI_OPTION_VERBOSE(struct request, report),
        YPI_OPTIONS_END,
    };
    if (!ypi_arguments_read(
            &(struct ypi_arguments){
                .options = options, .values = r, .words = r->words, .word_count = &r->word_count},
            argc, argv))
        return false;
    if (r->report.verbose)
        ypi_store_be_verbose();
    if (r->word_count >= 2)
        return true;
    ypi_usage_error(argc, argv, argc,
                    "compare: two runs, commits or history files are wanted, such as `yieldpoint "
                    "compare last~1 last`");
    return false;
}

int ypi_compare_command(int argc, char **argv)
{
    struct request r = {.threshold = YPI_THRESHOLD, .error = YPI_ERROR};
    r.words = ypi_calloc((size_t)argc + 1, sizeof *r.words);
    int code = read_request(&r, argc, argv) ? run(&r) : YPI_GATE_USAGE;
    free((void *)r.words);
    return code;
}
