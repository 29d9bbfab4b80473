#include "reports/watch/screen.h"

#include "base/system/process.h"
#include "base/text/text.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* -- figures ---------------------------------------------------------------------------------- */

/* "12 s", "3 min 02 s", "1 h 05 min": whole seconds, for they change while one looks. */
static void add_duration(struct ypi_text *text, double seconds)
{
    const long long s = seconds > 0 && seconds < 1e15 ? llround(seconds) : 0;
    if (s < 60)
        ypi_text_add(text, "%lld s", s);
    else if (s < 3600)
        ypi_text_add(text, "%lld min %02lld s", s / 60, s % 60);
    else
        ypi_text_add(text, "%lld h %02lld min", s / 3600, s / 60 % 60);
}

/* Bytes that a process has in memory; 0: it is gone, or elsewhere. */
static double resident_of(pid_t pid)
{
    char path[64];
    char text[128];
    unsigned long long all = 0;
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    bool known = file != NULL && fgets(text, sizeof text, file) != NULL &&
                 sscanf(text, "%llu %llu", &all, &pages) == 2;
    if (file != NULL)
        fclose(file);
    return known ? (double)pages * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double resident_with_children(pid_t pid)
{
    enum { MOST = 256 };
    pid_t children[MOST];
    double bytes = pid > 0 ? resident_of(pid) : 0;
    int count = pid > 0 ? ypi_descendants(pid, children, MOST) : 0;
    for (int i = 0; i < count && i < MOST; i++)
        bytes += resident_of(children[i]);
    return bytes;
}

/* "37 of 150 done: 30 passed, 2 failed, 5 skipped" */
static void add_counts(struct ypi_text *text, const struct ypi_watched *w)
{
    const char *before = ": ";
    ypi_text_add(text, "%d", w->done);
    if (w->total > 0)
        ypi_text_add(text, " of %d", w->total);
    ypi_text_add(text, " done");
    for (int i = 0; i < YPI_WATCHED_OUTCOMES && ypi_store_outcome(i) != NULL; i++) {
        if (w->count[i] == 0)
            continue;
        ypi_text_add(text, "%s%d %s", before, w->count[i], ypi_store_outcome(i));
        before = ", ";
    }
}

static void add_left(struct ypi_text *text, const struct ypi_watched *w, double now)
{
    const double left = ypi_watched_left(w, now);
    if (isnan(left)) {
        ypi_text_add(text, "time left is not known yet");
        return;
    }
    ypi_text_add(text, "about ");
    add_duration(text, left);
    ypi_text_add(text, " left");
}

static const char *id_of(const struct ypi_watched *w, const cJSON *one)
{
    const int number = ypi_whole(one, "number");
    return number >= 1 && number <= w->total ? w->list[number - 1].id : "a case";
}

/* "12 s of usually 40 s, body, cuda, 512 MiB" */
static void add_case(struct ypi_text *text, const struct ypi_watched *w, const cJSON *one)
{
    char figure[YPI_FIGURE_MAX];
    const int number = ypi_whole(one, "number");
    const bool planned = number >= 1 && number <= w->total;
    const double usual = planned ? w->list[number - 1].usual : NAN;
    const char *device = planned ? w->list[number - 1].device : "";
    const double bytes = resident_with_children(ypi_whole(one, "pid"));
    const char *stage = ypi_text_of(one, "stage");
    add_duration(text, ypi_real(one, "seconds"));
    if (usual >= 1) {
        ypi_text_add(text, " of usually ");
        add_duration(text, usual);
    }
    ypi_text_add(text, ", %s, %s", *stage ? stage : "begins or ends", *device ? device : "cpu");
    if (bytes > 0) {
        ypi_format_bytes(figure, bytes);
        ypi_text_add(text, ", %s", figure);
    }
    if (ypi_whole(one, "failures") > 0)
        ypi_text_add(text, ", has failed");
}

/* -- a terminal ------------------------------------------------------------------------------- */

struct window {
    int width, height;
    int lines;
};

static struct window window_of(void)
{
    struct winsize size = {0};
    struct window w = {.width = 80, .height = 24};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
        w = (struct window){.width = size.ws_col, .height = size.ws_row};
    return w;
}

/* Prints a line, as far as there is room for it, and empties the text. */
static void put(struct window *window, struct ypi_text *text)
{
    if (window->lines + 1 < window->height) {
        /* Before the text: behind a line as wide as the terminal it erases the last character. */
        fputs("\033[K", stdout);
        ypi_put_line(text->data != NULL ? text->data : "", window->width);
        fputs("\n", stdout);
        window->lines++;
    }
    free(ypi_text_take(text));
}

static void add_bar(struct ypi_text *text, const struct ypi_watched *w)
{
    enum { WIDTH = 20 };
    const int full = w->total > 0 ? (int)((double)WIDTH * w->done / w->total) : 0;
    ypi_text_add(text, "[");
    for (int i = 0; i < WIDTH; i++)
        ypi_text_add(text, i < full ? "#" : ".");
    ypi_text_add(text, "] ");
}

static void draw(struct ypi_screen *s, const struct ypi_watched *w, double now)
{
    struct window window = window_of();
    struct ypi_text text = {0};
    const cJSON *one;
    if (s->lines > 0)
        printf("\033[%dA\r", s->lines);
    ypi_text_add(&text, "run %.8s: %s", w->run, w->command);
    put(&window, &text);
    add_counts(&text, w);
    put(&window, &text);
    if (!ypi_watched_is_over(w)) {
        add_bar(&text, w);
        add_duration(&text, now - w->started);
        ypi_text_add(&text, ", ");
        add_left(&text, w, now);
        put(&window, &text);
    }
    cJSON_ArrayForEach(one, w->now)
    {
        ypi_text_add(&text, "%s", id_of(w, one));
        put(&window, &text);
        ypi_text_add(&text, "    ");
        add_case(&text, w, one);
        put(&window, &text);
        if (*ypi_text_of(one, "rate")) {
            ypi_text_add(&text, "    %s", ypi_text_of(one, "rate"));
            put(&window, &text);
        }
    }
    for (int i = w->failure_count - 1; i >= 0; i--) {
        ypi_text_add(&text, "failed: %s", w->failures[i]);
        put(&window, &text);
    }
    fputs("\033[J", stdout);
    s->lines = window.lines;
}

/* -- elsewhere -------------------------------------------------------------------------------- */

static void print(const char *text)
{
    ypi_put_line(text, 0);
    putchar('\n');
}

/* What is said again only when it has changed: no times. */
static char *state_of(const struct ypi_watched *w)
{
    struct ypi_text text = {0};
    const cJSON *one;
    const char *before = "; runs ";
    add_counts(&text, w);
    cJSON_ArrayForEach(one, w->now)
    {
        ypi_text_add(&text, "%s%s", before, id_of(w, one));
        before = ", ";
    }
    return ypi_text_take(&text);
}

static void say(struct ypi_screen *s, const struct ypi_watched *w, double now)
{
    struct ypi_text text = {0};
    char *state = state_of(w);
    const int failed = ypi_watched_count(w, "failed") + ypi_watched_count(w, "error");
    const int more = failed - s->told_errors;
    if (more > w->failure_count) {
        ypi_text_add(&text, "%d other cases failed", more - w->failure_count);
        print(text.data);
        free(ypi_text_take(&text));
    }
    for (int i = more < w->failure_count ? w->failure_count - more : 0; i < w->failure_count; i++) {
        ypi_text_add(&text, "failed: %s", w->failures[i]);
        print(text.data);
        free(ypi_text_take(&text));
    }
    s->told_errors = failed;
    if (ypi_watched_is_over(w) || (s->said != NULL && strcmp(s->said, state) == 0)) {
        free(state);
        return;
    }
    ypi_text_add(&text, "%s; ", state);
    add_left(&text, w, now);
    print(text.data);
    free(ypi_text_take(&text));
    free(s->said);
    s->said = state;
}

/* -- all -------------------------------------------------------------------------------------- */

void ypi_screen_open(struct ypi_screen *s)
{
    const char *kind = getenv("TERM");
    *s = (struct ypi_screen){.terminal = isatty(STDOUT_FILENO) && kind != NULL && *kind &&
                                         strcmp(kind, "dumb") != 0};
}

void ypi_screen_show(struct ypi_screen *s, const struct ypi_watched *w, double now)
{
    if (s->terminal)
        draw(s, w, now);
    else
        say(s, w, now);
}

void ypi_screen_end(const struct ypi_watched *w, double now)
{
    static const char *const meanings[] = {"all is well",         "cases failed",
                                           "interrupted",         "an error of its own",
                                           "of its command line", "no case"};
    const int known = sizeof meanings / sizeof *meanings;
    struct ypi_text text = {0};
    const bool killed = isnan(w->ended);
    ypi_text_add(&text, "run %.8s %s: ", w->run, killed ? "was killed" : "has ended");
    add_counts(&text, w);
    if (killed) {
        ypi_text_add(&text, "; no end of it is stored, and no process holds its directory");
    } else {
        ypi_text_add(&text, "; exit code %d (%s), after ", w->exit_code,
                     w->exit_code >= 0 && w->exit_code < known ? meanings[w->exit_code]
                                                               : "not known");
        add_duration(&text, fmin(w->ended, now) - w->started);
    }
    print(text.data);
    free(ypi_text_take(&text));
}

void ypi_screen_close(struct ypi_screen *s)
{
    free(s->said);
    *s = (struct ypi_screen){0};
}
