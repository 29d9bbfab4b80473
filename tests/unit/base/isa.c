/* Instruction sets: names, and what the environment allows. */
#include <yieldpoint/isa.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(isa, .timeout = 60);

Test(isa, names)
{
    static const char *const names[YP_ISAS] = {"baseline", "avx2", "avx512", "amx"};
    for (int i = 0; i < YP_ISAS; i++) {
        enum yp_isa isa = YP_ISAS;
        cr_expect_str_eq(yp_isa_name((enum yp_isa)i), names[i]);
        cr_expect(yp_isa_from_name(names[i], &isa) && isa == (enum yp_isa)i);
    }
    cr_expect_str_eq(yp_isa_name(YP_ISAS), "?");
}

Test(isa, other_names)
{
    static const char *const wrong[] = {"", "AVX2", "avx", "avx2 ", "avx5122", "sse", "?"};
    enum yp_isa isa = YP_ISA_AMX;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(yp_isa_from_name(wrong[i], &isa), "'%s'", wrong[i]);
    cr_expect_eq(isa, YP_ISA_AMX);
}

/* What there is without a word from the environment, as the compiler sees it. */
static enum yp_isa of_processor(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return YP_ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return YP_ISA_AVX2;
#endif
    return YP_ISA_BASELINE;
}

/* Each test is a process of its own, and the environment is read once in it. */
static void expect_with(const char *setting, enum yp_isa highest)
{
    enum yp_isa here = of_processor();
    if (setting != NULL)
        setenv("YIELDPOINT_ISA", setting, 1);
    else
        unsetenv("YIELDPOINT_ISA");
    enum yp_isa got = yp_isa();
    if (here == YP_ISA_AVX512 && highest == YP_ISA_AMX)
        cr_expect(got == YP_ISA_AVX512 || got == YP_ISA_AMX); /* which is not asked here */
    else
        cr_expect_eq(got, here < highest ? here : highest, "%s", yp_isa_name(got));
    setenv("YIELDPOINT_ISA", "baseline", 1);
    cr_expect_eq(yp_isa(), got);
}

Test(isa, all_there_is)
{
    expect_with(NULL, YP_ISA_AMX);
}

Test(isa, lowered_to_baseline)
{
    expect_with("baseline", YP_ISA_BASELINE);
}

Test(isa, lowered_to_avx2)
{
    expect_with("avx2", YP_ISA_AVX2);
}

Test(isa, lowered_to_avx512)
{
    expect_with("avx512", YP_ISA_AVX512);
}

Test(isa, never_raised)
{
    expect_with("amx", YP_ISA_AMX);
}

Test(isa, unknown_names_are_ignored)
{
    expect_with("avx10", YP_ISA_AMX);
}
