/* yieldpoint bisect: which commit made a case worse. */
#include "base/options/arguments.h"
#include "base/system/interrupt.h"
#include "base/text/text.h"
#include "gate/bisect/bisection.h"
#include "gate/engine.h"
#include "gate/gate.h"
#include "gate/options.h"
#include "gate/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the way from good to bad: what is beyond the middle is bad. */
#define MIDDLE 0.5
/* Good and bad are compared until bad is so far from good for certain, as a part of the way that it
 * seems to be: the middle is then well between both, and not only between two estimates. */
#define SHARP (2.0 / 3)
/* Of the time: what good and bad beside each other may take, as nothing follows without. */
#define ENDS_SHARE (1.0 / 3)
/* What the times of the commit that an exact figure has found may take, beside its parent: a third
 * of what is left, and that at most. They decide nothing. */
#define ASIDE_SECONDS 30.0
enum { ASIDE_LOOKS = 3 };
/* A comparison in less would not come to its first pair. */
#define LEAST_SECONDS 1.0
/* Of a set of commits: more are known by their hashes alone. */
enum { DESCRIBED_MOST = 20 };

/* Texts are those of the command line. */
struct request {
    const char *id; /* of the case */
    const char *good, *bad;
    double threshold, error, budget; /* as of the gate; of all steps together */
    const char *options;             /* words for the suites; NULL: none */
    const char *tests;               /* test sources for all; NULL: as yieldpoint.ini says */
    bool first_parent;
    struct ypi_follow_wish wish;
    struct ypi_report report;
};

struct bisect {
    const struct request *r;
    const volatile bool *stop;
    struct ypi_recipe recipe;
    struct ypi_revision good, bad;
    struct ypi_commits commits;
    bool code_tells;       /* what is the same code is as good or as bad */
    double error, seconds; /* what is left of both for the comparisons to come */
    struct ypi_bisection out;
};

/* -- one comparison ------------------------------------------------------------------------ */

static void describe(struct ypi_side *side, const struct ypi_revision *r)
{
    *side = (struct ypi_side){.name = ypi_strdup(r->name),
                              .commit = ypi_strdup(r->commit),
                              .dirty = r->worktree,
                              .machine = ypi_strdup("")};
}

/* What a comparison is of. */
struct meeting {
    const struct ypi_revision *base, *head;
    const char *id;
    enum ypi_engine_scope scope;
    struct ypi_duel_rule rule; /* of times; the error is given by `looks` */
    int looks;                 /* comparisons that share what is left, with this one */
    double most;               /* seconds that it may take; 0: what is left for it */
};

static bool counts_instructions(const struct bisect *b)
{
    return b->out.follows ? b->out.followed.quantity == YPI_QUANTITY_INSTRUCTIONS
                          : !b->r->wish.any && b->r->wish.quantity == YPI_QUANTITY_INSTRUCTIONS;
}

/* How many cases of that id both have goes to *count: they are compared if it is one. */
static enum yp_status compare(struct bisect *b, const struct meeting *m,
                              struct ypi_comparisons *found, int *count)
{
    struct ypi_duel_rule rule = m->rule;
    rule.error = ypi_search_spend(&b->error, m->looks);
    const double left = b->seconds * (b->out.follows ? 1.0 / m->looks : ENDS_SHARE);
    const struct ypi_engine_task task = {
        .base = m->base,
        .head = m->head,
        .cases = {.ids = &m->id, .id_count = 1},
        .scope = m->scope,
        .measurement = m->scope == YPI_ENGINE_TIME ? b->out.followed.name : NULL,
        .options = b->r->options,
        .rule = rule,
        .instructions = counts_instructions(b),
        .budget = m->most > 0 && m->most < left ? m->most : left,
        .stop = b->stop};
    describe(&found->base, m->base);
    describe(&found->head, m->head);
    found->threshold = task.rule.threshold;
    found->error = task.rule.error;
    *count = 0;
    struct ypi_engine *e = ypi_engine_open(&task, found);
    enum yp_status status = e != NULL ? ypi_engine_list(e) : yp_last_status();
    int commands = 0;
    if (status == YP_OK)
        *count = ypi_engine_case_count(e);
    if (*count == 1 && !b->out.follows && !ypi_revision_same_build(m->base, m->head)) {
        status = ypi_engine_commands(e, &commands);
        b->code_tells = commands == 0;
    }
    if (status != YP_OK)
        *count = 0;
    if (*count == 1) {
        if (b->out.id == NULL)
            b->out.id = ypi_strdup(ypi_engine_case(e, 0));
        status = ypi_engine_run(e);
        if (status == YP_OK && !found->whole)
            status = yp_set_error(YP_UNSUPPORTED, "interrupted");
        b->seconds -= found->seconds;
        b->out.seconds += found->seconds;
    }
    ypi_engine_close(e);
    return status;
}

