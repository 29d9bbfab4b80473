#include "device/registry.h"

#include "base/system/arena.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text/text.h"
#include "device/backend.h"
#include "device/cpu/binding.h"
#include "device/cuda/cuda_plugin.h"
#include "device/kind.h"
#include "device/plugin.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A driver that hangs would hang the run before its first case. */
enum { PATIENCE_SECONDS = 60, ASKED_MAX = 8, ANSWER_MAX = 8192, NODES = 64 };

/* Answers of processes that asked; kept to the end. One that found its device stays: as long as any
 * process has it open the driver need not set it up anew for every case, which takes seconds where
 * no persistence daemon runs. It has no context, so it takes no memory of the device's, and a
 * device that is one process's at a time stays free. */
static struct asked {
    char name[16];
    char *reason; /* NULL: it is there */
    char *facts;  /* "key\0value\0", ... */
    size_t facts_size;
    int holder; /* the way to it; 0: none */
} asked[ASKED_MAX];
static int asked_count;

static struct yp_device *accelerator; /* that is open; NULL: none */
static double opening = NAN;          /* seconds that it took */

/* -- one device and no other --------------------------------------------------------------- */

/* Element `ordinal` of a list that is separated by commas; NULL when it is shorter. The caller
 * frees it. */
static char *element(const char *list, int ordinal)
{
    while (ordinal > 0 && (list = strchr(list, ',')) != NULL) {
        list++;
        ordinal--;
    }
    return list != NULL && list[0] != '\0' ? ypi_format("%.*s", (int)strcspn(list, ","), list)
                                           : NULL;
}

/* Every library of the kind's that the process or one it starts loads then sees this device as its
 * only one. */
enum yp_status ypi_device_confine(const char *name)
{
    static char confined[16];
    const struct ypi_device_kind *kind = ypi_device_kind(name);
    int ordinal = ypi_device_ordinal(name);
    char canonical[16];
    if (kind == NULL)
        return YP_OK;
    snprintf(canonical, sizeof canonical, "%s:%d", kind->name, ordinal);
    if (strcmp(confined, canonical) == 0)
        return YP_OK;
    if (confined[0] != '\0')
        return yp_set_error(YP_UNSUPPORTED, "this process has %s open and cannot open %s too",
                            confined, canonical);
    const char *list = getenv(kind->visible);
    char *own = list != NULL ? element(list, ordinal) : ypi_format("%d", ordinal);
    if (own == NULL)
        return yp_set_error(YP_UNSUPPORTED, "no %s device: %s is '%s', which has no %s",
                            kind->label, kind->visible, list, canonical);
    setenv(kind->order, kind->order_value, 0);
    setenv(kind->visible, own, 1);
    setenv("YIELDPOINT_DEVICE", canonical, 1);
    memcpy(confined, canonical, sizeof confined);
    free(own);
    return YP_OK;
}

/* The kernel's nodes are those that a container was given, too. */
int ypi_devices_seen(const char *name)
{
    const struct ypi_device_kind *kind = ypi_device_kind(name);
    int count = 0;
    if (kind == NULL)
        return 1;
    const char *list = getenv(kind->visible);
    for (int i = 0; i < NODES && list == NULL; i++) {
        char path[64];
        struct stat node;
        snprintf(path, sizeof path, "%s%d", kind->nodes, i);
        count += stat(path, &node) == 0 && S_ISCHR(node.st_mode);
    }
    for (const char *at = list; at != NULL && *at != '\0'; at += *at == ',') {
        count++;
        at += strcspn(at, ",");
    }
    return count > 0 ? count : 1;
}

void ypi_device_of_rank(const char *name, int local_rank, char out[16])
{
    const struct ypi_device_kind *kind = ypi_device_kind(name);
    if (kind == NULL)
        snprintf(out, 16, "%s", name);
    else
        snprintf(out, 16, "%s:%d", kind->name,
                 (ypi_device_ordinal(name) + local_rank) % ypi_devices_seen(name));
}

static const struct ypi_cuda_plugin *plugin(const struct ypi_device_kind *kind)
{
    const struct ypi_cuda_plugin *p = yp_plugin_table(kind->plugin, sizeof *p);
    if (p != NULL && p->backend_abi != YPI_BACKEND_ABI) {
        yp_set_error(YP_INVALID,
                     "the plugin libyieldpoint-%s.so is of another build than this "
                     "program",
                     kind->plugin);
        return NULL;
    }
    return p;
}

