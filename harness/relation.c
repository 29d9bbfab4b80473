#include "relation.h"
#include "text.h"
#include <stddef.h>
#include <string.h>
char *ypi_relation_problem(const struct yp_test *test)
{
    (void)test;
    return NULL;
}
bool ypi_node_names(const char *node, const char *id)
{
    return strcmp(node, id) == 0;
}
bool ypi_relation_work_out(const struct ypi_relation_input *input, struct ypi_result *r)
{
    (void)input;
    r->reason = ypi_strdup("no relations yet");
    return false;
}
