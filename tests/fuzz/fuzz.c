#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* -- inputs -------------------------------------------------------------------------------- */

static char *text_of(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        fuzz_failed(__FILE__, __LINE__, "memory for an input");
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

char *fuzz_line(struct fuzz_input *input)
{
    const uint8_t *end = input->left > 0 ? memchr(input->at, '\n', input->left) : NULL;
    size_t length = end != NULL ? (size_t)(end - input->at) : input->left;
    char *line = text_of(input->at, length);
    length += end != NULL;
    input->at += length;
    input->left -= length;
    return line;
}

char *fuzz_rest(struct fuzz_input *input)
{
    char *text = text_of(input->at, input->left);
    input->left = 0;
    return text;
}

uint64_t fuzz_number(struct fuzz_input *input, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes && input->left > 0; i++, input->at++, input->left--)
        number |= (uint64_t)*input->at << (8 * i);
    return number;
}

/* -- files --------------------------------------------------------------------------------- */

static char directory[512];
static pid_t owner;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static void remove_directory(void)
{
    if (getpid() == owner)
        nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_directory(void)
{
    const char *where = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/yieldpoint-fuzz-XXXXXX",
             where != NULL ? where : "/tmp");
    if (mkdtemp(directory) == NULL) {
        perror(directory);
        exit(1);
    }
    owner = getpid();
    atexit(remove_directory);
}

const char *fuzz_path(const char *name)
{
    enum { PATHS = 8, PATH_BYTES = 600 };
    static char paths[PATHS][PATH_BYTES];
    static int next;
    if (directory[0] == '\0')
        make_directory();
    char *path = paths[next++ % PATHS];
    snprintf(path, PATH_BYTES, "%s/%s", directory, name);
    return path;
}

static int before = -1;

void fuzz_enter(void)
{
    before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (before < 0 || chdir(fuzz_path("")) != 0)
        fuzz_failed(__FILE__, __LINE__, "entering the directory");
}

void fuzz_leave(void)
{
    if (fchdir(before) != 0 || close(before) != 0)
        fuzz_failed(__FILE__, __LINE__, "leaving the directory");
}

void fuzz_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t done = 0;
    ssize_t got = 1;
    while (fd >= 0 && done < size && got > 0)
        done += (size_t)(got = write(fd, (const char *)bytes + done, size - done));
    if (fd < 0 || done != size || close(fd) != 0) {
        perror(path);
        exit(1);
    }
}

size_t fuzz_hex(unsigned char *to, size_t room, const char *hex)
{
    size_t count = 0;
    unsigned byte = 0;
    for (; count < room && strlen(hex) >= 2 && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        to[count++] = (unsigned char)byte;
    return count;
}
