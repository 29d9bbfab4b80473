/* OpenMetrics 1.0 (github.com/OpenObservability/OpenMetrics, specification/OpenMetrics.md). The
 * samples of a family stand together, so each family is kept until all results were read. */
#include "reports/exports/results.h"

#include "base/text/text.h"
#include "reports/exports/sink.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum family {
    RESULT,
    OUTCOME,
    BEGAN,
    DURATION,
    TIME,
    TIME_LOW,
    TIME_HIGH,
    TIME_P99,
    RATE,
    SHARE,
    PEAK,
    ALLOCATIONS,
    VALUE,
    BUDGET_MET,
    BUDGET_SLACK,
    FAMILIES
};

#define PREFIX "yieldpoint_"

/* A unit is the end of its family's name (section "Unit"). */
static const struct {
    const char *name, *type, *unit, *help;
} families[FAMILIES] = {
    [RESULT] = {"result", "info", "", "The newest result of a case on a machine."},
    [OUTCOME] = {"outcome", "stateset", "", "Its outcome."},
    [BEGAN] = {"began_timestamp_seconds", "gauge", "seconds", "When it began, since 1970."},
    [DURATION] = {"duration_seconds", "gauge", "seconds", "What its process took."},
    [TIME] = {"time_seconds", "gauge", "seconds", "Median time of an iteration."},
    [TIME_LOW] = {"time_low_seconds", "gauge", "seconds", "Lower end of the median's interval."},
    [TIME_HIGH] = {"time_high_seconds", "gauge", "seconds", "Upper end of the median's interval."},
    [TIME_P99] = {"time_p99_seconds", "gauge", "seconds",
                  "Time that 99 of 100 iterations do not exceed."},
    [RATE] = {"rate", "gauge", "", "Items a second, by the median; their name is in item."},
    [SHARE] = {"share_ratio", "gauge", "ratio", "Part of what its bound allows."},
    [PEAK] = {"peak_bytes", "gauge", "bytes", "Most memory at one time."},
    [ALLOCATIONS] = {"requests", "gauge", "", "Requests for memory."},
    [VALUE] = {"value", "gauge", "", "A value that the case reported; its unit is in value_unit."},
    [BUDGET_MET] = {"budget_met", "gauge", "", "1: the budget is met; 0: it is not."},
    [BUDGET_SLACK] = {"budget_slack_ratio", "gauge", "ratio",
                      "Allowed over measured; below 1: not met."},
};

struct metrics {
    struct ypi_text text[FAMILIES];
    const cJSON *document;
    const char *machine;
};

/* -- samples ---------------------------------------------------------------------------------- */

static void add_label(struct ypi_text *text, char before, const char *name, const char *value)
{
    char *clean = ypi_utf8(value);
    ypi_text_add(text, "%c%s=\"", before, name);
    for (const char *at = clean; *at != '\0';) {
        const size_t plain = strcspn(at, "\"\\\n");
        ypi_text_bytes(text, at, plain);
        at += plain;
        if (*at != '\0')
            ypi_text_add(text, "\\%c", *at == '\n' ? 'n' : *at);
        at += *at != '\0';
    }
    ypi_text_add(text, "\"");
    free(clean);
}

/* A sample up to its labels of all results, for others to be added. */
static struct ypi_text *begin_sample(struct metrics *m, enum family family, const char *suffix)
{
    struct ypi_text *text = &m->text[family];
    const cJSON *of_case = ypi_member(m->document, "case");
    const char *device = ypi_text_of(of_case, "device");
    ypi_text_add(text, PREFIX "%s%s", families[family].name, suffix);
    add_label(text, '{', "case", ypi_text_of(of_case, "id"));
    add_label(text, ',', "device", *device ? device : "cpu");
    add_label(text, ',', "machine", m->machine);
    return text;
}

static void end_sample(struct ypi_text *text, double value)
{
    char digits[32];
    ypi_print_double(digits, value);
    ypi_text_add(text, "} %s\n", isinf(value) ? value > 0 ? "+Inf" : "-Inf" : digits);
}

/* With one label more, unless `label` is NULL; nothing where there is no number. */
static void add_sample(struct metrics *m, enum family family, const char *label, const char *value,
                       double number)
{
    if (isnan(number))
        return;
    struct ypi_text *text = begin_sample(m, family, "");
    if (label != NULL)
        add_label(text, ',', label, value);
    end_sample(text, number);
}

static void add_result(struct metrics *m)
{
    const cJSON *result = ypi_member(m->document, "result");
    const cJSON *run = ypi_member(m->document, "run");
    const cJSON *facts = ypi_member(run, "facts");
    struct ypi_text *text = begin_sample(m, RESULT, "_info");
    add_label(text, ',', "result", ypi_text_of(result, "id"));
    add_label(text, ',', "run", ypi_text_of(run, "id"));
    add_label(text, ',', "commit", ypi_text_of(facts, "git.commit"));
    add_label(text, ',', "host", ypi_text_of(facts, "hostname"));
    add_label(text, ',', "tags", ypi_text_of(ypi_member(m->document, "case"), "tags"));
    end_sample(text, 1);
    for (int i = 0; ypi_store_outcome(i) != NULL; i++)
        add_sample(m, OUTCOME, PREFIX "outcome", ypi_store_outcome(i),
                   strcmp(ypi_store_outcome(i), ypi_text_of(result, "outcome")) == 0);
    add_sample(m, BEGAN, NULL, NULL, ypi_real(result, "started"));
    add_sample(m, DURATION, NULL, NULL, ypi_real(result, "duration"));
    add_sample(m, PEAK, "memory", "resident", ypi_real(result, "resident_peak"));
}

