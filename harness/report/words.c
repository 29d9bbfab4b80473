#include "harness/report/words.h"

#include "base/numbers/order.h"
#include "base/numbers/slack.h"
#include "base/text/figures.h"
#include "base/text/text.h"
#include "device/ceiling/ceiling.h"
#include "harness/collect/options.h"
#include "harness/record/reproduce.h"
#include "harness/vocabulary/audit.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/gradient.h>

static void figure(char out[YPI_FIGURE_MAX], const struct ypi_measured *m)
{
    double t = m->estimate.median;
    if (m->kind == YPI_MEASURED_SERVE)
        ypi_format_seconds(out, t);
    else if (m->items > 0)
        ypi_format_rate(out, m->items / t, m->unit);
    else if (m->flops > 0)
        ypi_format_rate(out, m->flops / t, "FLOP");
    else if (m->bytes > 0)
        ypi_format_rate(out, m->bytes / t, "B");
    else
        ypi_format_seconds(out, t);
}

/* "grows as O(N), 3e-09 s [2.9e-09 s, 3.1e-09 s]" with its coefficient, "grows as O(N) to O(N log
 * N)" where it cannot be said. */
static void order_headline(char out[YPI_HEADLINE_MAX], const struct ypi_value *v)
{
    if (!(v->low <= v->high))
        snprintf(out, YPI_HEADLINE_MAX, "grows as none of the orders");
    else if (v->low < v->high)
        snprintf(out, YPI_HEADLINE_MAX, "grows as %s to %s, cannot say",
                 ypi_order_name((int)v->low), ypi_order_name((int)v->high));
    else
        snprintf(out, YPI_HEADLINE_MAX, "grows as %s, %.3g s [%.3g s, %.3g s]",
                 ypi_order_name((int)v->low), v[1].value, v[1].low, v[1].high);
}

static bool has_share_budget(const struct ypi_result *r, const char *name)
{
    for (int i = 0; i < r->verdict_count; i++) {
        const struct yp_budget *b = r->verdicts[i].budget;
        if (b->kind == YP_BUDGET_MIN_SHARE && b->name != NULL && strcmp(b->name, name) == 0)
            return true;
    }
    return false;
}

/* Of the largest exchange among ranks that is more than latency; 0: there is none. */
static double bus_bandwidth(const struct ypi_measured *m)
{
    double bytes = 0;
    for (int i = YPI_BOUND_MORE; i < YPI_BOUNDS; i++)
        if (ypi_is_exchange(m->bounds[i].ceiling) && strcmp(m->bounds[i].level, "bus") == 0)
            bytes = fmax(bytes, m->bounds[i].work);
    return bytes / m->estimate.median;
}

/* Behind the headline, which is what the author calls the work: its traffic, and its share of what
 * bounds it. A share that small says that nothing declared bounds it, and is left out unless a
 * budget asks for it. */
static void add_traffic_and_share(char out[YPI_HEADLINE_MAX], const struct ypi_result *r,
                                  const struct ypi_measured *m)
{
    size_t length = strlen(out);
    if (m->items > 0 && m->bytes > 0 && m->kind != YPI_MEASURED_SERVE) {
        char traffic[YPI_FIGURE_MAX];
        ypi_format_rate(traffic, m->bytes / m->estimate.median, "B");
        length +=
            (size_t)snprintf(out + length, YPI_HEADLINE_MAX - length, ", traffic %s", traffic);
    }
    const double bus = bus_bandwidth(m);
    if (bus > 0 && length < YPI_HEADLINE_MAX) {
        char rate[YPI_FIGURE_MAX];
        ypi_format_rate(rate, bus, "B");
        length += (size_t)snprintf(out + length, YPI_HEADLINE_MAX - length, ", bus %s", rate);
    }
    char bound[YPI_BOUND_MAX];
    ypi_bound_text(m, true, bound, sizeof bound);
    double share = m->share_estimate.median;
    if (bound[0] != '\0' && m->share_count > 0 && length < YPI_HEADLINE_MAX &&
        (share >= YPI_LEAST_SHARE || has_share_budget(r, m->name)))
        snprintf(out + length, YPI_HEADLINE_MAX - length,
                 share >= 0.1 ? ", %.2f of %s" : ", %.2g of %s", share, bound);
}

