/* Gradient and precision checks of a running case: run here, sent to the runner, judged there. */
#include "harness/body/accuracy/tensors.h"
#include "harness/body/child.h"
#include "harness/vocabulary/budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yieldpoint/gradient.h>

static void refuse(struct yp_case *t, const char *name)
{
    ypi_child_quit(t, YPI_CAUSE_USAGE, "check '%s': %s", name, yp_last_error());
}

double yp_check_gradient(struct yp_case *t, const struct yp_gradient *gradient)
{
    ypi_child_name(t, "check", gradient->name);
    const struct yp_budget *budget = ypi_budget_of(t, YP_BUDGET_MAX_GRADIENT_ERROR, gradient->name);
    struct ypi_gradient_result result;
    if (ypi_gradient_error(gradient, t->seed, &result) != YP_OK)
        refuse(t, gradient->name);
    struct ypi_gradient message;
    memset(&message, 0, sizeof message);
    snprintf(message.name, sizeof message.name, "%s", gradient->name);
    snprintf(message.tensor, sizeof message.tensor, "%s",
             result.tensor != NULL ? result.tensor : "");
    message.error = result.error;
    message.limit = budget != NULL ? budget->limit : YP_GRADIENT_LIMIT;
    message.slope = result.slope;
    message.expected = result.expected;
    message.got = result.got;
    message.checked = result.checked;
    message.resolution = result.resolution;
    message.finding = result.finding;
    message.index = result.index;
    ypi_child_send(t, YPI_MESSAGE_GRADIENT, &message, sizeof message, NULL, 0);
    return result.error;
}

/* One tensor, or all values. */
static double check_one(struct yp_case *t, const struct yp_precision *check)
{
    struct ypi_precision_result result;
    ypi_child_name(t, "check", check->name);
    if (ypi_precision_error(check, &result) != YP_OK)
        refuse(t, check->name);
    struct ypi_gradient message;
    memset(&message, 0, sizeof message);
    snprintf(message.name, sizeof message.name, "%s", check->name);
    snprintf(message.tensor, sizeof message.tensor, "element %zu", result.worst);
    message.precision = true;
    message.error = result.ratio;
    message.limit = check->multiple > 0 ? check->multiple : YP_PRECISION_MULTIPLE;
    message.slope = message.resolution = NAN;
    message.expected = result.plain_error;
    message.got = result.error;
    message.checked = 1;
    ypi_child_send(t, YPI_MESSAGE_GRADIENT, &message, sizeof message, NULL, 0);
    return result.ratio;
}

double yp_check_precision(struct yp_case *t, const struct yp_precision *check)
{
    if (check->n_tensors == 0)
        return check_one(t, check);
    struct ypi_precision_result worst;
    if (ypi_precision_error(check, &worst) != YP_OK)
        refuse(t, check->name != NULL ? check->name : "");
    for (size_t k = 0; k < check->n_tensors; k++) {
        const struct yp_tensor *tensor = &check->tensors[k];
        struct yp_precision one = {.count = tensor->count,
                                   .oracle = check->oracle + tensor->offset,
                                   .plain = check->plain + tensor->offset,
                                   .got = check->got + tensor->offset,
                                   .multiple = check->multiple};
        char name[2 * YPI_NAME_MAX]; /* one that is cut is too long, which is an error */
        snprintf(name, sizeof name, "%s%s%s", check->name != NULL ? check->name : "",
                 check->name != NULL ? " " : "", tensor->name);
        one.name = name;
        check_one(t, &one);
    }
    return worst.ratio;
}
