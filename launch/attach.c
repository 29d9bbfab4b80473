/* What a launch notes in its folder, so that another command can wait for its jobs after it: the
 * folder has all that `divide`, `prepare` and `submit` found out. */
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "launch/shards.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { NOTES_MAX = 1 << 16 };

static char *file_in(const char *folder, const char *name)
{
    return ypi_format("%s/%s", folder, name);
}

/* One command at a time: the other one would remove the folder. */
static bool lock(struct ypi_launch *l)
{
    char *path = file_in(l->folder, YPI_LAUNCH_NOTES);
    l->lock = open(path, O_RDWR | O_CLOEXEC);
    const bool right = l->lock >= 0 && flock(l->lock, LOCK_EX | LOCK_NB) == 0;
    if (!right && l->lock >= 0 && errno == EWOULDBLOCK)
        fprintf(stderr, "yieldpoint: %s: another command waits for this launch already\n",
                l->folder);
    else if (!right)
        fprintf(stderr, "yieldpoint: %s: %s\n", path, strerror(errno));
    free(path);
    return right;
}

bool ypi_launch_note(struct ypi_launch *l)
{
    cJSON *notes = cJSON_CreateObject();
    cJSON_AddNumberToObject(notes, "version", 1);
    ypi_json_add_text(notes, "suite", l->program);
    ypi_json_add_text(notes, "history", l->history);
    cJSON_AddNumberToObject(notes, "shards", l->count);
    cJSON_AddNumberToObject(notes, "nodes", l->r->nodes);
    cJSON_AddNumberToObject(notes, "nodes_per_job", l->r->nodes_per_job);
    cJSON_AddBoolToObject(notes, "keep", l->r->keep);
    ypi_json_add_real(notes, "began", ypi_wall_clock());
    ypi_launch_outputs_note(&l->outputs, notes);
    char *text = ypi_json_text(notes, true);
    char *path = file_in(l->folder, YPI_LAUNCH_NOTES);
    const bool right = text != NULL && ypi_write_file(path, text, strlen(text));
    if (!right)
        fprintf(stderr, "yieldpoint: %s: cannot be written: %s\n", path, strerror(errno));
    free(path);
    free(text);
    cJSON_Delete(notes);
    return right && lock(l);
}

void ypi_launch_note_job(const struct ypi_launch *l)
{
    char *path = file_in(l->folder, YPI_LAUNCH_JOB);
    char *line = ypi_format("%s\n", l->job);
    /* Each job writes it too, so a launch that was killed before this line has it later. */
    (void)ypi_write_file(path, line, strlen(line));
    free(line);
    free(path);
}

/* -- finding it again ----------------------------------------------------------------------- */

/* Its job's number; "": not yet known. */
static void read_job(char out[32], const char *folder)
{
    char *path = file_in(folder, YPI_LAUNCH_JOB);
    size_t length = ypi_read_file(path, out, 32);
    while (length > 0 && isspace((unsigned char)out[length - 1]))
        out[--length] = '\0';
    out[length] = '\0';
    free(path);
}

/* The folder of a job's launch beside the history; NULL: there is none. */
static char *folder_of_job(const char *history, const char *job)
{
    char directory[YPI_PATH_MAX];
    char number[32];
    char *found = NULL;
    ypi_directory_of(directory, history);
    DIR *all = opendir(directory);
    const struct dirent *entry = NULL;
    while (all != NULL && found == NULL && (entry = readdir(all)) != NULL) {
        if (strncmp(entry->d_name, YPI_LAUNCH_PREFIX, strlen(YPI_LAUNCH_PREFIX)) != 0)
            continue;
        found = file_in(directory, entry->d_name);
        read_job(number, found);
        if (strcmp(number, job) != 0) {
            free(found);
            found = NULL;
        }
    }
    if (all != NULL)
        closedir(all);
    return found;
}

static bool find_folder(struct ypi_launch *l, const char *word)
{
    if (word[strspn(word, "0123456789")] == '\0' && access(word, F_OK) != 0) {
        char *history =
            l->r->history != NULL ? ypi_strdup(l->r->history) : ypi_store_path_anew(NULL);
        l->folder = history != NULL ? folder_of_job(history, word) : NULL;
        if (l->folder == NULL)
            fprintf(stderr,
                    "yieldpoint: --attach %s: there is no folder of this job's launch beside %s; "
                    "it goes when a launch came to its end\n",
                    word, history != NULL ? history : "the history");
        free(history);
        return l->folder != NULL;
    }
    l->folder = realpath(word, NULL);
    if (l->folder == NULL)
        fprintf(stderr,
                "yieldpoint: --attach %s: there is no such folder of a launch, which goes "
                "when the launch came to its end\n",
                word);
    return l->folder != NULL;
}

static void read_ids(const struct ypi_launch *l, int shard)
{
    char *path = ypi_shard_file(l, shard, ".ids");
    struct ypi_shard *s = &l->shards[shard];
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    while (file != NULL && getline(&line, &room, file) > 0)
        s->ids =
            ypi_list_add(s->ids, s->id_count++, ypi_format("%.*s", (int)strcspn(line, "\n"), line));
    if (file != NULL)
        fclose(file);
    free(line);
    free(path);
}

static bool take_notes(struct ypi_launch *l, struct ypi_launch_request *r, const cJSON *notes)
{
    const int shards = ypi_whole(notes, "shards");
    const double began = cJSON_GetNumberValue(cJSON_GetObjectItem(notes, "began"));
    r->nodes = ypi_whole(notes, "nodes");
    r->nodes_per_job = ypi_whole(notes, "nodes_per_job");
    if (ypi_whole(notes, "version") != 1 || shards < 1 || shards > YPI_SHARDS_MAX || r->nodes < 1 ||
        r->nodes_per_job < 1 || !(began > 0))
        return false;
    r->keep = r->keep || cJSON_IsTrue(cJSON_GetObjectItem(notes, "keep"));
    l->program = ypi_strdup(ypi_text_of(notes, "suite"));
    l->history = ypi_strdup(ypi_text_of(notes, "history"));
    l->submitted = ypi_kernel_now() - (ypi_wall_clock() - began);
    ypi_launch_outputs_recall(&l->outputs, notes);
    l->shards = ypi_calloc((size_t)shards, sizeof *l->shards);
    l->count = shards;
    for (int i = 0; i < shards; i++)
        read_ids(l, i);
    return *l->history != '\0';
}

bool ypi_launch_attach(struct ypi_launch *l, struct ypi_launch_request *r)
{
    char job[32];
    if (!find_folder(l, r->attach))
        return false;
    char *path = file_in(l->folder, YPI_LAUNCH_NOTES);
    char *text = ypi_calloc(NOTES_MAX, 1);
    cJSON *notes = ypi_read_file(path, text, NOTES_MAX) > 0 ? cJSON_Parse(text) : NULL;
    bool right = take_notes(l, r, notes);
    if (!right)
        fprintf(stderr, "yieldpoint: %s: is not what a launch of this version has written\n", path);
    cJSON_Delete(notes);
    free(text);
    free(path);
    right = right && lock(l);
    read_job(job, l->folder);
    if (right && *job == '\0') {
        fprintf(stderr,
                "yieldpoint: %s: this launch was not handed to the queue, or its jobs wait still\n",
                l->folder);
        right = false;
    }
    l->job = ypi_strdup(job);
    return right;
}
