/* PCA before RX: what its components explain, whitened or not, and its scores beside those of RX on
 * all channels. */
#include "suites/stress/training.h"
#include "suites/worst.h"

#include <math.h>
#include <string.h>

static const struct scale small = {.cubes = 10, .height = 64, .width = 64, .channels = 10};

static struct training_plan plan_of(size_t components, bool whiten)
{
    return (struct training_plan){.options = {.threads = TRAINING_THREADS,
                                              .normalise = true,
                                              .components = components,
                                              .whiten = whiten},
                                  .config = train_defaults()};
}

static const float *tensor_of(const struct training *f, const char *name)
{
    for (size_t i = 0; i < f->objective.n_tensors; i++)
        if (strcmp(f->tensors[i].name, name) == 0)
            return f->parameters + f->tensors[i].offset;
    return NULL;
}

/* -- explained variance ------------------------------------------------------------------- */

/* Sums over the pixels of a source: of each channel, and of each component of W. */
struct moments {
    const float *w;
    size_t channels, components;
    double n, sum[16], squares[16], total_sum[16], total_squares[16];
};

static void add_pixel(struct moments *m, const float *x)
{
    for (size_t c = 0; c < m->channels; c++)
        if (!isfinite(x[c]))
            return;
    m->n++;
    for (size_t c = 0; c < m->channels; c++) {
        m->total_sum[c] += (double)x[c];
        m->total_squares[c] += (double)x[c] * (double)x[c];
    }
    for (size_t k = 0; k < m->components; k++) {
        double y = 0;
        for (size_t c = 0; c < m->channels; c++)
            y += (double)m->w[k * m->channels + c] * (double)x[c];
        m->sum[k] += y;
        m->squares[k] += y * y;
    }
}

/* Ratios against the variance of the projected pixels themselves, summed in double; those that W
 * has at the start, and those of a W that is not orthonormal any more. */
YP_TEST(rx, explained_variance, .tags = "stress small", .timeout = 60,
        .axes = YP_AXES(yp_axis_string("whiten", "no", "yes")),
        .budgets = YP_BUDGETS(yp_max_value("error", 7.8e-7), yp_min_value("of three", 0.98)))
{
    struct training f;
    struct training_plan how = plan_of(3, strcmp(yp_string(t, "whiten"), "yes") == 0);
    training_open(&f, t, &small, &how);
    yp_data_hash(t, scene_tiles_hash(&f.tiles, t));
    struct rx_start start;
    double ratios[3];
    double worst = 0;
    yp_ok(t, rx_pipeline_fit(f.pipeline, f.rx, &f.tiles.source, f.parameters, &start));
    float *w = (float *)(uintptr_t)tensor_of(&f, "W");
    float *values = yp_alloc_host(t, TRAINING_TILE_PIXELS * small.channels * sizeof *values);
    for (int moved = 0; moved < 2; moved++) {
        for (size_t i = 0; i < 3 * small.channels && moved == 1; i++)
            w[i] *= 1 + 0.1F * (float)(i % 7);
        yp_ok(t, rx_pipeline_explained(f.pipeline, f.rx, f.parameters, ratios));
        struct moments m = {.w = w, .channels = small.channels, .components = 3};
        for (size_t i = 0; i < f.tiles.source.tiles; i++) {
            struct rx_tile tile = {.values = values, .channels = small.channels};
            yp_ok(t, f.tiles.source.yield(f.tiles.source.arg, i, values, NULL, &tile));
            for (size_t p = 0; p < tile.pixels; p++)
                add_pixel(&m, tile.values + p * small.channels);
        }
        double all = 0;
        for (size_t c = 0; c < small.channels; c++)
            all += m.total_squares[c] - m.total_sum[c] * m.total_sum[c] / m.n;
        for (size_t k = 0; k < 3; k++) {
            double norm = 0;
            for (size_t c = 0; c < small.channels; c++)
                norm += (double)w[k * small.channels + c] * (double)w[k * small.channels + c];
            double right = (m.squares[k] - m.sum[k] * m.sum[k] / m.n) / norm / all;
            worst = worse(worst, fabs(ratios[k] - right) / right);
        }
        if (moved == 0)
            yp_expect(t, fabs(ratios[0] + ratios[1] + ratios[2] - start.explained) < 1e-6,
                      "the ratios' sum is %.9g, the start says %.9g",
                      ratios[0] + ratios[1] + ratios[2], start.explained);
    }
    yp_value(t, "error", worst);
    yp_value(t, "of three", start.explained);
    training_close(&f);
}

/* -- scores ------------------------------------------------------------------------------- */

static double apart(const float *a, const float *b, size_t count)
{
    double difference = 0;
    double all = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(a[i]) && isnan(b[i]))
            continue;
        difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        all += (double)b[i] * (double)b[i];
    }
    return sqrt(difference / all);
}

/* RX does not see that components are whitened, and on all of them is RX on the channels; on a few
 * it is another detector, whose ranking stands beside that of RX. Channels are points, which are
 * less alike, so that less of it is rounding. */
YP_TEST(rx, components_beside_channels, .tags = "stress small", .devices = "cpu cuda",
        .timeout = 60,
        .budgets = YP_BUDGETS(yp_max_value("whitened", 3.5e-7),
                              yp_max_value("all components", 8.2e-6)))
{
    static const struct {
        size_t components;
        bool whiten;
    } ways[] = {{0, false}, {10, false}, {10, true}, {5, false}, {5, true}};
    struct scale points = small;
    points.points = true;
    float *scores[5];
    struct training f;
    size_t count = 0;
    for (size_t way = 0; way < 5; way++) {
        struct training_plan how = plan_of(ways[way].components, ways[way].whiten);
        training_open(&f, t, &points, &how);
        yp_ok(t, training_begin(&f));
        const struct rx_source *source = rx_training_source(f.training, TRAIN_VALIDATION);
        count = source->tiles * source->tile_pixels;
        scores[way] = yp_alloc_host(t, count * sizeof **scores);
        yp_ok(t, rx_pipeline_score(f.pipeline, source, f.parameters, scores[way], NULL));
        struct rx_judgement judged;
        double loss = 0;
        yp_ok(t, rx_training_judge(f.training, TRAIN_VALIDATION, f.parameters, &loss, &judged));
        if (way == 0) {
            yp_value(t, "roc auc of channels", judged.ranked.roc_auc);
        }
        if (way == 3)
            yp_value(t, "roc auc of components", judged.ranked.roc_auc);
        training_close(&f);
    }
    yp_value(t, "all components",
             worse(apart(scores[1], scores[0], count), apart(scores[2], scores[0], count)));
    yp_value(t, "whitened", apart(scores[4], scores[3], count));
}