void ypi_headline(char out[YPI_HEADLINE_MAX], const struct ypi_result *r)
{
    out[0] = '\0';
    if (r->measured_count == 0) {
        const struct ypi_value *v = r->values;
        if (r->value_count > 0 && r->c->test->relation.kind == YP_RELATION_ORDER)
            order_headline(out, v);
        else if (r->value_count > 0 && ypi_is_relation(r->c))
            snprintf(out, YPI_HEADLINE_MAX, "%s %.3g [%.3g, %.3g]", v->name, v->value, v->low,
                     v->high);
        return;
    }
    const struct ypi_measured *m = &r->measured[0];
    if (m->kind == YPI_MEASURED_COUNT && ypi_audited(m)) {
        int length = snprintf(out, YPI_HEADLINE_MAX, "%s ", m->name);
        ypi_audit_text(m, out + length, YPI_HEADLINE_MAX - (size_t)length);
        return;
    }
    if (m->kind == YPI_MEASURED_COUNT && m->counts[YP_INSTRUCTIONS].source == YPI_NOT_COUNTED) {
        snprintf(out, YPI_HEADLINE_MAX, "%s was not counted", m->name);
        return;
    }
    if (m->kind == YPI_MEASURED_COUNT) {
        snprintf(out, YPI_HEADLINE_MAX, "%s %.0f instructions", m->name,
                 m->counts[YP_INSTRUCTIONS].count);
        return;
    }
    if (m->kind == YPI_MEASURED_RUN)
        snprintf(out, YPI_HEADLINE_MAX, "%s not timed", m->name);
    if (m->count == 0)
        return;
    char rate[YPI_FIGURE_MAX];
    figure(rate, m);
    double half = (m->estimate.high - m->estimate.low) / 2 / m->estimate.median;
    char percent[YPI_FIGURE_MAX];
    ypi_format_percent(percent, half, 2);
    snprintf(out, YPI_HEADLINE_MAX, "%s %s +-%.32s", m->name, rate, percent);
    add_traffic_and_share(out, r, m);
}

const char *ypi_first_reason(const struct ypi_result *r)
{
    return r->failure_count > 0 ? r->failures[0].message : r->reason != NULL ? r->reason : "";
}

void ypi_print_unusual(FILE *out, const char *prefix, const struct ypi_options *o)
{
    const char *rows = ypi_appended_to(o);
    if (o->slowdown > 1)
        fprintf(out, "%sslowdown: every timed sample takes %g times as long as its work%s%s\n",
                prefix, o->slowdown, rows != NULL ? ", nothing is appended to " : "",
                rows != NULL ? rows : "");
    if (o->no_fork)
        fprintf(out,
                "%sno-fork: no isolation: cases run in this process, without time-out; one that "
                "crashes ends the run\n",
                prefix);
}

char *ypi_reproduce_line(const struct ypi_session *s, const struct ypi_result *r)
{
    int count = 0;
    char **extra = ypi_options_reproduce(s->o, ypi_is_relation(r->c), &count);
    char *line = ypi_reproduce(s->program, r->c->id, r->c->seed, (const char *const *)extra, count);
    ypi_list_free(extra, count);
    return line;
}

static void print_verdict(FILE *out, const struct ypi_result *r, const struct ypi_verdict *v,
                          bool slack)
{
    const char *unit = ypi_budget_unit(r, v->budget);
    double left = ypi_budget_slack(v->budget, v->measured);
    char text[256];
    char measured[128];
    ypi_budget_text(text, v->budget, unit);
    if (v->met == YPI_UNMEASURED || v->met == YPI_NOT_JUDGED)
        snprintf(measured, sizeof measured, "-");
    else
        ypi_budget_figure(measured, v->budget, v->measured, unit);
    fprintf(out, "    %-10s %s", ypi_met_name(v->met), text);
    if (v->budget->required != NULL)
        fprintf(out, " (required: %s)", v->budget->required);
    fprintf(out, ": %s", measured);
    if (v->low != v->high && isfinite(v->low)) {
        char low[128];
        char high[128];
        ypi_budget_figure(low, v->budget, v->low, unit);
        ypi_budget_figure(high, v->budget, v->high, unit);
        fprintf(out, " [%s, %s]", low, high);
    }
    if (isfinite(v->distance)) {
        char percent[YPI_FIGURE_MAX];
        ypi_format_percent(percent, v->distance, 3);
        fprintf(out, " (%s%s)", signbit(v->distance) ? "" : "+", percent);
    }
    if ((v->budget->kind == YP_BUDGET_MAX_RESIDENT ||
         v->budget->kind == YP_BUDGET_MAX_RESIDENT_TREE) &&
        r->memory.resident_files > 0) {
        char files[128];
        ypi_format_bytes(files, (double)r->memory.resident_files);
        fprintf(out, ", and %s of pages of files", files);
    }
    if (slack && isfinite(left))
        fprintf(out, ", slack %.3g", left);
    if (v->asked > 0)
        fprintf(out, ", %d of %d fresh %s outside", v->confirmed, v->asked,
                ypi_is_relation(r->c) ? "rounds" : "processes");
    fputc('\n', out);
}

