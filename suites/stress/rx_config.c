/* A pipeline and its training from an ini file: the same as those options in code, and what a wrong
 * line is told. */
#include "models/rx/config.h"
#include "suites/file_tiles.h"
#include "suites/stress/training.h"

#include <stdio.h>
#include <string.h>

static void write_text(struct yp_case *t, const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    yp_require(t, file != NULL, "%s cannot be written", path);
    bool written = fputs(text, file) >= 0;
    written = fclose(file) == 0 && written;
    yp_require(t, written, "%s cannot be written", path);
}

static const char text[] = "# what the case below sets in code\n"
                           "[minmax]\n"
                           "[selector]\n"
                           "keep = 4\n"
                           "temperature = 2\n"
                           "temperature_decay = 0.5   ; an epoch\n"
                           "; and the least of it\n"
                           "temperature_min = 0.3\n"
                           "entropy = 0.02\n"
                           "diversity = 0.01\n"
                           "start = uniform\n"
                           "hard = weights\n"
                           "[pca]\n"
                           "components = 5\n"
                           "orthogonality = 0.1\n"
                           "whiten = true\n"
                           "[detector]\n"
                           "kind = global\n"
                           "eps = 1e-4\n"
                           "[logit]\n"
                           "scale = 0.5\n"
                           "[loss]\n"
                           "positive_weight = 3\n"
                           "[train]\n"
                           "epochs = 2\n"
                           "batch = 2\n"
                           "clip = 0.5\n"
                           "schedule = cosine\n"
                           "[adamw]\n"
                           "lr = 0.01\n"
                           "weight_decay = 0\n"
                           "[cosine]\n"
                           "warmup = 2\n"
                           "steps = 8\n";

static struct training_plan plan_in_code(void)
{
    struct training_plan p = {.options = {.normalise = true,
                                          .select = true,
                                          .keep = 4,
                                          .temperature = 2,
                                          .temperature_decay = 0.5,
                                          .temperature_min = 0.3,
                                          .entropy = 0.02,
                                          .diversity = 0.01,
                                          .uniform = true,
                                          .hard = RX_TOP_WEIGHTS,
                                          .components = 5,
                                          .orthogonality = 0.1,
                                          .whiten = true,
                                          .eps = 1e-4,
                                          .scale = 0.5F,
                                          .positive_weight = 3},
                              .config = train_defaults()};
    p.config.epochs = 2;
    p.config.batch = 2;
    p.config.clip = 0.5;
    p.config.schedule = TRAIN_COSINE;
    p.config.adamw.lr = 0.01;
    p.config.adamw.weight_decay = 0;
    p.config.cosine.warmup = 2;
    p.config.cosine.steps = 8;
    return p;
}

static size_t train(struct yp_case *t, const struct training_plan *plan, float *parameters,
                    size_t room)
{
    const struct scale s = {.cubes = 10, .height = 32, .width = 32, .channels = 10};
    struct training_plan how = *plan;
    struct training f;
    how.options.threads = TRAINING_THREADS;
    training_open(&f, t, &s, &how);
    yp_data_hash(t, scene_tiles_hash(&f.tiles, t));
    yp_ok(t, training_begin(&f));
    yp_ok(t, train_run(f.train, 0));
    size_t count = f.objective.parameters;
    yp_require(t, count <= room, "%zu parameters", count);
    memcpy(parameters, train_parameters(f.train), count * sizeof *parameters);
    training_close(&f);
    return count;
}

