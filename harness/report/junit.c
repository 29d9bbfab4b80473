/* The results as JUnit's XML, for the CI systems that read it: elements and attributes of the
 * schema of Jenkins' xUnit plugin (junit-10.xsd), filled as pytest does (xunit2). */
#include "base/system/clock.h"
#include "base/text/xml.h"
#include "device/cpu/topology.h"
#include "harness/collect/collect.h"
#include "harness/report/reporter.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct junit {
    FILE *out;
    const struct ypi_session *s;
    double began; /* seconds since 1970 */
    int tests, failures, errors, skipped;
};

/* -- properties ---------------------------------------------------------------------------- */

static void whole_number(FILE *out, const char *name, const char *part, uint64_t value)
{
    char *text = ypi_format("%" PRIu64, value);
    ypi_xml_property(out, name, part, text);
    free(text);
}

static void measured(FILE *out, const struct ypi_measured *m)
{
    if (m->kind == YPI_MEASURED_COUNT)
        for (int i = 0; i < YP_COUNTERS; i++)
            if (m->counts[i].source != YPI_NOT_COUNTED)
                ypi_xml_number(out, m->name, ypi_counter_name((enum yp_counter)i),
                               m->counts[i].count);
    if (m->count == 0)
        return;
    double median = m->estimate.median;
    ypi_xml_number(out, m->name, "seconds", median);
    ypi_xml_number(out, m->name, "seconds low", m->estimate.low);
    ypi_xml_number(out, m->name, "seconds high", m->estimate.high);
    ypi_xml_number(out, m->name, "samples", (double)m->count);
    if (m->items > 0)
        ypi_xml_number(out, m->name, m->unit[0] != '\0' ? m->unit : "items", m->items / median);
    if (m->flops > 0)
        ypi_xml_number(out, m->name, "FLOP/s", m->flops / median);
    if (m->bytes > 0)
        ypi_xml_number(out, m->name, "B/s", m->bytes / median);
    if (m->share_count > 0)
        ypi_xml_number(out, m->name, "share", m->share_estimate.median);
}

static void memory(FILE *out, const struct ypi_memory *m)
{
    whole_number(out, "host memory", "peak bytes", m->host.allocated_peak);
    whole_number(out, "host memory", "allocations", m->host.allocations);
    whole_number(out, "host memory", "resident peak bytes", m->resident_peak);
    if (m->has_device)
        whole_number(out, "device memory", "peak bytes", m->device.allocated_peak);
    if (m->has_heap) {
        whole_number(out, "heap memory", "peak bytes", m->heap.allocated_peak);
        whole_number(out, "heap memory", "allocations", m->heap.allocations);
    }
}

static void properties(FILE *out, const struct ypi_session *s, const struct ypi_result *r)
{
    char *again = ypi_reproduce_line(s, r);
    fputs("<properties>", out);
    ypi_xml_property(out, "id", "", r->c->id);
    ypi_xml_property(out, "tags", "", r->c->tags);
    whole_number(out, "seed", "", r->c->seed);
    if (r->outcome == YPI_NOISY)
        ypi_xml_property(out, "noisy", "", "a budget could not be decided");
    if (r->note != NULL)
        ypi_xml_property(out, "note", "", r->note);
    for (int i = 0; i < r->measured_count; i++)
        measured(out, &r->measured[i]);
    for (int i = 0; i < r->value_count; i++)
        ypi_xml_number(out, r->values[i].name, r->values[i].unit, r->values[i].value);
    for (int i = 0; i < r->gradient_count; i++)
        ypi_xml_number(out, r->gradients[i].name,
                       r->gradients[i].precision ? "times the plain error" : "gradient error",
                       r->gradients[i].error);
    if (r->has_memory)
        memory(out, &r->memory);
    if (again != NULL)
        ypi_xml_property(out, "reproduce", "", again);
    fputs("</properties>", out);
    free(again);
}

/* -- a case -------------------------------------------------------------------------------- */

/* The path with dots for its slashes and without its ending, as of a class. */
static char *class_of(const char *id)
{
    int length = (int)strcspn(id, ":");
    char *name = ypi_format("%.*s", length, id);
    char *dot = strrchr(name, '.');
    if (dot != NULL && strchr(dot, '/') == NULL)
        *dot = '\0';
    for (char *c = name; *c != '\0'; c++)
        if (*c == '/')
            *c = '.';
    return name;
}

