#include "gate/pair/pair.h"

#include "base/numbers/stats.h"
#include "base/system/clock.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "gate/pair/link.h"
#include "gate/pair/processor.h"
#include "harness/history/history.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long against what changes hands, short against what disturbs a machine. */
#define TURN_SECONDS 2e-3
/* A pair is measured for as long as it took to start, and at least so long: what scatters after
 * that belongs to the process, and only another one averages it. */
#define LEAST_SECONDS 0.03
enum { ROUNDS_LEAST = 2, ROUNDS_FEW = 6, ROUNDS_MOST = 64 };
/* Without a word: a case that hangs. One turn may be a single iteration, however long. */
#define PATIENCE 600.0

struct side {
    const struct ypi_contestant *who;
    const char *name; /* "base" or "head" */
    pid_t pid;
    struct ypi_link link;
    enum ypi_link_word word; /* its last */
    bool waits;              /* for the next word to it */
};

/* -- a process ----------------------------------------------------------------------------- */

/* The gate that asks for pairs holds the suite's own lock, and its own options must not decide
 * where results go. */
static pid_t start(const struct ypi_pairing *p, struct side *s, const char *const *more)
{
    char *history = ypi_format("%s/%s.db", p->work, s->name);
    char *log = ypi_format("%s/%s.log", p->work, s->name);
    char *lock = ypi_format("YIELDPOINT_LOCK=%s/%s.lock", p->work, s->name);
    const char *own[] = {s->who->program, "--history", history, "--quiet", "--confirm=0"};
    const char *which[] = {"--", p->id, NULL}; /* an id may begin like an option */
    const char *variables[] = {lock, NULL};
    const char **words = NULL;
    size_t count = 0;
    unlink(log);
    const char *const *const parts[] = {more, s->who->options, which};
    enum { PARTS = sizeof parts / sizeof *parts };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        words = ypi_realloc(words, count + 2, sizeof *words);
        words[count++] = own[i];
    }
    for (size_t i = 0; i < PARTS; i++)
        for (const char *const *w = parts[i]; w != NULL && *w != NULL; w++) {
            words = ypi_realloc(words, count + 2, sizeof *words);
            words[count++] = *w;
        }
    words[count] = NULL;
    s->pid = ypi_program_start(&(struct ypi_program){
        .words = words, .directory = s->who->directory, .variables = variables, .log = log});
    free((void *)words);
    free(lock);
    free(log);
    free(history);
    return s->pid;
}

static void end(struct side *s, bool at_once)
{
    static const volatile bool now = true;
    if (s->pid > 0)
        (void)ypi_program_wait(s->pid, PATIENCE, at_once ? &now : NULL);
    s->pid = 0;
    ypi_link_close(&s->link);
}

static bool begin_turns(const struct ypi_pairing *p, struct side *s)
{
    char *path = ypi_format("%s/%s.sock", p->work, s->name);
    unlink(path);
    /* A case that waits for its turn is not a slow one. */
    const char *more[] = {"--speed=record", "--timeout=1e6", "--turns", path, NULL};
    bool ok = ypi_link_listen(&s->link, path) == YP_OK && start(p, s, more) > 0;
    free(path);
    return ok;
}

/* -- turns --------------------------------------------------------------------------------- */

static void listen_to(const struct ypi_pairing *p, struct side *s)
{
    s->word = ypi_link_read(&s->link, s->pid, PATIENCE, p->stop);
    s->waits = s->word == YPI_LINK_MEASUREMENT || s->word == YPI_LINK_TOOK;
}

static bool is_gone(const struct side *s)
{
    return s->word == YPI_LINK_CLOSED || s->word == YPI_LINK_BROKEN;
}

static void send_word(struct side *s, void (*what)(struct ypi_link *link))
{
    if (s->waits)
        what(&s->link);
    s->waits = false;
}

/* Seconds an iteration, of at least `iterations`; NaN when it gave none. */
static double turn(const struct ypi_pairing *p, struct side *s, double iterations)
{
    ypi_link_run(&s->link, iterations);
    listen_to(p, s);
    return s->word == YPI_LINK_TOOK ? s->link.seconds / s->link.iterations : NAN;
}

struct rounds {
    double times[2][ROUNDS_MOST]; /* seconds an iteration: base, head */
    int count;
    /* Logarithms of head over base, of the two turns of a round and of the second one and the first
     * of the next round: whatever drifts adds to the one what it takes from the other. */
    double within[ROUNDS_MOST], between[ROUNDS_MOST];
};

/* A round is a turn of each, in the same order each time: who had two turns in a row would find its
 * own data in the caches in the second. */
