#include "base/system/self.h"

#include "base/numbers/splitmix.h"
#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yieldpoint/case.h>

#define LINK "/proc/self/exe"

/* -- its path ------------------------------------------------------------------------------ */

static char path[PATH_MAX];

static bool is_itself(const char *name)
{
    struct stat own;
    struct stat other;
    return stat(LINK, &own) == 0 && stat(name, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

static void read_path(void)
{
    static const char mark[] = " (deleted)";
    const ssize_t length = readlink(LINK, path, sizeof path - 1);
    if (length <= 0) {
        snprintf(path, sizeof path, "?");
        return;
    }
    path[length] = '\0';
    char *behind = path + length - (sizeof mark - 1);
    if (behind > path && strcmp(behind, mark) == 0 && !is_itself(path))
        *behind = '\0';
}

const char *ypi_self_path(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_path);
    return path;
}

bool ypi_self_in_place(void)
{
    return is_itself(ypi_self_path());
}

void ypi_self_file(pid_t process, char out[YPI_SELF_FILE])
{
    snprintf(out, YPI_SELF_FILE, "/proc/%d/exe", (int)process);
}

/* -- its content --------------------------------------------------------------------------- */

/* As much as there is, of `size` bytes at most; -1: errno. */
static ssize_t read_block(int fd, void *to, size_t size)
{
    size_t have = 0;
    while (have < size) {
        const ssize_t got = read(fd, (char *)to + have, size - have);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return -1;
        have += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)have;
}

bool ypi_self_hash(char out[17])
{
    enum { WORDS = 1 << 16 };
    const int fd = open(LINK, O_RDONLY | O_CLOEXEC);
    float *words = fd >= 0 ? ypi_calloc(WORDS, sizeof *words) : NULL;
    uint64_t sum = 0;
    uint64_t size = 0;
    ssize_t got = 0;
    while (fd >= 0 && (got = read_block(fd, words, WORDS * sizeof *words)) > 0) {
        const size_t bytes = (size_t)got;
        const size_t count = (bytes + sizeof *words - 1) / sizeof *words;
        memset((char *)words + bytes, 0, count * sizeof *words - bytes);
        sum += yp_hash_f32(size / sizeof *words, words, count);
        size += bytes;
    }
    free(words);
    if (fd >= 0)
        close(fd);
    snprintf(out, 17, "%016" PRIx64, sum + ypi_mix64(size));
    return fd >= 0 && got == 0;
}

/* A note: name and content are padded to whole words. */
static void read_note(const ElfW(Nhdr) * note, const unsigned char *end, char *out)
{
    while ((const unsigned char *)(note + 1) <= end) {
        const unsigned char *name = (const unsigned char *)(note + 1);
        const unsigned char *content = name + ((note->n_namesz + 3U) & ~3U);
        if (content > end || note->n_descsz > (size_t)(end - content))
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof "GNU" &&
            memcmp(name, "GNU", sizeof "GNU") == 0) {
            for (size_t i = 0; i < note->n_descsz && 2 * i + 2 < YPI_SELF_BUILD; i++)
                snprintf(out + 2 * i, 3, "%02x", content[i]);
            return;
        }
        note = (const void *)(content + ((note->n_descsz + 3U) & ~3U));
    }
}

/* The first object is the program. */
static int read_build(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const unsigned char *begin =
            (const unsigned char *)(uintptr_t)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_NOTE && *(char *)out == '\0')
            read_note((const void *)begin, begin + header->p_memsz, out);
    }
    return 1;
}

void ypi_self_build(char out[YPI_SELF_BUILD])
{
    out[0] = '\0';
    dl_iterate_phdr(read_build, out);
}

/* -- through the dynamic loader ------------------------------------------------------------ */

struct object {
    uintptr_t headers;
    const char *interpreter; /* NULL: it names none */
};

