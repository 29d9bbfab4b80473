#include "harness/tell/partial.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum yp_status ypi_partial_open(struct ypi_partial *p, const char *option, const char *path)
{
    enum yp_status status = ypi_make_parents(path);
    *p = (struct ypi_partial){.option = option};
    if (status != YP_OK)
        return status;
    char *partial = ypi_format("%s.partial", path);
    p->out = fopen(partial, "we");
    if (p->out == NULL) {
        status = yp_set_error(YP_IO, "%s: %s: %s", option, partial, strerror(errno));
        free(partial);
        return status;
    }
    p->path = ypi_strdup(path);
    p->partial = partial;
    return YP_OK;
}

enum yp_status ypi_partial_close(struct ypi_partial *p)
{
    enum yp_status status = YP_OK;
    bool ok = ferror(p->out) == 0;
    ok = fclose(p->out) == 0 && ok && rename(p->partial, p->path) == 0;
    if (!ok) {
        status = yp_set_error(YP_IO, "%s: %s could not be written: %s", p->option, p->path,
                              strerror(errno));
        unlink(p->partial);
    }
    free(p->path);
    free(p->partial);
    *p = (struct ypi_partial){0};
    return status;
}
