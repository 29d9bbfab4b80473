#include "reports/report/markdown.h"

#include "base/text/output.h"
#include "base/text/text.h"
#include "gate/summary.h"
#include "reports/report/lines.h"
#include "reports/report/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAIL = 1000,         /* bytes that the end takes: closed sections, what was left out */
    FOLDED_MOST = 40000, /* up to there cases that passed or were skipped are listed */
    WHOLE_MOST = 54000,  /* the others; what is left is for the advice */
    ID_MOST = 4200,      /* bytes of an id in a heading */
    FAILURES_MOST = 5,   /* of a case, and of each this many bytes */
    MESSAGE_MOST = 1200,
    BUDGETS_MOST = 12,
    CHANGES_MOST = 12,
    RUNS_MOST = 5,
    GONE_MOST = 10,
    REPRODUCE_MOST = 9000,
};

struct ypi_markdown {
    const char *path;
    const struct ypi_content *content;
    struct ypi_text text;
    int section; /* whose heading was written last; -1: none */
    size_t left_out[YPI_SECTIONS];
};

/* -- the head ------------------------------------------------------------------------------ */

static void add_runs(struct ypi_text *out, const struct ypi_content *content)
{
    const cJSON *run;
    struct ypi_text line = {0};
    int count = 0;
    cJSON_ArrayForEach(run, content->runs)
    {
        if (count++ >= RUNS_MOST)
            continue;
        ypi_add_run(&line, run);
        char *text = ypi_text_take(&line);
        ypi_text_add(out, "- ");
        ypi_markdown_span(out, text, MESSAGE_MOST);
        ypi_text_add(out, "\n");
        free(text);
    }
    if (count > RUNS_MOST)
        ypi_text_add(out, "- and %d more runs\n", count - RUNS_MOST);
    if (content->against != NULL)
        ypi_add_bases(&line, content);
    char *text = ypi_text_take(&line);
    ypi_text_add(out, "- compared with ");
    if (*text != '\0')
        ypi_markdown_span(out, text, MESSAGE_MOST);
    else
        ypi_text_add(out, "no run: the history has none before it with the same cases, options and "
                          "machine");
    ypi_text_add(out, "\n");
    free(text);
}

static void add_gone(struct ypi_text *out, const struct ypi_content *content)
{
    if (content->gone_count == 0)
        return;
    ypi_text_add(out, "- only in the run compared with:");
    for (size_t i = 0; i < content->gone_count && i < GONE_MOST; i++) {
        ypi_text_add(out, "%s ", i > 0 ? "," : "");
        ypi_markdown_span(out, content->gone[i], 300);
    }
    if (content->gone_count > GONE_MOST)
        ypi_text_add(out, " and %zu more", content->gone_count - GONE_MOST);
    ypi_text_add(out, "\n");
}

static void add_head(struct ypi_text *out, const struct ypi_content *content)
{
    ypi_text_add(out, "## ");
    ypi_add_counts(out, content);
    ypi_text_add(out, "\n\n");
    add_runs(out, content);
    for (size_t i = 0; i < content->note_count; i++) {
        ypi_text_add(out, "- ");
        ypi_markdown_span(out, content->notes[i], MESSAGE_MOST);
        ypi_text_add(out, "\n");
    }
    add_gone(out, content);
}

struct ypi_markdown *ypi_markdown_create(const char *path, const struct ypi_content *content)
{
    struct ypi_markdown *m = ypi_calloc(1, sizeof *m);
    *m = (struct ypi_markdown){.path = path, .content = content, .section = -1};
    add_head(&m->text, content);
    return m;
}

/* -- a case that is shown whole ---------------------------------------------------------------- */

static void add_failures(struct ypi_text *out, const cJSON *document)
{
    const cJSON *failure;
    int count = 0;
    cJSON_ArrayForEach(failure, cJSON_GetObjectItemCaseSensitive(document, "failures"))
    {
        struct ypi_text message = {0};
        if (count++ >= FAILURES_MOST)
            continue;
        ypi_text_add(&message, "%s", ypi_text_of(failure, "cause"));
        if (*ypi_text_of(failure, "file") != '\0')
            ypi_text_add(&message, ", %s:%.0f", ypi_text_of(failure, "file"),
                         ypi_real(failure, "line"));
        ypi_text_add(&message, ": %s", ypi_text_of(failure, "message"));
        char *text = ypi_text_take(&message);
        ypi_markdown_block(out, "text", text, MESSAGE_MOST);
        free(text);
    }
    if (count > FAILURES_MOST)
        ypi_text_add(out, "and %d more failures\n", count - FAILURES_MOST);
}

