#include "harness/conduct/launch.h"

#include "base/system/file.h"
#include "base/system/program.h"
#include "base/system/self.h"
#include "base/text/text.h"
#include "harness/conduct/rank.h"
#include "harness/message/worker.h"
#include "harness/vocabulary/linked.h"
#include "harness/vocabulary/placement.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 24 };
#define MPI_TYPE "SLURM_MPI_TYPE" /* --mpi of srun */
#define ASK_SECONDS 5.0

const char *ypi_launcher_name(const struct ypi_job *job)
{
    const char *slash = strrchr(job->launcher, '/');
    return slash != NULL ? slash + 1 : job->launcher;
}

int ypi_launcher_nodes(void)
{
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");
    const int count = nodes != NULL ? atoi(nodes) : 1;
    return count > 1 ? count : 1;
}

bool ypi_on_several_nodes(void)
{
    return ypi_launcher_nodes() > 1;
}

static bool is_srun(const struct ypi_job *job)
{
    return strncmp(ypi_launcher_name(job), "srun", 4) == 0;
}

/* Where nothing is captured nobody could read it. */
bool ypi_launcher_tells(const struct ypi_job *job)
{
    return is_srun(job) && job->output != NULL;
}

/* The user's own choice counts more. */
static void prefer(const char *name, const char *value)
{
    setenv(name, value, 0);
}

/* How srun's processes find each other, as the MPI that the program is linked to wants it. */
static const char *mpi_type(void)
{
    if (dlsym(RTLD_DEFAULT, "MPI_Init") == NULL)
        return "none";
    return dlsym(RTLD_DEFAULT, "ompi_mpi_init") != NULL ? "pmix" : "pmi2";
}

/* Within a node the ranks find their processors themselves (share.h). */
static struct ypi_placement wanted_of(const struct ypi_job *job)
{
    const struct yp_test *test = ypi_linked_at(YPI_LINKED_TESTS, job->test);
    struct ypi_placement wanted;
    free(ypi_placement_read(test->placement, &wanted)); /* it was right at collection */
    return wanted;
}

/* What srun tells the processes of a step is no wish of the user's. */
static bool is_in_step(void)
{
    return getenv("SLURM_STEP_ID") != NULL;
}

/* By the environment alone, which both kinds of mpirun take: one does not have to know which it is.
 * Ranks may be more than processors, and several cases run beside each other, so nothing is bound.
 * Within a node the search for networks takes half of the start. */
static void set_mpi(const struct ypi_job *job)
{
    const bool several = ypi_on_several_nodes();
    if (is_srun(job))
        prefer(MPI_TYPE, mpi_type());
    if (several && wanted_of(job).spread[YPI_UNIT_NODE]) {
        prefer("OMPI_MCA_rmaps_base_mapping_policy", "node");
        prefer("HYDRA_MAPPING", "node");
    }
    prefer("OMPI_ALLOW_RUN_AS_ROOT", "1");
    prefer("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    prefer("OMPI_MCA_rmaps_base_oversubscribe", "1");
    prefer("OMPI_MCA_hwloc_base_binding_policy", "none");
    setenv("SLURM_CPU_BIND", "none", is_in_step());
    prefer("OMPI_MCA_orte_execute_quiet", "1");
    /* Where it is another MPI's launcher, each would else start a daemon. */
    prefer("OMPI_MCA_ess_singleton_isolated", "1");
    /* What it kills may say before where it stood. */
    prefer("OMPI_MCA_odls_base_sigkill_timeout", "1");
    if (several)
        return;
    prefer("OMPI_MCA_pml", "ob1");
    prefer("OMPI_MCA_btl", "self,vader");
    /* What killed ranks leave there goes with the directory. */
    prefer("OMPI_MCA_btl_vader_backing_directory", job->meeting);
    prefer("OMPI_MCA_orte_tmpdir_base", job->meeting);
}

bool ypi_launcher_binds(void)
{
    static const char *const names[] = {"OMPI_MCA_hwloc_base_binding_policy", "HYDRA_BINDING",
                                        "SLURM_CPU_BIND"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        const bool told = is_in_step() && strncmp(names[i], "SLURM", 5) == 0;
        if (value != NULL && !told && strstr(value, "none") == NULL)
            return true;
    }
    return false;
}

static void set_environment(const struct ypi_job *job)
{
    char worker[32];
    /* The ranks are ordinary programs, though of this case. */
    unsetenv(YPI_MARK_OF_CRITERION);
    snprintf(worker, sizeof worker, "%d", (int)getpid());
    setenv(YPI_MARK, worker, 1);
    setenv(YPI_RANKS_MARK, job->channel, 1);
    set_mpi(job);
}

/* The file that this process was started from, on this node; on others, its path. */
static const char *program(void)
{
    static char file[YPI_SELF_FILE];
    if (ypi_on_several_nodes())
        return ypi_self_path();
    ypi_self_file(getpid(), file);
    return file;
}

static bool is_in_one_node(const struct ypi_placement *wanted)
{
    return wanted->together[YPI_UNIT_NUMA] || wanted->together[YPI_UNIT_PACKAGE] ||
           wanted->together[YPI_UNIT_NODE];
}

/* A node that no other case of the run has, as long as this process lives: there are not more such
 * cases at a time than nodes. */
static int take_node(const struct ypi_job *job)
{
    static const struct timespec period = {.tv_nsec = 10000000};
    char directory[YPI_PATH_MAX];
    ypi_directory_of(directory, job->channel);
    for (int node = 0;; node = (node + 1) % job->pack_nodes) {
        char *path = ypi_format("%s/node-%d.lock", directory, node);
        const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        free(path);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) /* stays open */
            return node;
        close(fd);
        if (node == job->pack_nodes - 1)
            nanosleep(&period, NULL);
    }
}

