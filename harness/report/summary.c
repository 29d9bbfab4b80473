#include "harness/report/summary.h"

#include "base/numbers/stats.h"
#include "base/system/clock.h"
#include "base/text/figures.h"
#include "harness/collect/collect.h"

#include <stdlib.h>
#include <string.h>

/* -- a line a case ------------------------------------------------------------------------- */

const struct ypi_look ypi_looks[YPI_OUTCOMES] = {
    [YPI_PASSED] = {'.', 'p', "PASSED", YPI_GREEN},
    [YPI_FAILED] = {'F', 'f', "FAILED", YPI_RED},
    [YPI_ERROR] = {'E', 'E', "ERROR", YPI_RED},
    [YPI_SKIPPED] = {'s', 's', "SKIPPED", YPI_YELLOW},
    [YPI_XFAILED] = {'x', 'x', "XFAIL", YPI_YELLOW},
    [YPI_XPASSED] = {'X', 'X', "XPASS", YPI_YELLOW},
    [YPI_NOISY] = {'n', '\0', "NOISY", YPI_MAGENTA},
};

static int place_of(char letter)
{
    return (int)(strchr(YPI_REPORT_LETTERS, letter) - YPI_REPORT_LETTERS);
}

/* The first line of the reason. On a terminal as much as fits into the line, elsewhere as much as
 * can be read: all of it stands among the failures. */
static char *shortened(const struct ypi_screen *screen, const struct ypi_options *o, int before,
                       const char *reason)
{
    enum { READABLE = 240, LEAST = 8 };
    int length = (int)strcspn(reason, "\n");
    int room = screen->terminal ? screen->columns - before - 3 : READABLE;
    if (o->verbose > 1 || ypi_columns(reason, (size_t)length) <= (size_t)(room > 0 ? room : 0))
        return ypi_format(" - %.*s", length, reason);
    if (room < LEAST)
        return ypi_strdup("");
    int kept = 0;
    for (int columns = 0; kept < length; kept++)
        if (((unsigned char)reason[kept] & 0xc0) != 0x80 && columns++ == room - 3)
            break;
    return ypi_format(" - %.*s...", kept, reason);
}

static void add_line(struct ypi_text *out, const struct ypi_screen *screen,
                     const struct ypi_options *o, const struct ypi_look *look,
                     const struct ypi_result *r)
{
    int before = (int)(strlen(look->word) + 1 + ypi_columns(r->c->id, strlen(r->c->id)));
    const char *reason =
        r->outcome == YPI_XFAILED && r->reason != NULL ? r->reason : ypi_first_reason(r);
    char *rest = reason[0] != '\0' ? shortened(screen, o, before, reason) : ypi_strdup("");
    ypi_text_add(out, "%s%s%s %s%s\n", ypi_colour(screen, look->colour), look->word,
                 ypi_colour_end(screen), r->c->id, rest);
    free(rest);
}

/* Cases that are skipped at one place for one reason are one line. */
static void add_skip(struct ypi_summary *s, const struct ypi_result *r)
{
    const struct yp_test *test = r->c->test;
    const char *reason = ypi_first_reason(r);
    char *line = ypi_format("%s:%d: %.*s", ypi_test_path(test->file), test->line,
                            (int)strcspn(reason, "\n"), reason);
    for (int i = s->skip_count - 1; i >= 0; i--)
        if (strcmp(s->skips[i].line, line) == 0) {
            s->skips[i].count++;
            free(line);
            return;
        }
    s->skips = ypi_realloc(s->skips, (size_t)s->skip_count + 1, sizeof *s->skips);
    s->skips[s->skip_count++] = (struct ypi_skip){.line = line, .count = 1};
}

static void add_lasted(struct ypi_summary *s, const struct ypi_result *r)
{
    /* Of a case that did not tell, all that its process took is its call's. */
    const struct ypi_lasted phases[] = {
        {.phase = "setup", .seconds = r->setup},
        {.phase = "call", .seconds = r->ended ? r->body : r->duration - r->setup},
        {.phase = "teardown", .seconds = r->teardown}};
    s->lasted = ypi_realloc(s->lasted, (size_t)s->lasted_count + 3, sizeof *s->lasted);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (!(phases[i].seconds > 0))
            continue;
        s->lasted[s->lasted_count] = phases[i];
        s->lasted[s->lasted_count++].id = ypi_strdup(r->c->id);
    }
}

