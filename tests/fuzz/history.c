/* A history that somebody else wrote: imported, and shown as it is and after the import. A line is
 * what is done to a sound one:
 *
 *     base 1|2|4               it is of that version of the schema, else of the newest
 *     set TABLE COLUMN VALUE   of every row; VALUE is null, iNUMBER, rNUMBER, tTEXT or xHEX
 *     drop TABLE               it is not there
 *     view TABLE AS SELECT...  it is a view
 *                              TABLE and COLUMN are names or numbers
 *     byte OFFSET HEX          bytes of the file
 *     end N                    the file ends N bytes earlier
 */
#include "harness/history/history.h"

#include "base/text/text.h"
#include "gate/gate.h"
#include "harness/record/row.h"
#include "harness/record/schema.h"
#include "reports/reports.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/harness/history_v2.h"
#include "tests/unit/harness/history_v4.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- sound histories ------------------------------------------------------------------------ */

enum { NEWEST, VERSION_1, VERSION_2, VERSION_4, BASES };

struct bytes {
    unsigned char *bytes;
    size_t size;
};
static struct bytes bases[BASES], empty;

static void execute(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        abort();
    }
}

static struct bytes read_bytes(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && fstat(fd, &status) == 0);
    struct bytes b = {malloc((size_t)status.st_size), (size_t)status.st_size};
    FUZZ_CHECK(b.bytes != NULL && read(fd, b.bytes, b.size) == (ssize_t)b.size);
    close(fd);
    return b;
}

/* What a column of a sound row has, as SQL. */
static void add_value(struct ypi_text *sql, const char *table, const struct ypi_field *f)
{
    static const struct {
        const char *table, *column, *value;
    } known[] = {
        {NULL, "run_id", "'11111111-2222-4333-8444-555555555555'"},
        {"run", "id", "'11111111-2222-4333-8444-555555555555'"},
        {NULL, "result_id", "'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'"},
        {"result", "id", "'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'"},
        {NULL, "case_id", "'a.c::b[n=1]'"},
        {"test_case", "id", "'a.c::b[n=1]'"},
        {NULL, "gate_id", "'99999999-2222-4333-8444-555555555555'"},
        {"gate", "id", "'99999999-2222-4333-8444-555555555555'"},
        {NULL, "position", "0"},
        {NULL, "attempt", "0"},
        {NULL, "outcome", "'failed'"},
        {NULL, "cause", "'budget'"},
        {"measurement", "kind", "'work'"},
        {NULL, "stop", "'time'"},
        {NULL, "bound", "'read'"},
        {NULL, "ceiling", "'read'"},
        {NULL, "source", "'kernel'"},
        {NULL, "counter", "'page faults'"},
        {"verdict", "kind", "'min share'"},
        {NULL, "met", "'not met'"},
        {NULL, "detail", "NULL"},
        {"verdict", "memory", "NULL"},
        {NULL, "memory", "'host'"},
        {NULL, "data_hash", "'00c0ffee12345678'"},
        {"noise", "name", "'wall'"},
        {"series", "name", "'clock'"},
        {"axis", "kind", "'int'"},
        {"axis", "value", "1"},
        {"value", "name", "'auc'"},
        {NULL, "name", "'fit'"},
        {NULL, "slowdown", "NULL"},
        {NULL, "no_fork", "0"},
        {NULL, "machine", "'abcdef'"},
        {NULL, "argument", "'--memory-limit=1G'"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].column, f->name) == 0 &&
            (known[i].table == NULL || strcmp(known[i].table, table) == 0)) {
            ypi_text_add(sql, "%s", known[i].value);
            return;
        }
    if (f->type == YPI_DOUBLES)
        ypi_text_add(sql, "x'000000000000E03F000000000000F03F0000000000000040'");
    else if (f->type == YPI_REAL || f->type == YPI_LATER)
        ypi_text_add(sql, "1.5");
    else if (f->type == YPI_TEXT || f->type == YPI_CHARS || f->type == YPI_NAME ||
             f->type == YPI_ANY)
        ypi_text_add(sql, "'text'");
    else
        ypi_text_add(sql, "1");
}

static void fill(sqlite3 *db)
{
    for (int i = 0; i < YPI_TABLES; i++) {
        const struct ypi_table *t = &ypi_tables[i];
        struct ypi_text sql = {0};
        ypi_text_add(&sql, "INSERT INTO %s (", t->name);
        for (size_t k = 0; k < t->count; k++)
            ypi_text_add(&sql, "%s%s", k > 0 ? ", " : "", t->fields[k].name);
        ypi_text_add(&sql, ") VALUES (");
        for (size_t k = 0; k < t->count; k++) {
            ypi_text_add(&sql, "%s", k > 0 ? ", " : "");
            add_value(&sql, t->name, &t->fields[k]);
        }
        ypi_text_add(&sql, ")");
        execute(db, sql.data);
        free(ypi_text_take(&sql));
    }
}

