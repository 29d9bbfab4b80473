/* Declared work held against what a device counted. */
#include "harness/vocabulary/audit.h"

#include "base/text/figures.h"
#include "device/ceiling/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The factor by which declared and counted work may differ; the rule for the processor's counters
 * too. */
#define FACTOR 2.0
/* Bytes that any work may touch beside its own, between multiprocessors and cache. */
#define TRIFLE 65536.0

/* -- what was counted ---------------------------------------------------------------------- */

static double counted(const struct ypi_measured *m, enum yp_counter counter)
{
    const struct ypi_count *c = &m->counts[counter];
    return c->source == YPI_COUNTED_CUPTI ? c->count : NAN;
}

bool ypi_audited(const struct ypi_measured *m)
{
    for (int i = 0; i < YP_COUNTERS; i++)
        if (m->counts[i].source == YPI_COUNTED_CUPTI)
            return true;
    return false;
}

/* The counter of declared arithmetic's own unit. */
static enum yp_counter counter_of(enum yp_ceiling arithmetic)
{
    static const enum yp_counter counters[YP_CEILINGS] = {
        [YP_FP64] = YP_GPU_FP64,     [YP_BF16] = YP_GPU_TENSOR_BF16, [YP_INT8] = YP_GPU_TENSOR_INT8,
        [YP_INT32] = YP_GPU_INTEGER, [YP_TF32] = YP_GPU_TENSOR_TF32, [YP_FP16] = YP_GPU_TENSOR_FP16,
        [YP_FP8] = YP_GPU_TENSOR_FP8};
    return counters[arithmetic] != 0 ? counters[arithmetic] : YP_GPU_FP32;
}

/* The arithmetic that is compared: .flops', or that of .bounds where there are none. */
static enum yp_ceiling arithmetic_of(const struct ypi_measured *m)
{
    for (int i = YPI_BOUND_MORE; i < YPI_BOUNDS && !(m->flops > 0); i++)
        if (m->bounds[i].work > 0 && ypi_is_arithmetic(m->bounds[i].ceiling))
            return m->bounds[i].ceiling;
    return m->bounds[YPI_BOUND_ARITHMETIC].ceiling;
}

/* Integers and products of 8 bits have counters of their own, all floating ones are added up. */
static enum yp_counter counted_with(enum yp_ceiling arithmetic)
{
    enum yp_counter own = counter_of(arithmetic);
    return own == YP_GPU_TENSOR_INT8 || own == YP_GPU_INTEGER ? own : YP_GPU_FP32;
}

double ypi_audit_operations(const struct ypi_measured *m)
{
    static const enum yp_counter floating[] = {
        YP_GPU_FP64,        YP_GPU_FP32,        YP_GPU_FP16,        YP_GPU_TENSOR_FP64,
        YP_GPU_TENSOR_TF32, YP_GPU_TENSOR_BF16, YP_GPU_TENSOR_FP16, YP_GPU_TENSOR_FP8};
    enum yp_counter own = counter_of(arithmetic_of(m));
    double sum = counted(m, own);
    if (own == YP_GPU_TENSOR_INT8 || own == YP_GPU_INTEGER || isnan(sum))
        return sum;
    sum = 0;
    for (size_t i = 0; i < sizeof floating / sizeof *floating; i++)
        sum += isnan(counted(m, floating[i])) ? 0 : counted(m, floating[i]);
    return sum;
}

double ypi_audit_declared_operations(const struct ypi_measured *m)
{
    enum yp_counter with = counted_with(arithmetic_of(m));
    double sum = m->flops;
    for (int i = YPI_BOUND_MORE; i < YPI_BOUNDS; i++) {
        const struct ypi_ceiling *b = &m->bounds[i];
        if (b->work > 0 && ypi_is_arithmetic(b->ceiling) && counted_with(b->ceiling) == with)
            sum += b->work;
    }
    return sum;
}

static bool fits(const struct ypi_measured *m, double footprint)
{
    return footprint > 0 && footprint <= m->on_device.cache;
}

/* The bytes that are compared: .bytes' level, or that of the first of .bounds. */
static const struct ypi_ceiling *first_bytes(const struct ypi_measured *m)
{
    for (int i = YPI_BOUND_MORE; i < YPI_BOUNDS && !(m->bytes > 0); i++)
        if (m->bounds[i].work > 0 && ypi_is_traffic(m->bounds[i].ceiling))
            return &m->bounds[i];
    return NULL;
}

static bool from_cache(const struct ypi_measured *m)
{
    const struct ypi_ceiling *first = first_bytes(m);
    return fits(m, first != NULL ? first->footprint : m->footprint);
}

