/* Small charts of one line on a terminal. */
#pragma once

#include "base/text/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the terminal's character set, by LC_ALL, LC_CTYPE or LANG, has block elements. */
bool ypi_chart_blocks(void);

/* A bar of `part` (0 to 1; NaN is 0) of `width` columns, padded with blanks: in eighths of a column
 * with `blocks`, else in whole ones of '#'. What is above 0 has one step at least. */
void ypi_chart_bar(struct ypi_text *out, double part, int width, bool blocks);

/* A column for each value, between the least and the most of them; ' ' for NaN. All in the middle
 * where they differ by less than 2 %, which is no change worth a picture. */
void ypi_chart_line(struct ypi_text *out, const double *values, size_t count, bool blocks);