/* -- asking -------------------------------------------------------------------------------- */

static void write_fact(void *arg, const char *key, const char *value)
{
    FILE *out = arg;
    fprintf(out, "%s%c%s%c", key, '\0', value, '\0');
}

/* What it was born with is not its own: a lock or the end of a pipe would outlive its owner. */
static void close_others(int fd)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        dup2(nothing, i);
    if (fd > STDERR_FILENO + 1)
        (void)close_range(STDERR_FILENO + 1, (unsigned)fd - 1, 0);
    (void)close_range((unsigned)fd + 1, UINT_MAX, 0);
}

/* What the driver has opened stays open until the process that asked is gone, or ends it. */
static void hold(int fd)
{
    char nothing = 0;
    while (recv(fd, &nothing, 1, 0) < 0 && errno == EINTR) {
    }
}

/* In the process that asks: the first byte says whether it is there, then come reason or facts. */
static void answer(const char *name, int fd) __attribute__((noreturn));

static void answer(const char *name, int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int number = 1; number < SIGRTMIN; number++)
        (void)signal(number, number == SIGINT ? SIG_IGN : SIG_DFL);
    alarm(PATIENCE_SECONDS);
    close_others(fd);
    char *facts = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&facts, &size);
    const struct ypi_cuda_plugin *p = memory != NULL ? plugin(ypi_device_kind(name)) : NULL;
    bool there =
        p != NULL && ypi_device_confine(name) == YP_OK && p->look(write_fact, memory) == YP_OK;
    if (memory != NULL)
        fclose(memory);
    char text[ANSWER_MAX] = {there ? '+' : '-'};
    size_t length = there ? size : strlen(yp_last_error());
    length = length < sizeof text - 1 ? length : sizeof text - 1;
    memcpy(text + 1, there ? facts : yp_last_error(), length);
    /* The one that stays is nobody's child: a runner ends all of its own after each case. */
    if (send(fd, text, length + 1, MSG_NOSIGNAL) > 0 && there && fork() == 0)
        hold(fd);
    _exit(0);
}

static char *reason_of_death(int status)
{
    if (!WIFSIGNALED(status))
        return ypi_format("the process that asked ended with status %d", WEXITSTATUS(status));
    if (WTERMSIG(status) == SIGALRM)
        return ypi_format("the driver did not answer within %d s", (int)PATIENCE_SECONDS);
    return ypi_format("the driver ended the process that asked (%s)", strsignal(WTERMSIG(status)));
}

/* "no CUDA device: WHY"; takes over the text. */
static char *none_because(const struct ypi_device_kind *kind, char *why)
{
    char *reason = ypi_format("no %s device: %s", kind->label, why);
    free(why);
    return reason;
}

static pid_t holders_of; /* the process whose they are */

/* A case's process begins with a copy of all this. They are waited for, so that none is left. */
static void end_holders(void)
{
    enum { PATIENCE_MS = 1000 };
    for (int i = 0; i < asked_count && getpid() == holders_of; i++)
        if (asked[i].holder > 0) {
            struct pollfd gone = {.fd = asked[i].holder, .events = POLLIN};
            (void)shutdown(asked[i].holder, SHUT_WR);
            (void)poll(&gone, 1, PATIENCE_MS);
            close(asked[i].holder);
            asked[i].holder = 0;
        }
}

static void keep_holder(struct asked *a, int fd)
{
    if (holders_of == 0 && atexit(end_holders) == 0)
        holders_of = getpid();
    a->holder = fd;
}

