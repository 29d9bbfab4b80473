#include "harness/vocabulary/budget_file.h"

#include "base/options/ini.h"
#include "base/text/text.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/kinds/kind.h"
#include "harness/vocabulary/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- keys ---------------------------------------------------------------------------------- */

/* What an = or a comment would cut, and a blank at an end of the name. */
static const char escaped[] = "%=:;# ";
static const char codes[][3] = {"25", "3d", "3a", "3b", "23", "20"}; /* behind a % */

/* What the processor decides beside the work; NULL: the work alone. */
static const char *why_not(const struct ypi_budget_kind *k, enum yp_counter counter)
{
    if (k->speed && !k->of_ceiling && !k->relative)
        return "rates and times hold on one machine only";
    if (k->alone != NULL)
        return "an order stands with its relation";
    bool own = counter == YP_INSTRUCTIONS || counter == YP_PAGE_FAULTS ||
               (counter >= YP_GPU_FP64 && counter < YP_COUNTERS);
    return k->detail == YPI_COUNTER && !own ? "this count is the processor's own" : NULL;
}

/* What stands behind the kind in a key. */
static const char *const behind[] = {"with the name", "with the name and the counter",
                                     "with host, device or heap", "host"};

static int behind_of(const struct ypi_budget_kind *k)
{
    return k->memory != NULL ? 2 + k->host_only : k->detail == YPI_COUNTER;
}

/* "min share and max growth with the name, ..., and max resident host", of all that may stand
 * there. The caller frees. */
static char *allowed(void)
{
    enum { GROUPS = sizeof behind / sizeof *behind };
    struct ypi_text text = {0};
    for (int group = 0; group < GROUPS; group++) {
        const char *names[YP_BUDGET_FOR_DEVICE];
        int count = 0;
        for (int kind = YP_BUDGET_NONE + 1; kind < YP_BUDGET_FOR_DEVICE; kind++) {
            const struct ypi_budget_kind *k = ypi_budget_kind((enum yp_budget_kind)kind);
            if (behind_of(k) == group && why_not(k, YP_INSTRUCTIONS) == NULL)
                names[count++] = k->name;
        }
        ypi_text_add(&text, group == 0 ? "" : group + 1 < GROUPS ? ", " : ", and ");
        for (int i = 0; i < count; i++)
            ypi_text_add(&text, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", names[i]);
        ypi_text_add(&text, " %s", behind[group]);
    }
    return ypi_text_take(&text);
}

static void add_escaped(struct ypi_text *key, const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        const char *found = strchr(escaped, *at);
        const bool inside = at > name && at[1] != '\0';
        if (found != NULL && (*at != ' ' || !inside))
            ypi_text_add(key, "%%%s", codes[found - escaped]);
        else
            ypi_text_bytes(key, at, 1);
    }
}

char *ypi_key_of_name(const char *name)
{
    struct ypi_text key = {0};
    add_escaped(&key, name);
    return ypi_text_take(&key);
}

char *ypi_key_name(const char *text, size_t length)
{
    char *name = ypi_format("%.*s", (int)length, text), *to = name;
    for (const char *from = name; *from != '\0'; from++, to++) {
        *to = *from;
        for (size_t i = 0; *from == '%' && i < sizeof codes / sizeof *codes; i++)
            if (strncmp(from + 1, codes[i], 2) == 0) {
                *to = escaped[i];
                from += 2;
            }
    }
    *to = '\0';
    return name;
}

char *ypi_budget_key(const struct yp_budget *b)
{
    struct ypi_text key = {0};
    const struct ypi_budget_kind *k = ypi_budget_kind(b->kind);
    if (k->kind == YP_BUDGET_NONE || why_not(k, b->counter) != NULL)
        return NULL;
    ypi_text_add(&key, "%s ", k->name);
    if (k->memory != NULL)
        ypi_text_add(&key, "%s", ypi_memory_name(b->memory));
    else
        add_escaped(&key, b->name);
    if (k->detail == YPI_COUNTER)
        ypi_text_add(&key, " %s", ypi_counter_name(b->counter));
    return ypi_text_take(&key);
}

/* Takes the counter off the end; false when there is none behind a name. */
static bool take_counter(struct yp_budget *out, const char *rest, size_t *length)
{
    for (int i = 0; i < YP_COUNTERS; i++) {
        const char *name = ypi_counter_name((enum yp_counter)i);
        size_t size = strlen(name);
        if (*length <= size + 1 || rest[*length - size - 1] != ' ' ||
            strncmp(rest + *length - size, name, size) != 0)
            continue;
        out->counter = (enum yp_counter)i;
        *length -= size + 1;
        return true;
    }
    return false;
}

