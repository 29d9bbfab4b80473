/* malloc, free and all the others, in the place of the C library's or of another allocator's, which
 * they call.
 *
 * All of them are weak: what the program defines itself stands. Of a malloc of its own
 * ypi_heap.problem() says so. Its own operator new and delete are called by all other forms of
 * theirs, and count by what they call. Nothing here calls what may allocate, apart from dlsym.
 */
#include "base/heap/table.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define VISIBLE __attribute__((weak, visibility("default"), noinline))
/* Static storage of the program, reached without a call. */
#define OF_THREAD __thread __attribute__((tls_model("initial-exec")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

/* -- the next definitions ------------------------------------------------------------------- */

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
} next;

/* What dlsym() itself asks for while it looks for malloc. Never given back. */
static _Alignas(16) char early[1 << 16];
static _Atomic size_t early_used;

static void *take_early(size_t bytes)
{
    const size_t rounded = (bytes + 15) / 16 * 16;
    const size_t at = rounded >= bytes && rounded <= sizeof early
                          ? atomic_fetch_add(&early_used, rounded)
                          : sizeof early;
    if (at + rounded > sizeof early) {
        errno = ENOMEM;
        return NULL;
    }
    return early + at;
}

static bool is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}

/* Two threads may come here: both find the same. `malloc` is the one that is looked at. */
static bool resolve(void)
{
    static OF_THREAD bool looking;
    if (looking)
        return false;
    looking = true;
#define NEXT(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name)
    NEXT(calloc);
    NEXT(realloc);
    NEXT(free);
    NEXT(memalign);
    NEXT(aligned_alloc);
    NEXT(posix_memalign);
    NEXT(valloc);
    NEXT(pvalloc);
    void *found = dlsym(RTLD_NEXT, "malloc");
#undef NEXT
    *(void **)&next.malloc = found;
    looking = false;
    return found != NULL;
}

static inline bool ready(void)
{
    return next.malloc != NULL || resolve();
}

static bool forks; /* the table's handlers of fork() are registered */

/* Before the program's own handlers of fork() are registered: those that run before ours may
 * allocate. */
__attribute__((constructor(101))) static void resolve_first(void)
{
    (void)ready();
    forks = ypi_heap_table_watch_forks();
}

/* -- counting ------------------------------------------------------------------------------- */

static _Atomic int state; /* enum ypi_heap_state */
static int (*refuse_one)(void);
static uint64_t watched;
static uintptr_t linker_from, linker_to;
static void (*seen)(uintptr_t caller);
static _Atomic uint64_t refused, thread_count;

static OF_THREAD int inside;
static OF_THREAD uint64_t number; /* of this thread's last allocation */

enum { THREAD_SHIFT = 40 };

static inline enum ypi_heap_state now(void)
{
    return (enum ypi_heap_state)atomic_load_explicit(&state, memory_order_relaxed);
}

static inline bool counts(void)
{
    return now() == YPI_HEAP_ON && inside == 0;
}

static bool is_refused(void)
{
    inside++;
    const bool yes = refuse_one != NULL && refuse_one();
    inside--;
    if (!yes)
        return false;
    atomic_fetch_add(&refused, 1);
    errno = ENOMEM;
    return true;
}

static void tell(uintptr_t caller)
{
    const int error = errno;
    inside++;
    seen(caller);
    inside--;
    errno = error;
}

static inline void note(void *block, size_t bytes, uintptr_t caller)
{
    if (number == 0)
        number = atomic_fetch_add(&thread_count, 1) << THREAD_SHIFT;
    const struct ypi_heap_block made = {.address = (uintptr_t)block,
                                        .bytes = bytes & (UINT64_MAX >> 1),
                                        .linker = caller >= linker_from && caller < linker_to,
                                        .number = ++number};
    ypi_heap_table_add(&made, true);
    if (watched != 0 && number == watched)
        tell(caller);
}

/* -- the functions of C --------------------------------------------------------------------- */

static inline bool refuses(bool counted)
{
    return counted && refuse_one != NULL && is_refused();
}

static inline __attribute__((always_inline)) void *take(size_t bytes, uintptr_t caller)
{
    if (__builtin_expect(!ready(), 0))
        return take_early(bytes);
    const bool counted = counts();
    if (refuses(counted))
        return NULL;
    void *block = next.malloc(bytes);
    if (counted && block != NULL)
        note(block, bytes, caller);
    return block;
}