/* From which ratio of times on one is worse, or where that is looked for, better; less 1. */
static double noticed(const struct request *r)
{
    return r->wish.faster ? -r->threshold / (1 + r->threshold) : r->threshold;
}

/* -- good beside bad ----------------------------------------------------------------------- */

/* Exit code of an id that is not one case of both. */
static int print_missing(const struct bisect *b, int count)
{
    const struct ypi_comparisons *found = &b->out.first;
    const char *where = found->count == 0                             ? ""
                        : found->list[0].verdict == YPI_COMPARED_GONE ? " in bad, but in good"
                                                                      : " in good, but in bad";
    if (count == 0)
        fprintf(stderr, "yieldpoint: %s: there is no such case%s\n", b->r->id, where);
    else
        fprintf(stderr, "yieldpoint: %s: %d cases are called so, and one is wanted\n", b->r->id,
                count);
    return count == 0 ? YPI_GATE_UNSELECTED : YPI_GATE_USAGE;
}

/* YPI_GATE_FINE where b->out says whether something is worse. */
static int compare_ends(struct bisect *b)
{
    const struct ypi_follow_wish *wish = &b->r->wish;
    /* An exact figure that is wished for needs no times. */
    bool exact = !wish->any && wish->quantity != YPI_QUANTITY_TIME;
    const struct meeting m = {.base = &b->good,
                              .head = &b->bad,
                              .id = b->r->id,
                              .scope = exact ? YPI_ENGINE_EXACT : YPI_ENGINE_ALL,
                              .rule = {.threshold = noticed(b->r), .sharp = SHARP},
                              .looks = ypi_search_steps(b->commits.count) + 2};
    int count = 0;
    enum yp_status status = compare(b, &m, &b->out.first, &count);
    if (status == YP_OK && count != 1)
        return print_missing(b, count);
    if (status != YP_OK && (status != YP_UNSUPPORTED || b->out.id == NULL))
        return ypi_gate_error(status, b->stop);
    const struct ypi_comparison *worst = ypi_followed_choose(&b->out.first, b->out.id, wish);
    b->out.follows = worst != NULL;
    b->out.whole = status == YP_OK;
    if (worst != NULL)
        b->out.followed = ypi_followed_of(worst, wish);
    return YPI_GATE_FINE;
}

/* -- a commit beside good ------------------------------------------------------------------ */

static struct ypi_bisect_step step_of(const struct bisect *b, int commit)
{
    const struct ypi_commit *c = &b->commits.list[commit];
    return (struct ypi_bisect_step){.commit = c,
                                    .words = ypi_commit_words_of(b->recipe.root, c->hash)};
}

/* Named by its subject, for the line that tells of its build. */
static enum yp_status build(const struct bisect *b, const char *hash, struct ypi_revision *out)
{
    struct ypi_commit_words words = ypi_commit_words_of(b->recipe.root, hash);
    *out = (struct ypi_revision){.name = ypi_strdup(words.subject)};
    snprintf(out->commit, sizeof out->commit, "%s", hash);
    ypi_commit_words_clear(&words);
    return ypi_revision_build(&b->recipe, out, stderr, b->stop);
}

/* Why a commit, or its parent, is not compared: its log is printed with -v or more. */
static char *why_not(const struct bisect *b, const char *what)
{
    if (b->r->report.verbose)
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    return ypi_strdup(what);
}

