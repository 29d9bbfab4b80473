#include "device/cpu/binding.h"

#include "base/system/file.h"
#include "base/text/text.h"
#include "device/cpu/task.h"
#include "device/cpu/topology.h"

#include <ctype.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS_MAX 4096

/* Read once for the process. */
static struct {
    pthread_once_t allowed_once;
    unsigned char allowed[YPI_CPUS_MAX];
    const struct ypi_places *told; /* NULL: to be read from the machine */
} machine = {.allowed_once = PTHREAD_ONCE_INIT};

/* -- lists of processors ------------------------------------------------------------------- */

static int count_of(const unsigned char *cpus)
{
    int count = 0;
    for (int cpu = 0; cpu < YPI_CPUS_MAX; cpu++)
        count += cpus[cpu];
    return count;
}

/* "0-3,8": the caller frees. */
static char *list_of(const unsigned char *cpus)
{
    struct ypi_text text = {0};
    for (int cpu = 0; cpu < YPI_CPUS_MAX; cpu++) {
        int first = cpu;
        if (!cpus[cpu])
            continue;
        while (cpu + 1 < YPI_CPUS_MAX && cpus[cpu + 1])
            cpu++;
        ypi_text_add(&text, "%s%d", text.length > 0 ? "," : "", first);
        if (cpu > first)
            ypi_text_add(&text, "-%d", cpu);
    }
    return ypi_text_take(&text);
}

static bool parse_number(const char **text, int capacity, int *out)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    long number = strtol(*text, &end, 10);
    if (errno != 0 || number >= capacity)
        return false;
    *text = end;
    *out = (int)number;
    return true;
}

