#include "tests/browser/planted.h"

#include "base/text/figures.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE PLANTED_MARKUP "'\"&amp;\x01\x1b[31m\xff\xfe\xe2\x80\xa8]]><!--"

enum { PAST_MOST = 64 };

struct planted {
    struct ypi_content content;
    struct ypi_report_case *list;
    struct ypi_change *changes;
    bool hostile;
};

/* A number from 0 to 1 that is the same for the same place. */
static double noise(size_t a, size_t b)
{
    unsigned long long x = a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + 1;
    x = (x ^ x >> 31) * 0x94d049bb133111ebULL;
    return (double)(x >> 40) / (double)(1 << 24);
}

static double time_of(size_t at)
{
    return 1e-6 * exp(12 * noise(at, 0));
}

static cJSON *parse(const char *text)
{
    cJSON *made = cJSON_Parse(text);
    if (made == NULL) {
        fprintf(stderr, "planted: no JSON: %s\n", text);
        abort();
    }
    return made;
}

static cJSON *make_run(const char *id, double started, const char *commit)
{
    cJSON *run =
        parse("{\"ended\":1,\"exit_code\":2,\"seed\":\"0\",\"command\":\"build/suite -m small\","
              "\"machine\":\"bf63\",\"facts\":{\"cpu.model\":\"AMD EPYC\",\"hostname\":\"vm\","
              "\"kernel\":\"6.1\",\"program.compiler\":\"gcc 12.2.0\",\"git.dirty\":\"no\"}}");
    cJSON_AddStringToObject(run, "id", id);
    cJSON_AddNumberToObject(run, "started", started);
    cJSON_AddStringToObject(cJSON_GetObjectItem(run, "facts"), "git.commit", commit);
    return run;
}

static cJSON *make_past(const struct ypi_report_case *one, size_t at, int count)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < count; i++) {
        double level = at % 5 == 0 && i > count / 2 ? 1.3 : 1;
        level *= at % 11 == 3 && i < 2 ? 1e-3 : 1; /* a figure in another unit */
        double median = time_of(at) * level * (1 + 0.02 * noise(at, (size_t)i + 10));
        char text[512];
        snprintf(text, sizeof text,
                 "{\"result\":\"%08zx-0000-0000-0000-%012d\",\"run\":\"%08d-0000-0000-0000-"
                 "000000000000\","
                 "\"began\":%d,\"commit\":\"%012dabcdef\",\"dirty\":%s,\"outcome\":\"%s\","
                 "\"peak\":%zu,\"measurements\":[{\"name\":\"work\",\"median\":%.17g,\"low\":%.17g,"
                 "\"high\":%.17g}]}",
                 at, i, i, 1790000000 + 86400 * i, i, i % 7 == 3 ? "true" : "false",
                 i == count - 1 ? one->outcome : "passed", (size_t)1048576 * (1 + at % 50), median,
                 median * 0.98, median * 1.03);
        cJSON_AddItemToArray(list, parse(text));
    }
    return list;
}

static enum ypi_section section_of(size_t at, size_t count)
{
    if (at < 3 || at < count / 100)
        return YPI_FAILED;
    if (at < 5 || at < count / 60)
        return YPI_UNDECIDED;
    if (at < 10 || at < count / 30)
        return YPI_CHANGED;
    return at + 4 >= count ? YPI_SKIPPED : YPI_PASSED;
}

/* The axis `m` of a case, eight values a test. */
static size_t size_of(size_t at)
{
    return (size_t)1 << (at % 8 + 4);
}

/* The caller frees. */
static char *change_text(const struct planted *p, size_t at)
{
    char before[YPI_FIGURE_MAX], now[YPI_FIGURE_MAX];
    ypi_format_seconds(before, time_of(at) / 1.3);
    ypi_format_seconds(now, time_of(at));
    return p->hostile ? ypi_strdup(HOSTILE)
                      : ypi_format("time of work %s -> %s, 1.3 times [1.25, 1.35]", before, now);
}

