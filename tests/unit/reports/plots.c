/* Plots of planted documents and tables: which axis is which, the frontier, exponents, the
 * roofline, hostile input. The numbers in tables are those of the documents. */
#include "reports/plots/internal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/device.h>

/* -- planted documents --------------------------------------------------------------------- */

/* A case "t.c::TEST[...]" with axes as JSON; a measurement of that many seconds, +- 1 %. */
static cJSON *document_of(const char *test, const char *axes, double seconds, double items,
                          double peak)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"case\": {\"id\": \"t.c::%s[%p]\", \"device\": \"\", \"axes\": %s},"
             " \"result\": {\"outcome\": \"passed\"},"
             " \"memory\": {\"host\": {\"allocated_peak\": %.17g}},"
             " \"measurements\": [{\"name\": \"work\", \"unit\": \"images\", \"items\": %.17g,"
             " \"median\": %.17g, \"mean\": %.17g, \"low\": %.17g, \"high\": %.17g,"
             " \"bound\": \"\", \"share\": null, \"phases\": [], \"bounds\": []}]}",
             test, (const void *)axes, axes, peak, items, seconds, seconds, seconds, seconds);
    cJSON *document = cJSON_Parse(text);
    cr_assert_not_null(document, "%s", text);
    return document;
}

static void take(struct ypi_plots *plots, cJSON *document)
{
    cr_assert(ypi_plots_take(plots, NULL, document) == YP_OK);
    cJSON_Delete(document);
}

static struct ypi_plot *find(const struct ypi_plot_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->list[i].name, name) == 0)
            return &list->list[i];
    return NULL;
}

static struct ypi_plot *get(const struct ypi_plot_list *list, const char *name)
{
    struct ypi_plot *plot = find(list, name);
    for (size_t i = 0; i < list->count && plot == NULL; i++)
        fprintf(stderr, "there is %s\n", list->list[i].name);
    cr_assert_not_null(plot, "no %s", name);
    return plot;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        count++;
    return count;
}

static const cJSON *cell(struct ypi_plot *plot, int row, const char *column)
{
    const cJSON *names = cJSON_GetObjectItem(plot->table, "columns");
    for (int i = 0; i < cJSON_GetArraySize(names); i++)
        if (strcmp(cJSON_GetArrayItem(names, i)->valuestring, column) == 0)
            return cJSON_GetArrayItem(
                cJSON_GetArrayItem(cJSON_GetObjectItem(plot->table, "rows"), row), i);
    cr_assert_fail("no column %s", column);
    return NULL;
}

static int rows_of(struct ypi_plot *plot)
{
    return cJSON_GetArraySize(cJSON_GetObjectItem(plot->table, "rows"));
}

static bool notes(struct ypi_plot *plot, const char *what)
{
    const cJSON *note;
    cJSON_ArrayForEach(note, cJSON_GetObjectItem(plot->table, "notes"))
    {
        if (strstr(note->valuestring, what) != NULL)
            return true;
    }
    return false;
}

/* -- the frontier -------------------------------------------------------------------------- */

Test(frontier, is_what_no_other_beats)
{
    const double cost[] = {4, 1, 2, 2, 3, 5, 1, NAN, 6, 3};
    const double gain[] = {7, 2, 5, 6, 6, 9, 2, 99, INFINITY, 1};
    size_t out[10];
    cr_assert_eq(ypi_plot_frontier(cost, gain, 10, out), 4);
    const size_t wanted[] = {1, 3, 0, 5}; /* of equals the first; 3 for 6 is beaten by 2 for 6 */
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(out[i], wanted[i], "%zu: %zu", i, out[i]);
    cr_expect_eq(ypi_plot_frontier(cost, gain, 0, out), 0);
    cr_expect_eq(ypi_plot_frontier(cost + 7, gain + 7, 2, out), 0);
    cr_expect_eq(ypi_plot_frontier(cost, gain, 1, out), 1);
}

