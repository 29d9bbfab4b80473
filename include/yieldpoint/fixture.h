/*
 * Fixtures of a run: data that one case computes, once in a run, and that is given read-only to
 * every case that names it.
 *
 *     YP_FIXTURE(scenes, cube, .cases = YP_CASES(yp_case_of("small", .set =
 * YP_SET(yp_set_int("side", 64))), yp_case_of("large", .set = YP_SET(yp_set_int("side", 1024)))))
 *     {
 *         size_t n = (size_t)(yp_int(t, "side") * yp_int(t, "side"));
 *         float *x = yp_provide(t, n * sizeof *x);
 *         ... fill x ...
 *     }
 *
 *     YP_TEST(rx, fit, .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow")),
 *             .fixtures = "cube[{case}]")
 *     {
 *         size_t bytes;
 *         const float *x = yp_fixture(t, "cube", &bytes);
 *         ...
 *     }
 *
 * A fixture is a case: it has an id, a process, a time-out, budgets and a verdict of its own, and
 * is stored and printed like any other. It is run before all cases that are no fixtures, where a
 * selected one needs it or its own id stands on the command line; -m and -k do not select it, and
 * --repeat runs it once. Cases whose fixture failed are errors, as those whose setup failed; where
 * it was skipped, so are they.
 *
 * `.fixtures` names cases of YP_FIXTURE, with blanks between them, YP_MAX_FIXTURES at most:
 * "cube" of the same file, "scenes.c::cube[small]" of any. {axis} stands for the case's value of an
 * axis or a parameter, {case}, {device} and {seed} for those. A fixture may have fixtures itself. A
 * name that is no fixture's and a circle are errors at collection; a case whose fixture is not
 * there because of --set or --device is skipped.
 *
 * What is provided is memory of the host that the processes share. It is not in the case's account,
 * but resident memory of whoever reads it.
 */
#ifndef YIELDPOINT_FIXTURE_H
#define YIELDPOINT_FIXTURE_H

#include <yieldpoint/test.h>

#define YP_MAX_FIXTURES 8 /* of a test */

#ifdef __cplusplus
extern "C" {
#endif

/* In the body of a fixture, once: `bytes` of zeros, page-aligned, which are what its users get as
 * they are when it has passed. No pointers into the process itself: others have other addresses.
 * Never NULL: the case fails as out of memory where they are more than seven eighths of what is
 * free, or than --memory-limit allows, and by misuse where this is called twice, for 0 bytes or in
 * a case that is no fixture. */
void *yp_provide(struct yp_case *t, size_t bytes);

/* What the fixture of this name provided, and how much (`bytes` may be NULL): the same memory
 * whenever it is asked for, until the case ends. A write to it is a crash. `name` is that of the
 * fixture's test, or, where the case has several of that name, the word of `.fixtures` as it stands
 * there. Any other, and a fixture that provided nothing, fails the case. */
const void *yp_fixture(struct yp_case *t, const char *name, size_t *bytes);

#ifdef __cplusplus
}
#endif

/* clang-format off */
#define YP_FIXTURE(...) YPI_TEST_OF_FIXTURE(__VA_ARGS__, .end_ = 0)
#define YPI_TEST_OF_FIXTURE(group_, name_, ...) YPI_TEST(group_, name_, .fixture = true, __VA_ARGS__)
/* clang-format on */

#endif