static void add_cell(struct ypi_text *out, const char *text)
{
    char *clean = ypi_utf8(text);
    ypi_text_add(out, " ");
    ypi_summary_escaped(out, clean);
    ypi_text_add(out, " |");
    free(clean);
}

static void add_budget(struct ypi_text *out, const struct ypi_budget_words *b)
{
    ypi_text_add(out, "|");
    add_cell(out, b->text);
    add_cell(out, b->met);
    add_cell(out, b->measured);
    add_cell(out, b->interval);
    add_cell(out, b->limit);
    add_cell(out, b->distance);
    ypi_text_add(out, "\n");
}

/* Those that are not met before the others. */
static void add_budgets(struct ypi_text *out, const cJSON *document)
{
    const cJSON *budgets = cJSON_GetObjectItemCaseSensitive(document, "budgets");
    int count = 0;
    if (cJSON_GetArraySize(budgets) == 0)
        return;
    ypi_text_add(out, "\n| budget | | measured | interval | limit | distance |\n"
                      "|---|---|---|---|---|---|\n");
    for (int met = 0; met < 2; met++) {
        const cJSON *b;
        cJSON_ArrayForEach(b, budgets)
        {
            struct ypi_budget_words words;
            if ((strcmp(ypi_text_of(b, "met"), "met") == 0) != (met == 1) ||
                count++ >= BUDGETS_MOST)
                continue;
            ypi_word_budget(&words, document, b);
            add_budget(out, &words);
        }
    }
    ypi_text_add(out, "\n");
    if (count > BUDGETS_MOST)
        ypi_text_add(out, "and %d more budgets\n\n", count - BUDGETS_MOST);
}

static void add_changes(struct ypi_text *out, const struct ypi_report_case *one)
{
    for (size_t i = 0; i < one->change_count && i < CHANGES_MOST; i++) {
        const struct ypi_change *c = &one->changes[i];
        ypi_text_add(out, "- %s%s%s: ", c->worse ? "**" : "", c->word, c->worse ? "**" : "");
        ypi_markdown_span(out, c->text, MESSAGE_MOST);
        ypi_text_add(out, "\n");
    }
    if (one->change_count > CHANGES_MOST)
        ypi_text_add(out, "- and %zu more changes\n", one->change_count - CHANGES_MOST);
}

/* A history is a file from anywhere: what is no outcome is not printed. */
static const char *known_outcome(const char *outcome)
{
    for (int i = 0; ypi_store_outcome(i) != NULL; i++)
        if (strcmp(ypi_store_outcome(i), outcome) == 0)
            return outcome;
    return "unknown outcome";
}

static void add_whole(struct ypi_text *out, const struct ypi_report_case *one,
                      const cJSON *document)
{
    const char *reason =
        ypi_text_of(cJSON_GetObjectItemCaseSensitive(document, "result"), "reason");
    const char *again = ypi_text_of(document, "reproduce");
    ypi_text_add(out, "\n#### ");
    ypi_markdown_span(out, one->id, ID_MOST);
    ypi_text_add(out, "\n\n%s", known_outcome(one->outcome));
    if (*reason != '\0') {
        ypi_text_add(out, ": ");
        ypi_markdown_span(out, reason, MESSAGE_MOST);
    }
    ypi_text_add(out, "\n\n");
    add_changes(out, one);
    if (one->change_count > 0)
        ypi_text_add(out, "\n");
    add_failures(out, document);
    add_budgets(out, document);
    if (*again != '\0')
        ypi_markdown_block(out, "sh", again, REPRODUCE_MOST);
}

/* -- one of a table ------------------------------------------------------------------------- */

static void add_row(struct ypi_text *out, const struct ypi_report_case *one, const cJSON *document)
{
    const cJSON *measurements = cJSON_GetObjectItemCaseSensitive(document, "measurements");
    struct ypi_measured_words words = {.name = ""};
    char figure[2 * YPI_FIGURE_MAX] = "";
    if (measurements != NULL && measurements->child != NULL) {
        ypi_word_measured(&words, measurements->child);
        snprintf(figure, sizeof figure, "%s%s", words.figure, words.share);
    }
    ypi_text_add(out, "|");
    add_cell(out, one->id);
    if (one->section == YPI_SKIPPED) {
        add_cell(out, ypi_reason_of(document));
    } else {
        add_cell(out, words.name);
        add_cell(out, figure);
        add_cell(out, words.interval);
    }
    ypi_text_add(out, "\n");
}

