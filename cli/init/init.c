/* `yieldpoint init`: the files of a first suite, in a project that exists. */
#include "cli/init/init.h"

#include "base/options/arguments.h"
#include "base/options/project.h"
#include "base/system/atomic_file.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "cli/init/templates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MESON, CMAKE, MAKE, BUILDS, UNKNOWN = -1 };
enum { GITHUB, GITLAB };
enum { FILES_MOST = 8 };

/* -- what differs by build system ----------------------------------------------------------- */

static const struct build {
    const char *name;
    const char *found[4]; /* a project has one of these files */
    const char *file;     /* in the suite's folder */
    const char *template;
    const char *command; /* which builds the suite */
    const char *program; /* which it makes */
    const char *gate;    /* [gate] of yieldpoint.ini */
    const char *packages;
    const char *first; /* what is to be done before; NULL: nothing */
} builds[BUILDS] = {
    [MESON] = {"meson",
               {"meson.build"},
               "meson.build",
               ypi_init_meson,
               "meson setup build --buildtype=release && ninja -C build @FOLDER@/perf-suite",
               "build/@FOLDER@/perf-suite",
               "; more words for meson setup\n; options = -Dfeature=enabled\n",
               "",
               "add this line at the end of meson.build:\n\n    subdir('@FOLDER@')\n"},
    [CMAKE] = {"cmake",
               {"CMakeLists.txt"},
               "CMakeLists.txt",
               ypi_init_cmake,
               "cmake -S @FOLDER@ -B @FOLDER@/build -DCMAKE_BUILD_TYPE=Release && "
               "cmake --build @FOLDER@/build",
               "@FOLDER@/build/perf-suite",
               "setup = cmake -S {source}/@FOLDER@ -B {build} -DCMAKE_BUILD_TYPE=Release\n"
               "build = cmake --build {build}\n"
               "suites = perf-suite\n",
               "cmake make",
               NULL},
    [MAKE] = {"make",
              {"Makefile", "GNUmakefile", "makefile"},
              "Makefile",
              ypi_init_make,
              "make -C @FOLDER@",
              "@FOLDER@/build/perf-suite",
              "build = make -C {source}/@FOLDER@ BUILD={build}\n"
              "suites = perf-suite\n",
              "make",
              NULL},
};

/* -- what to write -------------------------------------------------------------------------- */

struct job {
    int build, ci;
    bool only_ci;
    char *folder; /* owned */
    struct file {
        char *path; /* owned */
        char *text; /* owned */
    } files[FILES_MOST];
    int count;
    bool includes; /* there is a .gitlab-ci.yml of the project's own */
};

static bool exists(const char *path)
{
    struct stat information;
    return lstat(path, &information) == 0;
}

/* ".." for "perf", "../.." for "tests/perf". The caller frees. */
static char *way_up(const char *folder)
{
    struct ypi_text out = {0};
    ypi_text_add(&out, "..");
    for (const char *at = folder; (at = strchr(at, '/')) != NULL; at++)
        ypi_text_add(&out, "/..");
    return ypi_text_take(&out);
}

/* The text with each @NAME@ replaced by its value, also within values. The caller frees. */
static char *fill(const struct job *job, const char *text)
{
    const struct build *build = &builds[job->build];
    char *up = way_up(job->folder);
    const struct {
        const char *name, *value;
    } known[] = {
        {"@FOLDER@", job->folder},
        {"@UP@", up},
        {"@BUILD@", build->command},
        {"@PROGRAM@", build->program},
        {"@GATE@\n", build->gate},
        {"@PACKAGES@", build->packages},
        {"@CI@", job->ci == GITHUB ? ".github/workflows/perf.yml" : "@FOLDER@/gitlab-ci.yml"},
    };
    struct ypi_text out = {0};
    while (*text != '\0') {
        size_t plain = strcspn(text, "@");
        ypi_text_bytes(&out, text, plain);
        text += plain;
        size_t i = 0;
        while (i < sizeof known / sizeof *known &&
               strncmp(text, known[i].name, strlen(known[i].name)) != 0)
            i++;
        if (i < sizeof known / sizeof *known) {
            char *value = fill(job, known[i].value);
            ypi_text_add(&out, "%s", value);
            free(value);
            text += strlen(known[i].name);
        } else if (*text != '\0') {
            ypi_text_bytes(&out, text++, 1);
        }
    }
    free(up);
    return ypi_text_take(&out);
}