void ypi_print_verdicts(FILE *out, const struct ypi_result *r, bool slack)
{
    for (int i = 0; i < r->verdict_count; i++)
        print_verdict(out, r, &r->verdicts[i], slack);
}

void ypi_print_lacking(FILE *out, const struct ypi_result *r)
{
    const struct ypi_baselines *all = r->c->baselines;
    bool lacking = false;
    for (int i = 0; i < r->measured_count && all != NULL; i++)
        lacking = lacking || (ypi_is_timed(r->measured[i].kind) &&
                              ypi_baseline_of(r->c, r->measured[i].name) == NULL);
    if (lacking)
        fprintf(out, "    %-10s no baseline on this kind of machine yet (%d of %d processes)\n",
                "-", all->so_far < YPI_BASELINE_PROCESSES ? all->so_far : YPI_BASELINE_PROCESSES,
                YPI_BASELINE_PROCESSES);
}

static void add_loose(struct ypi_text *out, const struct ypi_result *r, const char *what,
                      double slack, const char *not_noticed)
{
    ypi_text_add(out, "NOTE %s - %s: slack %.3g, %s would not be noticed\n", r->c->id, what, slack,
                 not_noticed);
}

void ypi_add_loose(struct ypi_text *out, const struct ypi_result *r)
{
    for (int i = 0; i < r->verdict_count; i++) {
        const struct ypi_verdict *v = &r->verdicts[i];
        const struct yp_budget *b = v->budget;
        const struct ypi_budget_kind *k = ypi_budget_kind(b->kind);
        double slack = ypi_budget_slack(b, v->measured);
        char text[256];
        const bool watched = k->speed && ypi_baseline_of(r->c, b->name) != NULL;
        if (v->met != YPI_MET || watched || !ypi_slack_is_loose(b, slack))
            continue;
        ypi_budget_text(text, b, ypi_budget_unit(r, b));
        add_loose(out, r, text, slack,
                  k->speed      ? "a threefold slowdown"
                  : k->at_least ? "a tenth of it"
                                : "ten times as much");
    }
    /* What is checked against the usual bound was given none of its own. */
    for (int i = 0; i < r->gradient_count; i++) {
        const struct ypi_gradient *g = &r->gradients[i];
        const struct yp_budget bound = {.kind = YP_BUDGET_MAX_VALUE, .limit = g->limit};
        double slack = ypi_budget_slack(&bound, g->error);
        if (!g->precision || g->limit <= YP_PRECISION_MULTIPLE ||
            !ypi_slack_is_loose(&bound, slack))
            continue;
        char *text =
            ypi_format("precision of '%s' at most %.3g times the plain error", g->name, g->limit);
        add_loose(out, r, text, slack, "ten times as much");
        free(text);
    }
}

static void print_measured(FILE *out, const struct ypi_result *r)
{
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        char text[3][YPI_FIGURE_MAX];
        if (ypi_audited(m)) {
            ypi_audit_text(m, text[0], sizeof text[0]);
            fprintf(out, "  counted %s: %s\n", m->name, text[0]);
            continue;
        }
        if (m->kind == YPI_MEASURED_RUN) {
            fprintf(out, "  ran %s: %llu time%s, not timed\n", m->name,
                    (unsigned long long)m->warmup, m->warmup == 1 ? "" : "s");
            continue;
        }
        ypi_format_seconds(text[0], m->estimate.median);
        ypi_format_seconds(text[1], m->estimate.low);
        ypi_format_seconds(text[2], m->estimate.high);
        fprintf(out, "  measured %s: median %s [%s, %s], %zu sample%s of %llu, stopped by %s\n",
                m->name, text[0], text[1], text[2], m->count, m->count == 1 ? "" : "s",
                (unsigned long long)m->batch, ypi_stop_name(m->stop));
    }
}

