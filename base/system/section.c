#include "base/system/section.h"

#include "base/text/text.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ElfW(Ehdr) header;
typedef ElfW(Shdr) section;

static bool inside(size_t size, size_t from, size_t count)
{
    return from <= size && count <= size - from;
}

static const section *section_at(const char *file, size_t size, size_t number)
{
    const header *h = (const void *)file;
    size_t from = h->e_shoff + number * h->e_shentsize;
    bool fits = number < h->e_shnum && h->e_shentsize == sizeof(section) &&
                from % _Alignof(section) == 0 && inside(size, from, sizeof(section));
    return fits ? (const void *)(file + from) : NULL;
}

static const char *name_of(const char *file, size_t size, const section *s)
{
    const section *names = section_at(file, size, ((const header *)(const void *)file)->e_shstrndx);
    if (names == NULL || !inside(size, names->sh_offset, names->sh_size) ||
        s->sh_name >= names->sh_size)
        return "";
    const char *name = file + names->sh_offset + s->sh_name;
    return memchr(name, '\0', names->sh_size - s->sh_name) != NULL ? name : "";
}

static char *copied(const char *file, size_t size, const char *name, size_t *length)
{
    const header *h = (const void *)file;
    if (size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    for (size_t i = 0; i < h->e_shnum; i++) {
        const section *s = section_at(file, size, i);
        if (s == NULL || s->sh_type == SHT_NOBITS || strcmp(name_of(file, size, s), name) != 0 ||
            !inside(size, s->sh_offset, s->sh_size))
            continue;
        char *bytes = ypi_calloc(s->sh_size + 1, 1);
        memcpy(bytes, file + s->sh_offset, s->sh_size);
        *length = s->sh_size;
        return bytes;
    }
    return NULL;
}

/* NULL where the file cannot be read; the caller unmaps it. */
static char *mapped(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *file = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        *size = (size_t)status.st_size;
        file = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return file != MAP_FAILED ? file : NULL;
}

char *ypi_program_section(const char *name, size_t *size)
{
    size_t all = 0;
    char *file = mapped("/proc/self/exe", &all);
    char *found = file != NULL ? copied(file, all, name, size) : NULL;
    if (file != NULL)
        munmap(file, all);
    return found;
}

static void find_loaded(const char *file, size_t size, struct ypi_loaded_section *sections,
                        int count)
{
    const header *h = (const void *)file;
    if (size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return;
    for (size_t i = 0; i < h->e_shnum; i++) {
        const section *s = section_at(file, size, i);
        if (s == NULL || (s->sh_flags & SHF_ALLOC) == 0)
            continue;
        for (int k = 0; k < count; k++)
            if (strcmp(name_of(file, size, s), sections[k].name) == 0) {
                sections[k].address = s->sh_addr;
                sections[k].size = s->sh_size;
            }
    }
}

void ypi_loaded_sections(const char *path, struct ypi_loaded_section *sections, int count)
{
    size_t size = 0;
    char *file = mapped(path, &size);
    for (int k = 0; k < count; k++)
        sections[k].address = sections[k].size = 0;
    if (file == NULL)
        return;
    find_loaded(file, size, sections, count);
    munmap(file, size);
}
