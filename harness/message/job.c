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

/* Both ends are the same program, so it is written as it lies in memory: the structure, then each
 * text that is there with its NUL, then the places of processors. Another build may lay it out in
 * another way. */
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
              fwrite(&copy, sizeof copy, 1, file) == 1;
    for (int i = 0; i < JOB_TEXTS && ok; i++)
        ok = *texts[i] == NULL || fwrite(*texts[i], strlen(*texts[i]) + 1, 1, file) == 1;
    const size_t places = (size_t)copy.places.count;
    ok = ok && (places == 0 ||
                fwrite(copy.places.list, sizeof *copy.places.list, places, file) == places);
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
    for (int i = 0; i < JOB_TEXTS && ok; i++) {
        size_t capacity = 0;
        if (*texts[i] == NULL)
            continue;
        *texts[i] = NULL;
        ok = getdelim(texts[i], &capacity, '\0', file) > 0;
    }
    const size_t places = ok ? (size_t)job->places.count : 0;
    job->places.list = places > 0 ? ypi_calloc(places, sizeof *job->places.list) : NULL;
    ok = ok &&
         (places == 0 || fread(job->places.list, sizeof *job->places.list, places, file) == places);
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
