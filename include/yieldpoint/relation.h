/*
 * Relations: comparisons between cases of the same run.
 *
 *     YP_RELATION(rx, linear_in_pixels,
 *                 .tags = "stress",
 *                 .budgets = YP_BUDGETS(yp_min_value("exponent", 0.9),
 *                                       yp_max_value("exponent", 1.1)),
 *                 .relation = yp_growth("stress/rx.c::fit_pixels", "fit", "pixels"));
 *
 * A relation has its own id, tags and verdict. Besides .relation it takes .tags, .devices, .skip,
 * .xfail, .xfail_strict and .budgets. With .devices there is one relation per device, for the cases
 * of that device. A relation runs after the cases it reads, without a process. It is skipped, with
 * the case's name, if a case is not selected or has no result. A case that failed or was skipped
 * has no result; one that is noisy or xfailed has. A relation finds a value with an interval
 * ("exponent", "ratio", "efficiency"), judged by yp_min_value and yp_max_value. If the interval
 * holds the limit, the budget is undecided. Under --speed=record, values computed from speed are
 * stored but not judged. With --repeat, the cases of one repeat are compared with each other.
 *
 * A relation of speed is confirmed like a case's speed. The cases of each pair or series that is
 * outside its budgets, or undecided, run again in fresh processes, once in each of `--confirm`
 * rounds. A pair or series is not met if the first verdict and all rounds say so. An undecided one
 * gets the verdict that all rounds agree on. Anything else is noisy. The runs are stored as
 * attempts of the cases and leave their verdicts alone; a crash fails the relation. If some times
 * were measured while the work had to share its processors, "not met" becomes undecided.
 *
 * On the command line, the id of a relation selects the cases it reads too, so its `reproduce:`
 * line runs them; -m and -k then select among all of these.
 *
 * Nodes are written as on the command line: "stress/rx.c::fit" is every case of that test,
 * "stress/rx.c::fit[small]" one case.
 *
 * If several pairs or series give a value, the relation reports and names the worst by the budgets:
 * if it is inside, all are. Without budgets that is the smallest ratio or the largest exponent.
 */
#ifndef YIELDPOINT_RELATION_H
#define YIELDPOINT_RELATION_H

#include <yieldpoint/test.h>

/* clang-format off */
/* "ratio": how many times faster the case `of` is than the case `to`: the time of `to` divided by
 * that of `of`, from the medians of the measurement `name_`. The interval combines those of the two
 * medians. */
#define yp_ratio(of_, to_, name_) \
    { .kind = YP_RELATION_RATIO, .of = of_, .to = to_, .name = name_ }
/* "ratio" along an axis of one test: each case with the value `a_` against the case that differs
 * only in having `b_`. Both are strings, read as values of the axis. "device" is an axis too, on
 * which "cuda" means any CUDA device. A case without its partner skips the relation. */
#define yp_ratio_over(of_, name_, axis_, a_, b_) \
    { .kind = YP_RELATION_RATIO_OVER, .of = of_, .name = name_, .axis = axis_, .a = a_, .b = b_ }
/* The same for shares of the ceiling: the share of `a_` divided by that of `b_`. Along an axis of
 * thread counts it is the efficiency of the threads relative to the machine, whether its processors
 * are cores or threads of one core: near 1 for good scaling, and 0.5 for two threads of which one
 * waits for the other on a machine that gains twofold. A measurement without share is an error. */
#define yp_share_ratio_over(of_, name_, axis_, a_, b_) \
    { .kind = YP_RELATION_SHARE_RATIO_OVER, .of = of_, .name = name_, .axis = axis_, .a = a_, .b = b_ }
/* "ratio" of a yp_value that both cases have: `of` divided by `to`. Exact. */
#define yp_value_ratio(of_, to_, name_) \
    { .kind = YP_RELATION_VALUE_RATIO, .of = of_, .to = to_, .name = name_ }
