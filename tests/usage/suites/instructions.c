/* Work whose instructions are known. */
#include <yieldpoint/yieldpoint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Four instructions a turn, whatever the compiler is told. */
static void turn(uint64_t turns)
{
#if defined(__x86_64__)
    __asm__ volatile("1: nop\n nop\n dec %0\n jnz 1b" : "+r"(turns) : : "cc");
#elif defined(__aarch64__)
    __asm__ volatile("1: nop\n nop\n subs %0, %0, #1\n b.ne 1b" : "+r"(turns) : : "cc");
#endif
}

YP_TEST(instructions, kernel, .axes = YP_AXES(yp_axis_int("turns", 100000, 101000, 100000000)),
        .timeout = 60, .budgets = YP_BUDGETS(yp_max_count("kernel", YP_INSTRUCTIONS, 402000)))
{
    uint64_t turns = (uint64_t)yp_int(t, "turns") / 2; /* what warms up does not count */
    yp_measure (t, "kernel") {
        turn(turns);
        turns = (uint64_t)yp_int(t, "turns");
    }
}

/* Of the C library, which chooses among its versions by what the processor has. */
YP_TEST(instructions, library, .budgets = YP_BUDGETS(yp_max_count("sort", YP_INSTRUCTIONS, 1e12)))
{
    enum { COUNT = 4096, BYTES = COUNT * sizeof(char[16]) };
    char(*texts)[16] = malloc(BYTES);
    yp_require(t, texts != NULL, "no memory");
    yp_measure (t, "sort") {
        for (unsigned i = 0; i < COUNT; i++)
            snprintf(texts[i], sizeof texts[i], "%u", i * 2654435761U);
        qsort(texts, COUNT, sizeof texts[0], (int (*)(const void *, const void *))strcmp);
        yp_keep(texts);
    }
    free(texts);
}

/* What a case finds is what it finds without Valgrind. */
YP_TEST(instructions, surroundings, .cases = YP_CASES(yp_case_of("one"), yp_case_of("two")),
        .axes = YP_AXES(yp_axis_int("n", 7), yp_axis_double("x", 0.1),
                        yp_axis_string("text", "it's a \"b\"")))
{
    char byte;
    yp_expect(t, strcmp(yp_case_name(t), "two") == 0, "case %s", yp_case_name(t));
    yp_expect(t, yp_int(t, "n") == 7 && yp_double(t, "x") == 0.1, "numbers");
    yp_expect(t, strcmp(yp_string(t, "text"), "it's a \"b\"") == 0, "text %s",
              yp_string(t, "text"));
    yp_expect(t, yp_seed(t) == 18446744073709551615U, "seed");
    yp_expect(t, read(STDIN_FILENO, &byte, 1) == 0, "standard input does not end");
    yp_expect(t, getenv("BXFI_MAP") == NULL && getenv("YIELDPOINT_DIRECT") == NULL, "marks");
    printf("said on standard output, isa %s, core type %s, threads %s, policy %s\n",
           getenv("YIELDPOINT_ISA"), getenv("OPENBLAS_CORETYPE"), getenv("OMP_NUM_THREADS"),
           getenv("OMP_WAIT_POLICY"));
    fprintf(stderr, "said on standard error\n");
    yp_alloc(t, 1000);
    yp_value(t, "value", 3);
    yp_data_hash(t, 5);
}

YP_TEST(instructions, allocates, .timeout = 60)
{
    yp_alloc(t, (size_t)(8 * YP_MIB));
}

YP_TEST(instructions, crashes)
{
    raise(SIGSEGV);
}

YP_TEST(instructions, leaves)
{
    _exit(3);
}

YP_TEST(instructions, skips)
{
    yp_skip(t, "for a reason");
}

YP_TEST(instructions, hangs, .timeout = 2)
{
    if (fork() == 0) {
        execlp("sleep", "sleep", "4711", (char *)NULL);
        _exit(1);
    }
    for (;;)
        pause();
}

/* Times nothing, so there is nothing to count. */
YP_TEST(instructions, parallel, .parallel = true)
{
    yp_value(t, "under valgrind", getenv("LD_PRELOAD") != NULL);
}

YP_COMMAND(instructions, command, .command = "true");