/* -- which axis is which ------------------------------------------------------------------- */

static void expect_roles(const char *const *axes, size_t count, const char *size, const char *batch)
{
    struct ypi_plots plots = {0};
    struct ypi_plot_roles roles;
    const struct ypi_plot_case *cases[8];
    for (size_t i = 0; i < count; i++)
        take(&plots, document_of("roles", axes[i], 1, 1, 1));
    for (size_t i = 0; i < count; i++)
        cases[i] = &plots.cases[i];
    ypi_plot_roles_of(cases, count, &roles);
    cr_expect_str_eq(roles.size != NULL ? roles.size : "none", size);
    cr_expect_str_eq(roles.batch != NULL ? roles.batch : "none", batch);
    free(roles.names);
    ypi_plots_clear_cases(&plots);
}
#define EXPECT_ROLES(size, batch, ...) \
    expect_roles((const char *const[]){__VA_ARGS__}, \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), size, batch)

Test(axes, size_and_batch)
{
    EXPECT_ROLES("tile", "batch", "{\"depth\": 1, \"tile\": 64, \"batch\": 1}",
                 "{\"depth\": 2, \"tile\": 128, \"batch\": 2}");
    /* A size in words is a series; context is a number. */
    EXPECT_ROLES("context", "batch", "{\"size\": \"small\", \"context\": 128, \"batch\": 1}",
                 "{\"size\": \"base\", \"context\": 256, \"batch\": 4}");
    /* Of axes without a known name the one with most values. */
    EXPECT_ROLES("beta", "none", "{\"alpha\": 1, \"beta\": 1}", "{\"alpha\": 2, \"beta\": 2}",
                 "{\"alpha\": 2, \"beta\": 3}");
    /* The batch alone is the size; an axis with one value is none. */
    EXPECT_ROLES("batch", "none", "{\"channels\": 7, \"batch\": 1}",
                 "{\"channels\": 7, \"batch\": 2}");
    EXPECT_ROLES("none", "none", "{\"size\": \"a\"}", "{\"size\": \"b\"}");
    EXPECT_ROLES("none", "none", "{}", "{}");
    /* A case without the axis, or with a text: it is no axis of numbers. */
    EXPECT_ROLES("none", "none", "{\"tile\": 64}", "{\"tile\": 128}", "{}");
    EXPECT_ROLES("none", "none", "{\"batch\": 64}", "{\"batch\": \"all\"}");
}

/* -- the four plots ------------------------------------------------------------------------ */

static struct ypi_plot_list *sweep_of(const char *test)
{
    static const char *const axes[] = {
        "{\"tile\": 64, \"batch\": 1}",  "{\"tile\": 128, \"batch\": 1}",
        "{\"tile\": 256, \"batch\": 1}", "{\"tile\": 64, \"batch\": 4}",
        "{\"tile\": 128, \"batch\": 4}", "{\"tile\": 256, \"batch\": 4}"};
    struct ypi_plots *plots = ypi_plots_create();
    for (int i = 5; i >= 0; i--) { /* in another order than they are drawn in */
        double tile = 64 << (i % 3);
        double batch = i < 3 ? 1 : 4;
        take(plots, document_of(test, axes[i], 1e-7 * tile * tile * sqrt(batch), batch,
                                1e3 * tile * tile * batch + 0.125));
    }
    return ypi_plots_finish(plots);
}

