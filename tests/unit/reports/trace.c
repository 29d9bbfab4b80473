/* A trace against the rules of its format, and against what the documents say. */
#include "reports/exports/trace.h"

#include "base/text/text.h"
#include "tests/unit/harness/folder.h"

#include <cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGAN 1795435200.25 /* 2026-11-23 */

static const char ordinary[] =
    "{\"result\": {\"id\": \"9701d70f\", \"case\": \"perf/a.c::fit[n=1-cuda]\", \"outcome\": "
    "\"failed\","
    " \"started\": 1795435200.25, \"setup\": 0.5, \"body\": 2, \"teardown\": 0.25, \"duration\": "
    "4},"
    " \"case\": {\"id\": \"perf/a.c::fit[n=1-cuda]\", \"device\": \"cuda\", \"axes\": {\"n\": 1}},"
    " \"run\": {\"facts\": {\"git.commit\": \"3f0a\"}},"
    " \"failures\": [{\"message\": \"fit: at most 1 ms: 2 ms\"}],"
    " \"measurements\": ["
    "  {\"name\": \"fit\", \"batch\": 2, \"count\": 3, \"mean\": 0.125, \"median\": 0.125,"
    "   \"noise\": {\"wall\": 1, \"began\": 1795435202.5}, \"threads\": 8,"
    "   \"samples\": [0.125, 0.0625, 0.1875], \"phases\": [{\"name\": \"forward\", \"seconds\": "
    "0.05},"
    "   {\"name\": \"backward\", \"seconds\": 0.0625}]},"
    "  {\"name\": \"old\", \"batch\": 1, \"count\": 2, \"samples\": [0.25, null]}],"
    " \"attempts\": [{\"attempt\": 1, \"started\": 1795435210, \"duration\": 3, \"outcome\": "
    "\"passed\"}],"
    " \"series\": {\"clock\": {\"seconds\": [0, 0.125, 0.25], \"values\": [1e9, null, 2e9]},"
    "              \"power\": {\"seconds\": [0, 0.125], \"values\": [100.5, \"inf\"]}}}";

/* -- the rules -------------------------------------------------------------------------------- */

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    struct stat there;
    cr_assert(file != NULL && fstat(fileno(file), &there) == 0, "%s", path);
    char *text = calloc(1, (size_t)there.st_size + 1);
    cr_assert_eq(fread(text, 1, (size_t)there.st_size, file), (size_t)there.st_size);
    fclose(file);
    return text;
}

static double number(const cJSON *event, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, name);
    cr_assert(cJSON_IsNumber(item), "no %s in %s", name, cJSON_PrintUnformatted(event));
    return item->valuedouble;
}

static const char *word(const cJSON *event, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, name);
    cr_assert(cJSON_IsString(item), "no %s in %s", name, cJSON_PrintUnformatted(event));
    return item->valuestring;
}

static const cJSON *argument(const cJSON *event, const char *name)
{
    return cJSON_GetObjectItem(cJSON_GetObjectItem(event, "args"), name);
}

static bool is_whole(double value)
{
    return value >= 0 && floor(value) >= value && value < 9e15;
}

/* Two slices of one thread lie in each other or apart. */
static void expect_nested(const cJSON *a, const cJSON *b)
{
    double first = number(a, "ts"), first_end = first + number(a, "dur");
    double second = number(b, "ts"), second_end = second + number(b, "dur");
    bool apart = first_end <= second || second_end <= first;
    bool in = (first <= second && second_end <= first_end) ||
              (second <= first && first_end <= second_end);
    cr_expect(apart || in, "overlap: %s\n%s", cJSON_PrintUnformatted(a), cJSON_PrintUnformatted(b));
}

static void expect_event(const cJSON *event)
{
    const char *kind = word(event, "ph");
    const char *name = word(event, "name");
    cr_expect(is_whole(number(event, "pid")) && is_whole(number(event, "tid")));
    if (strcmp(kind, "M") == 0) {
        const char *argument_name = strcmp(name, "process_sort_index") == 0 ? "sort_index" : "name";
        cr_expect(strcmp(name, "process_name") == 0 || strcmp(name, "thread_name") == 0 ||
                  strcmp(name, "process_sort_index") == 0);
        cr_expect_not_null(argument(event, argument_name));
        return;
    }
    cr_expect(is_whole(4 * number(event, "ts")));
    if (strcmp(kind, "X") == 0)
        cr_expect(is_whole(4 * number(event, "dur")) && *word(event, "cat") != '\0');
    else
        cr_expect(strcmp(kind, "C") == 0 && cJSON_IsNumber(argument(event, "value")), "%s", kind);
}

