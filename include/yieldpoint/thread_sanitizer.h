/*
 * For programs built with -fsanitize=thread; included by test.h.
 *
 * Criterion maps the memory that it shares with its tests' processes at a random address between
 * 0x200000000000 and 0x600000000000. ThreadSanitizer occupies that range, so Criterion fails
 * ("Could not initialize inheritable arena"). The functions below move these mappings to a range
 * that ThreadSanitizer leaves to the program.
 */
#ifndef YIELDPOINT_THREAD_SANITIZER_H
#define YIELDPOINT_THREAD_SANITIZER_H

#if defined __SANITIZE_THREAD__
#define YPI_THREAD_SANITIZER 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define YPI_THREAD_SANITIZER 1
#endif
#endif

#if defined YPI_THREAD_SANITIZER && defined __x86_64__ && defined __linux__

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define YPI_BEFORE_SANITIZER __attribute__((weak, visibility("default"), no_sanitize("thread")))

#ifdef __cplusplus
extern "C" {
#endif

/* ThreadSanitizer's own, which records mappings. */
void *ypi_sanitized_mmap(void *at, size_t bytes, int protection, int flags, int fd,
                         long offset) __asm__("__interceptor_mmap64");
YPI_BEFORE_SANITIZER void *ypi_moved_mmap(void *at, size_t bytes, int protection, int flags, int fd,
                                          long offset) __asm__("mmap64");
YPI_BEFORE_SANITIZER int ypi_moved_mincore(void *at, size_t bytes,
                                           unsigned char *out) __asm__("mincore");
YPI_BEFORE_SANITIZER void *ypi_moved(void *at);
long ypi_syscall(long number, ...) __asm__("syscall"); /* hidden by strict C */

void *ypi_moved(void *at)
{
    const uintptr_t address = (uintptr_t)at;
    /* The program's own code and heap may lie here. */
    const int of_program = address >= 0x550000000000 && address < 0x568000000000;
    if (address < 0x200000000000 || address >= 0x600000000000 || of_program)
        return at;
    return (void *)(uintptr_t)(0x7e9000000000 + (address & 0x3fffffffff));
}

void *ypi_moved_mmap(void *at, size_t bytes, int protection, int flags, int fd, long offset)
{
    return ypi_sanitized_mmap(ypi_moved(at), bytes, protection, flags, fd, offset);
}

int ypi_moved_mincore(void *at, size_t bytes, unsigned char *out)
{
    return (int)ypi_syscall(SYS_mincore, ypi_moved(at), bytes, out);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