/* The start of the last `lines` lines. */
static const char *last_lines(const char *text, int lines)
{
    const char *at = text + strlen(text);
    if (at > text && at[-1] == '\n')
        at--;
    while (at > text && (at[-1] != '\n' || --lines > 0))
        at--;
    return at;
}

void ypi_print_output(FILE *out, const struct ypi_result *r)
{
    enum { LINES = 40, COLUMNS = 160 };
    if (r->tail == NULL || r->tail[0] == '\0')
        return;
    char size[YPI_FIGURE_MAX];
    ypi_format_bytes(size, (double)r->output_bytes);
    const char *line = last_lines(r->tail, LINES);
    bool cut = strlen(line) < r->output_bytes;
    fprintf(out, "  output (%s%s):\n", cut ? "the end of " : "", size);
    while (*line != '\0') {
        int length = (int)strcspn(line, "\n");
        fprintf(out, "    | %.*s%s\n", length < COLUMNS ? length : COLUMNS, line,
                length > COLUMNS ? "..." : "");
        line += length + (line[length] == '\n');
    }
}

static void print_stack(FILE *out, const char *stack)
{
    for (const char *line = stack; *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        fprintf(out, "    %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

/* -1: there is none. */
static int number_of_rank(const struct ypi_result *r, const char *what, int rank)
{
    char *name = ypi_format("%s of rank %d", what, rank);
    int number = -1;
    for (int i = 0; i < r->value_count; i++)
        if (strcmp(r->values[i].name, name) == 0)
            number = (int)r->values[i].value;
    free(name);
    return number;
}

void ypi_print_places(FILE *out, const struct ypi_result *r)
{
    static const char *const kinds[] = {"core", "NUMA node", "package", "node", "device"};
    const int ranks = ypi_ranks(r->c);
    for (int rank = 0; rank < ranks && ranks > 1; rank++) {
        const int processors = number_of_rank(r, "processors", rank);
        if (processors < 1)
            continue;
        fprintf(out, "    rank %-5d processor %d", rank, number_of_rank(r, "processor", rank));
        if (processors > 1)
            fprintf(out, " and %d more", processors - 1);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (number_of_rank(r, kinds[i], rank) >= 0)
                fprintf(out, ", %s %d", kinds[i], number_of_rank(r, kinds[i], rank));
        fputc('\n', out);
    }
}

static void print_reason(FILE *out, const struct ypi_failure *f)
{
    if (f->file != NULL)
        fprintf(out, "  %s:%d: %s\n", f->file, f->line, f->message);
    else
        fprintf(out, "  %s\n", f->message);
    if (f->stack != NULL)
        print_stack(out, f->stack);
}

/* The first ones: thousands of them would bury those that say more. */
static void print_reasons(FILE *out, const struct ypi_result *r, bool all)
{
    enum { FEW = 10 };
    int told = all || r->failure_count <= FEW + 1 ? r->failure_count : FEW;
    for (int i = 0; i < told; i++)
        print_reason(out, &r->failures[i]);
    if (told < r->failure_count)
        fprintf(out, "  and %d more (-vv tells them all)\n", r->failure_count - told);
}

static void print_how_again(FILE *out, const struct ypi_session *s, const struct ypi_result *r)
{
    char *line = ypi_reproduce_line(s, r);
    fprintf(out, "  reproduce: %s\n", line != NULL ? line : "(no memory)");
    free(line);
}

void ypi_print_failure(FILE *out, const struct ypi_session *s, const struct ypi_result *r)
{
    print_reasons(out, r, s->o->verbose > 1);
    if (s->o->traceback == YPI_TRACEBACK_SHORT) {
        print_how_again(out, s, r);
        return;
    }
    if (r->verdict_count > 0)
        fputs("  budgets:\n", out);
    ypi_print_verdicts(out, r, s->o->verbose > 0);
    print_measured(out, r);
    if (r->note != NULL)
        fprintf(out, "  note: %s\n", r->note);
    ypi_print_output(out, r);
    print_how_again(out, s, r);
}