static void fill(struct planted *p, size_t at, size_t count, int past)
{
    static const char *const outcomes[] = {"failed", "undecided", "passed", "passed", "skipped"};
    static const char *const tags[] = {"small nn", "small rx gemm", "medium lm",
                                       "small graph slow"};
    struct ypi_report_case *one = &p->list[at];
    char run[] = "00000019-0000-0000-0000-000000000000";
    one->section = section_of(at, count);
    one->outcome = outcomes[one->section];
    one->test = ypi_format("perf/operators.c::linear_%zu", at / 8);
    one->id = p->hostile ? ypi_format("%s%zu", HOSTILE, at)
                         : ypi_format("perf/operators.c::linear_%zu[m=%zu-n=512-type=fp32-cpu]",
                                      at / 8, size_of(at));
    if (p->hostile && at == 1) {
        char *longer = ypi_calloc(4097, 1);
        memset(longer, 'x', 4096);
        free((char *)one->id);
        one->id = longer;
    }
    one->device = at % 9 == 4 ? "cuda" : "cpu";
    one->tags = p->hostile ? HOSTILE : tags[at % 4];
    one->result = ypi_format("%08zx-7ab2-4cc1-9d00-%012zx", at, at);
    one->run = ypi_strdup(run);
    one->past = make_past(one, at, past);
    if (one->section > YPI_CHANGED)
        return;
    one->changes = &p->changes[2 * at];
    one->change_count = at % 2 ? 1 : 2;
    p->changes[2 * at] = (struct ypi_change){.what = "time",
                                             .name = p->hostile ? HOSTILE : "work",
                                             .text = change_text(p, at),
                                             .before = time_of(at) / 1.3,
                                             .now = time_of(at),
                                             .ratio = 1.3,
                                             .low = 1.25,
                                             .high = 1.35,
                                             .worse = true};
    p->changes[2 * at + 1] =
        (struct ypi_change){.what = "memory",
                            .name = "",
                            .text = p->hostile ? HOSTILE : "memory 2 MB -> 1 MB",
                            .before = 2e6,
                            .now = 1e6,
                            .ratio = 0.5,
                            .low = NAN,
                            .high = NAN,
                            .better = true};
}

struct planted *planted_make(size_t cases, int past, bool hostile)
{
    struct planted *p = ypi_calloc(1, sizeof *p);
    cJSON *runs = cJSON_CreateArray();
    p->hostile = hostile;
    p->list = ypi_calloc(cases + 1, sizeof *p->list);
    p->changes = ypi_calloc(2 * cases + 2, sizeof *p->changes);
    past = past < PAST_MOST ? past : PAST_MOST;
    for (size_t at = 0; at < cases; at++) {
        fill(p, at, cases, past);
        p->content.of_section[p->list[at].section]++;
    }
    cJSON_AddItemToArray(runs, make_run("00000019-0000-0000-0000-000000000000", 1791641600,
                                        "aee894b13235bdd231b92"));
    p->content.runs = runs;
    p->content.against =
        make_run("00000018-0000-0000-0000-000000000000", 1791555200, "195a62eb0000bdd231b92");
    p->content.history = hostile ? HOSTILE : ".yieldpoint/history.db";
    p->content.list = p->list;
    p->content.count = cases;
    return p;
}

void planted_free(struct planted *p)
{
    for (size_t at = 0; at < p->content.count; at++) {
        free((char *)p->changes[2 * at].text);
        free((char *)p->list[at].id);
        free((char *)p->list[at].test);
        free((char *)p->list[at].result);
        free((char *)p->list[at].run);
        cJSON_Delete((cJSON *)p->list[at].past);
    }
    cJSON_Delete((cJSON *)p->content.runs);
    cJSON_Delete((cJSON *)p->content.against);
    free(p->list);
    free(p->changes);
    free(p);
}

const struct ypi_content *planted_content(const struct planted *p)
{
    return &p->content;
}

/* -- documents ------------------------------------------------------------------------------- */

static void add_samples(cJSON *m, size_t at)
{
    cJSON *samples = cJSON_AddArrayToObject(m, "samples");
    int count = at % 3 == 0 ? 20 : 200;
    for (int i = 0; i < count; i++) {
        double r = noise(at, (size_t)i + 1000);
        cJSON_AddItemToArray(samples, cJSON_CreateNumber(time_of(at) * (1 + 0.1 * r * r * r)));
    }
}

static cJSON *make_measurement(const struct planted *p, size_t at)
{
    double t = time_of(at);
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"name\":\"work\",\"unit\":\"pixels\",\"items\":262144,\"flops\":0,\"bytes\":0,\"batch\":"
        "12,"
        "\"warmup\":3,\"stop\":\"the interval is narrow enough\",\"count\":%d,\"median\":%.17g,"
        "\"low\":%.17g,\"high\":%.17g,\"coverage\":0.9928,\"mean\":%.17g,\"sd\":%.17g,\"min\":%."
        "17g,"
        "\"max\":%.17g,\"p90\":%.17g,\"p99\":null,\"p999\":null,\"kind\":\"work\",\"bound\":"
        "\"fp32\",\"share\":%.17g,"
        "\"share_low\":%.17g,\"share_high\":%.17g,\"threads\":2,"
        "\"bounds\":[{\"ceiling\":\"fp32\",\"level\":\"\",\"threads\":2,\"probes\":5,\"rate\":9."
        "1e10,"
        "\"low\":9e10,\"high\":9.2e10,\"work\":%.17g}],\"counters\":[],\"noise\":{},"
        "\"phases\":[{\"name\":\"load\",\"seconds\":%.17g},{\"name\":\"forward\",\"seconds\":%.17g}"
        ","
        "{\"name\":\"backward\",\"seconds\":%.17g}]}",
        at % 3 == 0 ? 20 : 200, t, 0.98 * t, 1.03 * t, 1.01 * t, 0.02 * t, t, 1.1 * t, 1.08 * t,
        0.2 + 0.7 * noise(at, 1), 0.2, 0.95, 9.1e10 * 0.4 * t, 0.1 * t, 0.3 * t, 0.6 * t);
    cJSON *m = parse(text);
    add_samples(m, at);
    if (p->hostile)
        cJSON_ReplaceItemInObject(m, "name", cJSON_CreateString(HOSTILE));
    return m;
}

