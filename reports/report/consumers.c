#include "reports/report/consumers.h"

#include "base/text/output.h"
#include "base/text/text.h"
#include "reports/advice/advice.h"
#include "reports/exports/trace.h"
#include "reports/page/page.h"
#include "reports/plots/plots.h"
#include "reports/report/markdown.h"
#include "reports/report/text.h"

#include <stdlib.h>

/* NULL: nobody asks for it. */
struct ypi_consumers {
    const struct ypi_report_outputs *outputs;
    struct ypi_plots *plots;
    struct ypi_advisor *advisor;
    struct ypi_page *page;
    struct ypi_trace *trace;
    struct ypi_markdown *markdown;
    struct ypi_report_text *text;
};

/* -- the beginning -------------------------------------------------------------------------- */

static bool read_tables(struct ypi_consumers *all)
{
    for (int i = 0; i < all->outputs->table_count; i++)
        if (ypi_plots_take_csv(all->plots, all->outputs->tables[i]) != YP_OK)
            return false;
    return true;
}

/* Creates the files before anything is printed, so that an error stands alone. */
static bool create(struct ypi_consumers *all, const struct ypi_content *content)
{
    const struct ypi_report_outputs *o = all->outputs;
    if (o->plots != NULL || o->page != NULL)
        all->plots = ypi_plots_create();
    if (o->page != NULL || o->markdown != NULL || o->text || o->configuration != NULL)
        all->advisor = ypi_advisor_create((double)o->memory_limit);
    if ((all->plots != NULL && !read_tables(all)) ||
        (o->page != NULL && (all->page = ypi_page_create(o->page, content)) == NULL) ||
        (o->trace != NULL && (all->trace = ypi_trace_create(o->trace)) == NULL))
        return false;
    if (o->markdown != NULL)
        all->markdown = ypi_markdown_create(o->markdown, content);
    if (o->text)
        all->text = ypi_report_text_create(content);
    return true;
}

struct ypi_consumers *ypi_consumers_create(const struct ypi_report_outputs *outputs,
                                           const struct ypi_content *content)
{
    struct ypi_consumers *all = ypi_calloc(1, sizeof *all);
    all->outputs = outputs;
    if (create(all, content))
        return all;
    ypi_consumers_drop(all);
    return NULL;
}

void ypi_consumers_drop(struct ypi_consumers *all)
{
    ypi_plots_free(all->plots);
    ypi_advisor_free(all->advisor);
    ypi_page_drop(all->page);
    ypi_trace_drop(all->trace);
    ypi_markdown_drop(all->markdown);
    ypi_report_text_drop(all->text);
    free(all);
}

/* -- a case --------------------------------------------------------------------------------- */

enum yp_status ypi_consumers_take(struct ypi_consumers *all, const struct ypi_report_case *one,
                                  const cJSON *document)
{
    if (all->advisor != NULL)
        ypi_advisor_take(all->advisor, one, document);
    if (all->markdown != NULL)
        ypi_markdown_take(all->markdown, one, document);
    if (all->text != NULL)
        ypi_report_text_take(all->text, one, document);
    enum yp_status status = YP_OK;
    if (all->plots != NULL)
        status = ypi_plots_take(all->plots, one, document);
    if (all->page != NULL && status == YP_OK)
        status = ypi_page_take(all->page, one, document);
    if (all->trace != NULL && status == YP_OK)
        status = ypi_trace_take(all->trace, one, document);
    return status;
}

/* -- the end -------------------------------------------------------------------------------- */

/* The first that is wrong says how the command ends; stderr is told of each. */
static void note(int *code, enum yp_status status)
{
    if (status == YP_OK)
        return;
    const int told = ypi_file_error();
    if (*code == YPI_COMMAND_OK)
        *code = told;
}

static void note_configuration(int *code, enum yp_status status)
{
    const bool first = *code == YPI_COMMAND_OK;
    note(code, status);
    if (first && status == YP_INVALID) /* there is none to recommend */
        *code = YPI_COMMAND_NOTHING;
}

int ypi_consumers_finish(struct ypi_consumers *all)
{
    const struct ypi_report_outputs *o = all->outputs;
    int code = YPI_COMMAND_OK;
    struct ypi_plot_list *plots = all->plots != NULL ? ypi_plots_finish(all->plots) : NULL;
    cJSON *advice = all->advisor != NULL ? ypi_advisor_finish(all->advisor) : NULL;
    if (all->text != NULL)
        ypi_report_text_finish(all->text, advice);
    if (all->markdown != NULL)
        note(&code, ypi_markdown_finish(all->markdown, advice));
    if (all->page != NULL)
        note(&code, ypi_page_finish(all->page, plots, advice));
    if (all->trace != NULL)
        note(&code, ypi_trace_finish(all->trace));
    if (o->plots != NULL)
        note(&code, ypi_plots_write(plots, o->plots));
    if (o->configuration != NULL)
        note_configuration(&code, ypi_advice_write_ini(advice, o->configuration));
    if (plots != NULL)
        ypi_plot_list_free(plots);
    cJSON_Delete(advice);
    free(all);
    return code;
}
