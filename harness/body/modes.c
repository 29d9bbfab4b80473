#include "harness/body/modes.h"

#include "base/text/text.h"

#include <fenv.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the control register: all that are set by software, those of them that flush denormals
 * and those that let an exception raise a signal. Flags of what has happened are left out. */
#if defined __SSE__
#include <xmmintrin.h>
#define CONTROL UINT64_C(0xffc0)
#define FLUSH UINT64_C(0x8040)
#define TRAPS UINT64_C(0x1f80)
static uint64_t read_control(void)
{
    return _mm_getcsr() & CONTROL;
}
static void write_control(uint64_t control)
{
    _mm_setcsr((unsigned)((_mm_getcsr() & ~CONTROL) | control));
}
#elif defined __aarch64__
#define FLUSH UINT64_C(0x1000000)
#define TRAPS UINT64_C(0x9f00)
static uint64_t read_control(void)
{
    uint64_t control = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}
static void write_control(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#else
#define FLUSH UINT64_C(0)
#define TRAPS UINT64_C(0)
static uint64_t read_control(void)
{
    return 0;
}
static void write_control(uint64_t control)
{
    (void)control;
}
#endif

struct ypi_modes ypi_modes_read(void)
{
    const char *locale = setlocale(LC_ALL, NULL);
    return (struct ypi_modes){.rounding = fegetround(),
                              .control = read_control(),
                              .locale = ypi_strdup(locale != NULL ? locale : "C")};
}

static void add(struct ypi_text *text, bool changed, const char *what)
{
    if (changed)
        ypi_text_add(text, "%s%s", text->length > 0 ? ", " : "", what);
}

char *ypi_modes_restore(struct ypi_modes *before)
{
    struct ypi_modes now = ypi_modes_read();
    uint64_t changed = now.control ^ before->control;
    struct ypi_text text = {0};
    add(&text, now.rounding != before->rounding, "rounding");
    add(&text, (changed & FLUSH) != 0, "flushing of denormals");
    add(&text, (changed & TRAPS) != 0, "traps of floating-point exceptions");
    if (text.length > 0) {
        fesetround(before->rounding); /* of all units that have a mode of their own */
        write_control(before->control);
    }
    if (strcmp(now.locale, before->locale) != 0) {
        add(&text, true, "the locale");
        setlocale(LC_ALL, before->locale);
    }
    free(now.locale);
    free(before->locale);
    before->locale = NULL;
    if (text.length > 0)
        return ypi_text_take(&text);
    free(ypi_text_take(&text));
    return NULL;
}

locale_t ypi_numbers_with_point(void)
{
    locale_t base = duplocale(uselocale((locale_t)0));
    locale_t own = base != (locale_t)0 ? newlocale(LC_NUMERIC_MASK, "C", base) : (locale_t)0;
    if (own == (locale_t)0 && base != (locale_t)0)
        freelocale(base);
    return own != (locale_t)0 ? uselocale(own) : (locale_t)0;
}

void ypi_numbers_as_before(locale_t before)
{
    if (before != (locale_t)0)
        freelocale(uselocale(before));
}
