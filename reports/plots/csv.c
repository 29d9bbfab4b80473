/* A bare table of benchmarks as input: the columns of `history export --columns tile-sweep` and
 * model-sweep. Each row is a case; of rows with the same values the last one counts, as a log grows
 * at its end. */
#include "reports/plots/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    IGNORED,
    AXIS_NUMBER,
    AXIS_TEXT,
    TIME,  /* times the factor: seconds */
    PHASE, /* the same, of a phase */
    RATE,  /* samples a second */
    PEAK,  /* times the factor: bytes */
    DEVICE,
    TROUBLE, /* empty or ok: passed; else what the outcome is */
};

#define MEBI 1048576.0
/* Of several columns with the time the first one in this list that has a value counts. */
static const struct column {
    const char *name;
    enum kind kind;
    double factor;
    const char *as; /* of an axis or a phase */
} columns[] = {
    {"tile_size", AXIS_NUMBER, 1, "tile_size"},
    {"model_size", AXIS_TEXT, 1, "model_size"},
    {"context_length", AXIS_NUMBER, 1, "context_length"},
    {"batch_size", AXIS_NUMBER, 1, "batch_size"},
    {"mode", AXIS_TEXT, 1, "mode"},
    {"pass_type", AXIS_TEXT, 1, "pass_type"},
    {"device", DEVICE, 1, NULL},
    {"mean_time_s", TIME, 1, NULL},
    {"mean_time_ms", TIME, 1e-3, NULL},
    {"avg_time_ms", TIME, 1e-3, NULL},
    {"total_time_ms", TIME, 1e-3, NULL},
    {"throughput_samples_per_sec", RATE, 1, NULL},
    {"memory_peak_mb", PEAK, MEBI, NULL},
    {"forward_time_ms", PHASE, 1e-3, "forward"},
    {"backward_time_ms", PHASE, 1e-3, "backward"},
    {"error", TROUBLE, 1, NULL},
    {"status", TROUBLE, 1, NULL},
    {"timestamp", IGNORED, 1, NULL},
    {"model_params", IGNORED, 1, NULL},
    {"model_size_mb", IGNORED, 1, NULL},
    {"std_time_ms", IGNORED, 1, NULL},
    {"std_time_s", IGNORED, 1, NULL},
    {"cv_percent", IGNORED, 1, NULL},
    {"memory_allocated_mb", IGNORED, 1, NULL},
    {"memory_reserved_mb", IGNORED, 1, NULL},
    {"d_model", IGNORED, 1, NULL},
    {"d_ff", IGNORED, 1, NULL},
    {"num_layers", IGNORED, 1, NULL},
    {"num_heads", IGNORED, 1, NULL},
    {"vocab_size", IGNORED, 1, NULL},
    {"warmup_steps", IGNORED, 1, NULL},
    {"measure_steps", IGNORED, 1, NULL},
    {"parameters", IGNORED, 1, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

struct table {
    const char *path;
    char *text;       /* owned: the file, changed while cells are taken from it */
    char *next;       /* NULL: all is read */
    int line, begins; /* of what is read next, and of the row */
    char **cells;     /* owned array */
    int cell_count;
    int place[COLUMNS]; /* of each column in a row; -1: the file lacks it */
    int width;          /* columns of the header */
};

/* -- cells --------------------------------------------------------------------------------- */

static enum yp_status wrong(const struct table *t, const char *what)
{
    return yp_set_error(YP_INVALID, "%s:%d: %s", t->path, t->begins, what);
}

static void add_cell(struct table *t, char *cell)
{
    t->cells = ypi_realloc(t->cells, (size_t)t->cell_count + 1, sizeof *t->cells);
    t->cells[t->cell_count++] = cell;
}

/* Takes the quotes off a cell that has them, in place; *from: behind it. */
static enum yp_status quoted(struct table *t, char **from)
{
    char *to = *from;
    char *read = *from + 1;
    for (;; read++) {
        if (*read == '\0')
            return wrong(t, "a quote is not closed");
        if (*read == '\n')
            t->line++;
        if (*read == '"' && *++read != '"')
            break;
        *to++ = *read;
    }
    if (*read != ',' && *read != '\n' && *read != '\0' && strncmp(read, "\r\n", 2) != 0)
        return wrong(t, "text stands behind a closing quote");
    *to = '\0'; /* before `read`, as two quotes are gone */
    *from = read;
    return YP_OK;
}

/* The next row (RFC 4180; lines may end in LF alone). *more is false at the end. */
static enum yp_status read_row(struct table *t, bool *more)
{
    char *at = t->next;
    t->cell_count = 0;
    t->begins = t->line;
    *more = at != NULL && *at != '\0';
    while (*more) {
        char *cell = at;
        if (*at == '"') {
            enum yp_status status = quoted(t, &at);
            if (status != YP_OK)
                return status;
        } else {
            at += strcspn(at, ",\n");
        }
        char end = *at;
        if (end != ',' && at > cell && at[-1] == '\r')
            at[-1] = '\0';
        if (end == '\r') { /* behind a closing quote */
            *at++ = '\0';
            end = *at;
        }
        *at = '\0';
        add_cell(t, cell);
        t->next = end == '\0' ? NULL : at + 1;
        if (end != ',') {
            t->line += end == '\n';
            return YP_OK;
        }
        at++;
    }
    return YP_OK;
}

/* -- the header ---------------------------------------------------------------------------- */

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL)
        text[--length] = '\0';
    return text;
}

