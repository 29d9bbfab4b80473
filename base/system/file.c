#include "base/system/file.h"

#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t read_from(const char *path, off_t before_end, char *out, size_t size)
{
    size_t length = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && before_end > 0 && lseek(file, -before_end, SEEK_END) < 0)
        (void)lseek(file, 0, SEEK_SET); /* it is shorter */
    for (ssize_t got; file >= 0 && (got = read(file, out + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    if (file >= 0)
        close(file);
    out[length] = '\0';
    return length;
}

size_t ypi_read_file(const char *path, char *out, size_t size)
{
    return read_from(path, 0, out, size);
}

size_t ypi_read_file_end(const char *path, char *out, size_t size)
{
    return read_from(path, (off_t)size - 1, out, size);
}

bool ypi_write_file(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    bool right = length == 0 || fwrite(bytes, 1, length, file) == length;
    return fclose(file) == 0 && right;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *place)
{
    (void)s, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

/* A directory that its owner may not write to or look into keeps what is in it. */
static int open_one(const char *path, const struct stat *s, int kind, struct FTW *place)
{
    (void)place;
    if (kind == FTW_DNR || (kind == FTW_D && (s->st_mode & S_IRWXU) != S_IRWXU))
        (void)chmod(path, S_IRWXU);
    return 0;
}

bool ypi_is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

void ypi_remove_tree(const char *path)
{
    enum { OPEN_AT_ONCE = 16 };
    (void)nftw(path, open_one, OPEN_AT_ONCE, FTW_PHYS);
    (void)nftw(path, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

void ypi_directory_of(char out[YPI_PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    int length = slash == path ? 1 : slash != NULL ? (int)(slash - path) : 1;
    snprintf(out, YPI_PATH_MAX, "%.*s", length, slash != NULL ? path : ".");
}

void ypi_real_directory_of(char out[YPI_PATH_MAX], const char *path)
{
    char *real = realpath(path, NULL);
    ypi_directory_of(out, real != NULL ? real : path);
    free(real);
}

/* A read-only directory is no error here: the next write to it reports one. */
static void hide_from_git(const char *directory)
{
    static const char own[] = "/.yieldpoint";
    size_t length = strlen(directory);
    bool is_own =
        length >= sizeof own - 1 && strcmp(directory + length - (sizeof own - 1), own) == 0;
    if (!is_own && strcmp(directory, own + 1) != 0)
        return;
    char *path = ypi_format("%s/.gitignore", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)!write(fd, "*\n", 2);
        close(fd);
    }
    free(path);
}

enum yp_status ypi_make_parents(const char *path)
{
    char *copy = ypi_strdup(path);
    enum yp_status status = YP_OK;
    for (char *slash = *copy != '\0' ? strchr(copy + 1, '/') : NULL;
         slash != NULL && status == YP_OK; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) == 0 || errno == EEXIST)
            hide_from_git(copy);
        else
            status = yp_set_error(YP_IO, "%s: its directory %s cannot be made: %s", path, copy,
                                  strerror(errno));
        *slash = '/';
    }
    free(copy);
    return status;
}

enum yp_status ypi_read_at(int fd, const char *path, uint64_t offset, void *to, size_t size)
{
    char *at = to;
    while (size > 0) {
        ssize_t count = pread(fd, at, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return yp_set_error(YP_IO, "%s: cannot be read at byte %" PRIu64 ": %s", path, offset,
                                strerror(errno));
        if (count == 0)
            return yp_set_error(YP_IO, "%s: ends at byte %" PRIu64 ", and %zu more were expected",
                                path, offset, size);
        at += count;
        offset += (uint64_t)count;
        size -= (size_t)count;
    }
    return YP_OK;
}

static bool can_be_executed(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

char *ypi_program_path(const char *program)
{
    if (strchr(program, '/') != NULL)
        return can_be_executed(program) ? realpath(program, NULL) : NULL;
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ":");
        char *path = ypi_format("%.*s/%s", (int)length, at, program);
        if (length > 0 && can_be_executed(path))
            return path;
        free(path);
        at += length + (at[length] == ':');
    }
    return NULL;
}
