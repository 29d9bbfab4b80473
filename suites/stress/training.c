#include "suites/stress/training.h"

#include "suites/file_tiles.h"
#include "suites/pipelines.h"

#include <string.h>

void training_open(struct training *f, struct yp_case *t, const struct scale *s,
                   const struct training_plan *plan)
{
    size_t pixels = runs_on_gpu(t) ? s->height * s->width : TRAINING_TILE_PIXELS;
    scene_tiles_open(&f->tiles, t, s, pixels);
    struct rx_pipeline_options options = plan->options;
    options.channels = s->channels;
    options.tile_pixels = pixels;
    f->pipeline = open_pipeline(t, yp_device(t), &options);
    f->rx = open_rx(t, s->channels, pixels, options.threads);
    f->objective = rx_pipeline_objective(f->pipeline, f->tensors);
    f->objective.identity = yp_seed(t);
    f->config = plan->config;
    f->config.seed = yp_seed(t);
    if (!f->objective.no_logits) /* twice the targets that are expected */
        f->objective.targets = 64 + (size_t)(0.002 * scale_pixels(s));
    f->training = rx_training_create(yp_device_cpu(), &f->objective, &f->tiles.source,
                                     f->tiles.tiles_per_cube, &f->config);
    yp_got(t, f->training);
    f->train = rx_training_trainer(f->training);
    f->parameters = parameters_of(t, f->pipeline);
}

void training_close(struct training *f)
{
    rx_training_destroy(f->training);
    rx_pipeline_destroy(f->pipeline);
    rx_destroy(f->rx);
    scene_tiles_close(&f->tiles);
}

float *training_tensor(struct yp_case *t, const struct training *f, const char *name,
                       const float *parameters)
{
    for (size_t i = 0; i < f->objective.n_tensors; i++)
        if (strcmp(f->tensors[i].name, name) == 0)
            return (float *)(uintptr_t)parameters + f->tensors[i].offset;
    yp_fail(t, "the pipeline has no tensor '%s'", name);
}

enum yp_status training_begin(struct training *f)
{
    enum yp_status status = rx_pipeline_fit(
        f->pipeline, f->rx, rx_training_source(f->training, TRAIN_TRAINING), f->parameters, NULL);
    return status == YP_OK ? train_begin(f->train, f->parameters) : status;
}

/* Runs to the end; with `stop`, leaves after so many steps and goes on in a new trainer from the
 * checkpoint. Writes the parameters. */
static void run(struct yp_case *t, const struct scale *s, const struct training_plan *plan,
                uint64_t stop, const char *checkpoint, float *parameters)
{
    struct training f;
    training_open(&f, t, s, plan);
    yp_ok(t, training_begin(&f));
    yp_ok(t, train_run(f.train, stop));
    if (stop > 0) {
        yp_ok(t, train_save(f.train, checkpoint));
        training_close(&f);
        training_open(&f, t, s, plan);
        yp_ok(t, training_begin(&f)); /* what a trainer has done before is not to matter */
        yp_ok(t, train_run(f.train, 1));
        yp_ok(t, train_resume(f.train, checkpoint));
        yp_ok(t, train_run(f.train, 0));
    }
    memcpy(parameters, train_parameters(f.train), f.objective.parameters * sizeof *parameters);
    training_close(&f);
}

void training_resumes(struct yp_case *t, const struct scale *s, const struct training_plan *plan)
{
    struct training f;
    training_open(&f, t, s, plan);
    size_t bytes = f.objective.parameters * sizeof(float);
    training_close(&f);
    char checkpoint[512];
    tmp_file(t, "checkpoint", checkpoint);
    float *whole = yp_alloc_host(t, bytes), *other = yp_alloc_host(t, bytes);
    run(t, s, plan, 0, checkpoint, whole);
    static const uint64_t stops[] = {1, 3, 4, 7};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        run(t, s, plan, stops[i], checkpoint, other);
        yp_expect(t, memcmp(whole, other, bytes) == 0, "stopped after %llu steps: other bits",
                  (unsigned long long)stops[i]);
    }
    struct training_plan alone = *plan;
    alone.options.threads = 1;
    run(t, s, &alone, 3, checkpoint, other);
    yp_expect(t, memcmp(whole, other, bytes) == 0, "one thread: other bits");
}