static void fill_words(const char *words[WORDS_MAX], const struct ypi_job *job, char count[16],
                       char node[32])
{
    const struct ypi_placement wanted = wanted_of(job);
    int used = 0;
    snprintf(count, 16, "%d", job->ranks);
    words[used++] = job->launcher;
    words[used++] = "-n";
    words[used++] = count;
    if (is_srun(job)) {
        words[used++] = "--overcommit";
        words[used++] = "--overlap"; /* where this program is a step of srun's itself */
        words[used++] = "--quiet";
        words[used++] = "--wait=0"; /* the case's process decides when the others end */
        words[used++] = ypi_launcher_tells(job) ? "--kill-on-bad-exit=0" : "--kill-on-bad-exit=1";
        words[used++] = "--input=none";
        if (wanted.spread[YPI_UNIT_NODE]) {
            words[used++] = "--nodes";
            words[used++] = count;
            words[used++] = "--distribution=cyclic";
        } else if (is_in_one_node(&wanted)) {
            words[used++] = "--nodes=1";
        }
    }
    if (job->pack_nodes > 1) {
        snprintf(node, 32, "--relative=%d", take_node(job));
        words[used++] = "--nodes=1";
        words[used++] = node;
    }
    words[used++] = program();
    words[used++] = job->id;
    words[used] = NULL;
}

/* In the child. */
__attribute__((noreturn)) static void execute(const struct ypi_job *job, const char *output,
                                              pid_t parent, const char *const *words)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    const int fd =
        job->output != NULL ? open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    /* Of its own: a launcher signals the group that it is in. */
    setpgid(0, 0);
    execv(job->launcher, (char *const *)(uintptr_t)words);
    fprintf(stderr, "%s: %s\n", job->launcher, strerror(errno));
    _exit(EXIT_FAILURE);
}

pid_t ypi_launch(const struct ypi_job *job, const char *output)
{
    const char *words[WORDS_MAX];
    char count[16];
    char node[32];
    fill_words(words, job, count, node);
    set_environment(job);
    fflush(NULL);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0)
        execute(job, output, parent, words);
    if (pid < 0)
        yp_set_error(YP_IO, "%s cannot be started: %s", job->launcher, strerror(errno));
    return pid;
}

/* The words of the lines that begin with a blank: what is before them is a heading. */
static char *plugins_in(const char *list)
{
    struct ypi_text text = {0};
    for (const char *line = list; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const size_t blank = strspn(line, " \t");
        if (blank > 0 && blank < length)
            ypi_text_add(&text, "%s%.*s", text.length > 0 ? " " : "", (int)(length - blank),
                         line + blank);
        line += length + (line[length] == '\n');
    }
    return ypi_text_take(&text);
}

char *ypi_launcher_lacks(const struct ypi_job *job)
{
    const char *type = getenv(MPI_TYPE);
    const char *const words[] = {job->launcher, "--mpi=list", NULL};
    const struct ypi_program program = {.words = words, .log = "/dev/null"};
    char *list = NULL;
    char *lack = NULL;
    if (!is_srun(job) || type == NULL)
        return NULL;
    const struct ypi_program_status status = ypi_program_run(&program, ASK_SECONDS, NULL, &list);
    const bool told = status.end == YPI_PROGRAM_EXITED && status.code == 0 && list != NULL;
    char *plugins = told ? plugins_in(list) : ypi_strdup("");
    if (*plugins != '\0' && !ypi_has_word(plugins, type, strlen(type))) {
        char *names = ypi_join_words(plugins, "and");
        lack = ypi_format("it has no plugin '%s', by which the program's MPI finds its ranks; it "
                          "has %s (" MPI_TYPE " names another)",
                          type, names);
        free(names);
    }
    free(plugins);
    free(list);
    return lack;
}
