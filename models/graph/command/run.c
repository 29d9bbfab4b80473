/* One pass over the graphs of a file, and what comes out of it. */
#include "models/graph/command/internal.h"

#include "base/system/clock.h"
#include "base/text/figures.h"
#include "base/text/output.h"
#include "models/graph/files.h"
#include "models/train/optimiser.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of the dump: mixture, logit, coverage, and five numbers of the loss. */
enum { RESULTS = 8 };

struct run {
    const struct ypi_graph_request *r;
    struct graph_options o;
    struct graph_batch batch;
    void *parameters, *gradient; /* in the pass's numbers */
    struct graph_result result;
    struct graph_loss loss;
    double seconds;
    bool not_finite; /* the error is of a result that is not */
};

/* -- weights ---------------------------------------------------------------------------------- */

static void *vector(const struct run *run)
{
    const size_t element = run->o.oracle ? sizeof(double) : sizeof(float);
    return yp_device_alloc(yp_device_cpu(), graph_elements(&run->o, GRAPH_PARTS) * element);
}

/* Those of training's start; for the oracle the same values, widened in place from the end. */
static void initialise(struct run *run)
{
    const size_t n = graph_elements(&run->o, GRAPH_PARTS);
    float *narrow = run->parameters;
    double *wide = run->parameters;
    graph_draw(&run->o, run->r->seed, narrow);
    for (size_t i = n; i-- > 0 && run->o.oracle;)
        wide[i] = (double)narrow[i];
}

static enum yp_status take_weights(struct run *run)
{
    struct state_vectors v = {.at = {run->parameters = vector(run)}, .wide = run->o.oracle};
    if (run->parameters == NULL)
        return yp_last_status();
    if (run->r->load != NULL)
        return state_load(run->r->load, graph_state, &run->o, state_take_vectors, &v);
    initialise(run);
    return YP_OK;
}

/* -- the pass --------------------------------------------------------------------------------- */

static enum yp_status take_results(struct run *run)
{
    const size_t n = run->batch.nodes, k = run->o.modes;
    struct yp_device *cpu = yp_device_cpu();
    run->result = (struct graph_result){
        .mixture = yp_device_alloc(cpu, (n * k * run->o.future * 5 + 1) * sizeof(double)),
        .logit = yp_device_alloc(cpu, (n * k + 1) * sizeof(double)),
        .coverage = yp_device_alloc(cpu, run->batch.graphs * sizeof(double))};
    return run->result.mixture != NULL && run->result.logit != NULL && run->result.coverage != NULL
               ? YP_OK
               : YP_OUT_OF_MEMORY;
}

static double element(const struct run *run, const void *vector, size_t i)
{
    return run->o.oracle ? ((const double *)vector)[i] : (double)((const float *)vector)[i];
}

