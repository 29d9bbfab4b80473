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
    memcpy(parameters, train_best(f.train), count * sizeof *parameters);
    training_close(&f);
    return count;
}

/* What a file says and what code says trains to the same bits; the text is saved as it was. */
YP_TEST(rx, config_trains, .tags = "stress small", .devices = "cpu cuda", .timeout = 120)
{
    enum { ROOM = 1024 };
    struct scratch scratch;
    char path[512];
    char copy[512];
    struct rx_config config;
    struct rx_config again;
    scratch_open(&scratch, t);
    scratch_path(&scratch, "rx.ini", path);
    scratch_path(&scratch, "rx.checkpoint.ini", copy);
    write_text(t, path, text);
    yp_ok(t, rx_config_read(path, &config));
    yp_expect(t, config.length == sizeof text - 1 && strcmp(config.text, text) == 0,
              "the text is another");
    yp_ok(t, rx_config_save(&config, copy));
    yp_ok(t, rx_config_read(copy, &again));
    yp_expect(t, strcmp(again.text, text) == 0, "the saved text is another");
    yp_expect(t, rx_config_identity(&config) == rx_config_identity(&again),
              "the same file has another identity");
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
    scratch_close(&scratch);
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
        {"[selector]\nkept = 1\n",
         "rx.ini:2: 'kept' is not known in [selector], allowed are keep,"},
        {"[selector]\n\nkeep = 1\nkeep = 2\n", "rx.ini:4: keep of [selector] is given twice"},
        {"[selector]\nhard = yes\n", "rx.ini:2: hard is 'yes', allowed are soft, weights, ones"},
        {"[minmax]\nby_sample = 1\n", "rx.ini:2: by_sample is '1', allowed are false, true"},
        {"[pca]\nwhiten = true\n", "rx.ini:1: components of [pca] is missing"},
        {"[pca]\ncomponents = 2.5\n", "allowed are whole numbers from 1 up to"},
        {"[train]\nepochs = -1\n", "epochs is '-1', allowed are whole numbers of 0 to 2^64 - 1"},
        {"[train]\nepochs = 99999999999999999999\n", "rx.ini:2: epochs is"},
        {"[adamw]\nlr = 0\n", "rx.ini:2: lr is '0', allowed are numbers above 0"},
        {"epochs = 1\n", "rx.ini:1: 'epochs' stands before the first section"},
        {"[train]\nnonsense\n", "has a line that is no [section]"},
    };
    struct scratch scratch;
    char path[512];
    scratch_open(&scratch, t);
    scratch_path(&scratch, "rx.ini", path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rx_config config;
        write_text(t, path, wrong[i].text);
        enum yp_status status = rx_config_read(path, &config);
        yp_expect(t, status == YP_INVALID && strstr(yp_last_error(), wrong[i].words) != NULL,
                  "file %zu: status %d, '%s', expected '%s'", i, (int)status, yp_last_error(),
                  wrong[i].words);
    }
    struct rx_config config;
    scratch_path(&scratch, "none.ini", path);
    yp_expect(t, rx_config_read(path, &config) == YP_IO, "a file that is not there is read");
    scratch_close(&scratch);
}