static void make(int base, const char *path)
{
    sqlite3 *db = NULL;
    unlink(path);
    if (base == NEWEST)
        FUZZ_CHECK((db = ypi_schema_open(path)) != NULL);
    else
        FUZZ_CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    if (base == VERSION_1 || base == VERSION_2) {
        execute(db, history_v1_tables);
        execute(db, history_v1_rows);
    }
    if (base == VERSION_2) {
        execute(db, history_v2_tables);
        execute(db, history_v2_rows);
    }
    for (int i = 0; base == VERSION_4 && history_v4_tables[i] != NULL; i++)
        execute(db, history_v4_tables[i]);
    if (base == NEWEST)
        fill(db);
    /* Small pages: most bytes mean something. */
    execute(db, "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM");
    sqlite3_close(db);
    bases[base] = read_bytes(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *path = fuzz_path("made.db");
    for (int i = 0; i < BASES; i++)
        make(i, path);
    unlink(path);
    sqlite3 *db = ypi_schema_open(path);
    FUZZ_CHECK(db != NULL);
    sqlite3_close(db);
    empty = read_bytes(path);
    return 0;
}

/* -- what is done to it --------------------------------------------------------------------- */

/* By its name, or as the so-and-so-many-th; NULL: it is not there. */
static const struct ypi_table *table_of(const char *word)
{
    if (word[0] >= '0' && word[0] <= '9')
        return &ypi_tables[strtoul(word, NULL, 10) % YPI_TABLES];
    for (int i = 0; i < YPI_TABLES; i++)
        if (strcmp(ypi_tables[i].name, word) == 0)
            return &ypi_tables[i];
    return NULL;
}

static const char *column_of(const struct ypi_table *table, const char *word)
{
    if (word[0] >= '0' && word[0] <= '9')
        return table->fields[strtoul(word, NULL, 10) % table->count].name;
    for (size_t k = 0; k < table->count; k++)
        if (strcmp(table->fields[k].name, word) == 0)
            return table->fields[k].name;
    return NULL;
}

static void set(sqlite3 *db, const char *table_word, const char *column_word, const char *value)
{
    sqlite3_stmt *s = NULL;
    unsigned char blob[256];
    const struct ypi_table *table = table_of(table_word);
    const char *column = table != NULL ? column_of(table, column_word) : NULL;
    if (column == NULL)
        return;
    char *sql = ypi_format("UPDATE %s SET %s = ?", table->name, column);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK) {
        if (value[0] == 'i')
            sqlite3_bind_int64(s, 1, strtoll(value + 1, NULL, 10));
        else if (value[0] == 'r')
            sqlite3_bind_double(s, 1, strtod(value + 1, NULL));
        else if (value[0] == 't')
            sqlite3_bind_text(s, 1, value + 1, -1, SQLITE_STATIC);
        else if (value[0] == 'x')
            sqlite3_bind_blob(s, 1, blob, (int)fuzz_hex(blob, sizeof blob, value + 1),
                              SQLITE_STATIC);
        sqlite3_step(s);
    }
    sqlite3_finalize(s);
    free(sql);
}

static void replace(sqlite3 *db, const char *word, const char *select)
{
    const struct ypi_table *table = table_of(word);
    /* One statement alone: whatever stands behind it is another's. */
    if (table == NULL || (select != NULL && strchr(select, ';') != NULL))
        return;
    char *sql = ypi_format("DROP TABLE %s; CREATE VIEW %s %s", table->name, table->name,
                           select != NULL ? select : "");
    if (select == NULL)
        *strchr(sql, ';') = '\0';
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    free(sql);
}

static void change_file(const char *path, bool ends, unsigned long offset, const char *hex)
{
    struct stat status;
    unsigned char bytes[64];
    size_t count = fuzz_hex(bytes, sizeof bytes, hex);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && fstat(fd, &status) == 0);
    unsigned long size = (unsigned long)status.st_size;
    if (ends)
        FUZZ_CHECK(ftruncate(fd, (off_t)(offset < size ? size - offset : 0)) == 0);
    else if (size > 0)
        FUZZ_CHECK(pwrite(fd, bytes, count, (off_t)(offset % size)) == (ssize_t)count);
    close(fd);
}

static int base_of(const char *version)
{
    return strcmp(version, "1") == 0   ? VERSION_1
           : strcmp(version, "2") == 0 ? VERSION_2
           : strcmp(version, "4") == 0 ? VERSION_4
                                       : NEWEST;
}

