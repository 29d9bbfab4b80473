/* What a build does, as a digest: the bytes that its programs load, and all other files. Where it
 * was built, its debug information, build ids and recorded compiler switches do not count, nor what
 * compilers and build systems keep for themselves. */
#include "gate/revision/code.h"

#include "base/system/file.h"
#include "base/text/text.h"
#include "gate/revision/walk.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- a file's bytes ------------------------------------------------------------------------ */

struct bytes {
    unsigned char *data;
    size_t size;
};

/* With its own copy of each page that is written to. */
static bool map(const char *path, struct bytes *out)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *out = (struct bytes){0};
    bool right = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
    if (right && s.st_size > 0) {
        void *data = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        right = data != MAP_FAILED;
        if (right)
            *out = (struct bytes){data, (size_t)s.st_size};
    }
    if (fd >= 0)
        close(fd);
    return right;
}

static void unmap(struct bytes *b)
{
    if (b->data != NULL)
        (void)munmap(b->data, b->size);
    *b = (struct bytes){0};
}

static void blank_one(struct bytes *b, const char *place)
{
    size_t length = strlen(place);
    unsigned char *end = b->data + b->size;
    for (unsigned char *at = b->data;
         at != NULL && (at = memmem(at, (size_t)(end - at), place, length)) != NULL;)
        memset(at, 0, length);
}

/* Where a build lies: as it was told, and without symbolic links. */
struct where {
    const char *place, *real, *build;
};

/* Places of builds have names of one length, so that nothing behind one moves. */
static void blank(struct bytes *b, const struct where *w)
{
    blank_one(b, w->place);
    if (strcmp(w->place, w->real) != 0)
        blank_one(b, w->real);
}

static bool begins(const struct bytes *b, const char *magic, size_t length)
{
    return b->size >= length && memcmp(b->data, magic, length) == 0;
}

/* -- programs and libraries (ELF) ---------------------------------------------------------- */

static bool is_elf(const struct bytes *b, Elf64_Ehdr *header)
{
    bool right = begins(b, ELFMAG, SELFMAG) && b->size >= sizeof *header &&
                 b->data[EI_CLASS] == ELFCLASS64 && b->data[EI_DATA] == ELFDATA2LSB;
    if (right)
        memcpy(header, b->data, sizeof *header);
    return right;
}

/* `size` bytes from `offset` on lie in the file. */
static bool holds(const struct bytes *b, uint64_t offset, uint64_t size)
{
    return offset <= b->size && size <= b->size - offset;
}

static Elf64_Shdr section_of(const struct bytes *b, const Elf64_Ehdr *h, int at)
{
    Elf64_Shdr section;
    memcpy(&section, b->data + h->e_shoff + (uint64_t)at * sizeof section, sizeof section);
    return section;
}

/* NULL: it does not end. */
static const char *name_of(const struct bytes *b, const Elf64_Shdr *names,
                           const Elf64_Shdr *section)
{
    if (section->sh_name >= names->sh_size)
        return NULL;
    const char *name = (const char *)b->data + names->sh_offset + section->sh_name;
    return memchr(name, '\0', names->sh_size - section->sh_name) != NULL ? name : NULL;
}

static bool add_section(struct ypi_digest *d, const struct bytes *b, const Elf64_Shdr *names,
                        const Elf64_Shdr *s)
{
    const char *name = name_of(b, names, s);
    if (name == NULL)
        return false;
    if ((s->sh_flags & SHF_ALLOC) == 0 || strcmp(name, ".note.gnu.build-id") == 0)
        return true;
    ypi_digest_text(d, name);
    ypi_digest_word(d, s->sh_type);
    ypi_digest_word(d, s->sh_flags);
    ypi_digest_word(d, s->sh_addr);
    ypi_digest_word(d, s->sh_size);
    if (s->sh_type == SHT_NOBITS)
        return true;
    if (!holds(b, s->sh_offset, s->sh_size))
        return false;
    ypi_digest_bytes(d, b->data + s->sh_offset, s->sh_size);
    return true;
}

static void add_segments(struct ypi_digest *d, const struct bytes *b, const Elf64_Ehdr *h)
{
    for (int i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, b->data + h->e_phoff + (uint64_t)i * sizeof segment, sizeof segment);
        ypi_digest_word(d, segment.p_type);
        ypi_digest_word(d, segment.p_flags);
        ypi_digest_word(d, segment.p_vaddr);
        ypi_digest_word(d, segment.p_memsz);
    }
}

/* What is loaded. False where it cannot be told; the digest then has a part of it. */
static bool add_loaded(struct ypi_digest *d, const struct bytes *b, const Elf64_Ehdr *h)
{
    if (h->e_shnum == 0 || h->e_shentsize != sizeof(Elf64_Shdr) ||
        !holds(b, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)) ||
        h->e_shstrndx >= h->e_shnum || h->e_phentsize != sizeof(Elf64_Phdr) ||
        !holds(b, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr)))
        return false;
    Elf64_Shdr names = section_of(b, h, h->e_shstrndx);
    if (!holds(b, names.sh_offset, names.sh_size))
        return false;
    ypi_digest_word(d, h->e_machine);
    ypi_digest_word(d, h->e_entry);
    add_segments(d, b, h);
    for (int i = 1; i < h->e_shnum; i++) {
        Elf64_Shdr section = section_of(b, h, i);
        if (!add_section(d, b, &names, &section))
            return false;
    }
    return true;
}

/* -- files --------------------------------------------------------------------------------- */

