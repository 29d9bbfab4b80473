/* What a comparison looks like, with names that would take hold of a terminal or a table. */
#include "gate/summary.h"

#include "base/text/text.h"
#include "gate/report.h"

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
              "              time of fit 1 ms -> 1.1 ms, 1.100 times [1.080, 1.120] in 14 pairs\n"
              "changed       c.c::slow\n"
              "              value of auc 0.1 -> 0.1000000001\n"
              "faster        b.c::quick\n"
              "              time of fit 1 ms -> 800 us, 0.800 times [0.780, 0.820] in 14 pairs\n"
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
    cr_expect_not_null(strstr(text, "1.050 times in 1 pair\n"), "%s", text);
    free(text);
    c->low = 0.9;
    text = text_of(false, false);
    cr_expect_not_null(strstr(text, "1.050 times [0.900, ?] in 1 pair\n"), "%s", text);
    free(text);
}

/* Of a figure that repeats exactly, two digits of the difference, however small it is. */
Test(gate_summary, a_small_difference_is_seen_in_the_ratio, .init = begin, .fini = end)
{
    static const struct {
        double head;
        const char *words;
    } cases[] = {{1.00005, "1.000050 times"},
                 {0.996, "0.9960 times"},
                 {1.0051, "1.005 times"},
                 {2, "2.000 times"},
                 {0.0123, "0.012300 times"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ypi_comparison *c =
            ypi_comparison_add(&all, "a.c::x", YPI_QUANTITY_INSTRUCTIONS, "fit");
        c->verdict = YPI_COMPARED_WORSE;
        c->base = 1;
        c->head = c->ratio = cases[i].head;
    }
    char *text = text_of(false, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect(strstr(text, cases[i].words) != NULL, "%s is not in\n%s", cases[i].words, text);
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

/* Each of the three is estimated by itself. */
Test(gate_summary, the_figures_of_a_time_agree, .init = begin, .fini = end)
{
    static const struct {
        double base, head, ratio, low, high, wanted;
    } cases[] = {
        {1e-3, 1.04e-3, 1.036, 0.995, 1.030, 1.030}, /* above its interval */
        {1e-3, 0.99e-3, 0.97, 0.98, 1.02, 0.98},     /* below it */
        {1e-3, 1.30e-3, 1.02, 0.99, 1.05, 1.02},     /* the times say something else */
        {1e-3, 1e-3, 1.2, 0, INFINITY, 1.2},         /* no interval yet */
        {1e-3, 1e-3, 0.99957, 0.9995, 1.1, 0.99957}, /* as they are printed, too */
        {1e-3, 1e-3, 0.00123, 0.00122, 0.00124, 0.00123},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int by_share = 0; by_share < 2; by_share++) {
            struct ypi_comparison *c = add_time("a.c::x", YPI_COMPARED_SAME, cases[i].ratio);
            bool swap = by_share != 0;
            c->by_share = swap;
            c->base = swap ? cases[i].head : cases[i].base;
            c->head = swap ? cases[i].base : cases[i].head;
            c->low = cases[i].low;
            c->high = cases[i].high;
            double size = c->base * c->head;
            ypi_comparison_agree(c);
            double quotient = swap ? c->base / c->head : c->head / c->base;
            cr_assert_float_eq(c->ratio, cases[i].wanted, 1e-12, "case %zu", i);
            cr_assert_float_eq(quotient, c->ratio, 1e-9, "case %zu: %g", i, quotient);
            cr_assert_float_eq(c->base * c->head / size, 1, 1e-9, "case %zu: their size", i);
            struct ypi_text text = {0};
            ypi_summary_change(&text, c);
            double printed[3] = {0};
            const char *at = strstr(text.data, ", ");
            int found = sscanf(at, ", %lf times [%lf, %lf]", &printed[0], &printed[1], &printed[2]);
            cr_assert(found == 1 || (printed[1] <= printed[0] && printed[0] <= printed[2]), "%s",
                      text.data);
            free(ypi_text_take(&text));
        }
}

Test(gate_summary, a_log_gets_a_line_every_30_s)
{
    double told = 100;
    int lines = 0;
    for (double now = 100; now <= 220; now += 0.5)
        lines += ypi_report_is_due(&told, now, false);
    cr_assert_eq(lines, 4);
    cr_assert(ypi_report_is_due(&told, 220, true) && ypi_report_is_due(&told, 220, true),
              "on a terminal each");
    cr_assert(!ypi_report_is_due(&told, 249, false) && ypi_report_is_due(&told, 250, false));
}
