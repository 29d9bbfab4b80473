#include "harness/driver/rounds.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/driver/finish.h"
#include "harness/judge/relation.h"

#include <stdlib.h>

/* One finding of a relation, a pair or a series, that its budgets do not clearly let pass. Each is
 * confirmed by itself: of many that are disturbed now and then, some one is in every round. */
struct question {
    struct ypi_relation_finding finding;
    struct ypi_result *results; /* owned: the first, then one a round */
    int count;
    bool asked; /* in the round that goes on */
    bool lost;  /* a round did not come to its end */
};

struct relation {
    struct ypi_item *item;
    struct ypi_result first; /* without any round */
    struct question *questions;
    int question_count;
};

struct ypi_rounds {
    struct relation *relations;
    int count;
    const struct yp_case **cases; /* of the plan's items */
    const struct ypi_result **results;
};

/* -- what is found ------------------------------------------------------------------------ */

/* The finding of this number, 0: the worst. */
static struct ypi_result work_out(const struct ypi_runner *run, const struct ypi_item *item,
                                  int number, struct ypi_relation_findings *findings)
{
    struct ypi_relation_input input = {.cases = run->rounds->cases,
                                       .results = run->rounds->results,
                                       .count = run->plan->count,
                                       .report = number};
    struct ypi_result r = {
        .c = &item->c, .started = ypi_wall_clock(), .ended = true, .tail = ypi_strdup("")};
    r.skipped = !ypi_relation_evaluate(&input, &r, findings);
    ypi_judge_budgets(&r, &run->how);
    return r;
}

static bool in_question(const struct ypi_runner *run, const struct ypi_result *r)
{
    return ypi_needs_confirmation(r, &run->how, NULL, 0);
}

static void ask(struct relation *relation, const struct ypi_result *first,
                struct ypi_relation_finding *finding)
{
    relation->questions = ypi_realloc(relation->questions, (size_t)relation->question_count + 1,
                                      sizeof *relation->questions);
    struct question *q = &relation->questions[relation->question_count++];
    *q = (struct question){.finding = *finding, .count = 1};
    q->results = ypi_calloc(1, sizeof *q->results);
    q->results[0] = *first;
    *finding = (struct ypi_relation_finding){0};
}

static void begin(struct ypi_runner *run, struct relation *relation)
{
    struct ypi_relation_findings findings = {0};
    relation->first = work_out(run, relation->item, 0, &findings);
    bool any = in_question(run, &relation->first);
    for (int i = 0; i < findings.count && any; i++) {
        /* The worst one first: among equals in the end it is reported. */
        int number = i == 0 ? findings.worst : i < findings.worst ? i : i + 1;
        struct ypi_result r = work_out(run, relation->item, number, NULL);
        if (in_question(run, &r))
            ask(relation, &r, &findings.of[number - 1]);
        else
            ypi_result_clear(&r);
    }
    ypi_relation_findings_clear(&findings);
}

struct ypi_rounds *ypi_rounds_begin(struct ypi_runner *run)
{
    int count = run->plan->count;
    struct ypi_rounds *rounds = ypi_calloc(1, sizeof *rounds);
    run->rounds = rounds;
    rounds->cases = ypi_calloc((size_t)count, sizeof(*rounds->cases));
    rounds->results = ypi_calloc((size_t)count, sizeof(*rounds->results));
    rounds->relations = ypi_calloc((size_t)count, sizeof *rounds->relations);
    for (int i = 0; i < count; i++) {
        struct ypi_item *item = &run->plan->items[i];
        rounds->cases[i] = &item->c;
        rounds->results[i] = item->result_count > 0 ? item->results : NULL;
    }
    for (int i = 0; i < count; i++) {
        struct ypi_item *item = &run->plan->items[i];
        if (item->state != YPI_WAITING || !ypi_is_relation(&item->c))
            continue;
        struct relation *relation = &rounds->relations[rounds->count++];
        relation->item = item;
        begin(run, relation);
    }
    return rounds;
}

static void clear_question(struct question *q)
{
    for (int i = 0; i < q->count; i++)
        ypi_result_clear(&q->results[i]);
    free(q->results);
    free(q->finding.cases);
}

void ypi_rounds_free(struct ypi_rounds *rounds)
{
    for (int i = 0; rounds != NULL && i < rounds->count; i++) {
        for (int k = 0; k < rounds->relations[i].question_count; k++)
            clear_question(&rounds->relations[i].questions[k]);
        free(rounds->relations[i].questions);
        ypi_result_clear(&rounds->relations[i].first);
    }
    if (rounds != NULL) {
        free(rounds->relations);
        free(rounds->cases);
        free(rounds->results);
    }
    free(rounds);
}

/* -- rounds ------------------------------------------------------------------------------- */

static bool wants_round(const struct ypi_runner *run, const struct question *q)
{
    return !q->lost &&
           ypi_needs_confirmation(&q->results[0], &run->how, q->results + 1, q->count - 1);
}

static bool ask_about(struct ypi_runner *run, struct question *q)
{
    q->asked = wants_round(run, q);
    for (int i = 0; i < q->finding.count && q->asked; i++) {
        struct ypi_item *item = &run->plan->items[q->finding.cases[i]];
        if (item->in_round)
            continue;
        item->in_round = true;
        item->attempt++;
        item->state = YPI_WAITING;
    }
    return q->asked;
}

bool ypi_rounds_next(struct ypi_runner *run)
{
    bool any = false;
    for (int i = 0; i < run->rounds->count; i++)
        for (int k = 0; k < run->rounds->relations[i].question_count; k++)
            any = ask_about(run, &run->rounds->relations[i].questions[k]) || any;
    return any;
}

