#include "reports/advice/kept.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What suites call the same thing. */
const char *const ypi_batch_axes[] = {"batch", "batch_size", "graphs", NULL};
const char *const ypi_tile_axes[] = {"tile", "tile_size", NULL};
const char *const ypi_precision_axes[] = {"precision", NULL};
const char *const ypi_accumulation_axes[] = {"accumulation", "accumulate", NULL};
const char *const ypi_mode_axes[] = {"mode", "pass", "pass_type", NULL};
const char *const ypi_thread_axes[] = {"threads", NULL};
const char *const ypi_warmup_axes[] = {"warmup", NULL};
const char *const ypi_scale_axes[] = {"size", "scale", "model_size", NULL};

/* -- axes ---------------------------------------------------------------------------------- */

static const cJSON *axis(const struct ypi_kept *kept, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        const cJSON *found = cJSON_GetObjectItemCaseSensitive(kept->axes, names[i]);
        if (cJSON_IsNumber(found) || cJSON_IsString(found))
            return found;
    }
    return NULL;
}

double ypi_axis_number(const struct ypi_kept *kept, const char *const *names)
{
    const cJSON *found = axis(kept, names);
    return cJSON_IsNumber(found) ? found->valuedouble : (double)NAN;
}

const char *ypi_axis_text(const struct ypi_kept *kept, const char *const *names)
{
    static char numbers[16][32];
    static unsigned made;
    const cJSON *found = axis(kept, names);
    if (!cJSON_IsNumber(found))
        return cJSON_IsString(found) ? found->valuestring : "";
    char *out = numbers[made++ % 16];
    ypi_print_double(out, found->valuedouble);
    return out;
}

const char *ypi_axis_name(const struct ypi_kept *kept, const char *const *names)
{
    const cJSON *found = axis(kept, names);
    return found != NULL ? found->string : "";
}

bool ypi_is_training(const struct ypi_kept *kept, const struct ypi_kept_measure *m)
{
    static const char *const words[] = {"train", "backward", "step", NULL};
    const char *mode = ypi_axis_text(kept, ypi_mode_axes);
    const char *name = *mode != '\0' || m == NULL ? mode : m->name;
    for (size_t i = 0; words[i] != NULL; i++)
        if (strstr(name, words[i]) != NULL)
            return true;
    return false;
}

/* -- samples ------------------------------------------------------------------------------- */

#define LATER_MOST ((size_t)4096) /* samples: more do not move a quartile */
#define SLOWER 1.2
#define LEAST_SAMPLES ((size_t)8)
#define ONE_IN ((size_t)20)

double *ypi_numbers(const cJSON *array, size_t *count)
{
    const cJSON *item;
    double *numbers = ypi_calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof *numbers);
    *count = 0;
    cJSON_ArrayForEach(item, array)
    {
        numbers[(*count)++] = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
    }
    return numbers;
}

size_t ypi_slow_beginning(const double *samples, size_t count, double *later, double *fence)
{
    *later = *fence = NAN;
    if (count < LEAST_SAMPLES)
        return 0;
    const double *half = samples + count / 2;
    size_t size = count - count / 2 < LATER_MOST ? count - count / 2 : LATER_MOST;
    double third = ypi_quantile(half, size, 0.75);
    *later = ypi_quantile(half, size, 0.5);
    *fence = fmax(third + 3 * (third - ypi_quantile(half, size, 0.25)), SLOWER * *later);
    size_t slow = 0;
    size_t others = 0;
    while (slow < count && samples[slow] > *fence)
        slow++;
    for (size_t i = slow; i < count; i++)
        others += samples[i] > *fence;
    return slow <= count / 2 && others <= (count - slow) / ONE_IN ? slow : 0;
}

/* -- a case -------------------------------------------------------------------------------- */

static double value_of(const cJSON *document, const char *const *names)
{
    const cJSON *value;
    for (size_t i = 0; names[i] != NULL; i++)
        cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(document, "values"))
        {
            if (strcmp(ypi_text_of(value, "name"), names[i]) == 0)
                return ypi_real(value, "value");
        }
    return NAN;
}

/* "OOM: 9041 MiB of 7932 MiB: ..." is why a case was skipped that has planned before it took. */
static double planned_in(const char *reason)
{
    double mebibytes;
    return sscanf(reason, "OOM: %lf MiB", &mebibytes) == 1 ? 1048576 * mebibytes : (double)NAN;
}

