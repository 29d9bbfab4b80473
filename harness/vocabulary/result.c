#include "harness/vocabulary/result.h"

#include "base/text/text.h"
#include "device/ceiling/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *ypi_name_of(const char *const *names, int value)
{
    for (int i = 0; i < value && *names != NULL; i++)
        names++;
    return value >= 0 && *names != NULL ? *names : "?";
}

const char *const ypi_outcome_names[] = {"passed",  "failed",  "error", "skipped",
                                         "xfailed", "xpassed", "noisy", NULL};

const char *ypi_outcome_name(enum ypi_outcome outcome)
{
    return ypi_name_of(ypi_outcome_names, (int)outcome);
}

bool ypi_is_failure(enum ypi_outcome outcome)
{
    return outcome == YPI_FAILED || outcome == YPI_ERROR;
}

const char *const ypi_cause_names[] = {"expectation",
                                       "usage",
                                       "budget",
                                       "gradient",
                                       "signal",
                                       "exit",
                                       "timeout",
                                       "out of memory",
                                       "killed for memory",
                                       "leak",
                                       "output",
                                       "processes left",
                                       "too many processes",
                                       "descriptors closed",
                                       "device",
                                       "passed in spite of xfail",
                                       "interrupted",
                                       "forked child returned",
                                       "memory overrun",
                                       "fixture",
                                       "ranks",
                                       NULL};

const char *ypi_cause_name(enum ypi_cause cause)
{
    return ypi_name_of(ypi_cause_names, (int)cause);
}

const char *const ypi_stop_names[] = {"fixed",   "decided", "precision", "settled",
                                      "samples", "time",    "break",     NULL};

const char *ypi_stop_name(enum ypi_stop stop)
{
    return ypi_name_of(ypi_stop_names, (int)stop);
}

const char *const ypi_measured_kind_names[] = {"work", "serve", "count", "run", NULL};

const char *ypi_counter_name(enum yp_counter counter)
{
    static const char *const names[YP_COUNTERS + 1] = {
        "instructions",    "cycles",          "branch misses",
        "cache misses",    "page faults",     "context switches",
        "gpu fp64",        "gpu fp32",        "gpu fp16",
        "gpu integer",     "gpu tensor fp64", "gpu tensor tf32",
        "gpu tensor bf16", "gpu tensor fp16", "gpu tensor fp8",
        "gpu tensor int8", "gpu bytes read",  "gpu bytes written",
        "gpu L2 bytes"};
    return ypi_name_of(names, (int)counter);
}

const char *const ypi_counter_source_names[] = {"none",      "kernel", "hardware",
                                                "callgrind", "cupti",  NULL};

const char *const ypi_met_names[] = {"met",        "not met", "undecided",  "recorded",
                                     "not judged", "absent",  "unmeasured", NULL};

const char *ypi_met_name(enum ypi_met met)
{
    return ypi_name_of(ypi_met_names, (int)met);
}

void ypi_result_fail(struct ypi_result *r, enum ypi_cause cause, const char *file, int line,
                     const char *format, ...)
{
    r->failures = ypi_realloc(r->failures, (size_t)r->failure_count + 1, sizeof *r->failures);
    va_list arguments;
    va_start(arguments, format);
    char *message = ypi_vformat(format, arguments);
    va_end(arguments);
    r->failures[r->failure_count++] =
        (struct ypi_failure){.cause = cause,
                             .message = message,
                             .file = file != NULL ? ypi_strdup(file) : NULL,
                             .line = line};
}

void ypi_result_note(struct ypi_result *r, const char *format, ...)
{
    struct ypi_text note = {0};
    if (r->note != NULL)
        ypi_text_add(&note, "%s; ", r->note);
    va_list arguments;
    va_start(arguments, format);
    ypi_text_vadd(&note, format, arguments);
    va_end(arguments);
    free(r->note);
    r->note = ypi_text_take(&note);
}

double ypi_nearest_bounds(const struct ypi_measured *m, const double seconds[YPI_BOUNDS],
                          int nearest[YPI_BOUNDS])
{
    double sum = 0;
    for (int stage = 0; stage < YPI_BOUNDS; stage++) {
        double longest = 0;
        nearest[stage] = -1;
        for (int i = 0; i < YPI_BOUNDS; i++)
            if (m->bounds[i].stage == stage && !(seconds[i] <= longest)) {
                longest = seconds[i];
                nearest[stage] = i;
                if (isnan(longest))
                    break;
            }
        sum += longest;
    }
    return sum;
}

void ypi_bound_text(const struct ypi_measured *m, bool levels, char *out, size_t size)
{
    double seconds[YPI_BOUNDS];
    int nearest[YPI_BOUNDS];
    size_t at = 0;
    out[0] = '\0';
    if (m->bound < 0 || m->bound >= YPI_BOUNDS || m->bounds[m->bound].ceiling == YP_NO_CEILING)
        return;
    for (int i = 0; i < YPI_BOUNDS; i++)
        seconds[i] = m->bounds[i].probes > 0 ? m->bounds[i].work / m->bounds[i].rate : 0;
    (void)ypi_nearest_bounds(m, seconds, nearest);
    nearest[m->bounds[m->bound].stage] = m->bound;
    for (int stage = 0; stage < YPI_BOUNDS && at < size; stage++) {
        if (nearest[stage] < 0)
            continue;
        const struct ypi_ceiling *b = &m->bounds[nearest[stage]];
        const char *name = yp_ceiling_name(b->ceiling);
        const char *level = levels ? b->level : "";
        const bool behind = ypi_is_exchange(b->ceiling); /* "all-reduce latency" */
        at += (size_t)snprintf(out + at, size - at, "%s%s%s%s", at > 0 ? " + " : "",
                               behind ? name : level, *level != '\0' ? " " : "",
                               behind ? level : name);
    }
}

void ypi_measured_clear(struct ypi_measured *m)
{
    free(m->samples);
    free(m->cpu);
    free(m->shares);
    free(m->slowed);
    m->samples = m->cpu = m->shares = m->slowed = NULL;
}

void ypi_result_drop_samples(struct ypi_result *r)
{
    for (int i = 0; i < r->measured_count; i++)
        ypi_measured_clear(&r->measured[i]);
    free(r->tail);
    r->tail = NULL;
}

void ypi_result_clear(struct ypi_result *r)
{
    free(r->note);
    free(r->reason);
    for (int i = 0; i < r->failure_count; i++) {
        free(r->failures[i].message);
        free(r->failures[i].file);
        free(r->failures[i].stack);
    }
    free(r->failures);
    for (int i = 0; i < r->measured_count; i++)
        ypi_measured_clear(&r->measured[i]);
    free(r->measured);
    free(r->values);
    free(r->gradients);
    free(r->verdicts);
    free(r->series);
    free(r->stacks);
    free(r->leak_stack);
    free(r->tail);
    *r = (struct ypi_result){0};
}

void ypi_module_name(char out[YPI_MODULE_MAX], const char *path)
{
    const size_t length = strlen(path);
    const size_t left_out = length < YPI_MODULE_MAX ? 0 : length - (YPI_MODULE_MAX - 1);
    memcpy(out, path + left_out, length - left_out + 1);
}

const char *ypi_series_name(enum ypi_series_column column)
{
    static const char *const names[YPI_SERIES_COLUMNS] = {
        "at", "clock", "temperature", "power", "utilisation", "memory used", "throttled"};
    return column < YPI_SERIES_COLUMNS ? names[column] : "?";
}
