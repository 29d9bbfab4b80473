#include <stdarg.h>
#include <stdio.h>
#include <yieldpoint/device.h>

static _Thread_local char message[1024];
static _Thread_local enum yp_status last;

const char *yp_last_error(void)
{
    return message;
}

enum yp_status yp_last_status(void)
{
    return last;
}

enum yp_status yp_set_error(enum yp_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    last = status;
    return status;
}
