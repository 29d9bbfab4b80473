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

/* The instruction set and the processors, which decide what is computed. */
static bool add_shape(struct ypi_text *out, ypi_fact_of *fact, const void *arg)
{
    const char *isa = fact(arg, "cpu.isa");
    const char *processors = fact(arg, "cpu.allowed");
    if (isa == NULL || processors == NULL)
        return false;
    ypi_text_add(out, "%s, %s processor%s", isa, processors,
                 strcmp(processors, "1") == 0 ? "" : "s");
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

char *ypi_machine_kind(ypi_fact_of *fact, const void *arg, const char *options, bool accelerated)
{
    struct ypi_text out = {0};
    const char *signature = fact(arg, "cpu.signature");
    const char *quota = fact(arg, "cgroup.cpu.quota");
    add_plain(&out, signature != NULL ? signature : "unknown processor");
    ypi_text_add(&out, ", ");
    const bool known = signature != NULL && add_shape(&out, fact, arg);
    if (quota != NULL)
        ypi_text_add(&out, ", quota %s", quota);
    add_options(&out, options);
    if (accelerated)
        add_accelerator(&out, fact, arg);
    char *text = ypi_text_take(&out);
    if (known)
        return text;
    free(text);
    return NULL;
}

char *ypi_machine_kind_exact(ypi_fact_of *fact, const void *arg, bool accelerated)
{
    struct ypi_text out = {0};
    const bool known = add_shape(&out, fact, arg);
    if (accelerated)
        add_accelerator(&out, fact, arg);
    char *text = ypi_text_take(&out);
    if (known)
        return text;
    free(text);
    return NULL;
}
