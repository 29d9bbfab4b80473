/* What a measurement declares: what is allowed, and what holds where nothing is said. */
#include "harness/measure/count/callgrind.h"
#include "harness/measure/measurement.h"

#include "device/ceiling/ceiling.h"
#include "device/cpu/binding.h"

#include <math.h>

enum {
    DEFAULT_MIN_SAMPLES = 10,
    DEFAULT_MAX_SAMPLES = 10000,
    DEFAULT_REQUESTS_WARMUP = 10,
    COUNTED_ITERATIONS = 3, /* under Callgrind */
};
#define DEFAULT_MAX_SECONDS 1.0
#define DEFAULT_SERVE_SECONDS 2.0
#define DEFAULT_PRECISION 0.01

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
                   {".footprint", o->footprint},
                   {".max_seconds", o->max_seconds},
                   {".precision", o->precision}};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        if (!(amounts[i].given >= 0) || isinf(amounts[i].given))
            refuse(t, o->name, amounts[i].what, amounts[i].given, "a finite number from 0");
}

static void check_work(struct yp_case *t, const struct yp_measure_options *o)
{
    if (o->arithmetic != YP_NO_CEILING &&
        (o->arithmetic < YP_NO_CEILING || o->arithmetic >= YP_CEILINGS ||
         ypi_is_traffic(o->arithmetic)))
        refuse(t, o->name, ".arithmetic", o->arithmetic,
               "YP_FP64, YP_FP32, YP_BF16, YP_INT8, YP_INT32 or an accelerator's");
    if (o->traffic != YP_NO_CEILING && !ypi_is_traffic(o->traffic))
        refuse(t, o->name, ".traffic", o->traffic, "YP_READ, YP_COPY, YP_FILL or an accelerator's");
    if (o->threads < 0)
        refuse(t, o->name, ".threads", o->threads, "0 (as many as the case may use) or more");
}

void ypi_measure_check(struct yp_case *t, const struct yp_measure_options *o)
{
    check_amounts(t, o);
    check_work(t, o);
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
    o->arithmetic = o->arithmetic != YP_NO_CEILING ? o->arithmetic : YP_FP32;
    o->traffic = o->traffic != YP_NO_CEILING ? o->traffic : YP_COPY;
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