Test(sweep, tables_have_the_figures_of_the_documents)
{
    struct ypi_plot_list *list = sweep_of("sweep");
    struct ypi_plot *memory = get(list, "t.c-sweep-memory");
    struct ypi_plot *rate = get(list, "t.c-sweep-throughput");
    cr_expect_str_eq(memory->group, "t.c::sweep");
    cr_expect_eq(rows_of(memory), 6);
    for (int i = 0; i < 6; i++) { /* by batch, then by tile */
        double tile = 64 << (i % 3);
        double batch = i < 3 ? 1 : 4;
        cr_expect(cell(memory, i, "tile")->valuedouble == tile);
        cr_expect(cell(memory, i, "batch")->valuedouble == batch);
        cr_expect(cell(memory, i, "peak memory (bytes)")->valuedouble ==
                  1e3 * tile * tile * batch + 0.125);
        cr_expect(cell(rate, i, "median (s)")->valuedouble == 1e-7 * tile * tile * sqrt(batch));
        cr_expect(cell(rate, i, "images/s")->valuedouble ==
                  batch / (1e-7 * tile * tile * sqrt(batch)));
    }
    /* A line for each batch, six marks, named in the legend. */
    cr_expect_eq(count_of(ypi_plot_svg(memory), "<path class=\"l "), 4);
    cr_expect_eq(count_of(ypi_plot_svg(memory), " data-x="), 6);
    cr_expect_eq(count_of(ypi_plot_svg(memory), ">batch 4</text>"), 1);
    cr_expect_not_null(strstr(ypi_plot_svg(rate), "Throughput (k images/s)"));
    ypi_plot_list_free(list);
}

Test(sweep, frontier_in_the_plot)
{
    struct ypi_plot_list *list = sweep_of("sweep");
    struct ypi_plot *plot = get(list, "t.c-sweep-memory-throughput");
    /* Memory goes as batch, the rate as its root: 64 alone is on it, at either batch. */
    for (int i = 0; i < 6; i++)
        cr_expect_str_eq(cell(plot, i, "on the frontier")->valuestring, i % 3 == 0 ? "yes" : "no",
                         "row %d", i);
    cr_expect_eq(count_of(ypi_plot_svg(plot), "<path class=\"m c0 k\"") +
                     count_of(ypi_plot_svg(plot), "<path class=\"m c1 k\""),
                 2);
    ypi_plot_list_free(list);
}

Test(scaling, planted_exponents)
{
    struct ypi_plot_list *list = sweep_of("sweep");
    struct ypi_plot *time = get(list, "t.c-sweep-time-over-tile");
    cr_expect(notes(time, "batch 1: time grows as tile^2 (99 %: 2 to 2); twice the tile, 4 times "
                          "the time"));
    cr_expect_not_null(strstr(ypi_plot_svg(time), ">batch 4: exponent 2 [2, 2]</text>"));
    cr_expect_not_null(get(list, "t.c-sweep-memory-over-tile"));
    cr_expect_null(
        find(list, "t.c-sweep-time-over-batch")); /* two batches: no scatter to judge by */
    ypi_plot_list_free(list);
}

Test(scaling, intervals_of_the_points_count)
{
    struct ypi_plots *plots = ypi_plots_create();
    static const char *const axes[] = {"{\"n\": 10}", "{\"n\": 100}", "{\"n\": 1000}"};
    for (int i = 0; i < 3; i++) {
        cJSON *document = document_of("law", axes[i], pow(10, 1.5 * i), 1, 5);
        cJSON *m = cJSON_GetArrayItem(cJSON_GetObjectItem(document, "measurements"), 0);
        cJSON_SetNumberValue(cJSON_GetObjectItem(m, "low"), pow(10, 1.5 * i - 0.5));
        cJSON_SetNumberValue(cJSON_GetObjectItem(m, "high"), pow(10, 1.5 * i + 0.5));
        take(plots, document);
    }
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    /* Half a decade at either end of two: the slope is off by 0.5 at most. */
    cr_expect(notes(get(list, "t.c-law-time-over-n"),
                    "n^1.5 (99 %: 1 to 2); twice the n, 2.83 times the time (2 to 4)"));
    ypi_plot_list_free(list);
}

