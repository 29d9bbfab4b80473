#include "gate/bisect/bisection.h"

#include "base/text/output.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_SHOWN = 10, LEFT_SHOWN = 20 };

/* One commit is left, but beside its parent there is no step for certain. */
static bool is_refuted(const struct ypi_bisection *b)
{
    return b->has_own && b->own.verdict == YPI_JUDGED_SKIPPED;
}

int ypi_bisection_exit(const struct ypi_bisection *b)
{
    if (!b->whole)
        return YPI_GATE_INTERRUPTED;
    if (!b->follows)
        return ypi_summary_exit(&b->first) == YPI_GATE_UNSURE ? YPI_GATE_UNSURE : YPI_GATE_WORSE;
    return b->left_count == 1 && !is_refuted(b) ? YPI_GATE_FINE : YPI_GATE_UNSURE;
}

static const char *judged_name(enum ypi_judged judged)
{
    static const char *const names[] = {[YPI_JUDGED_UNKNOWN] = "unknown",
                                        [YPI_JUDGED_GOOD] = "good",
                                        [YPI_JUDGED_BAD] = "bad",
                                        [YPI_JUDGED_SKIPPED] = "skipped"};
    return names[judged];
}

/* -- sentences ----------------------------------------------------------------------------- */

static void put_quantity(struct ypi_text *out, const struct ypi_followed *f)
{
    ypi_text_add(out, "%s", ypi_quantity_name(f->quantity));
    if (f->name != NULL)
        ypi_text_add(out, " of %s", f->name);
}

/* That an exact figure is preferred to a time that is worse too. */
static void put_exact(struct ypi_text *out, const struct ypi_bisection *b)
{
    ypi_text_add(out, ", which repeats exactly");
    const struct ypi_follow_wish time = {.faster = b->followed.faster,
                                         .quantity = YPI_QUANTITY_TIME};
    const struct ypi_comparison *c = ypi_followed_choose(&b->first, b->id, &time);
    if (c != NULL)
        ypi_text_add(out, "; the time of %s is %s too: --follow time follows that", c->name,
                     b->followed.faster ? "less" : "more");
}

/* What is followed, and where its middle is. */
static void put_followed(struct ypi_text *out, const struct ypi_bisection *b)
{
    const struct ypi_followed *f = &b->followed;
    put_quantity(out, f);
    if (f->quantity == YPI_QUANTITY_TIME)
        ypi_text_add(out,
                     ", which bad has %.3f times, for certain %s than %.3f times: %s %.3f times is "
                     "bad",
                     f->bad, f->faster ? "less" : "more", f->near, f->faster ? "below" : "above",
                     1 + ypi_followed_threshold(f, 0.5));
    else if (f->quantity == YPI_QUANTITY_PEAK || f->quantity == YPI_QUANTITY_ALLOCATIONS ||
             f->quantity == YPI_QUANTITY_INSTRUCTIONS)
        put_exact(out, b);
}

/* What was found of the followed quantity, or why nothing was. */
static void put_step(struct ypi_text *out, const struct ypi_bisection *b,
                     const struct ypi_bisect_step *s)
{
    const struct ypi_comparison *c = ypi_followed_find(&b->followed, &s->found, b->id);
    if (s->reason != NULL && (c == NULL || isnan(c->ratio))) {
        ypi_text_add(out, "%s", s->reason);
        return;
    }
    if (c != NULL)
        ypi_summary_change(out, c);
    else
        put_quantity(out, &b->followed);
    if (c == NULL)
        ypi_text_add(out, ": the same");
    if (s->reason != NULL && c != NULL && c->note == NULL)
        ypi_text_add(out, "; %s", s->reason);
}

/* Of the times that were compared beside an exact figure, the one from *next on; NULL: no more. */
static const struct ypi_comparison *next_time(const struct ypi_bisection *b,
                                              const struct ypi_bisect_step *s, int *next)
{
    while (b->followed.quantity != YPI_QUANTITY_TIME && *next < s->found.count) {
        const struct ypi_comparison *c = &s->found.list[(*next)++];
        if (c->quantity == YPI_QUANTITY_TIME && strcmp(c->id, b->id) == 0)
            return c;
    }
    return NULL;
}

