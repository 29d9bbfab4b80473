/* Training on plays in files of tracking data. */
#include "models/graph/command/internal.h"

#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text/figures.h"
#include "base/text/output.h"
#include "models/graph/command/progress.h"
#include "models/graph/data.h"
#include "models/graph/files.h"
#include "models/graph/train.h"
#include "ranks/communicator.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct training {
    const struct ypi_graph_request *r;
    struct graph_options o;
    struct graph_data *data;
    struct graph_batch *block; /* of the batch that was read last */
    size_t bytes;
    struct graph_trainee *trainee;
    struct train_objective objective;
    struct train *train;
    struct train_log *log;
    struct ypi_graph_progress progress;
    bool finite, diverged; /* losses: of an epoch before, of the last one not */
    uint64_t made;         /* steps, at the end of the epoch before */
};

/* -- graphs ----------------------------------------------------------------------------------- */

static void tell(void *arg, const char *text)
{
    const struct training *t = arg;
    if (!t->r->quiet)
        fprintf(stderr, "graph: %s\n", text);
}

static void progress(void *arg, size_t done, size_t graphs, double seconds_left)
{
    struct training *t = arg;
    char text[YPI_GRAPH_PROGRESS];
    if (!t->r->quiet)
        fputs(ypi_graph_progress(&t->progress, ypi_now(), done, graphs, seconds_left, text),
              stderr);
}

static enum yp_status open_data(struct training *t)
{
    const struct graph_reading reading = {
        .skip_bad_rows = t->r->skip_bad_rows, .tell = tell, .arg = t};
    const struct graph_caching caching = {
        .where = t->r->cache, .threads = 1, .tell = tell, .progress = progress, .arg = t};
    t->progress.terminal = isatty(STDERR_FILENO) != 0;
    struct graph_rules rules = GRAPH_RULES;
    rules.past = t->o.history + 1;
    rules.future = t->o.future;
    t->data = graph_data_open(yp_device_cpu(), t->r->data, &reading, &rules, &caching);
    if (t->data == NULL)
        return yp_last_status();
    if (graph_data_count(t->data) == 0)
        return yp_set_error(YP_INVALID, "%s: has no graph: must have plays of more than %zu frames",
                            t->r->data, rules.past + rules.future);
    t->bytes = graph_data_batch_bytes(t->data, t->r->sizes.graphs);
    t->block = yp_device_alloc(yp_device_cpu(), t->bytes);
    return t->block != NULL ? YP_OK : yp_last_status();
}

static enum yp_status read_batch(void *arg, const uint32_t *index, size_t count, int64_t epoch,
                                 struct graph_batch *out)
{
    struct training *t = arg;
    const bool changed = t->r->augment && epoch >= 0;
    const struct graph_augmentation how = {
        .seed = t->r->seed, .epoch = changed ? (uint64_t)epoch : 0, .flip = 0.5F, .noise = 0.1F};
    const enum yp_status status =
        graph_data_read(t->data, index, count, changed ? &how : NULL, t->block, t->bytes);
    if (status == YP_OK)
        *out = *t->block;
    return status;
}

/* -- the trainer ------------------------------------------------------------------------------ */

/* Of the loss, where it has one. */
static void print_scale(const struct training *t)
{
    struct train_state state;
    if (t->r->training.scaling.initial == 0)
        return;
    train_state(t->train, &state);
    printf(", scale %g, %" PRIu64 " step%s skipped", state.scale, state.skipped,
           state.skipped == 1 ? "" : "s");
}

/* A loss that is not finite ends the training. Where the loss is scaled, an epoch may have no loss
 * because all of its steps were skipped for their scale. */
static bool is_lost(struct training *t, const struct train_event *event)
{
    struct train_state state;
    train_state(t->train, &state);
    const bool judged = event->epoch > 0 && (state.step > t->made || state.scale == 1);
    t->made = state.step;
    return !isfinite(event->validation_loss) || (judged && !isfinite(event->train_loss));
}