Test(sweep, of_what_is_not_there)
{
    struct ypi_plots *plots = ypi_plots_create();
    take(plots, document_of("one", "{\"n\": 1}", 1, 1, 1));
    take(plots, document_of("text", "{\"by\": \"a\"}", 1, 1, 1));
    take(plots, document_of("text", "{\"by\": \"b\"}", 2, 1, 2));
    take(plots, cJSON_Parse("{\"case\": {\"id\": \"t.c::gone[1]\", \"axes\": {\"n\": 1}},"
                            " \"measurements\": [{\"name\": \"work\", \"median\": null}],"
                            " \"memory\": {\"host\": {\"allocated_peak\": \"inf\"}}}"));
    take(plots, cJSON_Parse("{\"case\": {\"id\": \"t.c::gone[2]\", \"axes\": {\"n\": 2}},"
                            " \"result\": {\"outcome\": \"crashed\"}}"));
    take(plots, cJSON_Parse("{}"));
    take(plots, cJSON_Parse("[3]"));
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    for (size_t i = 0; i < list->count; i++)
        cr_expect_str_eq(list->list[i].group, "t.c::text", "%s", list->list[i].name);
    cr_expect_eq(list->count, 2); /* bars and the trade-off need no size */
    ypi_plot_list_free(list);
    list = ypi_plots_finish(ypi_plots_create());
    cr_expect_eq(list->count, 0);
    ypi_plot_list_free(list);
}

/* A case that crashed stays in the table, and the picture says that it is not drawn. */
Test(sweep, missing_figures_are_told)
{
    struct ypi_plots *plots = ypi_plots_create();
    take(plots, document_of("part", "{\"n\": 1}", 1, 1, 10));
    take(plots, document_of("part", "{\"n\": 2}", 2, 1, 20));
    take(plots, cJSON_Parse("{\"case\": {\"id\": \"t.c::part[3]\", \"axes\": {\"n\": 4}},"
                            " \"result\": {\"outcome\": \"crashed\"}}"));
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    struct ypi_plot *plot = get(list, "t.c-part-memory");
    cr_expect_eq(rows_of(plot), 3);
    cr_expect(cJSON_IsNull(cell(plot, 2, "peak memory (bytes)")));
    cr_expect_str_eq(cell(plot, 2, "outcome")->valuestring, "crashed");
    cr_expect(notes(plot, "1 of 3 cases have no such figure"));
    cr_expect_not_null(strstr(ypi_plot_svg(plot), "1 of 3 cases"));
    ypi_plot_list_free(list);
}

/* More than eight series: a picture for each value of the axis with the fewest. */
Test(sweep, many_series_are_split)
{
    struct ypi_plots *plots = ypi_plots_create();
    char axes[3 * 4 * 2][128];
    for (int i = 0; i < 3 * 4 * 2; i++) {
        snprintf(axes[i], sizeof axes[i], "{\"mode\": \"m%d\", \"by\": \"b%d\", \"n\": %d}", i % 3,
                 i / 3 % 4, 1 + i / 12);
        take(plots, document_of("many", axes[i], 1 + i, 1, 1 + i));
    }
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    struct ypi_plot *plot = get(list, "t.c-many-mode-m1-memory");
    cr_expect_str_eq(plot->title, "Peak memory: t.c::many, mode m1");
    cr_expect_eq(rows_of(plot), 8);
    cr_expect_eq(count_of(ypi_plot_svg(plot), " data-x="), 8);
    cr_expect_null(find(list, "t.c-many-memory"));
    ypi_plot_list_free(list);
}

/* -- phases -------------------------------------------------------------------------------- */

Test(phases, and_the_rest)
{
    struct ypi_plots *plots = ypi_plots_create();
    static const char *const axes[] = {"{\"n\": 1}", "{\"n\": 2}"};
    for (int i = 0; i < 2; i++) {
        cJSON *document = document_of("phases", axes[i], 10, 1, 5);
        cJSON *m = cJSON_GetArrayItem(cJSON_GetObjectItem(document, "measurements"), 0);
        cJSON_ReplaceItemInObject(m, "phases",
                                  cJSON_Parse("[{\"name\": \"forward\", \"seconds\": 3},"
                                              " {\"name\": \"back<\", \"seconds\": 5}]"));
        take(plots, document);
    }
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    struct ypi_plot *plot = get(list, "t.c-phases-phases");
    cr_expect(cell(plot, 1, "forward (s)")->valuedouble == 3);
    cr_expect(cell(plot, 1, "back< (s)")->valuedouble == 5);
    cr_expect(cell(plot, 1, "mean (s)")->valuedouble == 10);
    cr_expect_not_null(strstr(ypi_plot_svg(plot), "<title>n 2, back&lt;: 5 s</title>"));
    cr_expect_not_null(strstr(ypi_plot_svg(plot), "<title>n 2, rest: 2 s</title>"));
    ypi_plot_list_free(list);
}