/* The words of the end: "first bad commit: ...", "one of these 3 commits", ... */
static void put_end(struct ypi_text *out, const struct ypi_bisection *b)
{
    if (!b->follows && !b->whole)
        ypi_text_add(out, "nothing was found");
    else if (!b->follows && ypi_bisection_exit(b) == YPI_GATE_UNSURE)
        ypi_text_add(out, "cannot say whether bad is worse than good");
    else if (!b->follows)
        ypi_text_add(out, "nothing to find: bad is not %s than good",
                     b->faster ? "better" : "worse");
    else if (is_refuted(b))
        ypi_text_add(out,
                     "cannot say: the search ends at %.*s, but beside its parent it is not certain "
                     "that it did any of it",
                     HASH_SHOWN, b->left[0].commit->hash);
    else if (b->left_count == 1)
        ypi_text_add(out, "first bad commit: %s", b->left[0].commit->hash);
    else
        ypi_text_add(out, "the first bad commit is one of these %d", b->left_count);
    if (!b->whole)
        ypi_text_add(out, "; interrupted");
}

/* How much of it all the first bad commit did; NaN where it is not known. */
static struct ypi_followed_part own_part(const struct ypi_bisection *b)
{
    const struct ypi_comparison *c = ypi_followed_find(&b->followed, &b->own.found, b->id);
    bool known = b->has_own && (b->own.reason == NULL || c != NULL);
    return known ? ypi_followed_part(&b->followed, c) : (struct ypi_followed_part){NAN, NAN, NAN};
}

/* False: there is nothing to say of it. */
static bool put_part(struct ypi_text *out, const struct ypi_bisection *b)
{
    struct ypi_followed_part p = own_part(b);
    if (isnan(p.part))
        return false;
    ypi_text_add(out, "%.0f %% of the way from good to bad", 100 * p.part);
    if (p.low < p.high)
        ypi_text_add(out, " [%.0f %%, %.0f %%]", 100 * p.low, 100 * p.high);
    if (b->own.verdict == YPI_JUDGED_GOOD)
        ypi_text_add(out, ": only a part of it, other commits did the rest");
    return true;
}

/* -- text ---------------------------------------------------------------------------------- */

static void put_commit_line(FILE *out, const char *before, const struct ypi_bisect_step *s)
{
    struct ypi_text text = {0};
    ypi_text_add(&text, "%s%.*s  %s  %s", before, HASH_SHOWN, s->commit->hash, s->words.date,
                 s->words.subject);
    ypi_summary_line(out, &text);
}

static void put_own(FILE *out, const struct ypi_bisection *b)
{
    struct ypi_text text = {0};
    const struct ypi_bisect_step *s = &b->own;
    ypi_text_add(&text, "  beside its parent %.*s%s: ", HASH_SHOWN,
                 s->commit->parent != NULL ? s->commit->parent : "",
                 s->commit->merge ? " (it is a merge)" : "");
    put_step(&text, b, s);
    ypi_summary_line(out, &text);
    const struct ypi_comparison *c = NULL;
    for (int next = 0; (c = next_time(b, s, &next)) != NULL;) {
        ypi_text_add(&text, "  ");
        ypi_summary_change(&text, c);
        ypi_summary_line(out, &text);
    }
    ypi_text_add(&text, "  ");
    if (put_part(&text, b))
        ypi_summary_line(out, &text);
    free(ypi_text_take(&text));
}

