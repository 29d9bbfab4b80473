/* Sections of the files that a process is made of. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of one that is not loaded: the section's bytes and, behind them, a NUL; the caller frees them.
 * NULL: the program has no such section, or cannot be read. ELF (elf(5)) of this machine's own
 * class and byte order. */
char *ypi_program_section(const char *name, size_t *size);

/* A section that is loaded: its address and bytes as the file says; size 0: there is none. */
struct ypi_loaded_section {
    const char *name;
    uintptr_t address;
    size_t size;
};

/* Finds them in the file of a program or shared library; none in a file that cannot be read. */
void ypi_loaded_sections(const char *path, struct ypi_loaded_section *sections, int count);
