#include "harness/run/plan.h"

#include "base/system/file.h"
#include "base/text/text.h"
#include "harness/case/life.h"
#include "harness/collect/counted.h"
#include "harness/collect/launcher.h"
#include "harness/message/libraries.h"
#include "harness/message/tmp_path.h"
#include "harness/message/worker.h"
#include "harness/vocabulary/budget.h"

#include <criterion/alloc.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "run-"

static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.') {
            ypi_tmp_path_remove(path, entry->d_name);
            unlinkat(dirfd(directory), entry->d_name, 0);
        }
    if (directory != NULL)
        closedir(directory);
    rmdir(path);
}

/* A case dies with its runner, but not what it has started. Criterion's mark in the environment
 * tells those processes from others that got the same number since. */
static void end_processes_of(pid_t worker)
{
    DIR *directory = worker > 0 ? opendir("/proc") : NULL;
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && ypi_started_by(pid, worker))
            kill(pid, SIGKILL);
    }
    if (directory != NULL)
        closedir(directory);
}

static void end_cases_of(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (strstr(entry->d_name, ".channel") == NULL)
            continue;
        char *channel = ypi_format("%s/%s", path, entry->d_name);
        struct ypi_result unused = {0};
        end_processes_of(ypi_channel_read(channel, &unused).pid);
        ypi_result_clear(&unused);
        free(channel);
    }
    if (directory != NULL)
        closedir(directory);
}

/* By the whole form of its name: a directory that a user calls run-2024 is not ours to remove. */
static bool is_of_a_run(const char *name)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"; /* of a UUID */
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    const char *id = name + strlen(PREFIX);
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == 'x' ? !isxdigit((unsigned char)id[i]) : id[i] != '-')
            return false;
    return id[sizeof form - 1] == '\0';
}

/* A run holds a lock on its directory as long as it lives. */
static void remove_stale(const char *parent)
{
    DIR *directory = opendir(parent);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (!is_of_a_run(entry->d_name))
            continue;
        char *path = ypi_format("%s/%s", parent, entry->d_name);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            end_cases_of(path);
            remove_directory(path);
        }
        if (fd >= 0)
            close(fd);
        free(path);
    }
    if (directory != NULL)
        closedir(directory);
}

