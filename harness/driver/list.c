#include "harness/driver/list.h"

#include "base/text/text.h"
#include "harness/history/history.h"
#include "harness/record/environment.h"
#include "harness/vocabulary/axis.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/substitute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void list_parameters(const struct yp_case *c)
{
    bool any = false;
    for (int i = 0; i < c->setting_count; i++) {
        if (!c->settings[i].parameter)
            continue;
        char *value = ypi_setting_text(&c->settings[i]);
        printf("%s %s=%s", any ? "" : "    parameters:", c->settings[i].axis, value);
        any = true;
        free(value);
    }
    if (any)
        putchar('\n');
}

/* In one line, as a shell takes it. */
static void list_command(const struct yp_case *c)
{
    char *line = ypi_substitute(c, c->test->command, ypi_shell_quote);
    for (char *at = line; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    printf("    command: %s\n", line);
    free(line);
}

/* -- what was measured before --------------------------------------------------------------- */

/* The history, where there is one, and the machine of which it is asked. */
struct past {
    sqlite3 *db; /* NULL: none */
    struct ypi_environment environment;
};

static void open_past(struct past *past, const struct ypi_options *o)
{
    *past = (struct past){0};
    if (o->verbose <= 0 || o->history == NULL || access(o->history, R_OK) != 0)
        return;
    past->db = ypi_store_open(o->history);
    if (past->db != NULL)
        ypi_environment_read(&past->environment);
}

static void close_past(struct past *past)
{
    sqlite3_close(past->db);
    ypi_environment_clear(&past->environment);
}

/* Verdicts of the case on this machine, newest first; NULL: none. A slowed run says nothing of the
 * work. */
static cJSON *verdicts_before(const struct past *past, const struct yp_case *c)
{
    static const char sql[] =
        "SELECT kind, verdict.name, memory, allowed, detail, measured FROM verdict "
        "JOIN result ON result.id = result_id JOIN run ON run.id = run_id "
        "WHERE case_id = ?1 AND machine = ?2 AND attempt = 0 AND slowdown IS NULL "
        "AND measured IS NOT NULL ORDER BY result.started DESC LIMIT 256";
    const char *const parameters[] = {c->id, past->environment.fingerprint};
    return past->db != NULL ? ypi_store_rows(past->db, sql, 2, parameters) : NULL;
}

/* NaN: never. */
static double measured_before(const cJSON *verdicts, const struct yp_budget *b)
{
    const cJSON *verdict;
    cJSON_ArrayForEach(verdict, verdicts)
    {
        const struct yp_budget before = ypi_store_budget(verdict);
        if (ypi_budget_same(&before, b))
            return ypi_real(verdict, "measured");
    }
    return NAN;
}

/* -- lists ---------------------------------------------------------------------------------- */

static void list_budget(const struct yp_budget *b, const cJSON *before)
{
    char text[256];
    double measured = measured_before(before, b);
    double slack = ypi_budget_slack(b, measured);
    ypi_budget_text(text, b, "");
    printf("    budget: %s", text);
    if (b->required != NULL)
        printf(" (required: %s)", b->required);
    if (isfinite(measured)) {
        ypi_budget_figure(text, b, measured, "");
        printf(", measured %s", text);
    }
    if (isfinite(slack))
        printf(", slack %.3g", slack);
    putchar('\n');
}

static void list_case(const struct yp_case *c, const struct past *past)
{
    printf("    tags: %s; timeout: %g s%s%s%s\n", c->tags, c->timeout,
           c->test->parallel ? "; parallel" : "", c->skip != NULL ? "; skipped: " : "",
           c->skip != NULL ? c->skip : "");
    list_parameters(c);
    if (c->test->command != NULL)
        list_command(c);
    const struct yp_budget *b = NULL;
    cJSON *before = verdicts_before(past, c);
    for (int next = 0; (b = ypi_next_budget(c, &next)) != NULL;)
        list_budget(b, before);
    cJSON_Delete(before);
}

/* "FILE: count" for each file, as pytest's -qq does. */
static void list_files(const struct ypi_collection *c, int selected)
{
    for (int i = 0, begin = 0; i < selected; i++) {
        const char *id = c->cases[i]->id;
        size_t length = strcspn(id, ":");
        if (i + 1 < selected && strncmp(c->cases[i + 1]->id, id, length + 1) == 0)
            continue;
        printf("%.*s: %d\n", (int)length, id, i + 1 - begin);
        begin = i + 1;
    }
}

void ypi_list(const struct ypi_collection *c, int selected, const struct ypi_options *o)
{
    struct past past;
    if (o->verbose < -1) {
        list_files(c, selected);
        return;
    }
    open_past(&past, o);
    for (int i = 0; i < selected; i++) {
        puts(c->cases[i]->id);
        if (o->verbose > 0)
            list_case(c->cases[i], &past);
    }
    close_past(&past);
    if (selected < c->meant)
        printf("\n%d/%d cases collected (%d deselected)\n", selected, c->meant,
               c->meant - selected);
    else
        printf("\n%d case%s collected\n", selected, selected == 1 ? "" : "s");
}