/* Of traffic over the bus nothing is known here. */
double ypi_audit_bytes(const struct ypi_measured *m)
{
    const struct ypi_ceiling *first = first_bytes(m);
    if ((first != NULL ? first : &m->bounds[YPI_BOUND_TRAFFIC])->ceiling > YP_FILL)
        return NAN;
    return from_cache(m) ? counted(m, YP_GPU_CACHE)
                         : counted(m, YP_GPU_READ) + counted(m, YP_GPU_WRITTEN);
}

/* Of the same level. */
double ypi_audit_declared_bytes(const struct ypi_measured *m)
{
    bool cached = from_cache(m);
    double sum = m->bytes;
    for (int i = YPI_BOUND_MORE; i < YPI_BOUNDS; i++) {
        const struct ypi_ceiling *b = &m->bounds[i];
        if (b->work > 0 && b->ceiling >= YP_READ && b->ceiling <= YP_FILL &&
            fits(m, b->footprint) == cached)
            sum += b->work;
    }
    return sum;
}

/* -- telling ------------------------------------------------------------------------------- */

/* "24.0 MiB of memory (0.98 of declared)", behind what is there. */
static void add(char *out, size_t size, const char *figure, const char *of, double now,
                double declared)
{
    size_t at = strlen(out);
    char ratio[48] = "none";
    if (declared > 0)
        snprintf(ratio, sizeof ratio, now < 1000 * declared ? "%.2f of" : "%.3g of",
                 now / declared);
    snprintf(out + at, size - at, "%s%s%s (%s declared)", at > 0 ? ", " : "", figure, of, ratio);
}

void ypi_audit_text(const struct ypi_measured *m, char *out, size_t size)
{
    char figure[YPI_FIGURE_MAX];
    double operations = ypi_audit_operations(m);
    double moved = ypi_audit_bytes(m);
    out[0] = '\0';
    snprintf(figure, sizeof figure, "%.4g", operations);
    if (!isnan(operations))
        add(out, size, figure, " operations", operations, ypi_audit_declared_operations(m));
    ypi_format_bytes(figure, moved);
    if (!isnan(moved))
        add(out, size, figure, from_cache(m) ? " of L2" : " of memory", moved,
            ypi_audit_declared_bytes(m));
    if (out[0] == '\0')
        snprintf(out, size, "nothing that can be compared");
}

static bool too_many_operations(const struct ypi_measured *m, char *out, size_t size)
{
    double now = ypi_audit_operations(m);
    double declared = ypi_audit_declared_operations(m);
    return declared > FACTOR * now &&
           snprintf(out, size,
                    "declares %.3g operations an iteration, but the device executed only %.3g",
                    declared, now) > 0;
}

/* Instructions of integers are also those of addresses and loops, which nobody declares. */
static bool too_few_operations(const struct ypi_measured *m, char *out, size_t size)
{
    double now = ypi_audit_operations(m);
    double declared = ypi_audit_declared_operations(m);
    return declared > 0 && arithmetic_of(m) != YP_INT32 && now > FACTOR * declared &&
           snprintf(out, size,
                    "declares %.3g operations an iteration, but the device executed %.3g", declared,
                    now) > 0;
}

/* What was in the cache before, or is left there to be written later, is seen nowhere: so much
 * memory traffic may be missing or too many. */
static bool far_off_bytes(const struct ypi_measured *m, char *out, size_t size)
{
    char declared[YPI_FIGURE_MAX];
    char seen[YPI_FIGURE_MAX];
    double now = ypi_audit_bytes(m);
    double bytes = ypi_audit_declared_bytes(m);
    double trifle = from_cache(m) ? TRIFLE : m->on_device.cache;
    bool more = bytes > FACTOR * now;
    if (!(bytes > 0) || !(more || now > FACTOR * bytes) || !(fabs(bytes - now) > trifle))
        return false;
    ypi_format_bytes(declared, bytes);
    ypi_format_bytes(seen, now);
    return snprintf(out, size, "declares %s an iteration, but the device moved %s%s of %s%s",
                    declared, more ? "only " : "", seen, from_cache(m) ? "L2" : "memory",
                    more ? ": the work is less, or comes from a nearer cache than .footprint says"
                         : "") > 0;
}

bool ypi_audit_contradicts(const struct ypi_measured *m, char *out, size_t size)
{
    return too_many_operations(m, out, size) || too_few_operations(m, out, size) ||
           far_off_bytes(m, out, size);
}

bool ypi_audit_missing(const struct ypi_measured *m, char *out, size_t size)
{
    const enum yp_counter needed[] = {counter_of(arithmetic_of(m)), YP_GPU_FP32, YP_GPU_READ,
                                      YP_GPU_WRITTEN, YP_GPU_CACHE};
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before = before || needed[k] == needed[i];
        if (!before && isnan(counted(m, needed[i])) && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at > 0 ? ", " : "",
                                   ypi_counter_name(needed[i]));
    }
    return at > 0;
}
