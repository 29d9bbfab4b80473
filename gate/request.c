#include "gate/request.h"

#include "base/options/arguments.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

static char *read_threshold(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_request *r = values;
    (void)option;
    bool right = ypi_parse_part(text, &r->threshold) && r->threshold >= 0.001 && r->threshold <= 1;
    return right ? NULL : ypi_strdup("a part from 0.1% to 100%, such as 3%");
}

static char *read_error(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_request *r = values;
    (void)option;
    bool right = ypi_parse_part(text, &r->error) && r->error >= 1e-6 && r->error <= 0.25;
    return right ? NULL : ypi_strdup("a rate from 1e-6 to 0.25, such as 1% or 0.01");
}

static char *read_budget(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_request *r = values;
    (void)option;
    bool right = ypi_parse_duration(text, &r->budget) && r->budget >= 1 && r->budget <= 1e7;
    return right ? NULL : ypi_strdup("a time from 1s, such as 90s, 5m or 1h");
}

#define OWN(read_) .kind = YPI_OPTION_OWN, .value = "", .read = (read_)
#define WORD(member) .kind = YPI_OPTION_WORD, .offset = offsetof(struct ypi_request, member)

bool ypi_request_read(struct ypi_request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {"base", WORD(base)},
        {"head", WORD(head)},
        {.letter = 'm', WORD(cases.mark)},
        {.letter = 'k', WORD(cases.keyword)},
        {"threshold", OWN(read_threshold)},
        {"error", OWN(read_error)},
        {"budget", OWN(read_budget)},
        {"options", WORD(options)},
        {"head-options", WORD(head_options)},
        {"history", WORD(report.history)},
        {"json", WORD(report.json)},
        {"markdown", WORD(report.markdown)},
        {"verbose", 'v', .kind = YPI_OPTION_FLAG,
         .offset = offsetof(struct ypi_request, report.verbose)},
        YPI_OPTIONS_END,
    };
    const char **ids = ypi_calloc((size_t)argc + 1, sizeof *ids);
    *r = (struct ypi_request){.head = "HEAD", .threshold = 0.03, .error = 0.01, .budget = INFINITY};
    r->cases.ids = ids;
    if (!ypi_arguments_read(
            &(struct ypi_arguments){
                .options = options, .values = r, .words = ids, .word_count = &r->cases.id_count},
            argc, argv))
        return false;
    if (r->base != NULL)
        return true;
    ypi_usage_error(argc, argv, argc, "--base: a revision is wanted, such as main or v1.2");
    return false;
}
