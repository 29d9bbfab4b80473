#include "reports/print.h"

#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL 16 /* columns of what stands left of a text */

static void label(const char *name)
{
    printf("  %-*s", LABEL - 2, name);
}

static void line(const char *name, const char *text)
{
    if (!*text)
        return;
    label(name);
    ypi_put_text(text, LABEL);
}

/* To be copied into a shell: not broken. */
static void whole_line(const char *name, const char *text)
{
    label(name);
    (void)ypi_put_line(text, 0);
    putchar('\n');
}

static bool is_true(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static bool is_null(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return !item || cJSON_IsNull(item);
}

/* -- the run ------------------------------------------------------------------------------- */

static void print_facts(const cJSON *facts)
{
    const cJSON *fact;
    puts("environment");
    cJSON_ArrayForEach(fact, facts)
    {
        printf("  %-26s ", fact->string);
        ypi_put_text(cJSON_IsString(fact) ? fact->valuestring : "", 29);
    }
}

static bool has_option(const cJSON *run, const char *option)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, cJSON_GetObjectItemCaseSensitive(run, "options"))
    {
        if (cJSON_IsString(word) && strcmp(word->valuestring, option) == 0)
            return true;
    }
    return false;
}

static void print_run(const cJSON *run)
{
    char time[32];
    char text[256];
    ypi_format_time(time, ypi_real(run, "started"));
    if (is_null(run, "ended"))
        snprintf(text, sizeof text, "%s, started %s, unfinished", ypi_text_of(run, "id"), time);
    else
        snprintf(text, sizeof text, "%s, started %s, exit code %.0f", ypi_text_of(run, "id"), time,
                 ypi_real(run, "exit_code"));
    line("run", text);
    whole_line("command", ypi_text_of(run, "command"));
    line("speed", is_true(run, "speed_judged")     ? "judged"
                  : has_option(run, "--speed=off") ? "not timed"
                                                   : "recorded, not judged");
    if (!isnan(ypi_real(run, "slowdown"))) {
        snprintf(text, sizeof text, "every sample %g times as long as its work (--slowdown)",
                 ypi_real(run, "slowdown"));
        line("slowdown", text);
    }
    if (is_true(run, "no_fork"))
        line("isolation", "none: all its cases in one process (--no-fork)");
    if (ypi_real(run, "memory_limit") > 0)
        line("memory limit", ypi_bytes_of(run, "memory_limit"));
}

void ypi_describe_run(const cJSON *run)
{
    puts("run");
    print_run(run);
    line("seed", ypi_text_of(run, "seed"));
    print_facts(cJSON_GetObjectItem(run, "facts"));
}

/* -- the result ---------------------------------------------------------------------------- */

static void print_times(const cJSON *result)
{
    label("time");
    printf("process %s of %s allowed; setup %s, body %s, teardown %s\n",
           ypi_seconds_of(result, "duration"), ypi_seconds_of(result, "timeout"),
           ypi_seconds_of(result, "setup"), ypi_seconds_of(result, "body"),
           ypi_seconds_of(result, "teardown"));
}

static void print_axes(const cJSON *axes)
{
    const cJSON *axis;
    if (!axes || !axes->child)
        return;
    label("axes");
    cJSON_ArrayForEach(axis, axes)
    {
        printf("%s%s=", axis->prev && axis != axes->child ? ", " : "", axis->string);
        if (cJSON_IsNumber(axis))
            printf("%.17g", axis->valuedouble);
        else
            (void)ypi_put_line(cJSON_IsString(axis) ? axis->valuestring : "nan", 0);
    }
    putchar('\n');
}

/* That this is not the case itself but a fresh process for it, and of what. */
static void print_attempt(const cJSON *document)
{
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    const cJSON *other;
    double attempt = ypi_real(result, "attempt");
    if (!(attempt > 0))
        return;
    label("attempt");
    printf("%.0f, a fresh process", attempt);
    cJSON_ArrayForEach(other, cJSON_GetObjectItem(document, "attempts"))
    {
        if (ypi_real(other, "attempt") < 1)
            printf(" for result %.8s", ypi_text_of(other, "id"));
    }
    if (strcmp(ypi_text_of(result, "fail_allocation"), "0") != 0)
        printf("; allocation %s was refused on purpose", ypi_text_of(result, "fail_allocation"));
    putchar('\n');
}

