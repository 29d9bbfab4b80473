#include "reports/page/page.h"

#include "reports/page/escape.h"
#include "reports/page/parts.h"
#include "reports/plots/plots.h"

#include <stdlib.h>
#include <string.h>

/* Of a strip, with both extremes; less where there are many cases, whose page is to stay small. */
enum { QUANTILES = 62, QUANTILES_OF_MANY = 32, MANY = 3000 };

/* Bytes for plots: what is left of 4 MiB when each case has 2 KiB, and half a MiB at least. */
static size_t room_for_plots(const struct ypi_page *page)
{
    const size_t cases = page->content->count * 2048, all = (size_t)4 << 20;
    const size_t least = (size_t)1 << 19;
    return cases + least < all ? all - cases : least;
}

struct ypi_page *ypi_page_create(const char *path, const struct ypi_content *content)
{
    struct ypi_page *page = ypi_calloc(1, sizeof *page);
    page->content = content;
    page->quantiles = content->count > MANY ? QUANTILES_OF_MANY : QUANTILES;
    page->intervals = content->count <= MANY;
    ypi_page_open(&page->runs.json, '[');
    if (ypi_sink_open(&page->sink, path) == YP_OK)
        return page;
    free(ypi_text_take(&page->runs.json));
    free(page);
    return NULL;
}

enum yp_status ypi_page_take(struct ypi_page *page, const struct ypi_report_case *one,
                             const cJSON *document)
{
    ypi_page_row(page, one, document);
    ypi_page_detail(page, one, document);
    page->of_section[one->section]++;
    page->count++;
    return YP_OK;
}

/* -- the end ------------------------------------------------------------------------------- */

static void put_columns(struct ypi_text *out)
{
    static const char *const columns[] = {"outcome",  "case",    "device", "time",
                                          "interval", "ceiling", "memory", "change"};
    ypi_text_add(out, "<thead><tr>");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        ypi_text_add(out, "<th scope=col>%s", columns[i]);
    ypi_text_add(out, "</thead>\n");
}

static void put_section(struct ypi_text *out, struct ypi_page *page, enum ypi_section section)
{
    const char *name = ypi_page_section_name(section);
    const char *title = ypi_page_section_title(section);
    bool is_closed = section == YPI_PASSED || section == YPI_SKIPPED;
    if (page->of_section[section] == 0) {
        ypi_text_add(out, "<section id=%s class=none><h2>%s <b>0</b></h2></section>\n", name,
                     title);
        return;
    }
    ypi_text_add(out, "<section id=%s class=cases>%s<h2>%s <b>%zu</b></h2>%s", name,
                 is_closed ? "<details><summary>" : "", title, page->of_section[section],
                 is_closed ? "</summary>" : "");
    ypi_text_add(out, "<table class=c><caption>%s cases</caption>", title);
    put_columns(out);
    ypi_text_bytes(out, page->rows[section].data, page->rows[section].length);
    ypi_text_add(out, "</table>%s</section>\n", is_closed ? "</details>" : "");
}

static void put_data(struct ypi_text *out, struct ypi_page *page)
{
    if (page->count > 0)
        ypi_text_add(&page->details, "]</script>\n");
    ypi_text_bytes(out, page->details.data, page->details.length);
    ypi_text_add(out,
                 "<script type=\"application/json\" id=all>{\"chunk\":%d,"
                 "\"runs\":",
                 YPI_PAGE_CHUNK);
    ypi_page_close(&page->runs.json, ']');
    ypi_text_bytes(out, page->runs.json.data, page->runs.json.length);
    ypi_text_add(out, ",\"pool\":%s", page->pool.count > 0 ? "" : "[");
    ypi_page_close(&page->pool.json, ']');
    ypi_text_bytes(out, page->pool.json.data, page->pool.json.length);
    ypi_text_add(out, ",\"environment\":");
    ypi_page_environment_json(out, page->content);
    ypi_text_add(out, "}</script>\n");
}

static void put_all(struct ypi_text *out, struct ypi_page *page, const struct ypi_plot_list *plots,
                    const cJSON *advice)
{
    bool has_plots = plots != NULL && plots->count > 0;
    bool has_advice = cJSON_GetArraySize(advice) > 0;
    ypi_page_head(out, page, has_plots, has_advice);
    for (int i = 0; i <= YPI_CHANGED; i++)
        put_section(out, page, (enum ypi_section)i);
    if (has_advice)
        ypi_page_advice(out, advice);
    if (has_plots)
        ypi_page_plots(out, plots, room_for_plots(page));
    put_section(out, page, YPI_PASSED);
    put_section(out, page, YPI_SKIPPED);
    ypi_page_environment(out, page->content);
    ypi_text_add(out, "</main>\n<dialog id=case aria-labelledby=case-id></dialog>\n");
    put_data(out, page);
    ypi_text_add(out, "<script>%s</script></body></html>\n", ypi_page_js);
}

static void free_page(struct ypi_page *page)
{
    ypi_sink_drop(&page->sink);
    for (int i = 0; i < YPI_SECTIONS; i++)
        free(ypi_text_take(&page->rows[i]));
    free(ypi_text_take(&page->details));
    free(ypi_text_take(&page->runs.json));
    for (size_t i = 0; i < page->runs.count; i++)
        free(page->runs.ids[i]);
    free(page->runs.ids);
    ypi_page_pool_free(&page->pool);
    free(page);
}

enum yp_status ypi_page_finish(struct ypi_page *page, const struct ypi_plot_list *plots,
                               const cJSON *advice)
{
    put_all(&page->sink.text, page, plots, advice);
    enum yp_status status = ypi_sink_close(&page->sink);
    free_page(page);
    return status;
}

void ypi_page_drop(struct ypi_page *page)
{
    if (page != NULL)
        free_page(page);
}
