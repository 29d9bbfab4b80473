/* Exceptions that nobody catches: each is the reason of its case's failure. */
#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <yieldpoint/yieldpoint.h>

__attribute__((noinline)) static void give_up(int code)
{
    if (code > 0)
        throw std::runtime_error("no licence for the solver");
    std::puts("not reached");
}

YP_TEST(exceptions, runtime_error)
{
    give_up(1);
    std::puts("not reached");
}

YP_TEST(exceptions, of_no_class)
{
    throw 42;
}

YP_TEST(exceptions, in_a_thread)
{
    std::thread worker(give_up, 2);
    worker.join();
}

YP_TEST(exceptions, terminate)
{
    std::terminate();
}

struct speaks {
    ~speaks()
    {
        std::puts("destroyed");
    }
};

YP_TEST(exceptions, thread_ended)
{
    speaks on_its_way;
    pthread_exit(nullptr);
}

YP_TEST(exceptions, caught)
{
    try {
        give_up(3);
    } catch (const std::exception &e) {
        yp_value(t, "caught", 1);
    }
}
