/* Writes a page of planted cases, for the browser.
 *
 * usage: page-maker FILE CASES PAST [hostile] */
#include "reports/page/page.h"
#include "tests/browser/planted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DRAWN = 60 }; /* cases in plots */

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: page-maker FILE CASES PAST [hostile]\n", stderr);
        return 2;
    }
    bool hostile = argc > 4 && strcmp(argv[4], "hostile") == 0;
    struct planted *planted = planted_make(strtoul(argv[2], NULL, 10), atoi(argv[3]), hostile);
    const struct ypi_content *content = planted_content(planted);
    struct ypi_page *page = ypi_page_create(argv[1], content);
    struct ypi_plots *drawn = ypi_plots_create();
    clock_t of_page = 0;
    if (page == NULL) {
        fprintf(stderr, "%s\n", yp_last_error());
        return 1;
    }
    for (size_t at = 0; at < content->count; at++) {
        cJSON *document = planted_document(planted, at);
        clock_t begun = clock();
        (void)ypi_page_take(page, &content->list[at], document);
        of_page += clock() - begun;
        if (at < DRAWN)
            (void)ypi_plots_take(drawn, &content->list[at], document);
        cJSON_Delete(document);
    }
    struct ypi_plot_list *plots = planted_plots(planted, ypi_plots_finish(drawn));
    cJSON *advice = planted_advice(planted);
    clock_t begun = clock();
    enum yp_status status = ypi_page_finish(page, plots, advice);
    of_page += clock() - begun;
    if (status != YP_OK)
        fprintf(stderr, "%s\n", yp_last_error());
    printf("the page took %.3f s\n", (double)of_page / CLOCKS_PER_SEC);
    ypi_plot_list_free(plots);
    cJSON_Delete(advice);
    planted_free(planted);
    return status == YP_OK ? 0 : 1;
}