static bool watch(void *arg, const struct train_event *event)
{
    struct training *t = arg;
    char seconds[YPI_FIGURE_MAX];
    if (t->log != NULL)
        train_log_watch(t->log, event);
    if (event->kind != TRAIN_EPOCH)
        return true;
    t->diverged = is_lost(t, event);
    t->finite = t->finite || !t->diverged;
    if (t->r->quiet)
        return !t->diverged;
    ypi_format_seconds(seconds, event->seconds);
    printf("epoch %" PRIu64 ": ", event->epoch);
    if (event->epoch > 0 && isfinite(event->train_loss))
        printf("training %.6g, ", event->train_loss);
    printf("validation %.6g%s", event->validation_loss, event->best ? " (best)" : "");
    for (size_t i = 0; i < t->objective.n_metrics && event->metrics != NULL; i++)
        printf(", %s %.4g", t->objective.metrics[i], event->metrics[i]);
    print_scale(t);
    printf("; %s\n", seconds);
    fflush(stdout);
    return !t->diverged;
}

/* First values: of the seed, or of a file. */
static enum yp_status begin(struct training *t)
{
    if (t->r->load == NULL)
        return train_begin(t->train, graph_trainee_start(t->trainee));
    struct state_vectors v = {
        .at = {yp_device_alloc(yp_device_cpu(), t->objective.parameters * sizeof(float))}};
    enum yp_status status = v.at[STATE_PARAMETERS] != NULL ? YP_OK : yp_last_status();
    if (status == YP_OK)
        status = state_load(t->r->load, graph_state, &t->o, state_take_vectors, &v);
    if (status == YP_OK)
        status = train_begin(t->train, v.at[STATE_PARAMETERS]);
    yp_device_free(yp_device_cpu(), v.at[STATE_PARAMETERS]);
    return status;
}

static enum yp_status open_trainer(struct training *t)
{
    const struct graph_source source = {.graphs = graph_data_count(t->data),
                                        .play = graph_data_groups(t->data),
                                        .read = read_batch,
                                        .arg = t,
                                        .augments = t->r->augment};
    struct train_config config = t->r->training;
    config.watch = watch;
    config.watch_arg = t;
    t->trainee = graph_trainee_create(&t->o, &source, config.batch, t->r->seed);
    if (t->trainee == NULL)
        return yp_last_status();
    t->objective = graph_trainee_objective(t->trainee);
    t->train = train_create(t->o.device, &t->objective, &config);
    if (t->train == NULL)
        return yp_last_status();
    return t->r->resume ? train_resume(t->train, t->r->checkpoint) : begin(t);
}

static enum yp_status open_log(struct training *t)
{
    struct train_state state;
    if (t->r->log == NULL)
        return YP_OK;
    train_state(t->train, &state);
    t->log = train_log_create(yp_device_cpu(), t->r->log, t->objective.metrics,
                              t->objective.n_metrics, t->r->resume ? &state : NULL);
    return t->log != NULL ? YP_OK : yp_last_status();
}

/* What would be found out after hours else: whether a file can be made there. */
static enum yp_status check_place(const char *path)
{
    char directory[YPI_PATH_MAX];
    if (path == NULL)
        return YP_OK;
    ypi_directory_of(directory, path);
    return access(directory, W_OK) == 0
               ? YP_OK
               : yp_set_error(YP_IO, "%s: cannot be made: %s", path, strerror(errno));
}

/* Each file is one of its own; weights may take the place of those where the training began. */
static enum yp_status check_files(const struct ypi_graph_request *r)
{
    const struct state_file files[] = {
        {"save", r->save}, {"load", r->load}, {"checkpoint", r->checkpoint}, {"log", r->log}};
    enum yp_status status = check_place(r->save);
    if (status == YP_OK)
        status = check_place(r->checkpoint);
    for (size_t i = 2; i < sizeof files / sizeof *files && status == YP_OK; i++)
        status = state_check_output(files[i], files, i);
    return status;
}

/* The weights with the best validation loss. */
static enum yp_status save(const struct training *t)
{
    struct state_vectors v = {.wide = false};
    const float *best = train_best(t->train);
    memcpy(&v.at[STATE_PARAMETERS], &best, sizeof best);
    const size_t count = state_values_of(graph_state, &t->o, &v, "", NULL);
    struct state_values *all = yp_device_alloc(yp_device_cpu(), count * sizeof *all);
    if (all == NULL)
        return yp_last_status();
    state_values_of(graph_state, &t->o, &v, "", all);
    const enum yp_status status = state_save(t->r->save, all, count);
    yp_device_free(yp_device_cpu(), all);
    return status;
}

static double first_rate(const struct train_config *config)
{
    return config->optimiser == TRAIN_SGD ? config->sgd.lr : config->adamw.lr;
}