static void add_note(struct ypi_summary *s, const struct ypi_screen *screen,
                     const struct ypi_options *o, const struct ypi_result *r)
{
    if (r->outcome == YPI_NOISY)
        ypi_text_add(&s->notes, "%sNOISY%s %s - a budget could not be decided%s%s\n",
                     ypi_colour(screen, ypi_looks[YPI_NOISY].colour), ypi_colour_end(screen),
                     r->c->id, r->note != NULL ? ": " : "", r->note != NULL ? r->note : "");
    else if (r->note != NULL && !ypi_is_failure(r->outcome))
        ypi_text_add(&s->notes, "NOTE %s - %s\n", r->c->id, r->note);
    if (o->verbose > 0 && !ypi_is_failure(r->outcome) && r->outcome != YPI_SKIPPED)
        ypi_add_loose(&s->notes, r);
}

void ypi_summary_add(struct ypi_summary *s, const struct ypi_screen *screen,
                     const struct ypi_options *o, const struct ypi_result *r)
{
    const struct ypi_look *look = &ypi_looks[r->outcome];
    bool wanted = look->report != '\0' && strchr(o->report, look->report) != NULL;
    if (wanted && r->outcome == YPI_SKIPPED && !o->no_fold_skipped)
        add_skip(s, r);
    else if (wanted)
        add_line(&s->lines[place_of(look->report)], screen, o, look, r);
    if (!o->disable_warnings)
        add_note(s, screen, o, r);
    if (o->durations >= 0)
        add_lasted(s, r);
    if (o->repeat > 1)
        ypi_repeats_add(&s->repeats, r);
}

void ypi_summary_short(const struct ypi_summary *s, const struct ypi_screen *screen,
                       const struct ypi_options *o)
{
    bool any = s->notes.length > 0 || s->skip_count > 0;
    for (const char *letter = YPI_REPORT_LETTERS; *letter != '\0'; letter++)
        any = any || s->lines[place_of(*letter)].length > 0;
    if (!any)
        return;
    ypi_screen_rule(screen, screen->out, '=', YPI_CYAN, "short test summary info");
    if (s->notes.length > 0)
        fputs(s->notes.data, screen->out);
    for (const char *letter = o->report; *letter != '\0'; letter++) {
        const struct ypi_text *lines = &s->lines[place_of(*letter)];
        for (int i = 0; i < s->skip_count && *letter == 's'; i++)
            fprintf(screen->out, "%sSKIPPED%s [%d] %s\n", ypi_colour(screen, YPI_YELLOW),
                    ypi_colour_end(screen), s->skips[i].count, s->skips[i].line);
        if (lines->length > 0)
            fputs(lines->data, screen->out);
    }
}

/* -- over processes ------------------------------------------------------------------------ */

struct told {
    const struct ypi_screen *screen;
    bool any;
};

/* "a.c::t 'fit': 1.23 ms [1.2 ms, 1.31 ms] of 5, sd 3.1 %", with the interval of ypi_estimate(). */
static void print_repeats(void *arg, const struct ypi_repeat *repeats, size_t count)
{
    struct told *told = arg;
    char median[YPI_FIGURE_MAX];
    char low[YPI_FIGURE_MAX];
    char high[YPI_FIGURE_MAX];
    char deviation[YPI_FIGURE_MAX];
    double *seconds = ypi_calloc(count, sizeof *seconds);
    for (size_t i = 0; i < count; i++)
        seconds[i] = repeats[i].seconds;
    struct ypi_estimate e = ypi_estimate(seconds, count);
    free(seconds);
    if (!told->any)
        ypi_screen_rule(told->screen, told->screen->out, '=', YPI_PLAIN,
                        "medians of several processes");
    told->any = true;
    ypi_format_seconds(median, e.median);
    ypi_format_seconds(low, e.low);
    ypi_format_seconds(high, e.high);
    ypi_format_percent(deviation, e.sd / e.mean, 2);
    fprintf(told->screen->out, "%s '%s': %s [%s, %s] of %zu, sd %s\n", repeats[0].id,
            repeats[0].name, median, low, high, count, deviation);
}

void ypi_summary_repeats(struct ypi_summary *s, const struct ypi_screen *screen)
{
    struct told told = {screen, false};
    ypi_repeats_each(&s->repeats, print_repeats, &told);
}

/* -- durations ----------------------------------------------------------------------------- */

#define USUALLY_LEAST 0.005 /* seconds */

static int slowest_first(const void *a, const void *b)
{
    double x = ((const struct ypi_lasted *)a)->seconds;
    double y = ((const struct ypi_lasted *)b)->seconds;
    return (x < y) - (x > y);
}

