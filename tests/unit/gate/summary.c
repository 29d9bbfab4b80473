/* What a comparison looks like, with names that would take hold of a terminal or a table. */
#include "gate/summary.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(gate_summary, .timeout = 30);

static struct ypi_comparisons all;

static void begin(void)
{
    all =
        (struct ypi_comparisons){.threshold = 0.03, .error = 0.01, .seconds = 12.3, .whole = true};
    all.base.name = ypi_strdup("main");
    all.base.commit = ypi_strdup("0123456789abcdef");
    all.head.name = ypi_strdup("WORKTREE");
    all.head.commit = ypi_strdup("fedcba9876543210");
    all.head.dirty = true;
}

static void end(void)
{
    ypi_comparisons_clear(&all);
}

static struct ypi_comparison *add_time(const char *id, enum ypi_compared verdict, double ratio)
{
    struct ypi_comparison *c = ypi_comparison_add(&all, id, YPI_QUANTITY_TIME, "fit");
    c->verdict = verdict;
    c->base = 1e-3;
    c->head = ratio * 1e-3;
    c->ratio = ratio;
    c->low = ratio - 0.02;
    c->high = ratio + 0.02;
    c->pairs = 14;
    return c;
}

static char *text_of(bool verbose, bool markdown)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (markdown)
        ypi_summary_markdown(out, &all);
    else
        ypi_summary_text(out, &all, verbose);
    fclose(out);
    return text;
}

Test(gate_summary, what_is_worse_comes_first, .init = begin, .fini = end)
{
    add_time("a.c::same", YPI_COMPARED_SAME, 1.001);
    add_time("b.c::quick", YPI_COMPARED_BETTER, 0.8);
    add_time("c.c::slow", YPI_COMPARED_WORSE, 1.1);
    struct ypi_comparison *c = ypi_comparison_add(&all, "c.c::slow", YPI_QUANTITY_VALUE, "auc");
    c->verdict = YPI_COMPARED_CHANGED;
    c->base = 0.1;
    c->head = 0.1000000001;
    ypi_comparison_add(&all, "d.c::new", YPI_QUANTITY_CASE, NULL)->verdict = YPI_COMPARED_NEW;
    ypi_comparisons_note(&all, "said %s", "once");
    char *text = text_of(false, false);
    cr_expect_str_eq(
        text, "base main (0123456789), head WORKTREE (fedcba9876, not committed)\n"
              "note: said once\n"
              "slower        c.c::slow\n"
              "              time of fit 1 ms -> 1.1 ms, 1.1 times [1.080, 1.120] in 14 pairs\n"
              "changed       c.c::slow\n"
              "              value of auc 0.1 -> 0.1000000001\n"
              "faster        b.c::quick\n"
              "              time of fit 1 ms -> 800 us, 0.8 times [0.780, 0.820] in 14 pairs\n"
              "only in head  d.c::new\n"
              "              case\n"
              "1 slower, 1 changed, 1 faster, 1 only in head, 1 same in 12 s\n");
    free(text);
    text = text_of(true, false);
    cr_expect_not_null(strstr(text, "same          a.c::same\n"));
    free(text);
    cr_expect_eq(ypi_summary_exit(&all), YPI_GATE_WORSE);
}

Test(gate_summary, an_interval_without_ends_is_none, .init = begin, .fini = end)
{
    struct ypi_comparison *c = add_time("a", YPI_COMPARED_UNSURE, 1.05);
    c->low = 0;
    c->high = INFINITY;
    c->pairs = 1;
    char *text = text_of(false, false);
    cr_expect_not_null(strstr(text, "1.05 times in 1 pair\n"), "%s", text);
    free(text);
    c->low = 0.9;
    text = text_of(false, false);
    cr_expect_not_null(strstr(text, "1.05 times [0.900, ?] in 1 pair\n"), "%s", text);
    free(text);
}

Test(gate_summary, names_do_no_harm, .init = begin, .fini = end)
{
    add_time("a|b`<i>\033[31m\n::x[y=*z*]", YPI_COMPARED_WORSE, 1.1);
    char *text = text_of(false, false);
    cr_expect_null(strchr(text, '\033'), "%s", text);
    cr_expect_not_null(strstr(text, "a|b`<i>?[31m?::x[y=*z*]\n"), "%s", text);
    free(text);
    text = text_of(false, true);
    cr_expect_not_null(strstr(text, "| slower | a\\|b\\`&lt;i&gt; \\[31m ::x\\[y=\\*z\\*\\] |"),
                       "%s", text);
    free(text);
    cJSON *document = ypi_summary_document(&all);
    char *json = cJSON_PrintUnformatted(document);
    cJSON *again = cJSON_Parse(json);
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(again, "comparisons"), 0);
    cr_expect_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(first, "case")), all.list[0].id);
    cr_expect_eq(cJSON_GetObjectItem(again, "exit_code")->valueint, 1);
    cJSON_Delete(again);
    cJSON_Delete(document);
    cJSON_free(json);
}