static void add_series(cJSON *document, size_t at)
{
    static const char *const names[] = {"utilisation", "memory used", "clock", "power",
                                        "temperature"};
    static const double scales[] = {1, 8e10, 1.98e9, 700, 80};
    cJSON *series = cJSON_AddObjectToObject(document, "series");
    for (size_t k = 0; k < 5 && at % 9 == 4; k++) {
        cJSON *one = cJSON_AddObjectToObject(series, names[k]);
        cJSON *seconds = cJSON_AddArrayToObject(one, "seconds");
        cJSON *values = cJSON_AddArrayToObject(one, "values");
        double least = INFINITY;
        double most = -INFINITY;
        for (size_t i = 0; i < 200; i++) {
            double v = scales[k] * (0.5 + 0.4 * sin((double)i / 20) + 0.1 * noise(i, k));
            cJSON_AddItemToArray(seconds, cJSON_CreateNumber(0.05 * (double)i));
            cJSON_AddItemToArray(values, cJSON_CreateNumber(v));
            least = fmin(least, v);
            most = fmax(most, v);
        }
        cJSON_AddNumberToObject(one, "count", 200);
        cJSON_AddNumberToObject(one, "least", least);
        cJSON_AddNumberToObject(one, "median", scales[k] / 2);
        cJSON_AddNumberToObject(one, "most", most);
        cJSON_AddNumberToObject(one, "duration", 10);
    }
}

static void add_budgets(const struct planted *p, cJSON *document, size_t at)
{
    double t = time_of(at);
    char text[512];
    const char *met = p->list[at].section == YPI_FAILED      ? "not met"
                      : p->list[at].section == YPI_UNDECIDED ? "noisy"
                                                             : "met";
    cJSON *budgets = cJSON_AddArrayToObject(document, "budgets");
    snprintf(text, sizeof text,
             "{\"kind\":\"max "
             "latency\",\"name\":\"work\",\"memory\":null,\"allowed\":%.17g,\"met\":\"%s\","
             "\"measured\":%.17g,\"low\":%.17g,\"high\":%.17g,\"distance\":-0.12,\"asked\":0,"
             "\"confirmed\":0,\"slack\":0.9,\"required\":null,\"baseline\":null}",
             t * (p->list[at].section == YPI_FAILED ? 0.88 : 1.2), met, t, 0.98 * t, 1.03 * t);
    cJSON_AddItemToArray(budgets, parse(text));
    snprintf(
        text, sizeof text,
        "{\"kind\":\"max peak\",\"name\":null,\"memory\":\"host\",\"allowed\":%zu,\"met\":\"met\","
        "\"measured\":%zu,\"low\":null,\"high\":null,\"distance\":0.0,\"asked\":0,\"confirmed\":0}",
        (size_t)1048576 * (1 + at % 50), (size_t)1048576 * (1 + at % 50));
    cJSON_AddItemToArray(budgets, parse(text));
    if (p->hostile)
        cJSON_ReplaceItemInObject(budgets->child, "name", cJSON_CreateString(HOSTILE));
}

static cJSON *make_result(const struct planted *p, size_t at)
{
    cJSON *result = parse(
        "{\"duration\":0.5,\"setup\":0.01,\"body\":0.4,\"teardown\":0.001,\"timeout\":60,"
        "\"ended\":true,\"exit_code\":0,\"signal\":0,\"seed\":\"0\",\"resident_peak\":52428800,"
        "\"resident_before\":20971520,\"leaked_bytes\":0,\"leaked_blocks\":0}");
    bool skipped = p->list[at].section == YPI_SKIPPED;
    cJSON_AddStringToObject(result, "tail",
                            p->hostile ? HOSTILE
                            : at == 0  ? "step 12\nloss 0.31\n"
                                       : "");
    cJSON_AddStringToObject(result, "reason",
                            p->hostile ? HOSTILE
                            : skipped  ? "no CUDA device: no plugin near the program"
                                       : "");
    return result;
}

