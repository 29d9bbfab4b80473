/* The machine: its picture, and figures that are stored, found again and replaced. */
#include "machine/machine.h"

#include "device/cpu/topology.h"
#include "harness/record/schema.h"
#include "tests/unit/harness/capture.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[128];

static void begin(void)
{
    make_directory();
    snprintf(path, sizeof path, "%s/history.db", directory);
}

TestSuite(machine, .init = begin, .fini = remove_directory, .timeout = 60);

/* -- figures ------------------------------------------------------------------------------- */

static const struct ypi_figure copy = {.name = "copy",
                                       .level = "memory",
                                       .isa = "avx2",
                                       .unit = "B/s",
                                       .threads = 2,
                                       .measured = 1e9,
                                       .rate = 2e10,
                                       .low = 1e10,
                                       .high = 3e10};

static sqlite3 *open_history(void)
{
    sqlite3 *db = ypi_schema_open(path);
    cr_assert_not_null(db, "%s", yp_last_error());
    return db;
}

static struct ypi_figures load(sqlite3 *db, const char *machine)
{
    struct ypi_figures figures = {0};
    cr_assert_eq(ypi_figures_load(db, machine, &figures), YP_OK, "%s", yp_last_error());
    ypi_figures_sort(&figures);
    return figures;
}

static void expect_same(const struct ypi_figure *a, const struct ypi_figure *b)
{
    cr_expect_str_eq(a->name, b->name);
    cr_expect_str_eq(a->level, b->level);
    cr_expect_str_eq(a->isa, b->isa);
    cr_expect_str_eq(a->unit, b->unit);
    cr_expect_eq(a->threads, b->threads);
    cr_expect_eq(a->measured, b->measured);
    cr_expect(a->rate == b->rate || (isnan(a->rate) && isnan(b->rate)));
    cr_expect(a->low == b->low || (isnan(a->low) && isnan(b->low)));
    cr_expect(a->high == b->high || (isnan(a->high) && isnan(b->high)));
}

Test(machine, figures_come_back_as_they_were)
{
    struct ypi_figure all[3] = {copy, copy, copy};
    struct ypi_figures figures = {.list = all, .count = 3};
    snprintf(all[1].name, sizeof all[1].name, "storage write");
    all[1].level[0] = all[1].isa[0] = '\0';
    all[1].rate = all[1].low = all[1].high = NAN;
    all[2].threads = 1;
    sqlite3 *db = open_history();
    cr_assert_eq(ypi_ceilings_store(db, "here", figures.list, figures.count), YP_OK, "%s",
                 yp_last_error());
    sqlite3_close(db);
    db = open_history();
    struct ypi_figures got = load(db, "here");
    cr_assert_eq(got.count, 3);
    expect_same(&got.list[0], &all[2]);
    expect_same(&got.list[1], &all[0]);
    expect_same(&got.list[2], &all[1]);
    free(got.list);
    sqlite3_close(db);
}

Test(machine, new_figures_take_the_place_of_all_old_ones)
{
    struct ypi_figure one = copy;
    struct ypi_figure other = copy;
    struct ypi_figures figures = {.list = &one, .count = 1};
    sqlite3 *db = open_history();
    cr_assert_eq(ypi_ceilings_store(db, "here", figures.list, figures.count), YP_OK);
    cr_assert_eq(ypi_ceilings_store(db, "there", figures.list, figures.count), YP_OK);
    snprintf(other.level, sizeof other.level, "L1");
    other.rate = 5;
    figures.list = &other;
    cr_assert_eq(ypi_ceilings_store(db, "here", figures.list, figures.count), YP_OK, "%s",
                 yp_last_error());
    struct ypi_figures here = load(db, "here");
    struct ypi_figures there = load(db, "there");
    cr_assert(here.count == 1 && there.count == 1);
    expect_same(&here.list[0], &other);
    expect_same(&there.list[0], &one);
    free(here.list);
    free(there.list);
    sqlite3_close(db);
}

