/*
 * Exceptions, for C++; included by test.h.
 *
 * What ends a body (yp_require, yp_fail, yp_skip, yp_ok, yp_got, memory that is refused) does so in
 * a C++ file by an exception of the framework's own, so that destructors run on its way. It is of
 * no class that a `catch (const std::exception &)` catches; a `catch (...)` has to throw it again:
 * a body that goes on fails the case. What counts is the file that declares the test: its setup,
 * body and teardown, and all that they call.
 *
 * Where no exception can pass, the body is ended as in C, at once and without the destructors that
 * stand between: from inside a function that is noexcept, a destructor among them, and through C
 * functions that were compiled without tables for it (-fno-asynchronous-unwind-tables; by default
 * x86-64 and aarch64 have them, so that a comparison called by qsort() may end the body). The same
 * holds for a file that is compiled with -fno-exceptions. A thread that the body has started may
 * not end it, in any language: the case then fails, and its process ends.
 *
 * An exception that nobody catches ends the process where it was thrown, so that its type, its
 * what() and the stack of that place become the reason of the case's failure.
 */
#ifndef YIELDPOINT_EXCEPTION_H
#define YIELDPOINT_EXCEPTION_H

#if defined __cplusplus && defined __cpp_exceptions

#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

struct yp_case;

/* Fails the running case with an uncaught exception; `what` NULL: it has none. */
extern "C" void ypi_uncaught(const char *type, const char *what);

/* Until ypi_unwound() the case's function is left by `unwind`, which throws; stacks that are shown
 * end above `frame`. */
extern "C" void ypi_unwind_by(struct yp_case *t, void (*unwind)(), const void *frame);
/* The function is over, `left` by what was thrown (1) or not (0). Does not return if it was left.
 */
extern "C" void ypi_unwound(struct yp_case *t, int left);
/* What was thrown comes no further: leaves as C does. */
extern "C" [[noreturn]] void ypi_not_unwound(void);

namespace yieldpoint_internal
{
struct left {
};

[[noreturn]] inline void leave()
{
    throw left{};
}

inline void enter(void (*function)(struct yp_case *), struct yp_case *t)
{
    int was_left = 0;
    ypi_unwind_by(t, leave, __builtin_frame_address(0));
    try {
        function(t);
    } catch (const left &) {
        was_left = 1;
    }
    ypi_unwound(t, was_left);
}

inline std::terminate_handler before = nullptr;

[[noreturn]] inline void on_terminate()
{
    const std::type_info *type = abi::__cxa_current_exception_type();
    if (type != nullptr) {
        bool leaves = false;
        int status = 0;
        char *name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
        const char *shown = name != nullptr ? name : type->name();
        try {
            throw;
        } catch (const left &) {
            leaves = true;
        } catch (const std::exception &e) {
            ypi_uncaught(shown, e.what());
        } catch (...) {
            ypi_uncaught(shown, nullptr);
        }
        std::free(name);
        if (leaves)
            ypi_not_unwound();
    }
    if (before != nullptr)
        before();
    std::abort();
}

inline const bool installed = ((before = std::set_terminate(on_terminate)), true);
} // namespace yieldpoint_internal

#define YPI_ENTER yieldpoint_internal::enter
#elif defined __cplusplus
#define YPI_ENTER nullptr
#else
#define YPI_ENTER NULL
#endif
#endif
