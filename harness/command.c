#include <yieldpoint/case.h>
#include <yieldpoint/command.h>
void ypi_command_body(struct yp_case *t)
{
    yp_skip(t, "no commands yet");
}
