/* Lists of processors, the order of cores on made-up machines, and threads of this process. */
#include "device/cpu/binding.h"
#include "device/cpu/task.h"
#include "device/cpu/topology.h"

#include <criterion/criterion.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

TestSuite(binding, .timeout = 60);

/* -- lists --------------------------------------------------------------------------------- */

Test(binding, lists_are_read)
{
    static const struct {
        const char *list, *map;
    } cases[] = {{"0", "10000000"},      {"7", "00000001"},     {"0-3", "11110000"},
                 {"0-3,6", "11110010"},  {"5,1-2", "01100100"}, {"2-2", "00100000"},
                 {"1-3,2-4", "01111000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char got[8];
        memset(got, 9, sizeof got);
        cr_expect(ypi_cpus_parse(cases[i].list, got, 8), "%s", cases[i].list);
        for (int cpu = 0; cpu < 8; cpu++)
            cr_expect_eq(got[cpu], cases[i].map[cpu] - '0', "%s: %d", cases[i].list, cpu);
    }
}

Test(binding, what_is_no_list_is_refused)
{
    static const char *const bad[] = {"",
                                      "a",
                                      "0,",
                                      ",0",
                                      "3-1",
                                      "0-",
                                      "-1",
                                      "0--1",
                                      "0 1",
                                      " 0",
                                      "0x1",
                                      "1-2-3",
                                      "8",
                                      "0-8",
                                      "0,,1",
                                      "+1",
                                      "99999999999999999999",
                                      "0-99999999999999999999"};
    char allowed[64];
    unsigned char got[8];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        yp_set_error(YP_OK, "none");
        cr_expect_not(ypi_cpus_parse(bad[i], got, 8), "%s", bad[i]);
        snprintf(allowed, sizeof allowed, "processors: '%s': numbers and ranges", bad[i]);
        cr_expect_not_null(strstr(yp_last_error(), allowed), "%s", yp_last_error());
        cr_expect_not_null(strstr(yp_last_error(), "this process may use "));
    }
}

/* -- made-up machines ---------------------------------------------------------------------- */

/* The caller frees the list. */
static struct ypi_places machine_of(const char *description)
{
    hwloc_topology_t t;
    cr_assert_eq(hwloc_topology_init(&t), 0);
    cr_assert_eq(hwloc_topology_set_synthetic(t, description), 0);
    cr_assert_eq(hwloc_topology_load(t), 0);
    struct ypi_places places = ypi_places_of(t);
    hwloc_topology_destroy(t);
    return places;
}

/* Which processors, in which order: "0 2 1 3". */
static const char *order_on(const char *description, const char *map)
{
    static char text[256];
    unsigned char allowed[YPI_CPUS_MAX] = {0};
    int order[8];
    int length = 0;
    for (int i = 0; map[i]; i++)
        allowed[i] = map[i] == '1';
    struct ypi_places places = machine_of(description);
    int count = ypi_bind_order(&places, allowed, order, 8);
    free(places.list);
    text[0] = '\0';
    for (int i = 0; i < count && i < 8; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", i > 0 ? " " : "",
                           order[i]);
    return text;
}

Test(binding, one_of_every_core_first)
{
    static const char *const two_nodes = "node:2 core:2 pu:2";
    cr_expect_str_eq(order_on("node:1 core:4 pu:1", "1111"), "0 1 2 3");
    cr_expect_str_eq(order_on(two_nodes, "11111111"), "0 2 4 6 1 3 5 7");
    cr_expect_str_eq(order_on("node:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)", "11111111"),
                     "0 2 1 3 4 6 5 7", "as Linux numbers them where nodes take turns");
    cr_expect_str_eq(order_on(two_nodes, "01110010"), "1 2 6 3", "not outside of what is allowed");
    cr_expect_str_eq(order_on(two_nodes, "00000011"), "6 7");
    cr_expect_str_eq(order_on(two_nodes, "00000000"), "");
    cr_expect_str_eq(order_on("node:1 core:1 pu:4", "1111"), "0 1 2 3");
}