static void add(struct job *job, const char *path, const char *text)
{
    job->files[job->count++] = (struct file){fill(job, path), fill(job, text)};
}

static void choose_files(struct job *job)
{
    const struct build *build = &builds[job->build];
    if (!job->only_ci) {
        char *path = ypi_format("@FOLDER@/%s", build->file);
        add(job, "@FOLDER@/suite.c", ypi_init_suite);
        add(job, path, build->template);
        free(path);
        if (job->build != MESON)
            add(job, "@FOLDER@/.gitignore", "/build/\n");
        add(job, "yieldpoint.ini", ypi_init_ini);
    }
    if (job->ci == GITHUB) {
        add(job, ".github/workflows/perf.yml", ypi_init_github);
        add(job, "@FOLDER@/ci.sh", ypi_init_github_steps);
    }
    if (job->ci == GITLAB) {
        job->includes = exists(".gitlab-ci.yml");
        add(job, "@FOLDER@/gitlab-ci.yml", ypi_init_gitlab);
        add(job, "@FOLDER@/ci.sh", ypi_init_gitlab_steps);
        if (!job->includes)
            add(job, ".gitlab-ci.yml", ypi_init_include);
    }
}

/* -- writing --------------------------------------------------------------------------------- */

/* False, with each named, when a file would be in the place of another. */
static bool places_are_free(const struct job *job)
{
    bool right = true;
    for (int i = 0; i < job->count; i++)
        if (exists(job->files[i].path)) {
            fprintf(stderr, "yieldpoint: %s: it is there already\n", job->files[i].path);
            right = false;
        }
    if (!right)
        fputs("yieldpoint: nothing was written; --folder DIR names another place for the suite, "
              "--only-ci writes what\n  --ci names and nothing else\n",
              stderr);
    return right;
}

static enum yp_status write_file(const struct file *file)
{
    struct ypi_atomic_file out;
    enum yp_status status = ypi_make_parents(file->path);
    if (status != YP_OK)
        return status;
    status = ypi_atomic_create(&out, file->path);
    if (status != YP_OK)
        return status;
    status = ypi_write_at(out.fd, file->path, 0, file->text, strlen(file->text));
    if (status == YP_OK)
        status = ypi_atomic_publish(&out, false);
    ypi_atomic_abandon(&out);
    return status;
}

/* All of them or none. */
static bool write_files(const struct job *job)
{
    for (int i = 0; i < job->count; i++)
        if (write_file(&job->files[i]) != YP_OK) {
            (void)ypi_file_error();
            while (i-- > 0)
                unlink(job->files[i].path);
            fputs("yieldpoint: no file was kept\n", stderr);
            return false;
        }
    return true;
}

/* -- what to do next ------------------------------------------------------------------------- */

static void step(const struct job *job, int *number, const char *text)
{
    char *filled = fill(job, text);
    printf("%d. %s\n", ++*number, filled);
    free(filled);
}

static int print_next(const struct job *job)
{
    int number = 0;
    const struct build *build = &builds[job->build];
    puts("written:");
    for (int i = 0; i < job->count; i++)
        printf("    %s\n", job->files[i].path);
    puts("\nnext:");
    if (!job->only_ci) {
        if (build->first != NULL)
            step(job, &number, build->first);
        step(job, &number,
             "build and run the suite:\n\n    @BUILD@\n    @PROGRAM@ -v -m \"not slow\"\n");
        step(job, &number,
             "put a function of yours in the place of `checksum` in @FOLDER@/suite.c;\n"
             "   its build file says where your library is named\n");
        step(job, &number,
             "commit; from then on, before you commit a change:\n\n"
             "    yieldpoint gate --base HEAD --head WORKTREE -m \"not slow\"\n");
    }
    if (job->ci == GITHUB)
        step(job, &number,
             "set the lines marked (1) in .github/workflows/perf.yml: where Yieldpoint is cloned "
             "from\n");
    if (job->ci == GITLAB)
        step(job, &number,
             "set the lines marked (1) in @FOLDER@/gitlab-ci.yml: where Yieldpoint is cloned "
             "from\n");
    if (job->includes)
        step(job, &number,
             "add to .gitlab-ci.yml:\n\n    include:\n      - local: @FOLDER@/gitlab-ci.yml\n");
    return ypi_flush();
}