/* -- the roofline -------------------------------------------------------------------------- */

static void take_spot(struct ypi_plots *plots, const char *id, double flops, double bytes,
                      const char *bound, double seconds)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"case\": {\"id\": \"%s\", \"device\": \"cpu\", \"axes\": {}},"
             " \"measurements\": [{\"name\": \"m\", \"unit\": \"\", \"flops\": %.17g,"
             " \"bytes\": %.17g, \"median\": %.17g, \"mean\": 1, \"bound\": \"%s\","
             " \"share\": 0.5, \"phases\": [], \"bounds\": ["
             "{\"ceiling\": \"fp32\", \"level\": \"\", \"threads\": 2, \"rate\": 1e11},"
             "{\"ceiling\": \"read\", \"level\": \"memory\", \"threads\": 2, \"rate\": 1e10},"
             "{\"ceiling\": \"copy\", \"level\": \"memory\", \"threads\": 2, \"rate\": 8e9},"
             "{\"ceiling\": \"read\", \"level\": \"L2\", \"threads\": 2, \"rate\": 5e10}]}]}",
             id, flops, bytes, seconds, bound);
    take(plots, cJSON_Parse(text));
}

Test(roofline, places_cases_under_their_roofs)
{
    struct ypi_plots *plots = ypi_plots_create();
    take_spot(plots, "t.c::a[1]", 4e9, 1e9, "read", 0.25);
    take_spot(plots, "t.c::b[1]", 4e10, 1e9, "fp32", 1);
    take_spot(plots, "t.c::bytes", 0, 1e9, "read", 0.5);
    take_spot(plots, "t.c::flops", 1e9, 0, "fp32", 0.5);
    take_spot(plots, "t.c::few", 10, 1e9, "read", 0.5);
    take_spot(plots, "t.c::none", 0, 0, "", 0.5);
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    struct ypi_plot *plot = get(list, "cpu-roofline");
    cr_expect_str_eq(plot->group, "run");
    cr_expect_eq(rows_of(plot), 6);
    cr_expect(cell(plot, 0, "intensity (FLOP/B)")->valuedouble == 4);
    cr_expect(cell(plot, 0, "rate (FLOP/s)")->valuedouble == 1.6e10);
    cr_expect(cell(plot, 0, "traffic (B/s)")->valuedouble == 4e9);
    cr_expect_eq(count_of(ypi_plot_svg(plot), " data-x="), 2);
    cr_expect_not_null(
        strstr(ypi_plot_svg(plot), "data-x=\"4\" data-y=\"1.6e+10\" data-case=\"t.c::a[1]\""));
    cr_expect_not_null(strstr(ypi_plot_svg(plot),
                              "<title>t.c::b[1], m: 40 GFLOP/s at 40 FLOP/B, limited by "
                              "fp32, share 0.5</title>"));
    cr_expect(notes(plot, "2 with bytes and no operations"));
    cr_expect(notes(plot, "1 with operations and no bytes"));
    cr_expect(notes(plot, "1 measurements have neither"));
    cr_expect(notes(plot, "fp32: 100 GFLOP/s, the median of 6 probes"));
    /* Of read and copy the faster one is the roof. */
    cr_expect(notes(plot, "read from memory: 10 GB/s") && !notes(plot, "copy from memory"));
    ypi_plot_list_free(list);
}