/* What a file says and what code says trains to the same bits; the text is saved as it was. */
YP_TEST(rx, config_trains, .tags = "stress small", .devices = "cpu cuda", .timeout = 120)
{
    enum { ROOM = 1024 };
    char path[512], copy[512];
    struct rx_config config, again;
    tmp_file(t, "rx.ini", path);
    tmp_file(t, "rx.checkpoint.ini", copy);
    write_text(t, path, text);
    yp_ok(t, rx_config_read(path, &config));
    yp_expect(t, config.length == sizeof text - 1 && strcmp(config.text, text) == 0,
              "the text is another");
    yp_ok(t, rx_config_save(&config, copy));
    yp_ok(t, rx_config_read(copy, &again));
    yp_expect(t, strcmp(again.text, text) == 0, "the saved text is another");
    yp_expect(t, rx_config_identity(&config) == rx_config_identity(&again),
              "the same file has another identity");
    again.training.epochs++;
    again.options.max_error = 0.5;
    yp_expect(t, rx_config_identity(&config) == rx_config_identity(&again),
              "what may differ in a run that is taken up gives another identity");
    again.options.precision = RX_OPERANDS_BF16;
    yp_expect(t, rx_config_identity(&config) != rx_config_identity(&again),
              "another precision has the same identity");
    again.options.precision = RX_OPERANDS_FP32;
    again.options.entropy = 0.03;
    yp_expect(t, rx_config_identity(&config) != rx_config_identity(&again),
              "other options have the same identity");
    float *parameters[2];
    struct training_plan in_code = plan_in_code();
    struct training_plan in_file = {.options = config.options, .config = config.training};
    for (int way = 0; way < 2; way++)
        parameters[way] = yp_alloc_host(t, ROOM * sizeof(float));
    size_t count = train(t, &in_code, parameters[0], ROOM);
    size_t other = train(t, &in_file, parameters[1], ROOM);
    yp_expect(t, count == other && memcmp(parameters[0], parameters[1], count * sizeof(float)) == 0,
              "the file trains to other bits");
    rx_config_clear(&config);
    rx_config_clear(&again);
}