/* The trace at `path`, whose events follow the rules; pairs are compared up to the first `pairs`.
 */
static cJSON *checked(const char *path, int pairs)
{
    char *text = read_whole(path);
    char *utf8 = ypi_utf8(text);
    cr_expect_str_eq(text, utf8, "valid UTF-8");
    cJSON *trace = cJSON_Parse(text);
    cr_assert_not_null(trace, "%.300s", cJSON_GetErrorPtr());
    const cJSON *events = cJSON_GetObjectItem(trace, "traceEvents");
    const cJSON *event;
    cr_assert(cJSON_IsArray(events));
    cJSON_ArrayForEach(event, events)
    {
        expect_event(event);
        int left = pairs;
        for (const cJSON *other = event->next; other != NULL && left > 0; other = other->next) {
            if (strcmp(word(event, "ph"), "X") != 0 || strcmp(word(other, "ph"), "X") != 0 ||
                number(event, "pid") != number(other, "pid") ||
                number(event, "tid") != number(other, "tid"))
                continue;
            expect_nested(event, other);
            left--;
        }
    }
    free(text);
    free(utf8);
    return trace;
}

/* The nth event of a kind and name. */
static const cJSON *event_of(const cJSON *trace, const char *kind, const char *name, int n)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(word(event, "ph"), kind) == 0 && strcmp(word(event, "name"), name) == 0 &&
            n-- == 0)
            return event;
    }
    return NULL;
}

static int count_of(const cJSON *trace, const char *kind, const char *category)
{
    int count = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const cJSON *own = cJSON_GetObjectItem(event, "cat");
        count += strcmp(word(event, "ph"), kind) == 0 &&
                 (*category == '\0' || (own != NULL && strcmp(own->valuestring, category) == 0));
    }
    return count;
}

static void expect_slice(const cJSON *trace, const char *name, int n, double begin, double end)
{
    const cJSON *event = event_of(trace, "X", name, n);
    cr_assert_not_null(event, "no slice %s", name);
    cr_expect_float_eq(number(event, "ts"), 1e6 * begin, 0.25, "%s begins at %.2f", name,
                       number(event, "ts"));
    cr_expect_float_eq(number(event, "dur"), 1e6 * (end - begin), 0.5, "%s lasts %.2f", name,
                       number(event, "dur"));
}

static void take(struct ypi_trace *trace, const char *text)
{
    cJSON *document = cJSON_Parse(text);
    cr_assert_not_null(document, "%s", text);
    cr_assert_eq(ypi_trace_take(trace, NULL, document), YP_OK, "%s", yp_last_error());
    cJSON_Delete(document);
}

TestSuite(trace, .init = enter_directory, .fini = remove_directory);

/* -- what is in it ----------------------------------------------------------------------------- */

Test(trace, has_a_case_at_its_time)
{
    const char *path = "t.json";
    struct ypi_trace *t = ypi_trace_create(path);
    take(t, ordinary);
    cr_assert_eq(ypi_trace_finish(t), YP_OK);
    cJSON *trace = checked(path, 1000);
    expect_slice(trace, "perf/a.c::fit[n=1-cuda]", 0, BEGAN, BEGAN + 4);
    /* 1.25 s are no stage's: they come first. */
    expect_slice(trace, "setup", 0, BEGAN + 1.25, BEGAN + 1.75);
    expect_slice(trace, "body", 0, BEGAN + 1.75, BEGAN + 3.75);
    expect_slice(trace, "teardown", 0, BEGAN + 3.75, BEGAN + 4);
    expect_slice(trace, "fit", 0, BEGAN + 2.25, BEGAN + 3.25);
    expect_slice(trace, "sample", 0, BEGAN + 2.25, BEGAN + 2.5);
    expect_slice(trace, "sample", 2, BEGAN + 2.625, BEGAN + 3);
    expect_slice(trace, "forward", 0, BEGAN + 2.25, BEGAN + 2.55);
    expect_slice(trace, "backward", 0, BEGAN + 2.55, BEGAN + 2.925);
    expect_slice(trace, "fresh process 1", 0, 1795435210, 1795435213);
    const cJSON *name = event_of(trace, "M", "process_name", 0);
    cr_expect_str_eq(argument(name, "name")->valuestring, "failed: perf/a.c::fit[n=1-cuda]");
    const cJSON *slice = event_of(trace, "X", "perf/a.c::fit[n=1-cuda]", 0);
    cr_expect_str_eq(argument(slice, "commit")->valuestring, "3f0a");
    cr_expect_str_eq(argument(slice, "failures")->child->valuestring, "fit: at most 1 ms: 2 ms");
    cr_expect_float_eq(argument(event_of(trace, "X", "fit", 0), "threads")->valuedouble, 8, 0);
    cJSON_Delete(trace);
}

