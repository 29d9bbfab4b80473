/* Prints, as JSON, what the analysis in words says of documents (yieldpoint show --json --samples):
 * advice-dump [--limit BYTES] [--ini FILE] [--text] DOCUMENT... A document may have "changes", as
 * struct ypi_change names them, beside what the history has. */
#include "base/text/output.h"
#include "base/text/text.h"
#include "reports/advice/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ypi_change *changes_of(const cJSON *document, size_t *count)
{
    const cJSON *change;
    const cJSON *all = cJSON_GetObjectItem(document, "changes");
    struct ypi_change *list = ypi_calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *list);
    *count = 0;
    cJSON_ArrayForEach(change, all)
    {
        list[(*count)++] =
            (struct ypi_change){.what = ypi_text_of(change, "what"),
                                .name = ypi_text_of(change, "name"),
                                .ratio = ypi_real(change, "ratio"),
                                .low = ypi_real(change, "low"),
                                .high = ypi_real(change, "high"),
                                .better = cJSON_IsTrue(cJSON_GetObjectItem(change, "better")),
                                .worse = cJSON_IsTrue(cJSON_GetObjectItem(change, "worse"))};
    }
    return list;
}

static void take(struct ypi_advisor *advisor, const cJSON *document)
{
    size_t count;
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    const char *id = ypi_text_of(result, "case");
    char *test = ypi_format("%.*s", (int)strcspn(id, "["), id);
    struct ypi_change *changes = changes_of(document, &count);
    const struct ypi_report_case which = {.id = id,
                                          .test = test,
                                          .outcome = ypi_text_of(result, "outcome"),
                                          .unsure = changes,
                                          .unsure_count = count};
    ypi_advisor_take(advisor, &which, document);
    free(changes);
    free(test);
}

static cJSON *read_document(const char *path)
{
    struct ypi_text text = {0};
    char part[4096];
    FILE *file = fopen(path, "rb");
    for (size_t n; file != NULL && (n = fread(part, 1, sizeof part, file)) > 0;)
        ypi_text_bytes(&text, part, n);
    if (file != NULL)
        fclose(file);
    char *whole = ypi_text_take(&text);
    cJSON *document = cJSON_Parse(whole);
    if (document == NULL)
        fprintf(stderr, "%s: no document\n", path);
    free(whole);
    return document;
}

int main(int argc, char **argv)
{
    const char *ini = NULL;
    bool as_text = false;
    double limit = 0;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--text") == 0)
            as_text = true;
        else if (strcmp(argv[at], "--limit") == 0 && at + 1 < argc)
            limit = strtod(argv[++at], NULL);
        else if (strcmp(argv[at], "--ini") == 0 && at + 1 < argc)
            ini = argv[++at];
    }
    struct ypi_advisor *advisor = ypi_advisor_create(limit);
    for (; at < argc; at++) {
        cJSON *document = read_document(argv[at]);
        if (document == NULL) {
            ypi_advisor_free(advisor);
            return 1;
        }
        take(advisor, document);
        cJSON_Delete(document);
    }
    cJSON *advice = ypi_advisor_finish(advisor);
    int code = 0;
    if (ini != NULL && ypi_advice_write_ini(advice, ini) != YP_OK) {
        fprintf(stderr, "%s\n", yp_last_error());
        code = 2;
    }
    if (as_text)
        ypi_advice_print(advice);
    else
        code = ypi_put_json(advice) != 0 ? 3 : code;
    cJSON_Delete(advice);
    return code;
}
