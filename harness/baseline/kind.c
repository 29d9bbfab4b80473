/* Kinds of machines. */
#include "harness/baseline/baseline.h"

#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

/* Signs that end a value in a file of baselines. */
static void add_plain(struct ypi_text *out, const char *text)
{
    for (; *text != '\0'; text++)
        ypi_text_bytes(out, strchr("|;#\n", *text) != NULL ? " " : text, 1);
}

/* Another compiler, or none of its optimisations, is no regression; a newer version may be one. */
static void add_build(struct ypi_text *out, const char *compiled)
{
    ypi_text_add(out, ", %s", strcasestr(compiled, "clang") != NULL ? "clang" : "gcc");
    if (strstr(compiled, "not optimised") != NULL)
        ypi_text_add(out, ", not optimised");
    else if (strstr(compiled, "optimised for size") != NULL)
        ypi_text_add(out, ", optimised for size");
}

/* The instruction set, the processors and the build, which decide what is computed. */
static bool add_shape(struct ypi_text *out, ypi_fact_of *fact, const void *arg)
{
    const char *isa = fact(arg, "cpu.isa");
    const char *processors = fact(arg, "cpu.allowed");
    const char *compiled = fact(arg, "program.compiler");
    if (isa == NULL || processors == NULL)
        return false;
    ypi_text_add(out, "%s, %s processor%s", isa, processors,
                 strcmp(processors, "1") == 0 ? "" : "s");
    if (compiled != NULL)
        add_build(out, compiled);
    return true;
}

static void add_accelerator(struct ypi_text *out, ypi_fact_of *fact, const void *arg)
{
    const char *name = fact(arg, "gpu.name");
    ypi_text_add(out, ", ");
    add_plain(out, name != NULL ? name : "no accelerator");
}

/* "--cpus=0" of a line of its own. */
static void add_options(struct ypi_text *out, const char *options)
{
    static const char *const deciding[] = {"--cpus=", "--bind="};
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++)
        for (const char *at = options; (at = strstr(at, deciding[i])) != NULL; at++)
            if (at == options || at[-1] == '\n') {
                char *option = ypi_format("%.*s", (int)strcspn(at, "\n"), at);
                ypi_text_add(out, ", ");
                add_plain(out, option);
                free(option);
            }
}

/* NULL where the facts did not say. */
static char *taken(struct ypi_text *out, bool known)
{
    char *text = ypi_text_take(out);
    if (known)
        return text;
    free(text);
    return NULL;
}

char *ypi_machine_kind(ypi_fact_of *fact, const void *arg, const char *options, bool accelerated)
{
    static const struct {
        const char *key, *name;
    } also[] = {{"cgroup.cpu.quota", "quota"},
                {"env.omp_num_threads", "OMP_NUM_THREADS"},
                {"env.openblas_num_threads", "OPENBLAS_NUM_THREADS"}};
    struct ypi_text out = {0};
    const char *signature = fact(arg, "cpu.signature");
    add_plain(&out, signature != NULL ? signature : "unknown processor");
    ypi_text_add(&out, ", ");
    const bool known = signature != NULL && add_shape(&out, fact, arg);
    for (size_t i = 0; i < sizeof also / sizeof *also; i++) {
        const char *value = fact(arg, also[i].key);
        if (value != NULL) {
            ypi_text_add(&out, ", %s ", also[i].name);
            add_plain(&out, value);
        }
    }
    add_options(&out, options);
    if (accelerated)
        add_accelerator(&out, fact, arg);
    return taken(&out, known);
}

char *ypi_machine_kind_exact(ypi_fact_of *fact, const void *arg, bool accelerated)
{
    struct ypi_text out = {0};
    const bool known = add_shape(&out, fact, arg);
    if (accelerated)
        add_accelerator(&out, fact, arg);
    return taken(&out, known);
}
