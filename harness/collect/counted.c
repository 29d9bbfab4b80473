#include "harness/collect/counted.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/callgrind.h>)
#define HAS_HEADER true
#else
#define HAS_HEADER false
#endif

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static bool on_path(const char *program)
{
    char *path = ypi_program_path(program);
    free(path);
    return path != NULL;
}

/* NULL when Valgrind can be run here, else the reason it cannot; asked once. */
static const char *callgrind_absent(void)
{
    static bool asked;
    static const char *reason;
    if (!asked && !HAS_HEADER)
        reason = "Yieldpoint was built without <valgrind/callgrind.h> (Debian package valgrind)";
    else if (!asked && __lsan_do_recoverable_leak_check != NULL)
        reason = "a program with AddressSanitizer does not run under Valgrind";
    else if (!asked && !on_path("valgrind"))
        reason = "no program 'valgrind' in PATH (Debian package valgrind)";
    asked = true;
    return reason;
}

bool ypi_count_wanted(const struct yp_case *c)
{
    return !c->test->parallel && c->test->relation.kind == YP_RELATION_NONE;
}

const char *ypi_callgrind_refuses(const struct yp_case *c)
{
    if (!ypi_count_wanted(c))
        return NULL;
    if (c->test->command != NULL)
        return "instructions are counted in this program, not in a command";
    if (ypi_on_accelerator(c))
        return "Callgrind counts instructions of the CPU only";
    return callgrind_absent();
}

static const char *only_devices(void)
{
    static char *reason;
    struct ypi_text kinds = {0};
    if (reason != NULL)
        return reason;
    for (int i = 0; i < YPI_DEVICE_KINDS; i++)
        if (ypi_device_kinds[i].counts_work)
            ypi_text_add(&kinds, "%s ", ypi_device_kinds[i].label);
    char *words = ypi_text_take(&kinds);
    char *labels = ypi_join_words(words, "and");
    reason = ypi_format("--audit counts the work of %s devices only: on the CPU every run holds "
                        "declared work to the processor's counters where they can be read, and "
                        "--instructions counts by Callgrind",
                        labels);
    free(labels);
    free(words);
    return reason;
}

const char *ypi_audit_refuses(const struct yp_case *c)
{
    if (!ypi_count_wanted(c))
        return NULL;
    if (c->test->command != NULL)
        return "--audit counts the work of this program, not of a command";
    const struct ypi_device_kind *kind = ypi_device_kind(c->device);
    return kind != NULL && kind->counts_work ? NULL : only_devices();
}
