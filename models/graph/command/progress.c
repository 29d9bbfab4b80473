#include "models/graph/command/progress.h"

#include "base/text/figures.h"

#include <stdio.h>
#include <string.h>

#define EVERY 30.0 /* seconds */
enum { BAR = 24 };

const char *ypi_graph_progress(struct ypi_graph_progress *p, double now, size_t done, size_t graphs,
                               double seconds_left, char *text)
{
    char left[YPI_FIGURE_MAX], bar[BAR + 1];
    const size_t filled = graphs > 0 ? (size_t)((double)done / (double)graphs * BAR) : BAR;
    text[0] = '\0';
    ypi_format_seconds(left, seconds_left);
    if (p->terminal) {
        memset(bar, ' ', BAR);
        memset(bar, '#', filled);
        bar[BAR] = '\0';
        snprintf(text, YPI_GRAPH_PROGRESS, "\rgraph: [%s] %zu of %zu graphs; %s left%s", bar, done,
                 graphs, left, done < graphs ? "   " : "   \n");
        return text;
    }
    if (p->told == 0)
        p->told = now;
    if (now - p->told < EVERY)
        return text;
    p->told = now;
    snprintf(text, YPI_GRAPH_PROGRESS, "graph: %zu of %zu graphs; %s left\n", done, graphs, left);
    return text;
}