static bool has_kind(const struct table *t, enum kind from, enum kind to)
{
    for (int i = 0; i < COLUMNS; i++)
        if (t->place[i] >= 0 && columns[i].kind >= from && columns[i].kind <= to)
            return true;
    return false;
}

static enum yp_status read_header(struct table *t)
{
    bool more;
    enum yp_status status = read_row(t, &more);
    if (status != YP_OK)
        return status;
    if (!more)
        return wrong(t, "the file is empty; its first line names the columns");
    t->width = t->cell_count;
    for (int i = 0; i < COLUMNS; i++)
        t->place[i] = -1;
    for (int k = 0; k < t->cell_count; k++)
        for (int i = 0; i < COLUMNS; i++) {
            if (strcmp(trimmed(t->cells[k]), columns[i].name) != 0)
                continue;
            if (t->place[i] >= 0)
                return yp_set_error(YP_INVALID, "%s:%d: the column '%s' is there twice", t->path,
                                    t->begins, columns[i].name);
            t->place[i] = k;
        }
    if (!has_kind(t, AXIS_NUMBER, AXIS_TEXT))
        return wrong(t, "no column says what was run: one of tile_size, batch_size, mode, "
                        "model_size, context_length, pass_type is needed");
    if (!has_kind(t, TIME, PEAK))
        return wrong(t, "no column has a result: one of avg_time_ms, mean_time_ms, mean_time_s, "
                        "total_time_ms, throughput_samples_per_sec, memory_peak_mb is needed");
    return YP_OK;
}

/* -- rows ---------------------------------------------------------------------------------- */

/* "" where the row has no such cell, or says that there is nothing. */
static const char *cell_of(const struct table *t, int i)
{
    static const char *const nothing[] = {"nan", "NaN", "NA", "N/A", "None", "null"};
    if (t->place[i] < 0 || t->place[i] >= t->cell_count)
        return "";
    const char *cell = trimmed(t->cells[t->place[i]]);
    for (size_t k = 0; k < sizeof nothing / sizeof *nothing; k++)
        if (strcmp(cell, nothing[k]) == 0)
            return "";
    return cell;
}

/* NaN where it is empty. */
static enum yp_status number_of(const struct table *t, int i, double *out)
{
    const char *cell = cell_of(t, i);
    *out = NAN;
    if (*cell == '\0')
        return YP_OK;
    if (ypi_parse_double(cell, out) && isfinite(*out) && *out >= 0)
        return YP_OK;
    char *shown = ypi_utf8(cell); /* a terminal prints it */
    ypi_make_printable(shown);
    yp_set_error(YP_INVALID, "%s:%d: %s is '%.60s'; it takes a number of 0 or more, or nothing",
                 t->path, t->begins, columns[i].name, shown);
    free(shown);
    return YP_INVALID;
}

struct row {
    double time, rate, peak, phases[COLUMNS];
    const char *device, *trouble;
};

static enum yp_status read_values(const struct table *t, struct row *row)
{
    *row = (struct row){.time = NAN, .rate = NAN, .peak = NAN, .device = "", .trouble = ""};
    for (int i = 0; i < COLUMNS; i++) {
        double value = NAN;
        row->phases[i] = NAN;
        const enum kind kind = columns[i].kind;
        const bool number = kind == AXIS_NUMBER || (kind >= TIME && kind <= PEAK);
        enum yp_status status = number ? number_of(t, i, &value) : YP_OK;
        if (status != YP_OK)
            return status;
        value *= columns[i].factor;
        if (kind == TIME && isnan(row->time) && value > 0)
            row->time = value;
        else if (kind == PHASE)
            row->phases[i] = value;
        else if (kind == RATE)
            row->rate = value;
        else if (kind == PEAK)
            row->peak = value;
        else if (kind == DEVICE)
            row->device = cell_of(t, i);
        else if (kind == TROUBLE && *row->trouble == '\0' && strcmp(cell_of(t, i), "ok") != 0)
            row->trouble = cell_of(t, i);
    }
    return YP_OK;
}

