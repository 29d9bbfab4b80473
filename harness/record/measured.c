#include "harness/record/measured.h"

#include "harness/measure/noise.h"

#include <math.h>

struct place {
    const struct ypi_statements *all;
    const char *result_id;
    int position;
};

static struct ypi_row row_at(const struct place *at, enum ypi_statement which)
{
    struct ypi_row r = ypi_row(at->all, which);
    ypi_row_text(&r, at->result_id);
    ypi_row_int(&r, at->position);
    return r;
}

static const char *kind_name(enum ypi_measured_kind kind)
{
    static const char *const names[] = {[YPI_MEASURED_WORK] = "work",
                                        [YPI_MEASURED_SERVE] = "serve",
                                        [YPI_MEASURED_COUNT] = "count",
                                        [YPI_MEASURED_RUN] = "run"};
    return names[kind];
}

static bool is_known(const struct ypi_ceiling *c)
{
    return c->ceiling != YP_NO_CEILING && (c->probes > 0 || c->work > 0);
}

static const char *bound_name(const struct ypi_measured *m)
{
    bool known = m->bound >= 0 && m->bound < YPI_BOUNDS && is_known(&m->bounds[m->bound]);
    return known ? yp_ceiling_name(m->bounds[m->bound].ceiling) : "";
}

/* -- the main row -------------------------------------------------------------------------- */

static void put_estimate(struct ypi_row *r, const struct ypi_estimate *e)
{
    ypi_row_real(r, e->median);
    ypi_row_real(r, e->low);
    ypi_row_real(r, e->high);
    ypi_row_real(r, e->coverage);
    ypi_row_real(r, e->mean);
    ypi_row_real(r, e->sd);
    ypi_row_real(r, e->min);
    ypi_row_real(r, e->max);
    ypi_row_real(r, e->p90);
    ypi_row_real(r, e->p99);
    ypi_row_real(r, e->p999);
    ypi_row_unsigned(r, e->low_mild);
    ypi_row_unsigned(r, e->high_mild);
    ypi_row_unsigned(r, e->low_severe);
    ypi_row_unsigned(r, e->high_severe);
    ypi_row_real(r, e->autocorrelation);
    ypi_row_real(r, e->effective);
}

/* What the work was said to be, and what it left behind. */
static void put_work(struct ypi_row *r, const struct ypi_measured *m)
{
    ypi_row_text(r, kind_name(m->kind));
    ypi_row_real(r, m->footprint);
    ypi_row_int(r, m->threads);
    ypi_row_int(r, m->cold);
    ypi_row_real(r, m->rate);
    ypi_row_real(r, m->growth_accounted);
    ypi_row_real(r, m->growth_resident);
}

/* An estimate that was never made is zero throughout, which would read as a figure. */
static void put_interval(struct ypi_row *r, const struct ypi_estimate *e, bool made)
{
    ypi_row_real(r, made ? e->median : NAN);
    ypi_row_real(r, made ? e->low : NAN);
    ypi_row_real(r, made ? e->high : NAN);
}

static bool add_measurement(const struct place *at, const struct ypi_measured *m)
{
    bool shared = m->share_count > 0;
    struct ypi_row r = row_at(at, YPI_ADD_MEASUREMENT);
    ypi_row_text(&r, m->name);
    ypi_row_text(&r, m->unit);
    ypi_row_real(&r, m->items);
    ypi_row_real(&r, m->flops);
    ypi_row_real(&r, m->bytes);
    ypi_row_unsigned(&r, m->batch);
    ypi_row_unsigned(&r, m->warmup);
    ypi_row_text(&r, ypi_stop_name(m->stop));
    ypi_row_unsigned(&r, m->count);
    put_estimate(&r, &m->estimate);
    put_work(&r, m);
    put_interval(&r, &m->cpu_estimate, m->cpu != NULL);
    ypi_row_text(&r, bound_name(m));
    put_interval(&r, &m->share_estimate, shared);
    ypi_row_real(&r, shared ? m->share_estimate.coverage : NAN);
    ypi_row_unsigned(&r, m->share_count);
    return ypi_row_store(&r);
}

/* -- its parts ----------------------------------------------------------------------------- */

static void put_array(struct ypi_row *r, const double *values, size_t count)
{
    if (values)
        ypi_row_doubles(r, values, count);
    else
        ypi_row_null(r);
}

