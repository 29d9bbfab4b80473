#include "gate/bisect/request.h"

#include "base/options/arguments.h"
#include "gate/options.h"

#include <math.h>

#define OWN(read_, member) YPI_OPTION_OF(read_, struct ypi_bisect_request, member)
#define OF(kind_, member) .kind = (kind_), .offset = offsetof(struct ypi_bisect_request, member)
#define WORD(member) OF(YPI_OPTION_WORD, member)
#define FLAG(member) OF(YPI_OPTION_FLAG, member)

bool ypi_bisect_request_read(struct ypi_bisect_request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {"good", WORD(good)},
        {"bad", WORD(bad)},
        {"threshold", OWN(ypi_read_threshold, threshold)},
        {"error", OWN(ypi_read_error, error)},
        {"budget", OWN(ypi_read_budget, budget)},
        {"options", WORD(options)},
        {"first-parent", FLAG(first_parent)},
        {"json", WORD(report.json)},
        {"markdown", WORD(report.markdown)},
        {"verbose", 'v', FLAG(report.verbose)},
        YPI_OPTIONS_END,
    };
    *r = (struct ypi_bisect_request){
        .threshold = YPI_THRESHOLD, .error = YPI_ERROR, .budget = INFINITY};
    if (!ypi_arguments_read(
            &(struct ypi_arguments){.options = options, .values = r, .word = &r->id}, argc, argv))
        return false;
    const char *missing = r->id == NULL ? "which case? its id is wanted, as a suite's --co tells it"
                          : r->good == NULL
                              ? "--good: a revision is wanted that has not got worse yet"
                          : r->bad == NULL ? "--bad: a revision is wanted that has got worse"
                                           : NULL;
    if (missing != NULL)
        ypi_usage_error(argc, argv, argc, "%s", missing);
    return missing == NULL;
}
