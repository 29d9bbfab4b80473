/* models/graph/command/progress: a bar on a terminal, and how often a line is written elsewhere. */
#include "models/graph/command/progress.h"

#include <criterion/criterion.h>

Test(graph_progress, a_terminal_has_a_bar_that_fills)
{
    struct ypi_graph_progress p = {.terminal = true};
    char text[YPI_GRAPH_PROGRESS];
    cr_expect_str_eq(ypi_graph_progress(&p, 5, 1, 1000, 90, text),
                     "\rgraph: [                        ] 1 of 1000 graphs; 90 s left   ");
    cr_expect_str_eq(ypi_graph_progress(&p, 5.2, 500, 1000, 2.5, text),
                     "\rgraph: [############            ] 500 of 1000 graphs; 2.5 s left   ");
    cr_expect_str_eq(ypi_graph_progress(&p, 9, 1000, 1000, 0, text),
                     "\rgraph: [########################] 1000 of 1000 graphs; 0 s left   \n");
    cr_expect_str_eq(ypi_graph_progress(&p, 9, 0, 0, 0, text),
                     "\rgraph: [########################] 0 of 0 graphs; 0 s left   \n");
}

Test(graph_progress, elsewhere_a_line_every_30_seconds)
{
    struct ypi_graph_progress p = {.terminal = false};
    char text[YPI_GRAPH_PROGRESS];
    int lines = 0;
    cr_expect_str_eq(ypi_graph_progress(&p, 1000, 1, 1000, 90, text), "");
    cr_expect_str_eq(ypi_graph_progress(&p, 1029.9, 100, 1000, 90, text), "");
    cr_expect_str_eq(ypi_graph_progress(&p, 1030.5, 200, 1000, 45, text),
                     "graph: 200 of 1000 graphs; 45 s left\n");
    cr_expect_str_eq(ypi_graph_progress(&p, 1031, 1000, 1000, 0, text), "", "nor at the end");
    for (int second = 0; second < 300; second++)
        lines += ypi_graph_progress(&p, 1031 + second, 200, 1000, 45, text)[0] != '\0';
    cr_expect_eq(lines, 9, "%d lines in 300 s", lines);
}