static double beyond(const struct bisect *b, double part)
{
    return ypi_followed_threshold(&b->out.followed, part);
}

/* Whether `code` was judged: the verdict, YPI_JUDGED_UNKNOWN where it was not, and of which commit
 * it is. */
static enum ypi_judged twin_of(const struct bisect *b, const char *code, const char **hash)
{
    if (!b->code_tells || *code == '\0')
        return YPI_JUDGED_UNKNOWN;
    *hash = b->good.commit;
    if (strcmp(code, b->good.code) == 0)
        return YPI_JUDGED_GOOD;
    *hash = b->bad.commit;
    if (strcmp(code, b->bad.code) == 0)
        return YPI_JUDGED_BAD;
    for (int i = 0; i < b->out.step_count; i++) {
        const struct ypi_bisect_step *s = &b->out.steps[i];
        *hash = s->commit->hash;
        if ((s->verdict == YPI_JUDGED_GOOD || s->verdict == YPI_JUDGED_BAD) &&
            strcmp(code, s->code) == 0)
            return s->verdict;
    }
    return YPI_JUDGED_UNKNOWN;
}

/* Takes the verdict of one that is the same code, where there is one. */
static bool take_twin(const struct bisect *b, struct ypi_bisect_step *step, const char *code)
{
    const char *hash = NULL;
    snprintf(step->code, sizeof step->code, "%s", code);
    step->verdict = twin_of(b, step->code, &hash);
    if (step->verdict != YPI_JUDGED_UNKNOWN)
        step->reason = ypi_format("not run: the same code as %.10s, which is %s", hash,
                                  step->verdict == YPI_JUDGED_GOOD ? "good" : "bad");
    return step->verdict != YPI_JUDGED_UNKNOWN;
}

/* Compares it with another one and leaves in the step what was found, or the reason why nothing
 * was. An exact figure tells good from bad without times; of the commit that it has found, beside
 * its parent, the times are compared too. YP_UNSUPPORTED: interrupted. */
static enum yp_status meet(struct bisect *b, const struct ypi_revision *base,
                           struct ypi_bisect_step *step, double part, double also, int looks)
{
    struct ypi_revision head;
    int count = 0;
    const bool own = base != &b->good;
    enum yp_status status = build(b, step->commit->hash, &head);
    if (status != YP_OK) {
        step->reason = why_not(b, status == YP_INVALID ? "it has no suite" : "it does not build");
    } else if (own || !take_twin(b, step, head.code)) {
        bool time = b->out.followed.quantity == YPI_QUANTITY_TIME;
        const struct meeting m = {.base = base,
                                  .head = &head,
                                  .id = b->out.id,
                                  .scope = time  ? YPI_ENGINE_TIME
                                           : own ? YPI_ENGINE_ALL
                                                 : YPI_ENGINE_EXACT,
                                  .rule = {.threshold = time ? beyond(b, part) : noticed(b->r),
                                           .also = time && also > 0 ? beyond(b, also) : 0},
                                  .looks = own && !time ? ASIDE_LOOKS : looks,
                                  .most = own && !time ? ASIDE_SECONDS : 0};
        status = compare(b, &m, &step->found, &count);
        if (status != YP_OK)
            step->reason = why_not(b, "its suite cannot be run");
        else if (count == 0)
            step->reason = ypi_strdup("it does not have the case");
    }
    ypi_revision_clear(&head);
    return *b->stop ? YP_UNSUPPORTED : YP_OK;
}

