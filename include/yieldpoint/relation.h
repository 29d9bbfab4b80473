/*
 * Relations between cases: what one measured against what another did in the same run.
 *
 *     YP_RELATION(rx, linear_in_pixels, .tags = "stress",
 *                 .relation = yp_growth("stress/rx.c::fit_pixels", "fit", "pixels"),
 *                 .budgets = YP_BUDGETS(yp_min_value("exponent", 0.9),
 * yp_max_value("exponent", 1.1)));
 *
 * A relation has an id, tags and a verdict of its own. It runs after the cases it reads, takes no
 * process, and is skipped naming the first of them that is not selected or has no result. What it
 * finds is a value with an interval ("exponent", "ratio"), judged by yp_min_value / yp_max_value;
 * one whose interval holds the limit is noisy. Under --speed=record values that come of speed are
 * stored and not judged.
 *
 * Nodes are written as on the command line: "stress/rx.c::fit" is every case of that test,
 * "stress/rx.c::fit[small]" one case.
 */
#ifndef YIELDPOINT_RELATION_H
#define YIELDPOINT_RELATION_H

#include <yieldpoint/test.h>

/* clang-format off */
/* "ratio": how many times faster `of` is than `to`: the time of `to` over that of `of`, medians of
 * the measurement `name_`. Both are one case. Its interval is that of the two medians' intervals. */
#define yp_ratio(of_, to_, name_) \
    { .kind = YP_RELATION_RATIO, .of = of_, .to = to_, .name = name_ }
/* "ratio" over an axis of one test ("device" is one): every case that has `a_` there against the one
 * that is the same but for `b_`. The value is the smallest of the ratios, named in the output. */
#define yp_ratio_over(of_, name_, axis_, a_, b_) \
    { .kind = YP_RELATION_RATIO_OVER, .of = of_, .name = name_, .axis = axis_, .a = a_, .b = b_ }
/* "ratio" of a value that both told by yp_value: `of` over `to`. */
#define yp_value_ratio(of_, to_, name_) \
    { .kind = YP_RELATION_VALUE_RATIO, .of = of_, .to = to_, .name = name_ }
/* "exponent": the slope of log(seconds of the measurement) over log(axis), over all cases of `of`
 * that were run: at least 3 values of the axis. */
#define yp_growth(of_, name_, axis_) \
    { .kind = YP_RELATION_GROWTH, .of = of_, .name = name_, .axis = axis_ }
/* The data hashes of all cases of both nodes are one and the same. No budget is needed. */
#define yp_same_hash(of_, to_) \
    { .kind = YP_RELATION_SAME_HASH, .of = of_, .to = to_ }

#define YP_RELATION(...) YPI_RELATION(__VA_ARGS__, .end_ = 0)
#define YPI_RELATION(group_, name_, ...) YPI_DECLARE(group_, name_, NULL, __VA_ARGS__)
/* clang-format on */

#endif
