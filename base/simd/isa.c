#include <yieldpoint/isa.h>

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[YP_ISAS] = {"baseline", "avx2", "avx512", "amx"};
static enum yp_isa highest;

const char *yp_isa_name(enum yp_isa isa)
{
    return isa < YP_ISAS ? names[isa] : "?";
}

bool yp_isa_from_name(const char *name, enum yp_isa *isa)
{
    for (int i = 0; i < YP_ISAS; i++)
        if (strcmp(names[i], name) == 0) {
            *isa = (enum yp_isa)i;
            return true;
        }
    return false;
}

#if defined(__x86_64__)
/* CPUID leaf 7: EDX bits 22, 24 and 25 are AMX in bf16, tiles and int8. The kernel gives the tiles'
 * registers to a process that asks for them (Linux, x86/xstate.rst). */
static bool has_amx(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 };
    const unsigned wanted = 1u << 22 | 1u << 24 | 1u << 25;
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & wanted) == wanted &&
           syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

/* clang's __builtin_cpu_supports() does not know it. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

static enum yp_isa of_processor(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c())
        return YP_ISA_BASELINE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
        return YP_ISA_AVX2;
    return has_amx() ? YP_ISA_AMX : YP_ISA_AVX512;
}
#else
static enum yp_isa of_processor(void)
{
    return YP_ISA_BASELINE;
}
#endif

static void find(void)
{
    const char *wanted = getenv("YIELDPOINT_ISA");
    enum yp_isa limit = YP_ISA_AMX;
    if (wanted != NULL && !yp_isa_from_name(wanted, &limit))
        limit = YP_ISA_AMX;
    highest = of_processor();
    if (limit < highest)
        highest = limit;
}

enum yp_isa yp_isa(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return highest;
}
