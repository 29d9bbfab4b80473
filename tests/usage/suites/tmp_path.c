/* Cases that write into directories of their own, for tmp_path.py; SHOWN is a file that gets the
 * directories' names. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

enum { PATH = 4096 };

/* "directory/name"; valid until the next call. */
static const char *path_of(const char *directory, const char *name)
{
    static char path[2 * PATH];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void show(struct yp_case *t, const char *path)
{
    const char *shown = getenv("SHOWN");
    FILE *file = shown != NULL ? fopen(shown, "a") : NULL;
    yp_require(t, file != NULL, "SHOWN is '%s'", shown != NULL ? shown : "");
    fprintf(file, "%s\n", path);
    fclose(file);
}

static bool write_file(const char *directory, const char *name)
{
    FILE *file = fopen(path_of(directory, name), "wx"); /* it must not be there */
    return file != NULL && fputs("of a case\n", file) >= 0 && fclose(file) == 0;
}

/* A directory with a file, one that may not be written to, and a link to a neighbour's. */
static const char *fill(struct yp_case *t)
{
    const char *directory = yp_tmp_path(t), *outside = getenv("OUTSIDE");
    show(t, directory);
    yp_require(t, write_file(directory, "file"), "a file");
    yp_require(t, mkdir(path_of(directory, "closed"), 0700) == 0, "a directory");
    yp_require(t, write_file(directory, "closed/file"), "a file in it");
    yp_require(t, chmod(path_of(directory, "closed"), 0500) == 0, "closed");
    yp_require(t, outside == NULL || symlink(outside, path_of(directory, "link")) == 0, "a link");
    return directory;
}

YP_TEST(files, written)
{
    const char *directory = fill(t);
    yp_expect(t, directory == yp_tmp_path(t), "the same whenever it is asked for");
    yp_expect(t, directory[0] == '/', "a whole path");
}

YP_TEST(files, together, .axes = YP_AXES(yp_axis_range("n", 1, 8, 1)), .parallel = true)
{
    fill(t);
}

YP_TEST(files, checked)
{
    fill(t);
    yp_fail(t, "of a check");
}

YP_TEST(files, crashed)
{
    fill(t);
    abort();
}

YP_TEST(files, stuck, .timeout = 1)
{
    fill(t);
    for (;;)
        pause();
}

YP_TEST(files, forked)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(write_file(yp_tmp_path(t), "of the other") ? 0 : 1);
    int status = 1;
    yp_require(t, waitpid(pid, &status, 0) == pid && status == 0, "the other ended with %d",
               status);
    show(t, yp_tmp_path(t));
    yp_expect(t, write_file(yp_tmp_path(t), "file"), "beside it");
}

YP_TEST(files, in_memory)
{
    const char *memory = yp_tmp_path_in_memory(t, 1);
    show(t, memory);
    yp_expect(t, write_file(memory, "file") && memory == yp_tmp_path_in_memory(t, 1u << 30),
              "the same");
    show(t, yp_tmp_path(t));
    const char *none = yp_tmp_path(t);
    yp_expect(t, strncmp(memory, "/dev/shm/", 9) != 0 || strcmp(none, memory) != 0,
              "another place");
}

YP_TEST(files, more_than_there_is)
{
    const char *memory = yp_tmp_path_in_memory(t, UINT64_MAX);
    show(t, memory);
    yp_expect(t, memory == yp_tmp_path(t), "%s", memory);
}

/* Its link is led to what is not the case's. */
YP_TEST(files, tampered)
{
    const char *outside = getenv("OUTSIDE"), *links = getenv("LINKS");
    show(t, yp_tmp_path(t));
    yp_require(t, outside != NULL && links != NULL, "OUTSIDE and LINKS");
    char command[PATH];
    snprintf(command, sizeof command,
             "for link in %s/run-*/*.tmp0; do ln -sfn %s \"$link\"; done && rmdir %s", links,
             outside, yp_tmp_path(t));
    yp_expect(t, system(command) == 0, "%s", command);
}

YP_FIXTURE(given, directory)
{
    const char *path = fill(t);
    size_t bytes = strlen(path) + 1;
    memcpy(yp_provide(t, bytes), path, bytes);
}

YP_TEST(given, reads, .fixtures = "directory", .axes = YP_AXES(yp_axis_range("n", 1, 2, 1)))
{
    const char *given = yp_fixture(t, "directory", NULL);
    yp_expect(t, access(path_of(given, "file"), R_OK) == 0, "%s", given);
    yp_expect(t, strcmp(given, yp_tmp_path(t)) != 0, "not its own");
}