/* In the build directory itself. */
static const char *const kept_there[] = {
    "meson-info",     "meson-logs",          "meson-private",
    "build.ninja",    ".ninja_deps",         ".ninja_log",
    "CMakeCache.txt", "CTestTestfile.cmake", "compile_commands.json",
    "Testing",        "cmake_install.cmake", "meson-uninstalled"};
/* Behind the last dot: what compilers leave beside objects. */
static const char *const left_beside[] = {"dwo", "gch", "pch", "gcno"};

static bool ends(const char *name, const char *end)
{
    size_t length = strlen(name);
    size_t more = strlen(end);
    return length > more && strcmp(name + length - more, end) == 0;
}

/* A list of headers: "x.c.o.d", or "x.d" beside "x.o". */
static bool lists_headers(const FTSENT *at)
{
    if (ends(at->fts_name, ".o.d"))
        return true;
    if (!ends(at->fts_name, ".d"))
        return false;
    char *object = ypi_format("%.*so", (int)(strlen(at->fts_path) - 1), at->fts_path);
    bool there = access(object, F_OK) == 0;
    free(object);
    return there;
}

static bool is_passed_over(const FTSENT *at)
{
    const char *dot = strrchr(at->fts_name, '.');
    if (at->fts_level == 1 &&
        ypi_list_has(kept_there, sizeof kept_there / sizeof *kept_there, at->fts_name))
        return true;
    if (at->fts_level > 0 && at->fts_info == FTS_D)
        return strcmp(at->fts_name, "CMakeFiles") == 0;
    return at->fts_info == FTS_F &&
           ((dot != NULL &&
             ypi_list_has(left_beside, sizeof left_beside / sizeof *left_beside, dot + 1)) ||
            lists_headers(at));
}

/* Objects and archives are in the programs already, as far as these need them. */
static bool is_linked(const struct bytes *b, bool elf, const Elf64_Ehdr *header)
{
    return (elf && header->e_type == ET_REL) || begins(b, "!<arch>\n", 8) ||
           begins(b, "!<thin>\n", 8);
}

/* False: it cannot be read. */
static bool add_file(struct ypi_digest *d, const char *path, const char *name,
                     const struct where *w)
{
    struct bytes b;
    Elf64_Ehdr header = {0};
    if (!map(path, &b))
        return false;
    bool elf = is_elf(&b, &header);
    if (!is_linked(&b, elf, &header)) {
        struct ypi_digest before = *d;
        blank(&b, w);
        ypi_digest_text(d, name);
        if (!elf || !add_loaded(d, &b, &header)) {
            *d = before;
            ypi_digest_text(d, name);
            ypi_digest_bytes(d, b.data, b.size);
        }
    }
    unmap(&b);
    return true;
}

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* A directory of the build itself is read where it lies, and one outside the place is the same for
 * all builds. One of the sources is neither: what is in it is not known. */
static bool is_known_directory(const char *path, const struct where *w)
{
    char *real = realpath(path, NULL);
    char *build = realpath(w->build, NULL);
    bool known =
        real != NULL && build != NULL && (is_below(real, build) || !is_below(real, w->real));
    free(build);
    free(real);
    return known;
}

/* Where it leads, and the bytes of a file there. */
static bool add_link(struct ypi_digest *d, const char *path, const char *name,
                     const struct where *w)
{
    struct stat s;
    char text[YPI_PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text);
    if (length < 0 || (size_t)length == sizeof text)
        return false;
    struct bytes target = {(unsigned char *)text, (size_t)length};
    blank(&target, w);
    ypi_digest_text(d, name);
    ypi_digest_bytes(d, text, (size_t)length);
    if (stat(path, &s) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP; /* it leads nowhere */
    return S_ISDIR(s.st_mode) ? is_known_directory(path, w) : add_file(d, path, name, w);
}

static bool add_entry(struct ypi_digest *d, const FTSENT *at, const struct where *w)
{
    const char *name = at->fts_path + strlen(w->build);
    if (at->fts_info == FTS_F)
        return add_file(d, at->fts_path, name, w);
    if (at->fts_info == FTS_SL)
        return add_link(d, at->fts_path, name, w);
    return at->fts_info == FTS_D || at->fts_info == FTS_DP;
}

static bool add_tree(struct ypi_digest *d, const struct where *w)
{
    FTS *tree = ypi_walk(w->build, FTS_PHYSICAL);
    bool whole = tree != NULL;
    while (whole) {
        FTSENT *at = ypi_walk_next(tree);
        if (at == NULL) {
            whole = errno == 0;
            break;
        }
        if (is_passed_over(at))
            (void)fts_set(tree, at, FTS_SKIP);
        else
            whole = add_entry(d, at, w);
    }
    if (tree != NULL)
        fts_close(tree);
    return whole;
}

/* The options that a suite is given there. */
static bool add_options(struct ypi_digest *d, const char *source, const struct where *w)
{
    char *path = ypi_format("%s/yieldpoint.ini", source);
    bool right = access(path, F_OK) == 0 ? add_file(d, path, "yieldpoint.ini", w) : errno == ENOENT;
    free(path);
    return right;
}

void ypi_code_of(const struct ypi_revision *r, const char *place, char out[YPI_DIGEST_MAX])
{
    struct ypi_digest d = {0};
    char *real = realpath(place, NULL);
    const struct where w = {place, real, r->build};
    bool whole = real != NULL && add_tree(&d, &w) && add_options(&d, r->source, &w);
    free(real);
    out[0] = '\0';
    if (whole)
        ypi_digest_print(&d, out);
}

bool ypi_revision_same_build(const struct ypi_revision *base, const struct ypi_revision *head)
{
    return *base->code != '\0' && strcmp(base->code, head->code) == 0;
}
