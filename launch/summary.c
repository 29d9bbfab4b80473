/* What a launch ends with: as a run on one machine does, and which shards did not come to an end.
 */
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "launch/outcome.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 80, SUITE_FAILED = 1 };

static void rule(const char *title)
{
    const int length = (int)strlen(title) + 2;
    const int left = length < COLUMNS ? (COLUMNS - length) / 2 : 2;
    const int right = length < COLUMNS ? COLUMNS - length - left : 2;
    for (int i = 0; i < left; i++)
        putchar('=');
    printf(" %s ", title);
    for (int i = 0; i < right; i++)
        putchar('=');
    putchar('\n');
}

/* -- shards -------------------------------------------------------------------------------- */

bool ypi_launch_is_whole(const struct ypi_shard *s)
{
    return s->missing == 0 || (s->ended && s->code <= SUITE_FAILED);
}

/* Why its cases were not run, as Slurm's state or the suite's end says. */
static void why(char out[160], const struct ypi_shard *s)
{
    static const struct {
        const char *state, *meaning;
    } states[] = {
        {"CANCELLED", "was cancelled"},
        {"NODE_FAIL", "lost its node"},
        {"TIMEOUT", "reached the queue's time limit"},
        {"DEADLINE", "reached its deadline"},
        {"PREEMPTED", "was preempted, and the queue did not start it again"},
        {"OUT_OF_MEMORY", "ran out of memory"},
        {"BOOT_FAIL", "got a node that did not start"},
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(s->state, states[i].state) == 0) {
            snprintf(out, 160, "%s", states[i].meaning);
            return;
        }
    if (s->phase != YPI_SHARD_IS_OVER)
        snprintf(out, 160, "is %s still", s->state);
    else if (s->ended)
        snprintf(out, 160, "ended with %d (%s)", s->code, s->state);
    else if (*s->state == '\0')
        snprintf(out, 160, "is not known to the queue");
    else
        snprintf(out, 160, "did not come to its end (%s)", s->state);
}

/* The last lines of what the job printed. */
static void print_tail(const char *path)
{
    enum { LINES = 6 };
    char said[2048];
    size_t begin = ypi_read_file_end(path, said, sizeof said);
    while (begin > 0 && said[begin - 1] == '\n')
        said[--begin] = '\0';
    for (int lines = 0; begin > 0; begin--)
        if (said[begin - 1] == '\n' && ++lines == LINES)
            break;
    for (char *line = said + begin; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const bool last = line[length] == '\0';
        line[length] = '\0';
        ypi_make_printable(line);
        printf("    %s\n", line);
        line += length + (last ? 0 : 1);
    }
}

static void print_shard(const struct ypi_launch *l, int shard)
{
    const struct ypi_shard *s = &l->shards[shard];
    char reason[160];
    char *log = ypi_shard_file(l, shard, ".log");
    why(reason, s);
    printf("LOST shard %d of %d (job %s_%d%s%s) %s: %d of %d cases not run; see %s\n", shard + 1,
           l->count, l->job, shard, *s->node != '\0' ? ", node " : "", s->node, reason, s->missing,
           s->id_count, log);
    print_tail(log);
    free(log);
}

static void print_not_run(const struct ypi_launch *l, const struct ypi_launch_outcome *found)
{
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < l->shards[i].id_count && !ypi_launch_is_whole(&l->shards[i]); k++)
            if (ypi_launched_find(found, l->shards[i].ids[k]) == NULL)
                printf("NOT RUN %s - shard %d\n", l->shards[i].ids[k], i + 1);
}

/* -- cases --------------------------------------------------------------------------------- */

static bool is_outcome(const struct ypi_launched_case *c, const char *name)
{
    return strcmp(ypi_store_outcome(c->outcome), name) == 0;
}

static void print_failed(const struct ypi_launch_outcome *found)
{
    for (int i = 0; i < found->count; i++) {
        const struct ypi_launched_case *c = &found->list[i];
        const bool failed = is_outcome(c, "failed");
        if (failed || is_outcome(c, "error"))
            printf("%s %s - %.*s\n", failed ? "FAILED" : "ERROR", c->id,
                   (int)strcspn(c->reason, "\n"), c->reason);
    }
}

static int count_of(const struct ypi_launch_outcome *found, const char *name)
{
    int count = 0;
    for (int i = 0; i < found->count; i++)
        count += is_outcome(&found->list[i], name);
    return count;
}

/* As a run's last line, in pytest's order, with what was not run. */
static char *counts(const struct ypi_launch *l, const struct ypi_launch_outcome *found, int missing)
{
    static const char *const order[] = {"failed",  "passed",  "noisy", "skipped",
                                        "xfailed", "xpassed", "error"};
    struct ypi_text text = {0};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const int count = count_of(found, order[i]);
        if (count > 0)
            ypi_text_add(&text, "%s%d %s", text.length > 0 ? ", " : "", count, order[i]);
    }
    if (missing > 0)
        ypi_text_add(&text, "%s%d not run", text.length > 0 ? ", " : "", missing);
    if (*l->stop)
        ypi_text_add(&text, "%sinterrupted", text.length > 0 ? ", " : "");
    ypi_text_add(&text, "%sin %.2fs", text.length > 0 ? " " : "", ypi_kernel_now() - l->submitted);
    return ypi_text_take(&text);
}

int ypi_launch_summary(struct ypi_launch *l, const struct ypi_launch_outcome *found)
{
    const int failed = count_of(found, "failed") + count_of(found, "error");
    int missing = 0;
    bool whole = !found->broken;
    for (int i = 0; i < l->count; i++) {
        missing += l->shards[i].missing;
        whole = whole && ypi_launch_is_whole(&l->shards[i]);
    }
    if (failed > 0 || !whole)
        rule("short test summary info");
    print_failed(found);
    for (int i = 0; i < l->count; i++)
        if (!ypi_launch_is_whole(&l->shards[i]))
            print_shard(l, i);
    print_not_run(l, found);
    char *text = counts(l, found, missing);
    rule(text);
    free(text);
    return *l->stop     ? YPI_LAUNCH_INTERRUPTED
           : !whole     ? YPI_LAUNCH_LOST
           : failed > 0 ? YPI_LAUNCH_FAILED
                        : YPI_LAUNCH_OK;
}
