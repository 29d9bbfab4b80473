/* The report as one HTML page: no file beside it, no network, opened from disk. It shows the
 * figures that base/text/figures.h prints; its script formats none. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>
#include <yieldpoint/device.h>

struct ypi_page;
struct ypi_plot_list; /* reports/plots/plots.h */

/* `content` stays in use until ypi_page_finish(). NULL with yp_last_error() set where no file can
 * be created at `path`. */
struct ypi_page *ypi_page_create(const char *path, const struct ypi_content *content);

/* One case, in any order. Nothing of `document` is kept. */
enum yp_status ypi_page_take(struct ypi_page *page, const struct ypi_report_case *one,
                             const cJSON *document);

/* Writes the page and frees it, also where it fails: the file appears whole or not at all. `plots`
 * and `advice` (an array of {kind, about, text, evidence, try}) may be NULL. */
enum yp_status ypi_page_finish(struct ypi_page *page, const struct ypi_plot_list *plots,
                               const cJSON *advice);

/* Frees it and leaves no file. NULL is allowed. */
void ypi_page_drop(struct ypi_page *page);