static bool add_round(const struct ypi_pairing *p, struct side sides[2], int first,
                      double iterations, struct rounds *r)
{
    int now = r->count;
    double *mine = r->times[first];
    double *others = r->times[!first];
    double sign = first == 0 ? 1 : -1;
    mine[now] = turn(p, &sides[first], iterations);
    if (!isnan(mine[now]))
        others[now] = turn(p, &sides[!first], iterations);
    if (isnan(mine[now]) || isnan(others[now]))
        return false;
    r->within[now] = sign * log(others[now] / mine[now]);
    if (now > 0)
        r->between[now - 1] = sign * log(others[now - 1] / mine[now]);
    r->count++;
    return true;
}

static double log_ratio_of(const struct rounds *r)
{
    double within = ypi_quantile(r->within, (size_t)r->count, 0.5);
    return r->count < 2 ? within
                        : (within + ypi_quantile(r->between, (size_t)r->count - 1, 0.5)) / 2;
}

static void find_no_time(struct ypi_paired *found)
{
    found->no_time[0] = found->base < YPI_IMPOSSIBLE_SECONDS;
    found->no_time[1] = found->head < YPI_IMPOSSIBLE_SECONDS;
}

static void compete(const struct ypi_pairing *p, struct side sides[2], int first, double began,
                    struct ypi_paired *found)
{
    struct rounds r = {.count = 0};
    double one = turn(p, &sides[first], 1);
    double other = isnan(one) ? NAN : turn(p, &sides[!first], 1);
    if (isnan(other))
        return;
    double iterations = fmax(1, ceil(TURN_SECONDS / fmax(one, other)));
    int few = fmax(one, other) > TURN_SECONDS ? ROUNDS_LEAST : ROUNDS_FEW;
    double now = ypi_now();
    double until = now + fmax(LEAST_SECONDS, now - began);
    while (r.count < ROUNDS_MOST && (r.count < few || ypi_now() < until))
        if (!add_round(p, sides, first, iterations, &r))
            break;
    if (r.count == 0)
        return;
    found->there = true;
    found->base = ypi_quantile(r.times[0], (size_t)r.count, 0.5);
    found->head = ypi_quantile(r.times[1], (size_t)r.count, 0.5);
    find_no_time(found);
    found->log_ratio = log_ratio_of(&r);
    found->rounds = r.count;
}

/* Processors differ by who else is on them, for longer than a pair lasts. */
static void compete_together(const struct ypi_pairing *p, struct side sides[2], int first,
                             double began, struct ypi_paired *found, struct ypi_seed *coin)
{
    int processor = p->one_thread ? ypi_processor_pick(coin) : -1;
    for (int i = 0; i < 2 && processor >= 0; i++)
        ypi_processor_hold(sides[i].link.process, processor);
    compete(p, sides, first, began, found);
    for (int i = 0; i < 2 && processor >= 0; i++)
        ypi_processor_hold(sides[i].link.process, -1);
}

static int index_of(const struct ypi_paired *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    return -1;
}

static bool any_wanted(const struct ypi_paired *list, int count, int from)
{
    for (int i = from; i < count; i++)
        if (list[i].wanted)
            return true;
    return false;
}

/* Both wait at the beginning of a measurement. */
static void meet(const struct ypi_pairing *p, struct side sides[2], int first, double began,
                 struct ypi_seed *coin, struct ypi_paired *list, int count)
{
    int at[2] = {index_of(list, count, sides[0].link.name),
                 index_of(list, count, sides[1].link.name)};
    if (at[0] == at[1]) {
        if (at[0] >= 0 && list[at[0]].wanted)
            compete_together(p, sides, first, began, &list[at[0]], coin);
        bool last = !any_wanted(list, count, at[0] + 1);
        for (int i = 0; i < 2; i++)
            send_word(&sides[i], last ? ypi_link_leave : ypi_link_next);
        return;
    }
    /* The one that is behind goes on, and one at what the other does not have. */
    send_word(&sides[at[0] < at[1] ? 0 : 1], ypi_link_next);
}

/* As long as both come to another measurement. */
static void run_through(const struct ypi_pairing *p, struct side sides[2], int first, double began,
                        struct ypi_seed *coin, struct ypi_paired *list, int count)
{
    for (;;) {
        for (int i = 0; i < 2; i++)
            while (!sides[i].waits && !is_gone(&sides[i]))
                listen_to(p, &sides[i]);
        if (!sides[0].waits || !sides[1].waits)
            break;
        meet(p, sides, first, began, coin, list, count);
    }
    send_word(&sides[0], ypi_link_leave);
    send_word(&sides[1], ypi_link_leave);
}

