/* A run while it goes on, as an onlooker sees it: its directory, whose lock the runner holds as
 * long as it lives, the list of its cases, and the messages of those that run. */
#include "harness/history/history.h"

#include "base/numbers/stats.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/message/case_list.h"
#include "harness/message/channel.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The caller frees. */
static char *directory_of(const char *history, const char *run)
{
    char parent[YPI_PATH_MAX];
    ypi_real_directory_of(parent, history);
    return ypi_format("%s/run-%s", parent, run);
}

/* The runner's lock is exclusive: a shared one is had only where there is no runner. */
enum ypi_run_life ypi_run_life(const char *history, const char *run)
{
    char *path = directory_of(history, run);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum ypi_run_life life = errno == EACCES ? YPI_RUN_CLOSED : YPI_RUN_WITHOUT;
    if (fd >= 0) {
        life = flock(fd, LOCK_SH | LOCK_NB) == 0 ? YPI_RUN_DEAD : YPI_RUN_ALIVE;
        close(fd);
    }
    free(path);
    return life;
}

cJSON *ypi_run_plan(const char *history, const char *run)
{
    struct ypi_case_list cases;
    char *path = directory_of(history, run);
    bool there = ypi_case_list_read(&cases, path);
    free(path);
    if (!there)
        return NULL;
    cJSON *plan = cJSON_CreateArray();
    for (int i = 0; i < cases.count; i++) {
        char *id = ypi_utf8(cases.list[i].id); /* as a document has it */
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "device", cases.list[i].device);
        cJSON_AddStringToObject(one, "id", id);
        cJSON_AddItemToArray(plan, one);
        free(id);
    }
    ypi_case_list_clear(&cases);
    return plan;
}

/* -- cases that run --------------------------------------------------------------------------- */

static cJSON *measurements_of(const struct ypi_result *r)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", m->name);
        cJSON_AddStringToObject(one, "unit", m->unit);
        ypi_json_add_real(one, "items", m->items);
        ypi_json_add_real(one, "flops", m->flops);
        ypi_json_add_real(one, "bytes", m->bytes);
        ypi_json_add_real(one, "median", ypi_estimate(m->samples, m->count).median);
        cJSON_AddNumberToObject(one, "count", (double)m->count);
        cJSON_AddItemToArray(list, one);
    }
    return list;
}

/* What tells that a file of messages is as it was: they are appended. */
static char *state_of(const char *path)
{
    struct stat there;
    if (access(path, R_OK) != 0 || stat(path, &there) != 0)
        return NULL;
    return ypi_format("%lld bytes at %lld.%09ld", (long long)there.st_size,
                      (long long)there.st_mtim.tv_sec, there.st_mtim.tv_nsec);
}

/* That case as it was seen before; NULL: it was not, or has sent messages since. */
static cJSON *unchanged(const cJSON *before, int number, const char *state)
{
    const cJSON *old;
    cJSON_ArrayForEach(old, before)
    {
        if (ypi_whole(old, "number") == number)
            return strcmp(ypi_text_of(old, "state"), state) == 0 ? cJSON_Duplicate(old, true)
                                                                 : NULL;
    }
    return NULL;
}

static cJSON *read_case(const char *path, int number)
{
    static const char *const stages[] = {"setup", "body", "teardown", ""};
    struct ypi_result so_far = {0};
    const struct ypi_report report = ypi_channel_read(path, &so_far);
    cJSON *one = cJSON_CreateObject();
    cJSON_AddNumberToObject(one, "number", number);
    cJSON_AddNumberToObject(one, "pid", report.pid);
    if (report.staged)
        cJSON_AddNumberToObject(one, "began", report.began);
    cJSON_AddStringToObject(one, "stage", report.staged ? stages[report.stage] : "");
    cJSON_AddNumberToObject(one, "failures", so_far.failure_count);
    cJSON_AddItemToObject(one, "measurements", measurements_of(&so_far));
    ypi_result_clear(&so_far);
    return one;
}

/* NULL: its process has ended since, or its messages may not be read. */
static cJSON *case_now(const char *directory, int number, double now, const cJSON *before)
{
    char *path = ypi_format("%s/%d.channel", directory, number);
    char *state = state_of(path); /* before it is read: what comes meanwhile is read again */
    cJSON *one = state != NULL ? unchanged(before, number, state) : NULL;
    if (state != NULL && one == NULL) {
        one = read_case(path, number);
        cJSON_AddStringToObject(one, "state", state);
    }
    if (one != NULL) {
        const double began = ypi_real(one, "began");
        cJSON_DeleteItemFromObjectCaseSensitive(one, "seconds");
        cJSON_AddNumberToObject(one, "seconds", isnan(began) ? 0 : now - began);
    }
    free(state);
    free(path);
    return one;
}

/* Of "N.channel" the number; 0: it is another file. */
static int number_of(const char *name)
{
    char *end = NULL;
    long number = isdigit((unsigned char)*name) ? strtol(name, &end, 10) : 0;
    return number > 0 && number <= 10000000 && strcmp(end, ".channel") == 0 ? (int)number : 0;
}

static int by_number(const void *a, const void *b)
{
    const int *first = a;
    const int *second = b;
    return (*first > *second) - (*first < *second);
}

cJSON *ypi_run_now(const char *history, const char *run, const cJSON *before)
{
    enum { MOST = 256 }; /* --jobs allows fewer */
    int numbers[MOST];
    int count = 0;
    char *path = directory_of(history, run);
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    while (directory != NULL && count < MOST && (entry = readdir(directory)) != NULL) {
        numbers[count] = number_of(entry->d_name);
        count += numbers[count] > 0;
    }
    if (directory != NULL)
        closedir(directory);
    qsort(numbers, (size_t)count, sizeof *numbers, by_number);
    cJSON *list = cJSON_CreateArray();
    const double now = ypi_now();
    for (int i = 0; i < count; i++) {
        cJSON *one = case_now(path, numbers[i], now, before);
        if (one != NULL)
            cJSON_AddItemToArray(list, one);
    }
    free(path);
    return list;
}
