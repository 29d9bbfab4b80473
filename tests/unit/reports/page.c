/* The page of a report, read back as a browser would: its size, its figures, and what hostile names
 * do to it. */
#include "reports/page/page.h"
#include "base/system/file.h"
#include "base/text/figures.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "reports/page/escape.h"
#include "tests/browser/planted.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_whole(const char *path)
{
    struct ypi_text text = {0};
    char block[65536];
    size_t size;
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s is not there", path);
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        ypi_text_bytes(&text, block, size);
    (void)fclose(file);
    return ypi_text_take(&text);
}

static char *write_page(const struct planted *planted)
{
    char path[] = "/tmp/yieldpoint-page-XXXXXX";
    const struct ypi_content *content = planted_content(planted);
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    (void)close(fd);
    struct ypi_page *page = ypi_page_create(path, content);
    cr_assert(page != NULL, "%s", yp_last_error());
    for (size_t at = 0; at < content->count; at++) {
        cJSON *document = planted_document(planted, at);
        cr_assert(ypi_page_take(page, &content->list[at], document) == YP_OK);
        cJSON_Delete(document);
    }
    struct ypi_plot_list *plots = planted_plots(planted, NULL);
    cJSON *advice = planted_advice(planted);
    enum yp_status status = ypi_page_finish(page, plots, advice);
    cr_assert(status == YP_OK, "%s", yp_last_error());
    ypi_plot_list_free(plots);
    cJSON_Delete(advice);
    char *html = read_whole(path);
    (void)unlink(path);
    return html;
}

/* The text between `begin` and `end` after it, from *at on, which goes behind it; NULL: no more.
 * The caller frees. */
static char *between(const char **at, const char *begin, const char *end)
{
    const char *from = strstr(*at, begin);
    const char *to = from != NULL ? strstr(from + strlen(begin), end) : NULL;
    if (to == NULL)
        return NULL;
    from += strlen(begin);
    *at = to + strlen(end);
    return ypi_format("%.*s", (int)(to - from), from);
}

static cJSON *block(const char *html, const char *id)
{
    char begin[64];
    const char *at = html;
    snprintf(begin, sizeof begin, "<script type=\"application/json\" id=%s>", id);
    char *text = between(&at, begin, "</script>");
    cr_assert(text != NULL, "no block %s", id);
    cJSON *made = cJSON_Parse(text);
    cr_assert(made != NULL, "block %s is no JSON", id);
    free(text);
    return made;
}

static const char *text_at(const cJSON *list, int at)
{
    const cJSON *item = cJSON_GetArrayItem(list, at);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* -- figures --------------------------------------------------------------------------------- */

static void expect_figures(const cJSON *texts, const cJSON *m, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        char wanted[YPI_FIGURE_MAX];
        ypi_format_seconds(wanted, ypi_real(m, names[i]));
        cr_expect(strcmp(text_at(texts, i), wanted) == 0, "%s is '%s', not '%s'", names[i],
                  text_at(texts, i), wanted);
    }
}

static void expect_row(const char *row, const cJSON *m, const cJSON *memory)
{
    char time[YPI_FIGURE_MAX];
    char peak[YPI_FIGURE_MAX];
    ypi_format_seconds(time, ypi_real(m, "median"));
    ypi_format_bytes(peak, ypi_real(cJSON_GetObjectItem(memory, "host"), "allocated_peak"));
    char *wanted = ypi_format("<td>%s<td>", time);
    cr_expect(strstr(row, wanted) != NULL, "'%s' is not in: %s", wanted, row);
    free(wanted);
    wanted = ypi_format("<td>%s<td", peak);
    cr_expect(strstr(row, wanted) != NULL, "'%s' is not in: %s", wanted, row);
    free(wanted);
}

