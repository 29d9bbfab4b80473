/* The changes as JSON. */
#include "gate/trend/trend.h"

#include "base/text/output.h"

static void add_ratio(cJSON *object, const char *name, struct ypi_shift ratio)
{
    cJSON *to = cJSON_AddObjectToObject(object, name);
    ypi_json_add_real(to, "ratio", ratio.middle);
    ypi_json_add_real(to, "low", ratio.low);
    ypi_json_add_real(to, "high", ratio.high);
}

static void add_place(cJSON *object, const char *name, double time, const struct ypi_trend_run *run)
{
    cJSON *to = cJSON_AddObjectToObject(object, name);
    cJSON_AddNumberToObject(to, "time", time);
    cJSON_AddStringToObject(to, "run", run->id);
    ypi_json_add_text(to, "commit", *run->commit != '\0' ? run->commit : NULL);
    cJSON_AddBoolToObject(to, "dirty", run->dirty);
}

static cJSON *document_of_change(const struct ypi_trend_series *s, const struct ypi_trend_change *c)
{
    static const char *const causes[] = {NULL, "work", "machine"};
    cJSON *object = cJSON_CreateObject();
    const struct ypi_trend_point *before = &s->points[c->place - 1];
    ypi_json_add_real(object, "before", c->before);
    ypi_json_add_real(object, "after", c->after);
    add_ratio(object, "change", c->ratio);
    add_ratio(object, "share", c->share);
    ypi_json_add_text(object, "cause", causes[c->cause]);
    add_place(object, "last_before", before->last, before->run);
    add_place(object, "first_after", s->points[c->place].first, s->points[c->place].run);
    return object;
}

static const char *state_of(const struct ypi_trend_series *s)
{
    return s->change_count > 0 || s->drifts ? "changed"
           : s->varies                      ? "varies"
           : ypi_trend_is_short(s)          ? "too short"
                                            : "unchanged";
}

static cJSON *document_of_series(const struct ypi_trend_series *s)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "case", s->id);
    cJSON_AddStringToObject(object, "quantity", ypi_trend_name(s->quantity));
    cJSON_AddStringToObject(object, "name", s->name);
    cJSON_AddStringToObject(object, "options", s->options);
    cJSON_AddStringToObject(object, "state", state_of(s));
    cJSON_AddNumberToObject(object, "points", (double)s->count);
    cJSON_AddNumberToObject(object, "not_told", (double)s->small);
    cJSON *changes = cJSON_AddArrayToObject(object, "changes");
    for (size_t i = s->change_count; i-- > 0;)
        cJSON_AddItemToArray(changes, document_of_change(s, &s->changes[i]));
    if (s->drifts) {
        add_ratio(object, "drift", s->drift);
        cJSON *drift = cJSON_GetObjectItem(object, "drift");
        cJSON_AddNumberToObject(drift, "points", (double)(s->count - s->steady));
        add_place(drift, "from", s->points[s->steady].first, s->points[s->steady].run);
    } else {
        cJSON_AddNullToObject(object, "drift");
    }
    return object;
}

cJSON *ypi_trend_document(const struct ypi_trend *t, const struct ypi_trend_request *r)
{
    struct ypi_trend_counts c = ypi_trend_count(t);
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "machine", t->machine);
    cJSON_AddNumberToObject(document, "error", r->error);
    cJSON_AddNumberToObject(document, "min_change", r->change);
    cJSON_AddNumberToObject(document, "cases", (double)t->case_count);
    cJSON_AddNumberToObject(document, "changed", c.changed);
    cJSON_AddNumberToObject(document, "unchanged", c.unchanged);
    cJSON_AddNumberToObject(document, "too_short", c.too_short);
    cJSON_AddNumberToObject(document, "varying", c.varying);
    cJSON_AddNumberToObject(document, "not_told", c.small);
    cJSON *series = cJSON_AddArrayToObject(document, "series");
    for (size_t i = 0; i < t->series_count; i++)
        cJSON_AddItemToArray(series, document_of_series(&t->series[i]));
    return document;
}
