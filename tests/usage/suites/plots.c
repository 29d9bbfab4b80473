/* Draws into a directory what a history, a file of documents or a table has: plots DIRECTORY
 * [--history FILE | --documents FILE | --csv FILE]..., and prints the plots' tables as JSON. */
#include "reports/plots/plots.h"
#include "base/text/text.h"
#include "harness/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_history(struct ypi_plots *plots, const char *path)
{
    const struct ypi_filter all = {0};
    sqlite3 *db = ypi_store_open(path);
    cJSON *runs = db != NULL ? ypi_runs_load(db, &all, -1, false) : NULL;
    bool fine = runs != NULL;
    const cJSON *run;
    cJSON_ArrayForEach(run, runs)
    {
        const cJSON *result;
        cJSON_ArrayForEach(result, cJSON_GetObjectItemCaseSensitive(run, "results"))
        {
            cJSON *document = ypi_document_of_result(db, ypi_text_of(result, "id"), false);
            fine = fine && document != NULL && ypi_plots_take(plots, NULL, document) == YP_OK;
            cJSON_Delete(document);
        }
    }
    cJSON_Delete(runs);
    sqlite3_close(db);
    return fine;
}

/* An array of documents, as `show --json` prints each. */
static bool take_documents(struct ypi_plots *plots, const char *path)
{
    struct ypi_text text = {0};
    char part[4096];
    size_t count;
    FILE *file = fopen(path, "rb");
    while (file != NULL && (count = fread(part, 1, sizeof part, file)) > 0)
        ypi_text_bytes(&text, part, count);
    if (file != NULL)
        fclose(file);
    cJSON *list = cJSON_ParseWithLength(text.data != NULL ? text.data : "", text.length);
    bool fine = cJSON_IsArray(list);
    const cJSON *document;
    cJSON_ArrayForEach(document, list)
    {
        fine = ypi_plots_take(plots, NULL, document) == YP_OK && fine;
    }
    cJSON_Delete(list);
    free(text.data);
    return fine;
}

static void print_tables(const struct ypi_plot_list *list)
{
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < list->count; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", list->list[i].name);
        cJSON_AddStringToObject(one, "title", list->list[i].title);
        cJSON_AddStringToObject(one, "group", list->list[i].group);
        cJSON_AddItemToObject(one, "table", cJSON_Duplicate(list->list[i].table, true));
        cJSON_AddItemToArray(all, one);
    }
    char *text = cJSON_PrintUnformatted(all);
    puts(text);
    free(text);
    cJSON_Delete(all);
}

int main(int argc, char **argv)
{
    struct ypi_plots *plots = ypi_plots_create();
    bool fine = argc > 1;
    for (int i = 2; i + 1 < argc && fine; i += 2) {
        if (strcmp(argv[i], "--csv") == 0)
            fine = ypi_plots_take_csv(plots, argv[i + 1]) == YP_OK;
        else if (strcmp(argv[i], "--documents") == 0)
            fine = take_documents(plots, argv[i + 1]);
        else
            fine = take_history(plots, argv[i + 1]);
    }
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    fine = fine && ypi_plots_write(list, argv[1]) == YP_OK;
    if (fine)
        print_tables(list);
    else
        fprintf(stderr, "%s\n", yp_last_error());
    ypi_plot_list_free(list);
    return fine ? 0 : 2;
}
