/* A report as Markdown, for a merge request: failed and changed cases whole, the others in a folded
 * table, at most 60,000 characters together. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>
#include <yieldpoint/device.h>

/* GitHub takes 65,536 characters in a comment. Counted in bytes, of which no character has less. */
#define YPI_MARKDOWN_MAX 60000

struct ypi_markdown;

/* `content` stays in use until ypi_markdown_finish(). "-": the standard output. */
struct ypi_markdown *ypi_markdown_create(const char *path, const struct ypi_content *content)
    __attribute__((returns_nonnull));

/* One case, in the order of the content. What does not fit is counted. */
void ypi_markdown_take(struct ypi_markdown *markdown, const struct ypi_report_case *one,
                       const cJSON *document);

/* Writes the text and frees it, also where it fails: the file appears whole or not at all.
 * `advice`: an array of {text, evidence, try} or NULL. YP_IO with yp_last_error() set. */
enum yp_status ypi_markdown_finish(struct ypi_markdown *markdown, const cJSON *advice);

/* Frees it and writes nothing; NULL is allowed. */
void ypi_markdown_drop(struct ypi_markdown *markdown);