static bool parse(const char *text, unsigned char *out, int capacity)
{
    memset(out, 0, (size_t)capacity);
    for (;;) {
        int first;
        if (!parse_number(&text, capacity, &first))
            return false;
        int last = first;
        if (*text == '-') {
            text++;
            if (!parse_number(&text, capacity, &last) || last < first)
                return false;
        }
        memset(out + first, 1, (size_t)last - (size_t)first + 1);
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
}

static enum yp_status refuse(const char *list, const char *wanted)
{
    char *allowed = list_of(ypi_cpus_allowed());
    enum yp_status status = yp_set_error(
        YP_INVALID, "processors: '%s': %s; this process may use %s", list, wanted, allowed);
    free(allowed);
    return status;
}

bool ypi_cpus_parse(const char *list, unsigned char *out, int capacity)
{
    bool ok = parse(list, out, capacity);
    if (!ok)
        (void)refuse(list, "numbers and ranges such as 0-3,8 are allowed");
    return ok;
}

/* -- affinity of one thread, a byte a processor -------------------------------------------- */

struct masks {
    cpu_set_t sets[YPI_CPUS_MAX / CPU_SETSIZE];
};

static bool get_affinity(pid_t task, unsigned char out[YPI_CPUS_MAX])
{
    struct masks masks;
    if (sched_getaffinity(task, sizeof masks, masks.sets) != 0)
        return false;
    for (size_t cpu = 0; cpu < YPI_CPUS_MAX; cpu++)
        out[cpu] = CPU_ISSET_S(cpu, sizeof masks, masks.sets) != 0;
    return true;
}

static bool set_affinity(pid_t task, const unsigned char cpus[YPI_CPUS_MAX])
{
    struct masks masks = {0};
    for (size_t cpu = 0; cpu < YPI_CPUS_MAX; cpu++)
        if (cpus[cpu])
            CPU_SET_S(cpu, sizeof masks, masks.sets);
    return sched_setaffinity(task, sizeof masks, masks.sets) == 0;
}

static bool set_processor(pid_t task, int cpu)
{
    unsigned char cpus[YPI_CPUS_MAX] = {0};
    cpus[cpu] = 1;
    return set_affinity(task, cpus);
}

static int tasks_of(pid_t tasks[TASKS_MAX])
{
    int count = ypi_tasks("", tasks, TASKS_MAX);
    return count < TASKS_MAX ? count : TASKS_MAX;
}

/* -- what this process may use ------------------------------------------------------------- */

static void read_allowed(void)
{
    pid_t tasks[TASKS_MAX];
    unsigned char one[YPI_CPUS_MAX];
    int count = tasks_of(tasks);
    for (int i = 0; i < count; i++) {
        bool there = get_affinity(tasks[i], one);
        for (int cpu = 0; there && cpu < YPI_CPUS_MAX; cpu++)
            machine.allowed[cpu] |= one[cpu];
    }
}

const unsigned char *ypi_cpus_allowed(void)
{
    pthread_once(&machine.allowed_once, read_allowed);
    return machine.allowed;
}

int ypi_processors(void)
{
    int count = count_of(ypi_cpus_allowed());
    return count > 0 ? count : 1;
}

enum yp_status ypi_cpus_confine(const char *list)
{
    unsigned char cpus[YPI_CPUS_MAX];
    pid_t tasks[TASKS_MAX];
    if (!ypi_cpus_parse(list, cpus, YPI_CPUS_MAX))
        return YP_INVALID;
    for (int cpu = 0; cpu < YPI_CPUS_MAX; cpu++)
        cpus[cpu] &= ypi_cpus_allowed()[cpu];
    if (count_of(cpus) == 0)
        return refuse(list, "none of them is there for it");
    int count = tasks_of(tasks);
    for (int i = 0; i < count; i++)
        if (!set_affinity(tasks[i], cpus) && errno != ESRCH)
            return yp_set_error(YP_UNSUPPORTED, "processors: '%s': sched_setaffinity: %s", list,
                                strerror(errno));
    memcpy(machine.allowed, cpus, sizeof cpus);
    return YP_OK;
}

bool ypi_cpus_now(unsigned char *out)
{
    return get_affinity(0, out);
}

/* -- the order of cores -------------------------------------------------------------------- */

static bool is_allowed(const struct ypi_place *place, const unsigned char *allowed)
{
    return place->cpu < YPI_CPUS_MAX && allowed[place->cpu];
}

/* How many allowed processors of its core come before it; some virtual machines show processors and
 * no cores. */
static int turn_of(const struct ypi_places *places, int index, const unsigned char *allowed)
{
    const struct ypi_place *self = &places->list[index];
    int turn = 0;
    for (const struct ypi_place *p = self; p-- > places->list && p->core == self->core;)
        turn += self->core >= 0 && is_allowed(p, allowed);
    return turn;
}

int ypi_bind_order(const struct ypi_places *places, const unsigned char *allowed, int *out,
                   int capacity)
{
    int count = 0;
    for (int turn = 0, before = -1; before < count; turn++) {
        before = count;
        for (int i = 0; i < places->count; i++) {
            if (!is_allowed(&places->list[i], allowed) || turn_of(places, i, allowed) != turn)
                continue;
            if (count < capacity)
                out[count] = places->list[i].cpu;
            count++;
        }
    }
    return count;
}

static bool several_nodes(const struct ypi_places *places, const unsigned char *allowed)
{
    const struct ypi_place *first = NULL;
    for (int i = 0; i < places->count; i++) {
        const struct ypi_place *place = &places->list[i];
        if (!is_allowed(place, allowed))
            continue;
        if (first != NULL && first->node != place->node)
            return true;
        first = place;
    }
    return false;
}

enum ypi_bind ypi_bind_resolve(const struct ypi_places *places, const unsigned char *allowed,
                               enum ypi_bind bind)
{
    if (bind != YPI_BIND_AUTO)
        return bind;
    return several_nodes(places, allowed) ? YPI_BIND_CORES : YPI_BIND_NONE;
}

/* -- binding ------------------------------------------------------------------------------- */

void ypi_bind_among(const struct ypi_places *places)
{
    machine.told = places;
}

const struct ypi_places *ypi_places_here(void)
{
    const bool is_told = machine.told != NULL && machine.told->count > 0;
    const struct ypi_topology *read = !is_told ? ypi_topology() : NULL;
    return is_told ? machine.told : read != NULL ? &read->places : NULL;
}

/* The order in which to bind, or none when it is not to be: -1 when it is not known. */
static int order_of(enum ypi_bind bind, int order[YPI_CPUS_MAX])
{
    const struct ypi_places *places = bind != YPI_BIND_NONE ? ypi_places_here() : NULL;
    if (bind == YPI_BIND_NONE)
        return 0;
    if (places == NULL)
        return -1;
    if (ypi_bind_resolve(places, ypi_cpus_allowed(), bind) == YPI_BIND_NONE)
        return 0;
    int count = ypi_bind_order(places, ypi_cpus_allowed(), order, YPI_CPUS_MAX);
    return count > 0 ? count : -1;
}

/* Memory where it is first touched, whatever policy was inherited: for a thread that stays where it
 * is that is its node, and threads that inherit it get their own. It is the kernel's default, so
 * where it may not be set it is in force already. */
static void keep_memory_near(const struct ypi_places *places)
{
    if (several_nodes(places, ypi_cpus_allowed()))
        (void)syscall(SYS_set_mempolicy, MPOL_LOCAL, NULL, 0);
}

enum yp_status ypi_bind_self(enum ypi_bind bind)
{
    int order[YPI_CPUS_MAX];
    int count = order_of(bind, order);
    if (count < 0)
        return yp_set_error(YP_UNSUPPORTED, "binding: hwloc cannot read this machine's processors");
    if (count == 0)
        return YP_OK;
    if (!set_processor(gettid(), order[0]))
        return yp_set_error(YP_UNSUPPORTED, "binding: processor %d: sched_setaffinity: %s",
                            order[0], strerror(errno));
    keep_memory_near(ypi_places_here());
    return YP_OK;
}

/* Such as the one that nanomsg keeps in every case's process. */
static bool blocks_all_signals(pid_t task)
{
    const unsigned long long blockable = 0x7ffbfeff; /* 1 to 31 but SIGKILL and SIGSTOP */
    char path[64];
    char status[8192];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)task);
    (void)ypi_read_file(path, status, sizeof status);
    const char *line = strstr(status, "\nSigBlk:");
    unsigned long long blocked = line != NULL ? strtoull(line + 8, NULL, 16) : 0;
    return (blocked & blockable) == blockable;
}

