#include "harness/tell/reporter.h"

#include <stdlib.h>

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
        if (reporter->has_file) {
            status = ypi_partial_open(&to->file, reporter->options->name, to->path);
            to->out = to->file.out;
        }
        if (status == YP_OK && reporter->on[YPI_RUN_OPENS] != NULL)
            status = reporter->on[YPI_RUN_OPENS](to);
        all->count += status == YP_OK;
    }
    return status;
}

static enum yp_status emit(struct ypi_reporting *to, enum ypi_event event)
{
    const struct ypi_reporter *reporter = to->reporter;
    enum yp_status status = reporter->on[event] != NULL ? reporter->on[event](to) : YP_OK;
    if (reporter->has_file && event == YPI_RUN_ENDS)
        status = ypi_partial_close(&to->file);
    else if (reporter->has_file && event == YPI_RUN_DROPPED)
        ypi_partial_abandon(&to->file);
    return status;
}

bool ypi_report(struct ypi_reports *all, enum ypi_event event, const struct ypi_result *r)
{
    const int count = all->count;
    bool ok = true;
    all->count = event < YPI_RUN_ENDS ? count : 0;
    for (struct ypi_reporting *to = all->list; to < all->list + count; to++) {
        to->r = r;
        to->number += event == YPI_RESULT;
        if (emit(to, event) != YP_OK) {
            fprintf(stderr, "error: %s\n", yp_last_error());
            ok = false;
        }
        if (event >= YPI_RUN_ENDS)
            free(to->state);
    }
    return ok;
}