static void ask(struct asked *a)
{
    const struct ypi_device_kind *kind = ypi_device_kind(a->name);
    int ends[2];
    char text[ANSWER_MAX];
    int status = 0;
    fflush(NULL);
    pid_t pid = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 ? fork() : -1;
    if (pid < 0) {
        a->reason = none_because(kind, ypi_format("cannot ask for it: %s", strerror(errno)));
        return;
    }
    if (pid == 0)
        answer(a->name, ends[1]);
    close(ends[1]);
    ssize_t got = 0;
    while ((got = recv(ends[0], text, sizeof text, 0)) < 0 && errno == EINTR) {
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    size_t size = got > 0 ? (size_t)got : 0;
    if (size > 0 && text[0] == '+') {
        keep_holder(a, ends[0]);
        a->facts = ypi_calloc(size, 1); /* ends with a NUL of its own */
        a->facts_size = size - 1;
        memcpy(a->facts, text + 1, size - 1);
        return;
    }
    close(ends[0]);
    a->reason = size > 0 ? ypi_format("%.*s", (int)(size - 1), text + 1)
                         : none_because(kind, reason_of_death(status));
}

const char *ypi_device_absent(const char *name)
{
    static char *too_many;
    const struct ypi_device_kind *kind = ypi_device_kind(name);
    char path[PATH_MAX];
    if (kind == NULL)
        return NULL;
    for (int i = 0; i < asked_count; i++)
        if (strcmp(asked[i].name, name) == 0)
            return asked[i].reason;
    if (asked_count == ASKED_MAX) {
        if (too_many == NULL)
            too_many =
                none_because(kind, ypi_strdup("more devices are named than can be asked for"));
        return too_many;
    }
    struct asked *a = &asked[asked_count++];
    snprintf(a->name, sizeof a->name, "%s", name);
    if (ypi_plugin_find(kind->plugin, path))
        ask(a);
    else
        a->reason = none_because(kind, ypi_strdup(yp_last_error()));
    return a->reason;
}

/* The fact at *at, which moves on behind it; false: there is no more. */
static bool next_fact(const struct asked *a, size_t *at, const char **key, const char **value)
{
    size_t length = *at < a->facts_size ? strlen(a->facts + *at) + 1 : 0;
    if (length == 0 || *at + length >= a->facts_size)
        return false;
    *key = a->facts + *at;
    *value = *key + length;
    *at += length + strlen(*value) + 1;
    return true;
}

void ypi_device_facts(void (*tell)(void *arg, const char *key, const char *value), void *arg)
{
    const char *key = NULL, *value = NULL;
    int i = 0;
    while (i < asked_count && asked[i].facts == NULL)
        i++;
    for (size_t at = 0; i < asked_count && next_fact(&asked[i], &at, &key, &value);)
        tell(arg, key, value);
}

const char *ypi_device_fact(const char *name, const char *wanted)
{
    const char *key = NULL, *value = NULL;
    for (int i = 0; i < asked_count; i++) {
        bool meant = strcmp(asked[i].name, name) == 0;
        for (size_t at = 0; meant && next_fact(&asked[i], &at, &key, &value);)
            if (strcmp(key, wanted) == 0)
                return value;
    }
    return NULL;
}

/* -- opening -------------------------------------------------------------------------------- */

/* So that what compute-sanitizer finds behind an array is no other array. */
static void *separate(void *base, size_t offset, size_t bytes)
{
    return accelerator->backend->separate(accelerator, base, offset, bytes);
}

enum yp_status ypi_device_open(const char *name, struct yp_device **out)
{
    *out = yp_device_cpu();
    /* A case in the same process may have opened one before; then it is open still. */
    accelerator = NULL;
    opening = NAN;
    const struct ypi_device_kind *kind = ypi_device_kind(name);
    if (kind == NULL)
        return YP_OK;
    double begun = ypi_now();
    enum yp_status status = ypi_device_confine(name);
    const struct ypi_cuda_plugin *p = status == YP_OK ? plugin(kind) : NULL;
    if (p == NULL)
        return YP_UNSUPPORTED;
    struct yp_device *device = NULL;
    status = p->open(&device);
    if (status == YP_OK) {
        accelerator = *out = device;
        opening = ypi_now() - begun;
        if (device->backend->separate != NULL)
            ypi_arena_separated = separate;
        status = ypi_plugins_open(device);
    }
    return status;
}

double ypi_device_opening(void)
{
    return opening;
}

/* The kernel lists the processors that are on the device's memory node. */
void ypi_device_bind_near(const char *root)
{
    char list[4096] = "";
    char place[32] = "";
    if (accelerator == NULL || accelerator->backend->place == NULL)
        return;
    snprintf(place, sizeof place, "%s", accelerator->backend->place(accelerator));
    for (char *c = place; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    char *path = ypi_format("%s/sys/bus/pci/devices/%s/local_cpulist", root, place);
    (void)ypi_read_file(path, list, sizeof list);
    free(path);
    list[strcspn(list, "\n")] = '\0';
    /* None of them may be ours to use: then it stays where it is. */
    if (list[0] != '\0')
        (void)ypi_cpus_confine(list);
}