/* -- sections ------------------------------------------------------------------------------- */

static bool is_folded(int section)
{
    return section == YPI_PASSED || section == YPI_SKIPPED;
}

static void close_section(struct ypi_markdown *m)
{
    if (is_folded(m->section))
        ypi_text_add(&m->text, "\n</details>\n");
    m->section = -1;
}

static void open_section(struct ypi_markdown *m, enum ypi_section section)
{
    const size_t count = m->content->of_section[section];
    const char *name = ypi_section_name(section);
    close_section(m);
    m->section = (int)section;
    if (is_folded((int)section))
        ypi_text_add(&m->text, "\n<details><summary>%zu %s</summary>\n\n%s", count, name,
                     section == YPI_SKIPPED ? "| case | why |\n|---|---|\n"
                                            : "| case | measurement | typical | interval |\n"
                                              "|---|---|---|---|\n");
    else
        ypi_text_add(&m->text, "\n### %zu %s\n", count, name);
}

void ypi_markdown_take(struct ypi_markdown *m, const struct ypi_report_case *one,
                       const cJSON *document)
{
    struct ypi_text part = {0};
    const size_t most = is_folded((int)one->section) ? FOLDED_MOST : WHOLE_MOST;
    if (m->left_out[one->section] > 0) { /* in order: no later one in the place of an earlier one */
        m->left_out[one->section]++;
        return;
    }
    if (is_folded((int)one->section))
        add_row(&part, one, document);
    else
        add_whole(&part, one, document);
    if (m->section != (int)one->section)
        open_section(m, one->section);
    if (m->text.length + part.length > most)
        m->left_out[one->section]++;
    else
        ypi_text_bytes(&m->text, part.data, part.length);
    free(ypi_text_take(&part));
}

/* -- the end -------------------------------------------------------------------------------- */

static void add_list(struct ypi_text *out, const cJSON *list, const char *before)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            continue;
        ypi_text_add(out, "  - %s", before);
        ypi_markdown_span(out, item->valuestring, MESSAGE_MOST);
        ypi_text_add(out, "\n");
    }
}

/* As many sentences as fit; returns how many do not. */
static int add_advice(struct ypi_text *out, const cJSON *advice)
{
    const cJSON *one;
    int left_out = 0;
    if (cJSON_GetArraySize(advice) > 0)
        ypi_text_add(out, "\n### Advice\n\n");
    cJSON_ArrayForEach(one, advice)
    {
        struct ypi_text part = {0};
        ypi_text_add(&part, "- ");
        if (*ypi_text_of(one, "about") != '\0') {
            ypi_markdown_span(&part, ypi_text_of(one, "about"), 300);
            ypi_text_add(&part, ": ");
        }
        ypi_markdown_span(&part, ypi_text_of(one, "text"), MESSAGE_MOST);
        ypi_text_add(&part, "\n");
        add_list(&part, cJSON_GetObjectItemCaseSensitive(one, "evidence"), "evidence: ");
        add_list(&part, cJSON_GetObjectItemCaseSensitive(one, "try"), "try: ");
        if (left_out > 0 || out->length + part.length + TAIL > YPI_MARKDOWN_MAX)
            left_out++;
        else
            ypi_text_bytes(out, part.data, part.length);
        free(ypi_text_take(&part));
    }
    return left_out;
}

static void add_left_out(struct ypi_markdown *m, int advice)
{
    const char *between = "\nLeft out, because a comment has only so much room: ";
    for (int s = 0; s < YPI_SECTIONS; s++) {
        if (m->left_out[s] == 0)
            continue;
        ypi_text_add(&m->text, "%s%zu %s", between, m->left_out[s],
                     ypi_section_name((enum ypi_section)s));
        between = ", ";
    }
    if (advice > 0)
        ypi_text_add(&m->text, "%s%d sentence%s of advice", between, advice,
                     advice == 1 ? "" : "s");
    if (*between == ',' || advice > 0)
        ypi_text_add(&m->text, ".\n");
}

enum yp_status ypi_markdown_finish(struct ypi_markdown *m, const cJSON *advice)
{
    close_section(m);
    add_left_out(m, add_advice(&m->text, advice));
    enum yp_status status = ypi_put_file(m->path, m->text.data, m->text.length);
    ypi_markdown_drop(m);
    return status;
}

void ypi_markdown_drop(struct ypi_markdown *m)
{
    if (m == NULL)
        return;
    free(ypi_text_take(&m->text));
    free(m);
}
