/* Budgets of what a body gives: of values, of what relations find, of gradient checks. */
#include "base/numbers/order.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stdio.h>

static void between(struct ypi_verdict *v, const struct ypi_value *value)
{
    ypi_verdict_between(v, value->value, value->low, value->high);
}

static void format_order(char out[128], double value)
{
    snprintf(out, 128, "%s", isnan(value) ? "none of the orders" : ypi_order_name((int)value));
}

/* The interval is that of the orders that are not refuted; without one, all are. */
static void order(struct ypi_verdict *v, const struct ypi_value *value)
{
    const double asked = v->budget->limit;
    v->measured = isnan(value->low) ? NAN : value->value;
    v->low = value->low;
    v->high = value->high;
    v->met = !(value->low <= asked && asked <= value->high) ? YPI_NOT_MET
             : value->low == value->high                    ? YPI_MET
                                                            : YPI_UNDECIDED;
}

/* clang-format off */
const struct ypi_budget_kind ypi_value_kinds[] = {
    {YP_BUDGET_MIN_VALUE, "min value", .at_least = true, .any_sign = true, .value = between},
    {YP_BUDGET_MAX_VALUE, "max value", .any_sign = true, .value = between},
    {YP_BUDGET_MAX_GRADIENT_ERROR, "max gradient error", .before = "gradient error of ",
     .gradient = true, .cause = YPI_CAUSE_GRADIENT},
    {YP_BUDGET_ORDER, "order", .ordinal = true, .phrase = "grows as", .undecided = "cannot say, ",
     .alone = "(order) is one of a relation yp_order: no case has an order alone", .figure = format_order,
     .value = order},
    {.name = NULL}};
/* clang-format on */
