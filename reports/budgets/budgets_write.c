/* Suggestions into a file of budgets. */
#include "reports/budgets/budgets.h"

#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/history/history.h"

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

/* Under fewer instructions only what they make slower, or less exact, needs a limit of its own. */
static bool holds(const struct ypi_budget_history *h)
{
    double allowed = ypi_real(h->verdict, "allowed");
    return h->figures.at_least ? h->suggested >= allowed : h->suggested <= allowed;
}

int ypi_budgets_write(const struct ypi_budgets *b, const struct ypi_budgets_writing *how, FILE *out)
{
    struct ypi_limit *list = ypi_calloc((size_t)b->count + 1, sizeof *list);
    char **titles = NULL;
    int count = 0, without = 0;
    for (int i = 0; i < b->count; i++) {
        const struct ypi_budget_history *h = &b->list[i];
        without += !isfinite(h->suggested);
        if (!isfinite(h->suggested))
            continue;
        char *title = how->isa ? ypi_format("%s %s", h->id, how->isa) : ypi_strdup(h->id);
        titles = ypi_list_add(titles, count, title);
        list[count++] = (struct ypi_limit){.title = title,
                                           .budget = h->verdict,
                                           .limit = h->suggested,
                                           .optional = how->isa && holds(h)};
    }
    int code = YPI_COMMAND_OK;
    if (ypi_limits_write(how->path, list, count, how->add) == YP_OK)
        tell(out, how->path, list, count, without);
    else
        code = ypi_file_error();
    ypi_list_free(titles, count);
    free(list);
    return code;
}