static inline void give(void *block)
{
    struct ypi_heap_block was;
    if (block == NULL || __builtin_expect(is_early(block), 0) || !ready())
        return;
    if (now() != YPI_HEAP_OFF)
        ypi_heap_table_take((uintptr_t)block, true, &was);
    next.free(block);
}

static inline __attribute__((always_inline)) void *take_aligned(size_t alignment, size_t bytes,
                                                                uintptr_t caller)
{
    const bool counted = ready() && counts();
    if (next.memalign == NULL)
        errno = ENOMEM;
    if (next.memalign == NULL || refuses(counted))
        return NULL;
    void *block = next.memalign(alignment, bytes);
    if (counted && block != NULL)
        note(block, bytes, caller);
    return block;
}

/* The parameters have the reserved names of the headers there. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

VISIBLE void *malloc(size_t bytes)
{
    return take(bytes, CALLER);
}

VISIBLE void *calloc(size_t count, size_t each)
{
    if (__builtin_expect(!ready(), 0)) /* early memory is zero, as it is handed out once */
        return take_early(each != 0 && count > SIZE_MAX / each ? SIZE_MAX : count * each);
    const bool counted = counts();
    if (refuses(counted))
        return NULL;
    void *block = next.calloc(count, each);
    if (counted && block != NULL)
        note(block, count * each, CALLER);
    return block;
}

VISIBLE void free(void *block)
{
    give(block);
}

/* The block is taken out before, since another thread may get its address as soon as it is free. */
static inline __attribute__((always_inline)) void *resize(void *block, size_t bytes,
                                                          uintptr_t caller)
{
    struct ypi_heap_block was = {0};
    if (block == NULL)
        return take(bytes, caller);
    if (is_early(block)) {
        const size_t left = (size_t)(early + sizeof early - (char *)block);
        void *moved = take(bytes, caller);
        return moved != NULL ? memcpy(moved, block, bytes < left ? bytes : left) : NULL;
    }
    if (!ready()) {
        errno = ENOMEM;
        return NULL;
    }
    const bool counted = counts();
    if (refuses(counted && bytes > 0))
        return NULL;
    const bool known =
        now() != YPI_HEAP_OFF && ypi_heap_table_take((uintptr_t)block, counted || bytes == 0, &was);
    void *moved = next.realloc(block, bytes);
    if (moved == NULL && bytes > 0 && known) {
        ypi_heap_table_restore(&was, counted);
    } else if (counted && moved != NULL) {
        note(moved, bytes, caller);
    } else if (known && moved != NULL) {
        was.address = (uintptr_t)moved;
        was.bytes = bytes & (UINT64_MAX >> 1);
        ypi_heap_table_add(&was, false);
    }
    return moved;
}

VISIBLE void *realloc(void *block, size_t bytes)
{
    return resize(block, bytes, CALLER);
}

VISIBLE void *reallocarray(void *block, size_t count, size_t each)
{
    if (each != 0 && count > SIZE_MAX / each) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(block, count * each, CALLER);
}

VISIBLE void *memalign(size_t alignment, size_t bytes)
{
    return take_aligned(alignment, bytes, CALLER);
}

VISIBLE void *aligned_alloc(size_t alignment, size_t bytes)
{
    const bool counted = ready() && counts();
    if (next.aligned_alloc == NULL)
        errno = ENOMEM;
    if (next.aligned_alloc == NULL || refuses(counted))
        return NULL;
    void *block = next.aligned_alloc(alignment, bytes);
    if (counted && block != NULL)
        note(block, bytes, CALLER);
    return block;
}

VISIBLE int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    const int error = errno;
    const bool counted = ready() && counts();
    if (next.posix_memalign == NULL || refuses(counted)) {
        errno = error;
        return ENOMEM;
    }
    void *block = NULL;
    const int failed = next.posix_memalign(&block, alignment, bytes);
    if (failed != 0)
        return failed;
    *out = block;
    if (counted && block != NULL)
        note(block, bytes, CALLER);
    return 0;
}

VISIBLE void *valloc(size_t bytes)
{
    return take_aligned((size_t)sysconf(_SC_PAGESIZE), bytes, CALLER);
}

