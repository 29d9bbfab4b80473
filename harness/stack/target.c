#include "harness/stack/target.h"

#include "base/text/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Containers that refuse to trace may refuse the system call, too. */
static size_t read_file(pid_t pid, uint64_t address, void *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? pread(fd, out, size, (off_t)address) : 0;
    if (fd >= 0)
        close(fd);
    return got > 0 ? (size_t)got : 0;
}

size_t ypi_target_read(const struct ypi_target *target, uint64_t address, void *out, size_t size)
{
    struct iovec to = {.iov_base = out, .iov_len = size};
    struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    const ssize_t got = process_vm_readv(target->pid, &to, 1, &from, 1, 0);
    if (got < 0 && (errno == EPERM || errno == ENOSYS))
        return read_file(target->pid, address, out, size);
    return got > 0 ? (size_t)got : 0;
}

bool ypi_target_get(const struct ypi_target *target, uint64_t address, void *out, size_t size)
{
    return ypi_target_read(target, address, out, size) == size;
}

const struct ypi_module *ypi_target_module(const struct ypi_target *target, uint64_t address)
{
    for (int i = 0; i < target->module_count; i++)
        if (address >= target->modules[i].begin && address < target->modules[i].end)
            return &target->modules[i];
    return NULL;
}

/* -- what is loaded ----------------------------------------------------------------------- */

/* By the headers of the file, which are mapped at its beginning. False: it is no such file. */
static bool read_headers(const struct ypi_target *target, struct ypi_module *module)
{
    ElfW(Ehdr) file;
    ElfW(Phdr) part;
    if (!ypi_target_get(target, module->begin, &file, sizeof file) ||
        memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof part)
        return false;
    uint64_t table = 0;
    bool based = false;
    for (int i = 0; i < file.e_phnum; i++) {
        if (!ypi_target_get(target, module->begin + file.e_phoff + (uint64_t)i * sizeof part, &part,
                            sizeof part))
            return false;
        if (part.p_type == PT_LOAD && !based) {
            module->base = module->begin - (part.p_vaddr - part.p_offset);
            based = true;
        } else if (part.p_type == PT_GNU_EH_FRAME) {
            table = part.p_vaddr;
        }
    }
    module->unwind_table = table != 0 ? module->base + table : 0;
    return based;
}

/* What the last line of /proc/PID/maps that has a name belongs to. */
struct place {
    const char *program; /* path of the process's own */
    char path[PATH_MAX];
    struct ypi_module *module; /* NULL: no code */
};

static void begin_module(struct ypi_target *target, uint64_t begin, struct place *place)
{
    target->modules =
        ypi_realloc(target->modules, (size_t)target->module_count + 1, sizeof *target->modules);
    struct ypi_module *module = &target->modules[target->module_count];
    *module = (struct ypi_module){.begin = begin};
    const char *name = place->path;
    if (strcmp(name, "[vdso]") == 0)
        name = "linux-vdso.so.1"; /* as the loader calls it */
    if (strcmp(name, place->program) != 0)
        ypi_module_name(module->name, name);
    place->module = read_headers(target, module) ? module : NULL;
    target->module_count += place->module != NULL;
}

static void take_line(struct ypi_target *target, char *line, struct place *place)
{
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*s %*s %n", &begin, &end, &offset,
               &at) < 3 ||
        at == 0 || (line[at] != '/' && strcmp(line + at, "[vdso]") != 0))
        return;
    if (strcmp(line + at, place->path) != 0) {
        snprintf(place->path, sizeof place->path, "%s", line + at);
        place->module = NULL;
        if (offset == 0)
            begin_module(target, begin, place);
    }
    if (place->module != NULL)
        place->module->end = end;
}

bool ypi_target_open(struct ypi_target *target, pid_t pid)
{
    char path[64];
    char program[PATH_MAX] = "";
    struct place place = {.program = program};
    char *line = NULL;
    size_t size = 0;
    *target = (struct ypi_target){.pid = pid};
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    const ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return false;
    while (getline(&line, &size, maps) > 0)
        take_line(target, line, &place);
    fclose(maps);
    free(line);
    return target->module_count > 0;
}

void ypi_target_close(struct ypi_target *target)
{
    free(target->modules);
    *target = (struct ypi_target){0};
}

bool ypi_target_same_program(pid_t pid)
{
    char path[64];
    char own[PATH_MAX];
    char other[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own);
    return length > 0 && readlink(path, other, sizeof other) == length &&
           memcmp(own, other, (size_t)length) == 0;
}