static bool add_samples(const struct place *at, const struct ypi_measured *m)
{
    struct ypi_row r = row_at(at, YPI_ADD_SAMPLES);
    ypi_row_doubles(&r, m->samples, m->count);
    put_array(&r, m->cpu, m->count);
    put_array(&r, m->shares, m->share_count);
    put_array(&r, m->slowed, m->slowed_count);
    return ypi_row_store(&r);
}

static bool add_phases(const struct place *at, const struct ypi_measured *m)
{
    bool ok = true;
    for (int i = 0; ok && i < m->phase_count; i++) {
        struct ypi_row r = row_at(at, YPI_ADD_PHASE);
        ypi_row_int(&r, i);
        ypi_row_text(&r, m->phases[i].name);
        ypi_row_real(&r, m->phases[i].seconds);
        ok = ypi_row_store(&r);
    }
    return ok;
}

static bool add_bounds(const struct place *at, const struct ypi_measured *m)
{
    bool ok = true;
    for (int i = 0; ok && i < YPI_BOUNDS; i++) {
        const struct ypi_ceiling *c = &m->bounds[i];
        if (!is_known(c))
            continue;
        struct ypi_row r = row_at(at, YPI_ADD_BOUND);
        ypi_row_int(&r, i);
        ypi_row_text(&r, yp_ceiling_name(c->ceiling));
        ypi_row_text(&r, c->level);
        ypi_row_int(&r, c->threads);
        ypi_row_int(&r, c->probes);
        ypi_row_real(&r, c->probes > 0 ? c->rate : NAN);
        ypi_row_real(&r, c->probes > 0 ? c->low : NAN);
        ypi_row_real(&r, c->probes > 0 ? c->high : NAN);
        ypi_row_real(&r, c->work);
        ok = ypi_row_store(&r);
    }
    return ok;
}

static bool add_noise(const struct place *at, const struct ypi_measured *m)
{
    bool ok = true;
    if (!(m->noise.wall > 0)) /* it was not looked at */
        return true;
    for (int i = 0; ok && i < ypi_noise_count(); i++) {
        struct ypi_row r = row_at(at, YPI_ADD_NOISE);
        ypi_row_text(&r, ypi_noise_name(i));
        ypi_row_real(&r, ypi_noise_value(&m->noise, i));
        ok = ypi_row_store(&r);
    }
    return ok;
}

/* What the accelerator told stands beside what the kernel did. */
static bool add_on_device(const struct place *at, const struct ypi_measured *m)
{
    const struct ypi_on_device *d = &m->on_device;
    const struct {
        const char *name;
        double value;
    } rows[] = {{"gpu held", d->held},
                {"gpu opening", d->opening},
                {"gpu launching", d->launching},
                {"gpu graph", d->replayed},
                {"gpu clock", d->clock},
                {"gpu clock least", d->clock_least},
                {"gpu clock most", d->clock_most},
                {"gpu temperature", d->temperature},
                {"gpu power", d->power},
                {"gpu utilisation", d->utilisation},
                {"gpu memory used", d->used},
                {"gpu throttled", (double)d->throttled},
                {"gpu samples power capped", (double)d->power_capped},
                {"gpu samples set aside", (double)m->slowed_count}};
    bool ok = true;
    for (size_t i = 0; ok && d->there && i < sizeof rows / sizeof *rows; i++) {
        struct ypi_row r = row_at(at, YPI_ADD_NOISE);
        ypi_row_text(&r, rows[i].name);
        ypi_row_real(&r, rows[i].value);
        ok = ypi_row_store(&r);
    }
    return ok;
}

static bool add_counters(const struct place *at, const struct ypi_measured *m)
{
    bool ok = true;
    for (int i = 0; ok && i < YP_COUNTERS; i++) {
        const struct ypi_count *c = &m->counts[i];
        if (c->source == YPI_NOT_COUNTED)
            continue;
        struct ypi_row r = row_at(at, YPI_ADD_COUNTER);
        ypi_row_text(&r, ypi_counter_name((enum yp_counter)i));
        ypi_row_text(&r, ypi_counter_source_name(c->source));
        ypi_row_real(&r, c->count);
        ok = ypi_row_store(&r);
    }
    return ok;
}

bool ypi_record_measured(const struct ypi_statements *all, const char *result_id, int position,
                         const struct ypi_measured *m)
{
    const struct place at = {all, result_id, position};
    return add_measurement(&at, m) && add_samples(&at, m) && add_phases(&at, m) &&
           add_bounds(&at, m) && add_noise(&at, m) && add_on_device(&at, m) && add_counters(&at, m);
}