Test(page, figures_are_those_of_the_history_to_the_digit)
{
    static const char *const estimate[] = {"median", "low", "high"};
    static const char *const spread[] = {"min", "max", "mean", "sd"};
    struct planted *planted = planted_make(50, 5, false);
    char *html = write_page(planted);
    cJSON *cases = block(html, "\"d0\"");
    const char *at = html;
    cr_assert(cJSON_GetArraySize(cases) == 50);
    for (int i = 0; i < 46; i++) { /* the others are skipped */
        char begin[32];
        cJSON *document = planted_document(planted, (size_t)i);
        const cJSON *m = cJSON_GetObjectItem(document, "measurements")->child;
        const cJSON *shown = cJSON_GetObjectItem(cJSON_GetArrayItem(cases, i), "m")->child;
        expect_figures(cJSON_GetObjectItem(shown, "e"), m, estimate, 3);
        expect_figures(cJSON_GetObjectItem(shown, "d"), m, spread, 4);
        snprintf(begin, sizeof begin, "<tbody id=c%d>", i);
        char *row = between(&at, begin, "\n");
        cr_assert(row != NULL);
        expect_row(row, m, cJSON_GetObjectItem(document, "memory"));
        free(row);
        cJSON_Delete(document);
    }
    cJSON_Delete(cases);
    free(html);
    planted_free(planted);
}

/* The unit holds until another comes; all three have it, or each its own. */
Test(page, a_past_has_the_figures_of_its_results)
{
    struct planted *planted = planted_make(50, 20, false);
    const struct ypi_content *content = planted_content(planted);
    char *html = write_page(planted);
    cJSON *cases = block(html, "\"d0\"");
    for (int i = 0; i < 46; i++) {
        const cJSON *entry = content->list[i].past->child;
        const cJSON *m = cJSON_GetObjectItem(cJSON_GetArrayItem(cases, i), "m")->child;
        char *past = ypi_strdup(cJSON_GetObjectItem(m, "y")->valuestring);
        char unit[16] = "";
        char *rest = past;
        for (char *point; (point = strsep(&rest, "|")) != NULL; entry = entry->next) {
            const cJSON *was = cJSON_GetObjectItem(entry, "measurements")->child;
            char wanted[YPI_FIGURE_MAX];
            ypi_format_seconds(wanted, ypi_real(was, "median"));
            const char *own = strrchr(point, ' ');
            if (own != NULL)
                snprintf(unit, sizeof unit, "%s", own);
            char *median = strsep(&point, ";");
            char *shown = ypi_format("%s%s", median, strchr(median, ' ') != NULL ? "" : unit);
            cr_expect(strcmp(shown, wanted) == 0, "'%s', not '%s'", shown, wanted);
            free(shown);
        }
        cr_expect(entry == NULL, "case %d misses results", i);
        free(past);
    }
    cJSON_Delete(cases);
    free(html);
    planted_free(planted);
}

/* -- size ------------------------------------------------------------------------------------ */

Test(page, stays_small)
{
    static const struct {
        size_t cases, bytes;
    } bars[] = {{2000, 5000000}, {10000, 15000000}};
    for (size_t i = 0; i < 2; i++) {
        struct planted *planted = planted_make(bars[i].cases, 20, false);
        char *html = write_page(planted);
        cr_expect(strlen(html) < bars[i].bytes, "%zu cases take %zu bytes", bars[i].cases,
                  strlen(html));
        cr_expect(strlen(html) > 500 * bars[i].cases, "that cannot be all of them");
        free(html);
        planted_free(planted);
    }
}

/* -- hostile input --------------------------------------------------------------------------- */

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

static void expect_text_only(const char *html)
{
    for (const char *at = html; *at != '\0';) {
        size_t length = ypi_character(at);
        unsigned char c = (unsigned char)*at;
        cr_assert(length > 0, "byte %zu is no UTF-8", (size_t)(at - html));
        cr_assert(c >= 0x20 || c == '\n' || c == '\t', "a control character at %zu",
                  (size_t)(at - html));
        at += length;
    }
}

Test(page, hostile_names_are_text)
{
    struct planted *planted = planted_make(60, 3, true);
    struct planted *plain = planted_make(60, 3, false);
    char *html = write_page(planted);
    char *usual = write_page(plain);
    expect_text_only(html);
    cr_expect(strstr(html, "window.bad") != NULL, "the hostile names are not there at all");
    cr_expect(strstr(html, "<script>window.bad") == NULL);
    cr_expect(strstr(html, "<img") == NULL);
    cr_expect(strstr(html, "<!--") == NULL);
    cr_expect(count_of(html, "<script") == count_of(usual, "<script"));
    cr_expect(count_of(html, "</script") == count_of(usual, "</script"));
    cr_expect(count_of(html, "<tbody id=c") == 60);
    cJSON_Delete(block(html, "\"d0\""));
    cJSON_Delete(block(html, "\"d1\""));
    cJSON_Delete(block(html, "all"));
    free(html);
    free(usual);
    planted_free(planted);
    planted_free(plain);
}

