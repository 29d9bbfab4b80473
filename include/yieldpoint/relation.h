/*
 * Relations between cases: what one measured against what another did in the same run.
 *
 *     YP_RELATION(rx, linear_in_pixels,
 *                 .tags = "stress",
 *                 .budgets = YP_BUDGETS(yp_min_value("exponent", 0.9),
 *                                       yp_max_value("exponent", 1.1)),
 *                 .relation = yp_growth("stress/rx.c::fit_pixels", "fit", "pixels"));
 *
 * A relation has an id, tags and a verdict of its own; beside .relation it takes .tags, .devices,
 * .skip, .xfail, .xfail_strict and .budgets. With .devices there is one for each of them, about the
 * cases of that device alone. It runs after the cases it reads, takes no process, and is
 * skipped naming the first of them that is not selected or has no result: one that failed or was
 * skipped has none, one that is noisy, or failed as it was expected to, has. What it finds is a
 * value with an interval ("exponent", "ratio"), judged by yp_min_value / yp_max_value; one whose
 * interval holds the limit is undecided. Under --speed=record values that come of speed are stored
 * and not judged. With --repeat the cases of one repeat are compared with each other.
 *
 * What comes of speed is confirmed as a case's speed is, before it fails the relation: the cases of
 * each pair or series that is outside its budgets, or undecided, run again in fresh processes, once
 * in each of `--confirm` rounds. A pair or series is not met when the first finding and all rounds
 * say so, an undecided one is what all rounds say, and anything else is noisy. What they run is
 * stored as attempts of those cases and leaves their verdicts alone; one that crashes there fails
 * the relation. One made of times some of which were taken while the work had to share its
 * processors is undecided where it would not be met.
 *
 * On the command line the id of a relation stands for the cases that it reads as well, so that the
 * line that reproduces it runs them; -m and -k choose among all of them.
 *
 * Nodes are written as on the command line: "stress/rx.c::fit" is every case of that test,
 * "stress/rx.c::fit[small]" one case.
 *
 * Where several pairs or series of cases give a value, the worst one by the budgets is reported and
 * named: when it is inside, all are. Without budgets that is the smallest ratio and the largest
 * exponent.
 */
#ifndef YIELDPOINT_RELATION_H
#define YIELDPOINT_RELATION_H

#include <yieldpoint/test.h>

/* clang-format off */
/* "ratio": how many times faster `of` is than `to`: the time of `to` over that of `of`, medians of
 * the measurement `name_`. Both are one case. Its interval is that of the two medians' intervals. */
#define yp_ratio(of_, to_, name_) \
    { .kind = YP_RELATION_RATIO, .of = of_, .to = to_, .name = name_ }
/* "ratio" over an axis of one test: every case that has `a_` there against the one that is the same
 * but for `b_`. Both are texts, read as the axis's values are; "device" is an axis, too, on which
 * "cuda" is any of them. A case without its partner skips the relation. */
#define yp_ratio_over(of_, name_, axis_, a_, b_) \
    { .kind = YP_RELATION_RATIO_OVER, .of = of_, .name = name_, .axis = axis_, .a = a_, .b = b_ }
/* The same of their shares of what bounds each: the share of `a_` over that of `b_`. Over numbers of
 * threads that is the efficiency by which they gain what the machine gains by them, whether its
 * processors are cores, two threads of one core or one processor for both: near 1, and for two
 * threads one of which waits for the other 0.5 where the machine gains twofold. A measurement that
 * nothing bounds is an error. */
#define yp_share_ratio_over(of_, name_, axis_, a_, b_) \
    { .kind = YP_RELATION_SHARE_RATIO_OVER, .of = of_, .name = name_, .axis = axis_, .a = a_, .b = b_ }
/* "ratio" of a value that both have by yp_value: `of` over `to`. Exact. */
#define yp_value_ratio(of_, to_, name_) \
    { .kind = YP_RELATION_VALUE_RATIO, .of = of_, .to = to_, .name = name_ }
/* "exponent": the slope of log(seconds of the measurement) over log(axis), over the cases of the
 * test `of` that have a result: at least 3 values of the axis, all above 0. Cases that differ in
 * anything else (name, other axes, device) are a series each. The interval takes in the scatter
 * about the line at 99 % and the medians' own intervals. 3 values seldom decide anything, as the
 * scatter has then only one degree of freedom: take 5 over two decades.
 *
 * A series whose values cannot decide the budgets is an error at collection, and where a selection
 * or failures leave so few, the relation is skipped. The rule, for n values x of the axis:
 *     2 t(n - 2) 0.05 / sqrt(sum (ln x - mean ln x)^2) < the range that the budgets leave,
 * with Student's t at 99 % (63.7 for 3 values, 9.92 for 4, 5.84 for 5) and times that scatter by 5 %
 * about the line. The range is from the least to the largest exponent allowed; a largest one alone
 * leaves it from 0 on, one power at least; a least one alone one power. */
#define yp_growth(of_, name_, axis_) \
    { .kind = YP_RELATION_GROWTH, .of = of_, .name = name_, .axis = axis_ }
/* "order": which of O(1), O(log N), O(N), O(N log N), O(N^2) and O(N^3) the seconds of the measurement
 * follow, N being the axis: at least 3 values, all above 1, of one series as for a growth. Each order
 * f is fitted as coefficient f(N), so that every value counts alike, and is refuted where the times
 * lie off it in the direction of another one by more than their scatter, 2 % at least, and the
 * medians' own intervals explain: a right one in 1 of 100 runs at most (base/numbers/order.h has the
 * method and its source, docs/measurement.md the figures). One that is not refuted is the answer;
 * several are "cannot say"; none is none of them, as for N^1.5. The budget is yp_grows_as(order).
 *
 * Values: "order" (enum yp_order: the best, and the interval from the first to the last that is not
 * refuted, NaN when all are), "coefficient" of the best in seconds with its interval, logarithms to
 * base 2, and "rms O(1)" and so on: the root mean square by which times lie off each curve,
 * relatively. (Google Benchmark's rms is over the mean time, where the largest N alone counts.)
 *
 * A cost that does not grow, as of a call, bends the curve at its beginning: take N from where that
 * is a few per cent, and to where the data still lie in the same cache. As for a growth, values that
 * cannot tell the asked order from its neighbours are an error at collection: with 5 % of scatter,
 *     2 t sigma / sqrt(sum (d - mean d)^2) < 1 for d = ln (g(N) / f(N)), t at 99.7 %.
 * For O(N) and O(N log N) that is 12 values from 16,000 to a million; where it is too much, bound the
 * exponent of a growth. */
#define yp_order(of_, name_, axis_) \
    { .kind = YP_RELATION_ORDER, .of = of_, .name = name_, .axis = axis_ }
/* The data hashes of all cases of both nodes are one and the same: a difference is a failure, and
 * no budget is needed. Its value is "distinct hashes". */
#define yp_same_hash(of_, to_) \
    { .kind = YP_RELATION_SAME_HASH, .of = of_, .to = to_ }

#define YP_RELATION(...) YPI_RELATION(__VA_ARGS__, .end_ = 0)
#define YPI_RELATION(group_, name_, ...) YPI_DECLARE(group_, name_, NULL, __VA_ARGS__)
/* clang-format on */

#endif
