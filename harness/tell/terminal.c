/* Progress, failures and the summary, as pytest's users know them. */
#include "base/system/clock.h"
#include "base/text/figures.h"
#include "base/text/text.h"
#include "harness/judge/budget.h"
#include "harness/tell/tell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 80 };

struct lasted {
    double seconds;
    char *id;
};

struct ypi_terminal {
    FILE *out;
    const struct ypi_session *s;
    int reported, column;
    char *path;              /* whose letters are being printed */
    struct ypi_text failed;  /* sections, printed at the end */
    struct ypi_text summary; /* one line a failure */
    struct lasted *lasted;
    bool colour;
};

static void rule(FILE *out, char with, const char *title)
{
    int space = WIDTH - (int)strlen(title) - 2;
    int left = space > 2 ? space / 2 : 1;
    int right = space > 2 ? space - left : 1;
    for (int i = 0; i < left; i++)
        fputc(with, out);
    fprintf(out, " %s ", title);
    for (int i = 0; i < right; i++)
        fputc(with, out);
    fputc('\n', out);
}

struct ypi_terminal *ypi_terminal_begin(FILE *out, const struct ypi_session *s)
{
    struct ypi_terminal *terminal = ypi_calloc(1, sizeof *terminal);
    terminal->out = out;
    terminal->s = s;
    terminal->lasted = ypi_calloc((size_t)s->total, sizeof *terminal->lasted);
    static const char *const speeds[] = {[YPI_SPEED_JUDGE] = "judged",
                                         [YPI_SPEED_RECORD] = "recorded",
                                         [YPI_SPEED_OFF] = "not timed"};
    const char *no_colour = getenv("NO_COLOR");
    terminal->colour = isatty(fileno(out)) && (no_colour == NULL || no_colour[0] == '\0');
    if (s->o->verbose < 0) {
        ypi_tell_unusual(out, "", s->o);
        return terminal;
    }
    rule(out, '=', "yieldpoint " YPI_VERSION);
    const char *model = ypi_environment_get(s->environment, "cpu.model");
    fprintf(out, "machine: %s (%.12s)\n", model != NULL ? model : "unknown processor",
            s->environment->fingerprint);
    fprintf(out, "seed: %llu, speed: %s, history: %s\n", (unsigned long long)s->o->seed,
            speeds[s->o->speed], s->o->history);
    ypi_tell_unusual(out, "", s->o);
    fprintf(out, "collected %d case%s", s->collected, s->collected == 1 ? "" : "s");
    if (s->deselected > 0)
        fprintf(out, ", %d deselected, %d selected", s->deselected, s->collected - s->deselected);
    fputs("\n\n", out);
    return terminal;
}

static const char *colour_of(const struct ypi_terminal *terminal, enum ypi_outcome outcome)
{
    static const char *const codes[YPI_OUTCOMES] = {"32", "31", "31", "33", "33", "33", "35"};
    static char code[16];
    snprintf(code, sizeof code, "\033[%sm", codes[outcome]);
    return terminal->colour ? code : "";
}

static const char *plain(const struct ypi_terminal *terminal)
{
    return terminal->colour ? "\033[0m" : "";
}

/* Ends a line of letters, the last of which is that of case number `reported`. */
static void percent(struct ypi_terminal *terminal, int reported)
{
    fprintf(terminal->out, "%*s[%3d%%]\n",
            terminal->column < WIDTH - 7 ? WIDTH - 7 - terminal->column : 1, "",
            100 * reported / terminal->s->total);
    terminal->column = 0;
}