/* YP_UNSUPPORTED: interrupted, and no step was made. */
static enum yp_status try_commit(struct bisect *b, int commit)
{
    struct ypi_search *search = &b->commits.search;
    int left = ypi_search_left(search, NULL);
    int steps = ypi_search_steps(left);
    struct ypi_bisect_step step = step_of(b, commit);
    fprintf(stderr, "%d commits left, some %d step%s: %.10s %s\n", left, steps,
            steps == 1 ? "" : "s", step.commit->hash, step.words.subject);
    enum yp_status status = meet(b, &b->good, &step, MIDDLE, 0, steps + 1);
    if (step.verdict == YPI_JUDGED_UNKNOWN)
        step.verdict = step.reason != NULL ? YPI_JUDGED_SKIPPED
                                           : ypi_followed_judge(&b->out.followed, &step.found,
                                                                b->out.id, &step.reason);
    if (status != YP_OK) {
        ypi_bisect_step_clear(&step);
        return status;
    }
    ypi_search_judge(search, commit, step.verdict);
    struct ypi_bisection *out = &b->out;
    out->steps = ypi_realloc(out->steps, (size_t)out->step_count + 1, sizeof *out->steps);
    out->steps[out->step_count++] = step;
    return YP_OK;
}

/* -- the first bad one --------------------------------------------------------------------- */

static void judge_own(const struct bisect *b, struct ypi_bisect_step *own)
{
    const struct ypi_followed *f = &b->out.followed;
    char *reason = NULL;
    const struct ypi_comparison *c = ypi_followed_find(f, &own->found, b->out.id);
    bool said = ypi_followed_judge(f, &own->found, b->out.id, &reason) != YPI_JUDGED_SKIPPED ||
                (c != NULL && c->low > 0); /* an interval tells of a time that is not decided */
    own->verdict = said ? ypi_followed_judge_own(f, c) : YPI_JUDGED_UNKNOWN;
    if (said)
        free(reason);
    else
        own->reason = reason;
    if (own->reason == NULL && own->verdict == YPI_JUDGED_SKIPPED)
        own->reason = ypi_strdup("that is no step for certain");
}

/* How much it did itself. The parent is good, but need not have been tried: it may be that a commit
 * behind which it lies is. */
static enum yp_status compare_own(struct bisect *b, int commit)
{
    struct ypi_revision parent;
    struct ypi_bisect_step *own = &b->out.own;
    *own = step_of(b, commit);
    enum yp_status status = YP_OK;
    parent = (struct ypi_revision){0};
    if (own->commit->parent == NULL)
        own->reason = ypi_strdup("it has no parent");
    else
        status = build(b, own->commit->parent, &parent);
    if (own->reason != NULL)
        own->verdict = YPI_JUDGED_UNKNOWN;
    else if (status != YP_OK)
        own->reason = why_not(b, "its parent cannot be built");
    else if (b->seconds < LEAST_SECONDS)
        own->reason = ypi_strdup("the time is over");
    else
        (void)meet(b, &parent, own, YPI_FOLLOWED_MOST, YPI_FOLLOWED_STEP, 1);
    ypi_revision_clear(&parent);
    if (*b->stop)
        return YP_UNSUPPORTED;
    if (own->reason == NULL)
        judge_own(b, own);
    b->out.has_own = true;
    return YP_OK;
}

static void list_left(struct bisect *b)
{
    struct ypi_bisection *out = &b->out;
    bool *which = ypi_calloc((size_t)b->commits.count, sizeof *which);
    int count = ypi_search_left(&b->commits.search, which);
    out->left = ypi_calloc((size_t)count, sizeof *out->left);
    for (int i = 0; i < b->commits.count; i++)
        if (which[i] && out->left_count < DESCRIBED_MOST)
            out->left[out->left_count++] = step_of(b, i);
        else if (which[i])
            out->left[out->left_count++] = (struct ypi_bisect_step){.commit = &b->commits.list[i]};
    free(which);
}

/* -- the whole ----------------------------------------------------------------------------- */

static enum yp_status prepare(struct bisect *b)
{
    struct ypi_revision *const sides[] = {&b->good, &b->bad};
    const char *const names[] = {b->r->good, b->r->bad};
    enum yp_status status = YP_OK;
    for (int i = 0; i < 2 && status == YP_OK; i++)
        status = ypi_revision_find(&b->recipe, names[i], sides[i]);
    if (status == YP_OK)
        status = ypi_commits_read(b->recipe.root, b->good.commit, b->bad.commit, b->r->first_parent,
                                  &b->commits);
    /* What was built stays until the end, so that the same command again builds nothing. */
    int builds = ypi_search_steps(b->commits.count) + 4;
    if (b->recipe.keep < builds)
        b->recipe.keep = builds;
    for (int i = 0; i < 2 && status == YP_OK; i++)
        status = ypi_revision_build(&b->recipe, sides[i], stderr, b->stop);
    return status;
}

