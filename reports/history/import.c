/* yieldpoint history import: other histories' rows into this one. */
#include "reports/history/request.h"

#include "base/text/output.h"
#include "base/text/text.h"
#include "reports/format.h"

#include <stdio.h>
#include <stdlib.h>

static void print(const char *from, const struct ypi_imported *i)
{
    printf("%s: %lld run%s new", from, i->runs_new, ypi_plural(i->runs_new));
    if (i->runs_completed > 0)
        printf(", %lld completed", i->runs_completed);
    printf(", %lld already there; %lld result%s new, %lld already there", i->runs_there,
           i->results_new, ypi_plural(i->results_new), i->results_there);
    if (i->gates > 0)
        printf("; %lld gate%s", i->gates, ypi_plural(i->gates));
    if (i->ceilings > 0)
        printf("; %lld ceiling%s", i->ceilings, ypi_plural(i->ceilings));
    putchar('\n');
}

/* A file that is refused keeps none of the others away. */
static int import_into(const char *file, const char *const *files, int count)
{
    char *into = ypi_store_path_anew(file);
    int code = into ? YPI_COMMAND_OK : ypi_file_error();
    struct ypi_import_source *sources = ypi_calloc((size_t)count, sizeof *sources);
    for (int i = 0; i < count; i++)
        sources[i].path = files[i];
    if (into)
        ypi_history_import_all(into, sources, count);
    for (int i = 0; into && i < count; i++) {
        if (sources[i].status == YP_OK) {
            print(files[i], &sources[i].counts);
        } else {
            (void)yp_set_error(sources[i].status, "%s", sources[i].problem);
            code = ypi_file_error();
        }
        free(sources[i].problem);
    }
    free(sources);
    free(into);
    int flushed = ypi_flush();
    return code != YPI_COMMAND_OK ? code : flushed;
}

int ypi_history_import_command(int argc, char **argv)
{
    struct ypi_history_request r = {0};
    static const struct ypi_option options[] = {YPI_HISTORY_FILE, YPI_OPTIONS_END};
    const char **words = ypi_calloc((size_t)argc, sizeof *words);
    int count = 0;
    int code = YPI_COMMAND_USAGE;
    /* The first word is "import". */
    bool read = ypi_arguments_read(
        &(struct ypi_arguments){
            .options = options, .values = &r, .words = words, .word_count = &count},
        argc, argv);
    if (read && count < 2)
        ypi_usage_error(argc, argv, argc, "which files are to be imported?");
    else if (read)
        code = import_into(r.file, words + 1, count - 1);
    free(words);
    return code;
}
