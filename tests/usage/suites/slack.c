/* Cases whose times are told and so always the same, near their budgets and far from them. */
#include <yieldpoint/yieldpoint.h>

#define TELLS(more_) \
    "echo '{{\"measure\": \"work\", \"seconds\": [1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, " \
    "1e-3]}'" more_

YP_COMMAND(slack, tight, .command = TELLS(""),
           .budgets = YP_BUDGETS(yp_max_latency("work", 1.5e-3)));
YP_COMMAND(slack, loose, .command = TELLS(""), .budgets = YP_BUDGETS(yp_max_latency("work", 5e-3)));
YP_COMMAND(slack, unbudgeted, .command = TELLS(""));
YP_COMMAND(slack, broken, .command = TELLS("; echo '{{\"fail\": \"no\"}'"));
YP_COMMAND(slack, untimed, .command = "echo '{{\"value\": \"loss\", \"number\": 0.25}'",
           .budgets = YP_BUDGETS(yp_max_value("loss", 0.5)));
