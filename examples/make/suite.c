#include <yieldpoint/yieldpoint.h>

YP_TEST(make, works, .tags = "stress small")
{
    int *block = yp_alloc(t, 4 * sizeof *block);
    for (int i = 0; i < 4; i++)
        block[i] = i * i;
    yp_expect(t, block[3] == 9, "3 * 3 is %d", block[3]);
}
