/* yieldpoint.ini, as it stands. */
#include "base/options/ini.h"
#include "base/options/project.h"
#include "harness/collect/options.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every line is one of the file's, and they come in order. */
struct seen {
    int line, lines;
};

static char *take(void *arg, int line, const char *section, const char *name, const char *value)
{
    struct seen *seen = arg;
    FUZZ_CHECK(section != NULL && (name == NULL) == (value == NULL));
    FUZZ_CHECK(line >= seen->line && line <= seen->lines);
    seen->line = line;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[] = {"program", NULL};
    struct ypi_project project;
    struct ypi_options o;
    struct seen seen = {.lines = 1};
    for (size_t i = 0; i < size; i++)
        seen.lines += data[i] == '\n';
    unsetenv("YIELDPOINT_OPTIONS");
    setenv("YIELDPOINT_MACHINE", "host", 1);
    fuzz_enter();
    fuzz_write("yieldpoint.ini", data, size);
    FUZZ_CHECK(ypi_ini_read_lines("yieldpoint.ini", take, &seen) != YPI_INI_UNREADABLE);

    const struct ypi_project_search here = {0};
    bool right = ypi_project_read(&project, &here);
    FUZZ_CHECK(project.root != NULL && project.history != NULL);
    for (int i = 0; i < project.tag_count; i++)
        FUZZ_CHECK(project.tags[i][0] != '\0' && strchr(project.tags[i], ' ') == NULL);
    ypi_project_clear(&project);

    enum ypi_exit code = ypi_options_read(&o, 1, words);
    FUZZ_CHECK(code == YPI_EXIT_OK || code == YPI_EXIT_USAGE);
    FUZZ_CHECK(right || code == YPI_EXIT_USAGE);
    ypi_options_clear(&o);
    fuzz_leave();
    return 0;
}