static void change(const char *path, char *line)
{
    char *rest = NULL;
    const char *what = strtok_r(line, " ", &rest);
    const char *first = strtok_r(NULL, " ", &rest);
    if (what == NULL || first == NULL)
        return;
    if (strcmp(what, "base") == 0) {
        const struct bytes *b = &bases[base_of(first)];
        fuzz_write(path, b->bytes, b->size);
    } else if (strcmp(what, "byte") == 0 || strcmp(what, "end") == 0) {
        change_file(path, what[0] == 'e', strtoul(first, NULL, 10), rest);
    } else {
        sqlite3 *db = NULL;
        bool opened = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK;
        const char *second = strcmp(what, "set") == 0 ? strtok_r(NULL, " ", &rest) : NULL;
        if (opened && second != NULL)
            set(db, first, second, rest);
        else if (opened && strcmp(what, "drop") == 0)
            replace(db, first, NULL);
        else if (opened && strcmp(what, "view") == 0)
            replace(db, first, rest);
        sqlite3_close(db);
    }
}

/* -- imported and shown --------------------------------------------------------------------- */

static int count_words(char **words)
{
    int count = 0;
    while (words[count] != NULL)
        count++;
    return count;
}

/* `count` of the commands, from one on that the input says: all of them take long. */
static void show(const char *path, size_t first, size_t count)
{
    char *file = (char *)(uintptr_t)path;
    char *const commands[][7] = {
        {"show", "--history", file, "last", NULL},
        {"show", "--history", file, "last", "--json", "--samples", NULL},
        {"show", "--history", file, "last", "--csv", NULL},
        {"history", "--history", file, "--attempts", NULL},
        {"history", "export", "--history", file, "--csv=-", NULL},
        {"history", "export", "--history", file, "--json=-", NULL},
        {"history", "prune", "--history", file, "--keep-last=1", NULL},
        {"budgets", "--history", file, "--suggest", NULL},
        {"trend", "--history", file, NULL},
        {"gates", "--history", file, NULL},
    };
    for (size_t i = 0; i < count; i++) {
        char *words[7];
        memcpy(words, commands[(first + 3 * i) % (sizeof commands / sizeof *commands)],
               sizeof words);
        int (*const run)(int, char **) = strcmp(words[0], "show") == 0      ? ypi_report_show
                                         : strcmp(words[0], "history") == 0 ? ypi_report_history
                                         : strcmp(words[0], "budgets") == 0 ? ypi_report_budgets
                                         : strcmp(words[0], "trend") == 0   ? ypi_trend_command
                                                                            : ypi_gates_command;
        (void)run(count_words(words), words);
    }
}

static long long count_rows(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    FUZZ_CHECK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK);
    long long count = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    sqlite3_close(db);
    return count;
}

/* All of it comes, or nothing does, and a second time nothing is new. */
static void import(const char *into, const char *from, size_t first)
{
    struct ypi_imported imported;
    if (ypi_history_import(into, from, &imported) != YP_OK) {
        FUZZ_CHECK(yp_last_error()[0] != '\0');
        FUZZ_CHECK(
            count_rows(into, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM result)") ==
            0);
        return;
    }
    FUZZ_CHECK(count_rows(into, "SELECT count(*) FROM run") == imported.runs_new);
    FUZZ_CHECK(count_rows(into, "SELECT count(*) FROM result") == imported.results_new);
    FUZZ_CHECK(count_rows(into, "SELECT count(*) FROM pragma_foreign_key_check") == 0);
    FUZZ_CHECK(ypi_history_import(into, from, &imported) == YP_OK);
    FUZZ_CHECK(imported.runs_new == 0 && imported.results_new == 0 && imported.gates == 0);
    show(into, first, 3);
}

static void clear(const char *path)
{
    static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char *name = ypi_format("%s%s", path, beside[i]);
        unlink(name);
        free(name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { LINES_MAX = 16 };
    struct fuzz_input input = {data, size};
    char *from = ypi_strdup(fuzz_path("from.db")), *into = ypi_strdup(fuzz_path("into.db"));
    size_t first = 0;
    for (size_t i = 0; i < size; i++)
        first += data[i];
    clear(from);
    clear(into);
    fuzz_write(from, bases[NEWEST].bytes, bases[NEWEST].size);
    fuzz_write(into, empty.bytes, empty.size);
    for (int lines = 0; input.left > 0 && lines < LINES_MAX; lines++) {
        char *line = fuzz_line(&input);
        change(from, line);
        free(line);
    }
    import(into, from, first);
    show(from, first, 1);
    free(from);
    free(into);
    return 0;
}
