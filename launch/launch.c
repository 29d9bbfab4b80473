/* yieldpoint launch: a suite on the nodes of a cluster. */
#include "launch/launch.h"

#include "base/options/arguments.h"
#include "base/system/file.h"
#include "base/system/interrupt.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "launch/shards.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES_MOST = 10000 };

#define AT(kind_, member) \
    .kind = YPI_OPTION_##kind_, .offset = offsetof(struct ypi_launch_request, member)

static const struct ypi_option options[] = {
    {"slurm", AT(FLAG, slurm)},
    {"nodes", AT(INT, nodes), .min = 1, .max = NODES_MOST},
    {"nodes-per-job", AT(INT, nodes_per_job), .min = 1, .max = NODES_MOST},
    {"shards", AT(INT, shards), .min = 1, .max = YPI_SHARDS_MAX},
    {"partition", AT(WORD, partition)},
    {"gres", AT(WORD, gres)},
    {"sbatch", AT(WORD, sbatch)},
    {"shared", AT(FLAG, shared)},
    {"keep", AT(FLAG, keep)},
    {"history", AT(WORD, history)},
    {"attach", AT(WORD, attach)},
    YPI_OPTIONS_END,
};

/* The place of the suite: the first word that is neither an option nor an option's value. */
static int place_of_suite(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const size_t length = strcspn(word, "=");
        if (strncmp(word, "--", 2) != 0)
            return i;
        const struct ypi_option *o = ypi_option_find(options, word + 2, length - 2);
        if (o != NULL && ypi_option_takes_value(o) && word[length] == '\0')
            i++;
    }
    return argc;
}

/* The suite's own option that has no sense for all shards together; NULL: it may stand there. */
static const char *unfit(const char *word)
{
    static const struct {
        const char *name, *why;
    } list[] = {
        {"--history",
         "stands before the suite: it is the one that takes the results of all shards"},
        {"--shard", "is what each shard gets; --shards N stands before the suite"},
        {"--shard-by", "is what each shard gets, with the history that --history names"},
        {"--resume", "is what a shard gets that Slurm starts again"},
        {"--gdb", "a job has no terminal"},
        {"--co", "nothing is run; ask the suite itself"},
        {"--collect-only", "nothing is run; ask the suite itself"},
        {"--collectonly", "nothing is run; ask the suite itself"},
    };
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strlen(list[i].name) == length && strncmp(word, list[i].name, length) == 0)
            return list[i].why;
    return NULL;
}

/* False after telling stderr what is wrong, where, and what is allowed. */
static bool read_request(struct ypi_launch_request *r, int argc, char **argv)
{
    const int suite = place_of_suite(argc, argv);
    *r = (struct ypi_launch_request){.nodes_per_job = 1};
    if (!ypi_arguments_read(&(struct ypi_arguments){.options = options, .values = r}, suite, argv))
        return false;
    if (r->attach != NULL) {
        const bool alone = suite == argc && r->nodes == 0 && r->shards == 0 &&
                           r->nodes_per_job == 1 && r->partition == NULL && r->gres == NULL &&
                           r->sbatch == NULL && !r->shared;
        if (!alone)
            ypi_usage_error(argc, argv, ypi_place_of(argc, argv, r->attach),
                            "--attach: goes with --history and --keep alone; the launch has its "
                            "suite and jobs already");
        return alone;
    }
    if (suite == argc) {
        ypi_usage_error(argc, argv, argc, "which suite? Its path, and behind it its own options");
        return false;
    }
    for (int i = suite + 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *why = unfit(argv[i]);
        if (why == NULL)
            continue;
        ypi_usage_error(argc, argv, i, "%.*s: %s", (int)strcspn(argv[i], "="), argv[i], why);
        return false;
    }
    r->suite = argv[suite];
    r->options = argv + suite + 1;
    if (r->nodes == 0)
        r->nodes = r->nodes_per_job;
    if (r->nodes < r->nodes_per_job) {
        ypi_usage_error(argc, argv, argc, "--nodes-per-job %d: more than the %d of --nodes",
                        r->nodes_per_job, r->nodes);
        return false;
    }
    r->jobs = r->nodes / r->nodes_per_job;
    if (r->shards == 0)
        r->shards = r->jobs < YPI_SHARDS_MAX ? r->jobs : YPI_SHARDS_MAX;
    return true;
}

static void clear(struct ypi_launch *l)
{
    for (int i = 0; i < l->count; i++)
        ypi_list_free(l->shards[i].ids, l->shards[i].id_count);
    free(l->shards);
    ypi_launch_outputs_clear(&l->outputs);
    free(l->program);
    free(l->history);
    free(l->folder);
    free(l->job);
    if (l->lock >= 0)
        close(l->lock);
}

/* Over NFS a file that is open keeps its folder. */
static void remove_folder(struct ypi_launch *l)
{
    if (l->lock >= 0)
        close(l->lock);
    l->lock = -1;
    if (l->folder != NULL)
        ypi_remove_tree(l->folder);
}

/* From the jobs, wherever they are, to the end of the command. */
static int conclude(struct ypi_launch *l)
{
    struct ypi_launch_outcome outcome = {0};
    ypi_launch_watch(l);
    ypi_launch_merge(l, &outcome);
    outcome.broken = !ypi_launch_put_outputs(l, &outcome) || outcome.broken;
    if (l->outputs.tap) /* which has standard output for itself */
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    int code = ypi_launch_summary(l, &outcome);
    if (code <= YPI_LAUNCH_FAILED && !l->r->keep)
        remove_folder(l);
    else
        fprintf(stderr, "yieldpoint: the shards' outputs and histories stay in %s\n", l->folder);
    ypi_launch_outcome_clear(&outcome);
    const int flushed = ypi_flush();
    if (l->outputs.tap && code == YPI_LAUNCH_FAILED)
        code = YPI_LAUNCH_OK; /* failures are in its lines, as of the suite alone */
    return flushed != YPI_COMMAND_OK ? flushed : code;
}

static int launch(struct ypi_launch *l)
{
    int code = YPI_LAUNCH_LOST;
    if (!ypi_launch_divide(l, &code))
        return code;
    if (!ypi_launch_prepare(l) || !ypi_launch_note(l) || !ypi_queue_submit(l)) {
        remove_folder(l);
        return YPI_LAUNCH_LOST;
    }
    ypi_launch_note_job(l);
    return conclude(l);
}

int ypi_launch_command(int argc, char **argv)
{
    struct ypi_launch_request r;
    if (!read_request(&r, argc, argv))
        return YPI_LAUNCH_USAGE;
    struct ypi_launch l = {.r = &r, .stop = ypi_interrupt_watch(), .lock = -1};
    const int code = r.attach == NULL            ? launch(&l)
                     : ypi_launch_attach(&l, &r) ? conclude(&l)
                                                 : YPI_LAUNCH_LOST;
    clear(&l);
    return code;
}
