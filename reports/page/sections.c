/* What a page has beside its cases. */
#include "reports/page/escape.h"
#include "reports/page/parts.h"

#include "harness/history/history.h"
#include "reports/format.h"
#include "reports/plots/plots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ypi_page_section_title(enum ypi_section section)
{
    static const char *const titles[] = {"Failed", "Undecided", "Changed", "Passed", "Skipped"};
    return titles[section];
}

const char *ypi_page_section_name(enum ypi_section section)
{
    static const char *const names[] = {"failed", "undecided", "changed", "passed", "skipped"};
    return names[section];
}

/* -- the head ------------------------------------------------------------------------------ */

/* "5da4452c of 2026-11-28 22:44:38, commit aee894b13235 with changes" */
static char *label_of(const cJSON *run)
{
    struct ypi_text out = {0};
    char time[32];
    const cJSON *facts = ypi_member(run, "facts");
    const char *dirty = ypi_text_of(facts, "git.dirty");
    ypi_format_time(time, ypi_real(run, "started"));
    ypi_text_add(&out, "%.8s of %s", ypi_text_of(run, "id"), time);
    if (*ypi_text_of(facts, "git.commit"))
        ypi_text_add(&out, ", commit %.12s%s", ypi_text_of(facts, "git.commit"),
                     *dirty && strcmp(dirty, "no") != 0 ? " with changes" : "");
    return ypi_text_take(&out);
}

static void put_label(struct ypi_text *out, const char *before, const cJSON *run)
{
    char *label = label_of(run);
    ypi_text_add(out, "%s", before);
    ypi_page_html(out, label);
    free(label);
}

static void put_machine(struct ypi_text *out, const cJSON *run)
{
    static const char *const facts_of[] = {"hostname", "cpu.model", "gpu.name"};
    const cJSON *facts = ypi_member(run, "facts");
    for (size_t i = 0; i < sizeof facts_of / sizeof *facts_of; i++) {
        const char *fact = ypi_text_of(facts, facts_of[i]);
        if (*fact)
            ypi_text_add(out, " \u00b7 ");
        ypi_page_html(out, fact);
    }
}

static void put_jumps(struct ypi_text *out, const struct ypi_page *page, bool plots, bool advice)
{
    ypi_text_add(out, "<nav aria-label=\"Sections\">");
    for (int i = 0; i < YPI_SECTIONS; i++)
        ypi_text_add(out, "<a href=#%s class=\"t %s%s\"><b>%zu</b> %s</a>",
                     ypi_page_section_name((enum ypi_section)i),
                     ypi_page_section_name((enum ypi_section)i),
                     page->of_section[i] == 0 ? " none" : "", page->of_section[i],
                     ypi_page_section_name((enum ypi_section)i));
    if (advice)
        ypi_text_add(out, "<a href=#advice>advice</a>");
    if (plots)
        ypi_text_add(out, "<a href=#plots>plots</a>");
    ypi_text_add(out, "<a href=#environment>environment</a></nav>");
}

void ypi_page_head(struct ypi_text *out, const struct ypi_page *page, bool plots, bool advice)
{
    const struct ypi_content *content = page->content;
    const cJSON *run = content->runs != NULL ? content->runs->child : NULL;
    ypi_text_add(
        out,
        "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; script-src "
        "'sha256-%s'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
        "'none'\">\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
        "<meta name=color-scheme content=\"light dark\"><meta name=referrer content=no-referrer>"
        "<link rel=icon href=\"data:,\"><title>",
        ypi_page_js_sha256);
    ypi_text_add(out, "%zu failed, %zu changed", page->of_section[YPI_FAILED],
                 page->of_section[YPI_CHANGED]);
    if (run != NULL)
        put_label(out, " \u00b7 run ", run);
    ypi_text_add(out,
                 " \u00b7 Yieldpoint</title>\n<style>%s</style></head>\n<body><header><div "
                 "class=top><h1>Yieldpoint report</h1></div><p class=about>",
                 ypi_page_css);
    if (run != NULL) {
        put_label(out, "Run ", run);
        put_machine(out, run);
        if (run->next != NULL)
            ypi_text_add(out, " and %d more", cJSON_GetArraySize(content->runs) - 1);
    }
    if (content->against != NULL)
        put_label(out, "<br>compared with run ", content->against);
    if (content->other_bases > 0)
        ypi_text_add(out, " and %zu more, for other runs", content->other_bases);
    ypi_text_add(out, "</p>");
    put_jumps(out, page, plots, advice);
    ypi_text_add(out, "<div id=tools></div></header>\n<main>\n");
}

/* -- advice -------------------------------------------------------------------------------- */

static void put_list(struct ypi_text *out, const char *title, const cJSON *list)
{
    const cJSON *item;
    if (list == NULL || list->child == NULL)
        return;
    ypi_text_add(out, "<h4>%s</h4><ul>", title);
    cJSON_ArrayForEach(item, list)
    {
        ypi_text_add(out, "<li>");
        ypi_page_html(out, cJSON_IsString(item) ? item->valuestring : "");
    }
    ypi_text_add(out, "</ul>");
}

