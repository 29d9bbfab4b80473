#include "reports/report/lines.h"

#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *ypi_section_name(enum ypi_section section)
{
    static const char *const names[YPI_SECTIONS] = {[YPI_FAILED] = "failed",
                                                    [YPI_UNDECIDED] = "undecided",
                                                    [YPI_CHANGED] = "changed",
                                                    [YPI_PASSED] = "passed",
                                                    [YPI_SKIPPED] = "skipped"};
    return names[section];
}

void ypi_add_counts(struct ypi_text *out, const struct ypi_content *content)
{
    const char *between = "";
    for (int s = 0; s < YPI_SECTIONS; s++) {
        if (content->of_section[s] == 0)
            continue;
        ypi_text_add(out, "%s%zu %s", between, content->of_section[s],
                     ypi_section_name((enum ypi_section)s));
        between = ", ";
    }
    if (content->gone_count > 0)
        ypi_text_add(out, "; %zu only in the run compared with", content->gone_count);
}

void ypi_add_run(struct ypi_text *out, const cJSON *run)
{
    char started[32];
    const cJSON *facts = cJSON_GetObjectItemCaseSensitive(run, "facts");
    const char *commit = ypi_text_of(facts, "git.commit");
    const char *host = ypi_text_of(facts, "hostname");
    ypi_format_time(started, ypi_real(run, "started"));
    ypi_text_add(out, "run %.8s of %s", ypi_text_of(run, "id"), started);
    if (*commit != '\0')
        ypi_text_add(out, ", commit %.10s%s", commit,
                     strcmp(ypi_text_of(facts, "git.dirty"), "yes") == 0 ? " (dirty)" : "");
    if (*host != '\0')
        ypi_text_add(out, ", on %.64s", host);
    if (isnan(ypi_real(run, "ended")))
        ypi_text_add(out, ", unfinished");
    if (!isnan(ypi_real(run, "slowdown")))
        ypi_text_add(out, ", slowed down %g times", ypi_real(run, "slowdown"));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "no_fork")))
        ypi_text_add(out, ", without isolation");
}

void ypi_add_bases(struct ypi_text *out, const struct ypi_content *content)
{
    ypi_add_run(out, content->against);
    if (content->other_bases > 0)
        ypi_text_add(out, " and %zu more, for other runs", content->other_bases);
}

/* -- budgets ------------------------------------------------------------------------------- */

static const char *unit_of(const cJSON *document, const char *name)
{
    static const char *const lists[] = {"measurements", "values"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(document, lists[i]))
        {
            if (strcmp(ypi_text_of(item, "name"), name) == 0)
                return ypi_text_of(item, "unit");
        }
    }
    return "";
}

void ypi_word_budget(struct ypi_budget_words *out, const cJSON *document, const cJSON *b)
{
    char end[128];
    const char *unit = unit_of(document, ypi_text_of(b, "name"));
    const double low = ypi_real(b, "low");
    const double high = ypi_real(b, "high");
    *out = (struct ypi_budget_words){.met = ypi_text_of(b, "met")};
    ypi_store_budget_text(out->text, b, unit);
    if (!isnan(ypi_real(b, "allowed")))
        ypi_store_budget_figure(out->limit, b, ypi_real(b, "allowed"), unit);
    if (!ypi_store_budget_measured(b))
        return;
    ypi_store_budget_figure(out->measured, b, ypi_real(b, "measured"), unit);
    if (low < high) {
        ypi_store_budget_figure(end, b, low, unit);
        int length = snprintf(out->interval, sizeof out->interval, "[%s, ", end);
        ypi_store_budget_figure(end, b, high, unit);
        snprintf(out->interval + length, sizeof out->interval - (size_t)length, "%s]", end);
    }
    if (!isnan(ypi_real(b, "distance")))
        ypi_format_share(out->distance, ypi_real(b, "distance"));
}

/* -- measurements ---------------------------------------------------------------------------- */

static bool is_rate(const cJSON *m)
{
    return ypi_real(m, "items") > 0 || ypi_real(m, "flops") > 0 || ypi_real(m, "bytes") > 0;
}

void ypi_word_measured(struct ypi_measured_words *out, const cJSON *m)
{
    char ends[2][YPI_FIGURE_MAX];
    const double low = ypi_real(m, "low");
    const double high = ypi_real(m, "high");
    *out = (struct ypi_measured_words){.name = ypi_text_of(m, "name")};
    if (isnan(ypi_real(m, "median"))) {
        snprintf(out->figure, sizeof out->figure, "not timed");
        return;
    }
    ypi_format_measurement(out->figure, m, ypi_real(m, "median"));
    ypi_format_part(out->share, m);
    if (!(low < high))
        return;
    ypi_format_measurement(ends[0], m, is_rate(m) ? high : low);
    ypi_format_measurement(ends[1], m, is_rate(m) ? low : high);
    snprintf(out->interval, sizeof out->interval, "[%s, %s]", ends[0], ends[1]);
}

const char *ypi_reason_of(const cJSON *document)
{
    const char *reason =
        ypi_text_of(cJSON_GetObjectItemCaseSensitive(document, "result"), "reason");
    const cJSON *failures = cJSON_GetObjectItemCaseSensitive(document, "failures");
    if (*reason != '\0' || failures == NULL)
        return reason;
    return ypi_text_of(failures->child, "message");
}