Test(roofline, counts_what_is_not_drawn_and_no_zero)
{
    static const struct {
        double flops, bytes;
        const char *note;
    } left[] = {
        {1e9, 0, "Not drawn (in the table): 1 with operations and no bytes."},
        {0, 1e9,
         "Not drawn (in the table): 1 with bytes and no operations, or less than one in 1,000 "
         "bytes."}};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        struct ypi_plots *plots = ypi_plots_create();
        take_spot(plots, "t.c::a[1]", 4e9, 1e9, "read", 0.25);
        take_spot(plots, "t.c::left", left[i].flops, left[i].bytes, "fp32", 0.5);
        struct ypi_plot_list *list = ypi_plots_finish(plots);
        cr_expect(notes(get(list, "cpu-roofline"), left[i].note));
        ypi_plot_list_free(list);
    }
}

/* A case of `threads` threads, which its ceiling of integers or of an upload limits. */
static void take_limited(struct ypi_plots *plots, const char *id, int threads, const char *ceiling)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"case\": {\"id\": \"%s\", \"device\": \"cpu\", \"axes\": {}},"
             " \"measurements\": [{\"name\": \"m\", \"unit\": \"\", \"flops\": 4e9, \"bytes\": 1e9,"
             " \"median\": 0.5, \"mean\": 1, \"bound\": \"%s\", \"share\": 0.5, \"threads\": %d,"
             " \"phases\": [], \"bounds\": ["
             "{\"ceiling\": \"fp32\", \"level\": \"\", \"threads\": %d, \"rate\": %d00e9},"
             "{\"ceiling\": \"int8\", \"level\": \"\", \"threads\": %d, \"rate\": 8e11},"
             "{\"ceiling\": \"upload\", \"level\": \"\", \"threads\": %d, \"rate\": 2e10},"
             "{\"ceiling\": \"launch\", \"level\": \"\", \"threads\": %d, \"rate\": 1e5}]}]}",
             id, ceiling, threads, threads, threads, threads, threads, threads);
    take(plots, cJSON_Parse(text));
}

Test(roofline, each_number_of_threads_has_its_own)
{
    struct ypi_plots *plots = ypi_plots_create();
    take_limited(plots, "t.c::a[1]", 4, "fp32");
    take_limited(plots, "t.c::b[1]", 1, "fp32");
    take_limited(plots, "t.c::c[1]", 4, "fp32");
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    struct ypi_plot *most = get(list, "cpu-roofline");
    struct ypi_plot *one = get(list, "cpu-1-thread-roofline");
    cr_expect_str_eq(most->title, "Roofline: cpu, 4 threads");
    cr_expect_str_eq(one->title, "Roofline: cpu, 1 thread");
    cr_expect(rows_of(most) == 2 && rows_of(one) == 1);
    cr_expect(notes(most, "fp32: 400 GFLOP/s, the median of 2 probes"));
    cr_expect(notes(one, "fp32: 100 GFLOP/s, the median of 1 probes"));
    ypi_plot_list_free(list);
}

Test(roofline, ceilings_of_integers_and_transfers_are_roofs_of_what_they_limit)
{
    static const struct {
        const char *limit;
        bool integers, upload;
    } of[] = {{"fp32", false, false}, {"int8", true, false}, {"upload", false, true}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct ypi_plots *plots = ypi_plots_create();
        take_limited(plots, "t.c::a[1]", 1, of[i].limit);
        struct ypi_plot_list *list = ypi_plots_finish(plots);
        struct ypi_plot *plot = get(list, "cpu-roofline");
        cr_expect_eq(notes(plot, "int8: 800 G op/s"), of[i].integers, "%s", of[i].limit);
        cr_expect_eq(notes(plot, "upload: 20 GB/s"), of[i].upload, "%s", of[i].limit);
        cr_expect(!notes(plot, "launch"));
        ypi_plot_list_free(list);
    }
}

