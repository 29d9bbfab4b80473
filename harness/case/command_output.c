/* What a line of a command's output says: JSON in, results out. */
#include "base/text/text.h"
#include "device/cpu/binding.h"
#include "harness/body/child.h"
#include "harness/case/command.h"
#include "harness/measure/noise.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 1000000, SHOWN = 60, FIELDS_MAX = 8 };

/* -- fields ------------------------------------------------------------------------------- */

enum form { TEXT, NAME, UNIT, NUMBER, AMOUNT, WHOLE, SECONDS, HASH };

static const char *const allowed[] = {
    [TEXT] = "a text that is not empty",
    [NAME] = "a text", /* the rest is asked where names are kept */
    [UNIT] = "a text of at most 63 bytes in one line",
    [NUMBER] = "a finite number",
    [AMOUNT] = "a finite number from 0",
    [WHOLE] = "a whole number from 0",
    [SECONDS] = "a list of 1 to 1,000,000 finite numbers above 0, seconds an iteration",
    [HASH] = "a text of 1 to 16 hexadecimal digits",
};

struct field {
    const char *key;
    enum form form;
    bool optional;
};

/* Each is known by the first of its keys. */
enum kind { MEASURE, VALUE, DATA_HASH, SKIP, FAIL, KINDS };
static const struct field kinds[KINDS][FIELDS_MAX] = {
    [MEASURE] = {{"measure", NAME, false},
                 {"seconds", SECONDS, false},
                 {"items", AMOUNT, true},
                 {"unit", UNIT, true},
                 {"flops", AMOUNT, true},
                 {"bytes", AMOUNT, true},
                 {"warmup", WHOLE, true}},
    [VALUE] = {{"value", NAME, false}, {"number", NUMBER, false}, {"unit", UNIT, true}},
    [DATA_HASH] = {{"hash", HASH, false}},
    [SKIP] = {{"skip", TEXT, false}},
    [FAIL] = {{"fail", TEXT, false}},
};

/* The longest text a number may be written with and still be exact in a double. */
#define WHOLE_MAX 9007199254740992.0

static bool is_amount(const cJSON *value, double least)
{
    return cJSON_IsNumber(value) && isfinite(value->valuedouble) && value->valuedouble >= least;
}

static bool is_seconds(const cJSON *list)
{
    int count = 0;
    const cJSON *second = NULL;
    if (!cJSON_IsArray(list))
        return false;
    cJSON_ArrayForEach(second, list)
    {
        count++;
        if (!is_amount(second, 0) || second->valuedouble == 0)
            return false;
    }
    return count >= 1 && count <= SAMPLES_MAX;
}

static bool is_hash(const char *text)
{
    size_t length = strlen(text);
    return length >= 1 && length <= 16 && strspn(text, "0123456789abcdefABCDEF") == length;
}

static bool fits(const cJSON *value, enum form form)
{
    const char *text = cJSON_IsString(value) ? value->valuestring : NULL;
    switch (form) {
    case TEXT:
        return text != NULL && text[0] != '\0';
    case NAME:
        return text != NULL;
    case UNIT:
        return text != NULL && strlen(text) < YPI_NAME_MAX && strchr(text, '\n') == NULL;
    case NUMBER:
        return is_amount(value, -INFINITY);
    case AMOUNT:
        return is_amount(value, 0);
    case WHOLE:
        return is_amount(value, 0) && value->valuedouble <= WHOLE_MAX &&
               value->valuedouble == floor(value->valuedouble);
    case SECONDS:
        return is_seconds(value);
    default:
        return text != NULL && is_hash(text);
    }
}

static const struct field *find_field(const struct field *fields, const char *key)
{
    for (int i = 0; i < FIELDS_MAX && fields[i].key != NULL; i++)
        if (strcmp(fields[i].key, key) == 0)
            return &fields[i];
    return NULL;
}

/* -- what is wrong with an object --------------------------------------------------------- */

/* The first of a list's elements that is out of place, or the value itself. */
static const cJSON *culprit(const cJSON *value, enum form form)
{
    const cJSON *element = NULL;
    if (form == SECONDS && cJSON_IsArray(value))
        cJSON_ArrayForEach(element, value)
        {
            if (!is_amount(element, 0) || element->valuedouble == 0)
                return element;
        }
    return value;
}

