/* The analysis in words: what a person who reads the figures of a run would say of them. A sentence
 * is there where the history has the figures for it, and has them beside it; where they are missing
 * nothing is said. `reports/advice/rule.h` says how a rule is written. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>
#include <yieldpoint/device.h>

/* What is known of the cases so far. It keeps a few figures of each case, no samples. */
struct ypi_advisor;

/* `memory_limit`: bytes that recommended configurations may take; 0: what the machine of each case
 * has. Owned by the caller: ypi_advisor_free(), or ypi_advisor_finish() frees it. */
struct ypi_advisor *ypi_advisor_create(double memory_limit) __attribute__((returns_nonnull));

/* One case: `which` may be without changes and past, of which only id, test and outcome are read.
 * `document`: ypi_document_of_result()'s, with samples; both are read in the call alone. */
void ypi_advisor_take(struct ypi_advisor *advisor, const struct ypi_report_case *which,
                      const cJSON *document);

/* Frees the advisor. An array of {kind, about, text, evidence: [text..], try: [text..]}, the most
 * urgent first, those as urgent by `about`. `kind`: the rule's name, "bottleneck-data", ...;
 * `about`: a case's id, the name of a test, or "" for all of the run. An entry of the kind
 * "recommended-..." has the object `configuration` {goal: "latency", "throughput" or "training";
 * test, case; those of tile, batch, accumulation and precision that are axes of the case: as text}.
 * Texts are UTF-8 but may hold any other character. Owned by the caller: cJSON_Delete(). */
cJSON *ypi_advisor_finish(struct ypi_advisor *advisor);

void ypi_advisor_free(struct ypi_advisor *advisor); /* NULL is allowed */

/* The recommended configurations as an ini file that base/options/ini.h reads: a section
 * `[GOAL CASE]` for each, with its keys and, as a comment, its evidence. YP_INVALID where there is
 * none to write; YP_IO where the file cannot be written, which then is not there or stays as it
 * was. "-" is the standard output. Both with yp_last_error() set. */
enum yp_status ypi_advice_write_ini(const cJSON *advice, const char *path);

/* For a terminal, to the standard output: a sentence, its evidence, what to try, in this order. */
void ypi_advice_print(const cJSON *advice);