/* Two rows with one key: nothing is stored, and what was there stays. */
Test(machine, figures_are_stored_all_or_none)
{
    struct ypi_figure twice[2] = {copy, copy};
    struct ypi_figures good = {.list = twice, .count = 1};
    struct ypi_figures bad = {.list = twice, .count = 2};
    sqlite3 *db = open_history();
    cr_assert_eq(ypi_ceilings_store(db, "here", good.list, good.count), YP_OK);
    twice[0].rate = twice[1].rate = 7;
    cr_expect_eq(ypi_ceilings_store(db, "here", bad.list, bad.count), YP_IO);
    cr_expect_not_null(strstr(yp_last_error(), "history.db"), "%s", yp_last_error());
    struct ypi_figures got = load(db, "here");
    cr_assert_eq(got.count, 1);
    expect_same(&got.list[0], &copy);
    free(got.list);
    sqlite3_close(db);
}

Test(machine, figures_are_sorted_for_reading)
{
    static const struct ypi_figure wanted[] = {
        {.name = "read", .level = "L1", .threads = 1},
        {.name = "read", .level = "L1", .threads = 8},
        {.name = "read", .level = "memory", .threads = 1},
        {.name = "fp64", .isa = "baseline", .threads = 1},
        {.name = "fp64", .isa = "avx2", .threads = 1},
        {.name = "fp64", .isa = "amx", .threads = 1},
        {.name = "bf16", .isa = "baseline", .threads = 1},
        {.name = "sgemm", .threads = 1},
        {.name = "storage read", .threads = 1},
        {.name = "something else", .threads = 1},
    };
    enum { COUNT = sizeof wanted / sizeof *wanted };
    struct ypi_figures figures = {0};
    for (size_t i = 0; i < COUNT; i++)
        ypi_figures_add(&figures, &wanted[i * 7 % COUNT]);
    ypi_figures_sort(&figures);
    for (size_t i = 0; i < COUNT; i++) {
        cr_expect_str_eq(figures.list[i].name, wanted[i].name);
        cr_expect_str_eq(figures.list[i].level, wanted[i].level);
        cr_expect_str_eq(figures.list[i].isa, wanted[i].isa);
        cr_expect_eq(figures.list[i].threads, wanted[i].threads);
    }
    free(figures.list);
}

/* -- the picture --------------------------------------------------------------------------- */

static char *picture_of(const char *synthetic)
{
    hwloc_topology_t t;
    cr_assert_eq(hwloc_topology_init(&t), 0);
    cr_assert_eq(hwloc_topology_set_synthetic(t, synthetic), 0);
    cr_assert_eq(hwloc_topology_load(t), 0);
    char *picture = ypi_machine_picture(t);
    hwloc_topology_destroy(t);
    return picture;
}

Test(machine, like_things_are_one_line)
{
    char *got = picture_of("pack:1 l3:2(size=33554432) l2:4(size=1048576) core:1 pu:2");
    cr_expect_not_null(strstr(got, "  2 x L3 32.0 MiB\n"), "%s", got);
    cr_expect_not_null(strstr(got, "    4 x L2 1.0 MiB - Core of 2 PU: PU 0-7\n"), "%s", got);
    free(got);
}

Test(machine, nodes_stand_apart)
{
    char *got = picture_of("pack:2 [numa(memory=1073741824)] core:3 pu:1");
    cr_expect_str_eq(got,
                     "Machine\n"
                     "  Package, node 0 with 1.0 GiB\n"
                     "    3 x Core: PU 0-2\n"
                     "  Package, node 1 with 1.0 GiB\n"
                     "    3 x Core: PU 3-5\n",
                     "%s", got);
    free(got);
}

/* -- what is measured ---------------------------------------------------------------------- */

Test(machine, launches_take_time)
{
    cr_expect_gt(ypi_launch_processes(2), 0);
    cr_expect_gt(ypi_launch_threads(2), 0);
    cr_expect_gt(ypi_launch_programs(2), 0);
    char kept[4096];
    snprintf(kept, sizeof kept, "%s", getenv("PATH"));
    setenv("PATH", directory, 1);
    cr_expect(isnan(ypi_launch_programs(1)), "there is no such program");
    setenv("PATH", kept, 1);
}

Test(machine, storage_reads_what_it_wrote)
{
    struct ypi_storage *s = ypi_storage_open(directory, 2 << 20);
    cr_assert_not_null(s, "%s", yp_last_error());
    cr_expect(isnan(ypi_storage_read(s)), "nothing was written");
    cr_expect_gt(ypi_storage_write(s), 0);
    cr_expect_gt(ypi_storage_read(s), 0);
    cr_expect_eq(rmdir(directory), 0, "its file has no name");
    ypi_storage_close(s);
    cr_assert_eq(mkdir(directory, 0755), 0);
}

