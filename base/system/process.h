/* Processes as /proc shows them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Children of all threads of `pid`, at most `capacity`; returns how many. */
int ypi_children(pid_t pid, pid_t *out, int capacity);

/* Children, their children and so on; a process that changed its session is still found. */
int ypi_descendants(pid_t pid, pid_t *out, int capacity);

/* SIGKILL to all descendants of `root`, again and again until none but zombies are left (or 2 s
 * are over), and with `self` to root and its process group first. Returns how many were found. */
int ypi_kill_tree(pid_t root, bool self);

struct ypi_thread {
    pid_t id;
    char name[16];
    char state; /* as of a process */
};
/* Threads of `pid`, at most `most`; returns how many. */
int ypi_threads(pid_t pid, struct ypi_thread *out, int most);
int ypi_thread_count(void);                     /* of this process; 0: it cannot be read */
void ypi_process_name(pid_t pid, char out[64]); /* "?" when it is gone */
char ypi_process_state(pid_t pid);              /* 'R', 'S', 'Z', ...; '\0' when it is gone */
bool ypi_same_command(pid_t a, pid_t b);        /* their command lines */
bool ypi_environment_has(pid_t pid, const char *setting); /* "NAME=value" */

/* Bytes of memory that the system can still give without taking it from others; 0: not known. */
uint64_t ypi_memory_available(void);
struct ypi_process_memory { /* bytes that are resident */
    uint64_t own;           /* anonymous and shared memory */
    uint64_t files;         /* pages of mapped files: code, data that is read */
    uint64_t peak;          /* of both together, since ypi_reset_resident_peak() */
};
bool ypi_process_memory(pid_t pid, struct ypi_process_memory *out); /* false: it cannot be read */
bool ypi_self_memory(struct ypi_process_memory *out);
/* Of `own` bytes of a process its part where a page that n processes have counts as 1/n; `own`
 * where the kernel does not tell. */
uint64_t ypi_process_share(pid_t pid, uint64_t own);
void ypi_reset_resident_peak(void); /* VmHWM := VmRSS */

/* Bytes in huge pages that the kernel gave unasked, as it does where
 * /sys/kernel/mm/transparent_hugepage/enabled says "always"; 0 elsewhere. */
uint64_t ypi_self_unasked_huge(void);

/* How many processes the kernel has killed for want of memory since it started. */
uint64_t ypi_oom_kills(void);
