/* A test program: options, collection, selection, run. */
#include "harness/driver/program.h"

#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/system/self.h"
#include "base/system/thread.h"
#include "base/text/text.h"
#include "harness/baseline/baseline.h"
#include "harness/case/life.h"
#include "harness/collect/collect.h"
#include "harness/collect/configuration.h"
#include "harness/collect/fixtures.h"
#include "harness/collect/select.h"
#include "harness/conduct/rank.h"
#include "harness/criterion/socket.h"
#include "harness/driver/arrange.h"
#include "harness/driver/debugger.h"
#include "harness/driver/list.h"
#include "harness/driver/runner.h"
#include "harness/measure/count/callgrind.h"
#include "harness/record/environment.h"
#include "harness/run/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/isa.h>

static void print_tags(const struct ypi_options *o)
{
    for (int i = 0; i < o->tag_count; i++)
        printf("%-10s %s\n", o->tags[i], o->tag_help[i]);
}

static char *command_line(int argc, char **argv)
{
    struct ypi_text text = {0};
    for (int i = 0; i < argc; i++) {
        ypi_text_add(&text, "%s", i > 0 ? " " : "");
        ypi_text_quoted(&text, argv[i], false);
    }
    return ypi_text_take(&text);
}

/* Results go to the standard output there was; whatever else writes to descriptor 1 from now on
 * must not get between the lines of a protocol. */
static FILE *take_output(const struct ypi_options *o)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out != NULL && ypi_reports_protocol(o))
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return out != NULL ? out : stdout;
}

/* A full disk or a closed pipe shows when what was written is flushed. */
static bool written(FILE *out)
{
    bool before = ferror(out) == 0;
    bool ok = fflush(out) == 0 && before;
    if (!ok)
        fprintf(stderr, "error: the standard output could not be written%s%s\n", before ? ": " : "",
                before ? strerror(errno) : "");
    return ok;
}

static enum ypi_exit exit_code(const struct ypi_runner *runner)
{
    const struct ypi_totals *t = &runner->totals;
    if (t->interrupted)
        return YPI_EXIT_INTERRUPTED;
    if (runner->record_failed)
        return YPI_EXIT_INTERNAL;
    return t->count[YPI_FAILED] + t->count[YPI_ERROR] > 0 ? YPI_EXIT_FAILED : YPI_EXIT_OK;
}

static bool any_relation(const struct ypi_collection *c, int selected)
{
    for (int i = 0; i < selected; i++)
        if (ypi_is_relation(c->cases[i]))
            return true;
    return false;
}

/* A limit on the size of files: the write that meets it says EFBIG. Caught and not ignored, for a
 * case's process would inherit that. */
static void on_file_too_large(int number)
{
    (void)number;
}

/* The hash of the program's file, beside all else that is read at the beginning: some programs have
 * 100 MB. */
struct hashing {
    pthread_t thread;
    bool begun, done;
    char hash[17];
};

static void *hash_self(void *arg)
{
    struct hashing *h = arg;
    h->done = ypi_self_hash(h->hash);
    return NULL;
}

static void hash_program(struct hashing *h)
{
    enum { STACK = 64 << 10 };
    (void)yp_isa(); /* from the environment, which is changed beside the thread */
    h->begun = ypi_thread_begin(&h->thread, hash_self, h, STACK);
}

/* NULL: it cannot be read. */
static const char *hash_of_program(struct hashing *h)
{
    if (h->begun)
        pthread_join(h->thread, NULL);
    else
        hash_self(h);
    return h->done ? h->hash : NULL;
}

static void add_sources(struct ypi_environment *environment, const char *program)
{
    struct ypi_sources sources = ypi_sources_find(program);
    ypi_environment_add_sources(environment, &sources);
    ypi_sources_clear(&sources);
}

static enum ypi_exit run(struct ypi_options *o, struct ypi_collection *c, int selected,
                         const char *line, const char *arranged)
{
    signal(SIGXFSZ, on_file_too_large);
    struct ypi_environment environment = {0};
    const char *program = ypi_self_path();
    struct hashing hashing = {0};
    const bool kept = o->turns == NULL; /* else none of these many histories is */
    if (kept)
        hash_program(&hashing);
    ypi_environment_read(&environment);
    if (kept)
        add_sources(&environment, program);
    ypi_environment_add_program(&environment, ypi_all_tests(),
                                kept ? hash_of_program(&hashing) : NULL);
    ypi_environment_add_devices(&environment);

    int option_count = 0;
    char **options = ypi_options_reproduce(o, any_relation(c, selected), &option_count);
    struct ypi_run record = {.started = ypi_wall_clock(),
                             .seed = o->seed,
                             .command = line,
                             .program = program,
                             .speed_judged = o->speed == YPI_SPEED_JUDGE,
                             .slowdown = o->slowdown > 1 ? o->slowdown : 0,
                             .no_fork = o->no_fork,
                             .memory_limit = o->memory_limit,
                             .environment = &environment,
                             .reproduce_options = (const char *const *)options,
                             .reproduce_option_count = option_count};
    ypi_uuid(record.id);
    struct ypi_session session = {.o = o,
                                  .environment = &environment,
                                  .run_id = record.id,
                                  .program = program,
                                  .collected = c->meant,
                                  .deselected = c->meant - selected,
                                  .arranged = arranged,
                                  .total = ypi_plan_runs(c, selected, o),
                                  .started = ypi_now()};
    struct ypi_runner runner = {.o = o, .session = &session, .out = take_output(o)};
    struct ypi_plan plan = {.directory_fd = -1, .memory = -1};
    enum ypi_exit code = YPI_EXIT_INTERNAL;
    struct ypi_attached baselines = {0};
    bool ready = ypi_reports_open(&runner.reports, &session, runner.out, &runner.totals) == YP_OK &&
                 ypi_make_parents(o->history) == YP_OK;
    runner.history = ready ? ypi_history_open(o->history) : NULL;
    if (runner.history != NULL &&
        !ypi_baselines_attach(&baselines, o, &environment, c->cases, selected)) {
        code = YPI_EXIT_USAGE;
        ypi_report(&runner.reports, YPI_RUN_DROPPED, NULL);
        /* Its directory is locked before onlookers can find the run in the history. */
    } else if (runner.history == NULL || ypi_plan_make(&plan, c, selected, o, record.id) != YP_OK ||
               ypi_history_begin(runner.history, &record) != YP_OK) {
        fprintf(stderr, "error: %s\n", yp_last_error());
        ypi_report(&runner.reports, YPI_RUN_DROPPED, NULL);
    } else {
        runner.exact_fails = baselines.exact_fails;
        ypi_run(&runner, &plan);
        code = exit_code(&runner);
        if (code != YPI_EXIT_INTERRUPTED && !written(runner.out))
            code = YPI_EXIT_INTERNAL;
        if (ypi_history_finish(runner.history, record.id, ypi_wall_clock(), (int)code) != YP_OK)
            fprintf(stderr, "error: %s\n", yp_last_error());
    }
    fclose(runner.out);
    ypi_plan_clear(&plan);
    ypi_history_close(runner.history);
    ypi_attached_clear(&baselines);
    ypi_list_free(options, option_count);
    ypi_environment_clear(&environment);
    /* In TAP the lines carry the failures; a status as well would make them an error of the
     * program to meson. */
    return ypi_reports_protocol(o) && code == YPI_EXIT_FAILED ? YPI_EXIT_OK : code;
}

