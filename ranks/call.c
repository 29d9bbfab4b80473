#include "ranks/engine.h"

#include <stdio.h>

const char *ypk_call_text(const struct ypk_call *call)
{
    static const char *const kinds[] = {"barrier",    "allocate",   "free",           "broadcast",
                                        "all-gather", "all-reduce", "reduce-scatter", "messages"};
    static const char *const types[] = {"float", "double", "int64"};
    static const char *const ops[] = {"sum", "max", "min"};
    static _Thread_local char text[128];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", kinds[call->kind]);
    if (call->kind != YPK_BARRIER && call->kind != YPK_FREE)
        used += (size_t)snprintf(text + used, sizeof text - used, " of %zu bytes", call->bytes);
    if (call->kind == YPK_BROADCAST)
        used += (size_t)snprintf(text + used, sizeof text - used, " from rank %d", call->root);
    if (call->kind == YPK_ALL_REDUCE || call->kind == YPK_REDUCE_SCATTER)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %s of %s", ops[call->op],
                                 types[call->type]);
    snprintf(text + used, sizeof text - used, " (call %llu%s)", (unsigned long long)call->number,
             call->devices ? " of the devices" : "");
    return text;
}