static void print_head(const cJSON *document)
{
    char text[128];
    char device[128];
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    const cJSON *test_case = cJSON_GetObjectItem(document, "case");
    puts(ypi_text_of(result, "case"));
    label("outcome");
    ypi_put_outcome(ypi_text_of(result, "outcome"), 0);
    putchar('\n');
    line("reason", ypi_text_of(result, "reason"));
    line("note", ypi_text_of(result, "note"));
    print_attempt(document);
    line("result", ypi_text_of(result, "id"));
    ypi_format_time(text, ypi_real(result, "started"));
    line("started", text);
    if (ypi_real(result, "repeat") > 0) {
        snprintf(text, sizeof text, "%.0f", ypi_real(result, "repeat") + 1);
        line("repeat", text);
    }
    print_times(result);
    if (ypi_real(result, "signal") > 0)
        snprintf(text, sizeof text, "ended by signal %.0f", ypi_real(result, "signal"));
    else
        snprintf(text, sizeof text, "exit code %.0f%s", ypi_real(result, "exit_code"),
                 is_true(result, "ended") ? "" : ", before the case had ended");
    line("process", text);
    ypi_accelerator_name(device, ypi_text_of(test_case, "device"),
                         cJSON_GetObjectItem(cJSON_GetObjectItem(document, "run"), "facts"));
    line("device", device);
    line("tags", ypi_text_of(test_case, "tags"));
    print_axes(cJSON_GetObjectItem(test_case, "axes"));
    line("seed", ypi_text_of(result, "seed"));
    line("data hash", ypi_text_of(result, "data_hash"));
    print_run(cJSON_GetObjectItem(document, "run"));
}

static void print_failures(const cJSON *failures)
{
    const cJSON *failure;
    if (cJSON_GetArraySize(failures) > 0)
        puts("failures");
    cJSON_ArrayForEach(failure, failures)
    {
        printf("  %s", ypi_text_of(failure, "cause"));
        if (*ypi_text_of(failure, "file"))
            printf(", %s:%.0f", ypi_text_of(failure, "file"), ypi_real(failure, "line"));
        putchar('\n');
        printf("    ");
        ypi_put_text(ypi_text_of(failure, "message"), 4);
        if (*ypi_text_of(failure, "stack")) {
            printf("    ");
            ypi_put_text(ypi_text_of(failure, "stack"), 4);
        }
    }
}

static void print_measurements(const cJSON *measurements)
{
    const cJSON *m;
    if (cJSON_GetArraySize(measurements) > 0)
        puts("measurements (an iteration)");
    cJSON_ArrayForEach(m, measurements) ypi_describe_measurement(m);
}

static void print_values(const cJSON *values)
{
    const cJSON *value;
    char text[YPI_FIGURE_MAX];
    if (cJSON_GetArraySize(values) > 0)
        puts("values");
    cJSON_ArrayForEach(value, values)
    {
        const char *unit = ypi_text_of(value, "unit");
        ypi_format_value(text, ypi_real(value, "value"), unit);
        printf("  %s: %s", ypi_text_of(value, "name"), text);
        if (ypi_real(value, "low") < ypi_real(value, "high")) {
            ypi_format_value(text, ypi_real(value, "low"), unit);
            printf(", between %s", text);
            ypi_format_value(text, ypi_real(value, "high"), unit);
            printf(" and %s", text);
        }
        putchar('\n');
    }
}

static void print_gradients(const cJSON *gradients)
{
    const cJSON *g;
    if (cJSON_GetArraySize(gradients) > 0)
        puts("gradients");
    cJSON_ArrayForEach(g, gradients)
    {
        if (is_true(g, "precision")) {
            printf("  %s: %.3g times the plain error, at most %.3g allowed\n",
                   ypi_text_of(g, "name"), ypi_real(g, "error"), ypi_real(g, "allowed"));
            continue;
        }
        printf("  %s: relative error %.3g, at most %.3g allowed, worst in %s\n",
               ypi_text_of(g, "name"), ypi_real(g, "error"), ypi_real(g, "allowed"),
               ypi_text_of(g, "tensor"));
        printf("    expected %.9g, got %.9g, slope %.3g, %.0f directions", ypi_real(g, "expected"),
               ypi_real(g, "got"), ypi_real(g, "slope"), ypi_real(g, "checked"));
        if (!is_null(g, "resolution"))
            printf(", rounding leaves %.2g", ypi_real(g, "resolution"));
        putchar('\n');
    }
}

/* -- budgets ------------------------------------------------------------------------------- */

static const char *unit_of(const cJSON *document, const char *list, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, list))
    {
        if (strcmp(ypi_text_of(item, "name"), name) == 0)
            return ypi_text_of(item, "unit");
    }
    return "";
}

static void print_measured(const cJSON *b, const char *unit)
{
    char text[YPI_FIGURE_MAX];
    double low = ypi_real(b, "low");
    double high = ypi_real(b, "high");
    ypi_store_budget_figure(text, b, ypi_real(b, "measured"), unit);
    printf("%*smeasured %s", LABEL, "", text);
    if (low < high) {
        ypi_store_budget_figure(text, b, low, unit);
        printf(", between %s", text);
        ypi_store_budget_figure(text, b, high, unit);
        printf(" and %s", text);
    }
    if (!is_null(b, "distance")) {
        ypi_format_share(text, ypi_real(b, "distance"));
        printf(", distance %s", text);
    }
    if (!is_null(b, "slack"))
        printf(", slack %.3g", ypi_real(b, "slack"));
    putchar('\n');
}