Test(trace, draws_what_has_no_begin_behind_what_has)
{
    const char *path = "t.json";
    struct ypi_trace *t = ypi_trace_create(path);
    take(t, ordinary);
    cr_assert_eq(ypi_trace_finish(t), YP_OK);
    cJSON *trace = checked(path, 1000);
    expect_slice(trace, "old", 0, BEGAN + 3.25, BEGAN + 3.5);
    cr_expect_not_null(argument(event_of(trace, "X", "old", 0), "begin"));
    cr_expect_null(argument(event_of(trace, "X", "fit", 0), "begin"));
    cJSON_Delete(trace);
}

Test(trace, has_the_device_over_time)
{
    const char *path = "t.json";
    struct ypi_trace *t = ypi_trace_create(path);
    take(t, ordinary);
    cr_assert_eq(ypi_trace_finish(t), YP_OK);
    cJSON *trace = checked(path, 1000);
    cr_expect_eq(count_of(trace, "C", ""), 3, "what is no number is left out");
    const cJSON *last = event_of(trace, "C", "cuda clock (MHz)", 1);
    cr_expect_float_eq(argument(last, "value")->valuedouble, 2000, 0);
    cr_expect_float_eq(number(last, "ts"), 1e6 * (BEGAN + 1.25 + 0.25), 0.25);
    cr_expect_float_eq(argument(event_of(trace, "C", "cuda power (W)", 0), "value")->valuedouble,
                       100.5, 0);
    cJSON_Delete(trace);
}

/* A process row for each case, in the order in which they come. */
Test(trace, keeps_cases_apart)
{
    const char *path = "t.json";
    struct ypi_trace *t = ypi_trace_create(path);
    for (int i = 0; i < 3; i++)
        take(t, ordinary);
    cr_assert_eq(ypi_trace_finish(t), YP_OK);
    cJSON *trace = checked(path, 1000);
    for (int i = 0; i < 3; i++) {
        cr_expect_float_eq(number(event_of(trace, "M", "process_name", i), "pid"), i + 1, 0);
        cr_expect_float_eq(
            argument(event_of(trace, "M", "process_sort_index", i), "sort_index")->valuedouble,
            i + 1, 0);
    }
    cJSON_Delete(trace);
}

/* Above a thousand samples a slice stands for several; none is lost. */
Test(trace, puts_many_samples_together)
{
    enum { SAMPLES = 100001 };
    const char *path = "t.json";
    struct ypi_text text = {0};
    ypi_text_add(&text,
                 "{\"result\": {\"case\": \"a\", \"outcome\": \"passed\", \"started\": %.2f},"
                 " \"measurements\": [{\"name\": \"m\", \"batch\": 1, \"samples\": [",
                 BEGAN);
    for (int i = 0; i < SAMPLES; i++)
        ypi_text_add(&text, "%s%s", i > 0 ? "," : "", i == 50000 ? "0.0078125" : "0.00390625");
    ypi_text_add(&text, "]}]}");
    struct ypi_trace *t = ypi_trace_create(path);
    take(t, text.data);
    cr_assert_eq(ypi_trace_finish(t), YP_OK);
    cJSON *trace = checked(path, 3);
    const cJSON *event;
    double all = 0, most = 0, end = 0;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (cJSON_GetObjectItem(event, "cat") == NULL || strcmp(word(event, "cat"), "sample") != 0)
            continue;
        all += argument(event, "iterations")->valuedouble;
        end = number(event, "ts") + number(event, "dur");
        const cJSON *highest = argument(event, "most");
        most = highest != NULL ? fmax(most, highest->valuedouble) : most;
    }
    int slices = count_of(trace, "X", "sample");
    cr_expect(slices > 900 && slices <= 1000, "%d", slices);
    cr_expect_float_eq(all, SAMPLES, 0);
    cr_expect_float_eq(most, 0.0078125, 0);
    cr_expect_float_eq(end, 1e6 * (BEGAN + (SAMPLES + 1) * 0.00390625), 1);
    free(ypi_text_take(&text));
    cJSON_Delete(trace);
}