static enum yp_status make_directory(struct ypi_plan *plan, const char *history, const char *run_id)
{
    char relative[YPI_PATH_MAX];
    ypi_real_directory_of(relative, history);
    /* A case may change its working directory and still has to find its files. */
    char *parent = realpath(relative, NULL);
    int parent_fd = parent != NULL ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    enum yp_status status = YP_OK;
    if (parent_fd < 0) {
        status = yp_set_error(YP_IO, "%s: %s", relative, strerror(errno));
    } else {
        /* Held until the directory is locked: to another run it would look stale before. */
        flock(parent_fd, LOCK_EX);
        remove_stale(parent);
        plan->directory = ypi_format("%s/" PREFIX "%s", parent, run_id);
        plan->libraries = ypi_libraries_list();
        if (mkdir(plan->directory, 0700) != 0)
            status = yp_set_error(YP_IO, "%s: %s", plan->directory, strerror(errno));
        else
            plan->directory_fd = open(plan->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        flock(plan->directory_fd, LOCK_EX);
        close(parent_fd);
        if (status == YP_OK)
            status = ypi_libraries_write(plan->libraries, plan->directory);
    }
    free(parent);
    return status;
}

static size_t number_of(const struct yp_test *test)
{
    const struct ypi_tests tests = ypi_all_tests();
    size_t number = 0;
    while (tests.begin[number] != test)
        number++;
    return number;
}

static void add_own(struct ypi_item *item, int number)
{
    const struct yp_case *c = item->c.fixtures[number];
    item->own = ypi_realloc(item->own, (size_t)item->own_count + 1, sizeof *item->own);
    struct ypi_own_fixture *own = &item->own[item->own_count++];
    memset(own, 0, sizeof *own);
    own->number = number;
    own->test = number_of(c->test);
    own->decl = c->decl != NULL ? (int)(c->decl - c->test->cases) : -1;
    memcpy(own->settings, c->settings, sizeof own->settings);
    own->setting_count = c->setting_count;
    own->id = c->id;
}

static void make_item(struct ypi_item *item, const struct yp_case *c, int number,
                      const struct ypi_plan *plan, const struct ypi_options *o)
{
    *item = (struct ypi_item){.c = *c, .number = number, .memory = plan->memory};
    item->channel_fd = item->output_fd = item->provided = -1;
    for (int i = 0; i < YP_MAX_FIXTURES; i++)
        item->given[i] = -1;
    for (int i = 0; i < c->fixture_count; i++)
        if (c->fixtures[i]->test->each_rank)
            add_own(item, i);
    item->channel = ypi_format("%s/%d.channel", plan->directory, number);
    item->output = o->no_capture ? NULL : ypi_format("%s/%d.output", plan->directory, number);
    /* Criterion sorts by name; the number in front keeps the plan's order. */
    item->criterion_name = ypi_format("%07d %s", number, c->id);
    item->criterion_suite = ypi_strdup("yieldpoint");
    /* No limit of Criterion's own: it would look at a clock that the program may fake. */
    item->extra = (struct criterion_test_extra_data){.lang_ = CR_LANG_C,
                                                     .compiler_ = CR_COMP_GCC,
                                                     .kind_ = CR_TEST_NORMAL,
                                                     .identifier_ = item->criterion_name,
                                                     .file_ = c->test->file,
                                                     .line_ = (unsigned)c->test->line};
    item->test = (struct criterion_test){.name = item->criterion_name,
                                         .category = item->criterion_suite,
                                         .test = ypi_child_main,
                                         .data = &item->extra};
}

static int runs_of(const struct yp_case *c, const struct ypi_options *o)
{
    return c->test->fixture ? 1 : o->repeat;
}

int ypi_plan_runs(const struct ypi_collection *c, int selected, const struct ypi_options *o)
{
    int count = 0;
    for (int i = 0; i < selected; i++)
        count += runs_of(c->cases[i], o);
    return count;
}

enum yp_status ypi_plan_make(struct ypi_plan *plan, struct ypi_collection *c, int selected,
                             const struct ypi_options *o, const char *run_id)
{
    enum { MAX_RUNS = 1000000 };
    *plan = (struct ypi_plan){.directory_fd = -1, .memory = -1};
    if ((long long)selected * o->repeat > MAX_RUNS)
        return yp_set_error(YP_INVALID, "%d cases, %d times each, are more than %d in one run",
                            selected, o->repeat, MAX_RUNS);
    enum yp_status status = make_directory(plan, o->history, run_id);
    if (status != YP_OK)
        return status;
    plan->count = ypi_plan_runs(c, selected, o);
    plan->memory = ypi_channel_memory_create();
    plan->items = ypi_calloc((size_t)plan->count, sizeof *plan->items);
    int number = 0;
    for (int i = 0; i < selected; i++)
        for (int repeat = 0; repeat < runs_of(c->cases[i], o); repeat++) {
            c->cases[i]->repeat = repeat;
            make_item(&plan->items[number], c->cases[i], number + 1, plan, o);
            ypi_case_list_add(&plan->cases, c->cases[i]->device, c->cases[i]->id);
            number++;
        }
    /* For onlookers alone: a run goes on without it. */
    (void)ypi_case_list_write(&plan->cases, plan->directory);
    return YP_OK;
}

void ypi_plan_clear(struct ypi_plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        struct ypi_item *item = &plan->items[i];
        for (int k = 0; k < item->result_count; k++)
            ypi_result_clear(&item->results[k]);
        free(item->results);
        free(item->criterion_name);
        free(item->criterion_suite);
        free(item->channel);
        free(item->output);
        free(item->skip);
        free(item->own);
        free(item->stacks);
        if (item->provided >= 0)
            close(item->provided);
    }
    free(plan->items);
    if (plan->directory != NULL)
        remove_directory(plan->directory);
    if (plan->directory_fd >= 0)
        close(plan->directory_fd);
    if (plan->memory >= 0)
        close(plan->memory);
    free(plan->directory);
    free(plan->libraries);
    free(ypi_text_take(&plan->cases));
}

void ypi_plan_keep_directory(struct ypi_plan *plan)
{
    struct stat there;
    struct stat locked;
    if (stat(plan->directory, &there) == 0 && fstat(plan->directory_fd, &locked) == 0 &&
        there.st_ino == locked.st_ino)
        return;
    if (mkdir(plan->directory, 0700) != 0 && errno != EEXIST)
        return; /* the cases' memory is left */
    int fd = open(plan->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    flock(fd, LOCK_EX);
    if (plan->directory_fd >= 0)
        close(plan->directory_fd);
    plan->directory_fd = fd;
    (void)ypi_libraries_write(plan->libraries, plan->directory);
    (void)ypi_case_list_write(&plan->cases, plan->directory);
}

struct ypi_report ypi_item_read(const struct ypi_item *item, struct ypi_result *result)
{
    return ypi_channel_read_from(&(struct ypi_channel_source){.path = item->channel,
                                                              .fd = item->channel_fd,
                                                              .memory = item->memory,
                                                              .number = item->number},
                                 result);
}

void ypi_item_open_files(struct ypi_item *item)
{
    item->channel_fd = open(item->channel, O_RDONLY | O_CLOEXEC);
    if (item->output != NULL)
        item->output_fd = open(item->output, O_RDONLY | O_CLOEXEC);
}

static void remove_file(int *fd, const char *path)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    if (path != NULL)
        unlink(path);
}

void ypi_item_remove_files(struct ypi_item *item)
{
    remove_file(&item->channel_fd, item->channel);
    remove_file(&item->output_fd, item->output);
    ypi_channel_memory_clear(item->memory, item->number);
}

static char *share(const char *text)
{
    if (text == NULL)
        return NULL;
    char *copy = cr_malloc(strlen(text) + 1);
    return copy != NULL ? memcpy(copy, text, strlen(text) + 1) : NULL;
}

