#include "reports/advice/cases/parts.h"

#include "base/text/figures.h"
#include "base/text/text.h"
#include "reports/print.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- phases -------------------------------------------------------------------------------- */

static const struct {
    enum ypi_stage stage;
    const char *words;
} vocabulary[] = {
    {YPI_STAGE_WAIT,
     "wait waiting barrier join sync synchronise synchronize lock reduce allreduce "},
    {YPI_STAGE_LAUNCH, "launch launches launching "},
    {YPI_STAGE_TRANSFER, "upload download transfer h2d d2h copy "},
    {YPI_STAGE_DATA, "load loader loading read reading data fetch decode parse parsing collate "
                     "input augment prepare "},
    {YPI_STAGE_COMPUTE, "forward backward loss encoder decoder head gradient optimiser optimizer "
                        "update step compute score fit "},
};

static bool has_word(const char *words, const char *word, size_t length)
{
    while (*words != '\0') {
        size_t size = strcspn(words, " ");
        if (size == length && strncasecmp(words, word, length) == 0)
            return true;
        words += size + 1;
    }
    return false;
}

/* By its first word that is known: "wait for data" waits. */
enum ypi_stage ypi_stage_named(const char *phase)
{
    while (*phase != '\0') {
        size_t length = 0;
        while (isalnum((unsigned char)phase[length]))
            length++;
        for (size_t i = 0; length > 0 && i < sizeof vocabulary / sizeof *vocabulary; i++)
            if (has_word(vocabulary[i].words, phase, length))
                return vocabulary[i].stage;
        phase += length > 0 ? length : 1;
    }
    return YPI_STAGE_OTHER;
}

struct ypi_stages ypi_stages_of(const struct ypi_seen *s)
{
    struct ypi_stages out = {0};
    const cJSON *phase;
    cJSON_ArrayForEach(phase, cJSON_GetObjectItemCaseSensitive(s->m, "phases"))
    {
        double seconds = ypi_real(phase, "seconds");
        if (!(seconds > 0 && isfinite(seconds)))
            continue;
        out.seconds[ypi_stage_named(ypi_text_of(phase, "name"))] += seconds;
        out.all += seconds;
    }
    for (int i = 0; i < YPI_STAGES; i++) {
        out.share[i] = fmin(out.seconds[i] / s->mean, 1);
        if (out.seconds[i] > out.seconds[out.most])
            out.most = (enum ypi_stage)i;
    }
    return out;
}

void ypi_stage_evidence(const struct ypi_seen *s, struct ypi_finding *f, enum ypi_stage stage)
{
    struct ypi_text text = {0};
    const cJSON *phase;
    cJSON_ArrayForEach(phase, cJSON_GetObjectItemCaseSensitive(s->m, "phases"))
    {
        const char *name = ypi_text_of(phase, "name");
        if (ypi_real(phase, "seconds") > 0 && ypi_stage_named(name) == stage)
            ypi_text_add(&text, "%s%s %s", text.length > 0 ? ", " : "", name,
                         ypi_say_time(ypi_real(phase, "seconds"), NAN, NAN));
    }
    char *phases = ypi_text_take(&text);
    ypi_finding_evidence(f, "%s, of %s an iteration (median %s)", phases,
                         ypi_say_time(s->mean, NAN, NAN), ypi_say_time(s->median, s->low, s->high));
    free(phases);
}

/* -- ceilings ------------------------------------------------------------------------------ */

/* Is another bound of its step longer? */
static bool is_nearest(const cJSON *bounds, const cJSON *bound)
{
    const cJSON *other;
    cJSON_ArrayForEach(other, bounds)
    {
        if (ypi_whole(other, "stage") == ypi_whole(bound, "stage") &&
            ypi_bound_seconds(other) > ypi_bound_seconds(bound))
            return false;
    }
    return true;
}

static void name_bound(struct ypi_nearest *n)
{
    const char *ceiling = ypi_text_of(n->bound, "ceiling");
    const char *level = ypi_text_of(n->bound, "level");
    n->transfer = strstr(ceiling, "load") != NULL; /* upload, download */
    n->traffic = *level != '\0' && !n->transfer;
    if (n->traffic)
        snprintf(n->name, sizeof n->name, "%.20s %s %.20s", ceiling,
                 strcmp(ceiling, "fill") == 0 ? "of" : "from", level);
    else
        snprintf(n->name, sizeof n->name, "%.20s%s", ceiling,
                 n->transfer || strcmp(ceiling, "launch") == 0 ? "" : " arithmetic");
}

struct ypi_nearest ypi_nearest_of(const cJSON *m)
{
    struct ypi_nearest n = {0};
    const cJSON *bounds = cJSON_GetObjectItemCaseSensitive(m, "bounds");
    const cJSON *bound;
    double sum = 0;
    cJSON_ArrayForEach(bound, bounds)
    {
        double least = ypi_bound_seconds(bound);
        if (!(least > 0) || !is_nearest(bounds, bound))
            continue;
        sum += least;
        if (n.bound == NULL || least > ypi_bound_seconds(n.bound))
            n.bound = bound;
    }
    if (n.bound == NULL)
        return n;
    n.part = ypi_bound_seconds(n.bound) / sum;
    name_bound(&n);
    return n;
}

static const char *unit_of(const struct ypi_nearest *n)
{
    const char *ceiling = ypi_text_of(n->bound, "ceiling");
    if (n->traffic || n->transfer)
        return "B";
    return strncmp(ceiling, "int", 3) == 0 || strcmp(ceiling, "launch") == 0 ? "operations"
                                                                             : "FLOP";
}

void ypi_share_evidence(const struct ypi_seen *s, struct ypi_finding *f,
                        const struct ypi_nearest *n)
{
    const char *of = ypi_say_rate(ypi_real(n->bound, "rate"), ypi_real(n->bound, "low"),
                                  ypi_real(n->bound, "high"), unit_of(n));
    ypi_finding_evidence(f, "share %s of what bounds it; %s, %s, probed beside it%s",
                         ypi_say_ratio(ypi_real(s->m, "share"), ypi_real(s->m, "share_low"),
                                       ypi_real(s->m, "share_high")),
                         n->name, of, n->part < 0.999 ? ", takes the most of its steps" : "");
}

bool ypi_is_disturbed(const struct ypi_seen *s)
{
    return *ypi_text_of(s->m, "noise_cause") != '\0';
}

double ypi_processors_busy(const struct ypi_seen *s)
{
    return ypi_real(s->m, "cpu") / s->median;
}

double ypi_counted(const cJSON *m, const char *counter)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(m, "counters"))
    {
        if (strcmp(ypi_text_of(one, "counter"), counter) == 0)
            return ypi_real(one, "count");
    }
    return NAN;
}
