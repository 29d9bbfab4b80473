/* A file of budgets: read, then a limit is put into it as `yieldpoint budgets` does. */
#include "harness/vocabulary/budget_file.h"

#include "base/text/text.h"
#include "harness/history/history.h"
#include "tests/fuzz/fuzz.h"

#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each key is that of its budget. */
static void check_keys(const struct ypi_budget_file *file)
{
    for (int i = 0; i < file->count; i++)
        for (int k = 0; k < file->sections[i].count; k++) {
            const struct yp_budget *budget = &file->sections[i].budgets[k].budget;
            struct yp_budget again = {.kind = YP_BUDGET_NONE};
            char *key = ypi_budget_key(budget);
            FUZZ_CHECK(key != NULL && isfinite(budget->limit));
            char *problem = ypi_budget_of_key(&again, key);
            FUZZ_CHECK(problem == NULL && again.kind == budget->kind &&
                       again.memory == budget->memory && again.counter == budget->counter);
            FUZZ_CHECK((again.name == NULL) == (budget->name == NULL) &&
                       (again.name == NULL || strcmp(again.name, budget->name) == 0));
            free((char *)(uintptr_t)again.name);
            free(key);
        }
}

/* The limit of that section, or NaN. */
static double limit_in(const char *path, const char *title, bool *wrong)
{
    struct ypi_budget_file *file = ypi_budget_file_read(path);
    struct ypi_budget_section *section = ypi_budget_file_find(file, title);
    double limit = NAN;
    for (int i = 0; section != NULL && i < section->count; i++)
        if (section->budgets[i].budget.kind == YP_BUDGET_MIN_SHARE &&
            strcmp(section->budgets[i].budget.name, "fit") == 0)
            limit = section->budgets[i].budget.limit;
    *wrong = file->wrong;
    ypi_budget_file_free(file);
    return limit;
}

static void put(const char *path, const char *title)
{
    bool wrong = false;
    cJSON *budget = cJSON_Parse(
        "{\"kind\": \"min share\", \"name\": \"fit\", \"memory\": null, \"detail\": null}");
    struct ypi_limit limit = {.title = title, .budget = budget, .limit = 0.375};
    enum yp_status status = ypi_limits_write(path, &limit, 1, true);
    double now = limit_in(path, title, &wrong);
    FUZZ_CHECK(status != YP_OK || !wrong);
    FUZZ_CHECK(status != YP_OK || now == 0.375);
    cJSON_Delete(budget);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("budgets.ini");
    fuzz_write(path, data, size);
    struct ypi_budget_file *file = ypi_budget_file_read(path);
    check_keys(file);
    /* A section that is there, and one that is not. */
    char *title = ypi_strdup(file->count > 0 ? file->sections[file->count - 1].id : "a.c::b");
    ypi_budget_file_free(file);
    put(path, title);
    put(path, "perf/new.c::case[n=1]");
    free(title);
    return 0;
}
