/* The folder of a launch: a list of ids a shard, and the script that every job runs. */
#include "base/system/file.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "harness/baseline/baseline.h"
#include "launch/shards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REBUILT = 3 }; /* the exit code of such a job */
#define SUM_SECONDS 60.0

char *ypi_shard_file(const struct ypi_launch *l, int shard, const char *end)
{
    return ypi_format("%s/shard-%d%s", l->folder, shard, end);
}

char *ypi_shard_history(const struct ypi_launch *l, int shard, int start)
{
    return ypi_format("%s/shard-%d.%d.db", l->folder, shard, start);
}

static bool complain(const char *path)
{
    fprintf(stderr, "yieldpoint: %s: cannot be written: %s\n", path, strerror(errno));
    return false;
}

static bool write_ids(const struct ypi_launch *l, int shard)
{
    struct ypi_text text = {0};
    const struct ypi_shard *s = &l->shards[shard];
    for (int i = 0; i < s->id_count; i++)
        ypi_text_add(&text, "%s\n", s->ids[i]);
    char *path = ypi_shard_file(l, shard, ".ids");
    const bool right = ypi_write_file(path, text.data, text.length) || complain(path);
    free(path);
    free(ypi_text_take(&text));
    return right;
}

/* As the program cksum prints it; NULL: it cannot be had. The caller frees. */
static char *sum_of(const char *path)
{
    static const char *const words[] = {"cksum", NULL};
    const struct ypi_program program = {.words = words, .input = path};
    char *text = NULL;
    const struct ypi_program_status status = ypi_program_run(&program, SUM_SECONDS, NULL, &text);
    if (status.end == YPI_PROGRAM_EXITED && status.code == 0 && text != NULL) {
        text[strcspn(text, "\n")] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* A shard of another build than the others' would be a mixture that nothing shows. */
static void add_check(struct ypi_text *script, const char *program)
{
    char *sum = sum_of(program);
    char *quoted = ypi_shell_quote(program);
    if (sum != NULL)
        ypi_text_add(script,
                     "if [ -e %s ] && [ \"$(cksum <%s)\" != '%s' ]; then\n"
                     "    echo \"yieldpoint: the suite was built anew since the launch: not run\"\n"
                     "    exit %d\n"
                     "fi\n",
                     quoted, quoted, sum, REBUILT);
    free(quoted);
    free(sum);
}

/* Each start of a shard has a history of its own: that of the start before may still be written by
 * a process on a node that the queue has given up. What has a result there is not run again.
 * The shell waits for the suite, which a SIGTERM of the queue reaches, too. */
static void add_script(struct ypi_text *script, const struct ypi_launch *l)
{
    char *folder = ypi_shell_quote(l->folder);
    char *baselines = ypi_baseline_path(l->history);
    char *quoted = ypi_shell_quote(baselines);
    ypi_text_add(script,
                 "#!/bin/sh\n"
                 "# One shard of a suite. Slurm starts it again where it was preempted or its node "
                 "was lost.\n"
                 "trap : TERM INT\n"
                 "folder=%s\n"
                 "shard=$folder/shard-$SLURM_ARRAY_TASK_ID\n"
                 "echo \"$SLURM_ARRAY_JOB_ID\" >\"$shard.job\" && mv \"$shard.job\" "
                 "\"$folder/" YPI_LAUNCH_JOB "\"\n"
                 "start=0\n"
                 "set --\n"
                 "while [ -e \"$shard.$start.db\" ]; do\n"
                 "    set -- \"$@\" --resume \"$shard.$start.db\"\n"
                 "    start=$((start + 1))\n"
                 "done\n"
                 "[ -e %s ] && ln -sf %s \"$shard.$start.baseline.ini\"\n"
                 "echo \"== start $start on ${SLURMD_NODENAME:-$(hostname)}\"\n",
                 folder, quoted, quoted);
    add_check(script, l->program);
    char *program = ypi_shell_quote(l->program);
    ypi_text_add(script, "%s \"$@\" --only \"$shard.ids\" --history \"$shard.$start.db\"", program);
    free(program);
    ypi_launch_output_options(script, &l->outputs);
    bool options = true; /* up to a "--" */
    for (char *const *option = l->r->options; *option != NULL; option++) {
        options = options && strcmp(*option, "--") != 0;
        const int output = options ? ypi_launch_output_words(option) : 0;
        if (output > 0) {
            option += output - 1;
            continue;
        }
        ypi_text_add(script, " ");
        ypi_text_quoted(script, *option, false);
    }
    ypi_text_add(script,
                 "\n"
                 "code=$?\n"
                 "# Of a shard that was run to its end before, nothing is left to select.\n"
                 "[ $code -eq 5 ] && [ $start -gt 0 ] && code=0\n"
                 "echo $code >\"$shard.end.part\" && mv \"$shard.end.part\" \"$shard.end\"\n"
                 "[ $code -le 1 ] && exit 0\n"
                 "exit $code\n");
    free(folder);
    free(quoted);
    free(baselines);
}

bool ypi_launch_prepare(struct ypi_launch *l)
{
    char directory[YPI_PATH_MAX];
    if (ypi_make_parents(l->history) != YP_OK) {
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
        return false;
    }
    ypi_directory_of(directory, l->history);
    l->folder = ypi_format("%s/" YPI_LAUNCH_PREFIX "XXXXXX", directory);
    if (mkdtemp(l->folder) == NULL) {
        complain(l->folder);
        free(l->folder);
        l->folder = NULL;
        return false;
    }
    bool right = true;
    for (int i = 0; i < l->count && right; i++)
        right = write_ids(l, i);
    struct ypi_text script = {0};
    add_script(&script, l);
    char *path = ypi_format("%s/job.sh", l->folder);
    right = right && (ypi_write_file(path, script.data, script.length) || complain(path));
    free(path);
    free(ypi_text_take(&script));
    return right;
}