/* Every name of the file goes to a member of its own: each value is another. */
YP_TEST(rx, config_takes, .tags = "stress small", .timeout = 60, .parallel = true)
{
    static const char first[] =
        "[minmax]\nby_sample = true\n[selector]\nkeep = 7\ntemperature = 1.5\n"
        "train_temperature = true\ntemperature_decay = 0.7\ntemperature_min = 0.4\n"
        "entropy = -0.25\ndiversity = 0.125\nstart = uniform\nhard = ones\n"
        "[pca]\ncomponents = 9\northogonality = 0.6\nwhiten = true\nresidual = true\n"
        "[detector]\nkind = image\neps = 0.01\nshrink = 0.2\nmask_dead = true\nmax_error = 0.3\n"
        "inverse = pinv\n[logit]\nscale = 2.5\n"
        "[loss]\npositive_weight = 8\n[train]\nseed = 12\nvalidation = 0.35\nepochs = 13\n"
        "batch = 14\naccumulate = 15\noptimiser = sgd\nprecision = bf16\nclip = 1.25\n"
        "average = 0.6\n"
        "schedule = plateau\n"
        "patience = 16\nmax_skipped = 17\nkeep_best = false\ncheckpoint_every = 18\n"
        "[sgd]\nlr = 0.021\nmomentum = 0.8\ndampening = 0.15\nweight_decay = 0.022\n"
        "nesterov = true\n[plateau]\nfactor = 0.45\npatience = 19\nthreshold = 0.023\n"
        "absolute = true\ncooldown = 20\nmin_lr = 0.024\neps = 0.025\n"
        "[scaling]\ninitial = 1024\ngrowth = 3\nbackoff = 0.55\ninterval = 21\n";
    static const char second[] =
        "[detector]\nkind = autoencoder\nhidden = 3\nseed = 11\n"
        "[train]\nschedule = cosine\nprecision = fp16\n[adamw]\nlr = 0.026\nbeta1 = 0.85\nbeta2 = "
        "0.95\n"
        "eps = 0.027\nweight_decay = 0.028\n[cosine]\nwarmup = 22\nsteps = 23\nmin_lr = 0.029\n";
    char path[512];
    struct rx_config config;
    tmp_file(t, "rx.ini", path);
    write_text(t, path, first);
    yp_ok(t, rx_config_read(path, &config));
    const struct rx_pipeline_options *o = &config.options;
    const struct train_config *c = &config.training;
    yp_expect(t,
              o->normalise && o->by_sample && o->select && o->train_temperature && o->uniform &&
                  o->whiten && o->residual && o->mask_dead && o->hard == RX_TOP_ONES &&
                  o->detector == RX_IMAGE && o->inverse == RX_PINV_F32 &&
                  o->precision == RX_OPERANDS_BF16,
              "a word went elsewhere");
    yp_expect(t,
              o->keep == 7 && o->temperature == 1.5 && o->temperature_decay == 0.7 &&
                  o->temperature_min == 0.4 && o->entropy == -0.25 && o->diversity == 0.125,
              "a number of the selector went elsewhere");
    yp_expect(t,
              o->components == 9 && o->orthogonality == 0.6 && o->eps == 0.01 && o->shrink == 0.2 &&
                  o->max_error == 0.3 && o->scale == 2.5F && o->positive_weight == 8,
              "a number of another node went elsewhere");
    yp_expect(t,
              c->seed == 12 && c->validation == 0.35 && c->epochs == 13 && c->batch == 14 &&
                  c->accumulate == 15 && c->optimiser == TRAIN_SGD && c->clip == 1.25 &&
                  c->average == 0.6 && c->schedule == TRAIN_PLATEAU && c->patience == 16 &&
                  c->max_skipped == 17 && !c->keep_best && c->checkpoint_every == 18,
              "a setting of the trainer went elsewhere");
    yp_expect(t,
              c->sgd.lr == 0.021 && c->sgd.momentum == 0.8 && c->sgd.dampening == 0.15 &&
                  c->sgd.weight_decay == 0.022 && c->sgd.nesterov,
              "a setting of SGD went elsewhere");
    yp_expect(t,
              c->plateau.factor == 0.45 && c->plateau.patience == 19 &&
                  c->plateau.threshold == 0.023 && c->plateau.absolute &&
                  c->plateau.cooldown == 20 && c->plateau.min_lr == 0.024 &&
                  c->plateau.eps == 0.025,
              "a setting of the plateau went elsewhere");
    yp_expect(t,
              c->scaling.initial == 1024 && c->scaling.growth == 3 && c->scaling.backoff == 0.55 &&
                  c->scaling.interval == 21,
              "a setting of the loss scale went elsewhere");
    rx_config_clear(&config);
    write_text(t, path, second);
    yp_ok(t, rx_config_read(path, &config));
    yp_expect(t,
              c->adamw.lr == 0.026 && c->adamw.beta1 == 0.85 && c->adamw.beta2 == 0.95 &&
                  c->adamw.eps == 0.027 && c->adamw.weight_decay == 0.028 &&
                  c->schedule == TRAIN_COSINE && c->cosine.warmup == 22 && c->cosine.steps == 23 &&
                  c->cosine.min_lr == 0.029,
              "a setting of AdamW or the cosine went elsewhere");
    yp_expect(t, o->detector == RX_AUTOENCODER && o->hidden == 3 && o->seed == 11,
              "a setting of the autoencoder went elsewhere");
    yp_expect(t,
              o->precision == RX_OPERANDS_FP16 && c->scaling.initial == 65536 &&
                  c->scaling.growth == 2 && c->scaling.backoff == 0.5 &&
                  c->scaling.interval == 2000,
              "fp16 has not PyTorch's scale of the loss, but %g", c->scaling.initial);
    rx_config_clear(&config);
    write_text(t, path, "[train]\nprecision = fp16\n[scaling]\ninitial = 0\n");
    yp_ok(t, rx_config_read(path, &config));
    yp_expect(t, c->scaling.initial == 0, "a scale that the file has not is %g",
              c->scaling.initial);
    rx_config_clear(&config);
}

