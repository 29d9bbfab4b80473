#include "reports/report/consumers.h"

#include "base/text/text.h"
#include "reports/report/markdown.h"
#include "reports/report/text.h"

#include <stdio.h>
#include <stdlib.h>

struct ypi_consumers {
    struct ypi_markdown *markdown;
    struct ypi_report_text *text;
};

struct ypi_consumers *ypi_consumers_create(const struct ypi_report_outputs *outputs,
                                           const struct ypi_content *content)
{
    struct ypi_consumers *all = ypi_calloc(1, sizeof *all);
    if (outputs->markdown != NULL)
        all->markdown = ypi_markdown_create(outputs->markdown, content);
    if (outputs->text)
        all->text = ypi_report_text_create(content);
    return all;
}

enum yp_status ypi_consumers_take(struct ypi_consumers *all, const struct ypi_report_case *one,
                                  const cJSON *document)
{
    if (all->markdown != NULL)
        ypi_markdown_take(all->markdown, one, document);
    if (all->text != NULL)
        ypi_report_text_take(all->text, one, document);
    return YP_OK;
}

enum yp_status ypi_consumers_finish(struct ypi_consumers *all, bool whole)
{
    enum yp_status status = YP_OK;
    if (all->markdown != NULL && whole)
        status = ypi_markdown_finish(all->markdown, NULL);
    else if (all->markdown != NULL)
        ypi_markdown_drop(all->markdown);
    if (all->text != NULL)
        ypi_report_text_finish(all->text);
    free(all);
    return status;
}