static void put_text(FILE *out, const struct ypi_bisection *b, bool verbose)
{
    struct ypi_text text = {0};
    ypi_summary_text(out, &b->first, verbose || !b->follows);
    if (b->follows) {
        fputc('\n', out);
        ypi_text_add(&text, "followed: ");
        put_followed(&text, b);
        ypi_summary_line(out, &text);
    }
    for (int i = 0; i < b->step_count; i++) {
        char before[16];
        snprintf(before, sizeof before, "%-8s ", judged_name(b->steps[i].verdict));
        put_commit_line(out, before, &b->steps[i]);
        ypi_text_add(&text, "         ");
        put_step(&text, b, &b->steps[i]);
        ypi_summary_line(out, &text);
    }
    if (b->follows)
        fputc('\n', out);
    put_end(&text, b);
    ypi_summary_line(out, &text);
    for (int i = 0; i < b->left_count && i < LEFT_SHOWN; i++)
        put_commit_line(out, "  ", &b->left[i]);
    if (b->left_count > LEFT_SHOWN)
        fprintf(out, "  and %d more\n", b->left_count - LEFT_SHOWN);
    if (b->has_own)
        put_own(out, b);
    if (b->follows)
        fprintf(out, "%d of %d commit%s tried, compared for %.0f s\n", b->step_count,
                b->commit_count, b->commit_count == 1 ? "" : "s", b->seconds);
}

/* -- Markdown ------------------------------------------------------------------------------ */

static void put_cell(struct ypi_text *out, struct ypi_text *text)
{
    char *cell = ypi_text_take(text);
    ypi_text_add(out, " ");
    ypi_summary_escaped(out, cell);
    ypi_text_add(out, " |");
    free(cell);
}

static void put_row(struct ypi_text *out, const struct ypi_bisection *b,
                    const struct ypi_bisect_step *s, const char *verdict)
{
    struct ypi_text text = {0};
    ypi_text_add(out, "|");
    ypi_text_add(&text, "%s", verdict);
    put_cell(out, &text);
    ypi_text_add(&text, "%.*s", HASH_SHOWN, s->commit->hash);
    put_cell(out, &text);
    ypi_text_add(&text, "%s %s", s->words.date, s->words.subject);
    put_cell(out, &text);
    put_step(&text, b, s);
    const struct ypi_comparison *c = NULL;
    for (int next = 0; (c = next_time(b, s, &next)) != NULL;) {
        ypi_text_add(&text, "; ");
        ypi_summary_change(&text, c);
    }
    put_cell(out, &text);
    ypi_text_add(out, "\n");
}

static void put_left(struct ypi_text *out, const struct ypi_bisection *b)
{
    struct ypi_text text = {0};
    for (int i = 0; i < b->left_count && i < LEFT_SHOWN; i++) {
        ypi_text_add(&text, "%.*s %s %s", HASH_SHOWN, b->left[i].commit->hash,
                     b->left[i].words.date, b->left[i].words.subject);
        char *line = ypi_text_take(&text);
        ypi_text_add(out, "\n- ");
        ypi_summary_escaped(out, line);
        free(line);
    }
    if (b->left_count > LEFT_SHOWN)
        ypi_text_add(out, "\n- and %d more", b->left_count - LEFT_SHOWN);
    if (put_part(&text, b))
        ypi_text_add(out, "\n\n%s", text.data);
    free(ypi_text_take(&text));
}

static void put_markdown(FILE *out, const void *what)
{
    const struct ypi_bisection *b = what;
    struct ypi_text text = {0};
    struct ypi_text end = {0};
    put_end(&end, b);
    ypi_text_add(&text, "**%s**\n", end.data);
    put_left(&text, b);
    if (b->step_count > 0 || b->has_own)
        ypi_text_add(&text, "\n\n| verdict | commit | | beside good |\n|---|---|---|---|\n");
    for (int i = 0; i < b->step_count; i++)
        put_row(&text, b, &b->steps[i], judged_name(b->steps[i].verdict));
    if (b->has_own)
        put_row(&text, b, &b->own, "beside its parent");
    fprintf(out, "%s\n", text.data);
    free(ypi_text_take(&text));
    free(ypi_text_take(&end));
    ypi_summary_markdown(out, &b->first);
}

/* -- JSON ---------------------------------------------------------------------------------- */

static cJSON *document_of_commit(const struct ypi_bisect_step *s)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "commit", s->commit->hash);
    cJSON_AddStringToObject(object, "date", s->words.date != NULL ? s->words.date : "");
    cJSON_AddStringToObject(object, "subject", s->words.subject != NULL ? s->words.subject : "");
    return object;
}