/* Of nodes that do not count, too, which the loss says nothing of. */
static enum yp_status check_outputs(struct run *run)
{
    const size_t n = run->batch.nodes * run->o.modes;
    const struct {
        const char *name;
        const double *values;
        size_t count;
    } outputs[] = {{"mixture", run->result.mixture, n * run->o.future * 5},
                   {"logit", run->result.logit, n},
                   {"coverage", run->result.coverage, run->batch.graphs}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        for (size_t k = 0; k < outputs[i].count; k++)
            if (!isfinite(outputs[i].values[k])) {
                run->not_finite = true;
                return yp_set_error(YP_INVALID,
                                    "%s: element %zu of '%s' is %g, of finite weights and graphs",
                                    run->r->graphs, k, outputs[i].name, outputs[i].values[k]);
            }
    return YP_OK;
}

/* Weights may be finite and what is made of them beyond float. */
static enum yp_status check_results(struct run *run)
{
    const char *of = run->r->load != NULL ? run->r->load : "weights to start from",
               *graphs = run->r->graphs;
    struct graph_tensor t;
    run->not_finite = !isfinite(run->loss.total);
    if (run->not_finite)
        return yp_set_error(YP_INVALID, "%s, %s: the loss is %g, of finite weights and graphs", of,
                            graphs, run->loss.total);
    for (size_t i = 0; run->gradient != NULL && graph_tensor(&run->o, i, &t); i++)
        for (size_t k = 0; k < t.count; k++) {
            const double value = element(run, run->gradient, t.offset + k);
            run->not_finite = !isfinite(value);
            if (run->not_finite)
                return yp_set_error(YP_INVALID, "%s, %s: the gradient of '%s' is %g", of, graphs,
                                    t.name, value);
        }
    return check_outputs(run);
}

/* Of the loss: gradients in 16 bits lose what is below 2^-24. */
#define SCALE_FP16 1024.0

static enum yp_status pass(struct run *run)
{
    const struct graph_use use = {.losses = true, .gradient = run->gradient != NULL};
    struct graph *graph = graph_create(&run->o);
    enum yp_status status = graph != NULL ? graph_load(graph, &run->batch, use) : yp_last_status();
    const double scale = run->o.precision == NN_FP16 && !run->o.oracle ? SCALE_FP16 : 1;
    const double begun = ypi_now();
    if (status == YP_OK)
        status = graph_pass(graph, run->parameters, scale, run->gradient, NN_MODEL_COPY);
    run->seconds = ypi_now() - begun;
    if (run->gradient != NULL && scale != 1)
        train_scale_gradient(graph_elements(&run->o, GRAPH_PARTS), 1 / scale, run->gradient);
    if (status == YP_OK)
        status = graph_read_loss(graph, &run->loss);
    if (status == YP_OK)
        status = graph_read(graph, run->result);
    graph_destroy(graph);
    return status == YP_OK ? check_results(run) : status;
}

/* -- the dump --------------------------------------------------------------------------------- */

static struct state_values entry(const char *name, size_t axes, const size_t *shape,
                                 const double *values)
{
    struct state_values entry = {
        .tensor = {.axes = axes, .order = {0, 1, 2, 3}}, .values = values, .wide = true};
    snprintf(entry.tensor.name, sizeof entry.tensor.name, "%s", name);
    for (size_t i = 0; i < axes; i++)
        entry.tensor.shape[i] = shape[i];
    return entry;
}

static enum yp_status dump(const struct run *run)
{
    const struct state_vectors gradients = {.at = {run->gradient}, .wide = run->o.oracle};
    const size_t n = run->batch.nodes, k = run->o.modes, graphs = run->batch.graphs;
    const size_t mixture[4] = {n, k, run->o.future, 5};
    const size_t count = RESULTS + state_values_of(graph_state, &run->o, &gradients, "", NULL);
    struct state_values *all = yp_device_alloc(yp_device_cpu(), count * sizeof *all);
    if (all == NULL)
        return yp_last_status();
    const struct state_values results[RESULTS] = {
        entry("mixture", 4, mixture, run->result.mixture),
        entry("logit", 2, mixture, run->result.logit),
        entry("coverage", 1, &graphs, run->result.coverage),
        entry("loss", 0, NULL, &run->loss.total),
        entry("loss.likelihood", 0, NULL, &run->loss.likelihood),
        entry("loss.coverage", 0, NULL, &run->loss.coverage),
        entry("loss.terms", 0, NULL, &run->loss.terms),
        entry("loss.collision", 0, NULL, &run->loss.collision)};
    memcpy(all, results, sizeof results);
    state_values_of(graph_state, &run->o, &gradients, ".grad", all + RESULTS);
    const enum yp_status status = state_save(run->r->dump, all, count);
    yp_device_free(yp_device_cpu(), all);
    return status;
}

/* -- the command ------------------------------------------------------------------------------ */

static enum yp_status make(struct run *run)
{
    const struct state_file inputs[] = {{"graphs", run->r->graphs}, {"load", run->r->load}};
    enum yp_status status = state_check_output((struct state_file){"dump", run->r->dump}, inputs,
                                               sizeof inputs / sizeof *inputs);
    if (status == YP_OK)
        status = graph_read_file(run->r->graphs, &run->batch);
    if (status != YP_OK)
        return status;
    run->o.history = run->batch.history;
    run->o.future = run->batch.future;
    status = graph_check_options(&run->o);
    if (status == YP_OK)
        status = take_weights(run);
    if (status == YP_OK)
        status = take_results(run);
    if (status == YP_OK && run->r->work != GRAPH_FORWARD) {
        run->gradient = vector(run);
        status = run->gradient != NULL ? YP_OK : yp_last_status();
    }
    if (status == YP_OK)
        status = pass(run);
    return status == YP_OK && run->r->dump != NULL ? dump(run) : status;
}

static int print(const struct run *run)
{
    const struct graph_batch *b = &run->batch;
    char seconds[YPI_FIGURE_MAX], rate[YPI_FIGURE_MAX];
    if (run->r->json) {
        cJSON *object = cJSON_CreateObject();
        const struct {
            const char *name;
            double value;
        } numbers[] = {{"loss", run->loss.total},
                       {"likelihood", run->loss.likelihood},
                       {"coverage", run->loss.coverage},
                       {"terms", run->loss.terms},
                       {"collision", run->loss.collision},
                       {"nodes_that_count", run->loss.nodes},
                       {"coverages_known", run->loss.covered},
                       {"graphs", (double)b->graphs},
                       {"nodes", (double)b->nodes},
                       {"edges", (double)b->edges},
                       {"seconds", run->seconds}};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            ypi_json_add_real(object, numbers[i].name, numbers[i].value);
        const int code = ypi_put_json(object);
        cJSON_Delete(object);
        return code;
    }
    ypi_format_seconds(seconds, run->seconds);
    ypi_format_rate(rate, (double)b->graphs / run->seconds, "graph");
    printf("loss %.9g: likelihood %.9g of %.0f nodes that count, coverage %.9g of %.0f graphs\n"
           "%zu graphs, %zu nodes, %zu edges; %s in %s, %s, the first pass\n",
           run->loss.total, run->loss.likelihood, run->loss.nodes, run->loss.coverage,
           run->loss.covered, b->graphs, b->nodes, b->edges, ypi_graph_work_name(run->r->work),
           seconds, rate);
    return ypi_flush();
}

int ypi_graph_pass(const struct ypi_graph_request *request)
{
    struct run run = {.r = request, .o = request->options};
    const enum yp_status status = make(&run);
    int code = status == YP_OK ? print(&run) : ypi_file_error();
    if (status == YP_INVALID)
        code = run.not_finite ? YPI_COMMAND_NOTHING : YPI_COMMAND_USAGE;
    graph_give_back(&run.batch);
    void *const owned[] = {run.parameters, run.gradient, run.result.mixture, run.result.logit,
                           run.result.coverage};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        yp_device_free(yp_device_cpu(), owned[i]);
    return code;
}