Test(binding, more_processors_than_asked_for)
{
    unsigned char allowed[YPI_CPUS_MAX];
    int order[3] = {-1, -1, -1};
    memset(allowed, 1, sizeof allowed);
    struct ypi_places places = machine_of("node:2 core:2 pu:2");
    cr_expect_eq(ypi_bind_order(&places, allowed, order, 2), 8);
    cr_expect(order[0] == 0 && order[1] == 2 && order[2] == -1);
    free(places.list);
}

Test(binding, automatic_is_cores_where_there_are_several_nodes)
{
    unsigned char allowed[YPI_CPUS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct ypi_places two = machine_of("node:2 core:2 pu:2");
    struct ypi_places one = machine_of("node:1 core:4 pu:2");
    cr_expect_eq(ypi_bind_resolve(&two, allowed, YPI_BIND_AUTO), YPI_BIND_CORES);
    cr_expect_eq(ypi_bind_resolve(&one, allowed, YPI_BIND_AUTO), YPI_BIND_NONE);
    cr_expect_eq(ypi_bind_resolve(&one, allowed, YPI_BIND_CORES), YPI_BIND_CORES);
    cr_expect_eq(ypi_bind_resolve(&two, allowed, YPI_BIND_NONE), YPI_BIND_NONE);
    memset(allowed, 0, 4);
    cr_expect_eq(ypi_bind_resolve(&two, allowed, YPI_BIND_AUTO), YPI_BIND_NONE,
                 "the second node only");
    allowed[3] = 1;
    cr_expect_eq(ypi_bind_resolve(&two, allowed, YPI_BIND_AUTO), YPI_BIND_CORES);
    free(two.list);
    free(one.list);
}

/* -- this process -------------------------------------------------------------------------- */

#define THREADS 3

static struct pool {
    pthread_t threads[THREADS];
    pid_t tasks[THREADS];
    int count;
} pool;
static sem_t ready, leave;

static bool as_helpers; /* the threads that are started block all signals */

static void *wait_there(void *tid)
{
    sigset_t all;
    sigfillset(&all);
    if (as_helpers)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    *(pid_t *)tid = gettid();
    sem_post(&ready);
    sem_wait(&leave);
    return NULL;
}

static void start_threads(int count)
{
    sem_init(&ready, 0, 0);
    sem_init(&leave, 0, 0);
    pool.count = count;
    for (int i = 0; i < count; i++) {
        cr_assert_eq(pthread_create(&pool.threads[i], NULL, wait_there, &pool.tasks[i]), 0);
        sem_wait(&ready);
    }
}

static void end_threads(void)
{
    for (int i = 0; i < pool.count; i++)
        sem_post(&leave);
    for (int i = 0; i < pool.count; i++)
        pthread_join(pool.threads[i], NULL);
}

/* The one processor of a thread; -1 when it may use more. */
static int processor_of(pid_t task)
{
    cpu_set_t set;
    cr_assert_eq(sched_getaffinity(task, sizeof set, &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&set) == 1; cpu++)
        if (CPU_ISSET(cpu, &set))
            return cpu;
    return -1;
}

static int usable(void)
{
    cpu_set_t set;
    cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static int order_here(int order[YPI_CPUS_MAX])
{
    cr_assert_not_null(ypi_topology());
    return ypi_bind_order(&ypi_topology()->places, ypi_cpus_allowed(), order, YPI_CPUS_MAX);
}

/* The processor at `place` of the order has `wanted` of the threads. */
static void expect_uses(const int *order, int place, int wanted)
{
    int uses = 0;
    for (int i = 0; i < pool.count; i++)
        uses += processor_of(pool.tasks[i]) == order[place];
    cr_expect_eq(uses, wanted, "%d threads on processor %d, not %d", uses, order[place], wanted);
}

static void skip_if_single(void)
{
    if (usable() < 2)
        cr_skip_test("one processor");
}

Test(binding, as_many_processors_as_may_be_used)
{
    int processors = usable();
    cr_expect_eq(ypi_processors(), processors);
    cr_assert_eq(ypi_bind_self(YPI_BIND_CORES), YP_OK);
    cr_expect_eq(usable(), 1);
    cr_expect_eq(ypi_processors(), processors, "binding a thread takes nothing from the process");
}

static void hold(pid_t task, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    cr_assert_eq(sched_setaffinity(task, sizeof set, &set), 0);
}

Test(binding, what_any_thread_may_use_the_process_may_use)
{
    int processors = usable();
    start_threads(1);
    hold(pool.tasks[0], sched_getcpu());
    cr_expect_eq(ypi_processors(), processors);
    end_threads();
}

Test(binding, all_threads_are_confined)
{
    char list[32];
    int order[YPI_CPUS_MAX];
    int last = order_here(order) - 1;
    start_threads(2);
    snprintf(list, sizeof list, "%d,4095", order[last]);
    cr_assert_eq(ypi_cpus_confine(list), YP_OK, "%s", yp_last_error());
    cr_expect_eq(processor_of(0), order[last]);
    expect_uses(order, last, 2);
    cr_expect_eq(ypi_processors(), 1);
    cr_expect_eq(ypi_cpus_allowed()[order[last]], 1);
    pid_t child = fork();
    if (child == 0)
        _exit(usable() == 1 && processor_of(0) == order[last] ? 0 : 1);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0, "a child");
    cr_assert_eq(ypi_bind_self(YPI_BIND_CORES), YP_OK);
    cr_expect_eq(processor_of(0), order[last]);
    end_threads();
}

Test(binding, processors_that_are_not_there_are_refused)
{
    int before = usable();
    cr_expect_eq(ypi_cpus_confine("4000-4095"), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "'4000-4095': none of them is there"), "%s",
                       yp_last_error());
    cr_expect_eq(ypi_cpus_confine("1-0"), YP_INVALID);
    cr_expect_eq(usable(), before);
    cr_expect_eq(ypi_processors(), before);
}