static void failed(struct junit *junit, const struct ypi_result *r)
{
    bool error = r->outcome == YPI_ERROR;
    const char *reason = ypi_first_reason(r);
    char *message = error ? ypi_format("failed on setup with \"%s\"", reason) : ypi_strdup(reason);
    char *text = NULL;
    size_t size = 0;
    FILE *section = open_memstream(&text, &size);
    fprintf(junit->out, "<%s", error ? "error" : "failure");
    ypi_xml_attribute(junit->out, "message", message);
    fputc('>', junit->out);
    if (section != NULL) {
        ypi_print_failure(section, junit->s, r);
        fclose(section);
        ypi_xml_put(junit->out, text, false);
    }
    fprintf(junit->out, "</%s>", error ? "error" : "failure");
    free(text);
    free(message);
}

static void passed_over(struct junit *junit, const struct ypi_result *r)
{
    const struct yp_test *test = r->c->test;
    bool skipped = r->outcome == YPI_SKIPPED;
    char *place = ypi_format("%s:%d: ", test->file, test->line);
    fputs("<skipped", junit->out);
    ypi_xml_attribute(junit->out, "type", skipped ? "pytest.skip" : "pytest.xfail");
    ypi_xml_attribute(junit->out, "message", r->reason != NULL ? r->reason : "");
    fputc('>', junit->out);
    ypi_xml_put(junit->out, skipped ? place : "", false);
    ypi_xml_put(junit->out, skipped && r->reason != NULL ? r->reason : "", false);
    fputs("</skipped>", junit->out);
    free(place);
}

/* With its measurements, values and memory as properties. */
static enum yp_status report(struct ypi_reporting *to)
{
    const struct ypi_result *r = to->r;
    struct junit *junit = to->state;
    FILE *out = junit->out;
    char *class_name = class_of(r->c->id);
    const char *test = strstr(r->c->id, "::");
    char *repeated = r->c->repeat > 0 ? ypi_format("%s (repeat %d)", test + 2, r->c->repeat + 1)
                                      : ypi_strdup(test + 2);
    junit->tests++;
    junit->failures += r->outcome == YPI_FAILED;
    junit->errors += r->outcome == YPI_ERROR;
    junit->skipped += r->outcome == YPI_SKIPPED || r->outcome == YPI_XFAILED;
    fputs("\n<testcase", out);
    ypi_xml_attribute(out, "classname", class_name);
    ypi_xml_attribute(out, "name", repeated);
    fprintf(out, " time=\"%.3f\">", r->duration);
    properties(out, junit->s, r);
    if (ypi_is_failure(r->outcome))
        failed(junit, r);
    else if (r->outcome == YPI_SKIPPED || r->outcome == YPI_XFAILED)
        passed_over(junit, r);
    if (r->tail != NULL && r->tail[0] != '\0') {
        fputs("<system-out>", out);
        ypi_xml_put(out, r->tail, false);
        fputs("</system-out>", out);
    }
    fputs("</testcase>", out);
    free(repeated);
    free(class_name);
    return YP_OK;
}

/* -- the file ------------------------------------------------------------------------------ */

/* Counts are known at the end, and come to the place that is kept for them. */
enum { COUNTS = 128 };

static void put_head(struct junit *junit)
{
    char when[64];
    const char *host = ypi_environment_get(junit->s->environment, "hostname");
    char *counts = ypi_format(
        "errors=\"%d\" failures=\"%d\" skipped=\"%d\" tests=\"%d\" time=\"%.3f\"", junit->errors,
        junit->failures, junit->skipped, junit->tests, ypi_now() - junit->s->started);
    time_t seconds = (time_t)junit->began;
    struct tm broken;
    gmtime_r(&seconds, &broken);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &broken);
    fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites><testsuite name=\"yieldpoint\"",
          junit->out);
    ypi_xml_attribute(junit->out, "timestamp", when);
    ypi_xml_attribute(junit->out, "hostname", host != NULL ? host : "");
    fprintf(junit->out, " %-*s>", COUNTS, counts);
    free(counts);
}

static enum yp_status begin(struct ypi_reporting *to)
{
    struct junit *junit = to->state = ypi_calloc(1, sizeof *junit);
    *junit = (struct junit){.out = to->out, .s = to->s, .began = ypi_wall_clock()};
    put_head(junit);
    return YP_OK;
}

static enum yp_status end(struct ypi_reporting *to)
{
    fputs("\n</testsuite></testsuites>\n", to->out);
    rewind(to->out);
    put_head(to->state);
    return YP_OK;
}

const struct ypi_reporter ypi_junit_reporter = {
    .options = {{"junitxml", .value = "FILE", .help = "write JUnit's XML", .kind = YPI_OPTION_PATH},
                {"junit-xml", .value = "FILE", .kind = YPI_OPTION_PATH}},
    .has_file = true,
    .on = {[YPI_RUN_BEGINS] = begin, [YPI_RESULT] = report, [YPI_RUN_ENDS] = end}};
