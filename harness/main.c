/* A test program's main. It is always a part of the program itself, whose own sections only it can
 * name, and whose functions come before those of libraries. */
#include "harness/driver/program.h"

YPI_LINKED_SECTIONS;

/* Before main(), in whose place Criterion puts a case's process. */
__attribute__((constructor)) static void name_sections(void)
{
    ypi_linked_here(YPI_LINKED_TESTS, __start_yp_tests, __stop_yp_tests);
    ypi_linked_here(YPI_LINKED_OPTIONS, __start_yp_options, __stop_yp_options);
}

/* Visible: Criterion finds it by its dynamic symbol. */
__attribute__((visibility("default"))) int main(int argc, char **argv)
{
    /* In a case's process Criterion writes a jump over the first bytes of main: they must not be
     * those of the function behind it. */
    __asm__ volatile(".rept 32\n\tnop\n\t.endr");
    return ypi_program(argc, argv);
}
