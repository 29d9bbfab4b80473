/* Progress, failures and the summary, as pytest's users know them. */
#include "base/text/figures.h"
#include "base/text/text.h"
#include "harness/collect/configuration.h"
#include "harness/report/reporter.h"
#include "harness/report/screen.h"
#include "harness/report/summary.h"

#include <stdlib.h>
#include <string.h>

struct terminal {
    struct ypi_screen screen;
    const struct ypi_session *s;
    int reported, column;
    char *path; /* whose letters are being printed */
    /* Sections, printed at the end. */
    struct ypi_text errors, failures, passes;
    struct ypi_summary summary;
};

/* -- before the first case ----------------------------------------------------------------- */

static void print_header(FILE *out, const struct ypi_session *s)
{
    static const char *const speeds[] = {[YPI_SPEED_JUDGE] = "judged",
                                         [YPI_SPEED_RECORD] = "recorded",
                                         [YPI_SPEED_OFF] = "not timed"};
    const char *model = ypi_environment_get(s->environment, "cpu.model");
    fprintf(out, "machine: %s (%.12s)\n", model != NULL ? model : "unknown processor",
            s->environment->fingerprint);
    fprintf(out, "seed: %llu, speed: %s, history: %s", (unsigned long long)s->o->seed,
            speeds[s->o->speed], s->o->history);
    const char *why = s->o->verbose > 0 ? ypi_history_why(s->o) : NULL;
    if (why != NULL)
        fprintf(out, " (%s)", why);
    fputc('\n', out);
}

static enum yp_status begin(struct ypi_reporting *to)
{
    FILE *out = to->out;
    const struct ypi_session *s = to->s;
    struct terminal *terminal = to->state = ypi_calloc(1, sizeof *terminal);
    terminal->s = s;
    ypi_screen_open(&terminal->screen, out, s->o->colouring);
    bool quiet = s->o->verbose < 0;
    if (!quiet)
        ypi_screen_rule(&terminal->screen, out, '=', YPI_BOLD, "yieldpoint " YPI_VERSION);
    if (!quiet && !s->o->no_header)
        print_header(out, s);
    ypi_print_unusual(out, "", s->o);
    if (quiet)
        return YP_OK;
    fprintf(out, "collected %d case%s", s->collected, s->collected == 1 ? "" : "s");
    if (s->deselected > 0)
        fprintf(out, " / %d deselected / %d selected", s->deselected, s->collected - s->deselected);
    fputc('\n', out);
    if (s->arranged != NULL)
        fputs(s->arranged, out);
    fputc('\n', out);
    return YP_OK;
}

/* -- progress ------------------------------------------------------------------------------ */

/* Ends a line of letters, or of a case, the last of which is that of case number `reported`. */
static void percent(struct terminal *terminal, int reported)
{
    int room = terminal->screen.columns - 7;
    const char *begin =
        ypi_colour(&terminal->screen,
                   terminal->failures.length + terminal->errors.length > 0 ? YPI_RED : YPI_GREEN);
    fprintf(terminal->screen.out, "%*s%s[%3d%%]%s\n",
            terminal->column < room ? room - terminal->column : 1, "", begin,
            100 * reported / terminal->s->total, ypi_colour_end(&terminal->screen));
    terminal->column = 0;
}

static void print_line(struct terminal *terminal, const struct ypi_result *r)
{
    const struct ypi_look *look = &ypi_looks[r->outcome];
    char headline[YPI_HEADLINE_MAX];
    char seconds[YPI_FIGURE_MAX];
    struct ypi_text rest = {0};
    ypi_headline(headline, r);
    ypi_format_seconds(seconds, r->duration);
    if (r->c->repeat > 0 || terminal->s->o->repeat > 1)
        ypi_text_add(&rest, " #%d", r->c->repeat + 1);
    bool reasoned =
        r->outcome == YPI_SKIPPED || r->outcome == YPI_XFAILED || r->outcome == YPI_XPASSED;
    if (reasoned && r->reason != NULL && r->reason[0] != '\0')
        ypi_text_add(&rest, " (%.*s)", (int)strcspn(r->reason, "\n"), r->reason);
    if (r->outcome != YPI_SKIPPED)
        ypi_text_add(&rest, "%s%s in %s", headline[0] != '\0' ? " " : "", headline, seconds);
    char *text = ypi_text_take(&rest);
    fprintf(terminal->screen.out, "%s %s%s%s%s", r->c->id,
            ypi_colour(&terminal->screen, look->colour), look->word,
            ypi_colour_end(&terminal->screen), text);
    terminal->column = (int)(ypi_columns(r->c->id, strlen(r->c->id)) + 1 + strlen(look->word) +
                             ypi_columns(text, strlen(text)));
    free(text);
    percent(terminal, terminal->reported);
}

