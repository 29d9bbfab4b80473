#include "harness/history/history.h"

#include "base/options/project.h"
#include "base/text/text.h"
#include "harness/record/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool verbose;

void ypi_store_be_verbose(void)
{
    verbose = true;
}

char *ypi_store_read_verbose(void *values, const struct ypi_option *option, const char *text)
{
    (void)values, (void)option, (void)text;
    ypi_store_be_verbose();
    return NULL;
}

/* Where a program that is started here writes; where that is not there, the nearest. */
static char *choose(const struct ypi_project *project)
{
    const bool own = project->history_from != NULL || access(project->history, F_OK) == 0;
    char *found = own ? ypi_strdup(project->history) : ypi_nearest_above(".yieldpoint/history.db");
    char *why = own ? ypi_project_history_why(project)
                    : ypi_format("the nearest, for there is no %s", project->history);
    if (verbose && found != NULL)
        fprintf(stderr, "history: %s (%s)\n", found, why);
    free(why);
    return found;
}

/* `anew`: where none is there, the one that a run would make. The caller frees; NULL with the error
 * set. */
static char *find(bool anew)
{
    struct ypi_project project;
    const struct ypi_project_search usual = {0};
    bool read = ypi_project_read(&project, &usual);
    char *found = read ? choose(&project) : NULL;
    if (read && found == NULL && anew)
        found = ypi_strdup(project.history);
    ypi_project_clear(&project);
    if (!read) {
        (void)yp_set_error(YP_INVALID, "yieldpoint.ini, which says where the history is, is wrong");
        return NULL;
    }
    char *here = found == NULL ? getcwd(NULL, 0) : NULL;
    if (found == NULL)
        (void)yp_set_error(YP_IO,
                           "no .yieldpoint/history.db in %.600s or above it; run a suite first, or "
                           "name one with --history FILE (a suite's first lines say where it "
                           "keeps its own)",
                           here != NULL ? here : "the working directory");
    free(here);
    return found;
}

char *ypi_store_path(const char *path)
{
    return path == NULL ? find(false) : ypi_strdup(path);
}

char *ypi_store_path_anew(const char *path)
{
    return path == NULL ? find(true) : ypi_strdup(path);
}

sqlite3 *ypi_store_open(const char *path)
{
    char *found = ypi_store_path(path);
    sqlite3 *db = found != NULL ? ypi_schema_open_to_read(found) : NULL;
    if (db && sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
        (void)yp_set_error(YP_IO, "history '%s': %s", found, sqlite3_errmsg(db));
        sqlite3_close(db);
        db = NULL;
    }
    free(found);
    return db;
}

bool ypi_store_may_change(const char *path)
{
    return ypi_schema_may_change(path);
}

sqlite3 *ypi_store_open_to_write(const char *path)
{
    return ypi_schema_open(path);
}
