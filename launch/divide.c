/* Before the jobs: what the suite says of itself, and which case belongs to which shard. */
#include "base/system/file.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "launch/shards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUITE_FAILED = 1, SUITE_USAGE = 4, SUITE_NOTHING = 5 };
#define ASK_SECONDS 60.0 /* to list cases takes milliseconds */

struct words {
    const char **list; /* ended by NULL; owned */
    int count;
};

static void add(struct words *w, const char *word)
{
    w->list = ypi_realloc(w->list, (size_t)w->count + 2, sizeof *w->list);
    w->list[w->count++] = word;
    w->list[w->count] = NULL;
}

/* What the suite prints when it is asked with its own options behind ours, which stand in front of
 * a "--" of the caller's; the caller frees. NULL after telling stderr, and *code is set. A suite
 * without a case in this shard has "". */
static char *ask(const struct ypi_launch *l, const char *const *ours, int *code)
{
    struct words words = {0};
    char *text = NULL;
    add(&words, l->program);
    for (; *ours != NULL; ours++)
        add(&words, *ours);
    for (char *const *option = l->r->options; *option != NULL; option++)
        add(&words, *option);
    const struct ypi_program program = {.words = words.list};
    struct ypi_program_status status = ypi_program_run(&program, ASK_SECONDS, l->stop, &text);
    free((void *)words.list);
    const bool exited = status.end == YPI_PROGRAM_EXITED;
    if (exited && (status.code == 0 || status.code == SUITE_NOTHING))
        return text != NULL ? text : ypi_strdup("");
    char ending[64];
    free(text);
    ypi_program_ending(ending, status);
    if (status.end == YPI_PROGRAM_NOT_STARTED)
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    else
        fprintf(stderr, "yieldpoint: %s %s when it was asked for its cases\n", l->program, ending);
    *code = status.end == YPI_PROGRAM_STOPPED      ? YPI_LAUNCH_INTERRUPTED
            : exited && status.code == SUITE_USAGE ? YPI_LAUNCH_USAGE
                                                   : YPI_LAUNCH_LOST;
    return NULL;
}

/* A word as a shell reads it, up to a blank. */
static char *word_at(const char *at)
{
    struct ypi_text found = {0};
    for (bool quoted = false; *at != '\0' && *at != '\n' && (quoted || *at != ' '); at++) {
        if (*at == '\'')
            quoted = !quoted;
        else if (*at == '\\' && !quoted && at[1] == '\'')
            ypi_text_bytes(&found, ++at, 1);
        else
            ypi_text_bytes(&found, at, 1);
    }
    return ypi_text_take(&found);
}

char *ypi_launch_configured(const char *configuration, const char *name)
{
    enum { COLUMN = 24 }; /* where values stand, behind shorter names: no value is a blank there */
    char *line = ypi_format("\n--%s ", name);
    const char *at = strstr(configuration, line);
    const size_t length = strlen(line) - 1;
    free(line);
    if (at == NULL)
        return NULL;
    at++;
    const size_t before = length + 1 > COLUMN ? length + 1 : COLUMN;
    if (strnlen(at, before + 1) <= before || at[before] == ' ' || at[before] == '\n')
        return NULL;
    return word_at(at + before);
}

static bool find_history(struct ypi_launch *l, int *code)
{
    static const char *const words[] = {"--show-config", NULL};
    char *text = ask(l, words, code);
    if (text == NULL)
        return false;
    ypi_launch_outputs_read(&l->outputs, text);
    if (l->r->history != NULL) {
        l->history = ypi_store_path(l->r->history);
        free(text);
    } else {
        l->history = ypi_launch_configured(text, "history");
        free(text);
        if (l->history == NULL || *l->history == '\0')
            (void)yp_set_error(YP_IO, "%s --show-config names no history", l->program);
    }
    if (l->history == NULL || *l->history == '\0') {
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
        *code = YPI_LAUNCH_LOST;
        return false;
    }
    if (*l->history != '/') {
        char *here = getcwd(NULL, 0);
        char *whole = ypi_format("%s/%s", here != NULL ? here : ".", l->history);
        free(here);
        free(l->history);
        l->history = whole;
    }
    return true;
}

/* A line that has "::" and does not begin with a blank is an id. */
static void take_ids(struct ypi_shard *shard, const char *text)
{
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        char *word = ypi_format("%.*s", (int)length, line);
        if (*word != ' ' && strstr(word, "::") != NULL)
            shard->ids = ypi_list_add(shard->ids, shard->id_count++, word);
        else
            free(word);
        line += length + (line[length] == '\n');
    }
}

/* The suite divides by itself what --shard asks of it: once here and never again, so that no
 * result that comes meanwhile moves a case from one shard to another. */
static bool take_shard(struct ypi_launch *l, int number, int *code)
{
    char *part = ypi_format("--shard=%d/%d", number, l->r->shards);
    char *by = ypi_format("--shard-by=%s", l->history);
    const char *words[] = {"--co", "-q", "--history", l->history, part, NULL, NULL};
    if (access(l->history, F_OK) == 0)
        words[5] = by;
    char *text = ask(l, words, code);
    struct ypi_shard shard = {0};
    if (text != NULL)
        take_ids(&shard, text);
    if (shard.id_count > 0)
        l->shards[l->count++] = shard;
    free(part);
    free(by);
    free(text);
    return text != NULL;
}

bool ypi_launch_divide(struct ypi_launch *l, int *code)
{
    l->program = realpath(l->r->suite, NULL);
    if (l->program == NULL) {
        fprintf(stderr, "yieldpoint: %s: no suite can be run there: %s\n", l->r->suite,
                strerror(errno));
        *code = YPI_LAUNCH_USAGE;
        return false;
    }
    if (!find_history(l, code))
        return false;
    l->shards = ypi_calloc((size_t)l->r->shards, sizeof *l->shards);
    for (int i = 1; i <= l->r->shards; i++)
        if (!take_shard(l, i, code))
            return false;
    if (l->count > 0)
        return true;
    *code = YPI_LAUNCH_UNSELECTED;
    return false;
}
