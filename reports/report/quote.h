/* Foreign text in Markdown (GitHub Flavored Markdown 0.29), so that it stays text. */
#pragma once

#include "base/text/text.h"

/* A span of code with nothing but the text in it, at most `most` bytes: between as many backquotes
 * as the text does not have in a row; in one line, without control characters. Not in a table,
 * which splits its cells at each `|` before it looks for spans of code: ypi_summary_escaped(). */
void ypi_markdown_span(struct ypi_text *out, const char *text, size_t most);

/* A block of code of the language, all lines, at most `most` bytes of it. */
void ypi_markdown_block(struct ypi_text *out, const char *language, const char *text, size_t most);
