/* The declarations linked into the program and into the shared libraries loaded with it. */
#pragma once

#include <stddef.h>

enum ypi_linked_kind { YPI_LINKED_TESTS, YPI_LINKED_OPTIONS, YPI_LINKED_KINDS };

/* Pointers to declarations: struct yp_test or struct yp_option. */
struct ypi_linked {
    const void *const *begin, *const *end;
};

/* The sections that YP_TEST and YP_OPTION fill, of the program or library that includes this. */
#define YPI_LINKED_SECTION(name) \
    extern const void *const __start_##name[] __attribute__((weak, visibility("hidden"))); \
    extern const void *const __stop_##name[] __attribute__((weak, visibility("hidden")))
#define YPI_LINKED_SECTIONS \
    YPI_LINKED_SECTION(yp_tests); \
    YPI_LINKED_SECTION(yp_options)

/* Says where the program's own are, to a library that is shared and cannot see them. */
__attribute__((visibility("default"))) void
ypi_linked_here(enum ypi_linked_kind kind, const void *const *begin, const void *const *end);

/* All of them: the program's own, then those of its libraries in the order in which they were
 * loaded. The same in every process of the program. Kept to the end. */
struct ypi_linked ypi_linked_all(enum ypi_linked_kind kind);

/* The declaration at `index` of all, NULL behind them; looks at the libraries only if it must. */
const void *ypi_linked_at(enum ypi_linked_kind kind, size_t index);

/* How many libraries hold declarations that cannot be collected; each is reported on stderr, and
 * what to do. */
int ypi_linked_problems(void);