/* The place, the name and what is allowed. */
YP_TEST(rx, config_refuses, .tags = "stress small", .timeout = 60, .parallel = true)
{
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"[minmax]\n[selektor]\n", "rx.ini:2: section 'selektor' is not known, allowed are minmax, "
                                   "selector, pca, detector"},
        {"[selector]\nkeep = -1\n",
         "rx.ini:2: keep is '-1', allowed are numbers from 0 up to 1e+06"},
        {"[selector]\nkeep = nan\n", "rx.ini:2: keep is 'nan'"},
        {"[selector]\nkeep = 3 channels\n", "rx.ini:2: keep is '3 channels'"},
        {"[selector]\nkeep = 3 # channels\n", "rx.ini:2: keep is '3 # channels'"},
        {"[selector]\nkept = 1\n",
         "rx.ini:2: 'kept' is not known in [selector], allowed are keep,"},
        {"[selector]\n\nkeep = 1\nkeep = 2\n", "rx.ini:4: keep of [selector] is given twice"},
        {"[selector]\nhard = yes\n", "rx.ini:2: hard is 'yes', allowed are soft, weights, ones"},
        {"[minmax]\nby_sample = 1\n", "rx.ini:2: by_sample is '1', allowed are false, true"},
        {"[pca]\nwhiten = true\n", "rx.ini:1: components of [pca] is missing"},
        {"[pca]\ncomponents = 2\nresidual = 1\n",
         "rx.ini:3: residual is '1', allowed are false, true"},
        {"[pca]\ncomponents = 2.5\n", "allowed are whole numbers from 1 up to"},
        {"[train]\nepochs = -1\n", "epochs is '-1', allowed are whole numbers of 0 to 2^64 - 1"},
        {"[train]\nepochs = 99999999999999999999\n", "rx.ini:2: epochs is"},
        {"[adamw]\nlr = 0\n", "rx.ini:2: lr is '0', allowed are numbers above 0"},
        {"epochs = 1\n", "rx.ini:1: 'epochs' stands before the first section"},
        {"[detector]\nhidden = 3\n",
         "rx.ini: hidden of [detector] is given, and a detector of kind global does not take it"},
        {"[detector]\nkind = lad\neps = 0.1\n", "eps of [detector] is given"},
        {"[detector]\nkind = autoencoder\n[logit]\nscale = 2\n",
         "scale of [logit] is given, and a detector of kind autoencoder does not"},
        {"[sgd]\nlr = 0.1\n", "lr of [sgd] is given, and optimiser of [train] is another"},
        {"[cosine]\nwarmup = 1\n", "warmup of [cosine] is given, and schedule of [train]"},
        {"[train]\nprecision = 16-mixed\n",
         "rx.ini:2: precision is '16-mixed', allowed are fp32, bf16, fp16"},
        {"[scaling]\ninitial = -1\n", "rx.ini:2: initial is '-1', allowed are numbers from 0"},
        {"[scaling]\ninitial = 8\nbackoff = 1.5\n", "rx.ini:3: backoff is '1.5', allowed are"},
        {"[scaling]\ninitial = 8\ngrowth = 1\n",
         "rx.ini:3: growth is '1', allowed are numbers above 1"},
        {"[scaling]\ninterval = 5\n", "interval of [scaling] is given, and there is no scale"},
        {"[train]\nnonsense\n", "has a line that is no [section]"},
    };
    char path[512];
    tmp_file(t, "rx.ini", path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rx_config config;
        write_text(t, path, wrong[i].text);
        enum yp_status status = rx_config_read(path, &config);
        yp_expect(t, status == YP_INVALID && strstr(yp_last_error(), wrong[i].words) != NULL,
                  "file %zu: status %d, '%s', expected '%s'", i, (int)status, yp_last_error(),
                  wrong[i].words);
    }
    struct rx_config config;
    tmp_file(t, "none.ini", path);
    yp_expect(t, rx_config_read(path, &config) == YP_IO, "a file that is not there is read");
}