/* -- hostile documents --------------------------------------------------------------------------
 */

Test(trace, keeps_the_rules_whatever_a_history_holds)
{
    static const char *const documents[] = {
        "{}",
        "{\"result\": {}, \"measurements\": [{}], \"attempts\": [{}], \"series\": {\"x\": {}}}",
        "{\"result\": {\"case\": null, \"started\": -5, \"duration\": 1e300, \"setup\": 1e300,"
        " \"body\": -1}, \"measurements\": [{\"name\": \"m\", \"batch\": 1e300, \"count\": 1e300,"
        " \"noise\": {\"wall\": 1e300, \"began\": 1e300}, \"samples\": [1e300, -1, \"inf\", null],"
        " \"phases\": [{\"name\": \"p\", \"seconds\": 1e300}, {\"seconds\": null}]}],"
        " \"series\": {\"s\": {\"seconds\": [\"inf\", 1e300, -1e300], \"values\": [1, 1e308, 2]}}}",
        "{\"result\": {\"case\": \"c\", \"started\": 1795435200.1, \"duration\": 0.3, \"setup\": "
        "0.1,"
        " \"body\": 0.7, \"teardown\": 9}, \"measurements\": ["
        " {\"name\": \"a\", \"noise\": {\"began\": 1795435200.3, \"wall\": 0.7}, \"samples\": "
        "[0.1]},"
        " {\"name\": \"b\", \"noise\": {\"began\": 1795435200.1, \"wall\": 0.1}, \"samples\": "
        "[0.3]}],"
        " \"attempts\": [{\"started\": 1795435200.7, \"duration\": 0.3},"
        " {\"started\": 1795435200.9, \"duration\": 0.7}]}"};
    const char *path = "t.json";
    struct ypi_trace *t = ypi_trace_create(path);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        take(t, documents[i]);
    cr_assert_eq(ypi_trace_finish(t), YP_OK);
    cJSON_Delete(checked(path, 1000));
}

Test(trace, keeps_names_as_they_are)
{
    char long_name[4097];
    memset(long_name, 'x', sizeof long_name);
    long_name[4096] = '\0';
    const char *const names[] = {"a\"b\\c", "</script>\n\t\x01", "\xc3\xa9 \xff", long_name, ""};
    const char *path = "t.json";
    struct ypi_trace *t = ypi_trace_create(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cJSON *document = cJSON_CreateObject();
        cJSON *result = cJSON_AddObjectToObject(document, "result");
        cJSON_AddStringToObject(result, "case", names[i]);
        cJSON_AddStringToObject(result, "outcome", "passed");
        cr_assert_eq(ypi_trace_take(t, NULL, document), YP_OK);
        cJSON_Delete(document);
    }
    cr_assert_eq(ypi_trace_finish(t), YP_OK);
    cJSON *trace = checked(path, 1000);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *clean = ypi_utf8(names[i]);
        cr_expect_str_eq(
            argument(event_of(trace, "M", "process_name", (int)i), "name")->valuestring, clean);
        free(clean);
    }
    cJSON_Delete(trace);
}

/* -- the file --------------------------------------------------------------------------------- */

Test(trace, of_no_case_is_a_trace)
{
    const char *path = "t.json";
    cr_assert_eq(ypi_trace_finish(ypi_trace_create(path)), YP_OK);
    cJSON *trace = checked(path, 0);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "traceEvents")), 0);
    cJSON_Delete(trace);
}

Test(trace, appears_whole_or_not_at_all)
{
    const char *path = "t.json";
    FILE *file = fopen(path, "w");
    fputs("before", file);
    fclose(file);
    struct ypi_trace *t = ypi_trace_create(path);
    take(t, ordinary);
    char *text = read_whole(path);
    cr_expect_str_eq(text, "before");
    free(text);
    ypi_trace_drop(t);
    text = read_whole(path);
    cr_expect_str_eq(text, "before");
    free(text);
    ypi_trace_drop(NULL);
    cr_expect_null(ypi_trace_create("none/t.json"));
    cr_expect_not_null(strstr(yp_last_error(), "none/t.json"), "%s", yp_last_error());
}
