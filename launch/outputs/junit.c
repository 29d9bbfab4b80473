/* JUnit's XML of a launch: what the suite's own --junitxml writes, from what is stored. */
#include "base/system/clock.h"
#include "base/text/text.h"
#include "base/text/xml.h"
#include "launch/outputs/outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void put_rate(FILE *out, const cJSON *m, const char *work, const char *unit)
{
    const double amount = ypi_launch_real(m, work);
    if (amount > 0)
        ypi_xml_number(out, ypi_text_of(m, "name"), unit, amount / ypi_launch_real(m, "median"));
}

static void put_measured(FILE *out, const cJSON *m)
{
    const char *name = ypi_text_of(m, "name");
    const char *unit = ypi_text_of(m, "unit");
    const cJSON *counter;
    if (strcmp(ypi_text_of(m, "kind"), "count") == 0)
        cJSON_ArrayForEach(counter, cJSON_GetObjectItem(m, "counters")) ypi_xml_number(
            out, name, ypi_text_of(counter, "counter"), ypi_launch_real(counter, "count"));
    if (!(ypi_launch_real(m, "count") > 0))
        return;
    ypi_xml_number(out, name, "seconds", ypi_launch_real(m, "median"));
    ypi_xml_number(out, name, "seconds low", ypi_launch_real(m, "low"));
    ypi_xml_number(out, name, "seconds high", ypi_launch_real(m, "high"));
    ypi_xml_number(out, name, "samples", ypi_launch_real(m, "count"));
    put_rate(out, m, "items", *unit != '\0' ? unit : "items");
    put_rate(out, m, "flops", "FLOP/s");
    put_rate(out, m, "bytes", "B/s");
    ypi_xml_number(out, name, "share", ypi_launch_real(m, "share"));
}

static void put_memory(FILE *out, const cJSON *document)
{
    static const char *const kinds[] = {"host", "device", "heap"};
    const cJSON *memory = cJSON_GetObjectItem(document, "memory");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const cJSON *kind = cJSON_GetObjectItem(memory, kinds[i]);
        char name[32];
        if (kind == NULL)
            continue;
        snprintf(name, sizeof name, "%s memory", kinds[i]);
        ypi_xml_number(out, name, "peak bytes", ypi_launch_real(kind, "allocated_peak"));
        if (i != 1)
            ypi_xml_number(out, name, "allocations", ypi_launch_real(kind, "allocations"));
        if (i == 0)
            ypi_xml_number(
                out, name, "resident peak bytes",
                ypi_launch_real(cJSON_GetObjectItem(document, "result"), "resident_peak"));
    }
}

static void put_properties(FILE *out, const struct ypi_launched_case *c, const cJSON *document)
{
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    const cJSON *run = cJSON_GetObjectItem(document, "run");
    const char *host = ypi_text_of(cJSON_GetObjectItem(run, "facts"), "hostname");
    const cJSON *item;
    fputs("<properties>", out);
    ypi_xml_property(out, "id", "", c->id);
    if (document != NULL) {
        ypi_xml_property(out, "tags", "",
                         ypi_text_of(cJSON_GetObjectItem(document, "case"), "tags"));
        ypi_xml_property(out, "seed", "", ypi_text_of(result, "seed"));
        ypi_xml_property(out, "hostname", "", host);
    }
    if (ypi_launch_is(c, "noisy"))
        ypi_xml_property(out, "noisy", "", "a budget could not be decided");
    if (*ypi_text_of(result, "note") != '\0')
        ypi_xml_property(out, "note", "", ypi_text_of(result, "note"));
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "measurements")) put_measured(out, item);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "values")) ypi_xml_number(
        out, ypi_text_of(item, "name"), ypi_text_of(item, "unit"), ypi_launch_real(item, "value"));
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "gradients")) ypi_xml_number(
        out, ypi_text_of(item, "name"),
        cJSON_IsTrue(cJSON_GetObjectItem(item, "precision")) ? "times the plain error"
                                                             : "gradient error",
        ypi_launch_real(item, "error"));
    put_memory(out, document);
    if (*ypi_text_of(document, "reproduce") != '\0')
        ypi_xml_property(out, "reproduce", "", ypi_text_of(document, "reproduce"));
    fputs("</properties>", out);
}

static void put_failures(FILE *out, const cJSON *document)
{
    const cJSON *failure;
    cJSON_ArrayForEach(failure, cJSON_GetObjectItem(document, "failures"))
    {
        const char *file = ypi_text_of(failure, "file");
        char *place = *file != '\0' ? ypi_format("%s:%d: ", file, ypi_whole(failure, "line"))
                                    : ypi_strdup("");
        ypi_xml_put(out, place, false);
        ypi_xml_put(out, ypi_text_of(failure, "message"), false);
        fputc('\n', out);
        ypi_xml_put(out, ypi_text_of(failure, "stack"), false);
        fputc('\n', out);
        free(place);
    }
}