static void add_axes(const struct table *t, struct ypi_plot_case *c, const struct row *row)
{
    for (int i = 0; i < COLUMNS; i++) {
        const char *cell = cell_of(t, i);
        double number = NAN;
        if (*cell == '\0' || (columns[i].kind != AXIS_NUMBER && columns[i].kind != AXIS_TEXT))
            continue;
        if (columns[i].kind == AXIS_NUMBER)
            (void)ypi_parse_double(cell, &number);
        ypi_plot_add_axis(c, columns[i].as, cell, number);
    }
    if (*row->device)
        ypi_plot_add_axis(c, "device", row->device, NAN);
}

/* Time and throughput follow from each other by the batch, where one alone is there. */
static void add_case(struct ypi_plots *p, const struct table *t, const char *name,
                     const struct row *row)
{
    char *id = ypi_format("%s:%d", name, t->begins);
    struct ypi_plot_case *c =
        ypi_plots_add_case(p, id, name, row->device, *row->trouble ? row->trouble : "passed");
    free(id);
    add_axes(t, c, row);
    const struct ypi_plot_axis *batch = ypi_plot_axis(c, "batch_size");
    const double samples = batch != NULL && batch->number > 0 ? batch->number : NAN;
    c->peak = row->peak;
    c->rate = isnan(row->rate) ? samples / row->time : row->rate;
    double time = isnan(row->time) && row->rate > 0 ? samples / row->rate : row->time;
    if (!(time > 0))
        return;
    struct ypi_plot_measurement *m = ypi_plot_add_measurement(c, "pass", "samples", "");
    m->mean = m->median = time;
    m->items = samples > 0 ? samples : 1;
    for (int i = 0; i < COLUMNS; i++)
        if (row->phases[i] > 0)
            ypi_plot_add_phase(m, columns[i].as, row->phases[i]);
}

static enum yp_status read_rows(struct ypi_plots *p, struct table *t, const char *name)
{
    for (bool more = true;;) {
        struct row row;
        enum yp_status status = read_row(t, &more);
        if (status != YP_OK || !more)
            return status;
        if (t->cell_count == 1 && *trimmed(t->cells[0]) == '\0')
            continue; /* an empty line */
        if (t->cell_count > t->width)
            return yp_set_error(YP_INVALID, "%s:%d: the row has %d cells, the header %d", t->path,
                                t->begins, t->cell_count, t->width);
        status = read_values(t, &row);
        if (status != YP_OK)
            return status;
        add_case(p, t, name, &row);
    }
}

/* -- the file ------------------------------------------------------------------------------ */

static enum yp_status read_text(const char *path, char **out)
{
    struct ypi_text text = {0};
    char part[16384];
    size_t count;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return yp_set_error(YP_IO, "%s: cannot be opened: %s", path, strerror(errno));
    while ((count = fread(part, 1, sizeof part, file)) > 0)
        ypi_text_bytes(&text, part, count);
    const bool failed = ferror(file) != 0;
    const int reason = errno;
    fclose(file);
    const bool binary = text.length > 0 && memchr(text.data, '\0', text.length) != NULL;
    *out = ypi_text_take(&text);
    if (failed)
        return yp_set_error(YP_IO, "%s: cannot be read: %s", path, strerror(reason));
    if (binary)
        return yp_set_error(YP_INVALID, "%s: is no text: it has a byte 0", path);
    return YP_OK;
}

enum yp_status ypi_plots_take_csv(struct ypi_plots *p, const char *path)
{
    const size_t before = p->count;
    const char *slash = strrchr(path, '/');
    struct table t = {.path = path, .line = 1};
    enum yp_status status = read_text(path, &t.text);
    if (status == YP_OK && t.text != NULL) {
        t.next = t.text + (strncmp(t.text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
        status = read_header(&t);
    }
    if (status == YP_OK)
        status = read_rows(p, &t, slash != NULL ? slash + 1 : path);
    if (status == YP_OK && p->count == before)
        status = yp_set_error(YP_INVALID, "%s:%d: there is no row below the header", path, t.line);
    if (status != YP_OK)
        ypi_plots_forget(p, before); /* rows above the wrong one leave nothing behind */
    free(t.cells);
    free(t.text);
    return status;
}