static char *misfit(const struct field *field, const cJSON *value)
{
    const cJSON *wrong = culprit(value, field->form);
    const char *among = wrong != value ? "holds" : "is";
    if (cJSON_IsNumber(wrong))
        return ypi_format("\"%s\" %s %.17g, allowed is %s", field->key, among, wrong->valuedouble,
                          allowed[field->form]);
    char *text = cJSON_IsArray(wrong) ? NULL : cJSON_PrintUnformatted(wrong);
    char *message = cJSON_IsArray(wrong)
                        ? ypi_format("\"%s\" is a list of %d, allowed is %s", field->key,
                                     cJSON_GetArraySize(wrong), allowed[field->form])
                        : ypi_format("\"%s\" %s %.*s, allowed is %s", field->key, among, SHOWN,
                                     text != NULL ? text : "?", allowed[field->form]);
    cJSON_free(text);
    return message;
}

static char *unknown_key(const struct field *fields, const char *key)
{
    const char *names[FIELDS_MAX];
    int count = 0;
    struct ypi_text list = {0};
    for (; count < FIELDS_MAX && fields[count].key != NULL; count++) {
        names[count] = fields[count].key;
        ypi_text_add(&list, "%s\"%s\"", count > 0 ? ", " : "", names[count]);
    }
    const char *near = ypi_nearest(key, names, count);
    char *all = ypi_text_take(&list);
    char *message = ypi_format("a \"%s\" has no \"%.*s\"%s%s%s; it has %s", fields->key, SHOWN, key,
                               near != NULL ? ", did you mean \"" : "", near != NULL ? near : "",
                               near != NULL ? "\"?" : "", all);
    free(all);
    return message;
}

/* Fills `values`, one a field; what is wrong, or NULL. */
static char *read_fields(const cJSON *object, const struct field *fields,
                         const cJSON *values[FIELDS_MAX])
{
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object)
    {
        const struct field *field = find_field(fields, member->string);
        if (field == NULL)
            return unknown_key(fields, member->string);
        if (values[field - fields] != NULL)
            return ypi_format("\"%s\" is there twice", field->key);
        if (!fits(member, field->form))
            return misfit(field, member);
        values[field - fields] = member;
    }
    for (int i = 0; i < FIELDS_MAX && fields[i].key != NULL; i++)
        if (values[i] == NULL && !fields[i].optional)
            return ypi_format("a \"%s\" needs \"%s\", %s", fields->key, fields[i].key,
                              allowed[fields[i].form]);
    return NULL;
}

/* -- results ------------------------------------------------------------------------------ */

static const char *text_or_empty(const cJSON *value)
{
    return value != NULL ? value->valuestring : "";
}

static double number_or_zero(const cJSON *value)
{
    return value != NULL ? value->valuedouble : 0;
}

/* When the command began, of which this process runs one at a time. */
static struct ypi_noise_mark began;

void ypi_command_begins(void)
{
    ypi_noise_mark(&began);
}

/* Since it began, what took processors from it and from this process alike. */
static void add_held_back(struct ypi_measured *m)
{
    struct ypi_noise_mark now;
    ypi_noise_mark(&now);
    const struct ypi_noise noise = ypi_noise_between(&began, &now);
    m->noise.wall = noise.wall;
    m->noise.stolen = noise.stolen;
    m->noise.throttled = noise.throttled;
}

/* What a program of ours would have counted and nobody has. */
static void not_known(struct ypi_measured *m)
{
    double *const noise[] = {&m->noise.wall,         &m->noise.own,       &m->noise.others,
                             &m->noise.stolen,       &m->noise.throttled, &m->noise.minor_faults,
                             &m->noise.major_faults, &m->noise.waits,     &m->noise.preemptions,
                             &m->noise.migrations,   &m->noise.frequency, &m->noise.frequency_least,
                             &m->noise.hot};
    for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++)
        *noise[i] = NAN;
    for (int i = 0; i < YP_COUNTERS; i++)
        m->counts[i] = (struct ypi_count){.source = YPI_NOT_COUNTED, .count = NAN};
    m->bound = -1;
    m->growth_accounted = m->growth_resident = NAN;
    m->threads = m->noise.processors = ypi_processors();
}

static char *take_measure(struct yp_case *t, const cJSON *values[FIELDS_MAX])
{
    enum { THIS, SECONDS_OF, ITEMS, UNIT_OF, FLOPS, BYTES, WARMUP };
    const char *name = text_or_empty(values[THIS]);
    if (t->test->parallel)
        return ypi_format(
            "a measurement, '%.*s', in a test that declares .parallel: others may run beside "
            "it, so nothing in it can be timed",
            SHOWN, name);
    char *problem = ypi_child_name_problem(t, "measurement", name);
    if (problem != NULL)
        return problem;
    struct ypi_measured m;
    memset(&m, 0, sizeof m);
    not_known(&m);
    add_held_back(&m);
    m.kind = YPI_MEASURED_WORK;
    snprintf(m.name, sizeof m.name, "%s", name);
    snprintf(m.unit, sizeof m.unit, "%s", text_or_empty(values[UNIT_OF]));
    m.items = number_or_zero(values[ITEMS]);
    m.flops = number_or_zero(values[FLOPS]);
    m.bytes = number_or_zero(values[BYTES]);
    m.warmup = (uint64_t)number_or_zero(values[WARMUP]);
    m.batch = 1;
    m.stop = YPI_STOP_FIXED;
    m.samples = ypi_calloc((size_t)cJSON_GetArraySize(values[SECONDS_OF]), sizeof *m.samples);
    const cJSON *second = NULL;
    const double slowdown =
        fmax(ypi_child_job(t)->slowdown, 1); /* what it reports, it did not wait */
    cJSON_ArrayForEach(second, values[SECONDS_OF]) m.samples[m.count++] =
        slowdown * second->valuedouble;
    ypi_child_send_measured(t, &m);
    ypi_measured_clear(&m);
    return NULL;
}