/* With what its budgets leave; those of a failed one stand among the failures. */
static void print_whole(struct terminal *terminal, const struct ypi_result *r)
{
    print_line(terminal, r);
    if (!ypi_is_failure(r->outcome) && r->outcome != YPI_SKIPPED) {
        ypi_print_verdicts(terminal->screen.out, r, true);
        ypi_print_places(terminal->screen.out, r);
        if (terminal->s->o->speed == YPI_SPEED_JUDGE)
            ypi_print_lacking(terminal->screen.out, r);
    }
}

/* Under -q without the paths of the files. */
static void begin_path(struct terminal *terminal, const struct ypi_result *r)
{
    int length = (int)strcspn(r->c->id, ":");
    if (terminal->s->o->verbose < 0 ||
        (terminal->path != NULL && strncmp(terminal->path, r->c->id, (size_t)length + 1) == 0))
        return;
    if (terminal->column > 0)
        percent(terminal, terminal->reported - 1);
    free(terminal->path);
    terminal->path = ypi_format("%.*s:", length, r->c->id);
    terminal->column = fprintf(terminal->screen.out, "%.*s ", length, r->c->id);
}

static void print_letter(struct terminal *terminal, const struct ypi_result *r)
{
    begin_path(terminal, r);
    fprintf(terminal->screen.out, "%s%c%s",
            ypi_colour(&terminal->screen, ypi_looks[r->outcome].colour),
            ypi_looks[r->outcome].letter, ypi_colour_end(&terminal->screen));
    terminal->column++;
    if (terminal->reported == terminal->s->total ||
        terminal->column >= terminal->screen.columns - 8)
        percent(terminal, terminal->reported);
}

/* -- sections ------------------------------------------------------------------------------ */

/* "FILE:LINE: reason" */
static void print_place(FILE *out, const struct ypi_result *r)
{
    const struct ypi_failure *f = r->failure_count > 0 ? &r->failures[0] : NULL;
    const char *reason = ypi_first_reason(r);
    if (f != NULL && f->file != NULL)
        fprintf(out, "%s:%d: ", f->file, f->line);
    else
        fprintf(out, "%s: ", r->c->id);
    fprintf(out, "%.*s\n", (int)strcspn(reason, "\n"), reason);
}

static void print_passed(FILE *out, const struct ypi_session *s, const struct ypi_result *r)
{
    (void)s;
    ypi_print_output(out, r);
}

static void print_one_line(FILE *out, const struct ypi_session *s, const struct ypi_result *r)
{
    (void)s;
    print_place(out, r);
}

static void keep(const struct terminal *terminal, struct ypi_text *sections, const char *title,
                 enum ypi_colour colour,
                 void (*tell)(FILE *, const struct ypi_session *, const struct ypi_result *),
                 const struct ypi_result *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *section = open_memstream(&text, &size);
    if (section == NULL)
        return;
    if (title != NULL)
        ypi_screen_rule(&terminal->screen, section, '_', colour, title);
    tell(section, terminal->s, r);
    fclose(section);
    ypi_text_bytes(sections, text, size);
    free(text);
}

