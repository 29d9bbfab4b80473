/* A case in its section's table: figures in one row, and below it why it is not green. This is what
 * a page shows without its script. */
#include "reports/page/escape.h"
#include "reports/page/parts.h"

#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, MESSAGE_MOST = 2000 };

static void cell(struct ypi_text *out, const char *text)
{
    ypi_text_bytes(out, "<td>", 4);
    ypi_page_html(out, text);
}

/* -- figures ------------------------------------------------------------------------------- */

/* Of several measurements each has a line, in every column alike. */
static void each(struct ypi_text *out, const cJSON *list,
                 void (*put)(struct ypi_text *out, const cJSON *m))
{
    const cJSON *m;
    bool several = list != NULL && list->child != NULL && list->child->next != NULL;
    ypi_text_bytes(out, "<td>", 4);
    cJSON_ArrayForEach(m, list)
    {
        if (several)
            ypi_text_bytes(out, "<i>", 3);
        put(out, m);
        if (several)
            ypi_text_bytes(out, "</i>", 4);
    }
}

static void put_time(struct ypi_text *out, const cJSON *m)
{
    if (m->prev != m || m->next != NULL) { /* cJSON: of one item alone `prev` is that item */
        ypi_text_bytes(out, "<small>", 7);
        ypi_page_html(out, ypi_text_of(m, "name"));
        ypi_text_bytes(out, "</small> ", 9);
    }
    ypi_page_html(out, isnan(ypi_real(m, "median")) ? "not timed" : ypi_seconds_of(m, "median"));
}

static void put_interval(struct ypi_text *out, const cJSON *m)
{
    ypi_page_interval(out, ypi_page_seconds(m, "low"), ypi_page_seconds(m, "high"));
}

static void put_share(struct ypi_text *out, const cJSON *m)
{
    char text[YPI_FIGURE_MAX];
    ypi_format_part(text, m);
    if (strlen(text) > 2)
        ypi_page_html(out, text + 2);
}

/* Of the device where the case has memory there, as the past has it. */
static const char *peak_of(const cJSON *memory)
{
    const cJSON *kind = ypi_member(memory, "device");
    if (!(ypi_real(kind, "allocated_peak") > 0))
        kind = ypi_member(memory, "host");
    return ypi_page_bytes(kind, "allocated_peak");
}

static void put_change(struct ypi_text *out, const struct ypi_report_case *one)
{
    const struct ypi_change *first = one->change_count > 0 ? &one->changes[0] : NULL;
    if (first == NULL) {
        ypi_text_bytes(out, "<td>", 4);
        return;
    }
    ypi_text_add(out, "<td class=%s>", first->worse ? "w" : first->better ? "g" : "h");
    ypi_page_html(out, first->what);
    if (isfinite(first->ratio))
        ypi_text_add(out, " \u00d7%.3g", first->ratio);
    if (one->change_count > 1)
        ypi_text_add(out, " +%zu", one->change_count - 1);
}

static void put_figures(struct ypi_text *out, const struct ypi_report_case *one,
                        const cJSON *document, size_t number)
{
    const cJSON *list = ypi_member(document, "measurements");
    cell(out, one->outcome);
    ypi_text_add(out, "<th scope=row><a href=#c%zu>", number);
    ypi_page_html(out, one->id);
    ypi_text_bytes(out, "</a>", 4);
    if (one->tags != NULL && *one->tags) {
        ypi_text_bytes(out, "<small>", 7);
        ypi_page_html(out, one->tags);
        ypi_text_bytes(out, "</small>", 8);
    }
    cell(out, one->device);
    each(out, list, put_time);
    each(out, list, put_interval);
    each(out, list, put_share);
    cell(out, peak_of(ypi_member(document, "memory")));
    put_change(out, one);
}

/* -- why ----------------------------------------------------------------------------------- */

static void paragraph(struct ypi_text *out, const char *text)
{
    if (*text == '\0')
        return;
    ypi_text_add(out, "<p>");
    ypi_page_html(out, text);
    ypi_text_add(out, "</p>");
}

static void put_message(struct ypi_text *out, const char *message)
{
    struct ypi_text first = {0};
    if (*message == '\0')
        return;
    size_t length = strnlen(message, MESSAGE_MOST);
    while (length > 0 && ((unsigned char)message[length] & 0xc0) == 0x80)
        length--;
    ypi_text_bytes(&first, message, length);
    ypi_text_add(out, "<pre>");
    ypi_page_html(out, first.data);
    ypi_text_add(out, "%s</pre>",
                 message[length] != '\0' ? "\u2026\n(cut here; yieldpoint show has all of it)"
                                         : "");
    free(ypi_text_take(&first));
}