static enum yp_status search(struct bisect *b)
{
    const struct ypi_search *s = &b->commits.search;
    enum yp_status status = YP_OK;
    for (int next = 0;
         status == YP_OK && b->seconds >= LEAST_SECONDS && (next = ypi_search_next(s)) >= 0;)
        status = try_commit(b, next);
    if (status == YP_OK && ypi_search_left(s, NULL) == 1)
        status = compare_own(b, s->bad);
    return status;
}

static int run(struct bisect *b)
{
    enum yp_status status = prepare(b);
    if (status != YP_OK)
        return ypi_gate_error(status, b->stop);
    b->error = b->r->error;
    b->seconds = b->r->budget;
    b->out.commit_count = b->commits.count;
    b->out.faster = b->r->wish.faster;
    int code = compare_ends(b);
    if (code != YPI_GATE_FINE)
        return code;
    if (b->out.follows && b->out.whole)
        b->out.whole = search(b) == YP_OK;
    if (b->out.follows)
        list_left(b);
    return ypi_bisection_put(&b->r->report, &b->out);
}

#define OWN(read_, member) YPI_OPTION_OF(read_, struct request, member)
#define AT(kind_, member) YPI_OPTION_AT(kind_, struct request, member)

static char *read_wish(void *values, const struct ypi_option *option, const char *text)
{
    (void)option;
    return ypi_follow_wish_read(&((struct request *)values)->wish, text);
}

/* False after telling stderr what is wrong, where, and what is allowed. */
static bool read_request(struct request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {"good", AT(WORD, good)},
        {"bad", AT(WORD, bad)},
        {"threshold", OWN(ypi_read_threshold, threshold)},
        {"error", OWN(ypi_read_error, error)},
        {"budget", OWN(ypi_read_budget, budget)},
        {"options", AT(WORD, options)},
        {"tests", AT(WORD, tests)},
        {"first-parent", AT(FLAG, first_parent)},
        {"follow", OWN(read_wish, wish)},
        {"faster", AT(FLAG, wish.faster)},
        YPI_OPTIONS_OUT(struct request, report),
        YPI_OPTION_VERBOSE(struct request, report),
        YPI_OPTIONS_END,
    };
    *r = (struct request){
        .threshold = YPI_THRESHOLD, .error = YPI_ERROR, .budget = INFINITY, .wish = {.any = true}};
    if (!ypi_arguments_read(
            &(struct ypi_arguments){.options = options, .values = r, .word = &r->id}, argc, argv))
        return false;
    const char *missing = r->id == NULL ? "which case? its id is wanted, as a suite's --co tells it"
                          : r->good == NULL
                              ? "--good: a revision is wanted that has not got worse yet"
                          : r->bad == NULL ? "--bad: a revision is wanted that has got worse"
                                           : NULL;
    if (missing != NULL)
        ypi_usage_error(argc, argv, argc, "%s", missing);
    return missing == NULL;
}

int ypi_bisect_command(int argc, char **argv)
{
    struct request r;
    bool right = read_request(&r, argc, argv);
    struct bisect b = {.r = &r, .stop = ypi_interrupt_watch()};
    enum yp_status status = right ? ypi_recipe_read(&b.recipe, r.tests) : YP_INVALID;
    int code = status == YP_OK ? run(&b) : status == YP_IO ? YPI_GATE_INTERNAL : YPI_GATE_USAGE;
    ypi_bisection_clear(&b.out);
    ypi_commits_clear(&b.commits);
    ypi_revision_clear(&b.good);
    ypi_revision_clear(&b.bad);
    ypi_recipe_clear(&b.recipe);
    ypi_follow_wish_clear(&r.wish);
    return code;
}
