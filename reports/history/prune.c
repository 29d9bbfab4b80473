/* yieldpoint history prune: old results, or their samples, away. */
#include "reports/history/request.h"

#include "base/system/clock.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "base/text/time.h"
#include "reports/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
    struct ypi_history_request which; /* first: the options of the filter are read into it */
    const char *word;                 /* "prune" */
    int keep_last;
    double older_than;
    bool samples, dry_run;
};

static char *read_older_than(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_span span;
    (void)option;
    if (!ypi_parse_time(text, ypi_wall_clock(), &span))
        return ypi_strdup(YPI_TIME_ALLOWED);
    ((struct request *)values)->older_than = span.first;
    return NULL;
}

static double size_of(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? (double)s.st_size : 0;
}

static void print(const struct request *r, const struct ypi_pruned *p)
{
    const char *would = r->dry_run ? "would be " : "";
    if (r->samples)
        printf("samples of %lld result%s %sdropped\n", p->results, ypi_plural(p->results), would);
    else
        printf("%lld result%s %sdeleted, with %lld run%s and %lld case%s\n", p->results,
               ypi_plural(p->results), would, p->runs, ypi_plural(p->runs), p->cases,
               ypi_plural(p->cases));
    if (p->gates > 0)
        printf("%lld gate%s %sdeleted\n", p->gates, ypi_plural(p->gates), would);
}

/* The results are deleted whether or not this is possible. */
static int shrink(sqlite3 *db, const char *path)
{
    char from[YPI_FIGURE_MAX];
    char to[YPI_FIGURE_MAX];
    double before = size_of(path);
    bool busy = false;
    if (ypi_history_shrink(db, &busy) != YP_OK)
        return ypi_file_error();
    if (busy) {
        puts("its room is used again, but the file stays as large: another process has it open; "
             "prune again later");
        return YPI_COMMAND_OK;
    }
    ypi_format_bytes(from, before);
    ypi_format_bytes(to, size_of(path));
    if (size_of(path) < before)
        printf("the file has %s, it had %s\n", to, from);
    return YPI_COMMAND_OK;
}

static int prune(const struct request *r, const char *path)
{
    const struct ypi_pruning what = {r->which.filter, r->keep_last, r->older_than, r->samples,
                                     path};
    struct ypi_pruned pruned;
    /* A history that is not there is not to be made. */
    bool read = r->dry_run || access(path, F_OK) != 0;
    sqlite3 *db = read ? ypi_store_open(path) : ypi_store_open_to_write(path);
    if (!db)
        return ypi_file_error();
    int code = YPI_COMMAND_OK;
    if (ypi_history_prune(db, &what, r->dry_run, &pruned) != YP_OK) {
        code = ypi_file_error();
    } else {
        print(r, &pruned);
        if (!r->dry_run)
            code = shrink(db, path);
    }
    sqlite3_close(db);
    int flushed = ypi_flush();
    return code != YPI_COMMAND_OK ? code : flushed;
}

int ypi_history_prune_command(int argc, char **argv)
{
    struct request r = {0};
    static const struct ypi_option options[] = {
        YPI_HISTORY_FILTER,
        {"keep-last", .kind = YPI_OPTION_INT, .offset = offsetof(struct request, keep_last),
         .min = 1, .max = 999999999},
        YPI_HISTORY_OWN("older-than", read_older_than),
        {"samples", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, samples)},
        {"dry-run", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, dry_run)},
        YPI_OPTIONS_END,
    };
    if (!ypi_history_read(
            &(struct ypi_arguments){.options = options, .values = &r, .word = &r.word}, argc, argv))
        return YPI_COMMAND_USAGE;
    if (r.keep_last == 0 && r.older_than <= 0 && ypi_filter_is_empty(&r.which.filter)) {
        ypi_usage_error(argc, argv, argc,
                        "which results? --keep-last N, --older-than 30d, --id PART, -m EXPR, "
                        "-k EXPR, --machine, --commit, --device, --outcome, --since and --until "
                        "say so");
        return YPI_COMMAND_USAGE;
    }
    char *path = ypi_store_path(r.which.file);
    int code = path ? prune(&r, path) : ypi_file_error();
    free(path);
    return code;
}