static void put_failures(struct ypi_text *out, const cJSON *failures)
{
    const cJSON *f;
    cJSON_ArrayForEach(f, failures)
    {
        ypi_text_add(out, "<p><b>");
        ypi_page_html(out, ypi_text_of(f, "cause"));
        ypi_text_add(out, "</b> ");
        if (*ypi_text_of(f, "file")) {
            ypi_text_add(out, "<code>");
            ypi_page_html(out, ypi_text_of(f, "file"));
            ypi_text_add(out, ":%.0f</code>", ypi_real(f, "line"));
        }
        ypi_text_add(out, "</p>");
        put_message(out, ypi_text_of(f, "message"));
    }
}

static void budget_cell(struct ypi_text *out, const cJSON *document, const cJSON *b,
                        const char *figure)
{
    char text[128];
    ypi_page_budget_figure(text, document, b, figure);
    cell(out, text);
}

static void put_budget(struct ypi_text *out, const cJSON *document, const cJSON *b)
{
    char text[256];
    char low[128];
    char high[128];
    struct ypi_text interval = {0};
    ypi_text_add(out, "<tr><td>");
    ypi_page_html(out, ypi_text_of(b, "met"));
    ypi_page_budget(text, document, b);
    cell(out, text);
    budget_cell(out, document, b, "measured");
    ypi_page_budget_figure(low, document, b, "low");
    ypi_page_budget_figure(high, document, b, "high");
    ypi_page_interval(&interval, low, high);
    cell(out, interval.data);
    budget_cell(out, document, b, "allowed");
    ypi_format_share(text, ypi_real(b, "distance"));
    cell(out, isnan(ypi_real(b, "distance")) ? "" : text);
    ypi_page_ceiling(text, document, ypi_text_of(b, "name"));
    cell(out, text);
    free(interval.data);
}

static void put_budgets(struct ypi_text *out, const cJSON *document)
{
    const cJSON *b;
    bool any = false;
    cJSON_ArrayForEach(b, ypi_member(document, "budgets"))
    {
        if (strcmp(ypi_text_of(b, "met"), "met") == 0)
            continue;
        if (!any)
            ypi_text_add(out, "<div class=wide><table class=b><caption>Budgets</caption><thead><tr>"
                              "<th scope=col>verdict<th scope=col>budget<th scope=col>measured"
                              "<th scope=col>interval<th scope=col>limit<th scope=col>distance"
                              "<th scope=col>ceiling</thead>");
        any = true;
        put_budget(out, document, b);
    }
    if (any)
        ypi_text_add(out, "</table></div>");
}

static void put_changes(struct ypi_text *out, const struct ypi_report_case *one)
{
    if (one->change_count > 0)
        ypi_text_add(out, "<ul>");
    for (size_t i = 0; i < one->change_count; i++) {
        const struct ypi_change *c = &one->changes[i];
        ypi_text_add(out, "<li>");
        ypi_page_html(out, c->text);
        ypi_text_add(out, "%s", c->better ? " (better)" : c->worse ? " (worse)" : "");
    }
    if (one->change_count > 0)
        ypi_text_add(out, "</ul>");
}

static void put_reproduce(struct ypi_text *out, const char *line)
{
    if (*line == '\0')
        return;
    ypi_text_add(out, "<p class=r><span>reproduce</span><code>");
    ypi_page_html(out, line);
    ypi_text_add(out, "</code></p>");
}

static void put_why(struct ypi_text *out, const struct ypi_report_case *one, const cJSON *document)
{
    const cJSON *result = ypi_member(document, "result");
    bool is_open = one->section == YPI_FAILED || one->section == YPI_UNDECIDED;
    if (!is_open && one->change_count == 0 && !*ypi_text_of(result, "reason"))
        return;
    ypi_text_add(out, "<tr class=m><td colspan=%d><div>", COLUMNS);
    paragraph(out, ypi_text_of(result, "reason"));
    if (is_open) {
        put_failures(out, ypi_member(document, "failures"));
        put_budgets(out, document);
    }
    put_changes(out, one);
    if (is_open)
        put_reproduce(out, ypi_text_of(document, "reproduce"));
    ypi_text_add(out, "</div>");
}

void ypi_page_row(struct ypi_page *page, const struct ypi_report_case *one, const cJSON *document)
{
    struct ypi_text *out = &page->rows[one->section];
    ypi_text_add(out, "<tbody id=c%zu><tr>", page->count);
    put_figures(out, one, document, page->count);
    put_why(out, one, document);
    ypi_text_bytes(out, "\n", 1);
}