void ypi_summary_durations(struct ypi_summary *s, const struct ypi_screen *screen,
                           const struct ypi_options *o)
{
    if (o->durations < 0 || s->lasted_count == 0)
        return;
    qsort(s->lasted, (size_t)s->lasted_count, sizeof *s->lasted, slowest_first);
    int count = o->durations > 0 && o->durations < s->lasted_count ? o->durations : s->lasted_count;
    double least = o->durations_min > 0 ? o->durations_min : o->verbose > 1 ? 0 : USUALLY_LEAST;
    char *title = o->durations > 0 ? ypi_format("slowest %d durations", o->durations)
                                   : ypi_strdup("slowest durations");
    ypi_screen_rule(screen, screen->out, '=', YPI_PLAIN, title);
    free(title);
    int told = 0;
    for (; told < count && s->lasted[told].seconds >= least; told++)
        fprintf(screen->out, "%.2fs %-8s %s\n", s->lasted[told].seconds, s->lasted[told].phase,
                s->lasted[told].id);
    if (told < count)
        fprintf(screen->out, "\n(%d durations < %gs hidden.%s)\n", count - told, least,
                o->durations_min > 0 ? "" : "  Use -vv to show these durations.");
}

/* -- counts -------------------------------------------------------------------------------- */

static enum ypi_colour colour_of_all(const struct ypi_totals *totals)
{
    const int *count = totals->count;
    return count[YPI_FAILED] + count[YPI_ERROR] > 0 || totals->interrupted ? YPI_RED
           : count[YPI_NOISY] + count[YPI_XPASSED] > 0                     ? YPI_YELLOW
           : count[YPI_PASSED] > 0                                         ? YPI_GREEN
                                                                           : YPI_YELLOW;
}

/* pytest's order: failed, passed, skipped, deselected, xfailed, xpassed, error. */
static char *counts(const struct ypi_screen *screen, const struct ypi_session *session,
                    const struct ypi_totals *totals)
{
    const int *count = totals->count;
    const struct {
        int count;
        const char *word;
        enum ypi_colour colour;
    } parts[] = {{count[YPI_FAILED], "failed", YPI_RED},
                 {count[YPI_PASSED], "passed", YPI_GREEN},
                 {count[YPI_NOISY], "noisy", YPI_MAGENTA},
                 {count[YPI_SKIPPED], "skipped", YPI_YELLOW},
                 {session->deselected, "deselected", YPI_YELLOW},
                 {count[YPI_XFAILED], "xfailed", YPI_YELLOW},
                 {count[YPI_XPASSED], "xpassed", YPI_YELLOW},
                 {count[YPI_ERROR], count[YPI_ERROR] == 1 ? "error" : "errors", YPI_RED},
                 {totals->interrupted ? 1 : 0, NULL, YPI_RED}};
    struct ypi_text text = {0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].count == 0)
            continue;
        ypi_text_add(&text, "%s%s", text.length > 0 ? ", " : "",
                     ypi_colour(screen, parts[i].colour));
        if (parts[i].word != NULL)
            ypi_text_add(&text, "%d %s", parts[i].count, parts[i].word);
        else
            ypi_text_add(&text, "interrupted");
        ypi_text_add(&text, "%s", ypi_colour_end(screen));
    }
    enum ypi_colour all = colour_of_all(totals);
    ypi_text_add(&text, "%s%sin %.2fs%s", text.length > 0 ? " " : "", ypi_colour(screen, all),
                 ypi_now() - session->started, ypi_colour_end(screen));
    return ypi_text_take(&text);
}

void ypi_summary_counts(const struct ypi_screen *screen, const struct ypi_session *session,
                        const struct ypi_totals *totals)
{
    int verbose = session->o->verbose;
    char *text = verbose >= -1 ? counts(screen, session, totals) : NULL;
    if (verbose >= 0)
        ypi_screen_rule(screen, screen->out, '=', colour_of_all(totals), text);
    else if (verbose == -1)
        fprintf(screen->out, "%s\n", text);
    free(text);
}

void ypi_summary_clear(struct ypi_summary *s)
{
    for (size_t i = 0; i < sizeof s->lines / sizeof *s->lines; i++)
        free(ypi_text_take(&s->lines[i]));
    free(ypi_text_take(&s->notes));
    for (int i = 0; i < s->skip_count; i++)
        free(s->skips[i].line);
    free(s->skips);
    for (int i = 0; i < s->lasted_count; i++)
        free(s->lasted[i].id);
    free(s->lasted);
    ypi_repeats_clear(&s->repeats);
    *s = (struct ypi_summary){0};
}
