#include "gate/request.h"

#include "base/options/arguments.h"
#include "base/text/text.h"
#include "gate/options.h"

#include <math.h>

#define OWN(read_, member) YPI_OPTION_OF(read_, struct ypi_request, member)
#define WORD(member) .kind = YPI_OPTION_WORD, .offset = offsetof(struct ypi_request, member)

bool ypi_request_read(struct ypi_request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {"base", WORD(base)},
        {"baseline", WORD(baseline)},
        {"head", WORD(head)},
        {.letter = 'm', WORD(cases.mark)},
        {.letter = 'k', WORD(cases.keyword)},
        {"threshold", OWN(ypi_read_threshold, threshold)},
        {"error", OWN(ypi_read_error, error)},
        {"budget", OWN(ypi_read_budget, budget)},
        {"options", WORD(options)},
        {"head-options", WORD(head_options)},
        {"instructions", .kind = YPI_OPTION_FLAG,
         .offset = offsetof(struct ypi_request, instructions)},
        {"always-time", .kind = YPI_OPTION_FLAG,
         .offset = offsetof(struct ypi_request, always_time)},
        YPI_OPTION_MISSING(struct ypi_request, missing_fails),
        {"history", WORD(report.history)},
        {"json", WORD(report.json)},
        {"markdown", WORD(report.markdown)},
        {"verbose", 'v', .kind = YPI_OPTION_FLAG,
         .offset = offsetof(struct ypi_request, report.verbose)},
        YPI_OPTIONS_END,
    };
    const char **ids = ypi_calloc((size_t)argc + 1, sizeof *ids);
    *r = (struct ypi_request){
        .head = "HEAD", .threshold = YPI_THRESHOLD, .error = YPI_ERROR, .budget = INFINITY};
    r->cases.ids = ids;
    if (!ypi_arguments_read(
            &(struct ypi_arguments){
                .options = options, .values = r, .words = ids, .word_count = &r->cases.id_count},
            argc, argv))
        return false;
    if ((r->base != NULL) != (r->baseline != NULL))
        return true;
    ypi_usage_error(
        argc, argv, argc,
        r->base == NULL
            ? "--base: a revision is wanted, such as main or v1.2; or --baseline and a stored run"
            : "--base and --baseline: one of them is wanted");
    return false;
}
