/* yieldpoint watch: a run that goes on, seen from another terminal. */
#include "reports/reports.h"

#include "base/options/arguments.h"
#include "base/system/clock.h"
#include "base/text/output.h"
#include "reports/watch/screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of a run that was killed: that of one that was interrupted. */
enum { KILLED = 2 };

struct request {
    const char *file;
    const char *word;
};

static void rest(void)
{
    const struct timespec half = {.tv_nsec = 500000000};
    nanosleep(&half, NULL);
}

/* Until the run is over, or nobody reads what is printed. */
static int follow(struct ypi_watched *w)
{
    struct ypi_screen screen;
    int code = YPI_COMMAND_OK;
    bool over = false;
    ypi_screen_open(&screen);
    while (code == YPI_COMMAND_OK && !over) {
        if (ypi_watched_read(w) != YP_OK) {
            code = ypi_file_error();
            break;
        }
        over = ypi_watched_is_over(w);
        ypi_screen_show(&screen, w, ypi_wall_clock());
        if (over)
            ypi_screen_end(w, ypi_wall_clock());
        code = ypi_flush();
        if (!over)
            rest();
    }
    ypi_screen_close(&screen);
    if (code != YPI_COMMAND_OK)
        return code;
    return isnan(w->ended) ? KILLED : w->exit_code;
}

static int watch(const char *history, const char *word)
{
    struct ypi_watched w;
    char *why = NULL;
    int code = YPI_COMMAND_NOTHING;
    if (ypi_watched_find(&w, history, word, &why))
        code = follow(&w);
    else if (why != NULL)
        fprintf(stderr, "yieldpoint: %s\n", why);
    else
        code = ypi_file_error();
    ypi_watched_clear(&w);
    free(why);
    return code;
}

int ypi_report_watch(int argc, char **argv)
{
    struct request r = {0};
    static const struct ypi_option options[] = {
        {"history", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, file)},
        YPI_STORE_VERBOSE,
        YPI_OPTIONS_END,
    };
    if (!ypi_arguments_read(
            &(struct ypi_arguments){.options = options, .values = &r, .word = &r.word}, argc, argv))
        return YPI_COMMAND_USAGE;
    if (r.word != NULL && *r.word == '\0') {
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, r.word),
                        "the word is empty; leave it out for the newest run that goes on");
        return YPI_COMMAND_USAGE;
    }
    char *history = ypi_store_path(r.file);
    int code = history != NULL ? watch(history, r.word) : ypi_file_error();
    free(history);
    return code;
}
