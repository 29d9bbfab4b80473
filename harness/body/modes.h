/* What a thread computes and prints by, and a body may leave changed: rounding, what becomes of
 * denormals, exceptions of arithmetic, locale. */
#pragma once

#include <locale.h>
#include <stdint.h>

struct ypi_modes {
    int rounding;
    uint64_t control; /* of the floating-point unit: MXCSR, FPCR; 0: not known here */
    char *locale;     /* owned */
};

/* As they are in this thread; the caller gives them to ypi_modes_restore(). */
struct ypi_modes ypi_modes_read(void);

/* Puts back what was changed since, and says what that was: "rounding, flushing of denormals"; the
 * caller frees. NULL: nothing. Frees what `before` owns. */
char *ypi_modes_restore(struct ypi_modes *before);

/* From here on this thread prints numbers with a point, whatever locale the body has set. To be
 * given to ypi_numbers_as_before(), which ends that. */
locale_t ypi_numbers_with_point(void);
void ypi_numbers_as_before(locale_t before);