/* Of those started before the caller is bound, and after: where they are before they are moved does
 * not count. */
static void expect_in_turn(bool inherited)
{
    int order[YPI_CPUS_MAX];
    int uses[YPI_CPUS_MAX] = {0};
    int processors = order_here(order);
    if (!inherited)
        start_threads(THREADS);
    cr_assert_eq(ypi_bind_self(YPI_BIND_CORES), YP_OK);
    cr_expect_eq(processor_of(0), order[0]);
    if (inherited)
        start_threads(THREADS);
    cr_expect_eq(ypi_bind_threads(YPI_BIND_CORES), THREADS);
    for (int i = 1; i <= THREADS; i++)
        uses[i % processors]++;
    for (int i = 0; i < processors; i++)
        expect_uses(order, i, uses[i]);
    end_threads();
}

Test(binding, threads_take_the_cores_in_turn)
{
    expect_in_turn(false);
}

Test(binding, inherited_threads_take_the_cores_in_turn)
{
    expect_in_turn(true);
}

/* Started after, they inherit where their parent is, which is no affinity of their own. */
Test(binding, threads_that_inherited_a_core_move_on)
{
    int order[YPI_CPUS_MAX];
    skip_if_single();
    order_here(order);
    cr_assert_eq(ypi_bind_self(YPI_BIND_CORES), YP_OK);
    start_threads(1);
    expect_uses(order, 0, 1);
    cr_expect_eq(ypi_bind_threads(YPI_BIND_CORES), 1);
    expect_uses(order, 1, 1);
    cr_expect_eq(ypi_bind_threads(YPI_BIND_CORES), 0, "bound already");
    expect_uses(order, 1, 1);
    end_threads();
}

/* The first core is the caller's even when it is not held there. */
Test(binding, the_callers_core_is_left_to_it)
{
    int order[YPI_CPUS_MAX];
    skip_if_single();
    order_here(order);
    start_threads(1);
    cr_expect_eq(ypi_bind_threads(YPI_BIND_CORES), 1);
    expect_uses(order, 1, 1);
    cr_expect_eq(processor_of(0), -1);
    end_threads();
}

