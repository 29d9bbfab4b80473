/* A program with `new` and `delete` of its own, which put a header in front of each object. All
 * forms that it does not define have to go through them. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <yieldpoint/yieldpoint.h>

struct header {
    uint64_t magic, bytes;
};

static const uint64_t magic = 0x796965646c64ULL;

__attribute__((noinline)) void *operator new(std::size_t bytes)
{
    header *h = bytes < 1 << 20 ? static_cast<header *>(malloc(sizeof *h + bytes)) : nullptr;
    if (h == nullptr)
        throw std::bad_alloc();
    *h = {magic, bytes};
    return h + 1;
}

__attribute__((noinline)) void operator delete(void *object) noexcept
{
    if (object == nullptr)
        return;
    header *h = static_cast<header *>(object) - 1;
    if (h->magic != magic)
        abort();
    h->magic = 0;
    free(h);
}

struct complete {
    char bytes[100];
};

static void *volatile sink; /* no compiler drops what went through it */

template <typename T> static T *kept(T *object)
{
    sink = object;
    return object;
}

/* 116 bytes each. */
YP_TEST(operators, own, .heap = true,
        .budgets = YP_BUDGETS(yp_max_peak(YP_HEAP, 116), yp_max_allocations(YP_HEAP, 5),
                              yp_max_leak(YP_HEAP, 0)))
{
    delete kept(new complete);
    delete[] kept(new complete[1]);
    delete kept(new (std::nothrow) complete);
    delete[] kept(new (std::nothrow) char[100]);
    /* Of a size that the library's own code deletes. */
    std::string text;
    text.reserve(99);
    kept(text.data());
}

YP_TEST(operators, throwing, .heap = true)
{
    yp_expect(t, kept(new (std::nothrow) char[2 << 20]) == nullptr, "not NULL");
}

struct alignas(64) wide {
    char bytes[64];
};

/* The aligned forms are the library's. */
YP_TEST(operators, aligned, .heap = true, .budgets = YP_BUDGETS(yp_max_leak(YP_HEAP, 0)))
{
    delete kept(new wide);
    delete[] kept(new wide[2]);
    delete kept(new (std::nothrow) wide);
    delete[] kept(new (std::nothrow) wide[2]);
}