static bool ran_out(const cJSON *document)
{
    const cJSON *failure;
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(document, "result");
    if (strncmp(ypi_text_of(result, "reason"), "OOM", 3) == 0)
        return true;
    cJSON_ArrayForEach(failure, cJSON_GetObjectItemCaseSensitive(document, "failures"))
    {
        const char *cause = ypi_text_of(failure, "cause");
        if (strcmp(cause, "out of memory") == 0 || strcmp(cause, "killed for memory") == 0)
            return true;
    }
    return false;
}

static void keep_measure(struct ypi_kept_measure *out, const cJSON *m)
{
    double *samples = ypi_numbers(cJSON_GetObjectItemCaseSensitive(m, "samples"), &out->count);
    out->name = ypi_strdup(ypi_text_of(m, "name"));
    out->unit = ypi_strdup(ypi_text_of(m, "unit"));
    out->items = ypi_real(m, "items");
    out->median = ypi_real(m, "median");
    out->low = ypi_real(m, "low");
    out->high = ypi_real(m, "high");
    out->mean = ypi_real(m, "mean");
    out->warmup = ypi_real(m, "warmup");
    out->first = out->count > 0 ? samples[0] : (double)NAN;
    out->slow = ypi_slow_beginning(samples, out->count, &out->later, &out->fence);
    out->disturbed = *ypi_text_of(m, "noise_cause") != '\0' &&
                     ypi_real(m, "sd") > YPI_VARIES * ypi_real(m, "mean");
    free(samples);
}

static void keep_measures(struct ypi_kept *kept, const cJSON *measurements)
{
    const cJSON *m;
    size_t count = (size_t)cJSON_GetArraySize(measurements);
    kept->measures = ypi_calloc(count + 1, sizeof *kept->measures);
    cJSON_ArrayForEach(m, measurements)
    {
        if (ypi_real(m, "median") > 0 && isfinite(ypi_real(m, "median")))
            keep_measure(&kept->measures[kept->measure_count++], m);
    }
}

static void keep_memory(struct ypi_kept *kept, const cJSON *document)
{
    static const char *const plans[] = {"planned", "plan", NULL};
    static const char *const weights[] = {"parameters", "model_params", NULL};
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(document, "result");
    const cJSON *facts = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(document, "run"), "facts");
    const cJSON *memory =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(document, "memory"),
                                         kept->accelerator ? "device" : "host");
    double peak = ypi_real(memory, "allocated_peak");
    kept->peak = peak > 0 ? peak : (double)NAN;
    kept->plan = value_of(document, plans);
    if (isnan(kept->plan))
        kept->plan = planned_in(ypi_text_of(result, "reason"));
    kept->weights = value_of(document, weights);
    double has =
        strtod(ypi_text_of(facts, kept->accelerator ? "gpu.memory" : "memory.total"), NULL);
    kept->memory = has > 0 ? has : (double)NAN;
}

struct ypi_kept *ypi_keep(const struct ypi_report_case *which, const cJSON *document)
{
    struct ypi_kept *kept = ypi_calloc(1, sizeof *kept);
    const cJSON *its = cJSON_GetObjectItemCaseSensitive(document, "case");
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(its, "axes");
    const char *device = ypi_text_of(its, "device");
    kept->id = ypi_strdup(which->id != NULL ? which->id : "");
    kept->test = ypi_strdup(which->test != NULL ? which->test : "");
    kept->device = ypi_strdup(*device ? device : "cpu");
    kept->name = ypi_strdup(ypi_text_of(its, "name"));
    kept->machine =
        ypi_strdup(ypi_text_of(cJSON_GetObjectItemCaseSensitive(document, "run"), "machine"));
    kept->accelerator = strcmp(kept->device, "cpu") != 0;
    kept->passed = which->outcome != NULL && strcmp(which->outcome, "passed") == 0;
    kept->out_of_memory = ran_out(document);
    kept->axes = cJSON_IsObject(axes) ? cJSON_Duplicate(axes, true) : cJSON_CreateObject();
    keep_memory(kept, document);
    keep_measures(kept, cJSON_GetObjectItemCaseSensitive(document, "measurements"));
    return kept;
}

void ypi_kept_free(struct ypi_kept *kept)
{
    if (kept == NULL)
        return;
    for (size_t i = 0; i < kept->measure_count; i++) {
        free(kept->measures[i].name);
        free(kept->measures[i].unit);
    }
    free(kept->measures);
    cJSON_Delete(kept->axes);
    free(kept->machine);
    free(kept->name);
    free(kept->device);
    free(kept->test);
    free(kept->id);
    free(kept);
}