static bool only_budgets(const struct ypi_result *r)
{
    for (int i = 0; i < r->failure_count; i++)
        if (r->failures[i].cause != YPI_CAUSE_BUDGET)
            return false;
    return r->failure_count > 0;
}

void ypi_rounds_finish(struct ypi_runner *run, struct ypi_item *item, struct ypi_result *r)
{
    ypi_judge(r, &run->how);
    ypi_finish_store(run, r);
    /* What it says of the case's own budgets is not what it was asked. */
    if (r->outcome == YPI_FAILED && only_budgets(r))
        r->outcome = YPI_NOISY;
    ypi_result_drop_samples(r);
    item->fresh = ypi_calloc(1, sizeof *item->fresh);
    *item->fresh = *r;
    item->state = YPI_FINISHED;
}

static bool all_ended(const struct ypi_runner *run, const struct question *q)
{
    for (int i = 0; i < q->finding.count; i++)
        if (run->plan->items[q->finding.cases[i]].fresh == NULL)
            return false;
    return true;
}

/* A case without a result leaves the round without one; that it failed is not lost. */
static bool lacks_case(struct ypi_result *r, const struct ypi_result *fresh)
{
    if (fresh->outcome == YPI_SKIPPED) {
        r->skipped = true;
        free(r->reason);
        r->reason = ypi_format("'%s' skipped: %s", fresh->c->id,
                               fresh->reason != NULL ? fresh->reason : "");
    }
    for (int i = 0; i < fresh->failure_count && ypi_is_failure(fresh->outcome); i++)
        ypi_result_fail(r, fresh->failures[i].cause, fresh->failures[i].file,
                        fresh->failures[i].line, "'%s': %s", fresh->c->id,
                        fresh->failures[i].message);
    return fresh->outcome == YPI_SKIPPED || ypi_is_failure(fresh->outcome);
}

static struct ypi_result answer(struct ypi_runner *run, const struct ypi_item *item,
                                const struct question *q)
{
    struct ypi_result lacking = {.c = &item->c, .ended = true, .tail = ypi_strdup("")};
    const struct ypi_item *items = run->plan->items;
    bool whole = true;
    for (int i = 0; i < q->finding.count; i++)
        whole = !lacks_case(&lacking, items[q->finding.cases[i]].fresh) && whole;
    if (!whole) {
        ypi_judge_budgets(&lacking, &run->how);
        return lacking;
    }
    ypi_result_clear(&lacking);
    for (int i = 0; i < q->finding.count; i++)
        run->rounds->results[q->finding.cases[i]] = items[q->finding.cases[i]].fresh;
    struct ypi_result r = work_out(run, item, q->finding.number, NULL);
    for (int i = 0; i < q->finding.count; i++)
        run->rounds->results[q->finding.cases[i]] = items[q->finding.cases[i]].results;
    return r;
}

static void take(struct ypi_runner *run, const struct ypi_item *item, struct question *q)
{
    q->lost = !all_ended(run, q);
    if (q->lost)
        return;
    struct ypi_result r = answer(run, item, q);
    r.attempt = q->count;
    q->results = ypi_realloc(q->results, (size_t)q->count + 1, sizeof *q->results);
    q->results[q->count++] = r;
}

void ypi_rounds_take(struct ypi_runner *run)
{
    for (int i = 0; i < run->rounds->count; i++)
        for (int k = 0; k < run->rounds->relations[i].question_count; k++)
            if (run->rounds->relations[i].questions[k].asked)
                take(run, run->rounds->relations[i].item, &run->rounds->relations[i].questions[k]);
    for (int i = 0; i < run->plan->count; i++) {
        struct ypi_item *item = &run->plan->items[i];
        if (!item->in_round)
            continue;
        item->in_round = false;
        item->state = YPI_FINISHED;
        if (item->fresh != NULL)
            ypi_result_clear(item->fresh);
        free(item->fresh);
        item->fresh = NULL;
    }
}

/* -- the last word ------------------------------------------------------------------------ */

/* How bad it is: a failure beside the budgets, not met, undecided, met. */
static int level(const struct ypi_result *r)
{
    enum { MET, UNDECIDED, NOT_MET, BROKEN };
    int worst = MET;
    for (int i = 0; i < r->failure_count; i++)
        if (r->failures[i].cause != YPI_CAUSE_BUDGET && r->failures[i].cause != YPI_CAUSE_XPASS)
            worst = BROKEN;
    for (int i = 0; i < r->verdict_count && worst < NOT_MET; i++)
        if (r->verdicts[i].met == YPI_NOT_MET)
            worst = NOT_MET;
        else if (r->verdicts[i].met == YPI_UNDECIDED)
            worst = UNDECIDED;
    return worst;
}

static struct ypi_result *worst_of(struct ypi_runner *run, struct relation *relation)
{
    struct ypi_result *worst = NULL;
    for (int i = 0; i < relation->question_count; i++) {
        struct question *q = &relation->questions[i];
        ypi_conclude(&q->results[0], &run->how, q->results + 1, q->count - 1);
        if (worst == NULL || level(&q->results[0]) > level(worst))
            worst = &q->results[0];
    }
    return worst;
}

static void conclude(struct ypi_runner *run, struct relation *relation)
{
    struct ypi_result *r = worst_of(run, relation);
    if (r == NULL) {
        r = &relation->first;
        ypi_conclude(r, &run->how, NULL, 0);
    }
    ypi_finish_close(run, relation->item, r);
}

void ypi_rounds_conclude(struct ypi_runner *run)
{
    for (int i = 0; run->rounds != NULL && i < run->rounds->count && !run->stopped; i++)
        if (run->rounds->relations[i].item->state == YPI_WAITING)
            conclude(run, &run->rounds->relations[i]);
}
