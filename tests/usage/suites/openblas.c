/* A program with an OpenBLAS that takes every processor for a Prescott. */
#include <yieldpoint/yieldpoint.h>

#include <stdio.h>
#include <stdlib.h>

char *openblas_get_corename(void) __attribute__((visibility("default")));

char *openblas_get_corename(void)
{
    static char name[] = "Prescott";
    return name;
}

YP_TEST(openblas, told)
{
    const char *core = getenv("OPENBLAS_CORETYPE");
    printf("isa %s, told %s\n", yp_isa_name(yp_isa()), core != NULL ? core : "nothing");
}

YP_COMMAND(openblas, command,
           .command = "echo told ${{OPENBLAS_CORETYPE-nothing}, ${{YIELDPOINT_OPENBLAS-nothing}");
