/* Cases of several ranks for a launched job. Each notes in the directory $LAUNCHED that it is
 * there. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yieldpoint/ranks.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(ranked, meets, .ranks = "2 3 4")
{
    yp_barrier(t);
    yp_value(t, "rank", yp_rank(t));
}

YP_TEST(ranked, crashes, .ranks = "2")
{
    yp_barrier(t);
    if (yp_rank(t) == 1)
        abort();
    yp_barrier(t);
}

/* What no rank does. */
YP_TEST(ranked, alone)
{
    yp_value(t, "alone", 1);
}
