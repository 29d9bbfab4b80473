#include "gate/summary.h"

#include "base/text/figures.h"
#include "base/text/output.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What needs a reader first. */
static const enum ypi_compared order[] = {
    YPI_COMPARED_WORSE, YPI_COMPARED_CHANGED, YPI_COMPARED_UNSURE, YPI_COMPARED_BETTER,
    YPI_COMPARED_GONE,  YPI_COMPARED_NEW,     YPI_COMPARED_SAME};
enum { ORDERS = sizeof order / sizeof *order };

static int count_of(const struct ypi_comparisons *all, enum ypi_compared verdict)
{
    int count = 0;
    for (int i = 0; i < all->count; i++)
        count += all->list[i].verdict == verdict;
    return count;
}

int ypi_summary_exit(const struct ypi_comparisons *all)
{
    int gone = all->missing_fails ? count_of(all, YPI_COMPARED_GONE) : 0;
    if (count_of(all, YPI_COMPARED_WORSE) + count_of(all, YPI_COMPARED_CHANGED) + gone > 0)
        return YPI_GATE_WORSE;
    return count_of(all, YPI_COMPARED_UNSURE) > 0 ? YPI_GATE_UNSURE : YPI_GATE_FINE;
}

/* -- figures ------------------------------------------------------------------------------- */

static void put_figure(struct ypi_text *out, const struct ypi_comparison *c, double value,
                       const char *text)
{
    char figure[YPI_FIGURE_MAX];
    if (text != NULL) {
        ypi_text_add(out, "%s", text);
        return;
    }
    switch (c->quantity) {
    case YPI_QUANTITY_TIME:
        if (c->by_share)
            ypi_format_value(figure, value, "");
        else
            ypi_format_seconds(figure, value);
        break;
    case YPI_QUANTITY_PEAK:
    case YPI_QUANTITY_RESIDENT:
        ypi_format_bytes(figure, value);
        break;
    case YPI_QUANTITY_VALUE: { /* a difference in the last digits is one */
        char number[32];
        ypi_print_double(number, value);
        snprintf(figure, sizeof figure, "%s%s%s", number, c->unit != NULL ? " " : "",
                 c->unit != NULL ? c->unit : "");
        break;
    }
    default:
        ypi_print_double(figure, value);
        break;
    }
    ypi_text_add(out, "%s", figure);
}

static bool has_figures(const struct ypi_comparison *c)
{
    return (!isnan(c->base) || c->base_text != NULL) && (!isnan(c->head) || c->head_text != NULL);
}

/* As many for the ratio as for its interval: what lies within is printed so. A figure that repeats
 * exactly may differ by a few parts in a million: two digits of the difference. */
static int decimals_of(const struct ypi_comparison *c)
{
    const double off = fabs(c->ratio - 1);
    if (c->quantity != YPI_QUANTITY_TIME && off > 1e-14 && off < 5e-3)
        return 1 - (int)floor(log10(off));
    return c->ratio < 0.1 ? 6 : 3;
}

/* An end that nothing is known of is "?"; nothing without both. */
static void put_interval(struct ypi_text *out, const struct ypi_comparison *c)
{
    bool low = c->low > 0;
    bool high = isfinite(c->high);
    if (!low && !high)
        return;
    if (low)
        ypi_text_add(out, " [%.*f, ", decimals_of(c), c->low);
    else
        ypi_text_add(out, " [?, ");
    if (high)
        ypi_text_add(out, "%.*f]", decimals_of(c), c->high);
    else
        ypi_text_add(out, "?]");
}

/* "forward 1.21 ms -> 1.34 ms, 1.107 [1.081, 1.142] in 14 pairs". */
void ypi_summary_change(struct ypi_text *out, const struct ypi_comparison *c)
{
    ypi_text_add(out, "%s", ypi_quantity_name(c->quantity));
    if (c->name != NULL)
        ypi_text_add(out, " of %s", c->name);
    if (has_figures(c)) {
        ypi_text_add(out, " ");
        put_figure(out, c, c->base, c->base_text);
        ypi_text_add(out, " -> ");
        put_figure(out, c, c->head, c->head_text);
    }
    if (isfinite(c->ratio))
        ypi_text_add(out, ", %.*f times", decimals_of(c), c->ratio);
    put_interval(out, c);
    if (c->quantity == YPI_QUANTITY_TIME && c->pairs > 0)
        ypi_text_add(out, " in %d pair%s", c->pairs, c->pairs == 1 ? "" : "s");
    if (c->note != NULL)
        ypi_text_add(out, "; %s", c->note);
}

