#include "launch/outputs/outputs.h"

#include "base/system/file.h"
#include "base/text/output.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- which ---------------------------------------------------------------------------------- */

/* Those with a file. */
static const struct {
    const char *name, *also, *ending;
    size_t offset;
} files[] = {
    {"junitxml", "junit-xml", ".xml", offsetof(struct ypi_launch_outputs, junit)},
    {"json", NULL, ".json", offsetof(struct ypi_launch_outputs, benchmark)},
    {"csv", NULL, ".csv", offsetof(struct ypi_launch_outputs, rows)},
};
enum { FILES = sizeof files / sizeof *files };

static char **path_of(struct ypi_launch_outputs *outputs, int i)
{
    return (char **)(void *)((char *)outputs + files[i].offset);
}

static const char *path_in(const struct ypi_launch_outputs *outputs, int i)
{
    return *path_of((struct ypi_launch_outputs *)(uintptr_t)outputs, i);
}

void ypi_launch_outputs_read(struct ypi_launch_outputs *outputs, const char *configuration)
{
    for (int i = 0; i < FILES; i++) {
        char *path = ypi_launch_configured(configuration, files[i].name);
        char *here = path != NULL && *path != '/' ? getcwd(NULL, 0) : NULL;
        *path_of(outputs, i) = here != NULL ? ypi_format("%s/%s", here, path) : path;
        if (here != NULL)
            free(path);
        free(here);
    }
    char *tap = ypi_launch_configured(configuration, "tap");
    outputs->tap = tap != NULL && strcmp(tap, "yes") == 0;
    free(tap);
}

void ypi_launch_outputs_note(const struct ypi_launch_outputs *outputs, cJSON *notes)
{
    for (int i = 0; i < FILES; i++)
        if (path_in(outputs, i) != NULL)
            ypi_json_add_text(notes, files[i].name, path_in(outputs, i));
    cJSON_AddBoolToObject(notes, "tap", outputs->tap);
}

void ypi_launch_outputs_recall(struct ypi_launch_outputs *outputs, const cJSON *notes)
{
    for (int i = 0; i < FILES; i++) {
        const char *path = ypi_text_of(notes, files[i].name);
        if (*path != '\0')
            *path_of(outputs, i) = ypi_strdup(path);
    }
    outputs->tap = cJSON_IsTrue(cJSON_GetObjectItem(notes, "tap"));
}

void ypi_launch_outputs_clear(struct ypi_launch_outputs *outputs)
{
    for (int i = 0; i < FILES; i++)
        free(*path_of(outputs, i));
    *outputs = (struct ypi_launch_outputs){0};
}

/* How many words of the suite's options, which begin here, are an output's; 0: none. */
int ypi_launch_output_words(char *const *option)
{
    for (int i = 0; i < FILES; i++) {
        const char *const names[] = {files[i].name, files[i].also};
        for (int k = 0; k < 2; k++) {
            const size_t length = names[k] != NULL ? strlen(names[k]) : 0;
            if (length == 0 || strncmp(*option, "--", 2) != 0 ||
                strncmp(*option + 2, names[k], length) != 0)
                continue;
            if ((*option)[2 + length] == '=')
                return 1;
            if ((*option)[2 + length] == '\0')
                return option[1] != NULL ? 2 : 1;
        }
    }
    return strcmp(*option, "--tap") == 0;
}

/* Each start of a shard writes to a file of its own, wherever the path comes from. */
void ypi_launch_output_options(struct ypi_text *script, const struct ypi_launch_outputs *outputs)
{
    for (int i = 0; i < FILES; i++)
        if (path_in(outputs, i) != NULL)
            ypi_text_add(script, " --%s \"$shard.$start%s\"", files[i].name, files[i].ending);
}

/* -- what they say -------------------------------------------------------------------------- */

cJSON *ypi_launch_document(const struct ypi_launch_results *r, const struct ypi_launched_case *c)
{
    return ypi_documents_read(r->documents, c->result, false);
}

double ypi_launch_real(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

bool ypi_launch_is(const struct ypi_launched_case *c, const char *outcome)
{
    return strcmp(ypi_store_outcome(c->outcome), outcome) == 0;
}

bool ypi_launch_failed(const struct ypi_launched_case *c)
{
    return ypi_launch_is(c, "failed") || ypi_launch_is(c, "error");
}

void ypi_launch_each_missing(const struct ypi_launch_results *r,
                             void (*take)(void *arg, const char *id, int shard), void *arg)
{
    for (int i = 0; i < r->l->count; i++) {
        const struct ypi_shard *s = &r->l->shards[i];
        for (int k = 0; k < s->id_count && !ypi_launch_is_whole(s); k++)
            if (ypi_launched_find(r->found, s->ids[k]) == NULL)
                take(arg, s->ids[k], i);
    }
}

/* -- the files ------------------------------------------------------------------------------ */

static enum yp_status put_file(const struct ypi_launch_results *r, const char *path,
                               void (*put)(FILE *out, const struct ypi_launch_results *r))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "no memory for %s", path);
    put(out, r);
    const bool right = fclose(out) == 0;
    enum yp_status status =
        right ? ypi_make_parents(path) : yp_set_error(YP_OUT_OF_MEMORY, "no memory for %s", path);
    if (status == YP_OK)
        status = ypi_put_file(path, text, size);
    free(text);
    return status;
}

static bool told(enum yp_status status)
{
    if (status != YP_OK)
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    return status == YP_OK;
}

bool ypi_launch_put_outputs(const struct ypi_launch *l, const struct ypi_launch_outcome *found)
{
    const struct ypi_launch_outputs *o = &l->outputs;
    if (o->junit == NULL && o->benchmark == NULL && o->rows == NULL && !o->tap)
        return true;
    sqlite3 *db = ypi_store_open(l->history);
    if (db == NULL)
        return told(yp_last_status());
    struct ypi_launch_results r = {l, found, ypi_documents_open(db)};
    bool right = true;
    if (o->junit != NULL)
        right = told(put_file(&r, o->junit, ypi_launch_put_junit));
    if (o->benchmark != NULL)
        right = told(put_file(&r, o->benchmark, ypi_launch_put_benchmark)) && right;
    if (o->rows != NULL)
        right = told(ypi_launch_append_rows(&r, o->rows)) && right;
    if (o->tap)
        ypi_launch_put_tap(stdout, &r);
    ypi_documents_close(r.documents);
    sqlite3_close(db);
    return right;
}
