/* Options of AddressSanitizer for one test program, where it is built in. */
#pragma once

#define SANITIZER_OPTIONS(options_) \
    __attribute__((visibility("default"))) const char *__asan_default_options(void); \
    const char *__asan_default_options(void) \
    { \
        return options_; \
    }
