#include <stddef.h>
#include <string.h>
#include <yieldpoint/isa.h>
enum yp_isa yp_isa(void)
{
    return YP_ISA_BASELINE;
}
static const char *const names[YP_ISAS] = {"baseline", "avx2", "avx512", "amx"};
const char *yp_isa_name(enum yp_isa isa)
{
    return isa < YP_ISAS ? names[isa] : "?";
}
bool yp_isa_from_name(const char *name, enum yp_isa *isa)
{
    for (int i = 0; i < YP_ISAS; i++)
        if (strcmp(names[i], name) == 0) {
            *isa = (enum yp_isa)i;
            return true;
        }
    return false;
}
