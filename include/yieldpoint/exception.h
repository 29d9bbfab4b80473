/*
 * Exceptions, for C++; included by test.h.
 *
 * In a C++ file, the calls that end a body (yp_require, yp_fail, yp_skip, yp_ok, yp_got, refused
 * memory) throw an exception of the framework, so destructors run. A `catch (const std::exception
 * &)` does not catch it. A `catch (...)` must throw it again: a body that continues fails the case.
 * The file that declares the test decides, for its setup, body and teardown and all that they call.
 *
 * Where no exception can pass, the body ends as in C, at once and without running the destructors
 * in between: inside a noexcept function or a destructor, and through C functions compiled without
 * unwind tables (-fno-asynchronous-unwind-tables; x86-64 and aarch64 have them by default, so a
 * comparison called by qsort() may end the body). The same holds for a file compiled with
 * -fno-exceptions. A thread started by the body must not end it, in any language: the case then
 * fails and its process ends.
 *
 * An uncaught exception ends the process where it was thrown. Its type, its what() and the stack of
 * that place become the reason of the failure.
 */
#ifndef YIELDPOINT_EXCEPTION_H
#define YIELDPOINT_EXCEPTION_H

#if defined __cplusplus && defined __cpp_exceptions

#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

struct yp_case;

/* Fails the running case because of an uncaught exception; `what` may be NULL. */
extern "C" void ypi_uncaught(const char *type, const char *what);

/* Until ypi_unwound(), the case's function is left through `unwind`, which throws. Printed stacks
 * end above `frame`. */
extern "C" void ypi_unwind_by(struct yp_case *t, void (*unwind)(), const void *frame);
/* The function has ended, `left` by the exception (1) or not (0). Does not return after 1. */
extern "C" void ypi_unwound(struct yp_case *t, int left);
/* The exception cannot pass further: leaves as in C. */
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
