#include "reports/report/consumers.h"

#include "base/text/text.h"
#include "reports/advice/advice.h"
#include "reports/exports/trace.h"
#include "reports/page/page.h"
#include "reports/plots/plots.h"
#include "reports/report/markdown.h"
#include "reports/report/text.h"

#include <stdio.h>
#include <stdlib.h>

/* NULL: not asked for. */
struct ypi_consumers {
    const struct ypi_report_outputs *outputs;
    struct ypi_page *page;
    struct ypi_plots *plots;
    struct ypi_advisor *advisor;
    struct ypi_trace *trace;
    struct ypi_markdown *markdown;
    struct ypi_report_text *text;
};

struct ypi_consumers *ypi_consumers_create(const struct ypi_report_outputs *outputs,
                                           const struct ypi_content *content)
{
    struct ypi_consumers *all = ypi_calloc(1, sizeof *all);
    all->outputs = outputs;
    if ((outputs->page != NULL && !(all->page = ypi_page_create(outputs->page, content))) ||
        (outputs->trace != NULL && !(all->trace = ypi_trace_create(outputs->trace)))) {
        ypi_consumers_finish(all, false);
        return NULL;
    }
    if (outputs->page != NULL || outputs->plots != NULL)
        all->plots = ypi_plots_create();
    if (outputs->page != NULL || outputs->ini != NULL || outputs->markdown != NULL || outputs->text)
        all->advisor = ypi_advisor_create(outputs->limit);
    if (outputs->markdown != NULL)
        all->markdown = ypi_markdown_create(outputs->markdown, content);
    if (outputs->text)
        all->text = ypi_report_text_create(content);
    return all;
}

enum yp_status ypi_consumers_take(struct ypi_consumers *all, const struct ypi_report_case *one,
                                  const cJSON *document)
{
    enum yp_status status = YP_OK;
    if (all->page != NULL)
        status = ypi_page_take(all->page, one, document);
    if (all->plots != NULL && status == YP_OK)
        status = ypi_plots_take(all->plots, one, document);
    if (all->trace != NULL && status == YP_OK)
        status = ypi_trace_take(all->trace, one, document);
    if (all->advisor != NULL)
        ypi_advisor_take(all->advisor, one, document);
    if (all->markdown != NULL)
        ypi_markdown_take(all->markdown, one, document);
    if (all->text != NULL)
        ypi_report_text_take(all->text, one, document);
    return status;
}

/* Of the output that failed first; the message is that of the last one. */
static void keep(enum yp_status *status, enum yp_status of_one)
{
    if (*status == YP_OK)
        *status = of_one;
}

static enum yp_status write_all(struct ypi_consumers *all, const struct ypi_plot_list *plots,
                                const cJSON *advice)
{
    enum yp_status status = YP_OK;
    if (all->page != NULL)
        keep(&status, ypi_page_finish(all->page, plots, advice));
    if (all->outputs->plots != NULL)
        keep(&status, ypi_plots_write(plots, all->outputs->plots));
    if (all->trace != NULL)
        keep(&status, ypi_trace_finish(all->trace));
    if (all->markdown != NULL)
        keep(&status, ypi_markdown_finish(all->markdown, advice));
    if (all->outputs->ini != NULL)
        keep(&status, ypi_advice_write_ini(advice, all->outputs->ini));
    if (all->text != NULL) {
        ypi_report_text_finish(all->text);
        ypi_advice_print(advice);
    }
    return status;
}

enum yp_status ypi_consumers_finish(struct ypi_consumers *all, bool whole)
{
    enum yp_status status = YP_OK;
    if (whole) {
        struct ypi_plot_list *plots = all->plots != NULL ? ypi_plots_finish(all->plots) : NULL;
        cJSON *advice = all->advisor != NULL ? ypi_advisor_finish(all->advisor) : NULL;
        status = write_all(all, plots, advice);
        ypi_plot_list_free(plots);
        cJSON_Delete(advice);
    } else {
        ypi_page_drop(all->page);
        ypi_plots_free(all->plots);
        ypi_advisor_free(all->advisor);
        ypi_trace_drop(all->trace);
        if (all->markdown != NULL)
            ypi_markdown_drop(all->markdown);
        if (all->text != NULL)
            ypi_report_text_finish(all->text);
    }
    free(all);
    return status;
}
