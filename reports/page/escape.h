/* Text of any origin as text of a page, never as markup. Bytes that are no UTF-8 and control
 * characters become U+FFFD; NULL is the empty text. */
#pragma once

#include "base/text/text.h"

/* Between tags and in quoted attributes. */
void ypi_page_html(struct ypi_text *out, const char *text);

/* JSON inside <script>: nothing in it ends the element or begins a comment. Each function writes
 * the comma before its value where one is due. */
void ypi_page_string(struct ypi_text *out, const char *text);
void ypi_page_number(struct ypi_text *out, size_t number);
void ypi_page_open(struct ypi_text *out, char bracket);
void ypi_page_close(struct ypi_text *out, char bracket);
void ypi_page_key(struct ypi_text *out, const char *name); /* of an object; its value comes next */