static void put_outcome(FILE *out, const struct ypi_launched_case *c, const cJSON *document)
{
    const bool error = ypi_launch_is(c, "error");
    if (ypi_launch_failed(c)) {
        char *message =
            error ? ypi_format("failed on setup with \"%s\"", c->reason) : ypi_strdup(c->reason);
        fprintf(out, "<%s", error ? "error" : "failure");
        ypi_xml_attribute(out, "message", message);
        fputc('>', out);
        put_failures(out, document);
        fprintf(out, "</%s>", error ? "error" : "failure");
        free(message);
    } else if (ypi_launch_is(c, "skipped") || ypi_launch_is(c, "xfailed")) {
        fputs("<skipped", out);
        ypi_xml_attribute(out, "type",
                          ypi_launch_is(c, "skipped") ? "pytest.skip" : "pytest.xfail");
        ypi_xml_attribute(out, "message", c->reason);
        fputs("></skipped>", out);
    }
}

/* The begin of an element: its class is the path with dots for slashes and without its ending. */
static void begin_case(FILE *out, const char *id, int repeat, double seconds)
{
    const char *test = strstr(id, "::");
    char *name = ypi_format("%.*s", (int)(test != NULL ? test - id : 0), id);
    char *dot = strrchr(name, '.');
    if (dot != NULL && strchr(dot, '/') == NULL)
        *dot = '\0';
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '/' ? '.' : *c;
    char *repeated = repeat > 0 ? ypi_format(" (repeat %d)", repeat + 1) : ypi_strdup("");
    char *whole = ypi_format("%s%s", test != NULL ? test + 2 : id, repeated);
    fputs("\n<testcase", out);
    ypi_xml_attribute(out, "classname", name);
    ypi_xml_attribute(out, "name", whole);
    fprintf(out, " time=\"%.3f\">", seconds);
    free(whole);
    free(repeated);
    free(name);
}

static void put_case(FILE *out, const struct ypi_launch_results *r,
                     const struct ypi_launched_case *c)
{
    cJSON *document = ypi_launch_document(r, c);
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    const double seconds = ypi_launch_real(result, "duration");
    begin_case(out, c->id, c->repeat, isnan(seconds) ? 0 : seconds);
    put_properties(out, c, document);
    put_outcome(out, c, document);
    if (*ypi_text_of(result, "tail") != '\0') {
        fputs("<system-out>", out);
        ypi_xml_put(out, ypi_text_of(result, "tail"), false);
        fputs("</system-out>", out);
    }
    fputs("</testcase>", out);
    cJSON_Delete(document);
}

static void put_missing(void *arg, const char *id, int shard)
{
    FILE *out = arg;
    begin_case(out, id, 0, 0);
    fprintf(out, "<error message=\"not run: shard %d did not come to its end\"></error></testcase>",
            shard + 1);
}

static void count_missing(void *arg, const char *id, int shard)
{
    (void)id;
    (void)shard;
    ++*(int *)arg;
}

void ypi_launch_put_junit(FILE *out, const struct ypi_launch_results *r)
{
    const double seconds = ypi_kernel_now() - r->l->submitted;
    const time_t began = (time_t)(ypi_wall_clock() - seconds);
    int failures = 0;
    int errors = 0;
    int skipped = 0;
    int missing = 0;
    char when[64];
    char host[256] = "";
    struct tm broken;
    for (int i = 0; i < r->found->count; i++) {
        const struct ypi_launched_case *c = &r->found->list[i];
        failures += ypi_launch_is(c, "failed");
        errors += ypi_launch_is(c, "error");
        skipped += ypi_launch_is(c, "skipped") || ypi_launch_is(c, "xfailed");
    }
    ypi_launch_each_missing(r, count_missing, &missing);
    gethostname(host, sizeof host - 1);
    gmtime_r(&began, &broken);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &broken);
    fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites><testsuite name=\"yieldpoint\"",
          out);
    ypi_xml_attribute(out, "timestamp", when);
    ypi_xml_attribute(out, "hostname", host);
    fprintf(out, " errors=\"%d\" failures=\"%d\" skipped=\"%d\" tests=\"%d\" time=\"%.3f\">",
            errors + missing, failures, skipped, r->found->count + missing, seconds);
    for (int i = 0; i < r->found->count; i++)
        put_case(out, r, &r->found->list[i]);
    ypi_launch_each_missing(r, put_missing, out);
    fputs("\n</testsuite></testsuites>\n", out);
}
