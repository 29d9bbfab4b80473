/* What the files of the page share. */
#pragma once

#include "base/text/text.h"
#include "reports/exports/sink.h"
#include "reports/page/page.h"

/* Runs that the pasts of cases name, each once; a case then has its number. */
struct ypi_page_runs {
    char **ids;
    size_t count, room;
    struct ypi_text json; /* of each [its id's begin, date, commit, "dirty" or ""] */
};

/* Texts that many cases have. In the JSON of a case every number is that of one of them. */
struct ypi_page_pool {
    char **texts; /* a hash table of `room` places */
    size_t *numbers;
    size_t count, room;
    struct ypi_text json;
};

struct ypi_page {
    struct ypi_sink sink;
    const struct ypi_content *content;
    struct ypi_text rows[YPI_SECTIONS]; /* HTML */
    size_t of_section[YPI_SECTIONS];
    struct ypi_text details; /* HTML: blocks of JSON, each of YPI_PAGE_CHUNK cases */
    struct ypi_page_runs runs;
    struct ypi_page_pool pool;
    size_t count;       /* cases taken so far */
    unsigned quantiles; /* drawn of a strip */
    bool intervals;     /* of the past */
};

enum { YPI_PAGE_CHUNK = 50 };

extern const char ypi_page_css[], ypi_page_js[], ypi_page_js_sha256[];

/* Writes a text that other cases may have, too. */
void ypi_page_pooled(struct ypi_page_pool *pool, struct ypi_text *out, const char *text);
void ypi_page_pool_free(struct ypi_page_pool *pool);

/* What a report calls a section: "Failed", "failed". */
const char *ypi_page_section_title(enum ypi_section section);
const char *ypi_page_section_name(enum ypi_section section);

/* Writes the case's part of a table: an element <tbody>. */
void ypi_page_row(struct ypi_page *page, const struct ypi_report_case *one, const cJSON *document);

/* Writes the case as JSON, read when it is opened. README.md has the shape. */
void ypi_page_detail(struct ypi_page *page, const struct ypi_report_case *one,
                     const cJSON *document);
void ypi_page_measurements(struct ypi_page *page, struct ypi_text *out,
                           const struct ypi_report_case *one, const cJSON *list);
/* The series of an accelerator, at most two points a quantile drawn of each. */
void ypi_page_series(struct ypi_page *page, struct ypi_text *out, const cJSON *series);

/* Members of the case's object: "P", its runs by number, outcomes and peaks. */
void ypi_page_past(struct ypi_page *page, struct ypi_text *out, const struct ypi_report_case *one);
/* Members of a measurement's object: "y", its past as texts, "c", where its level changes. */
void ypi_page_past_of(struct ypi_text *out, const struct ypi_report_case *one, const char *name,
                      bool intervals);

/* All but the cases. */
void ypi_page_head(struct ypi_text *out, const struct ypi_page *page, bool plots, bool advice);
void ypi_page_advice(struct ypi_text *out, const cJSON *advice);
/* Tests whose plots begin behind `room` bytes are counted and not drawn. */
void ypi_page_plots(struct ypi_text *out, const struct ypi_plot_list *plots, size_t room);
void ypi_page_environment(struct ypi_text *out, const struct ypi_content *content);
/* The same as JSON for the cases: of each run its label and [fact, now, before] that differ. */
void ypi_page_environment_json(struct ypi_text *out, const struct ypi_content *content);

/* -- figures as texts, "" for NaN; they stay as those of reports/format.h do ------------------- */

const char *ypi_page_seconds(const cJSON *object, const char *name);
const char *ypi_page_bytes(const cJSON *object, const char *name);
/* "1.2–1.3 ms", "900 us – 1.1 ms"; "" where one of them is "". */
void ypi_page_interval(struct ypi_text *out, const char *low, const char *high);
/* Positions 0 to 4095 between `least` and `most`, two characters each (RFC 4648's base64url). */
void ypi_page_position(char out[3], double value, double least, double most);
/* A budget as a sentence, and figures in its unit. */
void ypi_page_budget(char out[256], const cJSON *document, const cJSON *budget);
void ypi_page_budget_figure(char out[128], const cJSON *document, const cJSON *budget,
                            const char *member);
/* "copy from memory at 12.3 GB/s on 2 threads": the nearest ceiling of the measurement `name`, or
 * of the first that has one; "" where none was probed. */
void ypi_page_ceiling(char out[256], const cJSON *document, const char *name);