/* Why it ended before the last epoch. */
static void tell_end(const struct training *t)
{
    struct train_state state;
    train_state(t->train, &state);
    if (!t->r->quiet && state.end == TRAIN_NO_BETTER)
        printf("stopped after epoch %" PRIu64 ": no better loss than that of epoch %" PRIu64 "\n",
               state.epoch, state.best_epoch);
}

/* Steps that are skipped to the end of max_skipped end a training as a loss that is lost. */
static enum yp_status train(struct training *t)
{
    struct train_state state;
    train_state(t->train, &state);
    t->made = state.step;
    enum yp_status status = train_run(t->train, 0);
    train_state(t->train, &state);
    if (status == YP_INVALID && state.end == TRAIN_SKIPPED) {
        t->diverged = true;
        status = YP_OK;
    }
    if (status == YP_OK)
        tell_end(t);
    return status;
}

/* Without the best weights those of the last step are kept, which may not be finite. */
static bool is_worth_saving(const struct training *t)
{
    return t->r->save != NULL && t->finite && (t->r->training.keep_best || !t->diverged);
}

static enum yp_status run(struct training *t)
{
    enum yp_status status = check_files(t->r);
    if (status == YP_OK)
        status = open_data(t);
    if (status == YP_OK)
        status = open_trainer(t);
    if (status == YP_OK && train_part_items(t->train, TRAIN_VALIDATION).count == 0)
        status = yp_set_error(YP_INVALID,
                              "%s: has no graph for validation: must have plays of more than %zu "
                              "frames for it and for training",
                              t->r->data, t->o.history + 1 + t->o.future);
    if (status == YP_OK)
        status = open_log(t);
    if (status == YP_OK && !t->r->quiet)
        printf("%zu parameters; %zu graphs for training, %zu for validation\n",
               t->objective.parameters, train_part_items(t->train, TRAIN_TRAINING).count,
               train_part_items(t->train, TRAIN_VALIDATION).count);
    if (status == YP_OK)
        status = train(t);
    if (status == YP_OK && is_worth_saving(t))
        status = save(t);
    if (status == YP_OK && t->diverged)
        status = yp_set_error(YP_INVALID,
                              "%s: the loss is not finite any more: must be trained "
                              "with a --lr below %g, or from other weights",
                              t->r->data, first_rate(&t->r->training));
    return status;
}

/* Seconds: for the start of all ranks, and for what one computes while others wait. */
#define JOIN 60.0
#define WAIT 3600.0

/* Where a launcher has started several. */
static enum yp_status join(struct ypi_graph_request *r)
{
    struct ypk_place place;
    const char *launcher;
    struct ypk_communicator *all = NULL;
    enum yp_status status = ypk_place_of_launcher(&place, &launcher);
    if (status == YP_OK && place.size > 1 && r->ranks == NULL)
        return yp_set_error(YP_INVALID,
                            "--ranks is missing: %s has started %d processes, which would each "
                            "train by themselves",
                            launcher, place.size);
    if (status == YP_OK && place.size > 1 && r->cache == GRAPH_CACHE_DISK)
        return yp_set_error(YP_INVALID, "--cache is disk, which one process writes: with --ranks "
                                        "off or memory");
    if (status != YP_OK || place.size == 1)
        return status;
    status = ypk_join(&all, &place, r->ranks, JOIN);
    if (status != YP_OK)
        return status;
    ypk_set_limit(all, WAIT);
    r->training.ranks.all = all;
    if (place.rank > 0) { /* the first one prints and writes */
        r->quiet = true;
        r->save = r->log = NULL;
    }
    return YP_OK;
}

int ypi_graph_train(const struct ypi_graph_request *request)
{
    struct ypi_graph_request own = *request;
    struct training t = {.r = &own, .o = request->options};
    enum yp_status status = join(&own);
    if (status == YP_OK)
        status = run(&t);
    const enum yp_status logged = train_log_destroy(t.log);
    status = status == YP_OK ? logged : status;
    train_destroy(t.train);
    graph_trainee_destroy(t.trainee);
    yp_device_free(yp_device_cpu(), t.block);
    graph_data_destroy(t.data);
    if (status != YP_OK)
        ypi_file_error();
    ypk_leave(own.training.ranks.all);
    if (status == YP_OK)
        return ypi_flush();
    if (t.diverged && status == YP_INVALID)
        return YPI_COMMAND_NOTHING;
    return status == YP_INVALID ? YPI_COMMAND_USAGE : YPI_COMMAND_FILE;
}