void ypi_item_renew(struct ypi_item *item)
{
    item->over = false;
    item->pid = 0;
    item->killed = 0;
    item->started = 0;
    item->paused = 0;
    item->stack_count = 0;
    free(item->stacks);
    item->stacks = NULL;
}

uint64_t ypi_item_fails(const struct ypi_item *item, const struct ypi_options *o)
{
    if (item->c.test->fixture) /* what the cases are given is not what is tried out */
        return 0;
    return o->fail_each ? (uint64_t)item->attempt : o->fail_allocation;
}

/* A text of a job, which changes none. */
static char *lend(const char *text)
{
    return (char *)(uintptr_t)text;
}

struct ypi_job ypi_job_of(const struct ypi_item *item, const struct ypi_options *o)
{
    const struct yp_case *c = &item->c;
    struct ypi_job job;
    memset(&job, 0, sizeof job);
    job.test = number_of(c->test);
    job.decl = c->decl != NULL ? (int)(c->decl - c->test->cases) : -1;
    memcpy(job.settings, c->settings, sizeof job.settings);
    job.setting_count = c->setting_count;
    const struct yp_budget *b = NULL;
    for (int next = 0; (b = ypi_next_budget(c, &next)) != NULL;) {
        job.budgets[next - 1] = *b;
        job.budgets[next - 1].required = NULL; /* told by the runner alone */
    }
    memcpy(job.device, c->device, sizeof job.device);
    job.seed = c->seed;
    job.repeat = c->repeat;
    job.memory_limit = o->memory_limit;
    job.device_memory_limit = o->device_memory_limit;
    job.speed_judged = o->speed == YPI_SPEED_JUDGE && o->turns == NULL;
    job.max_seconds = o->max_seconds;
    job.slowdown = o->slowdown;
    job.untimed = o->speed == YPI_SPEED_OFF || o->fail_each;
    job.instructions = o->instructions && ypi_count_wanted(c);
    job.audit = o->audit && ypi_count_wanted(c);
    job.fail_allocation = ypi_item_fails(item, o);
    job.watched_allocation = item->watched;
    job.once = o->fail_each;
    /* The next case in the same process would be bound like the one before. */
    job.bind = o->no_fork ? YPI_BIND_NONE : o->bind;
    job.attempt = item->attempt;
    job.ranks = ypi_ranks(c);
    job.rank = -1;
    job.pack_nodes = ypi_is_packed(c, o) ? ypi_pack_nodes(o) : 1;
    job.timeout = c->timeout;
    job.output_limit = o->output_limit;
    job.provided = item->provided;
    memcpy(job.given, item->given, sizeof job.given);
    job.own = item->own;
    job.own_count = item->own_count;
    job.id = lend(c->id);
    job.tags = lend(c->tags);
    job.root = lend(o->root);
    job.runner = getpid();
    job.memory = item->memory;
    job.number = item->number;
    job.channel = lend(item->channel);
    job.output = lend(item->output);
    job.turns = lend(o->turns);
    job.launcher = job.ranks > 1 ? lend(ypi_launcher(o, NULL)) : NULL;
    return job;
}

struct ypi_places ypi_plan_places(const struct ypi_options *o)
{
    const struct ypi_topology *here =
        !o->no_fork && o->bind != YPI_BIND_NONE ? ypi_topology() : NULL;
    struct ypi_places places = {0};
    if (here == NULL || here->places.count == 0)
        return places;
    size_t bytes = (size_t)here->places.count * sizeof *places.list;
    places.list = cr_malloc(bytes);
    if (places.list != NULL) {
        memcpy(places.list, here->places.list, bytes);
        places.count = here->places.count;
    }
    return places;
}

/* As the job, in memory that the case's process has too. */
static struct ypi_own_fixture *share_own(const struct ypi_own_fixture *own, int count)
{
    struct ypi_own_fixture *shared = count > 0 ? cr_malloc((size_t)count * sizeof *shared) : NULL;
    for (int i = 0; shared != NULL && i < count; i++) {
        shared[i] = own[i];
        shared[i].id = share(own[i].id);
        for (int k = 0; k < own[i].setting_count; k++)
            shared[i].settings[k].s = share(own[i].settings[k].s);
    }
    return shared;
}

void ypi_plan_end(struct ypi_plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->items[i].state == YPI_WAITING)
            plan->items[i].extra.disabled = true;
}

void ypi_plan_job(struct ypi_item *item, const struct ypi_options *o, struct ypi_places places)
{
    struct ypi_job *job = cr_malloc(sizeof *job);
    *job = ypi_job_of(item, o);
    job->places = places;
    for (int i = 0; i < job->setting_count; i++)
        job->settings[i].s = share(job->settings[i].s);
    for (int i = 0; i < YPI_MAX_BUDGETS; i++)
        job->budgets[i].name = share(job->budgets[i].name);
    char **const texts[] = {&job->id,     &job->tags,  &job->root,    &job->channel,
                            &job->output, &job->turns, &job->launcher};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = share(*texts[i]);
    job->own = share_own(item->own, item->own_count);
    item->extra.data = job;
}
