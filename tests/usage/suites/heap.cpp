/* Allocations of bodies, by malloc and by the operators of C++: those of heap_programs.h, whose
 * totals Valgrind knows, and small ones whose figures are known. */
#include "tests/usage/suites/heap_programs.h"

#include <atomic>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(programs, lists, .heap = true)
{
    lists();
}
YP_TEST(programs, strings, .heap = true)
{
    strings();
}
YP_TEST(programs, aligned, .heap = true)
{
    aligned();
}
YP_TEST(programs, threads, .heap = true)
{
    threads();
}
YP_TEST(programs, containers, .heap = true)
{
    containers();
}

/* 100 + 200 at once, 150 after them; setup's block is freed by teardown. */
static void take_some(struct yp_case *t)
{
    yp_set_data(t, malloc(1000));
}
static void free_some(struct yp_case *t)
{
    free(yp_data(t));
}

YP_TEST(heap, known, .setup = take_some, .teardown = free_some, .heap = true,
        .budgets = YP_BUDGETS(yp_max_peak(YP_HEAP, 1300), yp_max_allocations(YP_HEAP, 4),
                              yp_max_leak(YP_HEAP, 0)))
{
    void *a = malloc(100);
    sink = calloc(10, 20);
    free(sink);
    free(a);
    sink = new char[150];
    delete[] static_cast<char *>(sink);
}

YP_TEST(heap, too_much, .heap = true,
        .budgets = YP_BUDGETS(yp_max_peak(YP_HEAP, 99), yp_max_allocations(YP_HEAP, 0)))
{
    sink = malloc(100);
    free(sink);
}

__attribute__((noinline)) static void lose(size_t bytes)
{
    sink = malloc(bytes);
}

YP_TEST(heap, leaks, .heap = true, .budgets = YP_BUDGETS(yp_max_leak(YP_HEAP, 10)))
{
    sink = malloc(5);
    free(sink);
    lose(30);
    lose(40);
}

/* Whose requests are refused: the third way out of `loses` forgets the first block. */
static void two(bool loses)
{
    char *first = static_cast<char *>(malloc(10));
    if (first == nullptr)
        return;
    sink = malloc(20);
    if (sink == nullptr && loses)
        return; // NOLINT(clang-analyzer-unix.Malloc): the leak is what is tried
    free(sink);
    try {
        sink = new int;
        delete static_cast<int *>(sink);
    } catch (const std::bad_alloc &) {
    }
    free(first);
}

YP_TEST(refused, sound, .heap = true, .budgets = YP_BUDGETS(yp_max_leak(YP_HEAP, 0)))
{
    yp_alloc(t, 100);
    two(false);
}

YP_TEST(refused, loses, .heap = true, .budgets = YP_BUDGETS(yp_max_leak(YP_HEAP, 0)))
{
    two(true);
}

/* The framework's own memory is none of the body's, however it is asked. */
YP_TEST(heap, framework, .heap = true,
        .budgets = YP_BUDGETS(yp_max_allocations(YP_HEAP, 0), yp_max_leak(YP_HEAP, 0),
                              yp_max_latency("nothing", 1)))
{
    yp_alloc(t, 1000);
    yp_value(t, "value", 1);
    yp_data_hash(t, 7);
    yp_tmp_path(t);
    yp_event_destroy(yp_event_create(yp_device(t)));
    printf("some output\n");
    yp_measure (t, "nothing", .max_seconds = 0.01)
        yp_average(t, "average", 1);
}

/* What is measured is not counted unless it asks. */
YP_TEST(heap, measured, .axes = YP_AXES(yp_axis_int("asked", 0, 1)), .heap = true)
{
    void *before = malloc(64);
    yp_measure (t, "malloc", .heap = yp_int(t, "asked") != 0, .warmup = 1, .samples = 9) {
        sink = malloc(10);
        free(sink);
        free(before);
        before = nullptr;
    }
} // NOLINT(clang-analyzer-unix.Malloc): an iteration frees it

/* Leaks where no process of the case was before. */
YP_TEST(heap, first_leaks, .heap = true, .budgets = YP_BUDGETS(yp_max_leak(YP_HEAP, 0)))
{
    char mark[4096];
    snprintf(mark, sizeof mark, "%s/mark", yp_tmp_path(t));
    if (mkdir(mark, 0700) == 0)
        lose(10);
}

/* Handlers of fork() may allocate, while another thread does. Registered before a case begins. */
static std::atomic<bool> over{true};

static void allocate()
{
    for (int i = 1; i <= 100 && !over; i++) {
        void *volatile block = malloc(16 * i);
        free(block);
    }
}
__attribute__((constructor)) static void allocate_in_handlers()
{
    pthread_atfork(allocate, allocate, allocate);
}

YP_TEST(heap, forks, .timeout = 20, .heap = true)
{
    over = false;
    std::thread other([] {
        while (!over)
            allocate();
    });
    for (int i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        int status = 1;
        waitpid(child, &status, 0);
        yp_expect(t, status == 0, "status %d", status);
    }
    over = true;
    other.join();
}

YP_TEST(heap, not_counted)
{
    lose(1000);
}
