/*
 * A command as a case: any program that prints JSON lines is measured, judged and recorded like C.
 *
 *     YP_COMMAND(peers, numpy_mean, .tags = "perf", .command = "python3 peers/mean.py {n}",
 *                .axes = YP_AXES(yp_axis_int("n", 1000, 1000000)),
 *                .budgets = YP_BUDGETS(yp_min_rate("mean", 1e6)));
 *
 * The shell runs it in the directory of yieldpoint.ini (or .git). {axis} stands for the value of an
 * axis, {case} for the name of a case, {seed} and {device} for those, each quoted for the shell, in
 * .environment too; {{ is a brace of the shell's own. The environment has YIELDPOINT_SEED,
 * YIELDPOINT_CASE, YIELDPOINT_ID and YIELDPOINT_SPEED ("judge", "record", or "off": one sample is
 * enough). A line of its standard output that is a JSON object with one of the keys below is a
 * result; every other line is output, but one that begins as a result and is wrong (another key, a
 * number out of range, NaN, cut off) fails the case and ends the command.
 *
 *     {"measure": "mean", "seconds": [0.11, 0.12], "items": 1000, "unit": "values",
 *      "flops": 0, "bytes": 0, "warmup": 3}        seconds an iteration, in the order taken
 *     {"value": "auc", "number": 0.97, "unit": ""}
 *     {"hash": "0123456789abcdef"}                  of the data
 *     {"skip": "no module named torch"}             ends the case
 *     {"fail": "rows 3 and 4 differ"}
 *
 * Any exit status but 0 fails the case (77: skips it). Time-out, output limit and budgets are
 * those of every case, but for shares, processor time and growth, which are not available; memory
 * is the command's own resident peak: that of the largest of its processes, judged by
 * yp_max_resident and reported as the value "resident peak" (B).
 */
#ifndef YIELDPOINT_COMMAND_H
#define YIELDPOINT_COMMAND_H

#include <yieldpoint/test.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define YP_COMMAND(...) YPI_COMMAND(__VA_ARGS__, .end_ = 0)
#define YPI_COMMAND(group_, name_, ...) YPI_DECLARE(group_, name_, ypi_command_body, __VA_ARGS__)
/* clang-format on */

void ypi_command_body(struct yp_case *t);

#ifdef __cplusplus
}
#endif

#endif