/* On a core of its own choice, which the next thread is not given before the others. */
Test(binding, a_thread_with_its_own_affinity_is_left_alone)
{
    int order[YPI_CPUS_MAX];
    skip_if_single();
    int processors = order_here(order);
    start_threads(2);
    cr_assert_eq(ypi_bind_self(YPI_BIND_CORES), YP_OK);
    hold(pool.tasks[0], order[1]);
    cr_expect_eq(ypi_bind_threads(YPI_BIND_CORES), 1);
    cr_expect_eq(processor_of(pool.tasks[0]), order[1]);
    cr_expect_eq(processor_of(pool.tasks[1]), order[processors > 2 ? 2 : 0]);
    end_threads();
}

Test(binding, a_helper_of_a_library_is_left_alone)
{
    skip_if_single();
    as_helpers = true;
    start_threads(1);
    cr_expect_eq(ypi_bind_threads(YPI_BIND_CORES), 0);
    cr_expect_eq(processor_of(pool.tasks[0]), -1);
    end_threads();
}

Test(binding, none_is_none)
{
    int before = usable();
    start_threads(1);
    cr_expect_eq(ypi_bind_self(YPI_BIND_NONE), YP_OK);
    cr_expect_eq(ypi_bind_threads(YPI_BIND_NONE), 0);
    cr_expect_eq(usable(), before);
    cpu_set_t set;
    cr_assert_eq(sched_getaffinity(pool.tasks[0], sizeof set, &set), 0);
    cr_expect_eq(CPU_COUNT(&set), before);
    end_threads();
}

Test(binding, automatic_on_this_machine)
{
    int before = usable();
    cr_assert_not_null(ypi_topology());
    bool cores = ypi_bind_resolve(&ypi_topology()->places, ypi_cpus_allowed(), YPI_BIND_AUTO) ==
                 YPI_BIND_CORES;
    cr_expect_eq(ypi_bind_self(YPI_BIND_AUTO), YP_OK);
    cr_expect_eq(usable(), cores ? 1 : before);
}

Test(binding, tasks_are_the_threads)
{
    pid_t tasks[64];
    int before = ypi_tasks("", tasks, 64);
    start_threads(2);
    cr_expect_eq(ypi_tasks("", tasks, 64), before + 2);
    bool found[3] = {false};
    for (int i = 0; i < before + 2; i++) {
        found[0] |= tasks[i] == getpid();
        found[1] |= tasks[i] == pool.tasks[0];
        found[2] |= tasks[i] == pool.tasks[1];
    }
    cr_expect(found[0] && found[1] && found[2]);
    tasks[1] = -7;
    cr_expect_eq(ypi_tasks("", tasks, 1), before + 2);
    cr_expect_eq(tasks[1], -7);
    cr_expect_eq(ypi_tasks("/nonexistent", tasks, 64), 0);
    end_threads();
}

#ifdef _OPENMP
Test(binding, a_pool_of_openmp)
{
    int order[YPI_CPUS_MAX];
    int processors[THREADS];
    bool in_use[YPI_CPUS_MAX] = {false};
    int places = order_here(order);
    for (int turn = 0; turn < 2; turn++) { /* the pool is made in the first one */
#pragma omp parallel num_threads(THREADS)
        processors[omp_get_thread_num()] = processor_of(0);
        if (turn == 0) {
            cr_assert_eq(ypi_bind_self(YPI_BIND_CORES), YP_OK);
            cr_expect_eq(ypi_bind_threads(YPI_BIND_CORES), THREADS - 1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        cr_assert_geq(processors[i], 0, "thread %d is not bound", i);
        in_use[processors[i]] = true;
    }
    for (int i = 0; i < places && i < THREADS; i++)
        cr_expect(in_use[order[i]], "no thread is on processor %d", order[i]);
    cr_expect_eq(processors[0], order[0]);
}
#endif
