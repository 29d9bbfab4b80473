/*
 * How the including file is compiled: the compiler, the language, and options that change speed.
 * Every declaration contains it (struct yp_test), and each run stores it.
 */
#ifndef YIELDPOINT_COMPILED_H
#define YIELDPOINT_COMPILED_H

#define YPI_WORD(x_) YPI_WORD_(x_)
#define YPI_WORD_(x_) #x_

#if defined(__clang__)
#define YPI_COMPILER __VERSION__
#elif defined(__CUDACC__)
#define YPI_COMPILER \
    "nvcc " YPI_WORD(__CUDACC_VER_MAJOR__) "." YPI_WORD( \
        __CUDACC_VER_MINOR__) " with gcc " __VERSION__
#else
#define YPI_COMPILER "gcc " __VERSION__
#endif

#ifdef __cplusplus
#define YPI_STANDARD ", C++ " YPI_WORD(__cplusplus)
#else
#define YPI_STANDARD ", C " YPI_WORD(__STDC_VERSION__)
#endif

#if !defined(__OPTIMIZE__)
#define YPI_OPTIMISED ", not optimised"
#elif defined(__OPTIMIZE_SIZE__)
#define YPI_OPTIMISED ", optimised for size"
#else
#define YPI_OPTIMISED ", optimised"
#endif

#ifdef __FAST_MATH__
#define YPI_FAST_MATH ", fast-math"
#else
#define YPI_FAST_MATH ""
#endif

#if defined(__AVX512F__)
#define YPI_SET ", AVX-512"
#elif defined(__AVX2__)
#define YPI_SET ", AVX2"
#elif defined(__AVX__)
#define YPI_SET ", AVX"
#else
#define YPI_SET ""
#endif

#ifdef NDEBUG
#define YPI_ASSERTS ""
#else
#define YPI_ASSERTS ", with assert"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define YPI_SANITIZED ", with a sanitizer"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define YPI_SANITIZED ", with a sanitizer"
#endif
#endif
#ifndef YPI_SANITIZED
#define YPI_SANITIZED ""
#endif

#define YPI_COMPILED \
    YPI_COMPILER YPI_STANDARD YPI_OPTIMISED YPI_FAST_MATH YPI_SET YPI_ASSERTS YPI_SANITIZED

#endif
