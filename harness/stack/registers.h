/* Registers of threads, by DWARF's numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#if defined __aarch64__
enum { YPI_REGISTERS = 33, YPI_REGISTER_SP = 31, YPI_REGISTER_FP = 29 };
#else /* x86-64 */
enum { YPI_REGISTERS = 17, YPI_REGISTER_SP = 7, YPI_REGISTER_FP = 6 };
#endif

struct ypi_registers {
    uint64_t pc;
    uint64_t value[YPI_REGISTERS];
    uint64_t known; /* bit i: value[i] is */
};

/* Of a thread that waits in the kernel, without touching it: where it is, and its stack pointer,
 * no other. False where it runs, is gone, or may not be looked at. */
bool ypi_registers_of_waiting(pid_t pid, pid_t thread, struct ypi_registers *out);

/* All registers of threads of another process that are stopped (SIGSTOP), by ptrace, which leaves
 * them stopped. Where that is refused they are those of ypi_registers_of_waiting(); out[i].known is
 * 0 where a thread is not stopped. Returns 0, or the error with which ptrace was refused. */
int ypi_registers_of_stopped(pid_t pid, const pid_t *threads, int count, struct ypi_registers *out);