/* "exponent": the slope of log(seconds of the measurement) over log(axis), from the cases of the
 * test `of` that have a result: at least 3 values of the axis, all above 0. Cases that differ in
 * anything else (name, other axes, device) form separate series. The interval includes the scatter
 * about the line at 99 % and the medians' own intervals. 3 values seldom decide, because the
 * scatter then has one degree of freedom: use 5 over two decades.
 *
 * A series whose values cannot decide the budgets is an error at collection. If a selection or
 * failures leave too few values, the relation is skipped. The rule, for n values x of the axis:
 *     2 t(n - 2) 0.05 / sqrt(sum (ln x - mean ln x)^2) < the allowed range of exponents,
 * with Student's t at 99 % (63.7 for 3 values, 9.92 for 4, 5.84 for 5) and a scatter of 5 % about
 * the line. With both limits the range lies between them. A maximum alone allows the range from 0
 * to it, at least 1; a minimum alone allows a range of 1. */
#define yp_growth(of_, name_, axis_) \
    { .kind = YP_RELATION_GROWTH, .of = of_, .name = name_, .axis = axis_ }
/* "order": the order that the seconds of the measurement follow: O(1), O(log N), O(N), O(N log N),
 * O(N^2) or O(N^3), where N is the axis. It needs at least 3 values, all above 1; series are those
 * of a growth. Each order f is fitted as coefficient f(N), with equal weight for every value. It is
 * refuted if the times deviate from it in the direction of another order by more than their scatter
 * (at least 2 %) and the medians' own intervals explain. The right order is refuted in at most 1 of
 * 100 runs (base/numbers/order.h has the method and its source, docs/measurement.md the figures).
 * If one order remains, it is the answer. If several remain, the answer is "cannot say". If none
 * remains, it is none of them, as for N^1.5. The budget is yp_grows_as(order).
 *
 * Values: "order" (enum yp_order: the best one, and the interval from the first to the last that is
 * not refuted, NaN if all are), "coefficient" of the best in seconds with its interval (logarithms
 * have base 2), and "rms O(1)" and so on: the relative root mean square deviation from each curve.
 * (Google Benchmark divides its rms by the mean time, so that the largest N dominates.)
 *
 * A constant cost, for example of a call, bends the start of the curve. Start with an N for which
 * it is a few per cent, and end while the data still fit the same cache. As for a growth, values
 * that cannot separate the required order from its neighbours are an error at collection. The rule,
 * with a scatter sigma of 5 % and t at 99.7 %:
 *     2 t sigma / sqrt(sum (d - mean d)^2) < 1 for d = ln (g(N) / f(N)).
 * O(N) against O(N log N) needs 12 values from 16,000 to a million. If that is too much, limit the
 * exponent of a growth. */
#define yp_order(of_, name_, axis_) \
    { .kind = YP_RELATION_ORDER, .of = of_, .name = name_, .axis = axis_ }
/* "efficiency" along an axis of numbers, such as "ranks": how near the times of the measurement come
 * to a law. Strong scaling: all cases have the same work together, and the time falls as 1 / axis.
 * Weak scaling: the work grows with the axis, and the time is constant. Each case is compared with
 * the one of the axis's smallest value that differs from it in nothing else: the time that the law
 * says, divided by the time that was measured, from the medians. 1 is the law; at 0.8 a case takes
 * 1.25 times as long. The interval combines those of the two medians, so two values are enough,
 * where a growth needs five and tells the exponent. The worst pair is reported.
 *
 * Cases of more ranks than processors are left out; where there are no others, the efficiency is
 * recorded and not judged. Other relations that read such cases are recorded too. */
#define yp_strong_scaling(of_, name_, axis_) \
    { .kind = YP_RELATION_STRONG_SCALING, .of = of_, .name = name_, .axis = axis_ }
#define yp_weak_scaling(of_, name_, axis_) \
    { .kind = YP_RELATION_WEAK_SCALING, .of = of_, .name = name_, .axis = axis_ }
/* All cases of both nodes must have the same data hash. A difference fails without a budget. The
 * value is "distinct hashes". */
#define yp_same_hash(of_, to_) \
    { .kind = YP_RELATION_SAME_HASH, .of = of_, .to = to_ }

#define YP_RELATION(...) YPI_RELATION(__VA_ARGS__, .end_ = 0)
#define YPI_RELATION(group_, name_, ...) YPI_DECLARE(group_, name_, NULL, __VA_ARGS__)
/* clang-format on */

#endif