/* "1 slower, 2 cannot say, 37 same". */
static void put_counts(struct ypi_text *out, const struct ypi_comparisons *all)
{
    const char *between = "";
    for (int o = 0; o < ORDERS; o++)
        for (int q = 0; q < YPI_QUANTITIES; q++) {
            const char *name = ypi_compared_name((enum ypi_quantity)q, order[o]);
            int count = 0;
            bool first = true; /* quantities with the same word are counted together */
            for (int before = 0; before < q; before++)
                first = first &&
                        strcmp(name, ypi_compared_name((enum ypi_quantity)before, order[o])) != 0;
            for (int i = 0; i < all->count && first; i++)
                count += all->list[i].verdict == order[o] &&
                         strcmp(name, ypi_compared_name(all->list[i].quantity, order[o])) == 0;
            if (count > 0)
                ypi_text_add(out, "%s%d %s", between, count, name);
            if (count > 0)
                between = ", ";
        }
    if (*between == '\0')
        ypi_text_add(out, "nothing was compared");
    if (all->seconds > 0)
        ypi_text_add(out, " in %.0f s", all->seconds);
    if (!all->whole)
        ypi_text_add(out, "; interrupted");
}

static void put_side(struct ypi_text *out, const char *what, const struct ypi_side *side)
{
    ypi_text_add(out, "%s %s", what, side->name != NULL ? side->name : "?");
    if (side->commit != NULL && *side->commit != '\0')
        ypi_text_add(out, " (%.10s%s)", side->commit, side->dirty ? ", not committed" : "");
}

/* -- text ---------------------------------------------------------------------------------- */

/* A control character takes hold of no terminal. */
void ypi_summary_line(FILE *out, struct ypi_text *text)
{
    char *line = ypi_text_take(text);
    ypi_make_printable(line);
    fprintf(out, "%s\n", line);
    free(line);
}

void ypi_summary_text(FILE *out, const struct ypi_comparisons *all, bool verbose)
{
    struct ypi_text text = {0};
    put_side(&text, "base", &all->base);
    put_side(&text, ", head", &all->head);
    ypi_summary_line(out, &text);
    for (int i = 0; i < all->note_count; i++) {
        ypi_text_add(&text, "note: %s", all->notes[i]);
        ypi_summary_line(out, &text);
    }
    for (int o = 0; o < ORDERS; o++) {
        const struct ypi_comparison *above = NULL;
        for (int i = 0; i < all->count; i++) {
            const struct ypi_comparison *c = &all->list[i];
            if (c->verdict != order[o] || (c->verdict == YPI_COMPARED_SAME && !verbose))
                continue;
            const char *name = ypi_compared_name(c->quantity, c->verdict);
            if (above == NULL || strcmp(above->id, c->id) != 0 ||
                strcmp(ypi_compared_name(above->quantity, above->verdict), name) != 0) {
                ypi_text_add(&text, "%-12s  %s", name, c->id);
                ypi_summary_line(out, &text);
            }
            above = c;
            ypi_text_add(&text, "              ");
            ypi_summary_change(&text, c);
            ypi_summary_line(out, &text);
        }
    }
    put_counts(&text, all);
    ypi_summary_line(out, &text);
}

/* -- Markdown ------------------------------------------------------------------------------ */

/* Inside a cell of a table nothing of it means anything. */
void ypi_summary_escaped(struct ypi_text *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            ypi_text_add(out, " ");
        else if (*c == '<')
            ypi_text_add(out, "&lt;");
        else if (*c == '>')
            ypi_text_add(out, "&gt;");
        else if (*c == '&')
            ypi_text_add(out, "&amp;");
        else if (strchr("|`\\*_[]~#", *c) != NULL)
            ypi_text_add(out, "\\%c", *c);
        else
            ypi_text_bytes(out, c, 1);
    }
}

static void put_cell(struct ypi_text *out, const char *text)
{
    ypi_text_add(out, " ");
    ypi_summary_escaped(out, text);
    ypi_text_add(out, " |");
}