/* Those that are open, and those that are there: an analysis of thousands of cases would be most of
 * the page. */
enum { ADVICE_OPEN = 8, ADVICE_MOST = 200 };

void ypi_page_advice(struct ypi_text *out, const cJSON *advice)
{
    const cJSON *one;
    int number = 0;
    ypi_text_add(out, "<section id=advice><h2>Advice <b>%d</b></h2>", cJSON_GetArraySize(advice));
    cJSON_ArrayForEach(one, advice)
    {
        if (number == ADVICE_MOST)
            break;
        if (number++ == ADVICE_OPEN)
            ypi_text_add(out, "<details><summary>the rest, less urgent</summary>");
        ypi_text_add(out, "<details class=a><summary><span class=kind>");
        ypi_page_html(out, ypi_text_of(one, "kind"));
        ypi_text_add(out, "</span> ");
        ypi_page_html(out, ypi_text_of(one, "text"));
        ypi_text_add(out, " <small data-case=\"");
        ypi_page_html(out, ypi_text_of(one, "about"));
        ypi_text_add(out, "\">");
        ypi_page_html(out, ypi_text_of(one, "about"));
        ypi_text_add(out, "</small></summary>");
        put_list(out, "Evidence", ypi_member(one, "evidence"));
        put_list(out, "Try, in this order", ypi_member(one, "try"));
        ypi_text_add(out, "</details>\n");
    }
    const int left = cJSON_GetArraySize(advice) - number;
    if (left > 0)
        ypi_text_add(out, "<p>%d more, less urgent, are printed by --text.</p>", left);
    ypi_text_add(out, "%s</section>\n", number > ADVICE_OPEN ? "</details>" : "");
}

/* -- plots --------------------------------------------------------------------------------- */

static void put_table(struct ypi_text *out, const struct ypi_plot *plot)
{
    const cJSON *row;
    const cJSON *item;
    ypi_text_add(out, "<details><summary>the numbers</summary><div class=wide><table class=p>"
                      "<caption>");
    ypi_page_html(out, plot->title);
    ypi_text_add(out, "</caption><thead><tr>");
    cJSON_ArrayForEach(item, ypi_member(plot->table, "columns"))
    {
        ypi_text_add(out, "<th scope=col>");
        ypi_page_html(out, cJSON_IsString(item) ? item->valuestring : "");
    }
    ypi_text_add(out, "</thead><tbody>");
    cJSON_ArrayForEach(row, ypi_member(plot->table, "rows"))
    {
        ypi_text_add(out, "<tr>");
        cJSON_ArrayForEach(item, row)
        {
            char number[YPI_FIGURE_MAX] = "";
            if (cJSON_IsNumber(item))
                ypi_format_value(number, item->valuedouble, "");
            ypi_text_add(out, "<td>");
            ypi_page_html(out, cJSON_IsString(item) ? item->valuestring : number);
        }
    }
    ypi_text_add(out, "</tbody></table></div>");
    cJSON_ArrayForEach(item, ypi_member(plot->table, "notes"))
    {
        ypi_text_add(out, "<p>");
        ypi_page_html(out, cJSON_IsString(item) ? item->valuestring : "");
        ypi_text_add(out, "</p>");
    }
    ypi_text_add(out, "</details>");
}

/* A file's first line is not one of a page. */
static const char *without_declaration(const char *svg)
{
    const char *begin = svg != NULL ? strstr(svg, "<svg") : NULL;
    return begin != NULL ? begin : "";
}

static size_t length_of_style(const char *svg)
{
    const char *end = svg != NULL ? strstr(svg, "</style>") : NULL;
    return end != NULL ? (size_t)(end - svg) + strlen("</style>") : 0;
}

/* The rules of one plot hold for all of the page: those that are the same are not repeated. */
static void put_svg(struct ypi_text *out, const char *svg, const char *style, size_t length)
{
    const char *again = style != NULL ? strstr(svg, "<style>") : NULL;
    bool same = again != NULL && strncmp(again, style, length) == 0;
    if (same)
        ypi_text_bytes(out, svg, (size_t)(again - svg));
    ypi_text_add(out, "%s", same ? again + length : svg);
}

struct drawn {
    const char *style; /* of the first plot of the page, which holds for the others */
    size_t length;
    int groups;
    size_t end;  /* of the page's text: no group begins behind it */
    size_t left; /* plots that are not drawn */
};

static void put_plot(struct ypi_text *out, struct ypi_plot *plot, struct drawn *drawn)
{
    const char *svg = without_declaration(ypi_plot_svg(plot));
    ypi_text_add(out, "<figure><figcaption>");
    ypi_page_html(out, plot->title);
    ypi_text_add(out, "</figcaption>");
    put_svg(out, svg, drawn->style, drawn->length);
    ypi_text_add(out, "<output></output>");
    put_table(out, plot);
    ypi_text_add(out, "</figure>\n");
    const char *style = strstr(svg, "<style>");
    if (drawn->style == NULL && style != NULL) {
        drawn->style = style;
        drawn->length = length_of_style(style);
    }
}