static void add_measurement(struct metrics *m, const cJSON *one)
{
    static const struct {
        enum family family;
        const char *member;
    } times[] = {{TIME, "median"}, {TIME_LOW, "low"}, {TIME_HIGH, "high"}, {TIME_P99, "p99"}};
    const char *name = ypi_text_of(one, "name");
    const double rate = ypi_real(one, "items") / ypi_real(one, "median");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        add_sample(m, times[i].family, "measurement", name, ypi_real(one, times[i].member));
    if (rate > 0) {
        struct ypi_text *text = begin_sample(m, RATE, "");
        add_label(text, ',', "measurement", name);
        add_label(text, ',', "item", ypi_text_of(one, "unit"));
        end_sample(text, rate);
    }
    if (!isnan(ypi_real(one, "share"))) {
        struct ypi_text *text = begin_sample(m, SHARE, "");
        add_label(text, ',', "measurement", name);
        add_label(text, ',', "bound", ypi_text_of(one, "bound"));
        end_sample(text, ypi_real(one, "share"));
    }
}

/* A case may report a value twice; the same labels twice would spoil the whole file. */
static bool is_last_of_name(const cJSON *value)
{
    for (const cJSON *next = value->next; next != NULL; next = next->next)
        if (strcmp(ypi_text_of(next, "name"), ypi_text_of(value, "name")) == 0 &&
            strcmp(ypi_text_of(next, "unit"), ypi_text_of(value, "unit")) == 0)
            return false;
    return true;
}

static void add_value(struct metrics *m, const cJSON *value)
{
    if (isnan(ypi_real(value, "value")) || !is_last_of_name(value))
        return;
    struct ypi_text *text = begin_sample(m, VALUE, "");
    add_label(text, ',', "name", ypi_text_of(value, "name"));
    add_label(text, ',', "value_unit", ypi_text_of(value, "unit"));
    end_sample(text, ypi_real(value, "value"));
}

/* `number`: two budgets may be of one kind and name. */
static void add_budget(struct metrics *m, const cJSON *budget, int number)
{
    const double figures[] = {strcmp(ypi_text_of(budget, "met"), "met") == 0,
                              ypi_real(budget, "slack")};
    for (int i = 0; i < 2 && ypi_store_budget_measured(budget); i++) {
        char place[16];
        if (isnan(figures[i]))
            continue;
        struct ypi_text *text = begin_sample(m, i == 0 ? BUDGET_MET : BUDGET_SLACK, "");
        snprintf(place, sizeof place, "%d", number);
        add_label(text, ',', "budget", place);
        add_label(text, ',', "kind", ypi_text_of(budget, "kind"));
        add_label(text, ',', "name", ypi_text_of(budget, "name"));
        end_sample(text, figures[i]);
    }
}

static void add_document(struct metrics *m)
{
    const cJSON *one;
    int number = 0;
    add_result(m);
    cJSON_ArrayForEach(one, ypi_member(m->document, "measurements"))
    {
        add_measurement(m, one);
    }
    cJSON_ArrayForEach(one, ypi_member(m->document, "memory"))
    {
        add_sample(m, PEAK, "memory", one->string, ypi_real(one, "allocated_peak"));
        add_sample(m, ALLOCATIONS, "memory", one->string, ypi_real(one, "allocations"));
    }
    cJSON_ArrayForEach(one, ypi_member(m->document, "values"))
    {
        add_value(m, one);
    }
    cJSON_ArrayForEach(one, ypi_member(m->document, "budgets"))
    {
        add_budget(m, one, ++number);
    }
}

/* -- the file --------------------------------------------------------------------------------- */

static void add_family(struct ypi_sink *sink, enum family family, struct ypi_text *samples)
{
    if (samples->length == 0)
        return;
    const char *name = families[family].name;
    ypi_text_add(&sink->text, "# TYPE " PREFIX "%s %s\n", name, families[family].type);
    if (*families[family].unit)
        ypi_text_add(&sink->text, "# UNIT " PREFIX "%s %s\n", name, families[family].unit);
    ypi_text_add(&sink->text, "# HELP " PREFIX "%s %s\n", name, families[family].help);
    ypi_text_bytes(&sink->text, samples->data, samples->length);
    ypi_sink_step(sink);
}

static enum yp_status read_results(struct metrics *m, struct ypi_export *e)
{
    struct ypi_exported results;
    enum yp_status status = ypi_exported_load(&results, e);
    struct ypi_documents *documents = ypi_documents_open(e->db);
    for (size_t i = 0; status == YP_OK && i < results.count; i++) {
        if (!results.list[i].newest)
            continue;
        cJSON *document = ypi_documents_read(documents, results.list[i].id, false);
        status = document != NULL ? YP_OK : YP_IO;
        m->document = document;
        m->machine = results.list[i].machine;
        if (document != NULL)
            add_document(m);
        cJSON_Delete(document);
        e->results++;
    }
    ypi_documents_close(documents);
    ypi_exported_clear(&results);
    return status;
}

enum yp_status ypi_export_openmetrics(struct ypi_export *e, const char *path)
{
    struct metrics m = {0};
    struct ypi_sink sink;
    enum yp_status status = ypi_sink_open(&sink, path);
    if (status == YP_OK)
        status = read_results(&m, e);
    for (int i = 0; i < FAMILIES; i++) {
        if (status == YP_OK)
            add_family(&sink, (enum family)i, &m.text[i]);
        free(ypi_text_take(&m.text[i]));
    }
    ypi_text_add(&sink.text, "# EOF\n");
    if (status == YP_OK)
        status = ypi_sink_close(&sink);
    ypi_sink_drop(&sink);
    return status;
}