/* How many threads are bound to each processor already. Those that are where the calling thread is
 * inherited that and are to be bound; those that are never bound (probes of ceilings) do not count.
 */
static void count_bound(const pid_t *tasks, int count, const unsigned char self[YPI_CPUS_MAX],
                        int uses[YPI_CPUS_MAX])
{
    unsigned char cpus[YPI_CPUS_MAX];
    for (int i = 0; i < count; i++) {
        bool other = tasks[i] != gettid();
        if (!get_affinity(tasks[i], cpus) || count_of(cpus) != 1 ||
            (other && (memcmp(cpus, self, sizeof cpus) == 0 || blocks_all_signals(tasks[i]))))
            continue;
        const unsigned char *one = memchr(cpus, 1, sizeof cpus);
        uses[one - cpus]++;
    }
}

static int least_used(const int *order, int count, const int *uses)
{
    int least = order[0];
    for (int i = 1; i < count; i++)
        if (uses[order[i]] < uses[least])
            least = order[i];
    return least;
}

/* Of the process as a whole, or inherited from the calling thread. */
static bool has_own_affinity(pid_t task, const unsigned char self[YPI_CPUS_MAX])
{
    unsigned char cpus[YPI_CPUS_MAX];
    return !get_affinity(task, cpus) || (memcmp(cpus, ypi_cpus_allowed(), sizeof cpus) != 0 &&
                                         memcmp(cpus, self, sizeof cpus) != 0);
}

int ypi_working_threads(void)
{
    pid_t tasks[TASKS_MAX];
    int count = tasks_of(tasks);
    int working = 0;
    for (int i = 0; i < count; i++)
        working += tasks[i] == gettid() || !blocks_all_signals(tasks[i]);
    return working;
}

int ypi_bind_threads(enum ypi_bind bind)
{
    int order[YPI_CPUS_MAX];
    int uses[YPI_CPUS_MAX] = {0};
    pid_t tasks[TASKS_MAX];
    unsigned char self[YPI_CPUS_MAX];
    int processors = order_of(bind, order);
    if (processors <= 0 || !get_affinity(gettid(), self))
        return 0;
    int count = tasks_of(tasks);
    int bound = 0;
    count_bound(tasks, count, self, uses);
    if (count_of(self) != 1)
        uses[order[0]]++; /* the calling thread's, though it is not held there */
    for (int i = 0; i < count; i++) {
        if (tasks[i] == gettid() || has_own_affinity(tasks[i], self) ||
            blocks_all_signals(tasks[i]))
            continue;
        int cpu = least_used(order, processors, uses);
        if (!set_processor(tasks[i], cpu))
            continue;
        uses[cpu]++;
        bound++;
    }
    return bound;
}
