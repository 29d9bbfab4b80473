/* How a body in C++ is left: destructors run on its way, wherever an exception can pass. */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <yieldpoint/yieldpoint.h>

namespace
{
struct guard {
    const char *name;
    ~guard()
    {
        std::printf("destroyed %s\n", name);
    }
};

void require_deep(struct yp_case *t, int depth)
{
    const guard deep{"deep"};
    if (depth > 0)
        require_deep(t, depth - 1);
    yp_require(t, depth < 0, "depth is %d", depth);
}

void tear_down(struct yp_case *)
{
    std::puts("torn down");
}
} // namespace

YP_TEST(leaving, require, .teardown = tear_down)
{
    const guard outer{"outer"};
    require_deep(t, 1);
    std::puts("not reached");
}

YP_TEST(leaving, fail)
{
    const guard outer{"outer"};
    yp_fail(t, "as it should");
}

YP_TEST(leaving, skip, .teardown = tear_down)
{
    const guard outer{"outer"};
    const std::string reason(100, 'x');
    yp_skip(t, "not here: %s", reason.c_str());
}

YP_TEST(leaving, not_ok)
{
    const guard outer{"outer"};
    yp_ok(t, yp_set_error(YP_INVALID, "as it should"));
}

YP_TEST(leaving, refused)
{
    const guard outer{"outer"};
    yp_alloc(t, (size_t)1 << 60);
}

YP_TEST(leaving, no_such_axis)
{
    const guard outer{"outer"};
    yp_int(t, "n");
}

YP_TEST(leaving, measured)
{
    const guard outer{"outer"};
    int runs = 0;
    yp_measure (t, "work", .samples = 3) {
        const guard inner{"inner"};
        yp_require(t, runs++ == 0, "run %d", runs);
    }
}

static void skips(struct yp_case *t)
{
    const guard outer{"outer"};
    yp_skip(t, "not here");
}

YP_TEST(leaving, setup_skips, .setup = skips)
{
    std::puts("not reached");
}

static void requires_more(struct yp_case *t)
{
    const guard outer{"outer"};
    yp_require(t, 0 > 1, "in teardown");
}

YP_TEST(leaving, teardown_requires, .teardown = requires_more)
{
}

YP_TEST(leaving, swallowed, .teardown = tear_down)
{
    const guard outer{"outer"};
    try {
        require_deep(t, 0);
    } catch (...) {
        std::puts("caught");
    }
    std::puts("went on");
}

YP_TEST(leaving, skip_swallowed)
{
    try {
        yp_skip(t, "not here");
    } catch (...) {
        std::puts("caught");
    }
}

/* The first is swallowed, the second is not. */
YP_TEST(leaving, swallowed_once)
{
    try {
        yp_require(t, 0 > 1, "first");
    } catch (...) {
        std::puts("caught");
    }
    yp_require(t, 0 > 2, "second");
}

YP_TEST(leaving, thrown_again)
{
    try {
        require_deep(t, 0);
    } catch (...) {
        std::puts("caught");
        throw;
    }
}

YP_TEST(leaving, not_an_exception)
{
    const guard outer{"outer"};
    try {
        require_deep(t, 0);
    } catch (const std::exception &e) {
        std::puts("caught");
    }
}

/* Beyond a function that lets none through, all is as in C. */
static void lets_none_through(struct yp_case *t) noexcept
{
    yp_require(t, 0 > 1, "inside noexcept");
}

YP_TEST(leaving, in_noexcept, .teardown = tear_down)
{
    const guard outer{"outer"};
    lets_none_through(t);
    std::puts("not reached");
}

struct requiring {
    struct yp_case *t;
    ~requiring()
    {
        yp_require(t, 0 > 1, "in a destructor");
    }
};

YP_TEST(leaving, in_a_destructor, .teardown = tear_down)
{
    const requiring last{t};
}

static struct yp_case *comparing;

static int compare(const void *a, const void *b)
{
    const guard inner{"inner"};
    yp_require(comparing, a == b, "in a callback");
    return 0;
}

YP_TEST(leaving, through_c)
{
    const guard outer{"outer"};
    int values[] = {3, 1, 2};
    comparing = t;
    std::qsort(values, 3, sizeof *values, compare);
}

static double through_library(void *arg)
{
    const guard inner{"inner"};
    yp_fail((struct yp_case *)arg, "in a callback");
}

static void plain(void *arg)
{
    through_library(arg);
}

YP_TEST(leaving, through_the_framework)
{
    const guard outer{"outer"};
    yp_measure (t, "work", .reset = plain, .arg = t, .samples = 2)
        yp_keep(t);
}

YP_TEST(leaving, in_a_thread)
{
    std::thread worker([t] { yp_require(t, 0 > 1, "in a thread"); });
    worker.join();
}

YP_TEST(leaving, own_exception_while_leaving)
{
    try {
        const guard outer{"outer"};
        throw std::runtime_error("the user's");
    } catch (const std::runtime_error &e) {
        yp_require(t, e.what()[0] == 'X', "what is %s", e.what());
    }
}

YP_TEST(leaving, whole)
{
    const guard outer{"outer"};
    yp_expect(t, 1 > 0, "one");
}
