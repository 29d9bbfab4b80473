#include "harness/message/job.h"

#include "base/system/self.h"
#include "base/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The texts that a job points to. */
enum { JOB_TEXTS = YPI_MAX_SETTINGS + YPI_MAX_BUDGETS + 8 };
static void texts_of(struct ypi_job *job, char **texts[JOB_TEXTS])
{
    int count = 0;
    texts[count++] = &job->id;
    texts[count++] = &job->tags;
    texts[count++] = &job->root;
    texts[count++] = &job->channel;
    texts[count++] = &job->output;
    texts[count++] = &job->launcher;
    texts[count++] = &job->meeting;
    texts[count++] = &job->host;
    for (int i = 0; i < YPI_MAX_SETTINGS; i++)
        texts[count++] = (char **)(uintptr_t)&job->settings[i].s;
    for (int i = 0; i < YPI_MAX_BUDGETS; i++)
        texts[count++] = (char **)(uintptr_t)&job->budgets[i].name;
}

static int texts_of_own(struct ypi_own_fixture *own, char **texts[YPI_MAX_SETTINGS + 1])
{
    int count = 0;
    texts[count++] = &own->id;
    for (int i = 0; i < YPI_MAX_SETTINGS; i++)
        texts[count++] = (char **)(uintptr_t)&own->settings[i].s;
    return count;
}

static bool write_texts(char **const *texts, int count, FILE *file)
{
    bool ok = true;
    for (int i = 0; i < count && ok; i++)
        ok = *texts[i] == NULL || fwrite(*texts[i], strlen(*texts[i]) + 1, 1, file) == 1;
    return ok;
}

static bool read_texts(char **const *texts, int count, FILE *file)
{
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        size_t capacity = 0;
        if (*texts[i] == NULL)
            continue;
        *texts[i] = NULL;
        ok = getdelim(texts[i], &capacity, '\0', file) > 0;
    }
    return ok;
}

/* An array, or nothing of it. */
static bool write_list(const void *list, int count, size_t size, FILE *file)
{
    return count == 0 || fwrite(list, size, (size_t)count, file) == (size_t)count;
}

static void *read_list(int count, size_t size, bool *ok, FILE *file)
{
    void *list = count > 0 && *ok ? ypi_calloc((size_t)count, size) : NULL;
    *ok = *ok && (count == 0 || fread(list, size, (size_t)count, file) == (size_t)count);
    return list;
}

/* Both ends are the same program, so it is written as it lies in memory: the structure, then each
 * text that is there with its NUL, then the places of processors and the fixtures of its own.
 * Another build may lay it out in another way. */
enum yp_status ypi_job_write(const struct ypi_job *job, const char *path)
{
    struct ypi_job copy = *job;
    copy.turns = NULL;
    copy.cannot = NULL;
    char **texts[JOB_TEXTS];
    texts_of(&copy, texts);
    FILE *file = fopen(path, "we");
    char build[YPI_SELF_BUILD];
    ypi_self_build(build);
    bool ok = file != NULL && fprintf(file, "%s\n", build) > 0 &&
              fwrite(&copy, sizeof copy, 1, file) == 1 && write_texts(texts, JOB_TEXTS, file) &&
              write_list(copy.places.list, copy.places.count, sizeof *copy.places.list, file) &&
              write_list(copy.own, copy.own_count, sizeof *copy.own, file);
    for (int i = 0; i < copy.own_count && ok; i++) {
        char **of_own[YPI_MAX_SETTINGS + 1];
        const int count = texts_of_own(&copy.own[i], of_own);
        ok = write_texts(of_own, count, file);
    }
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    return ok ? YP_OK : yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
}

/* Whether this program is the one that has written the file, up to the content. */
static bool is_own(FILE *file)
{
    char build[YPI_SELF_BUILD];
    char *writer = NULL;
    size_t capacity = 0;
    ypi_self_build(build);
    const bool read = getline(&writer, &capacity, file) > 0;
    if (read)
        writer[strcspn(writer, "\n")] = '\0';
    const bool own = read && strcmp(writer, build) == 0;
    if (read && !own)
        yp_set_error(YP_UNSUPPORTED,
                     "another build of the program than the one that runs the case (%.12s, not "
                     "%.12s): %s was replaced during the run",
                     build, writer, ypi_self_path());
    free(writer);
    return own;
}

struct ypi_job *ypi_job_read(const char *path)
{
    FILE *file = fopen(path, "re");
    struct ypi_job *job = ypi_calloc(1, sizeof *job);
    yp_set_error(YP_IO, "%s: is not what a case has written", path);
    const bool own = file != NULL && is_own(file);
    bool ok = own && fread(job, sizeof *job, 1, file) == 1;
    char **texts[JOB_TEXTS];
    texts_of(job, texts);
    ok = ok && read_texts(texts, JOB_TEXTS, file);
    job->places.list = read_list(job->places.count, sizeof *job->places.list, &ok, file);
    job->own = read_list(job->own_count, sizeof *job->own, &ok, file);
    for (int i = 0; ok && i < job->own_count; i++) {
        char **of_own[YPI_MAX_SETTINGS + 1];
        const int count = texts_of_own(&job->own[i], of_own);
        ok = read_texts(of_own, count, file);
    }
    if (file == NULL)
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    else if (own && !ok)
        yp_set_error(YP_IO, "%s: is not what a case has written", path);
    if (file != NULL)
        fclose(file);
    if (ok)
        return job;
    free(job);
    return NULL;
}
