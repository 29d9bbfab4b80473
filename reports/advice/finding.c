#include "reports/advice/finding.h"

#include "base/text/figures.h"
#include "base/text/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ypi_finding_begin(struct ypi_finding *f)
{
    *f = (struct ypi_finding){.evidence = cJSON_CreateArray(), .tries = cJSON_CreateArray()};
}

void ypi_finding_drop(struct ypi_finding *f)
{
    for (int i = 0; i < f->slot_count; i++)
        free(f->slots[i].text);
    cJSON_Delete(f->evidence);
    cJSON_Delete(f->tries);
    cJSON_Delete(f->configuration);
    *f = (struct ypi_finding){0};
}

void ypi_slot(struct ypi_finding *f, const char *name, const char *format, ...)
{
    int at = 0;
    va_list arguments;
    while (at < f->slot_count && strcmp(f->slots[at].name, name) != 0)
        at++;
    if (at == YPI_SLOTS)
        return;
    if (at < f->slot_count)
        free(f->slots[at].text);
    else
        f->slot_count++;
    va_start(arguments, format);
    f->slots[at].name = name;
    f->slots[at].text = ypi_vformat(format, arguments);
    va_end(arguments);
}

static void add_text(cJSON *array, const char *text)
{
    char *right = ypi_utf8(text);
    cJSON_AddItemToArray(array, cJSON_CreateString(right));
    free(right);
}

void ypi_finding_evidence(struct ypi_finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = ypi_vformat(format, arguments);
    va_end(arguments);
    add_text(f->evidence, text);
    free(text);
}

void ypi_try(struct ypi_finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = ypi_vformat(format, arguments);
    va_end(arguments);
    add_text(f->tries, text);
    free(text);
}

/* The text of the slot whose name stands between braces at `at`; NULL: none does. */
static const char *slot_at(const struct ypi_finding *f, const char *at, size_t *length)
{
    const char *end = *at == '{' ? strchr(at, '}') : NULL;
    for (int i = 0; end != NULL && i < f->slot_count; i++) {
        size_t size = (size_t)(end - at) - 1;
        if (strlen(f->slots[i].name) != size || strncmp(f->slots[i].name, at + 1, size) != 0)
            continue;
        *length = size + 2;
        return f->slots[i].text;
    }
    return NULL;
}

/* With the slots' texts, in which braces mean nothing. The caller frees. */
static char *filled(const struct ypi_finding *f, const char *sentence)
{
    struct ypi_text text = {0};
    while (*sentence != '\0') {
        size_t length = 1;
        const char *slot = slot_at(f, sentence, &length);
        if (slot != NULL)
            ypi_text_add(&text, "%s", slot);
        else
            ypi_text_bytes(&text, sentence, 1);
        sentence += length;
    }
    return ypi_text_take(&text);
}

cJSON *ypi_finding_entry(struct ypi_finding *f, const char *kind, const char *about,
                         const char *sentence, const char *const *tries)
{
    cJSON *entry = cJSON_CreateObject();
    char *text = filled(f, sentence);
    char *right = ypi_utf8(text);
    char *right_about = ypi_utf8(about);
    cJSON_AddStringToObject(entry, "kind", kind);
    cJSON_AddStringToObject(entry, "about", right_about);
    cJSON_AddStringToObject(entry, "text", right);
    free(right_about);
    free(right);
    free(text);
    for (size_t i = 0; tries[i] != NULL; i++) {
        text = filled(f, tries[i]);
        add_text(f->tries, text);
        free(text);
    }
    cJSON_AddItemToObject(entry, "evidence", f->evidence);
    cJSON_AddItemToObject(entry, "try", f->tries);
    if (f->configuration != NULL)
        cJSON_AddItemToObject(entry, "configuration", f->configuration);
    f->evidence = f->tries = f->configuration = NULL;
    ypi_finding_drop(f);
    return entry;
}

/* -- figures ------------------------------------------------------------------------------- */

#define SAID_MAX (3 * YPI_FIGURE_MAX + 8)

static char *new_said(void)
{
    static char said[16][SAID_MAX];
    static unsigned made;
    return said[made++ % 16];
}

static bool has_interval(double low, double high)
{
    return !isnan(low) && !isnan(high) && low < high;
}

const char *ypi_say_time(double seconds, double low, double high)
{
    char *out = new_said();
    char figure[YPI_FIGURE_MAX];
    char least[YPI_FIGURE_MAX];
    char most[YPI_FIGURE_MAX];
    ypi_format_seconds(figure, seconds);
    ypi_format_seconds(least, low);
    ypi_format_seconds(most, high);
    if (has_interval(low, high))
        snprintf(out, SAID_MAX, "%s [%s, %s]", figure, least, most);
    else
        snprintf(out, SAID_MAX, "%s", figure);
    return out;
}

const char *ypi_say_rate(double rate, double low, double high, const char *unit)
{
    char *out = new_said();
    char figure[YPI_FIGURE_MAX];
    char least[YPI_FIGURE_MAX];
    char most[YPI_FIGURE_MAX];
    ypi_format_rate(figure, rate, unit);
    ypi_format_rate(least, low, unit);
    ypi_format_rate(most, high, unit);
    if (has_interval(low, high))
        snprintf(out, SAID_MAX, "%s [%s, %s]", figure, least, most);
    else
        snprintf(out, SAID_MAX, "%s", figure);
    return out;
}

const char *ypi_say_ratio(double ratio, double low, double high)
{
    char *out = new_said();
    if (has_interval(low, high))
        snprintf(out, SAID_MAX, "%.3g [%.3g, %.3g]", ratio, low, high);
    else
        snprintf(out, SAID_MAX, "%.3g", ratio);
    return out;
}

const char *ypi_say_bytes(double bytes)
{
    char *out = new_said();
    ypi_format_bytes(out, bytes);
    return out;
}

const char *ypi_say_percent(double share)
{
    char *out = new_said();
    ypi_format_percent(out, share, 3);
    return out;
}