static enum ypi_exit select_and_arrange(struct ypi_collection *c, const struct ypi_options *o,
                                        int *selected, char **arranged)
{
    enum ypi_exit code = ypi_select(c, o, selected);
    if (code != YPI_EXIT_OK)
        return code;
    if (ypi_arrange(c, o, selected, arranged) == YP_OK) {
        ypi_bring_fixtures(c, selected);
        return code;
    }
    fprintf(stderr, "error: %s\n", yp_last_error());
    return YPI_EXIT_INTERNAL;
}

static enum ypi_exit collect_and_run(struct ypi_options *o, char **argv, char *line)
{
    const struct ypi_tests tests = ypi_all_tests();
    struct ypi_collection c;
    int selected = 0;
    char *arranged = NULL;
    ypi_confine_isa(o); /* before anybody asks, as files of budgets do */
    ypi_collect(&c, o, tests);
    c.errors += ypi_linked_problems();
    enum ypi_exit code = c.errors > 0         ? YPI_EXIT_INTERRUPTED
                         : c.usage_errors > 0 ? YPI_EXIT_USAGE
                                              : select_and_arrange(&c, o, &selected, &arranged);
    if (c.errors > 0)
        fprintf(stderr, "%d error%s at collection, nothing was run\n", c.errors,
                c.errors > 1 ? "s" : "");
    if (code == YPI_EXIT_OK && selected == 0) {
        fprintf(stderr, "no case selected: %d collected%s\n", c.count,
                c.count > 0 ? ", all deselected" : "");
        if (tests.begin == tests.end)
            fputs("no test is linked into this program; a static library of tests has to be linked "
                  "as a whole (meson: link_whole, else -Wl,--whole-archive)\n",
                  stderr);
        code = YPI_EXIT_NOTHING;
    } else if (code == YPI_EXIT_OK && o->collect_only) {
        ypi_list(&c, selected, o);
    } else if (code == YPI_EXIT_OK && o->gdb) {
        code = ypi_debug(&c, selected, argv);
    } else if (code == YPI_EXIT_OK && !o->no_fork && ypi_socket_secure() != YP_OK) {
        fprintf(stderr, "error: %s\n", yp_last_error());
        code = YPI_EXIT_INTERNAL;
    } else if (code == YPI_EXIT_OK) {
        code = run(o, &c, selected, line, arranged);
    }
    free(arranged);
    ypi_collection_clear(&c);
    return code;
}

/* A file opened while one of the three is closed would take its place and be written to. */
static void open_standard_streams(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd > STDERR_FILENO)
        close(fd);
}

int ypi_program(int argc, char **argv)
{
    struct ypi_options o;
    const struct ypi_job *job = NULL;
    open_standard_streams();
    if (ypi_rank_executed(&job) || ypi_callgrind_executed(&job)) {
        if (job != NULL)
            ypi_child_direct(job);
        fprintf(stderr, "error: %s\n", yp_last_error());
        return YPI_EXIT_INTERNAL;
    }
    if (!ypi_self_without_loader(argc)) {
        fprintf(stderr, "error: %s\n", yp_last_error());
        return YPI_EXIT_USAGE;
    }
    enum ypi_exit code = ypi_options_read(&o, argc, argv);
    if (code == YPI_EXIT_OK) {
        if (o.help) {
            ypi_options_help(argc > 0 ? argv[0] : "program");
        } else if (o.version) {
            puts("yieldpoint " YPI_VERSION);
        } else if (o.show_config) {
            ypi_show_configuration(&o);
        } else if (o.markers) {
            print_tags(&o);
        } else {
            char *line = command_line(argc, argv);
            code = collect_and_run(&o, argv, line);
            free(line);
        }
    }
    ypi_options_clear(&o);
    return code == YPI_EXIT_OK && !written(stdout) ? (int)YPI_EXIT_INTERNAL : (int)code;
}
