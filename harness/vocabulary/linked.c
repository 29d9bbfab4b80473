#include "harness/vocabulary/linked.h"

#include "base/system/section.h"
#include "base/text/text.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

YPI_LINKED_SECTIONS;

/* By which a copy of the framework is known. */
__attribute__((used, section("yp_harness"))) static const char copy[] = "yieldpoint";

static const char *const sections[YPI_LINKED_KINDS] = {"yp_tests", "yp_options"};

struct pointers {
    const void **of; /* owned */
    size_t count;
};

/* Filled before main(), and at the first question. */
static struct {
    struct ypi_linked named[YPI_LINKED_KINDS]; /* by ypi_linked_here() */
    struct pointers all[YPI_LINKED_KINDS];
    int problems;
    bool complete;
} linked;

void ypi_linked_here(enum ypi_linked_kind kind, const void *const *begin, const void *const *end)
{
    linked.named[kind] = (struct ypi_linked){begin, end};
}

static struct ypi_linked own(enum ypi_linked_kind kind)
{
    if (linked.named[kind].begin != linked.named[kind].end)
        return linked.named[kind];
    return kind == YPI_LINKED_TESTS ? (struct ypi_linked){__start_yp_tests, __stop_yp_tests}
                                    : (struct ypi_linked){__start_yp_options, __stop_yp_options};
}

static void append(struct pointers *to, const void *const *from, size_t count)
{
    if (count == 0)
        return;
    to->of = ypi_realloc(to->of, to->count + count, sizeof *to->of);
    memcpy(to->of + to->count, from, count * sizeof *to->of);
    to->count += count;
}

static int add_library(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    struct ypi_loaded_section found[YPI_LINKED_KINDS + 1] = {{.name = sections[YPI_LINKED_TESTS]},
                                                             {.name = sections[YPI_LINKED_OPTIONS]},
                                                             {.name = "yp_harness"}};
    if (object->dlpi_name == NULL || object->dlpi_name[0] == '\0') /* the program */
        return 0;
    ypi_loaded_sections(object->dlpi_name, found, YPI_LINKED_KINDS + 1);
    const bool any = found[YPI_LINKED_TESTS].size > 0 || found[YPI_LINKED_OPTIONS].size > 0;
    if (any && found[YPI_LINKED_KINDS].size > 0) {
        fprintf(stderr,
                "error: %s: it holds tests or options, and a copy of Yieldpoint beside the "
                "program's: link it without Yieldpoint, or both with a shared one "
                "(-Ddefault_library=shared)\n",
                object->dlpi_name);
        linked.problems++;
        return 0;
    }
    for (int kind = 0; kind < YPI_LINKED_KINDS; kind++) {
        /* An address of this process, from one in the file. */
        const void *at = (const void *)(uintptr_t)(object->dlpi_addr + found[kind].address);
        append(&linked.all[kind], at, found[kind].size / sizeof(void *));
    }
    return 0;
}

static void complete(void)
{
    if (linked.complete)
        return;
    linked.complete = true;
    for (int kind = 0; kind < YPI_LINKED_KINDS; kind++) {
        const struct ypi_linked mine = own((enum ypi_linked_kind)kind);
        append(&linked.all[kind], mine.begin, (size_t)(mine.end - mine.begin));
    }
    dl_iterate_phdr(add_library, NULL);
}

struct ypi_linked ypi_linked_all(enum ypi_linked_kind kind)
{
    complete();
    const struct pointers *all = &linked.all[kind];
    return all->count > 0 ? (struct ypi_linked){all->of, all->of + all->count}
                          : (struct ypi_linked){NULL, NULL};
}

const void *ypi_linked_at(enum ypi_linked_kind kind, size_t index)
{
    const struct ypi_linked mine = own(kind);
    if (index < (size_t)(mine.end - mine.begin))
        return mine.begin[index];
    complete();
    return index < linked.all[kind].count ? linked.all[kind].of[index] : NULL;
}

int ypi_linked_problems(void)
{
    complete();
    return linked.problems;
}
