/* Cases side by side: groups of those that differ in the varied axes of a rule alone. */
#pragma once

#include "reports/advice/rule.h"

#include <stddef.h>

struct ypi_points {
    struct ypi_point *list; /* by group, in a group by x, else in the order taken */
    size_t count;
};

/* Of the cases that have a place by the rule. A rule without `place` has all in one group.
 * Measurements that were disturbed are left out: neighbours do not slow all cases alike. */
struct ypi_points ypi_points_of(const struct ypi_run_rule *rule, struct ypi_kept *const *cases,
                                size_t count);
/* " (mode train, size base)": the axes that do not differ in a group; "". The caller frees. */
char *ypi_points_common(const struct ypi_run_rule *rule, const struct ypi_kept *kept);
/* The number of points of the group that begins at `from`. */
size_t ypi_points_group(const struct ypi_points *points, size_t from);
void ypi_points_free(struct ypi_points *points);