static void print_budget(const cJSON *document, const cJSON *b)
{
    char text[256];
    const char *met = ypi_text_of(b, "met");
    const char *unit = unit_of(document, "measurements", ypi_text_of(b, "name"));
    if (!*unit)
        unit = unit_of(document, "values", ypi_text_of(b, "name"));
    ypi_store_budget_text(text, b, unit);
    printf("  ");
    ypi_put_outcome(met, LABEL - 2);
    (void)ypi_put_line(text, 0);
    printf(" (%s)\n", ypi_text_of(b, "kind"));
    for (int i = 0; i < 2; i++) {
        static const char *const more[] = {"required", "baseline"};
        if (*ypi_text_of(b, more[i])) {
            printf("%*s%s: ", LABEL, "", more[i]);
            (void)ypi_put_line(ypi_text_of(b, more[i]), 0);
            putchar('\n');
        }
    }
    if (ypi_store_budget_measured(b))
        print_measured(b, unit);
    if (ypi_real(b, "asked") > 0)
        printf("%*s%.0f of %.0f fresh %s\n", LABEL, "", ypi_real(b, "confirmed"),
               ypi_real(b, "asked"),
               ypi_real(b, "asked") > 1 ? "processes agree" : "process agrees");
}

static void print_budgets(const cJSON *document)
{
    const cJSON *budget;
    const cJSON *budgets = cJSON_GetObjectItem(document, "budgets");
    if (cJSON_GetArraySize(budgets) > 0)
        puts("budgets (distance: above 0 on the good side)");
    cJSON_ArrayForEach(budget, budgets) print_budget(document, budget);
}

/* -- the other processes of the case ------------------------------------------------------- */

static void print_attempts(const cJSON *document)
{
    const cJSON *attempts = cJSON_GetObjectItem(document, "attempts");
    const cJSON *attempt;
    if (cJSON_GetArraySize(attempts) == 0 ||
        ypi_real(cJSON_GetObjectItem(document, "result"), "attempt") > 0)
        return;
    puts("attempts (fresh processes for the same case)");
    cJSON_ArrayForEach(attempt, attempts)
    {
        char text[512];
        const char *refused = ypi_text_of(attempt, "fail_allocation");
        ypi_result_headline(attempt, text, sizeof text);
        printf("  %-3.0f %.8s  ", ypi_real(attempt, "attempt"), ypi_text_of(attempt, "id"));
        ypi_put_outcome(ypi_text_of(attempt, "outcome"), 7);
        if (strcmp(refused, "0") != 0)
            printf("  allocation %s refused", refused);
        printf("%s", *text ? "  " : "");
        (void)ypi_put_line(text, 0);
        putchar('\n');
    }
}

/* -- memory -------------------------------------------------------------------------------- */

static void print_accounts(const cJSON *m)
{
    printf("  %s: peak %s allocated, %s reserved; %s allocated at the end\n", m->string,
           ypi_bytes_of(m, "allocated_peak"), ypi_bytes_of(m, "reserved_peak"),
           ypi_bytes_of(m, "allocated"));
    printf("    %.0f allocations of %s in all, %.0f freed, %.0f refused; limit %s\n",
           ypi_real(m, "allocations"), ypi_bytes_of(m, "total"), ypi_real(m, "frees"),
           ypi_real(m, "refused"),
           ypi_real(m, "allowed") > 0 ? ypi_bytes_of(m, "allowed") : "none");
}

static void print_memory(const cJSON *memory, const cJSON *result)
{
    const cJSON *kind;
    if (!memory || !memory->child)
        return;
    puts("memory");
    cJSON_ArrayForEach(kind, memory) print_accounts(kind);
    printf("  resident: peak %s, %s before setup", ypi_bytes_of(result, "resident_peak"),
           ypi_bytes_of(result, "resident_before"));
    if (ypi_real(result, "resident_files") > 0)
        printf(", and %s of pages of files", ypi_bytes_of(result, "resident_files"));
    if (ypi_real(result, "resident_huge") > 0)
        printf(", up to %s of it in huge pages that nobody asked for",
               ypi_bytes_of(result, "resident_huge"));
    putchar('\n');
    printf("  leaked: %s in %.0f blocks\n", ypi_bytes_of(result, "leaked_bytes"),
           ypi_real(result, "leaked_blocks"));
}

void ypi_describe_result(const cJSON *document)
{
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    const char *tail = ypi_text_of(result, "tail");
    print_head(document);
    print_failures(cJSON_GetObjectItem(document, "failures"));
    print_budgets(document);
    print_attempts(document);
    print_measurements(cJSON_GetObjectItem(document, "measurements"));
    print_values(cJSON_GetObjectItem(document, "values"));
    print_gradients(cJSON_GetObjectItem(document, "gradients"));
    print_memory(cJSON_GetObjectItem(document, "memory"), result);
    ypi_accelerator_print_series(cJSON_GetObjectItem(document, "series"));
    print_facts(cJSON_GetObjectItem(cJSON_GetObjectItem(document, "run"), "facts"));
    if (*tail) {
        printf("output (the last %zu of %.0f bytes)\n", strlen(tail),
               ypi_real(result, "output_bytes"));
        ypi_put_lines(tail, 2);
    }
    printf("reproduce: ");
    (void)ypi_put_line(ypi_text_of(document, "reproduce"), 0);
    putchar('\n');
}
