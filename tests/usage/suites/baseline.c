/* Cases whose times and figures stand in a file, so that a test says what each process measures. */
#include <yieldpoint/yieldpoint.h>

#define TOLD "cat told.json"

YP_COMMAND(baseline, told, .command = TOLD);
YP_COMMAND(baseline, floored, .command = TOLD, .tags = "slow",
           .budgets = YP_BUDGETS(yp_max_latency("work", 1.9e-3)));
YP_COMMAND(baseline, patient, .command = TOLD, .budgets = YP_BUDGETS(yp_max_regression("work", 3)));
YP_COMMAND(baseline, red, .command = "echo '{{\"fail\": \"no\"}'");
