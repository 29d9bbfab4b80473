/* The cases of the history that a command line means, by the rules of a suite's own. */
#include "harness/collect/select.h"
#include "harness/history/history.h"

#include "base/text/text.h"

#include <stdio.h>
#include <stdlib.h>

static void read_case(struct yp_case *c, struct yp_test *test, const cJSON *row)
{
    test->group = ypi_text_of(row, "test_group");
    *c = (struct yp_case){.test = test,
                          .id = (char *)(uintptr_t)ypi_text_of(row, "id"),
                          .tags = (char *)(uintptr_t)ypi_text_of(row, "tags")};
}

/* An id that is not there is a slip, as it is for a suite. */
static bool check_ids(const cJSON *rows, const struct ypi_options *o)
{
    bool all = true;
    for (int i = 0; i < o->id_count; i++) {
        const cJSON *row;
        bool found = false;
        cJSON_ArrayForEach(row, rows)
        {
            struct yp_test test = {0};
            struct yp_case c;
            read_case(&c, &test, row);
            found = found || ypi_is_meant(o->ids[i], &c);
        }
        if (!found)
            fprintf(stderr, "error: not found: '%s': no case of the history has such an id\n",
                    o->ids[i]);
        all = all && found;
    }
    return all;
}

cJSON *ypi_cases_load(sqlite3 *db, const struct ypi_selection *selection, bool *right)
{
    static const char sql[] = "SELECT id, test_group, device, tags FROM test_case ORDER BY id";
    struct ypi_options o = {.mark = (char *)(uintptr_t)selection->mark,
                            .keyword = (char *)(uintptr_t)selection->keyword,
                            .ids = (char **)(uintptr_t)selection->ids,
                            .id_count = selection->id_count};
    cJSON *rows = ypi_store_rows(db, sql, 0, NULL);
    *right = ypi_selection_is_right(&o) && (selection->absent_too || check_ids(rows, &o));
    for (cJSON *next, *row = rows && *right ? rows->child : NULL; row; row = next) {
        struct yp_test test = {0};
        struct yp_case c;
        next = row->next;
        read_case(&c, &test, row);
        if (!ypi_is_selected(&c, &o))
            cJSON_Delete(cJSON_DetachItemViaPointer(rows, row));
    }
    return rows;
}
