/* A report on a terminal: failed and changed cases whole, the others a line each with a bar chart
 * of their test and a small chart of their past. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>

struct ypi_report_text;

/* `content` stays in use until ypi_report_text_finish(). */
struct ypi_report_text *ypi_report_text_create(const struct ypi_content *content)
    __attribute__((returns_nonnull));
/* One case, in the order of the content. */
void ypi_report_text_take(struct ypi_report_text *text, const struct ypi_report_case *one,
                          const cJSON *document);
/* Prints what is left, the advice (an array as of ypi_advisor_finish(), or NULL) and, as the last
 * line, the counts; and frees it. */
void ypi_report_text_finish(struct ypi_report_text *text, const cJSON *advice);
void ypi_report_text_drop(struct ypi_report_text *text); /* frees it; NULL is allowed */