VISIBLE void *pvalloc(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole = bytes == 0 ? page : (bytes + page - 1) / page * page;
    if (whole < bytes) {
        errno = ENOMEM;
        return NULL;
    }
    return take_aligned(page, whole, CALLER);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* -- the operators of C++ ------------------------------------------------------------------- */

/* Allocators that bring operators of their own do not call malloc for them, so that all of them go
 * through the functions above. As in libstdc++, a form calls the one that the standard names, by
 * its symbol: a program that defines `new` and `delete` alone gets and frees all its objects by
 * them. */

typedef void new_handler(void);

static void *of_cpp(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    void *library = found == NULL ? dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return library != NULL ? dlsym(library, name) : found;
}

/* As the standard has it: the handler, if there is one, and once more, else std::bad_alloc. A
 * refused request that is asked again is another request. */
static void no_memory(void)
{
    new_handler *(*handler_of)(void) = NULL;
    void (*throw_it)(void) = NULL;
    inside++;
    *(void **)&handler_of = of_cpp("_ZSt15get_new_handlerv");
    *(void **)&throw_it = of_cpp("_ZSt17__throw_bad_allocv");
    inside--;
    new_handler *handler = handler_of != NULL ? handler_of() : NULL;
    if (handler != NULL)
        handler();
    else if (throw_it != NULL)
        throw_it();
    else
        abort();
}

static inline __attribute__((always_inline)) void *new_of(size_t bytes, size_t alignment,
                                                          uintptr_t caller)
{
    const size_t least = bytes > 0 ? bytes : 1;
    for (;;) {
        void *block = alignment > 0 ? take_aligned(alignment, least, caller) : take(least, caller);
        if (block != NULL)
            return block;
        no_memory();
    }
}

/* The same form in libstdc++, which calls the program's own `new` and catches what it throws. C has
 * no means to: where libstdc++ is linked statically, what is thrown passes through. */
static void *of_libstdcpp(const char *name)
{
    inside++;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (library != NULL)
        dlclose(library);
    inside--;
    return found;
}

/* A handler, which may throw, is not called: C has no means to catch that. */
static inline __attribute__((always_inline)) void *new_or_null(size_t bytes, size_t alignment,
                                                               uintptr_t caller)
{
    const size_t least = bytes > 0 ? bytes : 1;
    return alignment > 0 ? take_aligned(alignment, least, caller) : take(least, caller);
}

/* `own_NAME` is NAME, unless the program defines that. */
#define NEW(name, symbol, parameters, ...) \
    static __attribute__((used, noinline)) void *own_##name parameters \
    { \
        return __VA_ARGS__; \
    } \
    void *name parameters __asm__(symbol) \
        __attribute__((weak, visibility("default"), alias("own_" #name)))
#define NEW_OR_NULL(name, symbol, parameters, own, thrower, alignment, ...) \
    VISIBLE void *name parameters __asm__(symbol); \
    void *name parameters \
    { \
        if (own) \
            return new_or_null(n, alignment, CALLER); \
        void *(*standard)parameters = NULL; \
        *(void **)&standard = of_libstdcpp(symbol); \
        return standard != NULL ? standard(__VA_ARGS__) : thrower; \
    }
#define DELETE(name, symbol, parameters, ...) \
    VISIBLE void name parameters __asm__(symbol); \
    void name parameters \
    { \
        __VA_ARGS__; \
    }

/* clang-format off */
NEW(new_one, "_Znwm", (size_t n), new_of(n, 0, CALLER));
NEW(new_one_aligned, "_ZnwmSt11align_val_t", (size_t n, size_t a), new_of(n, a, CALLER));
#define OWN_ONE (new_one == own_new_one)
#define OWN_ONE_ALIGNED (new_one_aligned == own_new_one_aligned)
NEW(new_many, "_Znam", (size_t n), OWN_ONE ? new_of(n, 0, CALLER) : new_one(n));
NEW(new_many_aligned, "_ZnamSt11align_val_t", (size_t n, size_t a),
    OWN_ONE_ALIGNED ? new_of(n, a, CALLER) : new_one_aligned(n, a));
NEW_OR_NULL(new_one_or_null, "_ZnwmRKSt9nothrow_t", (size_t n, const void *tag),
            OWN_ONE, new_one(n), 0, n, tag)
NEW_OR_NULL(new_many_or_null, "_ZnamRKSt9nothrow_t", (size_t n, const void *tag),
            OWN_ONE && new_many == own_new_many, new_many(n), 0, n, tag)
NEW_OR_NULL(new_one_aligned_or_null, "_ZnwmSt11align_val_tRKSt9nothrow_t", (size_t n, size_t a, const void *tag),
            OWN_ONE_ALIGNED, new_one_aligned(n, a), a, n, a, tag)
NEW_OR_NULL(new_many_aligned_or_null, "_ZnamSt11align_val_tRKSt9nothrow_t", (size_t n, size_t a, const void *tag),
            OWN_ONE_ALIGNED && new_many_aligned == own_new_many_aligned, new_many_aligned(n, a), a, n, a, tag)

#define UNUSED __attribute__((unused))
DELETE(delete_one, "_ZdlPv", (void *block), give(block))
DELETE(delete_one_aligned, "_ZdlPvSt11align_val_t", (void *block, UNUSED size_t a), give(block))
DELETE(delete_many, "_ZdaPv", (void *block), delete_one(block))
DELETE(delete_many_aligned, "_ZdaPvSt11align_val_t", (void *block, size_t a), delete_one_aligned(block, a))
DELETE(delete_one_sized, "_ZdlPvm", (void *block, UNUSED size_t n), delete_one(block))
DELETE(delete_many_sized, "_ZdaPvm", (void *block, UNUSED size_t n), delete_many(block))
DELETE(delete_one_sized_aligned, "_ZdlPvmSt11align_val_t", (void *block, UNUSED size_t n, size_t a),
       delete_one_aligned(block, a))
DELETE(delete_many_sized_aligned, "_ZdaPvmSt11align_val_t", (void *block, UNUSED size_t n, size_t a),
       delete_many_aligned(block, a))
DELETE(delete_one_nothrow, "_ZdlPvRKSt9nothrow_t", (void *block, UNUSED const void *tag), delete_one(block))
DELETE(delete_many_nothrow, "_ZdaPvRKSt9nothrow_t", (void *block, UNUSED const void *tag), delete_many(block))
DELETE(delete_one_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t",
       (void *block, size_t a, UNUSED const void *tag), delete_one_aligned(block, a))
DELETE(delete_many_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
       (void *block, size_t a, UNUSED const void *tag), delete_many_aligned(block, a))
/* clang-format on */

/* -- what the framework asks ---------------------------------------------------------------- */

/* Present in a program built with a sanitizer that has an allocator of its own. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));

static const char *sanitizer(void)
{
    return __asan_init != NULL   ? "AddressSanitizer"
           : __tsan_init != NULL ? "ThreadSanitizer"
           : __msan_init != NULL ? "MemorySanitizer"
           : __lsan_init != NULL ? "LeakSanitizer"
                                 : NULL;
}

static const char *problem(void)
{
    /* By the name, as other libraries find it. */
    void *its_malloc = dlsym(RTLD_DEFAULT, "malloc");
    Dl_info its, own;
    if (dladdr(its_malloc, &its) == 0 || dladdr(&ypi_heap, &own) == 0 ||
        its.dli_fbase != own.dli_fbase)
        return "another library's malloc comes before that of yieldpoint-heap";
    if (!forks)
        return "the system gave no memory for a handler of fork()";
    const int before = inside;
    const enum ypi_heap_state was = now();
    struct ypi_heap_counts counted;
    refuse_one = NULL; /* of the case before, without a process of its own */
    watched = 0;
    ypi_heap_table_begin();
    inside = 0;
    atomic_store(&state, YPI_HEAP_ON);
    void *volatile block = malloc(1);
    atomic_store(&state, was);
    inside = before;
    ypi_heap_table_read(&counted);
    free(block);
    return counted.allocations >= 1 ? NULL : "the program has a malloc of its own";
}

static void find_linker(void)
{
    const uintptr_t base = getauxval(AT_BASE);
    linker_from = linker_to = base;
    if (base == 0) /* it was started by its name */
        return;
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)base;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(base + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD &&
            base + segments[i].p_vaddr + segments[i].p_memsz > linker_to)
            linker_to = base + segments[i].p_vaddr + segments[i].p_memsz;
}

static void begin(int (*refuse)(void), uint64_t watch, void (*told)(uintptr_t caller))
{
    atomic_store(&state, YPI_HEAP_OFF);
    find_linker();
    ypi_heap_table_begin();
    refuse_one = refuse;
    watched = watch;
    seen = told;
    number = 0;
    atomic_store(&thread_count, 0);
    atomic_store(&refused, 0);
    atomic_store(&state, YPI_HEAP_PAUSED);
}

static void set(enum ypi_heap_state to)
{
    atomic_store(&state, to);
}

static int *inside_of(void)
{
    return &inside;
}

static void read_counts(struct ypi_heap_counts *out)
{
    ypi_heap_table_read(out);
    out->refused = atomic_load(&refused);
}

__attribute__((visibility("default"))) const struct ypi_heap ypi_heap = {.sanitizer = sanitizer,
                                                                         .problem = problem,
                                                                         .begin = begin,
                                                                         .set = set,
                                                                         .inside = inside_of,
                                                                         .read = read_counts};