Test(roofline, many_marks_are_thinned)
{
    struct ypi_plots *plots = ypi_plots_create();
    for (int i = 0; i < 700; i++) {
        char id[64];
        snprintf(id, sizeof id, "t.c::%s[%d]", i % 2 ? "odd" : "even", i);
        take_spot(plots, id, 1e9 + i, 1e9, "read", 1);
    }
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    struct ypi_plot *plot = get(list, "cpu-roofline");
    cr_expect_eq(count_of(ypi_plot_svg(plot), " data-x="), 4);
    cr_expect_eq(rows_of(plot), 700);
    cr_expect_not_null(strstr(ypi_plot_svg(plot), ": 4 of 700."));
    ypi_plot_list_free(list);
}

/* -- hostile ------------------------------------------------------------------------------- */

Test(plots, hostile_names)
{
    char *longest = ypi_calloc(5000, 1);
    memset(longest, 'x', 4096);
    const char *const names[] = {
        "</script><script>alert(1)</script>", "\x01\xff\"'&", longest, "", "../../etc/passwd", "é"};
    struct ypi_plots *plots = ypi_plots_create();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 1; k < 7; k++) {
            struct ypi_plot_case *c = ypi_plots_add_case(plots, names[i], names[i], names[i], "&");
            char number[8];
            snprintf(number, sizeof number, "%d", k);
            ypi_plot_add_axis(c, names[(i + 1) % 6], number, k);
            ypi_plot_add_axis(c, "by", names[(i + (size_t)k % 2) % 6], NAN);
            struct ypi_plot_measurement *m =
                ypi_plot_add_measurement(c, names[i], names[(i + 2) % 6], names[(i + 3) % 6]);
            m->median = m->mean = k;
            m->items = m->flops = m->bytes = 5;
            ypi_plot_add_phase(m, names[i], 0.5);
            c->peak = k;
        }
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    cr_expect(list->count > 20, "%zu", list->count);
    for (size_t i = 0; i < list->count; i++) {
        struct ypi_plot *plot = &list->list[i];
        cr_expect(strlen(plot->name) < 200 &&
                      strspn(plot->name, "abcdefghijklmnopqrstuvwxyz"
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-_.") == strlen(plot->name) &&
                      plot->name[0] != '.',
                  "%s", plot->name);
        for (size_t k = 0; k < i; k++)
            cr_expect_str_neq(plot->name, list->list[k].name);
        cr_expect_null(strstr(ypi_plot_svg(plot), "<script"));
        cr_expect_null(strchr(ypi_plot_svg(plot), 1));
        char *text = cJSON_PrintUnformatted(plot->table);
        cr_expect_not_null(text);
        free(text);
    }
    ypi_plot_list_free(list);
    free(longest);
}

/* -- tables as input ----------------------------------------------------------------------- */

static struct ypi_plot_list *list_of_csv(const char *text, enum yp_status wanted,
                                         const char *message)
{
    char path[] = "/tmp/yieldpoint-plots-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    struct ypi_plots *plots = ypi_plots_create();
    enum yp_status status = ypi_plots_take_csv(plots, path);
    cr_expect_eq(status, wanted, "%s: %s", text, status == YP_OK ? "taken" : yp_last_error());
    if (wanted != YP_OK) {
        char *whole = ypi_format("%s:%s", path, message);
        cr_expect_str_eq(yp_last_error(), whole);
        cr_expect_eq(plots->count, 0);
        free(whole);
    }
    unlink(path);
    return ypi_plots_finish(plots);
}

static struct ypi_plot *ending(const struct ypi_plot_list *list, const char *end)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->list[i].name;
        if (strlen(name) > strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0)
            return &list->list[i];
    }
    cr_assert_fail("no plot %s", end);
    return NULL;
}