static void tell_line(struct ypi_terminal *terminal, const struct ypi_result *r)
{
    char headline[YPI_HEADLINE_MAX];
    char seconds[YPI_FIGURE_MAX];
    ypi_headline(headline, r);
    ypi_format_seconds(seconds, r->duration);
    char word[16];
    snprintf(word, sizeof word, "%s", ypi_outcome_name(r->outcome));
    for (char *c = word; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    fprintf(terminal->out, "%s %s%s%s", r->c->id, colour_of(terminal, r->outcome), word,
            plain(terminal));
    if (r->c->repeat > 0 || terminal->s->o->repeat > 1)
        fprintf(terminal->out, " #%d", r->c->repeat + 1);
    if (r->outcome == YPI_SKIPPED)
        fprintf(terminal->out, " (%s)", ypi_first_reason(r));
    else
        fprintf(terminal->out, "%s%s in %s", headline[0] != '\0' ? " " : "", headline, seconds);
    fprintf(terminal->out, " [%3d%%]\n", 100 * terminal->reported / terminal->s->total);
}

/* With what its budgets leave; those of a failed one stand among the failures. */
static void tell_whole(struct ypi_terminal *terminal, const struct ypi_result *r)
{
    tell_line(terminal, r);
    if (ypi_is_failure(r->outcome) || r->outcome == YPI_SKIPPED)
        return;
    ypi_tell_verdicts(terminal->out, r, true);
    ypi_add_loose(&terminal->summary, r);
}

static void tell_letter(struct ypi_terminal *terminal, const struct ypi_result *r)
{
    static const char letters[YPI_OUTCOMES] = {'.', 'F', 'E', 's', 'x', 'X', 'n'};
    int length = (int)strcspn(r->c->id, ":");
    if (terminal->path == NULL || strncmp(terminal->path, r->c->id, (size_t)length + 1) != 0) {
        if (terminal->column > 0)
            percent(terminal, terminal->reported - 1);
        free(terminal->path);
        terminal->path = ypi_format("%.*s:", length, r->c->id);
        terminal->column = fprintf(terminal->out, "%.*s ", length, r->c->id);
    }
    fprintf(terminal->out, "%s%c%s", colour_of(terminal, r->outcome), letters[r->outcome],
            plain(terminal));
    terminal->column++;
    if (terminal->reported == terminal->s->total || terminal->column >= WIDTH - 8)
        percent(terminal, terminal->reported);
}

static void keep_failure(struct ypi_terminal *terminal, const struct ypi_result *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *section = open_memstream(&text, &size);
    if (section == NULL)
        return;
    rule(section, '_', r->c->id);
    ypi_tell_failure(section, terminal->s, r);
    fclose(section);
    ypi_text_bytes(&terminal->failed, text, size);
    free(text);
    const char *reason = ypi_first_reason(r);
    ypi_text_add(&terminal->summary, "%s %s - %.*s\n", r->outcome == YPI_ERROR ? "ERROR" : "FAILED",
                 r->c->id, (int)strcspn(reason, "\n"), reason);
}

void ypi_terminal_case(struct ypi_terminal *terminal, const struct ypi_result *r)
{
    terminal->lasted[terminal->reported++] =
        (struct lasted){.seconds = r->duration, .id = ypi_strdup(r->c->id)};
    if (ypi_is_failure(r->outcome))
        keep_failure(terminal, r);
    if (r->outcome == YPI_NOISY)
        ypi_text_add(&terminal->summary, "NOISY %s - a speed budget could not be decided%s%s\n",
                     r->c->id, r->note != NULL ? ": " : "", r->note != NULL ? r->note : "");
    else if (r->note != NULL && !ypi_is_failure(r->outcome))
        ypi_text_add(&terminal->summary, "NOTE %s - %s\n", r->c->id, r->note);
    if (terminal->s->o->verbose > 0)
        tell_whole(terminal, r);
    else if (terminal->s->o->verbose == 0)
        tell_letter(terminal, r);
    fflush(terminal->out);
}

static int slowest_first(const void *a, const void *b)
{
    double x = ((const struct lasted *)a)->seconds;
    double y = ((const struct lasted *)b)->seconds;
    return (x < y) - (x > y);
}

static void tell_durations(struct ypi_terminal *terminal)
{
    int wanted = terminal->s->o->durations;
    if (wanted < 0)
        return;
    qsort(terminal->lasted, (size_t)terminal->reported, sizeof *terminal->lasted, slowest_first);
    if (wanted == 0 || wanted > terminal->reported)
        wanted = terminal->reported;
    char title[64];
    snprintf(title, sizeof title, "slowest %d duration%s", wanted, wanted == 1 ? "" : "s");
    rule(terminal->out, '=', title);
    for (int i = 0; i < wanted; i++)
        fprintf(terminal->out, "%8.2fs %s\n", terminal->lasted[i].seconds, terminal->lasted[i].id);
}

/* pytest's order: failed, passed, skipped, deselected, xfailed, xpassed, error. */
static char *summary(const struct ypi_terminal *terminal, const struct ypi_totals *totals)
{
    const struct {
        int count;
        const char *word;
    } parts[] = {{totals->count[YPI_FAILED], "failed"},
                 {totals->count[YPI_PASSED], "passed"},
                 {totals->count[YPI_NOISY], "noisy"},
                 {totals->count[YPI_SKIPPED], "skipped"},
                 {terminal->s->deselected, "deselected"},
                 {totals->count[YPI_XFAILED], "xfailed"},
                 {totals->count[YPI_XPASSED], "xpassed"},
                 {totals->count[YPI_ERROR], totals->count[YPI_ERROR] == 1 ? "error" : "errors"}};
    struct ypi_text text = {0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].count > 0)
            ypi_text_add(&text, "%s%d %s", text.length > 0 ? ", " : "", parts[i].count,
                         parts[i].word);
    if (totals->interrupted)
        ypi_text_add(&text, "%sinterrupted", text.length > 0 ? ", " : "");
    ypi_text_add(&text, "%sin %.2fs", text.length > 0 ? " " : "", ypi_now() - terminal->s->started);
    return ypi_text_take(&text);
}

void ypi_terminal_end(struct ypi_terminal *terminal, const struct ypi_totals *totals)
{
    if (terminal->column > 0)
        percent(terminal, terminal->reported);
    if (terminal->failed.length > 0) {
        fputc('\n', terminal->out);
        rule(terminal->out, '=', "FAILURES");
        fputs(terminal->failed.data, terminal->out);
    }
    tell_durations(terminal);
    if (terminal->summary.length > 0) {
        rule(terminal->out, '=', "short test summary");
        fputs(terminal->summary.data, terminal->out);
    }
    char *text = summary(terminal, totals);
    if (terminal->s->o->verbose >= 0)
        rule(terminal->out, '=', text);
    else
        fprintf(terminal->out, "%s\n", text);
    fflush(terminal->out);
    free(text);
    ypi_terminal_free(terminal);
}

void ypi_terminal_free(struct ypi_terminal *terminal)
{
    if (terminal == NULL)
        return;
    for (int i = 0; i < terminal->reported; i++)
        free(terminal->lasted[i].id);
    free(terminal->lasted);
    free(terminal->path);
    free(ypi_text_take(&terminal->failed));
    free(ypi_text_take(&terminal->summary));
    free(terminal);
}
