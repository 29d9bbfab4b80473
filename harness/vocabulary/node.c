#include "harness/vocabulary/node.h"

#include <string.h>
#include <strings.h>

/* How much of `id` the first `length` characters of the node are; NULL: the id begins otherwise. */
static const char *behind(const char *node, size_t length, const char *id)
{
    const char *end = node + length;
    while (node < end) {
        const char *code = *id == '-' ? "%2d" : *id == ':' ? "%3a" : NULL;
        bool coded = code != NULL && end - node >= 3 && strncasecmp(node, code, 3) == 0;
        if (!coded && *id != *node)
            return NULL;
        node += coded ? 3 : 1;
        id++;
    }
    return id;
}

bool ypi_node_names(const char *node, const char *id)
{
    size_t length = strlen(node);
    bool at_test = memchr(node, ':', length) != NULL;
    if (length > 0 && node[length - 1] == '/' && !at_test)
        length--;
    const char *rest = length > 0 ? behind(node, length, id) : NULL;
    if (rest == NULL)
        return false;
    return *rest == '\0' || (at_test ? *rest == '[' : *rest == '/' || strncmp(rest, "::", 2) == 0);
}

bool ypi_node_is(const char *node, const char *id)
{
    const char *rest = behind(node, strlen(node), id);
    return rest != NULL && *rest == '\0';
}

bool ypi_node_begins(const char *node, const char *id)
{
    return behind(node, strlen(node), id) != NULL;
}
