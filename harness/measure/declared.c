/* What a measurement declares: what is allowed, and what holds where nothing is said. */
#include "harness/measure/count/callgrind.h"
#include "harness/measure/measurement.h"
#include "harness/vocabulary/budget.h"

#include "device/backend.h"
#include "device/ceiling/ceiling.h"
#include "device/cpu/binding.h"

#include <math.h>
#include <stdio.h>

enum {
    DEFAULT_MIN_SAMPLES = 10,
    DEFAULT_MAX_SAMPLES = 10000,
    DEFAULT_REQUESTS_WARMUP = 10,
    COUNTED_ITERATIONS = 3, /* under Callgrind */
};
#define DEFAULT_MAX_SECONDS 1.0
#define DEFAULT_SERVE_SECONDS 2.0
#define DEFAULT_PRECISION 0.01
#define DEFAULT_ARITHMETIC YP_FP32
#define DEFAULT_TRAFFIC YP_COPY

static void refuse(struct yp_case *t, const char *name, const char *what, double given,
                   const char *allowed)
{
    ypi_child_quit(t, YPI_CAUSE_USAGE, "yp_measure '%s': %s is %g: allowed is %s", name, what,
                   given, allowed);
}

static void check_amounts(struct yp_case *t, const struct yp_measure_options *o)
{
    const struct {
        const char *what;
        double given;
    } amounts[] = {{".items", o->items},
                   {".flops", o->flops},
                   {".bytes", o->bytes},
                   {".max_seconds", o->max_seconds},
                   {".precision", o->precision}};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        if (!(amounts[i].given >= 0) || isinf(amounts[i].given))
            refuse(t, o->name, amounts[i].what, amounts[i].given, "a finite number from 0");
}

/* -- what bounds the work ------------------------------------------------------------------ */

static bool has_levels(enum yp_ceiling ceiling)
{
    return ceiling == YP_READ || ceiling == YP_COPY || ceiling == YP_FILL;
}

/* What a bound is called in messages: ".flops", or its place in .bounds. */
struct named {
    struct yp_bound bound;
    char what[32];
    int stage;
};

static void check_ceiling(struct yp_case *t, const struct yp_measure_options *o,
                          const struct named *n)
{
    const struct yp_bound *b = &n->bound;
    const bool traffic = b->kind == YP_BOUND_TRAFFIC;
    const bool exchange = b->kind == YP_BOUND_EXCHANGE;
    if (b->ceiling <= YP_NO_CEILING || b->ceiling >= YP_CEILINGS)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "yp_measure '%s': %s: %d is no ceiling", o->name,
                       n->what, (int)b->ceiling);
    if (traffic != ypi_is_traffic(b->ceiling) || exchange != ypi_is_exchange(b->ceiling))
        ypi_child_quit(t, YPI_CAUSE_USAGE, "yp_measure '%s': %s: %s is a ceiling of %s", o->name,
                       n->what, yp_ceiling_name(b->ceiling),
                       ypi_is_exchange(b->ceiling)  ? "ranks: yp_exchange() declares that"
                       : ypi_is_traffic(b->ceiling) ? "traffic: yp_traffic() declares that"
                                                    : "arithmetic: yp_work() declares that");
    if (exchange && t->test->ranks == NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_measure '%s': %s: only ranks exchange data, and this test does not "
                       "declare .ranks",
                       o->name, n->what);
    if (!exchange && (int)b->ceiling >= YPI_CPU_CEILINGS && yp_device(t)->backend->kind == YP_HOST)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_measure '%s': %s: only an accelerator has %s, and this case runs on the "
                       "CPU",
                       o->name, n->what, yp_ceiling_name(b->ceiling));
}

static void check_bound(struct yp_case *t, const struct yp_measure_options *o,
                        const struct named *n)
{
    const struct yp_bound *b = &n->bound;
    if (!(b->work >= 0) || isinf(b->work))
        refuse(t, o->name, n->what, b->work, "a finite number from 0");
    if (b->work > 0)
        check_ceiling(t, o, n);
    if (b->kind != YP_BOUND_TRAFFIC)
        return;
    if ((!(b->footprint >= 0) && b->footprint != YP_FOOTPRINT_MEMORY) || isinf(b->footprint))
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_measure '%s': .footprint of %s is %g: allowed is a finite number from "
                       "0, or YP_FOOTPRINT_MEMORY",
                       o->name, n->what, b->footprint);
    if (b->work > 0 && b->footprint == 0 && has_levels(b->ceiling) && !o->cold &&
        ypi_budget_of(t, YP_BUDGET_MIN_SHARE, o->name) != NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_measure '%s': a share is asked for, and %s does not say which cache "
                       "holds the bytes, or whether none does: declare the footprint, or "
                       "YP_FOOTPRINT_MEMORY",
                       o->name, n->what);
}

/* Two of one step that share a ceiling and a level would not be added up. */
static void check_different(struct yp_case *t, const struct yp_measure_options *o,
                            const struct named *list, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (list[i].stage == list[k].stage && list[i].bound.ceiling == list[k].bound.ceiling &&
                list[i].bound.work > 0 && list[k].bound.work > 0 &&
                list[i].bound.footprint == list[k].bound.footprint)
                ypi_child_quit(t, YPI_CAUSE_USAGE,
                               "yp_measure '%s': %s and %s are both of %s: add them up", o->name,
                               list[i].what, list[k].what, yp_ceiling_name(list[i].bound.ceiling));
}

