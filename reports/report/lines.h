/* What Markdown and terminal show of a case, as texts: both show the same figures. */
#pragma once

#include "base/text/figures.h"
#include "base/text/text.h"
#include "reports/content/content.h"

#include <cJSON.h>

/* "failed", "undecided", "changed", "passed", "skipped". */
const char *ypi_section_name(enum ypi_section section);

/* "2 failed, 1 changed, 97 passed; 1 only in the run compared with": what there is none of is left
 * out. */
void ypi_add_counts(struct ypi_text *out, const struct ypi_content *content);

/* "run 0123abcd of 2026-11-28 22:30:01, commit 0123456789 (dirty), host, unfinished". */
void ypi_add_run(struct ypi_text *out, const cJSON *run);
/* The run that the reported one is compared with; of several the first, and how many more. */
void ypi_add_bases(struct ypi_text *out, const struct ypi_content *content);

struct ypi_budget_words {
    char text[256];                                /* the budget as a sentence */
    char measured[128], interval[260], limit[128]; /* "" where there is none */
    char distance[YPI_FIGURE_MAX];                 /* above 0 on the good side; "" */
    const char *met;                               /* the document's */
};
/* Of an element of the document's "budgets". */
void ypi_word_budget(struct ypi_budget_words *out, const cJSON *document, const cJSON *budget);

struct ypi_measured_words {
    const char *name; /* the document's */
    /* Items, operations or bytes a second where they are known, else seconds; with their share of
     * what bounds them; interval: "[low, high]", "" where there is none. */
    char figure[YPI_FIGURE_MAX], share[YPI_FIGURE_MAX], interval[2 * YPI_FIGURE_MAX + 8];
};
/* Of an element of the document's "measurements". */
void ypi_word_measured(struct ypi_measured_words *out, const cJSON *measurement);

/* Why a case was skipped, or what it came to: the first line of its reason, else of its first
 * failure's message; "" */
const char *ypi_reason_of(const cJSON *document);
