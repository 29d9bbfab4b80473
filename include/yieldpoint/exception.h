/* An exception that nobody catches: its type and what() become the reason of the case's failure.
 * For C++; included by test.h. */
#ifndef YIELDPOINT_EXCEPTION_H
#define YIELDPOINT_EXCEPTION_H

#if defined __cplusplus && defined __cpp_exceptions

#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

/* Fails the running case with an uncaught exception; `what` NULL: it has none. */
extern "C" void ypi_uncaught(const char *type, const char *what);

namespace yieldpoint_internal
{
inline std::terminate_handler before = nullptr;

[[noreturn]] inline void on_terminate()
{
    const std::type_info *type = abi::__cxa_current_exception_type();
    if (type != nullptr) {
        int status = 0;
        char *name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
        const char *shown = name != nullptr ? name : type->name();
        try {
            throw;
        } catch (const std::exception &e) {
            ypi_uncaught(shown, e.what());
        } catch (...) {
            ypi_uncaught(shown, nullptr);
        }
        std::free(name);
    }
    if (before != nullptr)
        before();
    std::abort();
}

inline const bool installed = ((before = std::set_terminate(on_terminate)), true);
} // namespace yieldpoint_internal

#endif
#endif
