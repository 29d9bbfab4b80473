#include "reports/history/request.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "base/text/time.h"

#include <stdlib.h>
#include <string.h>

static struct ypi_filter *filter_of(void *values)
{
    return &((struct ypi_history_request *)values)->filter;
}

char *ypi_read_outcome(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_text names = {0};
    const char *found = NULL;
    (void)option;
    for (int i = 0; ypi_store_outcome(i); i++) {
        if (strcmp(text, ypi_store_outcome(i)) == 0)
            found = ypi_store_outcome(i);
        ypi_text_add(&names, " %s", ypi_store_outcome(i));
    }
    char *all = ypi_text_take(&names);
    char *allowed = found ? NULL : ypi_join_words(all, "or");
    free(all);
    filter_of(values)->outcome = found;
    return allowed;
}

char *ypi_read_device(void *values, const struct ypi_option *option, const char *text)
{
    (void)option;
    if (strcmp(text, "cpu") != 0 && strcmp(text, "cuda") != 0)
        return ypi_strdup("cpu or cuda");
    filter_of(values)->device = text;
    return NULL;
}

char *ypi_read_machine(void *values, const struct ypi_option *option, const char *text)
{
    (void)option;
    if (*text == '\0')
        return ypi_strdup("the begin of a machine's fingerprint, or a part of its processor's or "
                          "its host's name");
    filter_of(values)->machine = text;
    return NULL;
}

char *ypi_read_commit(void *values, const struct ypi_option *option, const char *text)
{
    size_t length = strlen(text);
    (void)option;
    if (length < 4 || length > 64 || text[strspn(text, "0123456789abcdefABCDEF")] != '\0')
        return ypi_strdup("the begin of a commit's hash, 4 hexadecimal digits or more");
    filter_of(values)->commit = text;
    return NULL;
}

static char *read_span(const char *text, struct ypi_span *out)
{
    return ypi_parse_time(text, ypi_wall_clock(), out) ? NULL : ypi_strdup(YPI_TIME_ALLOWED);
}

char *ypi_read_since(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_span span = {0};
    (void)option;
    char *allowed = read_span(text, &span);
    filter_of(values)->since = span.first;
    return allowed;
}

/* The day, minute or second that is named belongs to it. */
char *ypi_read_until(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_span span = {0};
    (void)option;
    char *allowed = read_span(text, &span);
    filter_of(values)->before = span.past;
    return allowed;
}

bool ypi_history_read(const struct ypi_arguments *a, int argc, char **argv)
{
    return ypi_arguments_read(a, argc, argv) && ypi_filter_is_right(filter_of(a->values));
}
