/* The values of an axis, as it is declared or as its function gives them. */
#pragma once

#include "harness/vocabulary/case.h"

#define YPI_AXIS_VALUES_MOST 1000000u /* of an array or a range */

struct yp_axis_values {
    const char *name;
    enum yp_axis_kind kind; /* YP_AXIS_NONE: none so far */
    struct ypi_setting *of; /* `count` of them, owned */
    size_t count, room;
    bool copies;   /* texts are owned too */
    char *problem; /* owned: why a value was not added; NULL: all were */
};

/* All values of an axis of the test, in a run that may use so many processors; false when there are
 * none, `problem` says why. To be given back by ypi_axis_clear() either way. */
bool ypi_axis_read(const struct yp_test *test, const struct yp_axis *axis, int processors,
                   struct yp_axis_values *out);
void ypi_axis_clear(struct yp_axis_values *values);

/* Same kind and value. */
bool ypi_setting_equal(const struct ypi_setting *x, const struct ypi_setting *y);

/* The value as it is declared, without escapes; the caller's. */
char *ypi_setting_text(const struct ypi_setting *s);