void ypi_summary_markdown(FILE *out, const struct ypi_comparisons *all)
{
    struct ypi_text text = {0};
    struct ypi_text head = {0};
    put_side(&head, "base", &all->base);
    put_side(&head, ", head", &all->head);
    char *sides = ypi_text_take(&head);
    put_counts(&head, all);
    char *counts = ypi_text_take(&head);
    ypi_text_add(&text, "**");
    ypi_summary_escaped(&text, counts);
    ypi_text_add(&text, "**  \n");
    ypi_summary_escaped(&text, sides);
    ypi_text_add(&text, "\n");
    for (int i = 0; i < all->note_count; i++) {
        ypi_text_add(&text, "\n- ");
        ypi_summary_escaped(&text, all->notes[i]);
    }
    if (count_of(all, YPI_COMPARED_SAME) < all->count)
        ypi_text_add(&text, "\n| verdict | case | what |\n|---|---|---|\n");
    for (int o = 0; o < ORDERS - 1; o++)
        for (int i = 0; i < all->count; i++) {
            const struct ypi_comparison *c = &all->list[i];
            if (c->verdict != order[o])
                continue;
            ypi_summary_change(&head, c);
            char *change = ypi_text_take(&head);
            ypi_text_add(&text, "|");
            put_cell(&text, ypi_compared_name(c->quantity, c->verdict));
            put_cell(&text, c->id);
            put_cell(&text, change);
            ypi_text_add(&text, "\n");
            free(change);
        }
    char *whole = ypi_text_take(&text);
    fputs(whole, out);
    free(whole);
    free(sides);
    free(counts);
}

/* -- JSON ---------------------------------------------------------------------------------- */

static cJSON *document_of_side(const struct ypi_side *side)
{
    cJSON *object = cJSON_CreateObject();
    ypi_json_add_text(object, "name", side->name);
    ypi_json_add_text(object, "commit", side->commit);
    cJSON_AddBoolToObject(object, "dirty", side->dirty);
    ypi_json_add_text(object, "machine", side->machine);
    return object;
}

static cJSON *document_of(const struct ypi_comparison *c)
{
    cJSON *object = cJSON_CreateObject();
    ypi_json_add_text(object, "case", c->id);
    ypi_json_add_text(object, "quantity", ypi_quantity_name(c->quantity));
    ypi_json_add_text(object, "name", c->name);
    ypi_json_add_text(object, "verdict", ypi_compared_name(c->quantity, c->verdict));
    if (c->base_text != NULL || c->head_text != NULL) {
        ypi_json_add_text(object, "base", c->base_text);
        ypi_json_add_text(object, "head", c->head_text);
    } else {
        ypi_json_add_real(object, "base", c->base);
        ypi_json_add_real(object, "head", c->head);
    }
    ypi_json_add_text(object, "unit", c->unit);
    cJSON_AddBoolToObject(object, "by_share", c->by_share);
    ypi_json_add_real(object, "ratio", c->ratio);
    ypi_json_add_real(object, "low", c->low);
    ypi_json_add_real(object, "high", c->high);
    cJSON_AddNumberToObject(object, "pairs", c->pairs);
    cJSON_AddNumberToObject(object, "seconds", c->seconds);
    ypi_json_add_text(object, "note", c->note);
    return object;
}

cJSON *ypi_summary_document(const struct ypi_comparisons *all)
{
    cJSON *document = cJSON_CreateObject();
    cJSON_AddItemToObject(document, "base", document_of_side(&all->base));
    cJSON_AddItemToObject(document, "head", document_of_side(&all->head));
    cJSON_AddNumberToObject(document, "exit_code", ypi_summary_exit(all));
    ypi_json_add_real(document, "threshold", all->threshold);
    ypi_json_add_real(document, "error", all->error);
    cJSON_AddNumberToObject(document, "seconds", all->seconds);
    cJSON_AddBoolToObject(document, "whole", all->whole);
    cJSON *notes = cJSON_AddArrayToObject(document, "notes");
    for (int i = 0; i < all->note_count; i++)
        cJSON_AddItemToArray(notes, cJSON_CreateString(all->notes[i]));
    cJSON *list = cJSON_AddArrayToObject(document, "comparisons");
    for (int i = 0; i < all->count; i++)
        cJSON_AddItemToArray(list, document_of(&all->list[i]));
    return document;
}