/* -- the command ------------------------------------------------------------------------------ */

/* The one build system whose file is in the working directory. UNKNOWN, after telling stderr why,
 * if there is none or more than one. */
static int detect(void)
{
    int build = UNKNOWN;
    for (int i = 0; i < BUILDS; i++) {
        bool found = false;
        for (int k = 0; k < 4 && builds[i].found[k] != NULL; k++)
            found = found || exists(builds[i].found[k]);
        if (found && build != UNKNOWN) {
            fprintf(stderr,
                    "yieldpoint: init: there are %s and %s here: --build meson, cmake or make says "
                    "which\n",
                    builds[build].found[0], builds[i].found[0]);
            return UNKNOWN;
        }
        if (found)
            build = i;
    }
    if (build == UNKNOWN)
        fputs("yieldpoint: init: there is no meson.build, CMakeLists.txt or Makefile here: go to "
              "the\n  top of the project, or say by --build meson, cmake or make what it uses\n",
              stderr);
    return build;
}

/* Whether CI, which looks at the top of a repository, would see what is written here. */
static bool is_top_of_repository(void)
{
    char *git = ypi_nearest_above(".git");
    bool right = git == NULL || exists(".git");
    if (!right) {
        git[strlen(git) - strlen("/.git")] = '\0';
        fprintf(stderr, "yieldpoint: init: --ci writes at the top of the repository, which is %s\n",
                git);
    }
    free(git);
    return right;
}

/* Below the working directory, and a word in every shell, makefile and YAML. */
static bool is_folder(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_.-/";
    size_t length = strlen(text);
    bool right = length > 0 && length < 200 && strspn(text, allowed) == length &&
                 strchr("-/", text[0]) == NULL && text[length - 1] != '/';
    for (const char *at = text; right && at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        right = *at != '.' && *at != '/';
    }
    return right;
}

static int run(struct job *job)
{
    if (job->build == UNKNOWN)
        job->build = detect();
    if (job->build == UNKNOWN || (job->ci != UNKNOWN && !is_top_of_repository()))
        return YPI_COMMAND_USAGE;
    choose_files(job);
    if (!places_are_free(job) || !write_files(job))
        return YPI_COMMAND_FILE;
    return print_next(job);
}

int ypi_init_command(int argc, char **argv)
{
    struct job job = {.build = UNKNOWN, .ci = UNKNOWN, .folder = ypi_strdup("perf")};
#define AT(kind_, field) .kind = YPI_OPTION_##kind_, .offset = offsetof(struct job, field)
    static const struct ypi_option options[] = {
        {"build", AT(CHOICE, build), .value = "NAME", .choices = "meson cmake make"},
        {"ci", AT(CHOICE, ci), .value = "NAME", .choices = "github gitlab"},
        {"folder", AT(PATH, folder), .value = "DIR", .check = is_folder,
         .allowed = "a folder below this one: letters, digits, and _ . - within names"},
        {"only-ci", AT(FLAG, only_ci)},
        YPI_OPTIONS_END,
    };
#undef AT
    int code = YPI_COMMAND_USAGE;
    if (ypi_arguments_read(&(struct ypi_arguments){.options = options, .values = &job}, argc,
                           argv)) {
        if (job.only_ci && job.ci == UNKNOWN)
            ypi_usage_error(argc, argv, argc, "--only-ci needs --ci github or --ci gitlab");
        else
            code = run(&job);
    }
    for (int i = 0; i < job.count; i++) {
        free(job.files[i].path);
        free(job.files[i].text);
    }
    free(job.folder);
    return code;
}