/* The nameless file of `bytes`, opened once more; -1. */
static int open_nameless(off_t bytes)
{
    char link[64];
    struct stat s;
    for (int fd = 3; fd < 1024; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_nlink == 0 && s.st_size == bytes)
            return open(link, O_RDWR | O_CLOEXEC);
    }
    return -1;
}

Test(machine, storage_sees_what_it_did_not_write)
{
    struct ypi_storage *s = ypi_storage_open(directory, 3 << 20);
    cr_assert_not_null(s, "%s", yp_last_error());
    cr_expect_gt(ypi_storage_write(s), 0);
    int fd = open_nameless(3 << 20);
    cr_assert_geq(fd, 0);
    cr_assert_eq(pwrite(fd, "wrong !", 8, 1 << 20), 8);
    cr_assert_eq(fsync(fd), 0);
    cr_expect(isnan(ypi_storage_read(s)));
    close(fd);
    ypi_storage_close(s);
}

Test(machine, storage_that_cannot_be_is_refused)
{
    cr_expect_null(ypi_storage_open(directory, (size_t)1 << 60));
    cr_expect_not_null(strstr(yp_last_error(), "are free"), "%s", yp_last_error());
    cr_expect_null(ypi_storage_open("/nowhere/at/all", 1 << 20));
    cr_expect_not_null(strstr(yp_last_error(), "/nowhere/at/all"), "%s", yp_last_error());
    ypi_storage_close(NULL);
}

/* -- the command --------------------------------------------------------------------------- */

static const char *output;

static int command(const char *option)
{
    char words[4][128] = {"machine", "--history", "", ""};
    char *argv[5] = {words[0], words[1], words[2], option != NULL ? words[3] : NULL, NULL};
    snprintf(words[2], sizeof words[2], "%s", path);
    snprintf(words[3], sizeof words[3], "%s", option != NULL ? option : "");
    capture_begin(STDOUT_FILENO);
    int code = ypi_machine_command(option != NULL ? 4 : 3, argv);
    output = capture_end();
    return code;
}

/* Stored under the fingerprint of this machine, which the command prints. */
static void store_here(void)
{
    struct ypi_figure all[3] = {copy, copy, copy};
    struct ypi_figures figures = {.list = all, .count = 3};
    all[1].threads = 16;
    all[1].rate = 4e10;
    snprintf(all[2].name, sizeof all[2].name, "fork");
    snprintf(all[2].unit, sizeof all[2].unit, "s");
    all[2].level[0] = all[2].isa[0] = '\0';
    all[2].rate = all[2].low = all[2].high = NAN;
    cr_assert_not_null(ypi_topology());
    sqlite3 *db = open_history();
    cr_assert_eq(ypi_ceilings_store(db, ypi_topology()->fingerprint, figures.list, figures.count),
                 YP_OK);
    sqlite3_close(db);
}

Test(machine, what_is_stored_is_shown)
{
    cr_assert_eq(setenv("TZ", "UTC0", 1), 0);
    store_here();
    cr_assert_eq(command(NULL), 0);
    cr_expect_not_null(strstr(output, "PU "), "%s", output);
    cr_expect_not_null(strstr(output, "measured 2001-09-09 01:46:40"), "%s", output);
    cr_expect_not_null(strstr(output, "copy memory             20 GB/s [10, 30]"), "%s", output);
    cr_expect_not_null(strstr(output, "  40 GB/s [10, 30]\n"), "%s", output);
    cr_expect_not_null(strstr(output, "fork                    n/a\n"), "%s", output);
    cr_assert_eq(command("--json"), 0);
    cr_expect_not_null(strstr(output, "\"fingerprint\":"), "%s", output);
    cr_expect_not_null(strstr(output, "\"rate\":\t20000000000"), "%s", output);
    cr_expect_not_null(strstr(output, "\"rate\":\tnull"), "%s", output);
    cr_expect_not_null(strstr(output, "\"measured\":\t1000000000"), "%s", output);
}

Test(machine, wrong_words_are_refused)
{
    cr_expect_eq(command("--agian"), 4);
    cr_expect_eq(command("word"), 4);
    snprintf(path, sizeof path, "/nowhere/at/all.db");
    cr_expect_eq(command(NULL), 3);
}