char *ypi_budget_of_key(struct yp_budget *out, const char *key)
{
    const struct ypi_budget_kind *k = ypi_budget_kind_at(key);
    const bool known = k->kind != YP_BUDGET_NONE;
    const char *rest = known ? key + strlen(k->name) : "";
    struct yp_budget b = {.kind = k->kind, .limit = out->limit};
    rest += strspn(rest, " \t");
    size_t length = strlen(rest);
    bool right = known && length > 0;
    if (right && k->memory != NULL)
        right = ypi_memory_of_name(&b.memory, rest) && (b.memory == YP_HOST || !k->host_only);
    else if (right && k->detail == YPI_COUNTER)
        right = take_counter(&b, rest, &length);
    const char *why = known ? why_not(k, b.counter) : NULL;
    if (why != NULL || !right) {
        char *all = allowed();
        char *problem = why != NULL ? ypi_format("'%s': %s; allowed are %s", key, why, all)
                                    : ypi_format("'%s' is no budget: allowed are %s", key, all);
        free(all);
        return problem;
    }
    if (k->memory == NULL)
        b.name = ypi_key_name(rest, length);
    *out = b;
    return NULL;
}

/* -- files --------------------------------------------------------------------------------- */

struct ypi_budget_section *ypi_budget_file_find(struct ypi_budget_file *file, const char *id)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->sections[i].id, id) == 0 || ypi_node_is(file->sections[i].id, id))
            return &file->sections[i];
    return NULL;
}

static char *begin_section(struct ypi_budget_file *file, int line, const char *id)
{
    const struct ypi_budget_section *before = ypi_budget_file_find(file, id);
    int first = before != NULL ? before->line : 0;
    file->sections = ypi_realloc(file->sections, (size_t)file->count + 1, sizeof *file->sections);
    file->sections[file->count++] = (struct ypi_budget_section){.id = ypi_strdup(id), .line = line};
    return first > 0 ? ypi_format("[%s] stands in line %d already", id, first) : NULL;
}

static char *read_limit(struct yp_budget *b, const char *key, const char *value)
{
    bool any_sign = ypi_budget_kind(b->kind)->any_sign;
    size_t length = strlen(value);
    for (size_t i = 1; i < length; i++) /* a comment from # on, as ini.h takes one from ; on */
        if (value[i] == '#' && (value[i - 1] == ' ' || value[i - 1] == '\t'))
            length = i;
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    char *text = ypi_format("%.*s", (int)length, value);
    bool right =
        ypi_parse_double(text, &b->limit) && isfinite(b->limit) && (any_sign || b->limit >= 0);
    char *problem =
        right
            ? NULL
            : ypi_format(
                  "%s = %s: allowed is one finite number%s%s", key, text, any_sign ? "" : " from 0",
                  strchr(text, ' ') != NULL ? " (an indented line belongs to the one before)" : "");
    free(text);
    return problem;
}

static char *add_budget(struct ypi_budget_section *s, int line, const char *key, const char *value)
{
    struct yp_budget b = {.kind = YP_BUDGET_NONE};
    char *problem = ypi_budget_of_key(&b, key);
    if (problem == NULL)
        problem = read_limit(&b, key, value);
    for (int i = 0; problem == NULL && i < s->count; i++)
        if (ypi_budget_same(&s->budgets[i].budget, &b))
            problem = ypi_format("'%s' stands in line %d already", key, s->budgets[i].line);
    if (problem != NULL) {
        free((char *)(uintptr_t)b.name);
        return problem;
    }
    s->budgets = ypi_realloc(s->budgets, (size_t)s->count + 1, sizeof *s->budgets);
    s->budgets[s->count++] = (struct ypi_budget_line){.budget = b, .line = line};
    return NULL;
}

static char *take(void *arg, int line, const char *section, const char *name, const char *value)
{
    struct ypi_budget_file *file = arg;
    if (name == NULL)
        return begin_section(file, line, section);
    if (file->count == 0)
        return ypi_format("'%s' stands before the first [id of a case]", name);
    return add_budget(&file->sections[file->count - 1], line, name, value);
}

struct ypi_budget_file *ypi_budget_file_read(const char *path)
{
    struct ypi_budget_file *file = ypi_calloc(1, sizeof *file);
    file->path = ypi_strdup(path);
    file->wrong = ypi_ini_read_lines(path, take, file) != YPI_INI_OK;
    return file;
}

void ypi_budget_file_free(struct ypi_budget_file *file)
{
    for (int i = 0; file != NULL && i < file->count; i++) {
        struct ypi_budget_section *s = &file->sections[i];
        for (int k = 0; k < s->count; k++)
            free((char *)(uintptr_t)s->budgets[k].budget.name);
        free(s->budgets);
        free(s->id);
    }
    if (file != NULL) {
        free(file->sections);
        free(file->path);
    }
    free(file);
}
