/* Sections of ELF files, whole and damaged. */
#include "base/system/section.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char here[] __attribute__((used, section("yp_sought"))) = "something to find";

static size_t read_self(char **out)
{
    enum { MOST = 64 << 20 };
    FILE *file = fopen("/proc/self/exe", "rb");
    cr_assert_not_null(file);
    *out = ypi_calloc(MOST, 1);
    size_t size = fread(*out, 1, MOST, file);
    fclose(file);
    cr_assert(size > sizeof(ElfW(Ehdr)) && size < MOST);
    return size;
}

/* What is found in a file of these bytes. */
static struct ypi_loaded_section found_in(const char *bytes, size_t size)
{
    char path[] = "/tmp/yieldpoint-section-XXXXXX";
    struct ypi_loaded_section sought = {.name = "yp_sought"};
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    cr_assert_not_null(file);
    cr_assert(fwrite(bytes, 1, size, file) == size);
    cr_assert(fclose(file) == 0);
    ypi_loaded_sections(path, &sought, 1);
    unlink(path);
    return sought;
}

Test(section, of_the_program)
{
    char *bytes = NULL;
    size_t size = read_self(&bytes);
    struct ypi_loaded_section sought[] = {{.name = "yp_sought"}, {.name = "no_such_section"}};
    ypi_loaded_sections("/proc/self/exe", sought, 2);
    cr_expect_eq(sought[0].size, sizeof here);
    cr_expect(sought[1].size == 0 && sought[1].address == 0);
    cr_expect_eq(found_in(bytes, size).address, sought[0].address);
    free(bytes);
}

Test(section, none_where_there_is_no_file_or_another)
{
    struct ypi_loaded_section sought = {.name = "yp_sought", .address = 1, .size = 1};
    ypi_loaded_sections("/no/such/file", &sought, 1);
    cr_expect_eq(sought.size, 0);
    sought.size = 1;
    ypi_loaded_sections("/tmp", &sought, 1);
    cr_expect_eq(sought.size, 0);
    cr_expect_eq(found_in("", 0).size, 0);
    cr_expect_eq(found_in("#!/bin/sh\n", 10).size, 0);
}

Test(section, damaged_files_have_none)
{
    char *bytes = NULL;
    size_t size = read_self(&bytes);
    ElfW(Ehdr) whole;
    memcpy(&whole, bytes, sizeof whole);
    const size_t ends[] = {4, sizeof whole - 1, sizeof whole, size / 2, whole.e_shoff + 1};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        cr_expect_eq(found_in(bytes, ends[i]).size, 0, "the first %zu bytes", ends[i]);

    ElfW(Ehdr) wrong[] = {whole, whole, whole, whole};
    wrong[0].e_shoff = SIZE_MAX - 8;
    wrong[1].e_shentsize = 1;
    wrong[2].e_shstrndx = UINT16_MAX;
    wrong[3].e_shoff += 1; /* sections are not aligned then */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(bytes, &wrong[i], sizeof *wrong);
        cr_expect_eq(found_in(bytes, size).size, 0, "header %zu", i);
    }
    free(bytes);
}
