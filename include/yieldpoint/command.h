/*
 * A command as a case: Yieldpoint measures, judges and records any program that prints JSON lines.
 *
 *     YP_COMMAND(peers, numpy_mean, .tags = "perf", .command = "python3 peers/mean.py {n}",
 *                .axes = YP_AXES(yp_axis_int("n", 1000, 1000000)),
 *                .budgets = YP_BUDGETS(yp_min_rate("mean", 1e6)));
 *
 * The shell runs the command in the directory of yieldpoint.ini (or .git). In the command and in
 * .environment, {axis} is replaced by the value of that axis, {case} by the case's name, {seed} and
 * {device} by theirs, each quoted for the shell; {{ is a literal brace. The environment has
 * YIELDPOINT_SEED, YIELDPOINT_CASE, YIELDPOINT_ID and YIELDPOINT_SPEED ("judge", "record", or
 * "off": one sample is enough). A line of standard output that is a JSON object with one of the
 * keys below is a result; other lines are plain output. A line that begins as a result but is wrong
 * (another key, a number out of range, NaN, cut off) fails the case and ends the command.
 *
 *     {"measure": "mean", "seconds": [0.11, 0.12], "items": 1000, "unit": "values",
 *      "flops": 0, "bytes": 0, "warmup": 3}        seconds per iteration, in the order taken
 *     {"value": "auc", "number": 0.97, "unit": ""}
 *     {"hash": "0123456789abcdef"}                  of the data
 *     {"skip": "no module named torch"}             ends the case
 *     {"fail": "rows 3 and 4 differ"}
 *
 * Exit status 77 skips the case; any other status except 0 fails it. Time-out, output limit and
 * budgets work as for every case, except that shares, processor time and growth are unavailable.
 * yp_max_resident judges the resident peak of the command's largest process, which is also reported
 * as the value "resident peak" (B); yp_max_resident_tree judges all of its processes together.
 */
#ifndef YIELDPOINT_COMMAND_H
#define YIELDPOINT_COMMAND_H

#include <yieldpoint/test.h>

YPI_BEGIN_C

/* clang-format off */
#define YP_COMMAND(...) YPI_COMMAND(__VA_ARGS__, .end_ = 0)
#define YPI_COMMAND(group_, name_, ...) YPI_DECLARE(group_, name_, ypi_command_body, __VA_ARGS__)
/* clang-format on */

void ypi_command_body(struct yp_case *t);

YPI_END_C

#endif
