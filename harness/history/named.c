/* What a word of the command line names in the history. */
#include "harness/history/history.h"

#include <stdio.h>
#include <string.h>

#define SHORTEST_PREFIX 4
#define LISTED_MAX 20

bool ypi_may_begin_uuid(const char *word)
{
    size_t length = strlen(word);
    return length >= SHORTEST_PREFIX && length <= 36 &&
           word[strspn(word, "0123456789abcdefABCDEF-")] == '\0';
}

#define NEWEST_OF_CASES_WHERE \
    "SELECT (SELECT id FROM result WHERE case_id = test_case.id AND attempt = 0" \
    "  ORDER BY started DESC, rowid DESC LIMIT 1) AS id," \
    " 'result' AS kind, test_case.id AS label FROM test_case" \
    " WHERE EXISTS (SELECT 1 FROM result WHERE case_id = test_case.id AND attempt = 0) AND "

cJSON *ypi_named(sqlite3 *db, const char *word, const char **as)
{
    static const struct {
        const char *sql, *as;
    } ways[] = {
        {"SELECT id, 'result' AS kind FROM result WHERE ?1 = 'last' AND attempt = 0"
         " ORDER BY started DESC, rowid DESC LIMIT 1",
         ""},
        {"SELECT id, 'result' AS kind FROM result WHERE case_id = ?1 AND attempt = 0"
         " ORDER BY started DESC, rowid DESC LIMIT 1",
         ""},
        {"SELECT id, 'result' AS kind, 'result ' || id AS label FROM result"
         " WHERE substr(id, 1, length(?1)) = lower(?1) UNION ALL"
         " SELECT id, 'run', 'run ' || id FROM run WHERE substr(id, 1, length(?1)) = lower(?1)",
         "begin of several UUIDs"},
        {NEWEST_OF_CASES_WHERE "substr(test_case.id, -length(?1)) = ?1 ORDER BY 3",
         "end of several ids"},
        {NEWEST_OF_CASES_WHERE "instr(test_case.id, ?1) > 0 ORDER BY 3", "part of several ids"},
    };
    enum { UUID = 2 };
    cJSON *rows = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (i == UUID && !ypi_may_begin_uuid(word))
            continue;
        cJSON_Delete(rows);
        rows = ypi_store_rows(db, ways[i].sql, 1, &word);
        *as = ways[i].as;
        if (rows == NULL || rows->child != NULL)
            break;
    }
    return rows;
}

void ypi_print_not_named(const char *word, const cJSON *rows, const char *as)
{
    const cJSON *row;
    int count = cJSON_GetArraySize(rows);
    int listed = 0;
    if (count == 0) {
        fprintf(stderr,
                "yieldpoint: nothing in the history matches '%s'; `yieldpoint history` lists it\n",
                word);
        return;
    }
    fprintf(stderr, "yieldpoint: '%s' is the %s; which one is meant?\n", word, as);
    cJSON_ArrayForEach(row, rows)
    {
        if (listed++ < LISTED_MAX)
            fprintf(stderr, "  %s\n", ypi_text_of(row, "label"));
    }
    if (count > LISTED_MAX)
        fprintf(stderr, "  and %d more\n", count - LISTED_MAX);
}