static enum ypi_pair_end end_of(const struct ypi_pairing *p, const struct side sides[2])
{
    if (p->stop != NULL && *p->stop)
        return YPI_PAIR_STOPPED;
    for (int i = 0; i < 2; i++)
        if (sides[i].word == YPI_LINK_BROKEN) {
            char *why = ypi_strdup(yp_last_error());
            (void)yp_set_error(YP_IO, "%s: %s", sides[i].name, why);
            free(why);
            return YPI_PAIR_FAILED;
        }
    return YPI_PAIR_DONE;
}

static void set_out(const struct ypi_pairing *p, struct side sides[2], struct ypi_paired *list,
                    int count)
{
    const struct ypi_link none = {.listener = -1, .fd = -1};
    sides[0] = (struct side){.who = &p->base, .name = "base", .link = none};
    sides[1] = (struct side){.who = &p->head, .name = "head", .link = none};
    for (int i = 0; i < count; i++)
        list[i].there = list[i].no_time[0] = list[i].no_time[1] = false;
}

static int toss(struct ypi_seed *coin)
{
    return (int)(ypi_seed_next(coin) >> 63);
}

enum ypi_pair_end ypi_pair_in_turns(const struct ypi_pairing *p, struct ypi_seed *coin,
                                    struct ypi_paired *list, int count)
{
    struct side sides[2];
    enum ypi_pair_end how = YPI_PAIR_FAILED;
    int first = toss(coin);
    double began = ypi_now();
    set_out(p, sides, list, count);
    sides[0].word = sides[1].word = YPI_LINK_OVER;
    if (begin_turns(p, &sides[first]) && begin_turns(p, &sides[!first])) {
        run_through(p, sides, first, began, coin, list, count);
        how = end_of(p, sides);
    }
    end(&sides[0], how != YPI_PAIR_DONE);
    end(&sides[1], how != YPI_PAIR_DONE);
    return how;
}

/* -- whole processes ----------------------------------------------------------------------- */

/* What the newest run of a side's history measured. */
static bool read_medians(const struct ypi_pairing *p, const struct side *s, struct ypi_paired *list,
                         int count)
{
    static const char sql[] =
        "SELECT m.name, m.median FROM measurement AS m JOIN result AS r ON r.id = m.result_id"
        " WHERE r.attempt = 0 AND m.median IS NOT NULL"
        " AND r.run_id = (SELECT id FROM run ORDER BY rowid DESC LIMIT 1)";
    char *path = ypi_format("%s/%s.db", p->work, s->name);
    sqlite3 *db = ypi_store_open(path);
    cJSON *rows = db != NULL ? ypi_store_rows(db, sql, 0, NULL) : NULL;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        int at = index_of(list, count, ypi_text_of(row, "name"));
        if (at < 0 || !list[at].wanted)
            continue;
        double *side = s->name[0] == 'b' ? &list[at].base : &list[at].head;
        *side = ypi_real(row, "median");
    }
    bool ok = rows != NULL;
    cJSON_Delete(rows);
    sqlite3_close(db);
    free(path);
    return ok;
}

static bool run_whole(const struct ypi_pairing *p, struct side *s, struct ypi_paired *list,
                      int count)
{
    enum { SUITE_FAILED = 1 }; /* what it measured is there all the same */
    const char *more[] = {"--speed=record", NULL};
    char ending[64];
    if (start(p, s, more) < 0)
        return false;
    struct ypi_program_status status = ypi_program_wait(s->pid, 0, p->stop);
    s->pid = 0;
    if (status.end == YPI_PROGRAM_EXITED && status.code <= SUITE_FAILED)
        return read_medians(p, s, list, count);
    ypi_program_ending(ending, status);
    (void)yp_set_error(YP_IO, "%s: %s %s", s->name, s->who->program, ending);
    return false;
}

enum ypi_pair_end ypi_pair_in_whole(const struct ypi_pairing *p, struct ypi_seed *coin,
                                    struct ypi_paired *list, int count)
{
    struct side sides[2];
    int first = toss(coin);
    set_out(p, sides, list, count);
    for (int i = 0; i < count; i++)
        list[i].base = list[i].head = NAN;
    if (!run_whole(p, &sides[first], list, count) || !run_whole(p, &sides[!first], list, count))
        return p->stop != NULL && *p->stop ? YPI_PAIR_STOPPED : YPI_PAIR_FAILED;
    for (int i = 0; i < count; i++) {
        list[i].there = list[i].base >= 0 && list[i].head >= 0;
        find_no_time(&list[i]);
        list[i].log_ratio = list[i].there ? log(list[i].head / list[i].base) : NAN;
        list[i].rounds = list[i].there;
    }
    return YPI_PAIR_DONE;
}
