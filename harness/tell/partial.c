#include "harness/tell/partial.h"

#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A case that runs in this process may leave the working directory. */
static char *whole_path(const char *path)
{
    char *here = *path != '/' ? getcwd(NULL, 0) : NULL;
    char *whole = here != NULL ? ypi_format("%s/%s", here, path) : ypi_strdup(path);
    free(here);
    return whole;
}

enum yp_status ypi_partial_open(struct ypi_partial *p, const char *option, const char *path)
{
    *p = (struct ypi_partial){.option = option};
    enum yp_status status = ypi_make_parents(path);
    if (status != YP_OK)
        return status;
    char *whole = whole_path(path);
    status = ypi_atomic_create(&p->file, whole);
    free(whole);
    if (status != YP_OK)
        return status;
    int fd = fcntl(p->file.fd, F_DUPFD_CLOEXEC, 3);
    p->out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (p->out != NULL)
        return YP_OK;
    status = yp_set_error(YP_IO, "--%s: %s: %s", option, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    ypi_atomic_abandon(&p->file);
    return status;
}

void ypi_partial_abandon(struct ypi_partial *p)
{
    fclose(p->out);
    ypi_atomic_abandon(&p->file);
}

enum yp_status ypi_partial_close(struct ypi_partial *p)
{
    enum yp_status status = YP_OK;
    bool ok = ferror(p->out) == 0;
    if (fclose(p->out) != 0 || !ok)
        status = yp_set_error(YP_IO, "--%s: %s could not be written: %s", p->option, p->file.path,
                              strerror(errno));
    if (status == YP_OK)
        status = ypi_atomic_publish(&p->file, true);
    ypi_atomic_abandon(&p->file);
    return status;
}
