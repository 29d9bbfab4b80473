#include "noise.h"
#include <math.h>
#include <string.h>
void ypi_noise_mark(struct ypi_noise_mark *mark)
{
    memset(mark, 0, sizeof *mark);
}
struct ypi_noise ypi_noise_between(const struct ypi_noise_mark *begin,
                                   const struct ypi_noise_mark *end)
{
    (void)begin, (void)end;
    return (struct ypi_noise){0};
}
bool ypi_noise_cause(const struct ypi_noise *noise, int threads, char *out, size_t size)
{
    (void)noise, (void)threads, (void)out, (void)size;
    return false;
}
int ypi_noise_count(void)
{
    return 0;
}
const char *ypi_noise_name(int i)
{
    (void)i;
    return "";
}
double ypi_noise_value(const struct ypi_noise *noise, int i)
{
    (void)noise, (void)i;
    return NAN;
}
