/* What the forms of `yieldpoint history` have in common: which file, and which results of it. */
#pragma once

#include "base/options/arguments.h"
#include "harness/history/history.h"

struct ypi_history_request {
    const char *file;
    struct ypi_filter filter;
};

/* Entries of a table of options whose values begin with a struct ypi_history_request. */
#define YPI_HISTORY_FILE \
    {"history", .kind = YPI_OPTION_WORD, .offset = offsetof(struct ypi_history_request, file)}, \
        YPI_STORE_VERBOSE
#define YPI_HISTORY_OWN(name_, read_) \
    { \
        name_, .kind = YPI_OPTION_OWN, .value = "", .read = read_ \
    }
#define YPI_HISTORY_MEANT(member) \
    .kind = YPI_OPTION_WORD, .offset = offsetof(struct ypi_history_request, filter.member)
#define YPI_HISTORY_FILTER \
    YPI_HISTORY_FILE, {"id", YPI_HISTORY_MEANT(id)}, {.letter = 'm', YPI_HISTORY_MEANT(mark)}, \
        {.letter = 'k', YPI_HISTORY_MEANT(keyword)}, YPI_HISTORY_OWN("outcome", ypi_read_outcome), \
        YPI_HISTORY_OWN("device", ypi_read_device), YPI_HISTORY_OWN("machine", ypi_read_machine), \
        YPI_HISTORY_OWN("commit", ypi_read_commit), YPI_HISTORY_OWN("since", ypi_read_since), \
        YPI_HISTORY_OWN("until", ypi_read_until)

/* NULL, or what is allowed: the caller frees. */
char *ypi_read_outcome(void *values, const struct ypi_option *option, const char *text);
char *ypi_read_device(void *values, const struct ypi_option *option, const char *text);
char *ypi_read_machine(void *values, const struct ypi_option *option, const char *text);
char *ypi_read_commit(void *values, const struct ypi_option *option, const char *text);
char *ypi_read_since(void *values, const struct ypi_option *option, const char *text);
char *ypi_read_until(void *values, const struct ypi_option *option, const char *text);

/* Reads the command line. `values` begin with a struct ypi_history_request. False after telling
 * stderr what is wrong with it. */
bool ypi_history_read(const struct ypi_arguments *a, int argc, char **argv);

int ypi_history_import_command(int argc, char **argv);
int ypi_history_prune_command(int argc, char **argv);
int ypi_history_export_command(int argc, char **argv);
