/* Contents and documents made by hand, for tests of the page: as many cases as asked for, in all
 * sections, with a past; or with names and figures that would be markup, or are none. */
#pragma once

#include "reports/content/content.h"
#include "reports/plots/plots.h"

struct planted;

struct planted *planted_make(size_t cases, int past, bool hostile);
void planted_free(struct planted *planted);
const struct ypi_content *planted_content(const struct planted *planted);
/* Owned by the caller. */
cJSON *planted_document(const struct planted *planted, size_t at);
/* A plot of the run with a mark for each of the first cases, and behind it those of `more`, which
 * may be NULL and which it takes. Owned by the caller: ypi_plot_list_free(). */
struct ypi_plot_list *planted_plots(const struct planted *planted, struct ypi_plot_list *more);
cJSON *planted_advice(const struct planted *planted);

/* What is in hostile ids, names and texts: each would be seen in a page that does not escape it. */
#define PLANTED_MARKUP "</script><script>window.bad=1</script><img src=x onerror=\"window.bad=1\">"
