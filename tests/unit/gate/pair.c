/* One pair in turns: whose turn it is, and what becomes of what is no difference of the two. */
#include "gate/pair/pair.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(gate_pair, .timeout = 60);

enum { ORDER_MAX = 4096 };

/* Runs a pair of fake suites; returns whose turns there were, in that order. */
static void run_pair(uint64_t seed, struct ypi_paired *found, char order[ORDER_MAX])
{
    char work[] = "/tmp/gate-pair-XXXXXX";
    static const char *const options[] = {"--ratio", "1.1", NULL};
    const struct ypi_contestant fake = {
        .program = getenv("FAKE_TURNS"), .directory = work, .options = options};
    cr_assert_not_null(mkdtemp(work));
    struct ypi_pairing p = {.base = fake, .head = fake, .id = "fake.c::case", .work = work};
    struct ypi_seed coin = ypi_seed_of(seed, 0, 0);
    cr_assert_eq(ypi_pair_in_turns(&p, &coin, found, 1), YPI_PAIR_DONE, "%s", yp_last_error());
    char *path = ypi_format("%s/order", work);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    order[fread(order, 1, ORDER_MAX - 1, file)] = '\0';
    fclose(file);
    free(path);
    static const char *const left[] = {"order", "base.log", "head.log", "base.sock", "head.sock"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        path = ypi_format("%s/%s", work, left[i]);
        unlink(path);
        free(path);
    }
    cr_expect_eq(rmdir(work), 0);
}

/* In the fake suites a turn after one of its own finds warm caches, and the machine slows down by
 * 1 % from turn to turn. Neither is a difference between base and head, which is 10 %. */
Test(gate_pair, turns_alternate_and_drift_cancels)
{
    bool began[2] = {false, false};
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct ypi_paired found = {.name = "work", .wanted = true};
        char order[ORDER_MAX];
        run_pair(seed, &found, order);
        cr_assert(found.there);
        cr_expect_geq(found.rounds, 6);
        cr_expect_eq(strlen(order), 2 * (size_t)(found.rounds + 1), "%d rounds and: %s",
                     found.rounds, order);
        cr_expect_null(strstr(order, "bb"), "%s", order);
        cr_expect_null(strstr(order, "hh"), "%s", order);
        cr_expect_float_eq(found.log_ratio, log(1.1), 1e-12, "%.15g in turns %s", found.log_ratio,
                           order);
        began[order[0] == 'h'] = true;
    }
    cr_expect(began[0] && began[1], "the same side began all of eight pairs");
}
