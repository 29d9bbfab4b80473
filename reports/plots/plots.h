/* The plots of a report, drawn as SVG: of each test that was measured over an axis four plots and
 * its scaling law, of all cases together one roofline. Documents are taken one at a time; of each
 * only the figures that a plot shows are kept. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>
#include <stddef.h>
#include <yieldpoint/device.h>

struct ypi_plot {
    const char *name;  /* of the file, without its ending: letters, digits, '-', '_' and '.' */
    const char *title; /* for a person */
    const char *group; /* a test's name, "run" for the roofline */
    struct ypi_drawing *figure; /* owned; NULL once it is drawn */
    char *svg;                  /* owned; NULL before it is drawn */
    cJSON *table; /* {columns: [text..], rows: [[text or number or null..]..], notes: [text..]}:
                     the numbers behind it, and what is not drawn and why */
};

struct ypi_plot_list {
    struct ypi_plot *list;
    size_t count;
};

/* Well-formed, stands alone in a file and inline in a page; drawn when it is first asked for,
 * because a page of many cases shows few of its plots. The plot's. */
const char *ypi_plot_svg(struct ypi_plot *plot);

struct ypi_plots;

struct ypi_plots *ypi_plots_create(void);
void ypi_plots_free(struct ypi_plots *plots); /* of one that is not finished; NULL is nothing */

/* Keeps what the plots show of `document` (ypi_document_of_result()'s shape). */
enum yp_status ypi_plots_take(struct ypi_plots *plots, const struct ypi_report_case *about,
                              const cJSON *document);

/* A bare CSV with the columns of `history export --columns tile-sweep` or `model-sweep`
 * (docs/history.md), in any order; cells may be empty, columns may be missing. YP_INVALID with
 * yp_last_error() "FILE:LINE: what is wrong"; YP_IO where it cannot be read. */
enum yp_status ypi_plots_take_csv(struct ypi_plots *plots, const char *path);

/* Makes them, in the order of their groups, and frees `plots`. Owned by the caller:
 * ypi_plot_list_free(). Never NULL; empty where nothing can be drawn. */
struct ypi_plot_list *ypi_plots_finish(struct ypi_plots *plots);
void ypi_plot_list_free(struct ypi_plot_list *list);

/* NAME.svg and NAME.png in `directory`, which is created. A build without librsvg writes no PNG and
 * says so once on stderr. YP_IO where a file cannot be written. */
enum yp_status ypi_plots_write(const struct ypi_plot_list *list, const char *directory);
