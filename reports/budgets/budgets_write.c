/* Suggestions into a file of budgets. */
#include "reports/budgets/budgets.h"

#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/record/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

static void tell(FILE *out, const char *path, const struct ypi_limit *list, int count, int without)
{
    int done[YPI_LIMIT_UNFIT + 1] = {0};
    for (int i = 0; i < count; i++)
        done[list[i].done]++;
    fprintf(out, "%s: %d limit%s changed, %d added, %d as before\n", path, done[YPI_LIMIT_CHANGED],
            plural(done[YPI_LIMIT_CHANGED]), done[YPI_LIMIT_ADDED], done[YPI_LIMIT_SAME]);
    if (done[YPI_LIMIT_UNFIT] > 0)
        fprintf(out,
                "not written: %d that hold%s on one machine only: rates, times and the "
                "processor's own counts\n",
                done[YPI_LIMIT_UNFIT], done[YPI_LIMIT_UNFIT] == 1 ? "s" : "");
    if (done[YPI_LIMIT_ABSENT] > 0)
        fprintf(out,
                "not written: %d that the file does not have; -m, -k or ids of cases add "
                "them\n",
                done[YPI_LIMIT_ABSENT]);
    if (without > 0)
        fprintf(out, "not written: %d without a suggestion\n", without);
}

int ypi_budgets_write(const struct ypi_budgets *b, const char *path, bool add, FILE *out)
{
    struct ypi_limit *list = ypi_calloc((size_t)b->count + 1, sizeof *list);
    int count = 0;
    for (int i = 0; i < b->count; i++)
        if (isfinite(b->list[i].suggested))
            list[count++] = (struct ypi_limit){
                .id = b->list[i].id, .budget = b->list[i].verdict, .limit = b->list[i].suggested};
    int code = YPI_COMMAND_OK;
    if (ypi_limits_write(path, list, count, add) == YP_OK)
        tell(out, path, list, count, b->count - count);
    else
        code = ypi_file_error();
    free(list);
    return code;
}
