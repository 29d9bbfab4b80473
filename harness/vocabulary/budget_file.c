#include "harness/vocabulary/budget_file.h"

#include "base/options/ini.h"
#include "base/text/text.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- keys ---------------------------------------------------------------------------------- */

#define ALLOWED \
    "allowed are min share, max growth, min value, max value and max gradient error with the " \
    "name, max count with the name and the counter, max peak, max leak and max allocations " \
    "with host or device, and max resident host"

/* What an = or a comment would cut. */
static const char escaped[] = "%=:;#";
static const char codes[][3] = {"25", "3d", "3a", "3b", "23"}; /* behind a % */

static bool of_memory(enum yp_budget_kind kind)
{
    return kind >= YP_BUDGET_MAX_PEAK && kind <= YP_BUDGET_MAX_ALLOCATIONS;
}

/* What the processor decides beside the work; NULL: the work alone. */
static const char *why_not(const struct yp_budget *b)
{
    if (ypi_budget_is_speed(b->kind) && b->kind != YP_BUDGET_MIN_SHARE)
        return "rates and times hold on one machine only";
    if (b->kind == YP_BUDGET_ORDER)
        return "an order stands with its relation";
    bool own = b->counter == YP_INSTRUCTIONS || b->counter == YP_PAGE_FAULTS ||
               (b->counter >= YP_GPU_FP64 && b->counter < YP_COUNTERS);
    return b->kind == YP_BUDGET_MAX_COUNT && !own ? "this count is the processor's own" : NULL;
}

static void add_escaped(struct ypi_text *key, const char *name)
{
    for (; *name != '\0'; name++) {
        const char *found = strchr(escaped, *name);
        if (found != NULL)
            ypi_text_add(key, "%%%s", codes[found - escaped]);
        else
            ypi_text_bytes(key, name, 1);
    }
}

/* The caller frees. */
static char *unescaped(const char *text, size_t length)
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
    if (b->kind == YP_BUDGET_NONE || ypi_budget_is_mark(b->kind) || why_not(b) != NULL)
        return NULL;
    ypi_text_add(&key, "%s ", ypi_budget_kind_name(b->kind));
    if (of_memory(b->kind))
        ypi_text_add(&key, "%s", b->memory == YP_DEVICE ? "device" : "host");
    else
        add_escaped(&key, b->name);
    if (b->kind == YP_BUDGET_MAX_COUNT)
        ypi_text_add(&key, " %s", ypi_counter_name(b->counter));
    return ypi_text_take(&key);
}

/* The kind that the key begins with, and what stands behind it. */
static enum yp_budget_kind kind_of(const char *key, const char **rest)
{
    for (int kind = YP_BUDGET_NONE + 1; kind < YP_BUDGET_FOR_DEVICE; kind++) {
        const char *name = ypi_budget_kind_name((enum yp_budget_kind)kind);
        size_t length = strlen(name);
        if (strncmp(key, name, length) != 0 || (key[length] != ' ' && key[length] != '\0'))
            continue;
        *rest = key + length + strspn(key + length, " \t");
        return (enum yp_budget_kind)kind;
    }
    return YP_BUDGET_NONE;
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
    const char *rest = "";
    struct yp_budget b = {.kind = kind_of(key, &rest), .limit = out->limit};
    size_t length = strlen(rest);
    bool device = strcmp(rest, "device") == 0;
    bool right = b.kind != YP_BUDGET_NONE && length > 0;
    if (right && of_memory(b.kind))
        right = strcmp(rest, "host") == 0 || (device && b.kind != YP_BUDGET_MAX_RESIDENT);
    else if (right && b.kind == YP_BUDGET_MAX_COUNT)
        right = take_counter(&b, rest, &length);
    if (b.kind != YP_BUDGET_NONE && why_not(&b) != NULL)
        return ypi_format("'%s': %s; " ALLOWED, key, why_not(&b));
    if (!right)
        return ypi_format("'%s' is no budget: " ALLOWED, key);
    if (of_memory(b.kind))
        b.memory = device ? YP_DEVICE : YP_HOST;
    else
        b.name = unescaped(rest, length);
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
    bool any_sign = b->kind == YP_BUDGET_MIN_VALUE || b->kind == YP_BUDGET_MAX_VALUE;
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
