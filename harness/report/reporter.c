#include "harness/report/reporter.h"

#include "harness/collect/program_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY(name) &name,
static const struct ypi_reporter *const reporters[] = {YPI_REPORTERS(ENTRY)};
#define REPORTERS (sizeof reporters / sizeof *reporters)
_Static_assert(REPORTERS <= YPI_REPORTERS_MAX, "YPI_REPORTERS_MAX is less");

struct ypi_option *ypi_reporter_options(struct ypi_option *out, int group)
{
    for (size_t i = 0; i < REPORTERS; i++)
        for (const struct ypi_option *o = reporters[i]->options; !ypi_option_is_end(o); o++) {
            *out = *o;
            out->group = group;
            out++->offset = offsetof(struct ypi_options, reports) + i * sizeof(union ypi_asked);
        }
    return out;
}

static bool is_asked(const struct ypi_options *o, size_t i)
{
    const struct ypi_option *by = reporters[i]->options;
    return ypi_option_is_end(by)         ? !ypi_reports_protocol(o)
           : by->kind == YPI_OPTION_FLAG ? o->reports[i].flag
                                         : o->reports[i].path != NULL;
}

bool ypi_reports_protocol(const struct ypi_options *o)
{
    bool any = false;
    for (size_t i = 0; i < REPORTERS; i++)
        any = any || (reporters[i]->protocol && is_asked(o, i));
    return any;
}

const char *ypi_appended_to(const struct ypi_options *o)
{
    const char *path = NULL;
    for (size_t i = 0; i < REPORTERS && path == NULL; i++)
        path = reporters[i]->appends ? o->reports[i].path : NULL;
    return path;
}

/* -- files: whole or not there ------------------------------------------------------------ */

/* In a directory that is made where it is missing. By its whole path: a case that runs in this
 * process may leave the working directory. */
static enum yp_status open_file(struct ypi_reporting *to)
{
    char *whole = ypi_whole_path(to->path);
    enum yp_status status = ypi_make_parents(to->path);
    if (status == YP_OK)
        status = ypi_atomic_create(&to->file, whole != NULL ? whole : to->path);
    free(whole);
    if (status != YP_OK)
        return status;
    int fd = fcntl(to->file.fd, F_DUPFD_CLOEXEC, 3);
    to->out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (to->out != NULL)
        return YP_OK;
    status =
        yp_set_error(YP_IO, "--%s: %s: %s", to->reporter->options->name, to->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    ypi_atomic_abandon(&to->file);
    return status;
}

/* Gives it its name, in the place of another file, where the run is over and all was written. */
static enum yp_status close_file(struct ypi_reporting *to, enum ypi_event event)
{
    enum yp_status status = YP_OK;
    bool ok = ferror(to->out) == 0;
    ok = fclose(to->out) == 0 && ok;
    if (event == YPI_RUN_ENDS && !ok)
        status = yp_set_error(YP_IO, "--%s: %s could not be written: %s",
                              to->reporter->options->name, to->file.path, strerror(errno));
    else if (event == YPI_RUN_ENDS)
        status = ypi_atomic_publish(&to->file, true);
    ypi_atomic_abandon(&to->file);
    return status;
}

/* -- events ------------------------------------------------------------------------------- */

enum yp_status ypi_reports_open(struct ypi_reports *all, const struct ypi_session *s, FILE *out,
                                const struct ypi_totals *totals)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < REPORTERS && status == YP_OK; i++) {
        const struct ypi_reporter *reporter = reporters[i];
        struct ypi_reporting *to = &all->list[all->count];
        *to = (struct ypi_reporting){.reporter = reporter, .out = out, .s = s, .totals = totals};
        if (!is_asked(s->o, i))
            continue;
        if (reporter->options->kind == YPI_OPTION_PATH)
            to->path = s->o->reports[i].path;
        if (reporter->has_file)
            status = open_file(to);
        else if (reporter->on[YPI_RUN_OPENS] != NULL)
            status = reporter->on[YPI_RUN_OPENS](to);
        all->count += status == YP_OK;
    }
    return status;
}

bool ypi_report(struct ypi_reports *all, enum ypi_event event, const struct ypi_result *r)
{
    const int count = all->count;
    const bool over = event >= YPI_RUN_ENDS;
    bool ok = true;
    all->count = over ? 0 : count;
    for (struct ypi_reporting *to = all->list; to < all->list + count; to++) {
        const struct ypi_reporter *reporter = to->reporter;
        to->r = r;
        to->number += event == YPI_RESULT;
        enum yp_status status = reporter->on[event] != NULL ? reporter->on[event](to) : YP_OK;
        if (over && reporter->has_file)
            status = close_file(to, event);
        if (over)
            free(to->state);
        if (status != YP_OK)
            fprintf(stderr, "error: %s\n", yp_last_error());
        ok = ok && status == YP_OK;
    }
    return ok;
}