cJSON *planted_document(const struct planted *p, size_t at)
{
    char text[512];
    size_t peak = (size_t)1048576 * (1 + at % 50);
    cJSON *document = cJSON_CreateObject();
    cJSON *failures = cJSON_AddArrayToObject(document, "failures");
    cJSON_AddItemToObject(document, "result", make_result(p, at));
    snprintf(text, sizeof text, "{\"axes\":{\"m\":%zu,\"type\":\"fp32\"}}", size_of(at));
    cJSON_AddItemToObject(document, "case", parse(text));
    if (p->list[at].section == YPI_SKIPPED)
        return document;
    cJSON *measurements = cJSON_AddArrayToObject(document, "measurements");
    cJSON_AddItemToArray(measurements, make_measurement(p, at));
    if (p->list[at].section == YPI_FAILED)
        cJSON_AddItemToArray(
            failures,
            parse("{\"cause\":\"budget not met\",\"message\":\"time work: 1.3 ms, at most 1.1 ms "
                  "allowed\",\"file\":\"suites/perf/operators.c\",\"line\":212}"));
    if (p->hostile && failures->child)
        cJSON_ReplaceItemInObject(failures->child, "message", cJSON_CreateString(HOSTILE));
    add_budgets(p, document, at);
    snprintf(text, sizeof text,
             "{\"host\":{\"allocated\":0,\"allocated_peak\":%zu,\"reserved\":0,\"reserved_peak\":%"
             "zu,\"total\":%zu,"
             "\"allocations\":12,\"frees\":12,\"refused\":0,\"allowed\":0}}",
             peak, peak + peak / 8, 3 * peak);
    cJSON_AddItemToObject(document, "memory", parse(text));
    cJSON_AddItemToObject(document, "values",
                          parse("[{\"name\":\"loss\",\"unit\":\"\",\"value\":0.3125}]"));
    add_series(document, at);
    char *quoted = ypi_shell_quote(p->list[at].id);
    char *line =
        ypi_format("build/suites/perf/yieldpoint-perf %s --seed 0 --max-seconds=0.1", quoted);
    cJSON_AddStringToObject(document, "reproduce", line);
    free(quoted);
    free(line);
    return document;
}

/* -- plots and advice ------------------------------------------------------------------------ */

struct ypi_plot_list *planted_plots(const struct planted *p, struct ypi_plot_list *more)
{
    struct ypi_plot_list *plots = more != NULL ? more : ypi_calloc(1, sizeof *plots);
    struct ypi_text svg = {0};
    plots->list = ypi_realloc(plots->list, plots->count + 1, sizeof *plots->list);
    memmove(plots->list + 1, plots->list, plots->count * sizeof *plots->list);
    plots->count++;
    ypi_text_add(&svg, "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
                       "viewBox=\"0 0 600 200\" "
                       "role=\"img\"><title>Roofline</title><path d=\"M20 180L200 20H590\" "
                       "fill=\"none\" stroke=\"gray\"/>");
    for (size_t at = 0; at < 20 && at < p->content.count && !p->hostile; at++)
        ypi_text_add(&svg,
                     "<circle cx=\"%zu\" cy=\"%.0f\" r=\"5\" data-case=\"%s\"><title>%s, 0.4 of "
                     "fp32</title></circle>",
                     40 + 27 * at, 40 + 130 * noise(at, 2), p->list[at].id, p->list[at].id);
    ypi_text_add(&svg, "</svg>\n");
    plots->list[0] = (struct ypi_plot){
        .name = ypi_strdup("roofline"),
        .title = ypi_strdup(p->hostile ? HOSTILE : "Roofline"),
        .group = ypi_strdup("run"),
        .svg = ypi_text_take(&svg),
        .table = parse(
            "{\"columns\":[\"case\",\"FLOP/"
            "s\"],\"rows\":[[\"a<b\",1.5e9],[\"c\",null]],\"notes\":[\"two are not drawn\"]}")};
    return plots;
}

cJSON *planted_advice(const struct planted *p)
{
    cJSON *advice =
        parse("[{\"kind\":\"bottleneck\",\"about\":\"perf/"
              "operators.c::linear_0\",\"text\":\"linear_0 is data-bound: "
              "61 % of its time is loading\",\"evidence\":[\"phase load takes 1.2 ms of 2 ms\"],"
              "\"try\":[\"more loaders\",\"prefetch a batch\"]}]");
    if (p->hostile)
        cJSON_ReplaceItemInObject(advice->child, "text", cJSON_CreateString(HOSTILE));
    return advice;
}
