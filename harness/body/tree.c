/* What the processes of a case have in memory together: its own and all that descend from it.
 *
 * In: /proc. Out: the peak of the growth of their anonymous and shared memory. The kernel keeps a
 * peak for each process and none for several, so a thread adds up what is there, again and again.
 * It runs in cases that have a budget on that figure, and in no other.
 *
 * A page that several processes share counts once: the sum is over each process's proportional part
 * (Pss). The kernel walks the tables of all pages for that, so it is read only where the sum of
 * what is resident, which is at least as much, is beyond the peak. */
#include "base/heap/heap.h"
#include "base/system/clock.h"
#include "base/system/process.h"
#include "base/system/thread.h"
#include "harness/body/state.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MOST = 4096, STACK_BYTES = 1 << 18 };
#define PERIOD_SECONDS 0.005
#define PART_OF_TIME 0.1 /* that a look may take */

struct ypi_tree {
    bool of_command; /* the case's own process only waits for it */
    pthread_t thread;
    _Atomic uint32_t ready, stop; /* set once */
    _Atomic uint32_t stretch;     /* odd: the case's own functions run */
    _Atomic int64_t base;         /* bytes that are not the case's; valid while `stretch` is odd */
    int64_t before;               /* of them, what was there before setup */
    int64_t peak;
    pid_t found[PROCESSES_MOST];
    bool same[PROCESSES_MOST];    /* as its parent's memory: about to execute a program */
    uint64_t own[PROCESSES_MOST]; /* bytes */
    int count;
};

/* Present in a program built with AddressSanitizer. */
extern void __asan_init(void) __attribute__((weak));

static void find(struct ypi_tree *tree)
{
    tree->found[0] = getpid();
    tree->same[0] = tree->of_command;
    tree->count = 1;
    for (int i = 0; i < tree->count; i++) {
        const int first = tree->count;
        tree->count += ypi_children(tree->found[i], tree->found + first, PROCESSES_MOST - first);
        for (int k = first; k < tree->count; k++)
            tree->same[k] =
                syscall(SYS_kcmp, tree->found[i], tree->found[k], KCMP_VM, 0UL, 0UL) == 0;
    }
}

static uint64_t own_of(const struct ypi_tree *tree, int i)
{
    struct ypi_process_memory one = {0};
    return !tree->same[i] && ypi_process_memory(tree->found[i], &one) ? one.own : 0;
}

/* Each page as often as processes have it. */
static int64_t sum_owned(struct ypi_tree *tree)
{
    uint64_t bytes = 0;
    for (int i = 0; i < tree->count; i++)
        bytes += tree->own[i] = own_of(tree, i);
    return (int64_t)bytes;
}

/* Each page once; -1: a process gave back memory meanwhile, and of a page that was shared with it
 * the others' parts have grown, so that it may have counted more than once. */
static int64_t sum_shared(const struct ypi_tree *tree)
{
    uint64_t bytes = 0;
    for (int i = 0; i < tree->count; i++)
        bytes += tree->own[i] > 0 ? ypi_process_share(tree->found[i], tree->own[i]) : 0;
    for (int i = 0; i < tree->count; i++)
        if (own_of(tree, i) < tree->own[i])
            return -1;
    return (int64_t)bytes;
}

/* Not on the wall: of a busy machine a look gets little at a time. */
static double processor_time(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void look(struct ypi_tree *tree)
{
    const uint32_t stretch = tree->stretch;
    if (stretch % 2 == 0)
        return;
    const int64_t base = tree->base;
    find(tree);
    if (tree->count == 1 || sum_owned(tree) - base <= tree->peak)
        return;
    const int64_t bytes = sum_shared(tree);
    if (bytes >= 0 && tree->stretch == stretch && bytes - base > tree->peak)
        tree->peak = bytes - base;
}

static void *run(void *argument)
{
    struct ypi_tree *tree = argument;
    if (&ypi_heap != NULL)
        *ypi_heap.inside() = 1;
    /* All that a look takes for itself is there before the case begins. */
    ypi_touch_stack();
    find(tree);
    (void)sum_owned(tree);
    (void)sum_shared(tree);
    tree->ready = 1;
    ypi_kernel_wake(&tree->ready);
    double wait = PERIOD_SECONDS;
    while (tree->stop == 0) {
        ypi_kernel_wait(&tree->stop, 0, wait);
        const double from = processor_time();
        look(tree);
        const double least = (processor_time() - from) / PART_OF_TIME;
        wait = least > PERIOD_SECONDS ? least : PERIOD_SECONDS;
    }
    return NULL;
}

static bool wanted(const struct yp_case *t)
{
    const struct ypi_job *job = t->child->job;
    if (job->instructions || job->audit || (__asan_init != NULL && t->test->command == NULL))
        return false; /* it would not be judged */
    for (const struct yp_budget *b = job->budgets; b->kind != YP_BUDGET_NONE; b++)
        if (b->kind == YP_BUDGET_MAX_RESIDENT_TREE)
            return true;
    return false;
}

void ypi_tree_open(struct yp_case *t)
{
    static struct ypi_tree tree; /* of the one case of this process, or the one after another */
    if (!wanted(t))
        return;
    tree = (struct ypi_tree){.of_command = t->test->command != NULL};
    if (!ypi_thread_begin(&tree.thread, run, &tree, STACK_BYTES)) {
        static const char note[] = "memory with children is not judged: the system gave no thread "
                                   "to look at it";
        ypi_child_send(t, YPI_MESSAGE_NOTE, note, sizeof note, NULL, 0);
        return;
    }
    while (tree.ready == 0)
        ypi_kernel_wait(&tree.ready, 0, 1);
    t->child->resident.tree = &tree;
}

void ypi_tree_begin(struct ypi_tree *tree, uint64_t own)
{
    if (tree != NULL && !tree->of_command)
        tree->before = (int64_t)ypi_process_share(getpid(), own);
}

void ypi_tree_enter(struct ypi_tree *tree, int64_t framework)
{
    if (tree == NULL)
        return;
    tree->base = tree->of_command ? 0 : tree->before + framework;
    tree->stretch++;
}

void ypi_tree_leave(struct ypi_tree *tree)
{
    if (tree != NULL)
        tree->stretch++;
}

uint64_t ypi_tree_close(struct ypi_tree *tree)
{
    tree->stop = 1;
    ypi_kernel_wake(&tree->stop);
    pthread_join(tree->thread, NULL);
    return (uint64_t)tree->peak;
}