enum { GROUPS_OPEN = 3 };

static void put_groups(struct ypi_text *out, const struct ypi_plot_list *plots, bool of_run,
                       struct drawn *drawn)
{
    const char *group = NULL;
    for (size_t i = 0; i < plots->count; i++) {
        struct ypi_plot *plot = &plots->list[i];
        if ((strcmp(plot->group, "run") == 0) != of_run)
            continue;
        const bool begins = group == NULL || strcmp(group, plot->group) != 0;
        if (drawn->left > 0 || (begins && out->length > drawn->end)) {
            drawn->left++;
            continue;
        }
        if (begins) {
            ypi_text_add(out, "%s<details%s><summary><h3>",
                         group != NULL ? "</div></details>\n" : "",
                         drawn->groups++ < GROUPS_OPEN ? " open" : "");
            ypi_page_html(out, of_run ? "The whole run" : plot->group);
            ypi_text_add(out, "</h3></summary><div class=plots>");
            group = plot->group;
        }
        put_plot(out, plot, drawn);
    }
    ypi_text_add(out, "%s", group != NULL ? "</div></details>\n" : "");
}

void ypi_page_plots(struct ypi_text *out, const struct ypi_plot_list *plots, size_t room)
{
    struct drawn drawn = {.end = out->length + room};
    ypi_text_add(out, "<section id=plots><h2>Plots <b>%zu</b></h2>", plots->count);
    put_groups(out, plots, true, &drawn);
    put_groups(out, plots, false, &drawn);
    if (drawn.left > 0)
        ypi_text_add(out,
                     "<p>%zu more would make the page too large: --plots DIR writes all of them, "
                     "-m, -k and ids choose fewer cases.</p>",
                     drawn.left);
    ypi_text_add(out, "</section>\n");
}

/* -- environment --------------------------------------------------------------------------- */

static void put_facts(struct ypi_text *out, const cJSON *run, const cJSON *against)
{
    const cJSON *facts = ypi_member(run, "facts");
    const cJSON *before = ypi_member(against, "facts");
    const cJSON *fact;
    ypi_text_add(out,
                 "<div class=wide><table class=e><caption>Facts of the run</caption><thead><tr><th "
                 "scope=col>fact"
                 "<th scope=col>this run%s</thead><tbody>",
                 against != NULL ? "<th scope=col>before" : "");
    cJSON_ArrayForEach(fact, facts)
    {
        const char *now = cJSON_IsString(fact) ? fact->valuestring : "";
        const char *was = ypi_text_of(before, fact->string);
        bool differs = against != NULL && strcmp(now, was) != 0;
        ypi_text_add(out, "<tr%s><th scope=row>", differs ? " class=x" : "");
        ypi_page_html(out, fact->string);
        ypi_text_add(out, "<td>");
        ypi_page_html(out, now);
        if (against == NULL)
            continue;
        ypi_text_add(out, "<td>");
        ypi_page_html(out, differs ? (*was ? was : "(unknown)") : "same");
    }
    ypi_text_add(out, "</tbody></table></div>");
}

void ypi_page_environment(struct ypi_text *out, const struct ypi_content *content)
{
    const cJSON *run;
    ypi_text_add(out, "<section id=environment><h2>Environment</h2>");
    cJSON_ArrayForEach(run, content->runs)
    {
        ypi_text_add(out, "<details><summary><h3>");
        put_label(out, "Run ", run);
        ypi_text_add(out, "</h3></summary><p class=r><span>command</span><code>");
        ypi_page_html(out, ypi_text_of(run, "command"));
        ypi_text_add(out, "</code></p>");
        put_facts(out, run, content->against);
        ypi_text_add(out, "</details>\n");
    }
    ypi_text_add(out, "<p class=about>History: <code>");
    ypi_page_html(out, content->history);
    ypi_text_add(out, "</code></p></section>\n");
}

static void add_differences(struct ypi_text *out, const cJSON *run, const cJSON *against)
{
    const cJSON *fact;
    cJSON_ArrayForEach(fact, ypi_member(run, "facts"))
    {
        const char *now = cJSON_IsString(fact) ? fact->valuestring : "";
        const char *was = ypi_text_of(ypi_member(against, "facts"), fact->string);
        if (strcmp(now, was) == 0)
            continue;
        ypi_page_open(out, '[');
        ypi_page_string(out, fact->string);
        ypi_page_string(out, now);
        ypi_page_string(out, was);
        ypi_page_close(out, ']');
    }
}

void ypi_page_environment_json(struct ypi_text *out, const struct ypi_content *content)
{
    const cJSON *run;
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(run, content->runs)
    {
        char *label = label_of(run);
        ypi_page_open(out, '[');
        ypi_page_string(out, label);
        ypi_page_string(out, ypi_text_of(ypi_member(run, "facts"), "hostname"));
        ypi_page_open(out, '[');
        if (content->against != NULL)
            add_differences(out, run, content->against);
        ypi_page_close(out, ']');
        ypi_page_close(out, ']');
        free(label);
    }
    ypi_page_close(out, ']');
}