static void check_step(struct yp_case *t, const struct yp_measure_options *o, int bounds)
{
    if (bounds == 0)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_measure '%s': yp_then() in .bounds without work before or behind it",
                       o->name);
}

static int listed(struct yp_case *t, const struct yp_measure_options *o, struct named *out)
{
    int count = 0;
    int stage = 0;
    int in_step = o->flops > 0 || o->bytes > 0;
    bool steps = false;
    for (int i = 0; i < YP_MAX_BOUNDS && o->bounds[i].kind != YP_BOUND_NONE; i++) {
        if (o->bounds[i].kind == YP_BOUND_THEN) {
            check_step(t, o, in_step);
            in_step = 0;
            stage++;
            steps = true;
            continue;
        }
        out[count] = (struct named){.bound = o->bounds[i], .stage = stage};
        snprintf(out[count++].what, sizeof out->what, ".bounds[%d]", i);
        in_step++;
    }
    if (steps)
        check_step(t, o, in_step);
    return count;
}

static void check_work(struct yp_case *t, const struct yp_measure_options *o)
{
    struct named list[YP_MAX_BOUNDS + 2] = {
        {{YP_BOUND_WORK, o->arithmetic, o->flops, 0}, ".flops", 0},
        {{YP_BOUND_TRAFFIC, o->traffic, o->bytes, o->footprint}, ".bytes", 0}};
    if (o->arithmetic != YP_NO_CEILING &&
        (o->arithmetic < YP_NO_CEILING || o->arithmetic >= YP_CEILINGS ||
         !ypi_is_arithmetic(o->arithmetic)))
        refuse(t, o->name, ".arithmetic", o->arithmetic,
               "YP_FP64, YP_FP32, YP_BF16, YP_INT8, YP_INT32 or an accelerator's");
    if (o->traffic != YP_NO_CEILING && !ypi_is_traffic(o->traffic))
        refuse(t, o->name, ".traffic", o->traffic, "YP_READ, YP_COPY, YP_FILL or an accelerator's");
    if (list[0].bound.ceiling == YP_NO_CEILING)
        list[0].bound.ceiling = DEFAULT_ARITHMETIC;
    if (list[1].bound.ceiling == YP_NO_CEILING)
        list[1].bound.ceiling = DEFAULT_TRAFFIC;
    int count = 2 + listed(t, o, list + 2);
    for (int i = 0; i < count; i++)
        check_bound(t, o, &list[i]);
    check_different(t, o, list, count);
}

/* ------------------------------------------------------------------------------------------ */

void ypi_measure_check(struct yp_case *t, const struct yp_measure_options *o)
{
    check_amounts(t, o);
    check_work(t, o);
    if (o->threads < 0)
        refuse(t, o->name, ".threads", o->threads, "0 (as many as the case may use) or more");
    if (o->warmup < -1)
        refuse(t, o->name, ".warmup", o->warmup, "-1 (none) or more");
    if (o->samples < 0 || o->min_samples < 0 || o->max_samples < 0)
        refuse(t, o->name, ".samples, .min_samples or .max_samples",
               o->samples < 0       ? o->samples
               : o->min_samples < 0 ? o->min_samples
                                    : o->max_samples,
               "0 (the default) or more");
    if (t->test->parallel)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_measure '%s' in a test that declares .parallel: others may run beside "
                       "it, so nothing in it can be timed",
                       o->name);
}

void ypi_measure_defaults(struct yp_measure_options *o)
{
    o->min_samples = o->min_samples > 0 ? o->min_samples : DEFAULT_MIN_SAMPLES;
    o->max_samples = o->max_samples > 0 ? o->max_samples : DEFAULT_MAX_SAMPLES;
    o->max_seconds = o->max_seconds > 0 ? o->max_seconds : DEFAULT_MAX_SECONDS;
    o->precision = o->precision > 0 ? o->precision : DEFAULT_PRECISION;
    o->arithmetic = o->arithmetic != YP_NO_CEILING ? o->arithmetic : DEFAULT_ARITHMETIC;
    o->traffic = o->traffic != YP_NO_CEILING ? o->traffic : DEFAULT_TRAFFIC;
    o->threads = o->threads > 0 ? o->threads : ypi_processors();
    if (o->min_samples > o->max_samples)
        o->min_samples = o->max_samples;
}

void ypi_serve_check(struct yp_case *t, struct yp_serve_options *o)
{
    if (!(o->rate > 0) || isinf(o->rate))
        refuse(t, o->name, ".rate", o->rate, "requests a second, above 0");
    if (o->requests < 0)
        refuse(t, o->name, ".requests", o->requests, "0 (by .seconds) or more");
    if (o->warmup == 0)
        o->warmup = DEFAULT_REQUESTS_WARMUP;
    if (!(o->seconds > 0))
        o->seconds = DEFAULT_SERVE_SECONDS;
}

/* Where nothing is timed a body runs as often as it may rely on, and once at least. Growth is over
 * iterations, so it needs what it has at least. */
uint64_t ypi_measure_iterations(const struct yp_case *t, const struct yp_measure_options *o,
                                bool growth)
{
    if (ypi_callgrind_running())
        return 1 + COUNTED_ITERATIONS;
    if (ypi_child_job(t)->once)
        return 1;
    int least = o->samples > 0       ? o->samples
                : o->min_samples > 0 ? o->min_samples
                : growth             ? DEFAULT_MIN_SAMPLES
                                     : 1;
    return (uint64_t)least;
}
