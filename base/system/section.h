/* Sections of the running program's file that are not loaded with it. */
#ifndef YPI_SECTION_H
#define YPI_SECTION_H

#include <stddef.h>

/* The section's bytes and, behind them, a NUL; the caller frees them. NULL: the program has no such
 * section, or cannot be read. ELF (elf(5)) of this machine's own class and byte order. */
char *ypi_program_section(const char *name, size_t *size);

#endif
