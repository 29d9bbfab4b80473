/* Five programs whose allocations Valgrind counts too: each runs once in an ordinary process and
 * once as the body of a case. Included by heap.cpp and heap_plain.cpp. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

static void *volatile sink; /* no compiler drops what went through it */

/* A list, an array that grows and one that shrinks. */
static void lists()
{
    struct node {
        node *next;
        int value;
    };
    node *first = nullptr;
    for (int i = 0; i < 1000; i++) {
        auto *n = static_cast<node *>(malloc(sizeof(node) + (size_t)i));
        *n = {first, i};
        sink = first = n;
    }
    char *grown = nullptr;
    for (size_t bytes = 1; bytes < 1 << 20; bytes *= 3)
        sink = grown = static_cast<char *>(realloc(grown, bytes));
    sink = grown = static_cast<char *>(realloc(grown, 10));
    free(grown);
    sink = calloc(100, 7);
    free(sink);
    while (first != nullptr) {
        node *next = first->next;
        free(first);
        first = next;
    }
}

/* Through functions of the C library. */
static void strings()
{
    char *line = nullptr, *copy = nullptr;
    size_t size = 0;
    for (int i = 0; i < 100; i++) {
        if (asprintf(&line, "line %d of many", i) < 0)
            abort();
        sink = copy = strdup(line);
        free(line);
        free(copy);
        sink = copy = strndup("some more text", (size_t)i % 10);
        free(copy);
    }
    char *stream = nullptr;
    FILE *out = open_memstream(&stream, &size);
    for (int i = 0; i < 1000; i++)
        fprintf(out, "%d ", i);
    fclose(out);
    free(stream);
    sink = reallocarray(nullptr, 10, 20);
    free(sink);
}

static void aligned()
{
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        void *block = nullptr;
        sink = aligned_alloc(alignment, 4 * alignment);
        free(sink);
        if (posix_memalign(&block, alignment, 100 + alignment) != 0)
            abort();
        free(block);
        sink = memalign(alignment, 33);
        free(sink);
        sink = ::operator new(77, std::align_val_t(alignment));
        ::operator delete(sink, std::align_val_t(alignment));
    }
}

static void threads()
{
    std::vector<std::thread> all;
    all.reserve(4);
    for (int i = 0; i < 4; i++)
        all.emplace_back([i] {
            void *blocks[50];
            for (int k = 0; k < 200; k++) {
                for (void *&b : blocks)
                    b = malloc((size_t)(i + 1) * 10);
                for (void *b : blocks)
                    free(b);
            }
        });
    for (std::thread &t : all)
        t.join();
}

static void containers()
{
    std::map<int, std::string> names;
    for (int i = 0; i < 500; i++)
        names[i * 7 % 500] = std::string((size_t)i % 60, 'x');
    std::vector<std::unique_ptr<int[]>> arrays;
    for (size_t i = 1; i < 200; i++)
        arrays.push_back(std::make_unique<int[]>(i));
    std::sort(arrays.begin(), arrays.end());
    sink = new (std::nothrow) char[1000];
    delete[] static_cast<char *>(sink);
}