/* The first object is the program. */
static int read_program(struct dl_phdr_info *info, size_t size, void *out)
{
    struct object *o = out;
    (void)size;
    o->headers = (uintptr_t)info->dlpi_phdr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            /* An address of this process, from one in the file. */
            o->interpreter =
                (const char *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

/* Of the file that is mapped at this address; NULL: none is. The caller frees. */
static char *file_at(uintptr_t address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    char *found = NULL;
    size_t capacity = 0;
    while (maps != NULL && found == NULL && getline(&line, &capacity, maps) > 0) {
        char *end = NULL;
        const uintptr_t first = strtoull(line, &end, 16);
        const uintptr_t behind = *end == '-' ? strtoull(end + 1, NULL, 16) : 0;
        const char *slash = strchr(line, '/');
        if (address < first || address >= behind)
            continue;
        if (slash == NULL)
            break;
        found = ypi_strdup(slash);
        found[strcspn(found, "\n")] = '\0';
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* The words that the kernel was given, NULL behind them; the caller frees. */
static char **words_of_kernel(int *count)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *word = NULL;
    size_t capacity = 0;
    char **words = NULL;
    *count = 0;
    while (file != NULL && getdelim(&word, &capacity, '\0', file) > 0)
        words = ypi_list_add(words, (*count)++, ypi_strdup(word));
    free(word);
    if (file != NULL)
        fclose(file);
    words = ypi_realloc(words, (size_t)*count + 1, sizeof *words);
    words[*count] = NULL;
    return words;
}

/* What the loader's own options say, of which `count` words stand before the program. */
static bool take_options(char **words, int count, char **name)
{
    for (int i = 1; i < count && words[i] != NULL; i += 2) {
        char *value = i + 1 < count ? words[i + 1] : NULL;
        if (value != NULL && strcmp(words[i], "--library-path") == 0)
            setenv("LD_LIBRARY_PATH", value, 1);
        else if (value != NULL && strcmp(words[i], "--argv0") == 0)
            *name = value;
        else
            return yp_set_error(YP_UNSUPPORTED,
                                "%s cannot be given to the processes of the cases, which start "
                                "from the program's own file: start the program by itself",
                                words[i]) == YP_OK;
    }
    return true;
}

static bool start_anew(const char *program, const struct object *own, int argc)
{
    if (own->interpreter == NULL || !is_itself(own->interpreter))
        return yp_set_error(YP_UNSUPPORTED,
                            "%s was started by the loader %s, and by its own file it is started by "
                            "%s, as the processes of its cases are: start it by itself, or change "
                            "the name in it (patchelf --set-interpreter)",
                            program, ypi_self_path(),
                            own->interpreter != NULL ? own->interpreter : "none") == YP_OK;
    int count = 0;
    char **words = words_of_kernel(&count);
    const int before = argc > 0 ? count - argc : 0;
    char *name = before > 0 ? words[before] : NULL;
    if (name == NULL) {
        (void)yp_set_error(YP_IO, "/proc/self/cmdline has fewer words than main() was given");
    } else if (take_options(words, before, &name)) {
        char **own_words = ypi_calloc((size_t)argc + 1, sizeof *own_words);
        memcpy(own_words, words + before, (size_t)argc * sizeof *own_words);
        own_words[0] = name;
        execv(program, own_words);
        (void)yp_set_error(YP_IO, "%s: %s", program, strerror(errno));
        free((void *)own_words);
    }
    ypi_list_free(words, count);
    return false;
}

bool ypi_self_without_loader(int argc)
{
    struct object own = {0};
    if (getauxval(AT_BASE) != 0) /* the kernel has loaded the loader beside the program */
        return true;
    dl_iterate_phdr(read_program, &own);
    char *program = file_at(own.headers);
    const bool ok = program == NULL || is_itself(program) || start_anew(program, &own, argc);
    free(program);
    return ok;
}

/* The kernel calls a process by the name that it was executed by, which is a link's. */
void ypi_self_take_name(void)
{
    const char *own = ypi_self_path();
    const char *slash = strrchr(own, '/');
    prctl(PR_SET_NAME, slash != NULL ? slash + 1 : own);
}