Test(csv, any_order_and_empty_cells)
{
    struct ypi_plot_list *list =
        list_of_csv("\xEF\xBB\xBFmemory_peak_mb,\"tile_size\",mine,batch_size,avg_time_ms,error\r\n"
                    "64,128,\"a,\"\"b\"\"\nc\",2,10,\r\n"
                    "128,256,,2,40\r\n"
                    "\r\n"
                    ",512,,2,nan,OOM\r\n"
                    "127,256,,2,41,",
                    YP_OK, "");
    struct ypi_plot *memory = ending(list, "-memory");
    cr_expect_eq(rows_of(memory), 3);
    cr_expect(cell(memory, 0, "peak memory (bytes)")->valuedouble == 64.0 * 1048576);
    /* Of equal rows the last one counts, and is named by its line. */
    cr_expect(cell(memory, 1, "peak memory (bytes)")->valuedouble == 127.0 * 1048576);
    cr_expect_not_null(strstr(cell(memory, 1, "case")->valuestring, ":7"));
    cr_expect(notes(memory, "1 earlier results of the same values"));
    cr_expect_str_eq(cell(memory, 2, "outcome")->valuestring, "OOM");
    struct ypi_plot *rate = ending(list, "-throughput");
    cr_expect(cell(rate, 0, "samples/s")->valuedouble == 2 / 0.01);
    ypi_plot_list_free(list);
}

/* The figures that a file states are taken as they are. */
Test(csv, throughput_of_the_file)
{
    struct ypi_plot_list *list = list_of_csv("tile_size,batch_size,throughput_samples_per_sec\n"
                                             "256,1,33.6\n384,1,21.8\n",
                                             YP_OK, "");
    struct ypi_plot *rate = ending(list, "-throughput");
    cr_expect(cell(rate, 0, "samples/s")->valuedouble == 33.6);
    cr_expect(cell(rate, 1, "median (s)")->valuedouble == 1 / 21.8);
    ypi_plot_list_free(list);
}

Test(csv, faults_are_named_by_line)
{
    static const struct {
        const char *text, *message;
    } faults[] = {
        {"", "1: the file is empty; its first line names the columns"},
        {"a,b\n1,2\n",
         "1: no column says what was run: one of tile_size, batch_size, mode, model_size, "
         "context_length, pass_type is needed"},
        {"tile_size\n1\n",
         "1: no column has a result: one of avg_time_ms, mean_time_ms, mean_time_s, "
         "total_time_ms, throughput_samples_per_sec, memory_peak_mb is needed"},
        {"tile_size,avg_time_ms,tile_size\n1,2,3\n", "1: the column 'tile_size' is there twice"},
        {"tile_size,avg_time_ms\n1,2\n2,fast\n",
         "3: avg_time_ms is 'fast'; it takes a number of 0 or more, or nothing"},
        {"tile_size,avg_time_ms\n1,-2\n",
         "2: avg_time_ms is '-2'; it takes a number of 0 or more, or nothing"},
        {"tile_size,avg_time_ms\n1,inf\n",
         "2: avg_time_ms is 'inf'; it takes a number of 0 or more, or nothing"},
        {"mode,tile_size,avg_time_ms\n\"a\nb\",1,2\nc,x,1\n",
         "4: tile_size is 'x'; it takes a number of 0 or more, or nothing"},
        {"tile_size,avg_time_ms\n1,2,3\n", "2: the row has 3 cells, the header 2"},
        {"mode,avg_time_ms\n\"a,2\n", "2: a quote is not closed"},
        {"mode,avg_time_ms\n\"a\"b,2\n", "2: text stands behind a closing quote"},
        {"tile_size,avg_time_ms\n", "2: there is no row below the header"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        ypi_plot_list_free(list_of_csv(faults[i].text, YP_INVALID, faults[i].message));
}

Test(csv, a_file_that_is_not_there)
{
    struct ypi_plots *plots = ypi_plots_create();
    cr_expect_eq(ypi_plots_take_csv(plots, "/nowhere/a.csv"), YP_IO);
    cr_expect_eq(ypi_plots_take_csv(plots, "/"), YP_IO);
    ypi_plots_free(plots);
}