static cJSON *document_of_step(const struct ypi_bisect_step *s)
{
    cJSON *object = document_of_commit(s);
    cJSON_AddStringToObject(object, "verdict", judged_name(s->verdict));
    ypi_json_add_text(object, "reason", s->reason);
    cJSON *found = ypi_summary_document(&s->found);
    cJSON_AddItemToObject(object, "comparisons", cJSON_DetachItemFromObject(found, "comparisons"));
    cJSON_Delete(found);
    return object;
}

static void add_followed(cJSON *document, const struct ypi_bisection *b)
{
    const struct ypi_followed *f = &b->followed;
    if (!b->follows) {
        cJSON_AddNullToObject(document, "followed");
        return;
    }
    cJSON *object = cJSON_AddObjectToObject(document, "followed");
    cJSON_AddStringToObject(object, "quantity", ypi_quantity_name(f->quantity));
    ypi_json_add_text(object, "name", f->name);
    ypi_json_add_real(object, "good", f->good);
    ypi_json_add_real(object, "bad", f->bad);
}

static void add_own(cJSON *document, const struct ypi_bisection *b)
{
    if (!b->has_own) {
        cJSON_AddNullToObject(document, "beside_parent");
        return;
    }
    cJSON *own = document_of_step(&b->own);
    ypi_json_add_text(own, "parent", b->own.commit->parent);
    struct ypi_followed_part part = own_part(b);
    ypi_json_add_real(own, "part", part.part);
    ypi_json_add_real(own, "part_low", part.low);
    ypi_json_add_real(own, "part_high", part.high);
    cJSON_AddItemToObject(document, "beside_parent", own);
}

static void put_json(FILE *out, const void *what)
{
    const struct ypi_bisection *b = what;
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "case", b->id);
    cJSON_AddNumberToObject(document, "exit_code", ypi_bisection_exit(b));
    cJSON_AddItemToObject(document, "first", ypi_summary_document(&b->first));
    add_followed(document, b);
    cJSON_AddNumberToObject(document, "commits", b->commit_count);
    cJSON *steps = cJSON_AddArrayToObject(document, "steps");
    for (int i = 0; i < b->step_count; i++)
        cJSON_AddItemToArray(steps, document_of_step(&b->steps[i]));
    cJSON *left = cJSON_AddArrayToObject(document, "left");
    for (int i = 0; i < b->left_count; i++)
        cJSON_AddItemToArray(left, document_of_commit(&b->left[i]));
    add_own(document, b);
    cJSON_AddNumberToObject(document, "seconds", b->seconds);
    cJSON_AddBoolToObject(document, "whole", b->whole);
    ypi_report_json(out, document);
}

/* -- the whole ----------------------------------------------------------------------------- */

int ypi_bisection_put(const struct ypi_report *report, const struct ypi_bisection *b)
{
    if (!ypi_report_is_stdout(report))
        put_text(stdout, b, report->verbose);
    bool right = ypi_report_file(report->json, put_json, b);
    right = ypi_report_file(report->markdown, put_markdown, b) && right;
    return ypi_flush() == YPI_COMMAND_OK && right ? ypi_bisection_exit(b) : YPI_GATE_INTERNAL;
}

void ypi_bisect_step_clear(struct ypi_bisect_step *s)
{
    ypi_commit_words_clear(&s->words);
    ypi_comparisons_clear(&s->found);
    free(s->reason);
}

void ypi_bisection_clear(struct ypi_bisection *b)
{
    for (int i = 0; i < b->step_count; i++)
        ypi_bisect_step_clear(&b->steps[i]);
    for (int i = 0; i < b->left_count; i++)
        ypi_bisect_step_clear(&b->left[i]);
    ypi_bisect_step_clear(&b->own);
    free(b->steps);
    free(b->left);
    ypi_comparisons_clear(&b->first);
    free(b->id);
    *b = (struct ypi_bisection){0};
}
