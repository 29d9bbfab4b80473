#include "reports/advice/advice.h"

#include "base/text/output.h"
#include "base/text/text.h"
#include "reports/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- an ini file --------------------------------------------------------------------------- */

static const char *const keys[] = {"tile", "batch", "accumulation", "precision", "device"};
enum { KEYS = sizeof keys / sizeof *keys };

/* One line of it, whatever stands in the text. The caller frees. */
static char *line_of(const char *text)
{
    char *line = ypi_strdup(text);
    ypi_make_printable(line);
    return line;
}

static void add_comment(struct ypi_text *out, const char *text)
{
    char *line = line_of(text);
    ypi_text_add(out, "; %s\n", line);
    free(line);
}

static void add_section(struct ypi_text *out, const cJSON *entry, const cJSON *configuration)
{
    const cJSON *evidence;
    char *test = line_of(ypi_text_of(configuration, "test"));
    char *id = line_of(ypi_text_of(configuration, "case"));
    ypi_text_add(out, "\n");
    add_comment(out, ypi_text_of(entry, "text"));
    cJSON_ArrayForEach(evidence, cJSON_GetObjectItemCaseSensitive(entry, "evidence"))
    {
        if (cJSON_IsString(evidence))
            add_comment(out, evidence->valuestring);
    }
    ypi_text_add(out, "[%s %s]\n", ypi_text_of(configuration, "goal"), id);
    ypi_text_add(out, "test = %s\n", test);
    for (size_t i = 0; i < KEYS; i++) {
        const char *value = ypi_text_of(configuration, keys[i]);
        char *line = line_of(value);
        if (*value != '\0')
            ypi_text_add(out, "%s = %s\n", keys[i], line);
        free(line);
    }
    free(id);
    free(test);
}

enum yp_status ypi_advice_write_ini(const cJSON *advice, const char *path)
{
    const cJSON *entry;
    struct ypi_text text = {0};
    int count = 0;
    ypi_text_add(&text,
                 "; Recommended configurations: of those measured, the best for each goal.\n");
    cJSON_ArrayForEach(entry, advice)
    {
        const cJSON *configuration = cJSON_GetObjectItemCaseSensitive(entry, "configuration");
        if (!cJSON_IsObject(configuration))
            continue;
        add_section(&text, entry, configuration);
        count++;
    }
    enum yp_status status =
        count > 0 ? ypi_put_file(path, text.data, text.length)
                  : yp_set_error(YP_INVALID,
                                 "%s: not written, no configuration can be recommended: that "
                                 "needs two undisturbed ones of the same work that differ in "
                                 "tile, batch, accumulation or precision",
                                 path);
    free(ypi_text_take(&text));
    return status;
}

/* -- a terminal ---------------------------------------------------------------------------- */

static void put_list(const cJSON *list, const char *before)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            continue;
        char *line = ypi_format("%s%s", before, item->valuestring);
        ypi_put_lines(line, 2);
        free(line);
    }
}

void ypi_advice_print(const cJSON *advice)
{
    const cJSON *entry;
    const char *about = "";
    cJSON_ArrayForEach(entry, advice)
    {
        const char *its = ypi_text_of(entry, "about");
        if (*its != '\0' && strcmp(its, about) != 0)
            ypi_put_lines(its, 0);
        about = its;
        ypi_put_lines(ypi_text_of(entry, "text"), *its != '\0' ? 1 : 0);
        put_list(cJSON_GetObjectItemCaseSensitive(entry, "evidence"), "- ");
        put_list(cJSON_GetObjectItemCaseSensitive(entry, "try"), "try: ");
    }
}