static char *take_value(struct yp_case *t, const cJSON *values[FIELDS_MAX])
{
    enum { THIS, NUMBER_OF, UNIT_OF };
    const char *name = text_or_empty(values[THIS]);
    char *problem = ypi_child_name_problem(t, "value", name);
    if (problem == NULL)
        ypi_child_send_value(t, name, number_or_zero(values[NUMBER_OF]),
                             text_or_empty(values[UNIT_OF]));
    return problem;
}

/* Tells the result; what is wrong with it, or NULL. */
static char *take(struct yp_case *t, enum kind kind, const cJSON *values[FIELDS_MAX])
{
    const char *text = text_or_empty(values[0]);
    switch (kind) {
    case MEASURE:
        return take_measure(t, values);
    case VALUE:
        return take_value(t, values);
    case DATA_HASH:
        yp_data_hash(t, strtoull(text, NULL, 16));
        return NULL;
    default:
        ypi_child_fail(t, YPI_CAUSE_EXPECTATION, NULL, 0, "%s", text);
        return NULL;
    }
}

/* -- lines -------------------------------------------------------------------------------- */

/* Its kind, by the keys that it has; KINDS: none, with *second set when there are two. */
static enum kind kind_of(const cJSON *object, enum kind *second)
{
    enum kind found = KINDS;
    *second = KINDS;
    for (int i = 0; i < KINDS; i++) {
        if (cJSON_GetObjectItemCaseSensitive(object, kinds[i][0].key) == NULL)
            continue;
        *second = found == KINDS ? KINDS : (enum kind)i;
        found = found == KINDS ? (enum kind)i : found;
    }
    return found;
}

bool ypi_command_begins_result(const char *line)
{
    static const char blanks[] = " \t\r";
    line += strspn(line, blanks);
    if (*line++ != '{')
        return false;
    line += strspn(line, blanks);
    for (int i = 0; i < KINDS && *line == '"'; i++) {
        size_t length = strlen(kinds[i][0].key);
        if (strncmp(line + 1, kinds[i][0].key, length) == 0 && line[1 + length] == '"')
            return true;
    }
    return false;
}

static enum ypi_line_kind read_object(struct yp_case *t, const cJSON *object, char **text)
{
    const cJSON *values[FIELDS_MAX] = {NULL};
    enum kind second = KINDS;
    enum kind kind = kind_of(object, &second);
    if (kind == KINDS)
        return YPI_LINE_NOTHING;
    if (second != KINDS)
        *text = ypi_format("two results, \"%s\" and \"%s\": each needs a line of its own",
                           kinds[kind][0].key, kinds[second][0].key);
    else
        *text = read_fields(object, kinds[kind], values);
    if (*text != NULL)
        return YPI_LINE_WRONG;
    if (kind == SKIP) {
        *text = ypi_strdup(text_or_empty(values[0]));
        return YPI_LINE_SKIP;
    }
    *text = take(t, kind, values);
    return *text != NULL ? YPI_LINE_WRONG : YPI_LINE_RESULT;
}

enum ypi_line_kind ypi_command_line(struct yp_case *t, const char *line, size_t length, char **text)
{
    *text = NULL;
    if (line[strspn(line, " \t\r")] != '{')
        return YPI_LINE_NOTHING;
    const char *end = NULL;
    cJSON *object =
        strlen(line) == length ? cJSON_ParseWithOpts(line, &end, true) : NULL; /* no NUL in it */
    enum ypi_line_kind what = YPI_LINE_NOTHING;
    if (cJSON_IsObject(object)) {
        what = read_object(t, object, text);
    } else if (ypi_command_begins_result(line)) {
        long column = end != NULL ? (long)(end - line) + 1 : 1;
        *text = ypi_format("begins as a result, but is not JSON from column %ld on: %.*s", column,
                           SHOWN, end != NULL ? end : line);
        what = YPI_LINE_WRONG;
    }
    cJSON_Delete(object);
    return what;
}
