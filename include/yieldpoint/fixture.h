/*
 * Fixtures of a run: one case computes data once per run; every case that names the fixture gets
 * them read-only.
 *
 *     YP_FIXTURE(scenes, cube, .axes = YP_AXES(yp_axis_int("side", 64, 1024)))
 *     {
 *         size_t n = (size_t)(yp_int(t, "side") * yp_int(t, "side"));
 *         float *x = yp_provide(t, n * sizeof *x);
 *         ... fill x ...
 *     }
 *
 *     YP_TEST(rx, fit, .axes = YP_AXES(yp_axis_int("side", 64, 1024)),
 *             .fixtures = "cube[side={side}]")
 *     {
 *         size_t bytes;
 *         const float *x = yp_fixture(t, "cube", &bytes);
 *         ...
 *     }
 *
 * A fixture is a case: it has its own id, process, time-out, budgets and verdict, and is stored and
 * printed like any other. It runs before all other cases, if a selected case needs it or its id is
 * on the command line. -m and -k do not select it, and --repeat runs it once. If a fixture fails,
 * the cases that use it are errors, as after a failed setup; if it is skipped, they are skipped.
 *
 * `.fixtures` names up to YP_MAX_FIXTURES cases of YP_FIXTURE, separated by blanks: "cube" of the
 * same file, "scenes.c::cube[small]" of any file. {axis} is replaced by the case's value of an axis
 * or parameter, {case}, {device} and {seed} by theirs. A fixture may use fixtures itself. An
 * unknown name and a cycle are errors at collection. A case whose fixture is missing because of
 * --set or --device is skipped.
 *
 * With `.each_rank = true` a fixture is none of the run: each process of a case that names it, one
 * for each rank (ranks.h), makes an instance of its own before setup, and gives it back at its end.
 * yp_rank(t) and yp_ranks(t) are those of the case, yp_seed(t) is the rank's own, its
 * yp_rank_seed(t). What it fails or leaks is the case's, as after a failed setup; its memory counts
 * for no budget of the case, its time for the case's time-out. It has no .budgets, .timeout and
 * .fixtures of its own, and other fixtures cannot use it. Ranks of other machines than the run's
 * can have such fixtures alone.
 *
 * A fixture provides memory of the host that the processes share. It is not accounted to a case,
 * but it is resident memory of every process that reads it.
 */
#ifndef YIELDPOINT_FIXTURE_H
#define YIELDPOINT_FIXTURE_H

#include <yieldpoint/test.h>

#define YP_MAX_FIXTURES 8 /* of a test */

YPI_BEGIN_C

/* In the body of a fixture, once: `bytes` of zeros, page-aligned. Its users get their contents as
 * of the end of the fixture, if it passes. Store no pointers: other processes have other addresses.
 * Never NULL: the case fails as out of memory if `bytes` exceeds seven eighths of the free memory
 * or --memory-limit, and as misuse on a second call, for 0 bytes, or in a case that is no fixture.
 */
void *yp_provide(struct yp_case *t, size_t bytes);

/* The memory that the fixture of this name provided, and its size (`bytes` may be NULL). Every call
 * returns the same memory, valid until the case ends; writing to it crashes. `name` is the name of
 * the fixture's test or, if the case has several fixtures of that name, the word in `.fixtures`. An
 * unknown name, or a fixture that provided nothing, fails the case. */
const void *yp_fixture(struct yp_case *t, const char *name, size_t *bytes);

YPI_END_C

/* clang-format off */
#define YP_FIXTURE(...) YPI_TEST_OF_FIXTURE(__VA_ARGS__, .end_ = 0)
#define YPI_TEST_OF_FIXTURE(group_, name_, ...) YPI_TEST(group_, name_, .fixture = true, __VA_ARGS__)
/* clang-format on */

#endif