static void keep_failure(struct terminal *terminal, const struct ypi_result *r)
{
    bool error = r->outcome == YPI_ERROR;
    bool line = terminal->s->o->traceback == YPI_TRACEBACK_LINE;
    char *title = error  ? ypi_format("ERROR at setup of %s", r->c->id)
                  : line ? NULL
                         : ypi_strdup(r->c->id);
    keep(terminal, error ? &terminal->errors : &terminal->failures, title, YPI_RED,
         line ? print_one_line : ypi_print_failure, r);
    free(title);
}

static void keep_sections(struct terminal *terminal, const struct ypi_result *r)
{
    const struct ypi_options *o = terminal->s->o;
    if (ypi_is_failure(r->outcome))
        keep_failure(terminal, r);
    else if (o->report_output && r->outcome == YPI_PASSED && r->tail != NULL && r->tail[0] != '\0')
        keep(terminal, &terminal->passes, r->c->id, YPI_GREEN, print_passed, r);
}

static enum yp_status report(struct ypi_reporting *to)
{
    const struct ypi_result *r = to->r;
    struct terminal *terminal = to->state;
    terminal->reported++;
    keep_sections(terminal, r);
    ypi_summary_add(&terminal->summary, &terminal->screen, terminal->s->o, r);
    if (terminal->s->o->verbose > 0)
        print_whole(terminal, r);
    else
        print_letter(terminal, r);
    fflush(terminal->screen.out);
    return YP_OK;
}

/* -- after the last case ------------------------------------------------------------------- */

static void print_sections(const struct terminal *terminal)
{
    const bool all = terminal->s->o->traceback != YPI_TRACEBACK_NO;
    const struct {
        const char *title;
        const struct ypi_text *text;
        bool wanted;
    } sections[] = {{"ERRORS", &terminal->errors, all},
                    {"FAILURES", &terminal->failures, all},
                    {"PASSES", &terminal->passes, true}};
    bool first = true;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (sections[i].text->length == 0 || !sections[i].wanted)
            continue;
        if (first && terminal->s->o->verbose >= 0)
            fputc('\n', terminal->screen.out);
        first = false;
        ypi_screen_rule(&terminal->screen, terminal->screen.out, '=', YPI_PLAIN, sections[i].title);
        fputs(sections[i].text->data, terminal->screen.out);
    }
}

/* Why not all were run. */
static void print_stop(const struct terminal *terminal, const struct ypi_totals *totals)
{
    const struct ypi_options *o = terminal->s->o;
    int failures = totals->count[YPI_FAILED] + totals->count[YPI_ERROR];
    char *title = NULL;
    if (totals->interrupted)
        title = ypi_strdup("interrupted");
    else if (!totals->stopped)
        return;
    else if (o->stepwise)
        title = ypi_strdup("Interrupted: Test failed, continuing from this test next run.");
    else if (o->max_failures > 0 && failures >= o->max_failures)
        title = ypi_format("stopping after %d failures", failures);
    else
        return;
    ypi_screen_rule(&terminal->screen, terminal->screen.out, '!', YPI_RED, title);
    free(title);
}

static enum yp_status end(struct ypi_reporting *to)
{
    struct terminal *terminal = to->state;
    const struct ypi_options *o = terminal->s->o;
    FILE *out = terminal->screen.out;
    if (terminal->column > 0)
        fputc('\n', out);
    terminal->column = 0;
    if (!o->no_summary)
        print_sections(terminal);
    ypi_summary_repeats(&terminal->summary, &terminal->screen);
    ypi_summary_durations(&terminal->summary, &terminal->screen, o);
    if (!o->no_summary)
        ypi_summary_short(&terminal->summary, &terminal->screen, o);
    print_stop(terminal, to->totals);
    ypi_summary_counts(&terminal->screen, terminal->s, to->totals);
    fflush(out);
    free(terminal->path);
    free(ypi_text_take(&terminal->errors));
    free(ypi_text_take(&terminal->failures));
    free(ypi_text_take(&terminal->passes));
    ypi_summary_clear(&terminal->summary);
    return YP_OK;
}

const struct ypi_reporter ypi_terminal_reporter = {
    .on = {[YPI_RUN_BEGINS] = begin, [YPI_RESULT] = report, [YPI_RUN_ENDS] = end}};