Test(page, escapes_every_byte)
{
    for (int byte = 1; byte < 256; byte++) {
        struct ypi_text html = {0};
        struct ypi_text json = {0};
        char text[] = {'a', (char)byte, 'b', '\0'};
        ypi_page_html(&html, text);
        ypi_page_string(&json, text);
        expect_text_only(html.data);
        expect_text_only(json.data);
        cr_expect(strpbrk(html.data, "<>\"'") == NULL, "byte %d is markup", byte);
        cr_expect(strpbrk(json.data, "<>&\n") == NULL, "byte %d ends a script", byte);
        cJSON *read = cJSON_Parse(json.data);
        cr_expect(cJSON_IsString(read), "byte %d is no JSON", byte);
        if (byte >= 0x20 && byte < 0x7f)
            cr_expect(strcmp(read->valuestring, text) == 0, "byte %d is changed", byte);
        cJSON_Delete(read);
        free(html.data);
        free(json.data);
    }
}

/* -- little, and nothing --------------------------------------------------------------------- */

Test(page, a_case_of_which_nothing_is_known)
{
    struct planted *planted = planted_make(1, 0, false);
    const struct ypi_content *content = planted_content(planted);
    struct ypi_report_case bare = {.section = YPI_FAILED};
    char path[] = "/tmp/yieldpoint-page-XXXXXX";
    cJSON *document = cJSON_CreateObject();
    cJSON *odd = cJSON_Parse("{\"measurements\":[{\"median\":null,\"samples\":[null,\"inf\"]},"
                             "{\"median\":1,\"low\":\"-inf\",\"high\":\"inf\",\"samples\":[1]}],"
                             "\"series\":{\"clock\":{\"count\":0,\"seconds\":[],\"values\":[]}},"
                             "\"budgets\":[{}],\"failures\":[{}],\"memory\":{\"host\":{}}}");
    (void)close(mkstemp(path));
    struct ypi_page *page = ypi_page_create(path, content);
    cr_assert(ypi_page_take(page, &bare, document) == YP_OK);
    cr_assert(ypi_page_take(page, &bare, odd) == YP_OK);
    cr_assert(ypi_page_finish(page, NULL, NULL) == YP_OK);
    char *html = read_whole(path);
    cJSON *cases = block(html, "\"d0\"");
    cr_expect(cJSON_GetArraySize(cases) == 2);
    cr_expect(strstr(html, "id=plots") == NULL);
    cr_expect(strstr(html, "nan") == NULL || strstr(html, ">nan") == NULL);
    cJSON_Delete(cases);
    cJSON_Delete(document);
    cJSON_Delete(odd);
    free(html);
    (void)unlink(path);
    planted_free(planted);
}

Test(page, without_cases)
{
    struct planted *planted = planted_make(0, 0, false);
    char *html = write_page(planted);
    cJSON_Delete(block(html, "all"));
    cr_expect(strstr(html, "</html>") != NULL);
    cr_expect(count_of(html, "application/json") == 1);
    free(html);
    planted_free(planted);
}

Test(page, appears_whole_or_not_at_all)
{
    struct planted *planted = planted_make(5, 0, false);
    cr_expect(ypi_page_create("/nowhere/there/page.html", planted_content(planted)) == NULL);
    cr_expect(strstr(yp_last_error(), "/nowhere/there") != NULL, "%s", yp_last_error());
    char folder[] = "/tmp/yieldpoint-page-XXXXXX";
    cr_assert(mkdtemp(folder) != NULL);
    char *path = ypi_format("%s/page.html", folder);
    struct ypi_page *page = ypi_page_create(path, planted_content(planted));
    cr_expect(access(path, F_OK) != 0, "it is there before it is whole");
    cr_expect(ypi_page_finish(page, NULL, NULL) == YP_OK);
    cr_expect(access(path, F_OK) == 0);
    (void)unlink(path);
    (void)rmdir(folder);
    free(path);
    planted_free(planted);
}
